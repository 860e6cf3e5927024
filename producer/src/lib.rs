//! The producer role: reads puzzles, submits them in chunks, collects outcomes in input order.

mod config;

pub use config::{Config, ConfigError};
