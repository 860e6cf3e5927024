//! One place left in a unit, or one digit left in a cell.

use crate::sudoku::CELLS;
use crate::sudoku::rate::pencil::Pencil;
use crate::sudoku::rate::{Step, Technique};
use crate::sudoku::units::{COLUMNS, ROWS, UNITS, is_single};

/// A digit with one place in a unit. Easiest first: the last cell of any unit; a box; a column or a row.
pub(super) fn hidden(pencil: &Pencil, step: &mut Step) -> bool {
    let last = (0..27).find(|&unit| is_single(pencil.open(unit)));
    let found = match last {
        Some(unit) => single_of(pencil, unit),
        None => (0..ROWS).chain(COLUMNS..27).chain(ROWS..COLUMNS).find_map(|unit| single_of(pencil, unit)),
    };
    let Some((unit, digit)) = found else { return false };
    step.begin(if last.is_some() { Technique::LastValue } else { Technique::HiddenSingle });
    if last.is_none() && unit >= ROWS {
        step.tenths += 3;
    }
    let position = pencil.spots(unit, digit).trailing_zeros() as usize;
    step.place(UNITS[unit][position].into(), digit);
    true
}

fn single_of(pencil: &Pencil, unit: usize) -> Option<(usize, usize)> {
    // One pass without a branch over all digits first: most units have none.
    let any = pencil.unit(unit).iter().fold(false, |any, &spots| any | is_single(spots));
    any.then(|| pencil.unit(unit).iter().position(|&spots| is_single(spots)).map(|digit| (unit, digit)))?
}

/// A cell with one candidate.
pub(super) fn naked(pencil: &Pencil, step: &mut Step) -> bool {
    let Some(cell) = (0..CELLS).find(|&cell| is_single(pencil.cell(cell))) else { return false };
    step.begin(Technique::NakedSingle);
    step.place(cell, pencil.cell(cell).trailing_zeros() as usize);
    true
}
