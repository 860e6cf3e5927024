//! The bivalue universal grave (BUG): a board whose every open cell has two candidates, and where every digit has two
//! places or none in each unit, has no solution or several. So where a few candidates more keep a board from being
//! one, one of those is true.
//!
//! Type 1: one cell has more. Type 2: all have the same digit more. Type 3: the cells, all in one unit, stand for one cell
//! of a naked subset. Type 4: two cells in one unit that share one digit besides.

use crate::sudoku::CELLS;
use crate::sudoku::rate::pencil::Pencil;
use crate::sudoku::rate::subsets::unions;
use crate::sudoku::rate::{Step, Technique};
use crate::sudoku::units::{PEERS, POSITIONS, UNIT_CELLS, UNITS, UNITS_OF, bits, cells};

/// What keeps a board from being a grave.
struct Grave {
    /// The cells with more than two candidates.
    richer: u128,
    /// What each of them has more.
    extra: [u16; CELLS],
    /// All of that together.
    all: u16,
    /// What sees all those cells.
    seen: u128,
}

/// A grave of any type.
pub(super) fn find(pencil: &Pencil, step: &mut Step) -> bool {
    let Some(grave) = dig(pencil) else { return false };
    step.begin(Technique::Bug);
    step.cells = grave.richer;
    step.digits = grave.all;
    if grave.richer.is_power_of_two() {
        let cell = grave.richer.trailing_zeros() as usize;
        step.remove(cell, pencil.cell(cell) & !grave.all);
        return step.is_worth();
    }
    if grave.all.is_power_of_two() {
        step.tenths += 1;
        let digit = grave.all.trailing_zeros() as usize;
        step.remove_from(grave.seen & pencil.places(digit), digit);
        return step.is_worth() || type_4(pencil, &grave, step);
    }
    type_4(pencil, &grave, step) || type_3(pencil, &grave, step)
}

/// The candidates without which the board would be a grave; `None` if there are no such.
fn dig(pencil: &Pencil) -> Option<Grave> {
    let open = (0..CELLS).filter(|&cell| pencil.cell(cell) != 0);
    let richer =
        open.filter(|&cell| pencil.cell(cell).count_ones() > 2).fold(0u128, |set, cell| set | 1 << cell);
    // Every type needs them to be places of one digit, or cells of one unit.
    if richer == 0 || richer.count_ones() > 9 {
        return None;
    }
    let mut extra = [0u16; CELLS];
    for (unit, members) in UNIT_CELLS.iter().enumerate() {
        for digit in 0..9 {
            if matches!(pencil.spots(unit, digit).count_ones(), 0 | 2) {
                continue;
            }
            // With several of them another unit tells which it is.
            let suspects = pencil.places(digit) & members & richer;
            match suspects.count_ones() {
                0 => return None,
                1 => extra[suspects.trailing_zeros() as usize] |= 1 << digit,
                _ => {}
            }
        }
    }
    let mut bare = pencil.clone();
    let mut grave = Grave { richer, extra, all: 0, seen: u128::MAX };
    for cell in cells(richer) {
        grave.all |= extra[cell];
        grave.seen &= PEERS[cell];
        for digit in bits(extra[cell]) {
            bare.remove(cell, digit);
        }
    }
    let two_each = (0..CELLS).all(|cell| matches!(bare.cell(cell).count_ones(), 0 | 2));
    let two_in_units =
        (0..27).all(|unit| bare.unit(unit).iter().all(|set| matches!(set.count_ones(), 0 | 2)));
    (two_each && two_in_units).then_some(grave)
}

/// The units all richer cells share.
fn common_units(grave: &Grave) -> impl Iterator<Item = usize> {
    let first = grave.richer.trailing_zeros() as usize;
    UNITS_OF[first].map(usize::from).into_iter().filter(|&unit| grave.richer & !UNIT_CELLS[unit] == 0)
}

/// One of two cells takes something extra, the other one what they share: neither takes anything else.
fn type_4(pencil: &Pencil, grave: &Grave, step: &mut Step) -> bool {
    if grave.richer.count_ones() != 2 || common_units(grave).next().is_none() {
        return false;
    }
    let common = cells(grave.richer).fold(0x1ff, |set, cell| set & pencil.cell(cell)) & !grave.all;
    if !common.is_power_of_two() {
        return false;
    }
    step.tenths = Technique::Bug.base() + 1;
    for cell in cells(grave.richer) {
        step.remove(cell, pencil.cell(cell) & !grave.extra[cell] & !common);
    }
    step.is_worth()
}

/// The cells together are one that takes an extra digit.
fn type_3(pencil: &Pencil, grave: &Grave, step: &mut Step) -> bool {
    let first = grave.richer.trailing_zeros() as usize;
    common_units(grave).any(|unit| {
        let at = usize::from(POSITIONS[first][unit / 9]);
        let mut sets =
            UNITS[unit].map(|cell| if grave.richer >> cell & 1 == 1 { 0 } else { pencil.cell(cell.into()) });
        sets[at] = grave.all;
        (2..=6).any(|size| {
            unions(&sets, 2..=size, |chosen, union| {
                let others = bits(chosen & !(1 << at)).fold(0, |set, position| set | sets[position]);
                if chosen >> at & 1 == 0 || others != union {
                    return false;
                }
                step.tenths = Technique::Bug.base() + size as u8;
                for position in bits(pencil.open(unit) & !chosen) {
                    let cell = usize::from(UNITS[unit][position]);
                    if grave.richer >> cell & 1 == 0 {
                        step.remove(cell, pencil.cell(cell) & union);
                    }
                }
                step.is_worth()
            })
        })
    })
}
