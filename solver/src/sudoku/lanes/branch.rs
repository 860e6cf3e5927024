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
pub(super) fn choose<L: Lanes>(block: &Block<L>, cells: &mut [u8; 32]) {
    let zero = L::splat(0);
    let mut weights = [zero; CELLS];
    let mut classes = [zero; CELLS];
    let mut scores = [zero; CELLS];
    let mut least = L::splat(u16::MAX);
    for cell in 0..CELLS {
        let candidates = block.cells[cell];
        least = least.min(candidates);
        let count = candidates.count_ones();
        weights[cell] = count.lookup(&WEIGHTS);
        classes[cell] = count.lookup(&CLASSES);
    }
    for pair in 0..4 {
        add_scores(block, &weights, &mut scores, L::low_bytes, L::splat(0x0201 << (2 * pair)));
    }
    // The ninth value has no partner: nothing matches in the upper byte.
    add_scores(block, &weights, &mut scores, L::high_bytes, L::splat(1));

    // One number says it all, so that a maximum finds the best: 2 bits of class, 7 of score, 7 of cell.
    let mut best = zero;
    for cell in 0..CELLS {
        let score = scores[cell].and(L::splat(0xFF)).add(scores[cell].shift_right::<8>());
        let score = score.shift_right::<1>().min(L::splat(127)).shift_left::<7>();
        let open = classes[cell].or(score).or(L::splat(cell as u16)).and_not(classes[cell].is_zero());
        best = best.max(open);
    }
    let best = best.and_not(least.is_zero());
    for (cell, &best) in cells.iter_mut().zip(best.lanes()) {
        *cell = if best == 0 { NONE } else { (best & 127) as u8 };
    }
}

/// Adds, for each cell that has one of two values, the weights of the peers that have it; the values are given as a
/// bit in each byte of what `spread` makes of the candidates.
#[inline(always)]
fn add_scores<L: Lanes>(
    block: &Block<L>,
    weights: &[L; CELLS],
    scores: &mut [L; CELLS],
    spread: impl Fn(L) -> L,
    values: L,
) {
    let zero = L::splat(0);
    let mut rows = [zero; 9];
    let mut boxes = [zero; 9];
    let mut columns = [zero; 9];
    let mut minirows = [[zero; 3]; 9];
    let mut minicolumns = [[zero; 9]; 3];
    for row in 0..9 {
        let band = row / 3;
        for stack in 0..3 {
            let first = row * 9 + stack * 3;
            for i in 0..3 {
                let x = weights[first + i].in_bytes_with(spread(block.cells[first + i]), values);
                minirows[row][stack] = minirows[row][stack].add_bytes(x);
                minicolumns[band][stack * 3 + i] = minicolumns[band][stack * 3 + i].add_bytes(x);
            }
            rows[row] = rows[row].add_bytes(minirows[row][stack]);
            boxes[band * 3 + stack] = boxes[band * 3 + stack].add_bytes(minirows[row][stack]);
        }
    }
    for band in minicolumns {
        for (column, part) in columns.iter_mut().zip(band) {
            *column = column.add_bytes(part);
        }
    }
    for row in 0..9 {
        let band = row / 3;
        for stack in 0..3 {
            let across = rows[row].add_bytes(boxes[band * 3 + stack]).sub_bytes(minirows[row][stack]);
            for i in 0..3 {
                let column = stack * 3 + i;
                let down = columns[column].sub_bytes(minicolumns[band][column]);
                let cell = row * 9 + column;
                let sum = across.add_bytes(down).in_bytes_with(spread(block.cells[cell]), values);
                scores[cell] = scores[cell].add_bytes(sum);
            }
        }
    }
}
