//! Settings of a producer, section `[producer]`.

use std::time::Duration;

use puzzled_queue::wire::{Encoding, JOBS_MAX};
use serde::{Deserialize, Serialize};

/// How puzzles are cut into chunks and how many are on their way at once.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Jobs in a chunk, at most. Default 1,024: docs/performance.md shows why.
    pub chunk_jobs: u32,
    /// Work in a chunk, in ms on one core, as workers measured it for the task: dear jobs travel in smaller chunks. Default
    /// 20; 0 = always `chunk_jobs`.
    pub chunk_ms: u32,
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
        Self {
            chunk_jobs: 1_024,
            chunk_ms: 20,
            window_jobs: 131_072,
            linger_ms: 20,
            encoding: Encoding::default(),
        }
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
    /// These settings with chunks of about `chunk_ms` of work, when a job costs so much.
    #[must_use]
    pub fn cut_for(&self, cost: Duration) -> Self {
        let jobs = match self.chunk_ms {
            0 => self.chunk_jobs,
            ms => {
                let jobs = u128::from(ms) * 1_000_000 / cost.as_nanos().max(1);
                u32::try_from(jobs).unwrap_or(u32::MAX).clamp(1, self.chunk_jobs)
            }
        };
        Self { chunk_jobs: jobs, ..self.clone() }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dear_jobs_travel_in_small_chunks() {
        let cut = |config: &Config, cost_us| config.cut_for(Duration::from_micros(cost_us)).chunk_jobs;
        let config = Config::default();
        assert_eq!([0, 1, 19].map(|us| cut(&config, us)), [1_024; 3]);
        assert_eq!([40, 1_000, 20_000, 9_000_000].map(|us| cut(&config, us)), [500, 20, 1, 1]);
        assert_eq!(cut(&Config { chunk_ms: 0, ..config }, 9_000_000), 1_024);
    }
}
