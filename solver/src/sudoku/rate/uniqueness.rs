//! Unique rectangles and loops: a ring of cells that all could take the same two digits and nothing else would have
//! two solutions, one with the digits exchanged; so in a puzzle with one solution something else happens.
//!
//! ```text
//!   ab . . | ab . .       A ring goes from cell to cell within units of changing kind, and meets each of its units
//!   .  . . | .  . .       in exactly two cells, one at an even and one at an odd place of the ring.
//!   ab . . | abc . .
//!            ^            type 1: the one cell with more takes what is more
//! ```
//!
//! Type 2: all cells with more have the same one digit more, and one of them takes it. Type 3: two cells with more make
//! one of a naked or hidden subset. Type 4: two cells with more, and one of the two digits must be in one of them.

use crate::sudoku::rate::pencil::Pencil;
use crate::sudoku::rate::subsets::unions;
use crate::sudoku::rate::{Step, Technique};
use crate::sudoku::units::{PEERS, POSITIONS, UNIT_CELLS, UNITS, UNITS_OF, bits, cells};

/// The shortest ring, and of the shortest one of the lowest type, that concludes anything.
pub(super) fn find(pencil: &Pencil, step: &mut Step) -> bool {
    let mut search = Search { pencil, best: None, step, pair: 0, candidates: 0 };
    for start in cells(pencil.cells_with(2)) {
        search.pair = pencil.cell(start);
        search.candidates = bits(search.pair).fold(u128::MAX, |set, digit| set & pencil.places(digit));
        search.extend(&mut Ring::begin(start), 3);
    }
    search.best.is_some()
}

struct Search<'a> {
    pencil: &'a Pencil,
    /// Rating and type of the best so far, which is what `step` says.
    best: Option<(u8, u8)>,
    step: &'a mut Step,
    /// The two digits.
    pair: u16,
    /// The cells that could take both.
    candidates: u128,
}

/// A ring under construction.
struct Ring {
    path: Vec<usize>,
    members: u128,
    /// The units met at even and at odd places.
    met: [u32; 2],
    /// The cells with more than the pair, and what they have more.
    richer: u128,
    extra: u16,
}

impl Ring {
    fn begin(start: usize) -> Self {
        Self { path: vec![start], members: 1 << start, met: [units_bits(start), 0], richer: 0, extra: 0 }
    }
}

fn units_bits(cell: usize) -> u32 {
    UNITS_OF[cell].iter().fold(0, |set, unit| set | 1 << unit)
}

impl Search<'_> {
    /// Goes on from the last cell to every other that fits, through units of another kind than `last_kind`.
    fn extend(&mut self, ring: &mut Ring, last_kind: usize) {
        let (first, last) = (ring.path[0], ring.path[ring.path.len() - 1]);
        let parity = ring.path.len() % 2;
        for kind in (0..3).filter(|&kind| kind != last_kind) {
            let unit = usize::from(UNITS_OF[last][kind]);
            if ring.path.len() >= 4 && UNIT_CELLS[unit] >> first & 1 == 1 && ring.met[0] == ring.met[1] {
                self.conclude(ring);
            }
            for next in cells(UNIT_CELLS[unit] & self.candidates & !ring.members) {
                let more = self.pencil.cell(next) & !self.pair;
                let extra = ring.extra | more;
                let richer = ring.richer | u128::from(more != 0) << next;
                let units = units_bits(next);
                if ring.met[parity] & units != 0 || richer.count_ones() > 2 && extra.count_ones() > 1 {
                    continue;
                }
                let before = (ring.richer, ring.extra);
                (ring.richer, ring.extra) = (richer, extra);
                ring.path.push(next);
                ring.members |= 1 << next;
                ring.met[parity] |= units;
                self.extend(ring, kind);
                ring.met[parity] &= !units;
                ring.members &= !(1 << next);
                ring.path.pop();
                (ring.richer, ring.extra) = before;
            }
        }
    }

    fn conclude(&mut self, ring: &Ring) {
        let (technique, added) = match ring.path.len() {
            ..6 => (Technique::UniqueRectangle, 0),
            6 => (Technique::UniqueLoop, 1),
            8 => (Technique::UniqueLoop, 2),
            _ => (Technique::UniqueLoop, 5),
        };
        let tenths = technique.base() + added;
        let mut scratch = Step::blank();
        for kind in 1..=4 {
            if self.best.is_some_and(|best| best <= (tenths, kind)) {
                return;
            }
            scratch.begin(technique);
            scratch.tenths = tenths;
            scratch.digits = self.pair;
            scratch.cells = ring.members;
            match kind {
                1 => self.type_1(ring, &mut scratch),
                2 => self.type_2(ring, &mut scratch),
                3 => self.type_3(ring, &mut scratch),
                _ => self.type_4(ring, &mut scratch),
            }
            if scratch.is_worth() {
                self.best = Some((tenths, kind));
                std::mem::swap(self.step, &mut scratch);
                return;
            }
        }
    }

    fn type_1(&self, ring: &Ring, step: &mut Step) {
        if ring.richer.is_power_of_two() {
            step.remove(ring.richer.trailing_zeros() as usize, self.pair);
        }
    }

    fn type_2(&self, ring: &Ring, step: &mut Step) {
        if ring.richer.count_ones() >= 2 && ring.extra.is_power_of_two() {
            let digit = ring.extra.trailing_zeros() as usize;
            let seen = cells(ring.richer).fold(u128::MAX, |seen, cell| seen & PEERS[cell]);
            step.remove_from(seen & self.pencil.places(digit), digit);
        }
    }

    fn type_3(&self, ring: &Ring, step: &mut Step) {
        if ring.richer.count_ones() != 2 || ring.extra.count_ones() < 2 {
            return;
        }
        for size in ring.extra.count_ones()..=7 {
            for (unit, one, two) in common_units(ring.richer) {
                let open = self.pencil.open(unit).count_ones();
                if 2 * size <= open && self.naked(ring, unit, one, two, size, step)
                    || 2 * size < open && self.hidden(ring, unit, one, two, size, step)
                {
                    return;
                }
            }
        }
    }

    /// One of the two richer cells takes an extra digit, whichever it is: together they are a cell with the extra digits,
    /// and may belong to a naked subset.
    fn naked(&self, ring: &Ring, unit: usize, one: usize, two: usize, size: u32, step: &mut Step) -> bool {
        let mut sets = UNITS[unit].map(|cell| self.pencil.cell(cell.into()));
        (sets[one], sets[two]) = (ring.extra, 0);
        unions(&sets, 2..=size, |chosen, union| {
            if chosen >> one & 1 == 0 {
                return false;
            }
            for position in bits(self.pencil.open(unit) & !chosen & !(1 << two)) {
                let cell = UNITS[unit][position].into();
                step.remove(cell, self.pencil.cell(cell) & union);
            }
            step.is_worth()
        })
    }

    /// And the other one is a single place for the pair, and may belong to a hidden subset.
    fn hidden(&self, ring: &Ring, unit: usize, one: usize, two: usize, size: u32, step: &mut Step) -> bool {
        let sets: [u16; 9] = std::array::from_fn(|digit| {
            if ring.extra >> digit & 1 == 1 { 0 } else { self.pencil.spots(unit, digit) & !(1 << two) }
        });
        unions(&sets, 1..=size, |digits, positions| {
            if self.pair & !digits != 0 {
                return false;
            }
            for position in bits(positions & !(1 << one)) {
                let cell = UNITS[unit][position].into();
                step.remove(cell, self.pencil.cell(cell) & !digits);
            }
            step.is_worth()
        })
    }

    fn type_4(&self, ring: &Ring, step: &mut Step) {
        if ring.richer.count_ones() != 2 {
            return;
        }
        for locked in bits(self.pair) {
            let is_locked = common_units(ring.richer)
                .any(|(unit, ..)| self.pencil.places(locked) & UNIT_CELLS[unit] & !ring.richer == 0);
            if is_locked {
                for cell in cells(ring.richer) {
                    step.remove(cell, self.pair & !(1 << locked));
                }
                return;
            }
        }
    }
}

/// The units that two cells share, with the position of each.
fn common_units(pair: u128) -> impl Iterator<Item = (usize, usize, usize)> {
    let (one, two) = (pair.trailing_zeros() as usize, 127 - pair.leading_zeros() as usize);
    (0..3).filter(move |&kind| UNITS_OF[one][kind] == UNITS_OF[two][kind]).map(move |kind| {
        (UNITS_OF[one][kind].into(), POSITIONS[one][kind].into(), POSITIONS[two][kind].into())
    })
}
