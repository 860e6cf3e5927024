//! The dashboard role: reads the queue once a second and shows it to everybody.

mod config;

pub use config::Config;
