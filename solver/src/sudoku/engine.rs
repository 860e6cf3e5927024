//! Sudoku tasks: texts to boards, verdicts to outcomes. The searching is done elsewhere.
//!
//! All 9x9 boards of a call go to the lane engine as one slice, those of pencil marks as another; one alone is first
//! tried by the bit-mask engine. The other sizes go one by one to clause learning.

use std::io::Write;

use crate::engine::{Budget, Engine, rejection};
use crate::outcome::{OutcomeKind, OutcomeRef, Outcomes};
use crate::sudoku::board::Puzzle;
use crate::sudoku::candidates::MARKS;
use crate::sudoku::verify::{is_solution_line, is_solution_of_marks};
use crate::sudoku::{
    AnyBoard, Bitmask, Board, CELLS, Candidates, ClauseLearning, End, LaneEngine, Verdict, board, is_solution,
};

/// What is asked about each board.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Question {
    /// One solution, and whether it is the only one.
    Solve,
    /// The same, and two solutions where there are several.
    Check,
    /// One solution, whether or not there are more.
    First,
    /// All solutions, at most `limit`.
    All { limit: u64 },
    /// How many solutions there are, at most `limit`.
    Count { limit: u64 },
}

impl Question {
    /// Up to how many solutions make a full answer. More of them are `Multiple`.
    fn asked(self) -> u64 {
        match self {
            Question::Solve | Question::Check | Question::First => 1,
            Question::All { limit } | Question::Count { limit } => limit,
        }
    }

    /// After how many solutions nothing more can change the answer.
    fn limit(self) -> u64 {
        match self {
            Question::First => 1,
            _ => self.asked() + 1,
        }
    }

    /// The most solutions an answer shows.
    fn shown(self) -> u64 {
        match self {
            Question::Solve | Question::First => 1,
            Question::Check => 2,
            Question::All { limit } => limit,
            Question::Count { .. } => 0,
        }
    }

    fn outcome_kind(self, solutions: u64, end: End, budget: &Budget<'_>) -> OutcomeKind {
        match (end, self) {
            (End::OutOfNodes, _) => OutcomeKind::TimedOut,
            (End::Cancelled, _) => budget.unfinished(),
            (End::Complete, _) if solutions > self.asked() => OutcomeKind::Multiple,
            (End::Complete, Question::Count { .. }) => OutcomeKind::Solved,
            (End::Complete, _) if solutions == 0 => OutcomeKind::NoSolution,
            (End::Complete, _) => OutcomeKind::Solved,
        }
    }
}

/// Stands behind an answer cut off at its limit: there are more.
const MORE: u8 = b'+';

/// Guesses after which a board alone goes from bit masks to lanes. Measured from 2 to 64: fewer are dear for boards of many
/// solutions, more for hard ones, and the rest does not care.
const ALONE_NODES: u64 = 16;

/// Puzzles solved at once at least; as many fill the lanes well.
const SLICE_MIN: u64 = 64;

/// Witnesses kept at once, 96 bytes each, unless [`SLICE_MIN`] puzzles have more.
const WITNESSES_MAX: u64 = 1 << 16;

/// One solver thread's sudoku engines and scratch memory.
pub(crate) struct SudokuEngine {
    question: Question,
    nine: NineByNine,
    /// For box sizes 2 to 5; built when the first such board comes.
    clause_learning: [Option<ClauseLearning>; 4],
    givens: Slice<Board>,
    pencil_marks: Slice<Candidates>,
    /// Where each puzzle of the call went.
    forms: Vec<Form>,
    text: Vec<u8>,
}

/// The engines for 9x9.
struct NineByNine {
    bitmask: Bitmask,
    lanes: LaneEngine,
}

impl NineByNine {
    /// Solves one board: by bit masks, which come to the end first where few guesses are needed, and else by lanes, which
    /// share the guesses out.
    fn solve_alone<B: AnyBoard>(
        &mut self,
        board: &[B; 1],
        limit: u64,
        budget: &Budget<'_>,
        verdicts: &mut Vec<Verdict>,
    ) {
        let few = Budget { nodes: budget.nodes_max().min(ALONE_NODES), ..*budget };
        self.bitmask.solve_many(board, limit, &few, verdicts);
        if verdicts[0].end == End::OutOfNodes && few.nodes < budget.nodes_max() {
            verdicts.clear();
            self.lanes.solve_many(board, limit, budget, verdicts);
        }
    }
}

/// How a puzzle is written.
#[derive(Clone, Copy)]
enum Form {
    Givens,
    PencilMarks,
    /// Another size, or not in canonical form.
    Other,
}

/// All 9x9 boards of a call that are of one form, and what is found of them.
struct Slice<B> {
    boards: Vec<B>,
    verdicts: Vec<Verdict>,
    /// Solutions with the index of their board, where an answer shows several.
    witnesses: Vec<(usize, [u8; CELLS])>,
    /// The witnesses in order: by board, then as texts are sorted.
    order: Vec<u32>,
    /// Of these two, how many are told.
    told: (usize, usize),
}

impl<B: AnyBoard> Slice<B> {
    const fn new() -> Self {
        Self {
            boards: Vec::new(),
            verdicts: Vec::new(),
            witnesses: Vec::new(),
            order: Vec::new(),
            told: (0, 0),
        }
    }

    /// Solves all boards: a verdict for each, and witnesses in order if the question shows several.
    fn solve(&mut self, question: Question, engines: &mut NineByNine, budget: &Budget<'_>) {
        let (boards, limit, verdicts) = (&self.boards, question.limit(), &mut self.verdicts);
        verdicts.clear();
        self.witnesses.clear();
        if question.shown() > 1 {
            let mut witness = |board, cells: &[u8; CELLS]| self.witnesses.push((board, *cells));
            engines.lanes.solve_each(boards, limit, budget, verdicts, &mut witness);
        } else if let Some(board) = boards.as_array() {
            engines.solve_alone(board, limit, budget, verdicts);
        } else {
            engines.lanes.solve_many(boards, limit, budget, verdicts);
        }
        assert_eq!(verdicts.len(), boards.len(), "one verdict per board");
        self.order.clear();
        self.order.extend(0..self.witnesses.len() as u32);
        self.order.sort_unstable_by_key(|&index| &self.witnesses[index as usize]);
        self.told = (0, 0);
    }

    /// Pushes the outcome of the next board.
    fn tell(&mut self, question: Question, budget: &Budget<'_>, text: &mut Vec<u8>, outcomes: &mut Outcomes) {
        let (board, witness) = self.told;
        let Verdict { solutions, end, solution } = &self.verdicts[board];
        if question.shown() > 1 {
            let end_of_own = witness + *solutions as usize;
            let own = self.order[witness..end_of_own].iter();
            let cells = own.map(|&index| &self.witnesses[index as usize].1[..]);
            push(question, (*solutions, *end), budget, cells, text, outcomes);
            self.told = (board + 1, end_of_own);
        } else {
            let found = (*solutions > 0).then_some(&solution[..]);
            push(question, (*solutions, *end), budget, found.into_iter(), text, outcomes);
            self.told = (board + 1, witness);
        }
    }
}

impl SudokuEngine {
    pub(crate) fn new(question: Question) -> Self {
        Self {
            question,
            nine: NineByNine { bitmask: Bitmask::new(), lanes: LaneEngine::new() },
            clause_learning: [const { None }; 4],
            givens: Slice::new(),
            pencil_marks: Slice::new(),
            forms: Vec::new(),
            text: Vec::new(),
        }
    }

    /// How many puzzles to solve at once: bounded only if memory has to hold many solutions of each.
    fn slice(&self) -> usize {
        match self.question.shown() {
            0 | 1 => usize::MAX,
            _ => (WITNESSES_MAX / self.question.limit()).max(SLICE_MIN) as usize,
        }
    }

    fn solve_slice(&mut self, puzzles: &[&[u8]], budget: &Budget<'_>, outcomes: &mut Outcomes) {
        self.forms.clear();
        self.givens.boards.clear();
        self.pencil_marks.boards.clear();
        for puzzle in puzzles {
            self.forms.push(if let Some(board) = Board::from_line(puzzle) {
                self.givens.boards.push(board);
                Form::Givens
            } else if let Some(candidates) = Candidates::from_line(puzzle) {
                self.pencil_marks.boards.push(candidates);
                Form::PencilMarks
            } else {
                Form::Other
            });
        }
        self.givens.solve(self.question, &mut self.nine, budget);
        self.pencil_marks.solve(self.question, &mut self.nine, budget);
        for (index, puzzle) in puzzles.iter().enumerate() {
            match self.forms[index] {
                Form::Givens => self.givens.tell(self.question, budget, &mut self.text, outcomes),
                Form::PencilMarks => self.pencil_marks.tell(self.question, budget, &mut self.text, outcomes),
                Form::Other => self.solve_other(puzzle, budget, outcomes),
            }
        }
    }

    /// Judges a puzzle of another size, or none.
    fn solve_other(&mut self, puzzle: &[u8], budget: &Budget<'_>, outcomes: &mut Outcomes) {
        let grid = match read(puzzle) {
            Ok(Puzzle::Givens(grid)) => grid,
            Ok(Puzzle::PencilMarks(_)) => unreachable!("a line of them was taken before"),
            Err(reason) => return outcomes.push(OutcomeKind::Invalid, &reason),
        };
        let box_size = grid.box_size();
        let engine = self.clause_learning[box_size - 2].get_or_insert_with(|| ClauseLearning::new(box_size));
        let shown = self.question.shown();
        let mut witnesses = Vec::new();
        let mut witness = |cells: &[u8]| {
            if (witnesses.len() as u64) < shown {
                witnesses.push(cells.to_vec());
            }
        };
        let (solutions, end) = engine.solve_each(grid.cells(), self.question.limit(), budget, &mut witness);
        witnesses.sort_unstable();
        let witnesses = witnesses.iter().map(Vec::as_slice);
        push(self.question, (solutions, end), budget, witnesses, &mut self.text, outcomes);
    }
}

/// Pushes one outcome; `witnesses` are at least as many of the solutions as the question shows, sorted.
/// `text` is scratch memory.
fn push<'a>(
    question: Question,
    (solutions, end): (u64, End),
    budget: &Budget<'_>,
    witnesses: impl Iterator<Item = &'a [u8]>,
    text: &mut Vec<u8>,
    outcomes: &mut Outcomes,
) {
    text.clear();
    let kind = question.outcome_kind(solutions, end, budget);
    match question {
        _ if kind == OutcomeKind::Cancelled => {}
        Question::Count { limit } => {
            write!(text, "{}", solutions.min(limit)).expect("a Vec takes any text");
            text.extend((solutions > limit).then_some(MORE));
        }
        _ => {
            for (index, cells) in witnesses.take(question.shown() as usize).enumerate() {
                text.extend((index > 0).then_some(b' '));
                board::write_cells(cells, text);
            }
            if matches!(question, Question::All { limit } if solutions > limit) {
                text.extend([b' ', MORE]);
            }
        }
    }
    outcomes.push(kind, text);
}

impl Engine for SudokuEngine {
    fn solve(&mut self, puzzles: &[&[u8]], budget: &Budget<'_>, outcomes: &mut Outcomes) {
        for slice in puzzles.chunks(self.slice()) {
            self.solve_slice(slice, budget, outcomes);
        }
    }
}

/// Reads canonical text of any form, or gives the reason why it is none.
fn read(puzzle: &[u8]) -> Result<Puzzle, Vec<u8>> {
    if let Some(reason) = rejection(puzzle) {
        return Err(reason.to_vec());
    }
    let read = Puzzle::parse(puzzle).map_err(|error| error.to_string().into_bytes())?;
    let characters = match &read {
        Puzzle::Givens(grid) => grid.cells().len(),
        Puzzle::PencilMarks(_) => MARKS,
    };
    if characters == puzzle.len() { Ok(read) } else { Err(b"not in canonical form".to_vec()) }
}

/// See [`Task::verify`](crate::Task::verify).
pub(crate) fn verify(question: Question, puzzle: &[u8], outcome: OutcomeRef<'_>) -> bool {
    use OutcomeKind::{Cancelled, Failed, Invalid, Multiple, NoSolution, Solved, TimedOut};
    let (kind, text) = (outcome.kind, outcome.text);
    match (question, kind) {
        (_, Cancelled | Failed) => true,
        (_, Invalid) => read(puzzle).is_err(),
        (Question::Solve, Solved | Multiple) | (Question::Check | Question::First, Solved) => {
            solves(puzzle, text)
        }
        (Question::Check, Multiple) => all_solve(puzzle, text) == Some(2),
        (Question::All { limit }, Solved) => all_solve(puzzle, text).is_some_and(|count| count <= limit),
        (Question::All { limit }, Multiple) => {
            text.strip_suffix(&[b' ', MORE]).and_then(|text| all_solve(puzzle, text)) == Some(limit)
        }
        (Question::Count { limit }, Solved | TimedOut) => {
            read(puzzle).is_ok() && count_of(text).is_some_and(|count| count <= limit)
        }
        (Question::Count { limit }, Multiple) => {
            read(puzzle).is_ok() && text.strip_suffix(&[MORE]).and_then(count_of) == Some(limit)
        }
        (Question::Count { .. }, NoSolution) | (Question::First, Multiple) => false,
        (_, NoSolution) => text.is_empty() && read(puzzle).is_ok(),
        (_, TimedOut) if text.is_empty() => read(puzzle).is_ok(),
        (_, TimedOut) => all_solve(puzzle, text).is_some_and(|count| count <= question.shown()),
    }
}

/// How many solutions `answers` shows, separated by one space and in ascending order, hence no two alike; `None`
/// unless each solves `puzzle`.
fn all_solve(puzzle: &[u8], answers: &[u8]) -> Option<u64> {
    let mut count = 0;
    let mut last: &[u8] = b"";
    for answer in answers.split(|&byte| byte == b' ') {
        if answer <= last || !solves(puzzle, answer) {
            return None;
        }
        (count, last) = (count + 1, answer);
    }
    Some(count)
}

/// Whether `answer` is the canonical text of a solution of `puzzle`.
fn solves(puzzle: &[u8], answer: &[u8]) -> bool {
    if let Ok(nine) = answer.try_into() {
        return match (puzzle.try_into(), puzzle.try_into()) {
            (Ok(givens), _) => is_solution_line(givens, nine),
            (_, Ok(marks)) => Candidates::from_line(puzzle).is_some() && is_solution_of_marks(marks, nine),
            _ => false,
        };
    }
    let is_canonical = !answer.iter().any(u8::is_ascii_lowercase);
    match (read(puzzle), read(answer)) {
        (Ok(Puzzle::Givens(puzzle)), Ok(Puzzle::Givens(answer))) => {
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
