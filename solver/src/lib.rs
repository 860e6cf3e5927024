//! Pure puzzle engines: one line of text in, one outcome out, a slice of puzzles at a time.
//!
//! This crate does no I/O, reads no clock, starts no thread and looks at no environment; a caller brings the text,
//! the [`Budget`] and the memory for the [`Outcomes`]. It knows nothing of queues.
//!
//! The way of a puzzle through it:
//!
//! ```
//! use puzzled_solver::{Budget, OutcomeKind, Outcomes, Task};
//!
//! let task: Task = "slide.solve".parse()?;
//! // The producer checks a line once, at the edge ..
//! let mut puzzle = Vec::new();
//! task.canonical(b"1 2 3 4 5 6 7 x 8", &mut puzzle)?;
//! assert_eq!(puzzle, b"1234567x8");
//! // .. the worker solves a chunk with the engine its thread keeps ..
//! let mut engine = task.engine();
//! let mut outcomes = Outcomes::new();
//! engine.solve(&[&puzzle], &Budget::unlimited(), &mut outcomes);
//! assert_eq!(outcomes.get(0).kind, OutcomeKind::Solved);
//! assert_eq!(outcomes.get(0).text, b"r");
//! // .. and checks the answer by other code before storing it.
//! assert!(task.verify(&puzzle, outcomes.get(0)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A new kind of puzzle is one folder and one line in the table of `kind.rs`.

mod echo;
mod engine;
mod kind;
mod outcome;
mod parse_error;
mod slide;
pub mod sudoku;
mod task;

pub use engine::{Budget, Engine};
pub use kind::Kind;
pub use outcome::{OutcomeKind, OutcomeRef, Outcomes, OutcomesError};
pub use parse_error::ParseError;
pub use task::{OptionInfo, Task, TaskError, TaskInfo};
