//! Settings of the queue, section `[redis]`.

use std::path::PathBuf;
use std::time::Duration;

use puzzled_service::Url;
use serde::{Deserialize, Serialize};

use crate::Error;

/// Where the queue lives and how it behaves. Every process of one installation must agree on `prefix`, `shards`
/// and `lease_ms`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// `redis://[user:password@]host:port/db`, with TLS `rediss://`, a socket `redis+unix:///path?pass=..`, behind
    /// Sentinels `redis+sentinel://[user:password@]host:port,host:port/MASTER/db`, a Redis Cluster
    /// `redis+cluster://[user:password@]host:port,host:port`; the last two with TLS `rediss+..`. User and password
    /// are those of the Redis servers. Empty = no Redis configured.
    pub url: Url,
    /// File that holds the password, for a URL without one; read at every connection. Default: none.
    pub password_file: PathBuf,
    /// File of the certificates (PEM) that may sign a server's. Default: none, the system's are trusted.
    pub ca_file: PathBuf,
    /// File of the certificate (PEM) that a server may ask of us. Default: none.
    pub cert_file: PathBuf,
    /// File of its private key (PEM). Default: none.
    pub key_file: PathBuf,
    /// User at the Sentinels. Default: none.
    pub sentinel_user: String,
    /// File that holds the password for the Sentinels. Default: none, they ask for none.
    pub sentinel_password_file: PathBuf,
    /// First part of every key. Default `puzzled`.
    pub prefix: String,
    /// How many hash tags batches are spread over. Default 1, enough for one server. It cannot be changed while
    /// an installation holds batches.
    pub shards: u16,
    /// How long a worker may hold a chunk without a sign of life, in ms. Default 15,000.
    pub lease_ms: u64,
    /// Most unfinished jobs of one kind and priority on a shard; submits beyond it are held back. Default
    /// 4,000,000 (about 330 MB of sudokus); 0 = no limit.
    pub depth_jobs_max: u64,
    /// How long finished batches keep their results, in s. Default 86,400.
    pub retention_s: u64,
    /// How long to wait for a connection, in ms. Default 3,000.
    pub connect_timeout_ms: u64,
    /// How long to wait for an answer, in ms. Default 5,000.
    pub response_timeout_ms: u64,
    /// How long a producer goes on trying while Redis is away or out of memory, in s. Default 60; 0 = give up at once.
    pub patience_s: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            url: Url::default(),
            password_file: PathBuf::new(),
            ca_file: PathBuf::new(),
            cert_file: PathBuf::new(),
            key_file: PathBuf::new(),
            sentinel_user: String::new(),
            sentinel_password_file: PathBuf::new(),
            prefix: "puzzled".to_owned(),
            shards: 1,
            lease_ms: 15_000,
            depth_jobs_max: 4_000_000,
            retention_s: 86_400,
            connect_timeout_ms: 3_000,
            response_timeout_ms: 5_000,
            patience_s: 60,
        }
    }
}

impl Config {
    /// Whether any Redis is configured.
    pub fn is_configured(&self) -> bool {
        !self.url.is_empty()
    }

    /// Lease as a duration.
    pub fn lease(&self) -> Duration {
        Duration::from_millis(self.lease_ms)
    }

    /// Checks what types alone cannot.
    ///
    /// # Errors
    /// [`Error::Setting`] names the key and the remedy.
    pub fn validate(&self) -> Result<(), Error> {
        let bad = |key, reason: &str| Err(Error::Setting { key, reason: reason.to_owned() });
        if self.prefix.is_empty() || self.prefix.contains(['{', '}', ' ', '\n']) {
            return bad("redis.prefix", "must be a word without blanks and braces");
        }
        if self.shards == 0 {
            return bad("redis.shards", "must be at least 1");
        }
        if self.lease_ms < 100 {
            return bad("redis.lease_ms", "must be at least 100 (ms)");
        }
        if self.retention_s == 0 {
            return bad("redis.retention_s", "must be at least 1 (s); use --keep to keep a batch for ever");
        }
        if self.response_timeout_ms < 100 || self.connect_timeout_ms < 100 {
            return bad("redis.response_timeout_ms", "timeouts must be at least 100 (ms)");
        }
        Ok(())
    }
}
