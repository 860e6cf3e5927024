//! Naked and hidden subsets: as many cells of a unit as digits that only they may take, or as digits that they may
//! only take.

use std::ops::RangeInclusive;

use crate::sudoku::rate::pencil::Pencil;
use crate::sudoku::rate::{Step, Technique};
use crate::sudoku::units::{COLUMNS, ROWS, UNITS, bits, is_single};

/// Boxes, columns, rows.
fn units_in_order() -> impl Iterator<Item = usize> {
    (0..ROWS).chain(COLUMNS..27).chain(ROWS..COLUMNS)
}

/// `size` cells of a unit with `size` candidates together.
pub(super) fn naked(pencil: &Pencil, size: u32, step: &mut Step) -> bool {
    units_in_order().any(|unit| {
        // In a unit with fewer open cells the rest is a hidden subset that is easier to see.
        if pencil.open(unit).count_ones() < 2 * size {
            return false;
        }
        let mut sets = [0; 9];
        for position in bits(pencil.open(unit)) {
            sets[position] = pencil.cell(UNITS[unit][position].into());
        }
        unions(&sets, 2..=size, |positions, digits| {
            step.begin(naked_of(size));
            step.digits = digits;
            step.cells = unit_cells(unit, positions);
            for position in bits(pencil.open(unit) & !positions) {
                let cell = UNITS[unit][position].into();
                step.remove(cell, pencil.cell(cell) & digits);
            }
            step.is_worth()
        })
    })
}

/// `size` digits that have `size` places together in a unit.
pub(super) fn hidden(pencil: &Pencil, size: u32, step: &mut Step) -> bool {
    units_in_order().any(|unit| {
        if pencil.open(unit).count_ones() <= 2 * size {
            return false;
        }
        unions(pencil.unit(unit), 2..=size, |digits, positions| {
            step.begin(hidden_of(size));
            step.digits = digits;
            step.cells = unit_cells(unit, positions);
            for position in bits(positions) {
                let cell = UNITS[unit][position].into();
                step.remove(cell, pencil.cell(cell) & !digits);
            }
            step.is_worth()
        })
    })
}

/// A hidden subset that leaves one place in its unit for another digit: seen without pencil marks.
pub(super) fn direct_hidden(pencil: &Pencil, size: u32, step: &mut Step) -> bool {
    units_in_order().any(|unit| {
        if pencil.open(unit).count_ones() <= size {
            return false;
        }
        unions(pencil.unit(unit), 2..=size, |digits, positions| {
            let found = (0..9).filter(|digit| digits >> digit & 1 == 0).find(|&digit| {
                let spots = pencil.spots(unit, digit);
                !is_single(spots) && is_single(spots & !positions)
            });
            let Some(digit) = found else { return false };
            step.begin(if size == 2 { Technique::DirectHiddenPair } else { Technique::DirectHiddenTriplet });
            step.digits = digits;
            step.cells = unit_cells(unit, positions);
            let position = (pencil.spots(unit, digit) & !positions).trailing_zeros() as usize;
            step.place(UNITS[unit][position].into(), digit);
            true
        })
    })
}

/// Calls `accept` with each choice of as many sets as their union has members, as (which sets, union), until it says
/// yes. `sizes` is what a set must have to take part, and ends with how many sets are chosen.
pub(super) fn unions(
    sets: &[u16; 9],
    sizes: RangeInclusive<u32>,
    mut accept: impl FnMut(u16, u16) -> bool,
) -> bool {
    let mut fit = 0;
    for (index, set) in sets.iter().enumerate() {
        fit |= u16::from(sizes.contains(&set.count_ones())) << index;
    }
    grow(sets, *sizes.end(), fit, 0, 0, &mut accept)
}

fn grow(
    sets: &[u16; 9],
    size: u32,
    fit: u16,
    chosen: u16,
    union: u16,
    accept: &mut impl FnMut(u16, u16) -> bool,
) -> bool {
    let missing = size - chosen.count_ones();
    if missing == 0 {
        return union.count_ones() == size && accept(chosen, union);
    }
    let mut left = fit;
    while left.count_ones() >= missing {
        let index = left.trailing_zeros() as usize;
        left &= left - 1;
        let union = union | sets[index];
        if union.count_ones() <= size && grow(sets, size, left, chosen | 1 << index, union, accept) {
            return true;
        }
    }
    false
}

fn unit_cells(unit: usize, positions: u16) -> u128 {
    bits(positions).fold(0, |set, position| set | 1 << UNITS[unit][position])
}

fn naked_of(size: u32) -> Technique {
    match size {
        2 => Technique::NakedPair,
        3 => Technique::NakedTriplet,
        _ => Technique::NakedQuad,
    }
}

fn hidden_of(size: u32) -> Technique {
    match size {
        2 => Technique::HiddenPair,
        3 => Technique::HiddenTriplet,
        _ => Technique::HiddenQuad,
    }
}
