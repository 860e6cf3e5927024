//! What simple patterns strike out on a board that chains have thinned, and which candidates had to go for that.

use crate::sudoku::rate::links::{Candidate, candidate};
use crate::sudoku::rate::locked;
use crate::sudoku::rate::pencil::Pencil;
use crate::sudoku::rate::subsets::unions;
use crate::sudoku::units::{COLUMNS, ROWS, UNIT_CELLS, UNITS, bits, cells};

/// A board before and after, and the ends of a search on it.
struct Thinned<'a> {
    before: &'a Pencil,
    now: &'a Pencil,
    /// Candidates that had to go for the pattern at hand.
    causes: &'a mut Vec<Candidate>,
    strike: &'a mut dyn FnMut(Candidate, &[Candidate]),
    found: bool,
}

/// Calls `strike` with each candidate that goes, and the candidates whose absence is the cause. Takes all patterns of the
/// first kind that has any: locked candidates, hidden pairs, naked pairs, X-wings. What has no cause is left out: the
/// board had that pattern before.
pub(super) fn find(
    before: &Pencil,
    now: &Pencil,
    causes: &mut Vec<Candidate>,
    strike: &mut dyn FnMut(Candidate, &[Candidate]),
) {
    let mut board = Thinned { before, now, causes, strike, found: false };
    for kind in [Thinned::locked, Thinned::hidden_pairs, Thinned::naked_pairs, Thinned::x_wings] {
        kind(&mut board);
        if board.found {
            return;
        }
    }
}

impl Thinned<'_> {
    /// Takes a pattern that needs `digits` gone from `empty`, and then takes `gone_digits` from `gone`.
    fn take(&mut self, empty: u128, digits: u16, gone: u128, gone_digits: u16) {
        if bits(gone_digits).all(|digit| self.now.places(digit) & gone == 0) {
            return;
        }
        self.causes.clear();
        for digit in bits(digits) {
            self.causes.extend(cells(self.before.places(digit) & empty).map(|cell| candidate(cell, digit)));
        }
        if self.causes.is_empty() {
            return;
        }
        for digit in bits(gone_digits) {
            for cell in cells(self.now.places(digit) & gone) {
                self.found = true;
                (self.strike)(candidate(cell, digit), self.causes);
            }
        }
    }

    fn locked(&mut self) {
        locked::find(self.now, |_, base, cover, digit| {
            let (base, cover) = (UNIT_CELLS[base], UNIT_CELLS[cover]);
            self.take(base & !cover, 1 << digit, cover & !base, 1 << digit);
            false
        });
    }

    fn hidden_pairs(&mut self) {
        for unit in (0..27).filter(|&unit| self.now.open(unit).count_ones() > 4) {
            unions(self.now.unit(unit), 2..=2, |digits, positions| {
                let pair = bits(positions).fold(0, |set, position| set | 1 << UNITS[unit][position]);
                self.take(UNIT_CELLS[unit] & !pair, digits, pair, 0x1ff & !digits);
                false
            });
        }
    }

    fn naked_pairs(&mut self) {
        for unit in (0..27).filter(|&unit| self.now.open(unit).count_ones() >= 4) {
            let sets = UNITS[unit].map(|cell| self.now.cell(cell.into()));
            unions(&sets, 2..=2, |positions, digits| {
                let pair = bits(positions).fold(0, |set, position| set | 1 << UNITS[unit][position]);
                self.take(pair, 0x1ff & !digits, UNIT_CELLS[unit] & !pair, digits);
                false
            });
        }
    }

    fn x_wings(&mut self) {
        for (base, cover) in [(COLUMNS, ROWS), (ROWS, COLUMNS)] {
            for digit in 0..9 {
                let lines: [u16; 9] = std::array::from_fn(|line| self.now.spots(base + line, digit));
                if lines.iter().filter(|&&spots| spots != 0).count() < 4 {
                    continue;
                }
                unions(&lines, 2..=2, |bases, covers| {
                    let bases = bits(bases).fold(0, |set, line| set | UNIT_CELLS[base + line]);
                    let covers = bits(covers).fold(0, |set, line| set | UNIT_CELLS[cover + line]);
                    self.take(bases & !covers, 1 << digit, covers & !bases, 1 << digit);
                    false
                });
            }
        }
    }
}
