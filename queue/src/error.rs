//! What can go wrong on the queue, in variants a caller can act on.

use crate::ids::{BatchId, JobId};

/// An error of the queue. [`Error::code`] is for machines, the text for people, [`Error::is_transient`] says
/// whether the same call may succeed later.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// No connection, or it broke, or no answer came in time.
    #[error("Redis at {address} cannot be reached: {reason}. Is it running, and is redis.url right?")]
    Unreachable {
        /// Host and port, or socket path; never a password.
        address: String,
        /// What the system said.
        reason: String,
    },
    /// Wrong password or user, or the user may not do this.
    #[error(
        "Redis at {address} refuses us: {reason}. Check user and password in redis.url and the user's ACL rules"
    )]
    Refused {
        /// Host and port, or socket path.
        address: String,
        /// What Redis said.
        reason: String,
    },
    /// The certificates of one side do not satisfy the other, or one side does not speak TLS.
    #[error(
        "TLS with Redis at {address} failed: {reason}. Is this its TLS port, is its authority in redis.ca_file, does its certificate name this host, and does it ask for redis.cert_file?"
    )]
    Tls {
        /// Host and port.
        address: String,
        /// What the TLS library said.
        reason: String,
    },
    /// A replica: it takes no writes, and what it shows may be behind.
    #[error(
        "Redis at {0} is read-only: it is a replica, and what it shows may be behind. Point redis.url at the master, or at its Sentinels (redis+sentinel://)"
    )]
    ReadOnly(String),
    /// `maxmemory` reached under `noeviction`.
    #[error(
        "Redis at {0} is out of memory (maxmemory reached). Nothing was lost: collect or expire results, raise maxmemory, or lower queue depth"
    )]
    OutOfMemory(String),
    /// Starting up, failing over, or running a long script.
    #[error("Redis at {address} is busy: {reason}")]
    Busy {
        /// Host and port, or socket path.
        address: String,
        /// What Redis said.
        reason: String,
    },
    /// Redis refuses writes that it could not keep: saving to disk fails (`stop-writes-on-bgsave-error`), or too few
    /// replicas follow (`min-replicas-to-write`).
    #[error("Redis at {address} refuses writes: {reason}. Look at its disk, its replicas and its log")]
    NotPersisting {
        /// Host and port, or socket path.
        address: String,
        /// What Redis said.
        reason: String,
    },
    /// The installation on this Redis was set up differently.
    #[error("{0}")]
    Incompatible(String),
    /// A setting that cannot work.
    #[error("setting {key}: {reason}")]
    Setting {
        /// Dotted key.
        key: &'static str,
        /// What is wrong and what would do.
        reason: String,
    },
    /// The queue holds as many unfinished jobs as it may.
    #[error(
        "the queue is full: {unfinished} unfinished jobs, limit {limit} (redis.depth_jobs_max); try again later"
    )]
    Full {
        /// Unfinished jobs of this kind and priority.
        unfinished: u64,
        /// The limit they reached.
        limit: u64,
    },
    /// No such batch: never was, or expired.
    #[error("there is no batch {0}: the id is wrong, or its results have expired")]
    NoBatch(BatchId),
    /// The batch has fewer jobs.
    #[error("there is no job {0}: the batch has fewer jobs, or has not come that far yet")]
    NoJob(JobId),
    /// The outcomes asked for were read and dropped.
    #[error(
        "results of batch {0} were taken by the `solve` that submitted it; `solve --keep` leaves them in Redis"
    )]
    Collected(BatchId),
    /// Outcomes that were recorded are not there.
    #[error(
        "outcomes of job {0} were recorded and are gone from Redis: deleted by hand, or evicted (see `puzzled doctor`)"
    )]
    Missing(JobId),
    /// No batch has an id that begins so.
    #[error("no batch begins with '{0}': `puzzled batches` lists them")]
    NoName(String),
    /// Several batches have ids that begin so.
    #[error("several batches begin with '{prefix}', write more of it: {}", some(ids))]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// Some of them.
        ids: Vec<BatchId>,
    },
    /// The batch was cancelled.
    #[error("batch {0} was cancelled")]
    Cancelled(BatchId),
    /// The batch's input was closed before this chunk came.
    #[error("batch {0} is closed: its input is complete, nothing can be added")]
    Closed(BatchId),
    /// The id is taken by a batch of another task or priority.
    #[error("batch {id} exists already with task {task} and priority {priority}; choose another id")]
    Taken {
        /// The id.
        id: BatchId,
        /// Task of the existing batch.
        task: String,
        /// Priority of the existing batch.
        priority: String,
    },
    /// The batch holds other chunks than those that came before this one.
    #[error("batch {id} holds another input: its first {chunks} chunks are others; choose another id")]
    Differs {
        /// The batch.
        id: BatchId,
        /// Chunks it holds.
        chunks: u64,
    },
    /// A chunk arrived before the ones that precede it (or those were lost by Redis): send from `expected`.
    #[error("batch {id} expects chunk {expected} next")]
    Gap {
        /// The batch.
        id: BatchId,
        /// The chunk to send next.
        expected: u64,
    },
    /// Somebody wrote in a newer format.
    #[error("the text in Redis has version {found}, this puzzled reads {known}; upgrade puzzled")]
    UnknownVersion {
        /// What the header says.
        found: String,
        /// What we read.
        known: &'static str,
    },
    /// A task this program does not know.
    #[error("unknown task '{0}': a newer puzzled may have sent it; upgrade the workers")]
    UnknownTask(String),
    /// Data in Redis that does not follow docs/protocol.md.
    #[error("data in Redis does not follow the protocol: {0}")]
    Malformed(String),
    /// Anything else Redis said.
    #[error("Redis at {address}: {reason}")]
    Redis {
        /// Host and port, or socket path.
        address: String,
        /// What Redis said.
        reason: String,
    },
}

fn some(ids: &[BatchId]) -> String {
    ids.iter().map(BatchId::to_string).collect::<Vec<_>>().join(", ")
}

impl Error {
    /// A stable word for logs, metrics and APIs.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Unreachable { .. } => "redis_unreachable",
            Error::Refused { .. } => "redis_refused",
            Error::Tls { .. } => "redis_tls",
            Error::ReadOnly(_) => "redis_read_only",
            Error::OutOfMemory(_) => "redis_out_of_memory",
            Error::Busy { .. } => "redis_busy",
            Error::NotPersisting { .. } => "redis_not_persisting",
            Error::Incompatible(_) => "incompatible",
            Error::Setting { .. } => "setting",
            Error::Full { .. } => "queue_full",
            Error::NoBatch(_) => "no_batch",
            Error::NoJob(_) => "no_job",
            Error::Collected(_) => "collected",
            Error::Missing(_) => "missing",
            Error::Cancelled(_) => "cancelled",
            Error::Closed(_) => "closed",
            Error::Taken { .. } => "taken",
            Error::Differs { .. } => "differs",
            Error::NoName(_) => "no_name",
            Error::Ambiguous { .. } => "ambiguous",
            Error::Gap { .. } => "gap",
            Error::UnknownVersion { .. } => "unknown_version",
            Error::UnknownTask(_) => "unknown_task",
            Error::Malformed(_) => "malformed",
            Error::Redis { .. } => "redis",
        }
    }

    /// Whether the same call may succeed later without anybody changing it.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Error::Unreachable { .. }
                | Error::ReadOnly(_)
                | Error::OutOfMemory(_)
                | Error::Busy { .. }
                | Error::NotPersisting { .. }
                | Error::Full { .. }
        )
    }

    /// Turns what the client library reports into what a caller can act on.
    pub(crate) fn from_redis(address: &str, error: &redis::RedisError) -> Self {
        use redis::{ErrorKind, ServerErrorKind};
        let address = address.to_owned();
        let reason = error.to_string();
        // A pipeline reports all that failed in it; a forgotten script is repaired elsewhere and never the story.
        let code = match error.clone().into_server_errors() {
            Some(errors) => errors.iter().map(|(_, e)| e.code().to_owned()).find(|code| code != "NOSCRIPT"),
            None => error.code().map(str::to_owned),
        };
        let code = code.as_deref().map(|code| code.trim_matches('"')).unwrap_or_default();
        // A script or a transaction reports the error of the command inside it only in its text.
        let says = |word: &str| code == word || reason.contains(&format!("{word} "));
        if says("OOM") {
            return Error::OutOfMemory(address);
        }
        if says("READONLY") {
            return Error::ReadOnly(address);
        }
        if says("MISCONF") || says("NOREPLICAS") {
            return Error::NotPersisting { address, reason };
        }
        // What a script may not do is said in the words of each server, without the code.
        if reason.contains("ACL failure") || reason.contains("user executing the script") {
            return Error::Refused { address, reason };
        }
        match code {
            "NOAUTH" | "WRONGPASS" | "NOPERM" => return Error::Refused { address, reason },
            // ASK and TRYAGAIN: the shard is on its way to another node and answers when it has arrived.
            "BUSY" | "UNBLOCKED" | "LOADING" | "MASTERDOWN" | "CLUSTERDOWN" | "TRYAGAIN" | "ASK"
            | "MOVED" => {
                return Error::Busy { address, reason };
            }
            _ => {}
        }
        if is_tls(error) {
            return Error::Tls { address, reason };
        }
        match error.kind() {
            ErrorKind::AuthenticationFailed | ErrorKind::Server(ServerErrorKind::NoPerm) => {
                Error::Refused { address, reason }
            }
            ErrorKind::Server(ServerErrorKind::ReadOnly) => Error::ReadOnly(address),
            ErrorKind::Server(
                ServerErrorKind::BusyLoading
                | ServerErrorKind::MasterDown
                | ServerErrorKind::ClusterDown
                | ServerErrorKind::TryAgain,
            ) => Error::Busy { address, reason },
            ErrorKind::Io | ErrorKind::Parse | ErrorKind::ClusterConnectionNotFound => {
                Error::Unreachable { address, reason }
            }
            _ if error.is_connection_dropped() || error.is_timeout() || error.is_connection_refusal() => {
                Error::Unreachable { address, reason }
            }
            _ => Error::Redis { address, reason },
        }
    }
}

/// Whether the TLS library said no, however deep inside.
fn is_tls(error: &redis::RedisError) -> bool {
    type Source = std::sync::Arc<dyn std::error::Error + Send + Sync>;
    std::error::Error::source(error)
        .and_then(|source| source.downcast_ref::<Source>())
        .and_then(|source| source.downcast_ref::<std::io::Error>())
        .and_then(std::io::Error::get_ref)
        .is_some_and(|inner| inner.is::<rustls::Error>())
}
