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
//! Pointing counts as *direct*, and as much easier, where the digit then has one place left in another box that the line
//! crosses: that can be seen without any pencil marks. The scale also has direct claiming (1.9), where the digit has one
//! place left in another line that the box crosses. It never comes to that:
//!
//! ```text
//!   row 1   D D .  |  .  .  . |  .  .  .     Row 1 has the digit only in the first box, and row 2 only there and at x.
//!   row 2   D D .  |  x  .  . |  .  .  .     So the third box has it only in row 3, which points at the second box
//!   row 3   . . .  |  d  d  . |  e  e  .     and leaves it x alone: direct pointing, or a hidden single, is first.
//! ```

use crate::sudoku::rate::pencil::Pencil;
use crate::sudoku::rate::{Step, Technique};
use crate::sudoku::units::{BOX_COLUMN, BOX_ROW, COLUMNS, ROWS, UNIT_CELLS, is_single};

/// A pointing that leaves one place for the digit in another box.
pub(super) fn direct(pencil: &Pencil, step: &mut Step) -> bool {
    find(pencil, |technique, base, cover, digit| {
        if technique != Technique::Pointing {
            return false;
        }
        let found = (0..ROWS).filter(|&other| other != base).find_map(|other| {
            let places = pencil.places(digit) & UNIT_CELLS[other];
            let left = places & !UNIT_CELLS[cover];
            (left != places && left.is_power_of_two()).then(|| left.trailing_zeros() as usize)
        });
        let Some(cell) = found else { return false };
        step.begin(Technique::DirectPointing);
        step.digits = 1 << digit;
        step.cells = pencil.places(digit) & UNIT_CELLS[base];
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
