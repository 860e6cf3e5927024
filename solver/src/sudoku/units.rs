//! The geometry of a 9x9 board in tables: which cells make a unit, and which cells see each other.
//!
//! Cells count row by row from 0; digits are 0 to 8 in here; sets of cells are bits of a `u128`, sets of digits and of
//! positions within a unit bits of a `u16`.

use crate::sudoku::CELLS;

/// Boxes, rows and columns, nine each, in this order. Positions within a box count row by row.
pub(super) const UNITS: [[u8; 9]; 27] = units();

/// The cells of each unit as a set.
pub(super) const UNIT_CELLS: [u128; 27] = unit_cells();

/// The box, the row and the column of each cell.
pub(super) const UNITS_OF: [[u8; 3]; CELLS] = units_of();

/// The position of each cell within those.
pub(super) const POSITIONS: [[u8; 3]; CELLS] = positions();

/// The 20 cells that share a unit with a cell, without the cell.
pub(super) const PEERS: [u128; CELLS] = peers();

/// Where the rows begin among the units; boxes begin at 0.
pub(super) const ROWS: usize = 9;

/// Where the columns begin among the units.
pub(super) const COLUMNS: usize = 18;

/// Three positions of a box that lie in one of its rows, and in one of its columns.
pub(super) const BOX_ROW: u16 = 0b000_000_111;
pub(super) const BOX_COLUMN: u16 = 0b001_001_001;

/// Iterates over the positions of the bits of a set, lowest first.
pub(super) fn bits(mut set: u16) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = set.trailing_zeros() as usize;
        set &= set.wrapping_sub(1);
        (bit < 16).then_some(bit)
    })
}

/// Iterates over the cells of a set, lowest first.
pub(super) fn cells(mut set: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let cell = set.trailing_zeros() as usize;
        set &= set.wrapping_sub(1);
        (cell < 128).then_some(cell)
    })
}

/// Whether a set has exactly one member.
pub(super) fn is_single(set: u16) -> bool {
    set.is_power_of_two()
}

const fn units() -> [[u8; 9]; 27] {
    let mut units = [[0; 9]; 27];
    let mut unit = 0;
    while unit < 9 {
        let mut i = 0;
        while i < 9 {
            units[unit][i] = (unit / 3 * 27 + unit % 3 * 3 + i / 3 * 9 + i % 3) as u8;
            units[unit + ROWS][i] = (unit * 9 + i) as u8;
            units[unit + COLUMNS][i] = (i * 9 + unit) as u8;
            i += 1;
        }
        unit += 1;
    }
    units
}

const fn unit_cells() -> [u128; 27] {
    let mut sets = [0; 27];
    let mut unit = 0;
    while unit < 27 {
        let mut i = 0;
        while i < 9 {
            sets[unit] |= 1 << UNITS[unit][i];
            i += 1;
        }
        unit += 1;
    }
    sets
}

const fn units_of() -> [[u8; 3]; CELLS] {
    let mut table = [[0; 3]; CELLS];
    let mut unit = 0;
    while unit < 27 {
        let mut i = 0;
        while i < 9 {
            table[UNITS[unit][i] as usize][unit / 9] = unit as u8;
            i += 1;
        }
        unit += 1;
    }
    table
}

const fn positions() -> [[u8; 3]; CELLS] {
    let mut table = [[0; 3]; CELLS];
    let mut unit = 0;
    while unit < 27 {
        let mut i = 0;
        while i < 9 {
            table[UNITS[unit][i] as usize][unit / 9] = i as u8;
            i += 1;
        }
        unit += 1;
    }
    table
}

const fn peers() -> [u128; CELLS] {
    let mut table = [0; CELLS];
    let mut cell = 0;
    while cell < CELLS {
        let units = UNITS_OF[cell];
        let seen =
            UNIT_CELLS[units[0] as usize] | UNIT_CELLS[units[1] as usize] | UNIT_CELLS[units[2] as usize];
        table[cell] = seen & !(1 << cell);
        cell += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_agree() {
        for cell in 0..CELLS {
            assert_eq!(PEERS[cell].count_ones(), 20);
            for kind in 0..3 {
                let unit = usize::from(UNITS_OF[cell][kind]);
                assert_eq!(unit / 9, kind);
                assert_eq!(usize::from(UNITS[unit][usize::from(POSITIONS[cell][kind])]), cell);
            }
            let (row, column) = (cell / 9, cell % 9);
            assert_eq!(UNITS_OF[cell].map(usize::from), [row / 3 * 3 + column / 3, 9 + row, 18 + column]);
        }
        assert_eq!(bits(0b1_0000_0101).collect::<Vec<_>>(), [0, 2, 8]);
        assert_eq!(cells(1 << 80 | 1).collect::<Vec<_>>(), [0, 80]);
        assert!(bits(0).next().is_none() && cells(0).next().is_none());
    }
}
