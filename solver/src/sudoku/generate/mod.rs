//! Generation: a job's line is a number, and the same number of the same task is the same grid on any machine.
//!
//! | part | duty |
//! |---|---|
//! | [`Catalogue`] | a bijection between numbers and final grids |
//! | [`Shuffle`] | the order of a seed: which grid is whose |
//! | `fillings` | the tables behind the catalogue |
//! | `number` | lines to numbers |

mod catalogue;
mod fillings;
mod number;
mod shuffle;

pub use catalogue::{Catalogue, GRIDS};
pub use shuffle::Shuffle;

use crate::engine::{Budget, Engine};
use crate::outcome::{OutcomeKind, OutcomeRef, Outcomes};
use crate::sudoku::{CELLS, verify};
use crate::task::{Domain, NO_CONFLICT, Operation, OptionSpec, Values};

pub(crate) const OPERATION: Operation = Operation {
    name: "generate",
    about: "a final grid for each number, all equally likely; distinct numbers, distinct grids",
    options: &[
        OptionSpec {
            name: "seed",
            about: "another seed is another order of all grids",
            default: 0,
            domain: Domain::Number(0, u64::MAX),
        },
        OptionSpec {
            name: "corner",
            about: "the digit in the top left corner; 0: any",
            default: 0,
            domain: Domain::Number(0, 9),
        },
    ],
    conflict: NO_CONFLICT,
    canonical: number::canonical,
    verify: |values, line, outcome| verify(&Wanted::new(values), line, outcome),
    engine: |values| Box::new(Generator::new(&Wanted::new(values))),
};

/// What a task asks for.
struct Wanted {
    seed: u64,
    corner: u8,
}

impl Wanted {
    fn new(values: &Values) -> Self {
        Self { seed: values[0], corner: values[1] as u8 }
    }
}

/// One solver thread's generator.
struct Generator {
    shuffle: Shuffle,
}

impl Generator {
    fn new(wanted: &Wanted) -> Self {
        Self { shuffle: Shuffle::new(wanted.seed, wanted.corner) }
    }
}

impl Engine for Generator {
    fn solve(&mut self, lines: &[&[u8]], budget: &Budget<'_>, outcomes: &mut Outcomes) {
        for line in lines {
            match number::read(line) {
                _ if budget.cancelled() => outcomes.push(budget.unfinished(), b""),
                Err(reason) => outcomes.push(OutcomeKind::Invalid, &reason),
                Ok(number) => {
                    let grid = self.shuffle.grid(u128::from(number));
                    outcomes.push(OutcomeKind::Solved, &grid.map(|value| b'0' + value));
                }
            }
        }
    }
}

/// Whether an answer is a grid as wanted. That it is this very number's grid is not checked.
fn verify(wanted: &Wanted, line: &[u8], outcome: OutcomeRef<'_>) -> bool {
    match outcome.kind {
        OutcomeKind::Cancelled | OutcomeKind::Failed => true,
        OutcomeKind::Invalid => number::read(line).is_err(),
        OutcomeKind::Solved => {
            let corner = |grid: &[u8]| wanted.corner == 0 || grid[0] == b'0' + wanted.corner;
            number::read(line).is_ok()
                && <&[u8; CELLS]>::try_from(outcome.text)
                    .is_ok_and(|grid| verify::is_solution_line(&[b'.'; CELLS], grid) && corner(grid))
        }
        OutcomeKind::NoSolution | OutcomeKind::Multiple | OutcomeKind::TimedOut => false,
    }
}
