//! Settings of a producer, section `[producer]`.

use puzzled_queue::wire::{Encoding, JOBS_MAX};
use serde::{Deserialize, Serialize};

/// How puzzles are cut into chunks and how many are on their way at once.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Jobs in a chunk. Default 1,024: docs/performance.md shows why.
    pub chunk_jobs: u32,
    /// Jobs that `solve` keeps on their way at once; bounds its memory and Redis's. Default 131,072.
    pub window_jobs: u32,
    /// How long, in ms, a chunk that is not full waits for more input before it goes. Default 20.
    pub linger_ms: u64,
    /// `packed`: two cells a byte in Redis, also in the outcomes. `text`: as people and older workers read it. Default
    /// packed.
    pub encoding: Encoding,
}

impl Default for Config {
    fn default() -> Self {
        Self { chunk_jobs: 1_024, window_jobs: 131_072, linger_ms: 20, encoding: Encoding::default() }
    }
}

/// A setting that cannot work.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("setting {key}: {reason}")]
pub struct ConfigError {
    key: &'static str,
    reason: String,
}

impl Config {
    /// Checks what types alone cannot.
    ///
    /// # Errors
    /// Names the key and the remedy.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if self.chunk_jobs == 0 || self.chunk_jobs > JOBS_MAX {
            let reason = format!("must be from 1 to {JOBS_MAX}");
            return Err(ConfigError { key: "producer.chunk_jobs", reason });
        }
        if self.window_jobs == 0 {
            return Err(ConfigError { key: "producer.window_jobs", reason: "must be at least 1".to_owned() });
        }
        Ok(())
    }
}
