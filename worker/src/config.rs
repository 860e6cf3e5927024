//! Settings of a worker, section `[worker]`.

use std::time::Duration;

use puzzled_solver::Kind;
use serde::{Deserialize, Serialize};

/// How a worker works.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Solver threads. Default 0 = one per core this process may use (a container's CPU quota counts).
    pub threads: usize,
    /// Pieces of work held ready for each thread while it solves, so that cores never wait for Redis. Default 2.
    pub prefetch: usize,
    /// Kinds of puzzles to serve. Default: all public ones.
    pub kinds: Vec<String>,
    /// Admin port (`/livez`, `/readyz`, `/metrics`) as `host:port`; port 0 takes any free one. Default
    /// `127.0.0.1:0`; empty = none.
    pub listen: String,
    /// How much work, in ms, to take in one claim when chunks are small. Default 10. More saves round trips, less
    /// keeps urgent jobs from waiting.
    pub claim_ms: u64,
    /// How many workers a job may take with it before it fails and becomes a dead letter. Default 3; the first death is
    /// that of a whole chunk, so 2 is the least that tells the guilty from its neighbours.
    pub attempts_max: u32,
    /// How long a job may take, in s, unless its task says so itself (`time_ms`). Default 300; 0 = no limit. Past it the
    /// job ends as timed_out, with the best found so far.
    pub time_limit_s: u64,
    /// Pause between two sweeps (dead consumers, abandoned and expired batches), in s. Default 60; 0 = never.
    pub sweep_s: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            threads: 0,
            prefetch: 2,
            kinds: Kind::PUBLIC.iter().map(|kind| kind.name().to_owned()).collect(),
            listen: "127.0.0.1:0".to_owned(),
            claim_ms: 10,
            attempts_max: 3,
            time_limit_s: 300,
            sweep_s: 60,
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
    /// The number of solver threads to start.
    pub fn thread_count(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }

    /// Longest time of a job; zero is no limit.
    pub fn time_limit(&self) -> Duration {
        Duration::from_secs(self.time_limit_s)
    }

    /// Pieces of work that may be in hand at once.
    pub(crate) fn permits(&self) -> usize {
        self.thread_count() * (1 + self.prefetch.max(1))
    }

    /// The kinds to serve.
    ///
    /// # Errors
    /// When a name is no kind, or none is given.
    pub fn parsed_kinds(&self) -> Result<Vec<Kind>, ConfigError> {
        let known = || Kind::ALL.map(Kind::name).join(", ");
        let error = |reason| ConfigError { key: "worker.kinds", reason };
        if self.kinds.is_empty() {
            return Err(error(format!("names no kind; there are {}", known())));
        }
        let mut kinds = Vec::new();
        for name in &self.kinds {
            let kind = Kind::parse(name)
                .ok_or_else(|| error(format!("there is no kind '{name}'; there are {}", known())))?;
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        Ok(kinds)
    }

    /// Checks what types alone cannot.
    ///
    /// # Errors
    /// Names the key and the remedy.
    pub fn validate(&self) -> Result<(), ConfigError> {
        const THREADS_MAX: usize = 1_024;
        if self.threads > THREADS_MAX {
            let reason = format!("must be at most {THREADS_MAX}; 0 takes one per core");
            return Err(ConfigError { key: "worker.threads", reason });
        }
        if !(2..=100).contains(&self.attempts_max) {
            let reason = "must be from 2 to 100".to_owned();
            return Err(ConfigError { key: "worker.attempts_max", reason });
        }
        if self.time_limit_s > 86_400 {
            let reason = "must be at most 86400, a day; 0 is no limit".to_owned();
            return Err(ConfigError { key: "worker.time_limit_s", reason });
        }
        if self.prefetch > 64 {
            return Err(ConfigError { key: "worker.prefetch", reason: "must be at most 64".to_owned() });
        }
        self.parsed_kinds().map(|_| ())
    }
}
