//! The task `sudoku.canonical`: texts to boards, forms to outcomes, and the check of an answer. The searching is done
//! elsewhere.
//!
//! The answer is the minimal form; with `morph=yes` a space and a morph that makes the form of the puzzle follow.

use std::io::Write;

use super::{Canonicalizer, Morph, NoForm, clash};
use crate::engine::{Budget, Engine, rejection};
use crate::outcome::{OutcomeKind, OutcomeRef, Outcomes};
use crate::parse_error::ParseError;
use crate::sudoku::{Board, board};
use crate::task::{Domain, OptionSpec, Values};

/// The task's options, in the order of [`Values`].
pub(crate) const OPTIONS: &[OptionSpec] = &[OptionSpec {
    name: "morph",
    about: "whether a symmetry that leads from the puzzle to the form follows the form",
    default: 0,
    domain: Domain::Word(&["no", "yes"]),
    weighs: false,
}];

fn wants_morph(values: &Values) -> bool {
    values[0] == 1
}

/// One solver thread's canonicalizer.
pub(crate) struct CanonicalEngine {
    canonicalizer: Canonicalizer,
    with_morph: bool,
    text: Vec<u8>,
}

impl CanonicalEngine {
    pub(crate) fn new(values: &Values) -> Self {
        Self { canonicalizer: Canonicalizer::default(), with_morph: wants_morph(values), text: Vec::new() }
    }
}

impl Engine for CanonicalEngine {
    fn solve(&mut self, puzzles: &[&[u8]], budget: &Budget<'_>, outcomes: &mut Outcomes) {
        for puzzle in puzzles {
            if budget.stopped() {
                outcomes.push(budget.unfinished(), b"");
                continue;
            }
            let board = match read(puzzle) {
                Ok(board) => board,
                Err(reason) => {
                    outcomes.push(OutcomeKind::Invalid, &reason);
                    continue;
                }
            };
            match self.canonicalizer.canonical(&board, budget) {
                Ok(found) => {
                    self.text.clear();
                    found.form.write(&mut self.text);
                    if self.with_morph {
                        write!(self.text, " {}", found.morph).expect("a Vec takes any text");
                    }
                    outcomes.push(OutcomeKind::Solved, &self.text);
                }
                Err(NoForm::Clash(clash)) => {
                    outcomes.push(OutcomeKind::Invalid, clash.to_string().as_bytes())
                }
                Err(NoForm::OutOfNodes) => outcomes.push(OutcomeKind::TimedOut, b""),
                Err(NoForm::Cancelled) => outcomes.push(budget.unfinished(), b""),
            }
        }
    }
}

/// Canonical text of a 9x9 board in any layout. Givens that clash are a fault of the text: such a board stands for no
/// puzzle, so there is nothing to be the same as.
pub(crate) fn canonical(line: &[u8], out: &mut Vec<u8>) -> Result<(), ParseError> {
    let board = Board::parse(line.trim_ascii_end())?;
    if let Some(clash) = clash(&board) {
        return Err(board::fault_at_cell(line, clash.cell, clash.to_string()));
    }
    board.write(out);
    Ok(())
}

/// Reads canonical text, or gives the reason why it is none.
fn read(puzzle: &[u8]) -> Result<Board, Vec<u8>> {
    if let Some(reason) = rejection(puzzle) {
        return Err(reason.to_vec());
    }
    if let Some(board) = Board::from_line(puzzle) {
        return Ok(board);
    }
    Err(match Board::parse(puzzle) {
        Ok(_) => b"not in canonical form".to_vec(),
        Err(error) => error.to_string().into_bytes(),
    })
}

/// Applies the morph, if there is one; else compares what no symmetry changes. Either way by code that the search does
/// not use; that no smaller image exists is not checked.
pub(crate) fn verify(values: &Values, puzzle: &[u8], outcome: OutcomeRef<'_>) -> bool {
    let board = read(puzzle).ok().filter(|board| clash(board).is_none());
    match (outcome.kind, board) {
        (OutcomeKind::Cancelled | OutcomeKind::Failed, _) => true,
        (OutcomeKind::Invalid, board) => board.is_none(),
        (OutcomeKind::TimedOut, Some(_)) => outcome.text.is_empty(),
        (OutcomeKind::Solved, Some(board)) if wants_morph(values) => is_image_by(&board, outcome.text),
        (OutcomeKind::Solved, Some(board)) => match Board::from_line(outcome.text) {
            Some(form) => is_text_of(&form, outcome.text) && traits(&form) == traits(&board),
            None => false,
        },
        (OutcomeKind::NoSolution | OutcomeKind::Multiple, Some(_)) | (_, None) => false,
    }
}

/// Whether the text is `FORM MORPH`, and the morph makes the form of the board.
fn is_image_by(board: &Board, text: &[u8]) -> bool {
    let Some((form, morph)) = text.split_at_checked(81) else { return false };
    let morph =
        morph.strip_prefix(b" ").and_then(|morph| std::str::from_utf8(morph).ok()?.parse::<Morph>().ok());
    morph.is_some_and(|morph| is_text_of(&morph.apply(board), form))
}

fn is_text_of(board: &Board, text: &[u8]) -> bool {
    let mut expected = Vec::with_capacity(81);
    board.write(&mut expected);
    expected == text
}

/// Numbers of givens, in an order that symmetries do not change: of each digit; of each box; of the lines, in bands
/// and stacks.
fn traits(board: &Board) -> ([u8; 10], [u8; 9], [[[u8; 3]; 3]; 2]) {
    let (mut digits, mut boxes, mut lines) = ([0; 10], [0; 9], [[[0; 3]; 3]; 2]);
    for (cell, &digit) in board.cells().iter().enumerate().filter(|&(_, &digit)| digit != 0) {
        let (row, column) = (cell / 9, cell % 9);
        digits[usize::from(digit)] += 1;
        boxes[row / 3 * 3 + column / 3] += 1;
        lines[0][row / 3][row % 3] += 1;
        lines[1][column / 3][column % 3] += 1;
    }
    digits.sort_unstable();
    boxes.sort_unstable();
    for bands in &mut lines {
        bands.iter_mut().for_each(|band| band.sort_unstable());
        bands.sort_unstable();
    }
    lines.sort_unstable();
    (digits, boxes, lines)
}
