//! What follows from one candidate at once: the two kinds of links that chains are made of.
//!
//! A candidate is *on* if its cell holds the digit, and *off* if not.
//!
//! ```text
//! weak     on  -> off    another candidate of the cell (Y), or the same digit in a cell it sees (X)
//! strong   off -> on     the other one of a cell with two (Y), or the other place of two in a unit (X)
//! ```

use crate::sudoku::CELLS;
use crate::sudoku::rate::pencil::Pencil;
use crate::sudoku::units::{PEERS, POSITIONS, UNITS, UNITS_OF, bits, cells};

/// All candidates there may be.
pub(super) const CANDIDATES: usize = 9 * CELLS;

/// A candidate: the digit (0 to 8) times 81 plus the cell.
pub(super) type Candidate = u16;

pub(super) fn candidate(cell: usize, digit: usize) -> Candidate {
    (digit * CELLS + cell) as Candidate
}

pub(super) fn cell_of(candidate: Candidate) -> usize {
    usize::from(candidate) % CELLS
}

pub(super) fn digit_of(candidate: Candidate) -> usize {
    usize::from(candidate) / CELLS
}

/// Which links are used: of one digit (X), of one cell (Y), or both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Links {
    X,
    /// Weak links of both kinds, strong ones of cells.
    Y,
    Both,
}

/// A set of candidates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Set([u128; 9]);

impl Set {
    pub(super) const EMPTY: Set = Set([0; 9]);

    pub(super) fn has(&self, candidate: Candidate) -> bool {
        self.0[digit_of(candidate)] >> cell_of(candidate) & 1 == 1
    }

    /// Adds it; whether it was not there.
    pub(super) fn add(&mut self, candidate: Candidate) -> bool {
        let (set, bit) = (&mut self.0[digit_of(candidate)], 1 << cell_of(candidate));
        let is_new = *set & bit == 0;
        *set |= bit;
        is_new
    }

    pub(super) fn retain(&mut self, other: &Set) {
        for (set, other) in self.0.iter_mut().zip(other.0) {
            *set &= other;
        }
    }

    pub(super) fn iter(self) -> impl Iterator<Item = Candidate> {
        (0..9).flat_map(move |digit| cells(self.0[digit]).map(move |cell| candidate(cell, digit)))
    }
}

/// Adds to `seen` all that are off when `from` is on, and calls `visit` with those that were not there.
#[inline]
pub(super) fn weak(
    pencil: &Pencil,
    from: Candidate,
    links: Links,
    seen: &mut Set,
    mut visit: impl FnMut(Candidate),
) {
    let (cell, digit) = (cell_of(from), digit_of(from));
    if links != Links::X {
        for other in bits(pencil.cell(cell) & !(1 << digit)) {
            if seen.add(candidate(cell, other)) {
                visit(candidate(cell, other));
            }
        }
    }
    let fresh = PEERS[cell] & pencil.places(digit) & !seen.0[digit];
    seen.0[digit] |= fresh;
    for peer in cells(fresh) {
        visit(candidate(peer, digit));
    }
}

/// One of `set` that is off when `from` is on, if any is.
pub(super) fn weak_among(pencil: &Pencil, from: Candidate, links: Links, set: &Set) -> Option<Candidate> {
    let (cell, digit) = (cell_of(from), digit_of(from));
    let peers = PEERS[cell] & pencil.places(digit) & set.0[digit];
    if peers != 0 {
        return Some(candidate(peers.trailing_zeros() as usize, digit));
    }
    let others = if links == Links::X { 0 } else { pencil.cell(cell) & !(1 << digit) };
    bits(others).map(|other| candidate(cell, other)).find(|&other| set.has(other))
}

/// Calls `visit` with all that are on when `from` is off, and the unit that says so (`None` if it is the cell).
#[inline]
pub(super) fn strong(
    pencil: &Pencil,
    from: Candidate,
    links: Links,
    mut visit: impl FnMut(Candidate, Option<usize>),
) {
    let (cell, digit) = (cell_of(from), digit_of(from));
    if links != Links::X && pencil.cell(cell).count_ones() == 2 {
        let other = (pencil.cell(cell) & !(1 << digit)).trailing_zeros() as usize;
        visit(candidate(cell, other), None);
    }
    if links != Links::Y {
        for (unit, position) in UNITS_OF[cell].into_iter().zip(POSITIONS[cell]) {
            let spots = pencil.spots(unit.into(), digit);
            if spots.count_ones() == 2 {
                let other = (spots & !(1 << position)).trailing_zeros() as usize;
                visit(candidate(UNITS[usize::from(unit)][other].into(), digit), Some(unit.into()));
            }
        }
    }
}

/// Whether `to` is off when `from` is on.
pub(super) fn are_weak(from: Candidate, to: Candidate, links: Links) -> bool {
    if digit_of(from) == digit_of(to) {
        PEERS[cell_of(from)] >> cell_of(to) & 1 == 1
    } else {
        links != Links::X && cell_of(from) == cell_of(to)
    }
}
