//! Sudoku tasks: texts to boards, verdicts to outcomes. The searching is done elsewhere.
//!
//! All 9x9 boards of a call go to the lane engine as one slice; a few alone go to the bit-mask engine. The other sizes
//! go one by one to exact cover.

use std::io::Write;

use crate::engine::{Budget, Engine, rejection};
use crate::outcome::{OutcomeKind, OutcomeRef, Outcomes};
use crate::sudoku::verify::is_solution_line;
use crate::sudoku::{Bitmask, Board, CELLS, End, ExactCover, Grid, LaneEngine, Verdict, board, is_solution};

/// What is asked about each board.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Question {
    /// One solution, and whether it is the only one: counts to 2.
    Solve,
    /// How many solutions there are, at most `limit`.
    Count { limit: u64 },
}

impl Question {
    /// After how many solutions nothing more can change the answer.
    fn limit(self) -> u64 {
        match self {
            Question::Solve => 2,
            Question::Count { limit } => limit,
        }
    }
}

/// Boards in a call up to which solving them one by one is sooner done than filling lanes.
const ALONE_MAX: usize = 3;

/// One solver thread's sudoku engines and scratch memory.
pub(crate) struct SudokuEngine {
    question: Question,
    /// For up to [`ALONE_MAX`] boards in a call.
    bitmask: Bitmask,
    /// For more.
    lanes: LaneEngine,
    /// For box sizes 2 to 5; built when the first such board comes.
    exact_covers: [Option<ExactCover>; 4],
    boards: Vec<Board>,
    verdicts: Vec<Verdict>,
    /// Which puzzles of the call went into `boards`.
    is_board: Vec<bool>,
    text: Vec<u8>,
}

impl SudokuEngine {
    pub(crate) fn new(question: Question) -> Self {
        Self {
            question,
            bitmask: Bitmask::new(),
            lanes: LaneEngine::new(),
            exact_covers: [const { None }; 4],
            boards: Vec::new(),
            verdicts: Vec::new(),
            is_board: Vec::new(),
            text: Vec::new(),
        }
    }

    /// Judges a puzzle that is not a 9x9 line.
    fn solve_other(&mut self, puzzle: &[u8], budget: &Budget<'_>, outcomes: &mut Outcomes) {
        let grid = match read(puzzle) {
            Ok(grid) => grid,
            Err(reason) => return outcomes.push(OutcomeKind::Invalid, &reason),
        };
        let box_size = grid.box_size();
        let engine = self.exact_covers[box_size - 2].get_or_insert_with(|| ExactCover::new(box_size));
        let mut solution = vec![0; grid.cells().len()];
        let (solutions, end) = engine.solve(grid.cells(), self.question.limit(), budget, &mut solution);
        self.push(solutions, end, &solution, outcomes);
    }

    fn push(&mut self, solutions: u64, end: End, solution: &[u8], outcomes: &mut Outcomes) {
        self.text.clear();
        match self.question {
            Question::Solve if solutions > 0 => board::write_cells(solution, &mut self.text),
            Question::Solve => {}
            Question::Count { .. } => write!(self.text, "{solutions}").expect("a Vec takes any text"),
        }
        let kind = match (end, self.question, solutions) {
            (End::OutOfNodes, _, _) => OutcomeKind::TimedOut,
            (End::Cancelled, _, _) => OutcomeKind::Cancelled,
            (End::Complete, Question::Count { .. }, _) | (End::Complete, Question::Solve, 1) => {
                OutcomeKind::Solved
            }
            (End::Complete, Question::Solve, 0) => OutcomeKind::NoSolution,
            (End::Complete, Question::Solve, _) => OutcomeKind::Multiple,
        };
        let text = if kind == OutcomeKind::Cancelled { &[][..] } else { &self.text };
        outcomes.push(kind, text);
    }
}

impl Engine for SudokuEngine {
    fn solve(&mut self, puzzles: &[&[u8]], budget: &Budget<'_>, outcomes: &mut Outcomes) {
        self.boards.clear();
        self.is_board.clear();
        for puzzle in puzzles {
            let board = Board::from_line(puzzle);
            self.is_board.push(board.is_some());
            self.boards.extend(board);
        }
        let mut verdicts = std::mem::take(&mut self.verdicts);
        verdicts.clear();
        let limit = self.question.limit();
        if self.boards.len() <= ALONE_MAX {
            self.bitmask.solve_many(&self.boards, limit, budget, &mut verdicts);
        } else {
            self.lanes.solve_many(&self.boards, limit, budget, &mut verdicts);
        }
        assert_eq!(verdicts.len(), self.boards.len(), "one verdict per board");

        let mut next = verdicts.iter();
        for (index, puzzle) in puzzles.iter().enumerate() {
            if !self.is_board[index] {
                self.solve_other(puzzle, budget, outcomes);
            } else if let Some(verdict) = next.next() {
                self.push(verdict.solutions, verdict.end, &verdict.solution, outcomes);
            }
        }
        self.verdicts = verdicts;
    }
}

/// Reads canonical text of any size, or gives the reason why it is none.
fn read(puzzle: &[u8]) -> Result<Grid, Vec<u8>> {
    if let Some(reason) = rejection(puzzle) {
        return Err(reason.to_vec());
    }
    let grid = Grid::parse(puzzle).map_err(|error| error.to_string().into_bytes())?;
    if grid.cells().len() == puzzle.len() { Ok(grid) } else { Err(b"not in canonical form".to_vec()) }
}

/// See [`Task::verify`](crate::Task::verify).
pub(crate) fn verify(question: Question, puzzle: &[u8], outcome: OutcomeRef<'_>) -> bool {
    match outcome.kind {
        OutcomeKind::Cancelled | OutcomeKind::Failed => return true,
        OutcomeKind::Invalid => return read(puzzle).is_err(),
        OutcomeKind::Solved | OutcomeKind::NoSolution | OutcomeKind::Multiple | OutcomeKind::TimedOut => {}
    }
    match (question, outcome.kind) {
        (Question::Solve, OutcomeKind::NoSolution) => outcome.text.is_empty() && read(puzzle).is_ok(),
        (Question::Solve, OutcomeKind::TimedOut) if outcome.text.is_empty() => read(puzzle).is_ok(),
        (Question::Solve, _) => solves(puzzle, outcome.text),
        (Question::Count { limit }, OutcomeKind::Solved | OutcomeKind::TimedOut) => {
            read(puzzle).is_ok() && count_of(outcome.text).is_some_and(|count| count <= limit)
        }
        (Question::Count { .. }, _) => false,
    }
}

/// Whether `answer` is the canonical text of a solution of `puzzle`.
fn solves(puzzle: &[u8], answer: &[u8]) -> bool {
    if puzzle.len() != answer.len() {
        return false;
    }
    if let (Ok(puzzle), Ok(answer)) = (puzzle.try_into(), answer.try_into()) {
        return is_solution_line(puzzle, answer);
    }
    let is_canonical = !answer.iter().any(u8::is_ascii_lowercase);
    match (read(puzzle), read(answer)) {
        (Ok(puzzle), Ok(answer)) if puzzle.cells().len() != CELLS => {
            is_canonical && is_solution(puzzle.cells(), answer.cells(), puzzle.box_size())
        }
        _ => false,
    }
}

/// The number in its one decimal spelling: no sign, no leading zero.
fn count_of(text: &[u8]) -> Option<u64> {
    let number: u64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    (number.to_string().as_bytes() == text).then_some(number)
}
