//! The producer role: reads puzzles, submits them in chunks, collects outcomes in input order.

pub mod chunker;
mod config;
pub mod format;
pub mod lines;

pub use config::{Config, ConfigError};
