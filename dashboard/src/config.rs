//! Settings of the dashboard, section `[dashboard]`.

use puzzled_queue::OLDEST_WAITING_MS_MAX_DEFAULT;
use puzzled_service::Secret;
use serde::{Deserialize, Serialize};

/// Where the dashboard listens, and who may act through it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// `host:port`; port 0 takes any free one. Default `127.0.0.1:8081`.
    pub listen: String,
    /// What somebody must know to change the queue (cancel, retry, drop, try): typed into the page once, or sent as
    /// `Authorization: Bearer TOKEN`. Default none: then everybody on this machine may, and nobody from elsewhere.
    pub token: Secret,
    /// Only shows, whoever asks. Default false.
    pub read_only: bool,
    /// A job that waits longer is warned of, in seconds, here and by `puzzled doctor`; 0 never warns. Default 60.
    pub oldest_waiting_s: u64,
}

impl Config {
    /// How long a job may wait before it is warned of, in ms; 0 is for ever.
    pub fn oldest_waiting_ms(&self) -> u64 {
        self.oldest_waiting_s.saturating_mul(1000)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:8081".to_owned(),
            token: Secret::default(),
            read_only: false,
            oldest_waiting_s: OLDEST_WAITING_MS_MAX_DEFAULT / 1000,
        }
    }
}
