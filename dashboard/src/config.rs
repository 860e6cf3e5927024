//! Settings of the dashboard, section `[dashboard]`.

use puzzled_service::Secret;
use serde::{Deserialize, Serialize};

/// Where the dashboard listens, and who may act through it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// `host:port`; port 0 takes any free one. Default `127.0.0.1:8081`.
    pub listen: String,
    /// What a request must send as `Authorization: Bearer TOKEN` to change the queue (retry or drop dead letters). Default
    /// none: then it only shows.
    pub token: Secret,
}

impl Default for Config {
    fn default() -> Self {
        Self { listen: "127.0.0.1:8081".to_owned(), token: Secret::default() }
    }
}
