//! The one integration binary: real Redis, real processes, real faults.

mod faults;
mod layering;
mod ops;
