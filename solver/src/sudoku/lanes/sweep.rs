//! One sweep of logic over the boards of all lanes. The picture and the tricks stand in `super`.

use super::vector::Lanes;
use crate::sudoku::CELLS;

/// All nine candidates.
pub(super) const ALL_VALUES: u16 = 511;
/// The candidates of a solved board, added up as numbers.
pub(super) const SOLVED_SUM: u16 = 9 * ALL_VALUES;

/// What a sweep saw.
#[derive(Clone, Copy)]
pub(super) struct Seen<L> {
    /// Values that had a place in every unit.
    placeable: L,
    /// All candidates added up as numbers, 81 x 511 at most. They only ever fall, so an equal sum is an equal board.
    pub(super) sum: L,
}

impl<L: Lanes> Seen<L> {
    /// Lanes without a solution.
    #[inline(always)]
    pub(super) fn dead(&self) -> u32 {
        !self.placeable.equal(L::splat(ALL_VALUES))
    }
}

/// Sweeps rows and boxes band by band, then columns and boxes stack by stack, in place.
#[inline(always)]
pub(super) fn sweep<L: Lanes>(cells: &mut [L; CELLS]) -> Seen<L> {
    let mut seen = Seen { placeable: L::splat(ALL_VALUES), sum: L::splat(0) };
    for band in 0..3 {
        pass::<L, 9, 1, false>(cells, 27 * band, &mut seen);
    }
    for stack in 0..3 {
        pass::<L, 1, 9, true>(cells, 3 * stack, &mut seen);
    }
    seen
}

/// The three lines and three boxes of a band, or of a stack: the same with rows and columns exchanged.
#[inline(always)]
fn pass<L: Lanes, const LINE: usize, const STEP: usize, const SUM: bool>(
    cells: &mut [L; CELLS],
    first: usize,
    seen: &mut Seen<L>,
) {
    let zero = L::splat(0);
    let at = |line: usize, unit: usize, i: usize| first + line * LINE + (unit * 3 + i) * STEP;

    // What is settled, by mini-line, line and box.
    let mut singles = [[[zero; 3]; 3]; 3];
    let mut settled = [[zero; 3]; 3];
    for line in 0..3 {
        for unit in 0..3 {
            let s = &mut singles[line][unit];
            s[0] = cells[at(line, unit, 0)].single();
            s[1] = cells[at(line, unit, 1)].single();
            s[2] = cells[at(line, unit, 2)].single();
            settled[line][unit] = s[0].or3(s[1], s[2]);
        }
    }
    let [a, b, c] = settled;
    let line_settled = [a[0].or3(a[1], a[2]), b[0].or3(b[1], b[2]), c[0].or3(c[1], c[2])];
    let box_settled = [a[0].or3(b[0], c[0]), a[1].or3(b[1], c[1]), a[2].or3(b[2], c[2])];

    // Strike it from the rest; then which values each mini-line has once or more, and twice or more.
    let mut once = [[zero; 3]; 3];
    let mut twice = [[zero; 3]; 3];
    for line in 0..3 {
        for unit in 0..3 {
            let struck = line_settled[line].or(box_settled[unit]);
            let s = singles[line][unit];
            let x = cells[at(line, unit, 0)].and_not_unless(struck, s[0]);
            let y = cells[at(line, unit, 1)].and_not_unless(struck, s[1]);
            let z = cells[at(line, unit, 2)].and_not_unless(struck, s[2]);
            cells[at(line, unit, 0)] = x;
            cells[at(line, unit, 1)] = y;
            cells[at(line, unit, 2)] = z;
            once[line][unit] = x.or3(y, z);
            twice[line][unit] = x.majority(y, z);
        }
    }

    // Each unit sees what its three mini-lines have: values of several of them, and what has one place only.
    let mut line_more = [zero; 3];
    let mut box_more = [zero; 3];
    let mut line_hidden = [zero; 3];
    let mut box_hidden = [zero; 3];
    for i in 0..3 {
        let ([a, b, c], [x, y, z]) = (once[i], twice[i]);
        let any = a.or3(b, c);
        line_more[i] = a.majority(b, c);
        line_hidden[i] = any.and_neither(line_more[i], x.or3(y, z));
        let (a, b, c) = (once[0][i], once[1][i], once[2][i]);
        let (x, y, z) = (twice[0][i], twice[1][i], twice[2][i]);
        let any_in_box = a.or3(b, c);
        box_more[i] = a.majority(b, c);
        box_hidden[i] = any_in_box.and_neither(box_more[i], x.or3(y, z));
        seen.placeable = seen.placeable.and3(any, any_in_box);
    }

    // Locked candidates: a value that a box has in one line only leaves the rest of that line, and the other way round.
    let mut locked = [[zero; 3]; 3];
    for line in 0..3 {
        for unit in 0..3 {
            let (l1, l2, u1, u2) = ((line + 1) % 3, (line + 2) % 3, (unit + 1) % 3, (unit + 2) % 3);
            let beside = once[line][u1].and_not(box_more[u1]).or(once[line][u2].and_not(box_more[u2]));
            let below1 = once[l1][unit].and_not(line_more[l1]);
            let below2 = once[l2][unit].and_not(line_more[l2]);
            locked[line][unit] = beside.or3(below1, below2);
        }
    }
    for line in 0..3 {
        for unit in 0..3 {
            let hidden = line_hidden[line].or(box_hidden[unit]);
            for i in 0..3 {
                let cell = &mut cells[at(line, unit, i)];
                *cell = cell.settle(hidden, locked[line][unit]);
                if SUM {
                    seen.sum = seen.sum.add(*cell);
                }
            }
        }
    }
}

/// Lanes where every cell has one value, and every unit all nine. Asked only of boards whose sum is right: with each
/// row full they have each value once in each row, and no empty cell then means no cell with two.
#[inline(always)]
pub(super) fn solved<L: Lanes>(cells: &[L; CELLS]) -> u32 {
    let mut columns = [L::splat(0); 9];
    let mut full = L::splat(ALL_VALUES);
    let mut least = L::splat(ALL_VALUES);
    for band in 0..3 {
        let mut parts = [[L::splat(0); 3]; 3];
        for line in 0..3 {
            for unit in 0..3 {
                let first = band * 27 + line * 9 + unit * 3;
                let (a, b, c) = (cells[first], cells[first + 1], cells[first + 2]);
                parts[line][unit] = a.or3(b, c);
                least = least.min(a.min(b).min(c));
            }
        }
        let [a, b, c] = parts;
        for i in 0..3 {
            full = full.and3(parts[i][0].or3(parts[i][1], parts[i][2]), a[i].or3(b[i], c[i]));
        }
        for (i, column) in columns.iter_mut().enumerate() {
            let first = band * 27 + i;
            *column = column.or(cells[first].or3(cells[first + 9], cells[first + 18]));
        }
    }
    for column in columns {
        full = full.and(column);
    }
    full.equal(L::splat(ALL_VALUES)) & !least.equal(L::splat(0))
}
