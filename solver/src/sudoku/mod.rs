//! Sudoku boards of 4x4, 9x9, 16x16 and 25x25 cells: solve, count, verify.
//!
//! | part | duty |
//! |---|---|
//! | [`Board`], [`Grid`] | text to cells and back, with exact places for faults |
//! | [`Candidates`] | a 9x9 board as pencil marks, and their text |
//! | [`LaneEngine`] | the engine for slices of 9x9 boards, many at once |
//! | [`Bitmask`] | the engine for one 9x9 board |
//! | [`ClauseLearning`] | the engine for 4x4, 16x16 and 25x25 boards |
//! | [`ExactCover`] | plain and slow, for every size: the oracle the others are tested against |
//! | [`Rater`] | how hard a board is for a person, and the steps that solve it |
//! | [`Shuffle`] | all final grids, in the order of a seed |
//! | [`is_solution`] | the independent checker |
//! | [`Canonicalizer`], [`band_class`] | what is the same but for symmetry |
//!
//! Engines take slices of boards and give a [`Verdict`] for each; `engine.rs` turns those into outcomes. The types
//! are public for benches and tests; workers go through [`Task`](crate::Task).
//!
//! Alphabet: `1`-`9`, then `A` = 10, `B` = 11 and so on up to `G` (16x16) or `P` (25x25), small letters too; blanks
//! are `0`, `.`, `_`, `*`. Canonical text has capital letters and `.`. Pencil marks are nine characters a cell, each the
//! digit of its place or a blank.

mod bitmask;
mod board;
mod candidates;
mod canonical;
mod clause_learning;
mod engine;
mod exact_cover;
mod generate;
mod lanes;
mod rate;
mod units;
mod verify;

pub use bitmask::Bitmask;
pub use board::{Board, Grid};
pub use candidates::{AnyBoard, Candidates};
pub use canonical::{BAND_CLASSES, Canonical, Canonicalizer, Clash, Morph, NoForm, NotAMorph, band_class};
pub use clause_learning::ClauseLearning;
pub use exact_cover::ExactCover;
pub use generate::{Catalogue, GRIDS, Shuffle};
pub use lanes::{LaneEngine, Width, Work};
pub use rate::{Grade, Node, Rated, Rater, Rating, Step, Technique, rate};
pub use verify::is_solution;

use std::time::Duration;

use crate::task::{Domain, Door, NO_CONFLICT, Operation, OptionSpec};
use engine::{Question, SudokuEngine};
use rate::{RateEngine, Report};

/// Cells of the common board.
pub const CELLS: usize = 81;

/// What a search found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// Distinct solutions found; never more than the limit.
    pub solutions: u64,
    /// Why the search stopped.
    pub end: End,
    /// The first solution found, digits 1-9; all zero when there is none. With several solutions, which one comes
    /// first depends on the engine.
    pub solution: [u8; CELLS],
}

/// Why a search stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// It found as many solutions as it was asked for, or all there are.
    Complete,
    /// It needed more nodes than its budget has.
    OutOfNodes,
    /// It saw the cancel flag.
    Cancelled,
}

impl Verdict {
    /// The verdict on a board never looked at because the flag was set before.
    pub(crate) const CANCELLED: Verdict = Verdict { solutions: 0, end: End::Cancelled, solution: [0; CELLS] };
}

pub(crate) static DOOR: Door = Door {
    name: "sudoku",
    operations: &[
        Operation {
            name: "solve",
            about: "the solution; tells unique, several and none apart",
            options: &[],
            conflict: NO_CONFLICT,
            canonical: board::canonical,
            verify: |_, puzzle, outcome| engine::verify(Question::Solve, puzzle, outcome),
            engine: |_| Box::new(SudokuEngine::new(Question::Solve)),
            typical: |_| Duration::from_micros(1),
        },
        Operation {
            name: "check",
            about: "unique, several or none: one solution, two different ones, or NoSolution",
            options: &[],
            conflict: NO_CONFLICT,
            canonical: board::canonical,
            verify: |_, puzzle, outcome| engine::verify(Question::Check, puzzle, outcome),
            engine: |_| Box::new(SudokuEngine::new(Question::Check)),
            typical: |_| Duration::from_micros(1),
        },
        Operation {
            name: "first",
            about: "some solution, soonest: does not look whether there are more",
            options: &[],
            conflict: NO_CONFLICT,
            canonical: board::canonical,
            verify: |_, puzzle, outcome| engine::verify(Question::First, puzzle, outcome),
            engine: |_| Box::new(SudokuEngine::new(Question::First)),
            typical: |_| Duration::from_micros(1),
        },
        Operation {
            name: "all",
            about: "all solutions in order; ends with + if there are more than the limit",
            options: &[OptionSpec {
                name: "limit",
                about: "how many solutions to list at most",
                default: 10,
                domain: Domain::Number(1, 1000),
                weighs: true,
            }],
            conflict: NO_CONFLICT,
            canonical: board::canonical,
            verify: |values, puzzle, outcome| {
                engine::verify(Question::All { limit: values[0] }, puzzle, outcome)
            },
            engine: |values| Box::new(SudokuEngine::new(Question::All { limit: values[0] })),
            typical: |_| Duration::from_micros(2),
        },
        Operation {
            name: "count",
            about: "the number of solutions, 0 included; 1000+ if there are more than that limit",
            options: &[OptionSpec {
                name: "limit",
                about: "how many solutions to count at most",
                default: 1000,
                domain: Domain::Number(1, 1_000_000_000),
                weighs: true,
            }],
            conflict: NO_CONFLICT,
            canonical: board::canonical,
            verify: |values, puzzle, outcome| {
                engine::verify(Question::Count { limit: values[0] }, puzzle, outcome)
            },
            engine: |values| Box::new(SudokuEngine::new(Question::Count { limit: values[0] })),
            typical: |_| Duration::from_micros(2),
        },
        Operation {
            name: "canonical",
            about: "the minimal form, the same for all boards that are the same but for symmetry",
            options: canonical::OPTIONS,
            conflict: NO_CONFLICT,
            canonical: canonical::canonical,
            verify: canonical::verify,
            engine: |values| Box::new(canonical::CanonicalEngine::new(values)),
            typical: |_| Duration::from_micros(20),
        },
        Operation {
            name: "rate",
            about: "how hard for a person, as rating, hardest technique, grade: 4.2 xy-wing hard (9x9)",
            options: &[],
            conflict: NO_CONFLICT,
            canonical: rate::canonical,
            verify: |_, puzzle, outcome| rate::verify(Report::Rating, puzzle, outcome),
            engine: |_| Box::new(RateEngine::new(Report::Rating)),
            typical: |_| Duration::from_micros(300),
        },
        Operation {
            name: "explain",
            about: "the steps a person could take: 1.2 hidden-single => r4c5=7; .. (9x9)",
            options: &[],
            conflict: NO_CONFLICT,
            canonical: rate::canonical,
            verify: |_, puzzle, outcome| rate::verify(Report::Steps, puzzle, outcome),
            engine: |_| Box::new(RateEngine::new(Report::Steps)),
            typical: |_| Duration::from_micros(300),
        },
        generate::OPERATION,
    ],
    fits: board::fits,
    begins_grid: board::begins_grid,
    grid_is_complete: board::grid_is_complete,
    random: generate::random,
};
