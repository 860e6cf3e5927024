//! Symmetries of where the clues are: which cells stand or fall together.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use super::unavoidable::CellSet;
use crate::sudoku::CELLS;

/// Names of the symmetry classes, in the order of a task's values: all ten groups of turns and mirrorings of a square,
/// those apart that differ only by a quarter turn.
pub(super) const NAMES: &[&str] = &[
    "none",
    "half-turn",
    "quarter-turn",
    "horizontal",
    "vertical",
    "orthogonal",
    "diagonal",
    "anti-diagonal",
    "diagonals",
    "full",
];

/// A symmetry class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Symmetry(usize);

/// Row and column of where a cell goes.
type Move = fn(usize, usize) -> (usize, usize);

const HALF_TURN: Move = |row, column| (8 - row, 8 - column);
const QUARTER_TURN: Move = |row, column| (column, 8 - row);
/// At the horizontal axis: top and bottom change places.
const HORIZONTAL: Move = |row, column| (8 - row, column);
/// At the vertical axis: left and right change places.
const VERTICAL: Move = |row, column| (row, 8 - column);
/// At the diagonal from top left to bottom right.
const DIAGONAL: Move = |row, column| (column, row);
const ANTI_DIAGONAL: Move = |row, column| (8 - column, 8 - row);

/// Moves that make up each group.
const GENERATORS: [&[Move]; 10] = [
    &[],
    &[HALF_TURN],
    &[QUARTER_TURN],
    &[HORIZONTAL],
    &[VERTICAL],
    &[HORIZONTAL, VERTICAL],
    &[DIAGONAL],
    &[ANTI_DIAGONAL],
    &[DIAGONAL, ANTI_DIAGONAL],
    &[QUARTER_TURN, DIAGONAL],
];

impl Symmetry {
    /// The one at this place in [`NAMES`].
    pub(super) fn new(place: usize) -> Self {
        assert!(place < NAMES.len(), "a value of the option's list");
        Self(place)
    }

    /// Sets of cells that are all clues or all blank.
    pub(super) fn orbits(self) -> &'static Orbits {
        static ORBITS: LazyLock<Vec<Orbits>> =
            LazyLock::new(|| GENERATORS.iter().map(|moves| Orbits::new(moves)).collect());
        &ORBITS[self.0]
    }

    /// Whether clues (not 0) and blanks are so arranged.
    pub(super) fn holds(self, cells: &[u8; CELLS]) -> bool {
        (0..CELLS).all(|cell| {
            GENERATORS[self.0].iter().all(|step| {
                let (row, column) = step(cell / 9, cell % 9);
                (cells[cell] == 0) == (cells[9 * row + column] == 0)
            })
        })
    }
}

/// The orbits of a group: where its moves take a cell.
pub(super) struct Orbits {
    /// Each once, in the order of their first cells.
    pub(super) sets: Vec<CellSet>,
    by_cell: [CellSet; CELLS],
}

impl Orbits {
    fn new(moves: &[Move]) -> Self {
        let (mut sets, mut by_cell) = (Vec::new(), [0; CELLS]);
        for cell in 0..CELLS {
            if by_cell[cell] != 0 {
                continue;
            }
            let (mut orbit, mut open): (CellSet, CellSet) = (0, 1 << cell);
            while open != 0 {
                let from = open.trailing_zeros() as usize;
                orbit |= 1 << from;
                for step in moves {
                    let (row, column) = step(from / 9, from % 9);
                    open |= 1 << (9 * row + column);
                }
                open &= !orbit;
            }
            (0..CELLS).filter(|other| orbit >> other & 1 == 1).for_each(|other| by_cell[other] = orbit);
            sets.push(orbit);
        }
        Self { sets, by_cell }
    }

    /// Whether whole orbits can be chosen that have so many cells together, for some number in the range.
    pub(super) fn can_have(&self, cells: &RangeInclusive<u64>) -> bool {
        // Bit n: n cells can be had.
        let sums = self.sets.iter().fold(1_u128, |sums, set| sums | sums << set.count_ones());
        cells.clone().any(|n| sums >> n & 1 == 1)
    }

    /// The orbit of a cell.
    pub(super) fn of(&self, cell: usize) -> CellSet {
        self.by_cell[cell]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orbits_part_the_board_and_hold() {
        // The number of orbits, by Burnside: the mean number of cells that a move of the group leaves alone.
        let expected = [81, 41, 21, 45, 45, 25, 45, 45, 25, 15];
        for (place, count) in expected.into_iter().enumerate() {
            let symmetry = Symmetry::new(place);
            let orbits = &symmetry.orbits().sets;
            assert_eq!(orbits.len(), count, "{}", NAMES[place]);
            assert_eq!(orbits.iter().sum::<CellSet>(), (1 << CELLS) - 1);
            for orbit in orbits {
                let mut board: [u8; CELLS] = std::array::from_fn(|cell| 1 - (orbit >> cell & 1) as u8);
                assert!(symmetry.holds(&board));
                board[orbit.trailing_zeros() as usize] = 1;
                assert_eq!(symmetry.holds(&board), orbit.is_power_of_two());
            }
        }
    }
}
