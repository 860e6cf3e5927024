//! Boards as pencil marks, and what engines take: givens or pencil marks. Text is none of its business.

use crate::sudoku::{Board, CELLS};

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
        masks.iter().all(|&mask| mask <= Self::ANY).then_some(Candidates(masks))
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
