//! Locked candidates: where a unit has a digit only in its common cells with another one, the other has it nowhere
//! else.
//!
//! ```text
//!   pointing: box to line          claiming: line to box
//!   . 5 5 | x . x | x . .          . 5 5 | . . . | . . .
//!   . . . |       |                x x . |       |
//!   . . . |       |                . x x |       |
//! ```
//!
//! They count as *direct*, and as much easier, where the digit then has one place left in another box that the
//! line crosses, or in another line that the box crosses: that can be seen without any pencil marks.

use crate::sudoku::rate::pencil::Pencil;
use crate::sudoku::rate::units::{BOX_COLUMN, BOX_ROW, COLUMNS, ROWS, UNIT_CELLS, is_single};
use crate::sudoku::rate::{Step, Technique};

/// A pointing or claiming that leaves one place for the digit in a unit alongside.
pub(super) fn direct(pencil: &Pencil, step: &mut Step) -> bool {
    find(pencil, |technique, base, cover, digit| {
        let shared = UNIT_CELLS[base] & UNIT_CELLS[cover];
        let alongside = if base < ROWS { 0..ROWS } else { base / 9 * 9..base / 9 * 9 + 9 };
        let found = alongside.filter(|&unit| unit != base).find_map(|unit| {
            let places = pencil.places(digit) & UNIT_CELLS[unit];
            let left = places & !UNIT_CELLS[cover];
            (left != places && left.is_power_of_two()).then(|| left.trailing_zeros() as usize)
        });
        let Some(cell) = found else { return false };
        step.begin(if technique == Technique::Pointing {
            Technique::DirectPointing
        } else {
            Technique::DirectClaiming
        });
        step.digits = 1 << digit;
        step.cells = pencil.places(digit) & shared;
        step.place(cell, digit);
        true
    })
}

/// A pointing or claiming that strikes anything out.
pub(super) fn indirect(pencil: &Pencil, step: &mut Step) -> bool {
    find(pencil, |technique, base, cover, digit| {
        let gone = pencil.places(digit) & UNIT_CELLS[cover] & !UNIT_CELLS[base];
        if gone == 0 {
            return false;
        }
        step.begin(technique);
        step.digits = 1 << digit;
        step.cells = pencil.places(digit) & UNIT_CELLS[base];
        step.remove_from(gone, digit);
        true
    })
}

/// Calls `accept` with each locked digit, as technique, unit that locks it, unit that loses it and digit, until it says
/// yes. All pointings come before all claimings.
pub(super) fn find(pencil: &Pencil, mut accept: impl FnMut(Technique, usize, usize, usize) -> bool) -> bool {
    for base in 0..ROWS {
        for (digit, &spots) in pencil.unit(base).iter().enumerate() {
            let Some(line) = line_of_box(base, spots) else { continue };
            if accept(Technique::Pointing, base, line, digit) {
                return true;
            }
        }
    }
    for base in ROWS..27 {
        for (digit, &spots) in pencil.unit(base).iter().enumerate() {
            let Some(cover) = box_of_line(base, spots) else { continue };
            if accept(Technique::Claiming, base, cover, digit) {
                return true;
            }
        }
    }
    false
}

/// The line that holds all of these positions of a box; `None` for less than two of them.
fn line_of_box(base: usize, spots: u16) -> Option<usize> {
    if spots == 0 || is_single(spots) {
        return None;
    }
    (0..3).find_map(|i| {
        if spots & !(BOX_ROW << (3 * i)) == 0 {
            Some(ROWS + base / 3 * 3 + i)
        } else if spots & !(BOX_COLUMN << i) == 0 {
            Some(COLUMNS + base % 3 * 3 + i)
        } else {
            None
        }
    })
}

/// The box that holds all of these positions of a line; `None` for less than two of them.
fn box_of_line(base: usize, spots: u16) -> Option<usize> {
    if spots == 0 || is_single(spots) {
        return None;
    }
    let third = (0..3).find(|third| spots & !(BOX_ROW << (3 * third)) == 0)?;
    Some(if base < COLUMNS { (base - ROWS) / 3 * 3 + third } else { third * 3 + (base - COLUMNS) / 3 })
}
