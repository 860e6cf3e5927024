//! The queue against a real Redis: one private server a test, so that tests run side by side.

mod accounting;
mod claiming;
mod faults;
mod golden;
mod reading;
mod support;
