//! What a task asks for: option values into a type that cannot contradict itself.

use std::ops::RangeInclusive;

use super::symmetry::{self, Symmetry};
use crate::sudoku::CELLS;
use crate::task::{Domain, OptionSpec, Values};

/// The fewest clues a puzzle with one solution can have (McGuire, Tugemann and Civario, 2012).
const CLUES_LEAST: u64 = 17;
/// The most clues that a minimal puzzle is known to have.
const CLUES_MINIMAL_MOST: u64 = 40;

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "what",
        about: "final grids, puzzles, or puzzles without a needless clue",
        default: 0,
        domain: Domain::Word(&["grid", "puzzle", "minimal"]),
        weighs: true,
    },
    OptionSpec {
        name: "seed",
        about: "another seed is another order of all grids",
        default: 0,
        domain: Domain::Number(0, u64::MAX),
        weighs: false,
    },
    OptionSpec {
        name: "corner",
        about: "the digit in the top left corner of the grid; 0: any",
        default: 0,
        domain: Domain::Number(0, 9),
        weighs: false,
    },
    OptionSpec {
        name: "clues_min",
        about: "clues at least; 0: as few as come",
        default: 0,
        domain: Domain::Number(0, 80),
        weighs: true,
    },
    OptionSpec {
        name: "clues_max",
        about: "clues at most",
        default: 81,
        domain: Domain::Number(CLUES_LEAST, 81),
        weighs: true,
    },
    OptionSpec {
        name: "symmetry",
        about: "of where the clues are",
        default: 0,
        domain: Domain::Word(symmetry::NAMES),
        weighs: true,
    },
    OptionSpec {
        name: "difficulty_min",
        about: "rating at least, in tenths, as of sudoku.rate",
        default: 0,
        domain: Domain::Number(0, DIFFICULTY_MOST),
        weighs: true,
    },
    OptionSpec {
        name: "difficulty_max",
        about: "rating at most, in tenths",
        default: DIFFICULTY_MOST,
        domain: Domain::Number(0, DIFFICULTY_MOST),
        weighs: true,
    },
    OptionSpec {
        name: "tries",
        about: "puzzles to dig for each number before giving up",
        default: 10_000,
        domain: Domain::Number(1, 100_000_000),
        weighs: true,
    },
];

/// Above every rating there is.
const DIFFICULTY_MOST: u64 = 120;

/// What to make of a number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Wanted {
    pub(super) seed: u64,
    /// 0: any.
    pub(super) corner: u8,
    /// None: the final grid itself.
    pub(super) puzzle: Option<PuzzleWanted>,
}

/// What a puzzle must be, besides having one solution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PuzzleWanted {
    pub(super) minimal: bool,
    /// From 0: as few as come.
    pub(super) clues: RangeInclusive<usize>,
    pub(super) symmetry: Symmetry,
    /// In tenths; `None`: any, and nothing is rated.
    pub(super) difficulty: Option<RangeInclusive<u8>>,
    pub(super) tries: u64,
}

impl PuzzleWanted {
    /// Whether any puzzle will do, so that the first one is taken.
    pub(super) fn takes_the_first(&self) -> bool {
        self.difficulty.is_none() && *self.clues.start() == 0 && *self.clues.end() == CELLS
    }
}

impl Wanted {
    pub(super) fn new(values: &Values) -> Self {
        let [what, seed, corner, clues_min, clues_max, symmetry, difficulty_min, difficulty_max, tries, ..] =
            *values;
        let any_difficulty = (difficulty_min, difficulty_max) == (0, DIFFICULTY_MOST);
        let puzzle = (what > 0).then(|| PuzzleWanted {
            minimal: what == 2,
            clues: clues_min as usize..=clues_max as usize,
            symmetry: Symmetry::new(symmetry as usize),
            difficulty: (!any_difficulty).then_some(difficulty_min as u8..=difficulty_max as u8),
            tries,
        });
        Self { seed, corner: corner as u8, puzzle }
    }
}

/// Why these values cannot go together, if they cannot.
pub(super) fn conflict(values: &Values) -> Option<&'static str> {
    let [what, _, _, clues_min, clues_max, symmetry, difficulty_min, difficulty_max, ..] = *values;
    let default = |from: usize, to: usize| (from..to).all(|i| values[i] == OPTIONS[i].default);
    if what == 0 && !default(3, 9) {
        return Some(
            "a final grid has neither clues to choose nor a difficulty: clues_min, clues_max, symmetry, \
             difficulty_min, difficulty_max and tries need what=puzzle or what=minimal",
        );
    }
    if clues_min > 0 && clues_min < CLUES_LEAST {
        return Some("no puzzle of fewer than 17 clues has one solution: clues_min must be 0, or 17 to 80");
    }
    if clues_min > clues_max {
        return Some("clues_min is above clues_max");
    }
    if what == 2 && clues_min > CLUES_MINIMAL_MOST {
        return Some("no minimal puzzle of more than 40 clues is known: lower clues_min, or use what=puzzle");
    }
    if !Symmetry::new(symmetry as usize).orbits().can_have(&(clues_min..=clues_max)) {
        return Some(
            "cells of this symmetry come in groups, and no choice of whole groups has so many clues: \
             widen clues_min and clues_max",
        );
    }
    (difficulty_min > difficulty_max).then_some("difficulty_min is above difficulty_max")
}

#[cfg(test)]
mod tests {
    use crate::Task;

    #[test]
    fn what_cannot_be_is_refused_with_a_remedy() {
        let check = |options: &str, expected: Result<(), &str>| {
            let found = format!("sudoku.generate:{options}").parse::<Task>();
            match (found, expected) {
                (Ok(task), Ok(())) => assert_eq!(task.to_string().parse(), Ok(task)),
                (Err(error), Err(expected)) => {
                    assert!(error.to_string().contains(expected), "{options}: {error}")
                }
                (found, _) => panic!("{options}: {found:?}"),
            }
        };
        check("seed=18446744073709551615,corner=9", Ok(()));
        check("what=minimal,clues_max=17,symmetry=full", Ok(()));
        check("what=puzzle,clues_min=80,clues_max=80", Ok(()));
        check("what=minimal,clues_min=25,clues_max=25,symmetry=full", Ok(()));
        check("what=minimal,clues_min=26,clues_max=27,symmetry=full", Err("no choice of whole groups"));
        check("clues_max=30", Err("need what=puzzle or what=minimal"));
        check("symmetry=full", Err("need what=puzzle or what=minimal"));
        check("tries=5", Err("need what=puzzle or what=minimal"));
        check("what=puzzle,clues_max=16", Err("clues_max must be a whole number from 17 to 81, not \"16\""));
        check("what=puzzle,clues_min=16", Err("clues_min must be 0, or 17 to 80"));
        check("what=puzzle,clues_min=30,clues_max=29", Err("clues_min is above clues_max"));
        check("what=minimal,clues_min=41", Err("use what=puzzle"));
        check(
            "what=puzzle,difficulty_min=50,difficulty_max=40",
            Err("difficulty_min is above difficulty_max"),
        );
        check("what=puzzle,symmetry=spiral", Err("symmetry must be one of none, half-turn, quarter-turn"));
        check("what=solution", Err("what must be one of grid, puzzle, minimal"));
    }
}
