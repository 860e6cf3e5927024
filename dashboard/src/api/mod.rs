//! The JSON that programs read, and what they may send.

pub(crate) mod batches;
pub(crate) mod dead;
pub(crate) mod problem;
