//! Sliding-tile puzzles. Today the 8-puzzle; a larger board is a file beside `eight.rs`, chosen by its number of
//! tiles.
//!
//! A board is nine tiles row by row, `1`-`8` and `x` for the blank, as nine characters or nine tokens; canonical text
//! is the nine characters. The goal is `12345678x`. The answer is a shortest path as moves of the blank: `l`, `r`,
//! `u`, `d`, one character each; empty for the goal itself. Of several shortest paths it is the one first in the
//! order `l` < `r` < `u` < `d`, so the answer is always the same.

mod board;
mod eight;

use std::time::Duration;

use crate::engine::{Budget, Engine, rejection};
use crate::outcome::{OutcomeKind, OutcomeRef, Outcomes};
use crate::task::{Door, NO_CONFLICT, Operation, Values};
use board::{Board, Move};
use eight::Table;

pub(crate) static DOOR: Door = Door {
    name: "slide",
    operations: &[Operation {
        name: "solve",
        about: "8-puzzle: a shortest path to 12345678x as moves of the blank (l r u d)",
        options: &[],
        conflict: NO_CONFLICT,
        canonical: |line, out| {
            Board::parse(line)?.write(out);
            Ok(())
        },
        verify,
        engine: |_| Box::new(SlideEngine { table: Table::shared(), path: Vec::new() }),
        typical: |_| Duration::from_micros(1),
    }],
    fits: board::fits,
    begins_grid: |_| false,
    grid_is_complete: |_| true,
    random: |number| {
        let mut text = Vec::new();
        Board::random(number).write(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    },
};

struct SlideEngine {
    table: &'static Table,
    path: Vec<u8>,
}

impl Engine for SlideEngine {
    fn solve(&mut self, puzzles: &[&[u8]], budget: &Budget<'_>, outcomes: &mut Outcomes) {
        for puzzle in puzzles {
            if budget.stopped() {
                outcomes.push(budget.unfinished(), b"");
                continue;
            }
            match read(puzzle) {
                Err(reason) => outcomes.push(OutcomeKind::Invalid, &reason),
                Ok(board) if self.table.solve(&board, &mut self.path) => {
                    outcomes.push(OutcomeKind::Solved, &self.path);
                }
                Ok(_) => outcomes.push(OutcomeKind::NoSolution, b""),
            }
        }
    }
}

/// Reads canonical text, or gives the reason why it is none.
fn read(puzzle: &[u8]) -> Result<Board, Vec<u8>> {
    if let Some(reason) = rejection(puzzle) {
        return Err(reason.to_vec());
    }
    let board = Board::parse(puzzle).map_err(|error| error.to_string().into_bytes())?;
    if puzzle.len() == board::CELLS { Ok(board) } else { Err(b"not in canonical form".to_vec()) }
}

/// Walks the path, or counts inversions for the lack of one; knows nothing of the table.
fn verify(_: &Values, puzzle: &[u8], outcome: OutcomeRef<'_>) -> bool {
    match (outcome.kind, read(puzzle)) {
        (OutcomeKind::Cancelled | OutcomeKind::Failed, _) => true,
        (OutcomeKind::Invalid, board) => board.is_err(),
        (OutcomeKind::Solved, Ok(board)) => leads_to_goal(board, outcome.text),
        (OutcomeKind::NoSolution, Ok(board)) => outcome.text.is_empty() && !board.is_solvable(),
        (OutcomeKind::Multiple | OutcomeKind::TimedOut, Ok(_)) | (_, Err(_)) => false,
    }
}

fn leads_to_goal(mut board: Board, path: &[u8]) -> bool {
    let walked = path.iter().all(|&byte| {
        let next = Move::from_byte(byte).and_then(|step| board.moved(step));
        next.map(|next| board = next).is_some()
    });
    walked && board == Board::GOAL && path.len() <= eight::MOVES_MAX
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CASES: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/slide8_cases.txt"));

    fn solve(line: &[u8]) -> (OutcomeKind, String) {
        let mut engine = (DOOR.operations[0].engine)(&Values::default());
        let mut outcomes = Outcomes::new();
        engine.solve(&[line], &Budget::unlimited(), &mut outcomes);
        let outcome = outcomes.get(0);
        assert!(verify(&Values::default(), line, outcome), "{line:?}");
        (outcome.kind, String::from_utf8_lossy(outcome.text).into_owned())
    }

    #[test]
    fn the_cases_of_the_file() {
        let cases = CASES.lines().filter(|line| !line.starts_with('#')).map(|line| line.split_once(':'));
        let mut seen = 0;
        for (board, expected) in cases.map(|case| case.expect("board:length")) {
            let (kind, text) = solve(board.as_bytes());
            let canonical = (DOOR.operations[0].canonical)(board.as_bytes(), &mut Vec::new());
            match expected {
                "bad" => {
                    assert_eq!(kind, OutcomeKind::Invalid, "{board}");
                    assert_eq!(canonical.map_err(|error| error.to_string()), Err(text), "{board}");
                }
                "-1" => assert_eq!(kind, OutcomeKind::NoSolution, "{board}"),
                length => {
                    assert_eq!(kind, OutcomeKind::Solved, "{board}");
                    assert_eq!(Ok(text.len()), length.parse(), "{board}");
                }
            }
            seen += 1;
        }
        assert!(seen >= 10);
    }

    #[test]
    fn tampered_answers_are_refused() {
        let check = |puzzle: &[u8], kind, text: &[u8], expected| {
            assert_eq!(
                verify(&Values::default(), puzzle, OutcomeRef { kind, text }),
                expected,
                "{puzzle:?} {kind:?} {text:?}"
            );
        };
        check(b"1234567x8", OutcomeKind::Solved, b"r", true);
        check(b"1234567x8", OutcomeKind::Solved, b"l", false);
        check(b"1234567x8", OutcomeKind::Solved, b"", false);
        check(b"1234567x8", OutcomeKind::Solved, b"rr", false);
        check(b"1234567x8", OutcomeKind::Solved, b"R", false);
        check(b"1234567x8", OutcomeKind::NoSolution, b"", false);
        check(b"1234567x8", OutcomeKind::Invalid, b"why", false);
        check(b"12345687x", OutcomeKind::NoSolution, b"", true);
        check(b"12345687x", OutcomeKind::Solved, b"", false);
        check(b"!column 1: no", OutcomeKind::Invalid, b"column 1: no", true);
        check(b"!column 1: no", OutcomeKind::NoSolution, b"", false);
    }

    proptest! {
        #[test]
        fn any_text_has_an_outcome_that_verifies(text in "[1-9x]{0,12}") {
            solve(text.as_bytes());
        }

        #[test]
        fn any_arrangement_has_an_outcome_that_verifies(
            tiles in Just(b"12345678x".to_vec()).prop_shuffle()
        ) {
            prop_assert_ne!(solve(&tiles).0, OutcomeKind::Invalid);
        }
    }
}
