//! Digging: clues are taken off a final grid as long as it stays the only solution. Many puzzles at a time, so that
//! their questions fill the lanes.
//!
//! # The idea
//!
//! The cells (or orbits of cells, where clues are to be symmetric) are put into a random order, and taken away in that
//! order, each one unless another solution would come of it. That would be 81 questions for an engine, of which some
//! twenty are left:
//!
//! ```text
//! order   x x x x x x x x x x x x x x x x|. x . . x . . x . . . . .     x taken away   . must stay
//!         \______________________________/\_______________________/
//!          how many can go together:       one by one, unless it can be seen:
//!          one or a few boards             the last clue of an unavoidable set stays,
//!                                          a clue that the others force at once goes
//! ```
//!
//! Uniqueness is lost once and for ever. So the first clue that must stay is found by guessing (it is rarely before the
//! first unavoidable set would be empty) and halving. The rest, some 30 clues, is asked one after the other: can
//! this cell be anything but what it is? Whatever the order of asking, the puzzle is the one that taking clues away one by
//! one would give. So it depends on the order of cells alone: not on the engine, nor on the puzzles dug beside it.
//!
//! What an engine is asked has only yes and no for an answer; no solution that it shows is ever looked at.

use super::shuffle::Random;
use super::symmetry::{Orbits, Symmetry};
use super::unavoidable::{self, CellSet};
use crate::engine::Budget;
use crate::sudoku::units::{self, PEERS, UNIT_CELLS, UNITS_OF};
use crate::sudoku::{Board, CELLS, Candidates, End, LaneEngine, Verdict};

const ALL: CellSet = (1 << CELLS) - 1;

/// Puzzles being dug, side by side.
pub(super) struct Digger {
    orbits: &'static Orbits,
    lanes: LaneEngine,
    boards: Vec<Board>,
    /// Boards with one cell forbidden its digit.
    forbidden: Vec<Candidates>,
    /// Whose boards these are, as indices of digs.
    askers: [Vec<usize>; 2],
    verdicts: Vec<Verdict>,
}

/// A puzzle being dug.
#[derive(Clone)]
pub(super) struct Dig {
    pub(super) grid: [u8; CELLS],
    /// The cells that are still clues, and all cells as pencil marks.
    left: CellSet,
    marks: [u16; CELLS],
    /// Where each digit is in the grid, less one.
    digits: [CellSet; 9],
    /// Clues that are known to stay, in whole orbits.
    stays: CellSet,
    /// What is left of sets that must not become empty; those that a clue is known to stay in are of no use any more.
    unavoidable: Vec<CellSet>,
    /// Clues to leave at least.
    clues_min: u32,
    /// Cells that go or stay together.
    orbits: &'static Orbits,
    /// The order of digging, as indices of orbits.
    order: Vec<u8>,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The first `sure` orbits can go together, the first `lost` cannot. `probe` is being asked.
    Together { sure: usize, lost: usize, probe: usize },
    /// Whether this orbit can go is being asked.
    Single { next: usize },
    /// Nothing more can go.
    Done,
}

impl Digger {
    pub(super) fn new(symmetry: Symmetry) -> Self {
        Self {
            orbits: symmetry.orbits(),
            lanes: LaneEngine::new(),
            boards: Vec::new(),
            forbidden: Vec::new(),
            askers: [Vec::new(), Vec::new()],
            verdicts: Vec::new(),
        }
    }

    /// Begins to dig a grid, down to `clues_min` clues at most.
    pub(super) fn begin(&self, grid: [u8; CELLS], clues_min: usize, random: &mut Random) -> Dig {
        let mut order = Vec::from_iter(0..self.orbits.sets.len() as u8);
        for last in (1..order.len()).rev() {
            order.swap(last, random.below(last as u64 + 1) as usize);
        }
        Dig::new(grid, clues_min, self.orbits, order)
    }

    /// Digs all of these to their ends; false if a flag of the budget was seen.
    pub(super) fn finish(&mut self, digs: &mut [Dig], budget: &Budget<'_>) -> bool {
        while digs.iter().any(|dig| dig.stage != Stage::Done) {
            if !self.step(digs, budget) {
                return false;
            }
        }
        true
    }

    /// Asks one question about each puzzle; false if a flag of the budget was seen.
    fn step(&mut self, digs: &mut [Dig], budget: &Budget<'_>) -> bool {
        self.boards.clear();
        self.forbidden.clear();
        self.askers.iter_mut().for_each(Vec::clear);
        for (asker, dig) in digs.iter().enumerate() {
            match dig.asks() {
                Asks::Nothing => {}
                Asks::WithGridAmong(left) => {
                    self.boards.push(Board::from_cells(dig.kept(left)).expect("digits and blanks"));
                    self.askers[0].push(asker);
                }
                Asks::WithoutGrid(cell) => {
                    self.forbidden.push(dig.without(cell));
                    self.askers[1].push(asker);
                }
            }
        }
        if !self.ask(budget) {
            return false;
        }
        let (boards, forbidden) = self.verdicts.split_at(self.boards.len());
        for (&asker, verdict) in self.askers[0].iter().zip(boards) {
            digs[asker].take_answer(verdict.solutions == 1);
        }
        for (&asker, verdict) in self.askers[1].iter().zip(forbidden) {
            digs[asker].take_answer(verdict.solutions == 0);
        }
        true
    }

    /// Of those digs that are asked for, whether some clue could go alone, though not its whole orbit. Digs must be at
    /// their ends. `None` if a flag of the budget was seen.
    pub(super) fn needless(
        &mut self,
        digs: &[Dig],
        asked: &[bool],
        budget: &Budget<'_>,
    ) -> Option<Vec<bool>> {
        let mut needless = vec![false; digs.len()];
        if self.orbits.sets.len() == CELLS {
            return Some(needless);
        }
        self.boards.clear();
        self.forbidden.clear();
        let mut owners = Vec::new();
        for (owner, dig) in digs.iter().enumerate().filter(|&(owner, _)| asked[owner]) {
            for cell in units::cells(dig.left) {
                self.forbidden.push(dig.without(cell));
                owners.push(owner);
            }
        }
        if !self.ask(budget) {
            return None;
        }
        for (&owner, verdict) in owners.iter().zip(&self.verdicts) {
            needless[owner] |= verdict.solutions == 0;
        }
        Some(needless)
    }

    /// Fills `verdicts`: of `boards`, then of `forbidden`. False if a flag of the budget was seen.
    fn ask(&mut self, budget: &Budget<'_>) -> bool {
        // A limit would make the puzzle depend on the engine.
        let budget = Budget { nodes: 0, ..*budget };
        self.verdicts.clear();
        self.lanes.solve_many(&self.boards, 2, &budget, &mut self.verdicts);
        self.lanes.solve_many(&self.forbidden, 1, &budget, &mut self.verdicts);
        self.verdicts.iter().all(|verdict| verdict.end != End::Cancelled)
    }
}

/// What a puzzle asks an engine.
enum Asks {
    Nothing,
    /// Whether these clues have one solution.
    WithGridAmong(CellSet),
    /// Whether the puzzle has a solution with another digit in this cell.
    WithoutGrid(usize),
}

impl Dig {
    fn new(grid: [u8; CELLS], clues_min: usize, orbits: &'static Orbits, order: Vec<u8>) -> Self {
        let mut digits = [0; 9];
        (0..CELLS).for_each(|cell| digits[usize::from(grid[cell]) - 1] |= 1 << cell);
        let mut unavoidable = Vec::with_capacity(128);
        unavoidable::find(&grid, &mut unavoidable);
        // As many go together as leave enough clues and no unavoidable set empty; what is too much stays so.
        let mut left = ALL;
        let lefts: Vec<CellSet> = (order.iter())
            .map(|&orbit| {
                left &= !orbits.sets[usize::from(orbit)];
                left
            })
            .collect();
        let clues_min = clues_min as u32;
        let allowed = lefts.partition_point(|left| {
            left.count_ones() >= clues_min && unavoidable.iter().all(|set| set & left != 0)
        });
        let mut dig = Self {
            grid,
            left: ALL,
            marks: grid.map(|digit| 1 << (digit - 1)),
            digits,
            stays: 0,
            unavoidable,
            clues_min,
            orbits,
            order,
            stage: Stage::Together { sure: 0, lost: allowed + 1, probe: allowed },
        };
        dig.go_on();
        dig
    }

    /// The orbit at a place of the order.
    fn orbit(&self, place: usize) -> CellSet {
        self.orbits.sets[usize::from(self.order[place])]
    }

    /// The number of clues left.
    pub(super) fn clues(&self) -> usize {
        self.left.count_ones() as usize
    }

    /// The puzzle; 0 is a blank.
    pub(super) fn cells(&self) -> [u8; CELLS] {
        self.kept(self.left)
    }

    fn kept(&self, cells: CellSet) -> [u8; CELLS] {
        let mut kept = self.grid;
        units::cells(ALL & !cells).for_each(|cell| kept[cell] = 0);
        kept
    }

    fn take_away(&mut self, orbit: CellSet) {
        self.left &= !orbit;
        units::cells(orbit).for_each(|cell| self.marks[cell] = Candidates::ANY);
    }

    /// An orbit stays if it is all that is left of an unavoidable set.
    fn look_at_sets(&mut self) {
        // Nothing here can be predicted, so there are no branches.
        let mut kept = 0;
        for index in 0..self.unavoidable.len() {
            let set = self.unavoidable[index] & self.left;
            let orbit = self.orbits.of(set.trailing_zeros() as usize);
            let is_settled = set & self.stays != 0;
            let is_last = set & !orbit == 0;
            self.stays |= orbit & 0u128.wrapping_sub(u128::from(is_last));
            self.unavoidable[kept] = set;
            kept += usize::from(!(is_settled | is_last));
        }
        self.unavoidable.truncate(kept);
    }

    fn asks(&self) -> Asks {
        match self.stage {
            Stage::Done => Asks::Nothing,
            Stage::Together { probe, .. } => {
                Asks::WithGridAmong((0..probe).fold(ALL, |left, place| left & !self.orbit(place)))
            }
            Stage::Single { next } => match self.orbit(next) {
                orbit if orbit.is_power_of_two() => Asks::WithoutGrid(orbit.trailing_zeros() as usize),
                orbit => Asks::WithGridAmong(self.left & !orbit),
            },
        }
    }

    /// The puzzle without one of its clues, whose digit is forbidden there.
    fn without(&self, cell: usize) -> Candidates {
        let mut marks = self.marks;
        marks[cell] ^= Candidates::ANY;
        Candidates::from_masks(marks).expect("nine bits a cell")
    }

    fn take_answer(&mut self, is_unique: bool) {
        match &mut self.stage {
            Stage::Together { sure, lost, probe } => {
                if is_unique {
                    *sure = *probe;
                } else {
                    // The first guess was wrong: further steps down, then halves.
                    let step = 2 * (*lost - *probe);
                    *lost = *probe;
                    *probe = if *sure == 0 { lost.saturating_sub(step).max(1) } else { *probe };
                }
                if *sure > 0 || *probe >= *lost {
                    *probe = *sure + (*lost - *sure) / 2;
                }
            }
            Stage::Single { next } => {
                let orbit = self.orbits.sets[usize::from(self.order[*next])];
                *next += 1;
                if is_unique {
                    self.take_away(orbit);
                    self.look_at_sets();
                } else {
                    self.stays |= orbit;
                }
            }
            Stage::Done => {}
        }
        self.go_on();
    }

    /// Goes on without asking as far as that is possible.
    fn go_on(&mut self) {
        if let Stage::Together { sure, lost, .. } = self.stage
            && lost - sure == 1
        {
            (0..sure).for_each(|place| self.take_away(self.orbit(place)));
            self.stays = if sure < self.order.len() { self.orbit(sure) } else { 0 };
            self.look_at_sets();
            self.stage = Stage::Single { next: lost };
        }
        while let Stage::Single { next } = self.stage {
            if next >= self.order.len() {
                self.stage = Stage::Done;
                return;
            }
            let orbit = self.orbit(next);
            let leaves_enough = (self.left & !orbit).count_ones() >= self.clues_min;
            if orbit & self.stays == 0 && leaves_enough {
                if !(orbit.is_power_of_two() && self.is_forced(orbit.trailing_zeros() as usize)) {
                    return;
                }
                self.take_away(orbit);
                self.look_at_sets();
            }
            self.stage = Stage::Single { next: next + 1 };
        }
    }

    /// Whether the other clues leave a cell no other digit, or its digit no other cell in one of its units.
    fn is_forced(&self, cell: usize) -> bool {
        let rest = self.left & !(1 << cell);
        let digit = usize::from(self.grid[cell]) - 1;
        let seen = PEERS[cell] & rest;
        if (0..9).all(|other| other == digit || seen & self.digits[other] != 0) {
            return true;
        }
        // Cells that cannot be this digit.
        let shut = units::cells(self.digits[digit] & rest).fold(rest, |shut, cell| shut | PEERS[cell]);
        UNITS_OF[cell].iter().any(|&unit| UNIT_CELLS[usize::from(unit)] & !shut == 1 << cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sudoku::{Bitmask, Shuffle};

    /// The same by one question a clue, to another engine.
    fn dug_plainly(grid: [u8; CELLS], clues_min: u32, order: impl Iterator<Item = CellSet>) -> [u8; CELLS] {
        let (mut cells, mut engine) = (grid, Bitmask::new());
        for orbit in order {
            let mut fewer = cells;
            units::cells(orbit).for_each(|cell| fewer[cell] = 0);
            let board = Board::from_cells(fewer).expect("digits and blanks");
            let mut verdicts = Vec::new();
            engine.solve_many(&[board], 2, &Budget::unlimited(), &mut verdicts);
            let clues = fewer.iter().filter(|&&digit| digit != 0).count() as u32;
            if verdicts[0].solutions == 1 && clues >= clues_min {
                cells = fewer;
            }
        }
        cells
    }

    #[test]
    fn digging_together_is_digging_one_by_one() {
        for symmetry in 0..super::super::symmetry::NAMES.len() {
            let mut digger = Digger::new(Symmetry::new(symmetry));
            let shuffle = Shuffle::new(7, 0);
            let mut digs: Vec<Dig> = (0..30)
                .map(|number| {
                    let clues_min = [0, 0, 24, 30, 36, 81][number as usize % 6];
                    digger.begin(shuffle.grid(number), clues_min, &mut Random::of(&[number as u64]))
                })
                .collect();
            assert!(digger.finish(&mut digs, &Budget::unlimited()));
            for dig in &digs {
                let plain =
                    dug_plainly(dig.grid, dig.clues_min, (0..dig.order.len()).map(|place| dig.orbit(place)));
                assert_eq!(dig.cells(), plain, "symmetry {symmetry}, {} clues", dig.clues_min);
            }
            let needless = digger.needless(&digs, &vec![true; digs.len()], &Budget::unlimited());
            for (dig, needless) in
                digs.iter().zip(needless.expect("nobody cancelled")).filter(|_| symmetry > 0)
            {
                let alone = units::cells(dig.left).map(|cell| 1 << cell);
                assert_eq!(needless, dug_plainly(dig.cells(), 0, alone) != dig.cells());
            }
        }
    }

    #[test]
    fn every_width_digs_the_same() {
        let grid = |number| Shuffle::new(8, 0).grid(number);
        let dug: Vec<Vec<[u8; CELLS]>> = (crate::sudoku::Width::available().iter())
            .map(|&width| {
                let mut digger = Digger::new(Symmetry::new(0));
                digger.lanes = LaneEngine::with_width(width).expect("an available one");
                let begin = |number| digger.begin(grid(number), 0, &mut Random::of(&[number as u64]));
                let mut digs: Vec<Dig> = (0..40).map(begin).collect();
                assert!(digger.finish(&mut digs, &Budget::unlimited()));
                digs.iter().map(Dig::cells).collect()
            })
            .collect();
        assert!(dug.iter().all(|cells| *cells == dug[0]));
    }
}
