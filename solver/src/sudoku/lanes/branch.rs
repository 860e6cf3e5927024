//! Where to branch: for each lane of a block, the open cell whose decision settles most.
//!
//! Among the cells with fewest candidates it is the one whose peers share most candidates with it, where a peer with
//! two candidates counts 8, one with three 3, any other 1. Against the first cell with two candidates that halves the
//! branches of the hardest puzzles. What did worse, on every set: other weights, counting a peer twice that shares two
//! units, and values with two places left in a unit, as a bonus or instead.
//!
//! Scores are sums, and the sums of a line serve all its cells. So they are built for one value at a time, or rather
//! for two, one in each byte of a lane:
//!
//! ```text
//! weight of the peers of x that have the value =     . . .  m m m  . . .
//!       its row m                                    . . .  b b b  . . .
//!     + its box, without the row: b                  m m m  m x m  m m m
//!     + its column, without the box: c               . . .  . c .  . . .   and so on down
//! ```

use super::block::Block;
use super::vector::Lanes;
use crate::sudoku::CELLS;

/// Stands for a cell where there is nothing to branch on: some cell has no candidate, or all have one.
pub(super) const NONE: u8 = u8::MAX;

/// By number of candidates: the weight of a peer, in both bytes.
const WEIGHTS: [u16; 16] = {
    let mut weights = [0x0101; 16];
    (weights[0], weights[1], weights[2], weights[3]) = (0, 0, 0x0808, 0x0303);
    weights
};
/// By number of candidates: the highest bits of a rank, so that fewest candidates go first.
const CLASSES: [u16; 16] = {
    let mut classes = [1 << 14; 16];
    (classes[0], classes[1], classes[2], classes[3]) = (0, 0, 3 << 14, 2 << 14);
    classes
};

/// The branching cell of each lane.
#[inline(always)]
pub(super) fn choose<L: Lanes, const SCORED: bool>(block: &Block<L>, cells: &mut [u8; 32]) {
    let zero = L::splat(0);
    let mut counts = [zero; CELLS];
    let mut weights = [zero; CELLS];
    let mut bytes = [zero; CELLS];
    let mut scores = [zero; CELLS];
    let mut least = L::splat(u16::MAX);
    for cell in 0..CELLS {
        let candidates = block.cells[cell];
        least = least.min(candidates);
        counts[cell] = candidates.count_ones();
        weights[cell] = counts[cell].lookup(&WEIGHTS);
        // Every value becomes a bit of at least 8 within its byte: 4 to 8 keep theirs in the lower byte, 1 to 3 and 9
        // go to the upper one. A minimum with a weight then keeps the weight or gives 0.
        let upper = candidates.shift_left::<13>().or_both(candidates.shift_left::<3>(), L::splat(0x0800));
        bytes[cell] = upper.or_both(candidates, L::splat(0x00F8));
    }
    if SCORED {
        for values in [0x2008, 0x4010, 0x8020, 0x0840, 0x0080] {
            add_scores(&bytes, &weights, &mut scores, L::splat(values));
        }
    }

    // One number says it all, so that a maximum finds the best: 2 bits of class, 7 of score, 7 of cell.
    let mut best = zero;
    for cell in 0..CELLS {
        let score = scores[cell].sum_bytes().shift_left::<6>();
        let class = counts[cell].lookup(&CLASSES).or(L::splat(cell as u16));
        best = best.max(class.or_both(score, L::splat(127 << 7)));
    }
    let best = best.and_not(least.is_zero());
    for (cell, &best) in cells.iter_mut().zip(best.lanes()) {
        *cell = if best < 1 << 14 { NONE } else { (best & 127) as u8 };
    }
}

/// Adds, for each cell that has one of two values, the weights of the peers that have it.
#[inline(always)]
fn add_scores<L: Lanes>(bytes: &[L; CELLS], weights: &[L; CELLS], scores: &mut [L; CELLS], values: L) {
    let zero = L::splat(0);
    let mut across = [[zero; 9]; 3];
    let mut down = [[zero; 9]; 3];
    for band in 0..3 {
        let first = band * 27;
        let mut part = [[zero; 3]; 3];
        for stack in 0..3 {
            for i in 0..3 {
                let at = first + stack * 3 + i;
                let a = bytes[at].and(values).min_bytes(weights[at]);
                let b = bytes[at + 9].and(values).min_bytes(weights[at + 9]);
                let c = bytes[at + 18].and(values).min_bytes(weights[at + 18]);
                part[0][stack] = part[0][stack].add_bytes(a);
                part[1][stack] = part[1][stack].add_bytes(b);
                part[2][stack] = part[2][stack].add_bytes(c);
                down[band][stack * 3 + i] = a.add_bytes(b).add_bytes(c);
            }
        }
        let [a, b, c] = part;
        let boxes = [0, 1, 2].map(|i| a[i].add_bytes(b[i]).add_bytes(c[i]));
        for row in 0..3 {
            let [x, y, z] = part[row];
            let whole = x.add_bytes(y).add_bytes(z);
            for stack in 0..3 {
                across[band][row * 3 + stack] = whole.add_bytes(boxes[stack]).sub_bytes(part[row][stack]);
            }
        }
    }
    for i in 0..9 {
        let [a, b, c] = [down[0][i], down[1][i], down[2][i]];
        (down[0][i], down[1][i], down[2][i]) = (b.add_bytes(c), a.add_bytes(c), a.add_bytes(b));
    }
    for band in 0..3 {
        for i in 0..9 {
            for j in 0..3 {
                let cell = band * 27 + i * 3 + j;
                let sum = across[band][i].add_bytes(down[band][i % 3 * 3 + j]);
                scores[cell] = scores[cell].add_bytes_where(bytes[cell], values, sum);
            }
        }
    }
}
