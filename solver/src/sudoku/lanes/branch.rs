//! Where to branch: for each lane of a block, the open cell whose decision settles most.

use super::block::Block;
use super::vector::Lanes;
use crate::sudoku::CELLS;

/// `NONE` where there is nothing to branch on: some cell has no candidate, or all have one.
pub(super) const NONE: u8 = u8::MAX;

pub(super) fn peers() -> &'static [[u8; 20]; CELLS] {
    static PEERS: [[u8; 20]; CELLS] = {
        let mut peers = [[0; 20]; CELLS];
        let mut cell = 0;
        while cell < CELLS {
            let (mut peer, mut n) = (0, 0);
            while peer < CELLS {
                let same_row = cell / 9 == peer / 9;
                let same_column = cell % 9 == peer % 9;
                let same_box = cell / 27 == peer / 27 && cell % 9 / 3 == peer % 9 / 3;
                if cell != peer && (same_row || same_column || same_box) {
                    peers[cell][n] = peer as u8;
                    n += 1;
                }
                peer += 1;
            }
            cell += 1;
        }
        peers
    };
    &PEERS
}

#[inline(always)]
pub(super) fn choose<L: Lanes>(block: &Block<L>, lanes: u32, out: &mut [u8; 32]) {
    for lane in 0..L::COUNT {
        out[lane] = NONE;
        if lanes >> lane & 1 == 0 {
            continue;
        }
        let mut cells = [0u16; CELLS];
        for (to, from) in cells.iter_mut().zip(&block.cells) {
            *to = from.lanes()[lane];
        }
        if cells.contains(&0) {
            continue;
        }
        let fewest = cells.iter().map(|c| c.count_ones()).filter(|&n| n > 1).min().unwrap_or(0);
        let mut best = 0;
        for cell in 0..CELLS {
            if cells[cell].count_ones() != fewest {
                continue;
            }
            let mut score = 1;
            for &peer in &peers()[cell] {
                let other = cells[usize::from(peer)];
                let shared = (other & cells[cell]).count_ones();
                score += shared
                    * match other.count_ones() {
                        2 => 8,
                        3 => 3,
                        _ => 1,
                    };
            }
            if score > best {
                best = score;
                out[lane] = cell as u8;
            }
        }
    }
}
