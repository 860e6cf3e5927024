//! The producer role: reads puzzles, submits them in chunks, collects outcomes in input order.
//!
//! ```text
//! lines -> chunker -> sender -> (queue | embedded pool) -> collector -> output
//! ```
//! The cores ([`lines`], [`chunker`]) are pure; [`submit()`] and [`solve()`] put them together. This room
//! runs no solver: the binary brings the embedded pool as a [`Backend`].

mod backend;
pub mod chunker;
mod collector;
mod config;
mod events;
mod input;
pub mod lines;
mod outage;
mod output;
mod results;
mod sender;
mod solve;
mod submit;

pub use backend::{Backend, Held, Results};
pub use config::{Config, ConfigError};
pub use events::{Event, Progress, Report};
pub use input::{BAD_LINES_MAX, Input, InputError};
pub use results::{ResultsEnd, ResultsError, ResultsOptions, results};
pub use solve::{Options, SolveError, Stand, Summary, solve};
pub use submit::{Difference, SubmitError, SubmitOptions, Submitted, submit};
