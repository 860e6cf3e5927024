//! The queue against a real Redis: one private server a test, so that tests run side by side.

#![expect(clippy::unwrap_used, reason = "a test reports by panicking")]

mod accounting;
mod claiming;
mod faults;
mod golden;
mod inspecting;
mod reading;
mod searching;
mod support;
mod turns;
