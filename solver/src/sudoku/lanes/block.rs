//! Boards side by side, one a lane, and the ways in and out of that form.

use super::vector::Lanes;
use crate::sudoku::{Board, CELLS};

/// One board in each lane. The state at work is a block; so is each group of boards that wait.
#[derive(Clone)]
pub(super) struct Block<L> {
    pub(super) cells: [L; CELLS],
}

impl<L: Lanes> Block<L> {
    #[inline(always)]
    pub(super) fn empty() -> Self {
        Self { cells: [L::splat(0); CELLS] }
    }

    /// Takes the lanes of `to` from `from`, each from the lane that `order` says.
    #[inline(always)]
    pub(super) fn take(&mut self, to: u32, from: &Self, order: &[u8; 32]) {
        let (mask, order) = (L::mask(to), L::order(order));
        for (cell, &other) in self.cells.iter_mut().zip(&from.cells) {
            *cell = cell.blend(mask, other.permute(order));
        }
    }

    /// Fills all lanes from the first boards; lanes beyond them hold anything.
    #[inline(always)]
    pub(super) fn load(&mut self, boards: &[Board]) {
        const BLANK: Board = Board::BLANK;
        for tile in TILES {
            let mut rows = [[0; 32]; 16];
            for half in 0..L::COUNT.div_ceil(16) {
                let mut columns = [[0; 16]; 16];
                for (i, column) in columns.iter_mut().enumerate() {
                    let board = boards.get(half * 16 + i).unwrap_or(&BLANK);
                    column.copy_from_slice(&board.cells()[tile..tile + 16]);
                }
                for (row, part) in rows.iter_mut().zip(transposed(&columns)) {
                    row[half * 16..half * 16 + 16].copy_from_slice(&part);
                }
            }
            for (cell, row) in self.cells[tile..tile + 16].iter_mut().zip(&rows) {
                *cell = L::from_values(row);
            }
        }
    }

    /// The values of up to 16 lanes of solved boards, row by row: first those of `order[0]`, and so on.
    #[inline(always)]
    pub(super) fn values(&self, order: &[u8; 32], out: &mut [[u8; CELLS]; 16]) {
        let order = L::order(order);
        for tile in TILES {
            let mut columns = [[0; 16]; 16];
            for (column, cell) in columns.iter_mut().zip(&self.cells[tile..tile + 16]) {
                let mut values = [0; 32];
                cell.permute(order).to_values(&mut values);
                column.copy_from_slice(&values[..16]);
            }
            for (values, row) in out.iter_mut().zip(transposed(&columns)) {
                values[tile..tile + 16].copy_from_slice(&row);
            }
        }
    }
}

/// First cells of runs of 16 that cover all 81; the last overlaps the one before.
const TILES: [usize; 6] = [0, 16, 32, 48, 64, 65];

/// Rows for columns, by swapping ever larger halves: four steps of interleaving.
#[inline(always)]
fn transposed(bytes: &[[u8; 16]; 16]) -> [[u8; 16]; 16] {
    let mut now = *bytes;
    for _ in 0..4 {
        let before = now;
        for i in 0..8 {
            (now[2 * i], now[2 * i + 1]) = interleaved(&before[i], &before[i + 8]);
        }
    }
    now
}

/// The bytes of two rows by turns.
#[inline(always)]
fn interleaved(a: &[u8; 16], b: &[u8; 16]) -> ([u8; 16], [u8; 16]) {
    let (mut low, mut high) = ([0; 16], [0; 16]);
    for i in 0..8 {
        (low[2 * i], low[2 * i + 1]) = (a[i], b[i]);
        (high[2 * i], high[2 * i + 1]) = (a[i + 8], b[i + 8]);
    }
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposing_exchanges_rows_and_columns() {
        let bytes: [[u8; 16]; 16] = std::array::from_fn(|row| std::array::from_fn(|i| (row * 16 + i) as u8));
        let found = transposed(&bytes);
        for row in 0..16 {
            for i in 0..16 {
                assert_eq!(found[i][row], bytes[row][i]);
            }
        }
    }
}
