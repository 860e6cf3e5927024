//! Boards that are the same but for symmetry: the minimal form, the way there, and the classes of bands.
//!
//! Transposing a board, permuting its bands and stacks, the rows in a band and the columns in a stack (3,359,232 ways),
//! and renaming its digits (9! ways) make other boards of it that are the same puzzle to a solver. The *minimal form*
//! (row-minlex form) is the one of them whose text of 81 characters comes first in byte order, blanks, as `.`, before
//! digits. Two boards are the same puzzle if and only if their minimal forms are equal.
//!
//! | part | duty |
//! |---|---|
//! | `search.rs` | finds the form |
//! | `band.rs` | complete bands alone |
//! | `morph.rs` | symmetries, applied and as text |
//! | `job.rs` | the task `sudoku.canonical` |
//!
//! Other programs may mean other things by the canonical form of a puzzle: the smallest by its pattern of givens alone
//! first, or the place of its givens in the minimal form of its solution. For complete grids all agree.

mod band;
mod job;
mod morph;
mod search;

pub use band::{BAND_CLASSES, band_class};
pub(crate) use job::{CanonicalEngine, OPTIONS, canonical, verify};
pub use morph::{Morph, NotAMorph};

use crate::engine::Budget;
use crate::sudoku::{Board, End};
use search::Search;

/// The minimal form of a board.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Canonical {
    /// The form.
    pub form: Board,
    /// One way from the board to its form; which one, if there are several, is not guaranteed.
    pub morph: Morph,
    /// The symmetries that make the board itself of it, the identity included. Renaming digits that the board lacks
    /// does not count.
    pub automorphisms: u64,
}

/// Why a board got no form.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoForm {
    /// The same digit twice in a row, column or box: no puzzle.
    #[error("{0}")]
    Clash(Clash),
    /// The budget was too small.
    #[error("out of nodes")]
    OutOfNodes,
    /// The cancel flag was seen.
    #[error("cancelled")]
    Cancelled,
}

/// Two equal givens that see each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clash {
    /// The later of the two cells, 0-80.
    pub cell: usize,
    /// Its digit.
    pub digit: u8,
    unit: &'static str,
}

impl std::fmt::Display for Clash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (row, column) = (self.cell / 9, self.cell % 9);
        let number = match self.unit {
            "row" => row,
            "column" => column,
            _ => row / 3 * 3 + column / 3,
        } + 1;
        write!(f, "a second {} in {} {number}", self.digit, self.unit)
    }
}

/// Finds minimal forms. Warm, it allocates nothing per board.
///
/// # Examples
///
/// ```
/// use puzzled_solver::Budget;
/// use puzzled_solver::sudoku::{Board, Canonicalizer};
///
/// let mut canonicalizer = Canonicalizer::default();
/// let mut form = |line: &[u8]| -> Result<Board, Box<dyn std::error::Error>> {
///     Ok(canonicalizer.canonical(&Board::parse(line)?, &Budget::unlimited())?.form)
/// };
/// let one = b"000000010400000000020000000000050407008000300001090000300400200050100000000806000";
/// let other = b"000000020500000000030000000000060508009000400002010000400500300060200000000907000";
/// assert_eq!(form(one)?, form(other)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct Canonicalizer {
    search: Search,
}

impl Canonicalizer {
    /// The minimal form of a board. It need not have a solution, but its givens must not clash.
    ///
    /// A node of the budget is a way to have written a part of the form. Published puzzles need some hundred; the worst
    /// that was found, three full rows and all else blank, 66,000.
    ///
    /// # Errors
    ///
    /// When the givens clash, and when the budget ends.
    pub fn canonical(&mut self, board: &Board, budget: &Budget<'_>) -> Result<Canonical, NoForm> {
        if let Some(clash) = clash(board) {
            return Err(NoForm::Clash(clash));
        }
        let found = self.search.run(board, budget).map_err(|end| match end {
            End::Cancelled => NoForm::Cancelled,
            End::OutOfNodes | End::Complete => NoForm::OutOfNodes,
        })?;
        // Digits that the board lacks get the names that are left.
        let mut digits = found.labels;
        for name in 1..=9 {
            if !digits.contains(&name)
                && let Some(unnamed) = digits.iter_mut().find(|digit| **digit == 0)
            {
                *unnamed = name;
            }
        }
        let digits = digits.map(|digit| digit - 1);
        let morph = Morph::new(found.transposed, found.rows, found.columns, digits);
        Ok(Canonical {
            form: Board::from_cells(found.form).expect("labels are digits"),
            morph: morph.expect("rows and columns are permuted in their bands and stacks"),
            automorphisms: found.automorphisms,
        })
    }
}

/// The first given, in reading order, that repeats an earlier one of its row, column or box.
fn clash(board: &Board) -> Option<Clash> {
    let (mut rows, mut columns, mut boxes) = ([0u16; 9], [0u16; 9], [0u16; 9]);
    for (cell, &digit) in board.cells().iter().enumerate().filter(|&(_, &digit)| digit != 0) {
        let (row, column) = (cell / 9, cell % 9);
        let units = [
            ("row", &mut rows[row]),
            ("column", &mut columns[column]),
            ("box", &mut boxes[row / 3 * 3 + column / 3]),
        ];
        for (unit, seen) in units {
            if *seen >> digit & 1 == 1 {
                return Some(Clash { cell, digit, unit });
            }
            *seen |= 1 << digit;
        }
    }
    None
}
