//! The one binary. This file only wires.
fn main() {}
