//! The tasks `sudoku.rate` and `sudoku.explain`: texts to outcomes, and what can be checked of those.

use crate::engine::{Budget, Engine, rejection};
use crate::outcome::{OutcomeKind, OutcomeRef, Outcomes};
use crate::parse_error::ParseError;
use crate::sudoku::engine::{self, Question, SudokuEngine};
use crate::sudoku::rate::{Rater, Rating, Step};
use crate::sudoku::{Board, CELLS, End, is_solution};

/// What is told of each puzzle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Report {
    /// `RATING TECHNIQUE GRADE`.
    Rating,
    /// Every step, with `; ` between.
    Steps,
}

const BETWEEN_STEPS: &str = "; ";

/// One solver thread's rater, and the engine that says which puzzles have a rating at all.
pub(crate) struct RateEngine {
    report: Report,
    solver: SudokuEngine,
    rater: Rater,
    /// What the solver says of the boards of a call.
    solved: Outcomes,
    steps: Vec<Step>,
    text: Vec<u8>,
}

impl RateEngine {
    pub(crate) fn new(report: Report) -> Self {
        Self {
            report,
            solver: SudokuEngine::new(Question::Solve),
            rater: Rater::new(),
            solved: Outcomes::new(),
            steps: Vec::new(),
            text: Vec::new(),
        }
    }

    /// Rates a board whose only solution is known.
    fn rate(&mut self, board: &Board, solution: &[u8; CELLS], budget: &Budget<'_>, outcomes: &mut Outcomes) {
        self.steps.clear();
        self.text.clear();
        let rated = match self.report {
            Report::Rating => self.rater.rate(board, solution, budget),
            Report::Steps => self.rater.explain(board, solution, budget, &mut self.steps),
        };
        let kind = match rated.end {
            End::Complete => OutcomeKind::Solved,
            End::OutOfNodes => OutcomeKind::TimedOut,
            End::Cancelled => budget.unfinished(),
        };
        match self.report {
            _ if kind == OutcomeKind::Cancelled => {}
            // Out of nodes or time before the first step nothing is known.
            Report::Rating if kind == OutcomeKind::TimedOut && rated.rating.hardest.is_none() => {}
            Report::Rating => rated.rating.write(&mut self.text),
            Report::Steps => {
                for (index, step) in self.steps.iter().enumerate() {
                    if index > 0 {
                        self.text.extend_from_slice(BETWEEN_STEPS.as_bytes());
                    }
                    step.write(&mut self.text);
                }
            }
        }
        outcomes.push(kind, &self.text);
    }
}

impl Engine for RateEngine {
    fn solve(&mut self, puzzles: &[&[u8]], budget: &Budget<'_>, outcomes: &mut Outcomes) {
        // Which of them have one solution is found out for all at once.
        let boards: Vec<_> =
            puzzles.iter().copied().filter(|puzzle| Board::from_line(puzzle).is_some()).collect();
        let mut solved = std::mem::take(&mut self.solved);
        solved.truncate(0);
        self.solver.solve(&boards, budget, &mut solved);
        let mut next = 0;
        for puzzle in puzzles {
            let board = match read(puzzle) {
                Ok(board) => board,
                Err(reason) => {
                    outcomes.push(OutcomeKind::Invalid, &reason);
                    continue;
                }
            };
            let outcome = solved.get(next);
            next += 1;
            match outcome.kind {
                OutcomeKind::Solved => {
                    let solution = Board::from_line(outcome.text).expect("a solution of a board");
                    self.rate(&board, solution.cells(), budget, outcomes);
                }
                // Whatever the solver has to show then is no rating.
                OutcomeKind::TimedOut => outcomes.push(OutcomeKind::TimedOut, b""),
                _ => outcomes.push(outcome.kind, outcome.text),
            }
        }
        self.solved = solved;
    }
}

/// Any text of a 9x9 board; the scale is not made for other sizes.
pub(crate) fn canonical(line: &[u8], out: &mut Vec<u8>) -> Result<(), ParseError> {
    Board::parse(line)?.write(out);
    Ok(())
}

/// Reads canonical text, or gives the reason why it is none.
fn read(puzzle: &[u8]) -> Result<Board, Vec<u8>> {
    if let Some(board) = Board::from_line(puzzle) {
        return Ok(board);
    }
    Err(match (rejection(puzzle), Board::parse(puzzle)) {
        (Some(reason), _) => reason.to_vec(),
        (None, Err(error)) => error.to_string().into_bytes(),
        (None, Ok(_)) => b"not in canonical form".to_vec(),
    })
}

/// See [`Task::verify`](crate::Task::verify). A rating must be one that its technique may have. Steps must fill every
/// blank and make a solution, and strike out nothing of it. Whether the steps are the easiest is not looked into.
pub(crate) fn verify(report: Report, puzzle: &[u8], outcome: OutcomeRef<'_>) -> bool {
    let board = match (read(puzzle), outcome.kind) {
        (Err(_), OutcomeKind::Invalid) => return true,
        (Err(_), OutcomeKind::Cancelled | OutcomeKind::Failed) => return true,
        (Err(_), _) => return false,
        (Ok(board), _) => board,
    };
    let Ok(text) = std::str::from_utf8(outcome.text) else { return false };
    match (report, outcome.kind) {
        (_, OutcomeKind::Solved | OutcomeKind::TimedOut) if text.is_empty() => {
            let is_full = is_solution(board.cells(), board.cells(), 3);
            outcome.kind == OutcomeKind::TimedOut || report == Report::Steps && is_full
        }
        (Report::Rating, OutcomeKind::Solved | OutcomeKind::TimedOut) => Rating::parse(text)
            .is_some_and(|rating| rating.hardest.is_some() != is_solution(board.cells(), board.cells(), 3)),
        (Report::Steps, kind @ (OutcomeKind::Solved | OutcomeKind::TimedOut)) => {
            follow(&board, text, kind == OutcomeKind::Solved)
        }
        _ => engine::verify(Question::Solve, puzzle, outcome),
    }
}

/// Whether the steps fill blanks only and never against what they struck out; if to the end, to a solution.
fn follow(board: &Board, text: &str, to_the_end: bool) -> bool {
    let mut cells = *board.cells();
    let mut gone = [0u16; CELLS];
    for step in text.split(BETWEEN_STEPS) {
        let Some(step) = Step::parse(step) else { return false };
        for (cell, digits) in step.removed {
            gone[usize::from(cell)] |= digits;
        }
        if let Some((cell, digit)) = step.placed
            && std::mem::replace(&mut cells[usize::from(cell)], digit) != 0
        {
            return false;
        }
    }
    let kept = cells.iter().zip(gone).all(|(&digit, gone)| digit == 0 || gone >> (digit - 1) & 1 == 0);
    kept && (!to_the_end || is_solution(board.cells(), &cells, 3))
}
