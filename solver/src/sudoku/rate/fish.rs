//! Fish: where a digit has its places of 2, 3 or 4 rows in as many columns, those columns have it in no other row; or
//! with rows and columns exchanged.

use crate::sudoku::rate::pencil::Pencil;
use crate::sudoku::rate::subsets::unions;
use crate::sudoku::rate::{Step, Technique};
use crate::sudoku::units::{COLUMNS, ROWS, UNIT_CELLS, bits};

/// An X-wing, swordfish or jellyfish.
pub(super) fn find(pencil: &Pencil, size: u32, step: &mut Step) -> bool {
    // Rows last: the order only matters for which of several is told.
    [(COLUMNS, ROWS), (ROWS, COLUMNS)].into_iter().any(|(base, cover)| {
        (0..9).any(|digit| {
            let lines: [u16; 9] = std::array::from_fn(|line| pencil.spots(base + line, digit));
            // With fewer lines left the others make a smaller fish.
            if (lines.iter().filter(|&&spots| spots != 0).count() as u32) < 2 * size {
                return false;
            }
            unions(&lines, 2..=size, |bases, covers| {
                let base_cells = bits(bases).fold(0, |set, line| set | UNIT_CELLS[base + line]);
                let cover_cells = bits(covers).fold(0, |set, line| set | UNIT_CELLS[cover + line]);
                step.begin(match size {
                    2 => Technique::XWing,
                    3 => Technique::Swordfish,
                    _ => Technique::Jellyfish,
                });
                step.digits = 1 << digit;
                step.cells = pencil.places(digit) & base_cells;
                step.remove_from(pencil.places(digit) & cover_cells & !base_cells, digit);
                step.is_worth()
            })
        })
    })
}
