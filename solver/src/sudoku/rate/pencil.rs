//! The pencil marks: which digits each cell may still take, kept from three sides at once so that every technique
//! finds its question answered by a mask.

use crate::sudoku::units::{PEERS, POSITIONS, UNITS_OF, bits, cells};
use crate::sudoku::{Board, CELLS};

/// A board with its candidates. Digits are 0 to 8.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Pencil {
    /// The candidates of each cell; none where the cell is filled.
    cells: [u16; CELLS],
    /// For each unit and digit, the positions in the unit where it may still go; none once it is placed.
    spots: [[u16; 9]; 27],
    /// For each digit, the cells where it may still go.
    places: [u128; 9],
    /// For each unit, the positions of cells not filled.
    open: [u16; 27],
}

impl Pencil {
    /// The candidates of a board: whatever its givens do not forbid by sharing a unit.
    pub(super) fn new(board: &Board) -> Self {
        let mut taken = [0u16; 27];
        for (cell, &value) in board.cells().iter().enumerate().filter(|&(_, &value)| value > 0) {
            for unit in UNITS_OF[cell] {
                taken[usize::from(unit)] |= 1 << (value - 1);
            }
        }
        let mut pencil = Self::blank();
        for cell in (0..CELLS).filter(|&cell| board.cells()[cell] == 0) {
            let units = UNITS_OF[cell].map(usize::from);
            let candidates = 0x1ff & !(taken[units[0]] | taken[units[1]] | taken[units[2]]);
            pencil.cells[cell] = candidates;
            for (unit, position) in units.into_iter().zip(POSITIONS[cell]) {
                pencil.open[unit] |= 1 << position;
                for digit in bits(candidates) {
                    pencil.spots[unit][digit] |= 1 << position;
                }
            }
            for digit in bits(candidates) {
                pencil.places[digit] |= 1 << cell;
            }
        }
        pencil
    }

    /// No candidates at all.
    pub(super) fn blank() -> Self {
        Self { cells: [0; CELLS], spots: [[0; 9]; 27], places: [0; 9], open: [0; 27] }
    }

    /// The candidates of a cell; none when it is filled.
    pub(super) fn cell(&self, cell: usize) -> u16 {
        self.cells[cell]
    }

    /// The positions in a unit where a digit may still go; none once it is placed.
    pub(super) fn spots(&self, unit: usize, digit: usize) -> u16 {
        self.spots[unit][digit]
    }

    /// The same for every digit.
    pub(super) fn unit(&self, unit: usize) -> &[u16; 9] {
        &self.spots[unit]
    }

    /// The cells where a digit may still go.
    pub(super) fn places(&self, digit: usize) -> u128 {
        self.places[digit]
    }

    /// The positions in a unit of cells not filled.
    pub(super) fn open(&self, unit: usize) -> u16 {
        self.open[unit]
    }

    /// Whether every cell is filled.
    pub(super) fn is_full(&self) -> bool {
        self.open[..9].iter().all(|&open| open == 0)
    }

    /// The cells with exactly `count` candidates.
    pub(super) fn cells_with(&self, count: u32) -> u128 {
        (0..CELLS).filter(|&cell| self.cells[cell].count_ones() == count).fold(0, |set, cell| set | 1 << cell)
    }

    /// Strikes a candidate out, if it is there.
    pub(super) fn remove(&mut self, cell: usize, digit: usize) {
        self.cells[cell] &= !(1 << digit);
        self.places[digit] &= !(1 << cell);
        for (unit, position) in UNITS_OF[cell].into_iter().zip(POSITIONS[cell]) {
            self.spots[usize::from(unit)][digit] &= !(1 << position);
        }
    }

    /// Fills a cell: it loses its candidates, and those that see it lose the digit.
    pub(super) fn place(&mut self, cell: usize, digit: usize) {
        for other in bits(self.cells[cell]) {
            self.remove(cell, other);
        }
        for (unit, position) in UNITS_OF[cell].into_iter().zip(POSITIONS[cell]) {
            self.open[usize::from(unit)] &= !(1 << position);
        }
        for peer in cells(PEERS[cell] & self.places[digit]) {
            self.remove(peer, digit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sudoku::units::UNITS;

    /// The three sides must tell the same.
    fn check(pencil: &Pencil) {
        for (unit, members) in UNITS.iter().enumerate() {
            for (position, cell) in members.map(usize::from).into_iter().enumerate() {
                for digit in 0..9 {
                    let there = pencil.cells[cell] >> digit & 1 == 1;
                    assert_eq!(pencil.spots[unit][digit] >> position & 1 == 1, there);
                    assert_eq!(pencil.places[digit] >> cell & 1 == 1, there);
                }
            }
        }
    }

    #[test]
    fn sides_agree() {
        let line = b"..............3.85..1.2.......5.7.....4...1...9.......5......73..2.1........4...9";
        let mut pencil = Pencil::new(&Board::from_line(line).expect("a board"));
        check(&pencil);
        assert_eq!(pencil.open.iter().map(|open| open.count_ones()).sum::<u32>(), 3 * (81 - 17));
        assert_eq!(pencil.cell(14), 0);
        let before = pencil.places(3);
        pencil.place(0, 3);
        check(&pencil);
        assert_eq!(pencil.cell(0), 0);
        assert_eq!(pencil.places(3), before & !PEERS[0] & !1);
        assert!(!pencil.is_full());
        pencil.remove(1, 0);
        pencil.remove(1, 0);
        check(&pencil);
    }
}
