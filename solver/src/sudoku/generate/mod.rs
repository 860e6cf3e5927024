//! Generation: a job's line is a number, and the same number of the same task is the same grid or puzzle on any
//! machine.
//!
//! | part | duty |
//! |---|---|
//! | [`Catalogue`] | a bijection between numbers and final grids |
//! | `fillings` | the tables behind the catalogue |
//! | [`Shuffle`] | the order of a seed: which grid is whose |
//! | `dig` | clues off grids, many at a time |
//! | `puzzles` | tries until a puzzle is as wanted |
//! | `unavoidable` | where a clue must stay |
//! | `symmetry` | which cells stand or fall together |
//! | `wanted` | the task's options |
//! | `number` | lines to numbers |
//! | `checks` | the independent look at what was made |

mod catalogue;
mod checks;
mod dig;
mod fillings;
mod number;
mod puzzles;
mod shuffle;
mod symmetry;
mod unavoidable;
mod wanted;

pub use catalogue::{Catalogue, GRIDS};
pub use shuffle::Shuffle;

use std::time::Duration;

use crate::engine::{Budget, Engine};
use crate::outcome::{OutcomeKind, Outcomes};
use crate::sudoku::Board;
use crate::task::Operation;
use puzzles::{End, Puzzles};
use wanted::Wanted;

pub(crate) const OPERATION: Operation = Operation {
    name: "generate",
    about: "a final grid or a puzzle for each number; distinct numbers, distinct ones",
    options: wanted::OPTIONS,
    conflict: wanted::conflict,
    canonical: number::canonical,
    verify: |values, line, outcome| checks::verify(&Wanted::new(values), line, outcome),
    engine: |values| {
        let wanted = Wanted::new(values);
        match &wanted.puzzle {
            None => Box::new(GridEngine { shuffle: Shuffle::new(wanted.seed, wanted.corner) }),
            Some(puzzle) => Box::new(PuzzleEngine { puzzles: Puzzles::new(&wanted, puzzle) }),
        }
    },
    typical: |values| match Wanted::new(values).puzzle {
        None => Duration::from_micros(1),
        Some(puzzle) if puzzle.takes_the_first() => Duration::from_micros(40),
        // Some tens or hundreds are dug for one that fits.
        Some(_) => Duration::from_millis(5),
    },
};

/// A minimal puzzle, picked by a number.
pub(crate) fn random(number: u64) -> String {
    let task: crate::Task = "sudoku.generate:what=minimal".parse().expect("a task of the table");
    let mut outcomes = Outcomes::new();
    // Numbers go as far as there are lines in a file; any of them will do.
    let line = (number >> 1).to_string();
    task.engine().solve(&[line.as_bytes()], &Budget::unlimited(), &mut outcomes);
    String::from_utf8_lossy(outcomes.get(0).text).into_owned()
}

/// Numbers to final grids.
struct GridEngine {
    shuffle: Shuffle,
}

impl Engine for GridEngine {
    fn solve(&mut self, lines: &[&[u8]], budget: &Budget<'_>, outcomes: &mut Outcomes) {
        for line in lines {
            match number::read(line) {
                _ if budget.stopped() => outcomes.push(budget.unfinished(), b""),
                Err(reason) => outcomes.push(OutcomeKind::Invalid, &reason),
                Ok(number) => {
                    let grid = self.shuffle.grid(u128::from(number));
                    outcomes.push(OutcomeKind::Solved, &grid.map(|value| b'0' + value));
                }
            }
        }
    }
}

/// Numbers to puzzles.
struct PuzzleEngine {
    puzzles: Puzzles,
}

impl Engine for PuzzleEngine {
    fn solve(&mut self, lines: &[&[u8]], budget: &Budget<'_>, outcomes: &mut Outcomes) {
        let numbers: Vec<Result<u64, Vec<u8>>> = lines.iter().map(|line| number::read(line)).collect();
        let good: Vec<u64> = numbers.iter().flatten().copied().collect();
        let mut ends = self.puzzles.make(&good, budget).into_iter();
        let mut text = Vec::new();
        for number in numbers {
            text.clear();
            let kind = match number.map(|_| ends.next()) {
                Err(reason) => {
                    text = reason;
                    OutcomeKind::Invalid
                }
                Ok(Some(End::Found(cells))) => {
                    write(cells, &mut text);
                    OutcomeKind::Solved
                }
                Ok(Some(End::Nearest(cells))) => {
                    write(cells, &mut text);
                    OutcomeKind::TimedOut
                }
                Ok(Some(End::Stopped(nearest))) => {
                    let kind = budget.unfinished();
                    if let Some(cells) = nearest.filter(|_| kind == OutcomeKind::TimedOut) {
                        write(cells, &mut text);
                    }
                    kind
                }
                Ok(None) => unreachable!("one end for each number"),
            };
            outcomes.push(kind, &text);
        }
    }
}

fn write(cells: [u8; crate::sudoku::CELLS], text: &mut Vec<u8>) {
    Board::from_cells(cells).expect("digits and blanks").write(text);
}
