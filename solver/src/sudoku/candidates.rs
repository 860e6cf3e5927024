//! Boards as pencil marks, their text, and what engines take: givens or pencil marks.

use crate::parse_error::{ParseError, shown};
use crate::sudoku::board::{is_blank, is_separator};
use crate::sudoku::{Board, CELLS};

/// Characters of a board as pencil marks: nine a cell.
pub(crate) const MARKS: usize = 9 * CELLS;

/// A 9x9 board as pencil marks ("sukaku"): which values each cell may have, with no word about which are given.
///
/// Nothing is concluded from them: two cells of a row that have only the 5, or a cell that has nothing, are an
/// outcome (no solution), not an error.
///
/// # Examples
///
/// ```
/// use puzzled_solver::Budget;
/// use puzzled_solver::sudoku::{Board, Candidates, LaneEngine};
///
/// let board = Board::parse(b"000000010400000000020000000000050407008000300001090000300400200050100000000806000")?;
/// let mut masks = *Candidates::from(&board).masks();
/// masks[0] &= !(1 << 5); // The first cell is a 6 in the solution, which is now forbidden.
/// let sukaku = Candidates::from_masks(masks).expect("nine bits a cell");
///
/// let mut verdicts = Vec::new();
/// LaneEngine::new().solve_many(&[sukaku], 2, &Budget::unlimited(), &mut verdicts);
/// assert_eq!(verdicts[0].solutions, 0);
/// # Ok::<(), puzzled_solver::ParseError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Candidates([u16; CELLS]);

impl Candidates {
    /// The mask of a cell that may have any value.
    pub const ANY: u16 = (1 << 9) - 1;

    /// A board of these masks, row by row; bit 0 stands for the value 1, bit 8 for 9. `None` if a mask has a bit
    /// above those.
    pub fn from_masks(masks: [u16; CELLS]) -> Option<Candidates> {
        // No early end: this becomes vector code.
        let union = masks.iter().fold(0, |union, &mask| union | mask);
        (union <= Self::ANY).then_some(Candidates(masks))
    }

    /// Reads exactly 729 characters, nine a cell: each is the digit of its place (`1` is first) or a blank
    /// (`0 . _ *`); `None` for anything else.
    pub fn from_line(line: &[u8]) -> Option<Candidates> {
        let line: &[u8; MARKS] = line.try_into().ok()?;
        let mut masks = [0; CELLS];
        let mut bad = false;
        for (mask, cell) in masks.iter_mut().zip(line.as_chunks::<9>().0) {
            for (value, (&byte, digit)) in cell.iter().zip(b'1'..=b'9').enumerate() {
                *mask |= u16::from(byte == digit) << value;
                bad |= !((byte == digit) | is_blank(byte));
            }
        }
        (!bad).then_some(Candidates(masks))
    }

    /// Reads the same with blank space and the separators `|`, `-`, `+` anywhere between.
    ///
    /// # Errors
    ///
    /// The place and reason of the first fault, marks before their number.
    pub fn parse(text: &[u8]) -> Result<Candidates, ParseError> {
        if let Some(candidates) = Self::from_line(text) {
            return Ok(candidates);
        }
        let text = text.trim_ascii_end();
        let marks = || text.iter().enumerate().filter(|&(_, &byte)| !is_separator(byte));
        let mut masks = [0; CELLS];
        for (place, (column, &byte)) in marks().enumerate().take(MARKS) {
            let (cell, value) = (place / 9, place % 9);
            if byte == b'1' + value as u8 {
                masks[cell] |= 1 << value;
            } else if !is_blank(byte) {
                let (row, column_of_cell, digit) = (cell / 9 + 1, cell % 9 + 1, value + 1);
                let found = shown(text, column);
                let reason = format!(
                    "expected {digit} or a blank (0 . _ *) among the pencil marks of r{row}c{column_of_cell}, found {found}"
                );
                return Err(ParseError::at(column + 1, reason));
            }
        }
        match marks().count() {
            MARKS => Ok(Candidates(masks)),
            found => {
                let column = marks().nth(MARKS).map_or(text.len(), |(column, _)| column);
                let reason = format!("expected {MARKS} pencil marks, nine a cell, found {found}");
                Err(ParseError::at(column + 1, reason))
            }
        }
    }

    /// Appends the canonical text: 729 characters, blanks as `.`.
    pub fn write(&self, out: &mut Vec<u8>) {
        for mask in self.0 {
            out.extend((0..9).map(|value| if mask >> value & 1 == 0 { b'.' } else { b'1' + value }));
        }
    }

    /// The masks, row by row; bit 0 stands for the value 1, bit 8 for 9.
    pub fn masks(&self) -> &[u16; CELLS] {
        &self.0
    }
}

/// Only the value in given cells, any value in blanks.
impl From<&Board> for Candidates {
    fn from(board: &Board) -> Self {
        Candidates(board.cells().map(|value| match value {
            0 => Self::ANY,
            _ => 1 << (value - 1),
        }))
    }
}

/// A board that the 9x9 engines take slices of: [`Board`] or [`Candidates`].
pub trait AnyBoard: sealed::Sealed {}

impl AnyBoard for Board {}
impl AnyBoard for Candidates {}

/// A slice of boards, so that engines need not be compiled twice.
#[derive(Clone, Copy)]
pub(super) enum Boards<'a> {
    Givens(&'a [Board]),
    Candidates(&'a [Candidates]),
}

impl Boards<'_> {
    pub(super) fn len(&self) -> usize {
        match self {
            Boards::Givens(boards) => boards.len(),
            Boards::Candidates(boards) => boards.len(),
        }
    }
}

pub(super) mod sealed {
    use super::{Board, Boards, Candidates};

    pub trait Sealed: Sized {
        #[expect(private_interfaces, reason = "nobody outside can name this trait")]
        fn boards(slice: &[Self]) -> Boards<'_>;
    }

    impl Sealed for Board {
        #[expect(private_interfaces, reason = "as above")]
        fn boards(slice: &[Self]) -> Boards<'_> {
            Boards::Givens(slice)
        }
    }

    impl Sealed for Candidates {
        #[expect(private_interfaces, reason = "as above")]
        fn boards(slice: &[Self]) -> Boards<'_> {
            Boards::Candidates(slice)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fault(text: &str) -> String {
        Candidates::parse(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn text() {
        let line = format!("{}123456789.......8.", "1.3......".repeat(79));
        let candidates = Candidates::parse(line.as_bytes()).expect("pencil marks");
        assert_eq!(candidates.masks()[..79], [0b101; 79]);
        assert_eq!(candidates.masks()[79..], [Candidates::ANY, 1 << 7]);
        let mut out = Vec::new();
        candidates.write(&mut out);
        assert_eq!(String::from_utf8_lossy(&out), line);
        let zeros = line.replace('.', "0");
        let spaced: Vec<_> = zeros.as_bytes().chunks(9).map(String::from_utf8_lossy).collect();
        let spaced = format!(" {} | +\t\r\n", spaced.join(" | "));
        assert_eq!(Candidates::parse(spaced.as_bytes()), Ok(candidates));
    }

    #[test]
    fn faults() {
        let blank = ".".repeat(MARKS);
        assert_eq!(
            fault(&format!("{}2{}", &blank[..18], &blank[19..])),
            "column 19: expected 1 or a blank (0 . _ *) among the pencil marks of r1c3, found '2'"
        );
        assert_eq!(
            fault(&format!(" {}x", &blank[..728])),
            "column 730: expected 9 or a blank (0 . _ *) among the pencil marks of r9c9, found 'x'"
        );
        assert_eq!(fault(&blank[..728]), "column 729: expected 729 pencil marks, nine a cell, found 728");
        assert_eq!(
            fault(&format!("{blank} .")),
            "column 731: expected 729 pencil marks, nine a cell, found 730"
        );
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(masks in proptest::collection::vec(0..=Candidates::ANY, CELLS)) {
            let candidates = Candidates(masks.try_into().expect("81 masks"));
            let mut text = Vec::new();
            candidates.write(&mut text);
            prop_assert_eq!(Candidates::from_line(&text), Some(candidates));
            text.insert(300, b' ');
            prop_assert_eq!(Candidates::from_line(&text), None);
            prop_assert_eq!(Candidates::parse(&text), Ok(candidates));
        }

        #[test]
        fn no_text_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 700..760)) {
            prop_assert!(Candidates::parse(&bytes).is_err());
        }
    }
}
