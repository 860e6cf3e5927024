//! The one integration binary: real Redis, real processes, real faults.

mod acl;
mod browser;
mod cli;
mod costs;
mod dashboard;
mod deploy;
mod faults;
mod generate;
mod layering;
mod limits;
mod ops;
mod pages;
mod pause;
mod poison;
mod resume;
mod servers;
mod support;
mod tls;
mod topology;
