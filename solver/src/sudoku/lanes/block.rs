//! Boards side by side, one a lane, and the ways in and out of that form.

use super::vector::Lanes;
#[cfg(not(target_arch = "x86_64"))]
use super::vector::transposed_words;
#[cfg(target_arch = "x86_64")]
use super::x86::transposed_words;
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
        let moves = L::moves(to, order);
        for (cell, &other) in self.cells.iter_mut().zip(&from.cells) {
            *cell = cell.take(other, moves);
        }
    }

    /// Fills all lanes from the first boards; lanes beyond them hold anything.
    #[inline(always)]
    pub(super) fn load(&mut self, boards: &[Board]) {
        const BLANK: Board = Board::BLANK;
        for tile in TILES {
            let mut squares = [[&[0; 16]; 16]; 2];
            for (half, square) in squares[..L::COUNT.div_ceil(16)].iter_mut().enumerate() {
                for (i, row) in square.iter_mut().enumerate() {
                    let board = boards.get(half * 16 + i).unwrap_or(&BLANK);
                    if let Some(part) = board.cells()[tile..].first_chunk() {
                        *row = part;
                    }
                }
            }
            let rows = L::transposed(&squares[0], &squares[1]);
            for (cell, row) in self.cells[tile..tile + 16].iter_mut().zip(&rows) {
                *cell = L::from_values(row);
            }
        }
    }

    /// Fills the first lanes from as many boards of candidates; lanes beyond them hold anything.
    #[inline(always)]
    pub(super) fn load_words<'a>(&mut self, boards: impl ExactSizeIterator<Item = &'a [u16; CELLS]>) {
        let count = boards.len();
        let mut boards = boards;
        for eight in 0..count.div_ceil(8) {
            let mut here = [&[0; CELLS]; 8];
            for (to, from) in here.iter_mut().zip(&mut boards) {
                *to = from;
            }
            for tile in EIGHTS {
                let mut rows = [[0; 8]; 8];
                for (row, board) in rows.iter_mut().zip(&here) {
                    row.copy_from_slice(&board[tile..tile + 8]);
                }
                for (cell, column) in self.cells[tile..tile + 8].iter_mut().zip(transposed_words(&rows)) {
                    cell.lanes_mut()[eight * 8..eight * 8 + 8].copy_from_slice(&column);
                }
            }
        }
    }

    /// The values of solved boards, row by row.
    #[inline(always)]
    pub(super) fn values(&self, out: &mut [[u8; CELLS]; 32]) {
        for tile in TILES {
            let mut columns = [[0; 32]; 16];
            for (column, cell) in columns.iter_mut().zip(&self.cells[tile..tile + 16]) {
                cell.to_values(column);
            }
            let mut squares = [[&[0; 16]; 16]; 2];
            for (i, column) in columns.iter().enumerate() {
                for (square, part) in squares.iter_mut().zip(column.as_chunks::<16>().0) {
                    square[i] = part;
                }
            }
            let rows = L::transposed(&squares[0], &squares[1]);
            for (i, row) in rows.iter().enumerate() {
                for half in 0..L::COUNT.div_ceil(16) {
                    out[half * 16 + i][tile..tile + 16].copy_from_slice(&row[half * 16..half * 16 + 16]);
                }
            }
        }
    }
}

/// First cells of runs of 16 that cover all 81; the last overlaps the one before.
const TILES: [usize; 6] = [0, 16, 32, 48, 64, 65];
/// First cells of runs of 8 that cover all 81; the last overlaps the one before.
const EIGHTS: [usize; 11] = [0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 73];
