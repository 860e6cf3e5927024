//! Settings of the dashboard, section `[dashboard]`.

use serde::{Deserialize, Serialize};

/// Where the dashboard listens.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// `host:port`; port 0 takes any free one. Default `127.0.0.1:8081`.
    pub listen: String,
}

impl Default for Config {
    fn default() -> Self {
        Self { listen: "127.0.0.1:8081".to_owned() }
    }
}
