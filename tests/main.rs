//! The one integration binary: real Redis, real processes, real faults.

#![expect(clippy::unwrap_used, reason = "a test reports by panicking")]

mod cli;
mod faults;
mod layering;
mod ops;
