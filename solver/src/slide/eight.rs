//! The 8-puzzle: every solvable board tabled once, a solve is a walk of look-ups.
//!
//! ```text
//! index of a board = blank's cell * 20160 + rank of the order of the 8 tiles / 2       9 * 20160 = 181440
//! step[index]      = index of the next board on the path, and the move that leads there
//! ```
//!
//! Ranks (the Lehmer code of the tiles read without the blank) come in pairs that differ by one swap of the last two
//! tiles, so exactly one of each pair is solvable and half the rank numbers the solvable boards without a gap. The
//! table is filled breadth first from the goal, and each entry holds its successor, so that a walk of up to 31 steps
//! ranks one board only.

use std::sync::OnceLock;

use crate::slide::board::{Board, CELLS, Move};

/// The longest of all shortest paths (two boards need it).
pub(super) const MOVES_MAX: usize = 31;

/// Arrangements of eight tiles with an even number of inversions.
const EVEN_ORDERS: usize = 20160;
const BOARDS: usize = CELLS * EVEN_ORDERS;

/// 8!/8, 7!/7 .. : what one step of each digit of the Lehmer code is worth.
const WEIGHTS: [usize; 8] = [5040, 720, 120, 24, 6, 2, 1, 1];

/// For each board its next step: successor's index times four, plus the move's place in [`Move::ALL`].
pub(super) struct Table {
    steps: Vec<u32>,
}

impl Table {
    /// The one table of the process; the first caller builds it, which takes some milliseconds.
    pub(super) fn shared() -> &'static Table {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(Table::build)
    }

    /// Writes a shortest path to the goal; false when there is none.
    pub(super) fn solve(&self, board: &Board, path: &mut Vec<u8>) -> bool {
        path.clear();
        if !board.is_solvable() {
            return false;
        }
        let goal = index_of(&Board::GOAL);
        let mut index = index_of(board);
        while index != goal {
            let step = self.steps[index] as usize;
            path.push(Move::ALL[step % 4].byte());
            index = step / 4;
        }
        true
    }

    /// Breadth first from the goal. A board met again from the same distance keeps the earlier move in the order of
    /// [`Move::ALL`], so the answer does not depend on the order of the search.
    fn build() -> Table {
        const UNSEEN: u32 = u32::MAX;
        let mut steps = vec![UNSEEN; BOARDS];
        let mut lengths = vec![0u8; BOARDS];
        let mut queue = Vec::with_capacity(BOARDS);
        let goal = index_of(&Board::GOAL);
        steps[goal] = goal as u32 * 4;
        queue.push((Board::GOAL, goal as u32));
        let mut next = 0;
        while let Some(&(board, index)) = queue.get(next) {
            next += 1;
            let length = lengths[index as usize] + 1;
            for step in Move::ALL {
                let Some(neighbour) = board.moved(step) else { continue };
                let neighbour_index = index_of(&neighbour);
                let entry = index * 4 + step.reversed() as u32;
                let slot = &mut steps[neighbour_index];
                if *slot == UNSEEN {
                    *slot = entry;
                    lengths[neighbour_index] = length;
                    queue.push((neighbour, neighbour_index as u32));
                } else if lengths[neighbour_index] == length && entry % 4 < *slot % 4 {
                    *slot = entry;
                }
            }
        }
        assert_eq!(queue.len(), BOARDS, "every solvable board is reached");
        Table { steps }
    }
}

/// The board's place in the table. For a board that is not solvable, the place of its solvable twin.
fn index_of(board: &Board) -> usize {
    // Bit t stands for tile t while it has not been read yet; the code counts smaller tiles to come.
    let mut unread = 0b1_1111_1110_u32;
    let mut rank = 0;
    let tiles = board.tiles().iter().filter(|&&tile| tile != 0);
    for (&tile, weight) in tiles.zip(WEIGHTS) {
        let smaller = unread & ((1 << tile) - 1);
        rank += smaller.count_ones() as usize * weight;
        unread &= !(1 << tile);
    }
    board.blank() * EVEN_ORDERS + rank / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_lengths_are_those_of_the_literature() {
        // Boards at each distance: OEIS A089473.
        const EXPECTED: [u32; MOVES_MAX + 1] = [
            1, 2, 4, 8, 16, 20, 39, 62, 116, 152, 286, 396, 748, 1024, 1893, 2512, 4485, 5638, 9529, 10878,
            16993, 17110, 23952, 20224, 24047, 15578, 14560, 6274, 3910, 760, 221, 2,
        ];
        let table = Table::shared();
        let goal = index_of(&Board::GOAL);
        let mut found = [0; MOVES_MAX + 1];
        for start in 0..BOARDS {
            let (mut index, mut length) = (start, 0);
            while index != goal {
                index = table.steps[index] as usize / 4;
                length += 1;
            }
            found[length] += 1;
        }
        assert_eq!(found, EXPECTED);
    }
}
