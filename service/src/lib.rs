//! What every role shares: settings, logs, the admin port, shutdown, metrics and exit codes.
//!
//! This crate knows nothing of queues, puzzles or the other rooms. It is the only room that reads the
//! environment and the only one that names a metric; it never ends the process.

#![forbid(unsafe_code)]

pub mod admin;
mod bulk_histogram;
pub mod exit;
pub mod logging;
pub mod metrics;
mod process;
pub mod programs;
pub mod secret;
pub mod settings;
pub mod shutdown;

pub use exit::Exit;
pub use secret::{Secret, Url};
pub use shutdown::Shutdown;

pub use bulk_histogram::BulkHistogram;
