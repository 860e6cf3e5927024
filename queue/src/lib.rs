//! Puzzle jobs on Redis streams: submit, claim, renew, complete, reclaim, read, inspect, sweep.
//!
//! The one crate that knows Redis. It knows nothing of threads, solvers at work, or people. docs/protocol.md
//! says the same for a client in another language.
//!
//! What is promised: every accepted job ends with exactly one recorded outcome, whatever processes or connections
//! die. A job may be *executed* more than once.

mod complete;
mod config;
mod connection;
mod consumer;
mod costs;
mod dead;
mod digest;
mod doctor;
mod error;
mod format;
mod ids;
mod inspect;
mod keys;
mod lease;
#[cfg(test)]
mod model;
mod notices;
mod packing;
mod pause;
mod presence;
mod reply;
mod results;
mod scripts;
mod search;
mod server;
mod submit;
mod sweep;
mod topology;
mod trial;
mod vitals;
pub mod wire;
mod yardstick;

pub use complete::{CHUNKS_PER_CALL_MAX, Completed, Recorded};
pub use config::Config;
pub use connection::{Operation, Queue};
pub use consumer::{Claimed, Consumer, EntryId, Reclaimed};
pub use dead::{Attempt, DeadFilter, DeadLetter};
pub use digest::Digest;
pub use doctor::{Finding, Rights, Verdict};
pub use error::Error;
pub use format::{Format, FormatError, Formatter};
pub use ids::{BatchId, ChunkRef, IdError, JobId, Priority};
pub use inspect::{BatchStatus, Span, StreamState};
pub use keys::StreamId;
pub use lease::{Content, Fetched, Hold, Interest, Leases, Renewed};
pub use pause::Paused;
pub use presence::{ALIVE_MS, Presence};
pub use results::{Follow, JobState, Part};
pub use search::{BatchName, JobName};
pub use server::{LocalServer, ServerError, ServerOptions};
pub use submit::{Batch, Existing, NewChunk, Opened};
pub use sweep::Swept;
pub use trial::{Sighting, Trial};
pub use vitals::{OLDEST_WAITING_MS_MAX_DEFAULT, Vitals};
pub use yardstick::{RawRate, raw_rate};
