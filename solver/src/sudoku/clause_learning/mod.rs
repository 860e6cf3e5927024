//! Clause learning: the engine for boards other than 9x9.
//!
//! # The idea
//!
//! On a hard 25x25 board, plain search fails because it makes the same mistake in a thousand different surroundings.
//! This search asks after every dead end which few of its decisions made it one, and keeps the answer as a clause that
//! will not let them come together again (conflict-driven clause learning, the method of SAT solvers; Marques-Silva and
//! Sakallah, "GRASP", 1996):
//!
//! ```text
//!       +--------------------------------------------------------------------+
//!       v                                                                    |
//!   propagate ---> conflict? --yes--> learn a clause, go back to the level --+
//!       ^             | no            where it says something new            |
//!       |             v                                                      |
//!       |      all assigned? --yes--> a solution: flip the last decision ----+
//!       |             | no
//!       +---- decide one literal
//! ```
//!
//! The rules of the game are not clauses (a 25x25 board would need some million): `groups` says of which literals
//! exactly one is true, and a bit mask for each group finds what follows. Only what is learnt are clauses.
//!
//! | part | duty |
//! |---|---|
//! | `groups` | the rules of the game |
//! | `trail` | what is assigned, and what follows from the groups |
//! | `clauses` | what was learnt, and what follows from it |
//! | `analysis` | from a conflict to a clause |
//! | `order` | what to decide |
//!
//! # Tricks
//!
//! 1. Groups have variables for "the value is in this row of this box" too, so that locked candidates follow without
//!    search (`groups`).
//! 2. Two watched literals a clause, and decisions by activity (Moskewicz et al., "Chaff", 2001).
//! 3. The clause is that of the first unique implication point, made smaller by what follows from the rest of it
//!    (Sorensson and Biere, 2009) and by one literal for all of a level where there is one (Fleury and Biere, 2021).
//! 4. Clauses are forgotten by literal block distance (Audemard and Simon, "Glucose", 2009).
//! 5. Restarts after 1, 1, 2, 1, 1, 2, 4, .. hundred conflicts (Luby, Sinclair and Zuckerman, 1993), in the simple
//!    frame of MiniSat (Een and Sorensson, 2003).
//! 6. Until the first restart decisions go cell by cell: the smallest cell, weighted by its conflicts (Boussemart et al.,
//!    "Boosting systematic search by weighting constraints", 2004), which finds solutions of sparse boards at once.
//!    By cell to the end, hard 25x25 boards take half as long again.
//!
//! # Counting
//!
//! A solution flips the last decision: its other side begins a level that is *closed*, because what lies on the first
//! side is counted. From then on going back stops at the topmost closed level; when that fails, it goes, and the last
//! decision below that is not closed is flipped. To what is learnt a flipped decision is a decision like any other, so
//! clauses stay true whatever was counted before, and no solution needs to be remembered. (Clauses that forbid the
//! solutions found are as fast, and need memory for each.)
//!
//! # Bounds
//!
//! Nothing recurses. The trail is as long as there are variables; clauses have a bound in literals, and are forgotten
//! sooner where they reach it. The cancel flag is looked at after each conflict and each decision, well below a
//! millisecond apart. A board always ends: runs between restarts grow without bound, and within one the search is
//! systematic.
//!
//! docs/decisions/0007-clause-learning.md has what it was compared with.

mod analysis;
mod clauses;
mod groups;
mod order;
mod trail;

use crate::engine::Budget;
use crate::sudoku::End;
use analysis::{Analysis, Graph};
use clauses::Clauses;
use groups::{Groups, Literal};
use order::Order;
use trail::{Conflict, Reason, Trail};

/// Conflicts in the shortest run between two restarts; the others are multiples.
const RUN: u64 = 100;

/// Clauses are forgotten after so many conflicts, then after this much more each time, up to a bound.
const FORGET_FIRST: u64 = 2000;
const FORGET_MORE: u64 = 300;
const FORGET_MAX: u64 = 20_000;

/// A search over boards of one size; reusable. It needs 1 (16x16) to 5 MiB (25x25), and up to some 30 MiB for what it
/// learns about a hard board.
///
/// # Examples
///
/// ```
/// use puzzled_solver::Budget;
/// use puzzled_solver::sudoku::ClauseLearning;
///
/// let mut solutions = 0;
/// let mut count = |_: &[u8]| solutions += 1;
/// ClauseLearning::new(5).solve_each(&[0; 625], 10, &Budget::unlimited(), &mut count);
/// assert_eq!(solutions, 10);
/// ```
pub struct ClauseLearning {
    side: usize,
    groups: Groups,
    trail: Trail,
    clauses: Clauses,
    analysis: Analysis,
    order: Order,
    /// How many literals of the trail the clauses know of.
    visited: usize,
    /// By level above 0: whether it is closed.
    is_closed: Vec<bool>,
    schedule: Schedule,
}

/// When to restart and when to forget, by the number of conflicts.
struct Schedule {
    conflicts: u64,
    runs: u64,
    run_end: u64,
    forget_after: u64,
    forget_at: u64,
}

impl ClauseLearning {
    /// An engine for boards of `box_size` to the fourth power cells.
    ///
    /// # Panics
    ///
    /// When `box_size` is not 2, 3, 4 or 5.
    pub fn new(box_size: usize) -> Self {
        assert!((2..=5).contains(&box_size), "box sizes are 2 to 5, not {box_size}");
        let groups = Groups::new(box_size);
        Self {
            side: box_size * box_size,
            trail: Trail::new(&groups),
            clauses: Clauses::new(groups.variables()),
            analysis: Analysis::new(groups.variables()),
            order: Order::new(&groups),
            groups,
            visited: 0,
            is_closed: Vec::new(),
            schedule: Schedule::new(),
        }
    }

    /// Counts solutions up to `limit` and hands each to `witness`, values row by row. `cells` holds 0 for a blank.
    /// Givens that contradict each other mean no solution. Nodes of the budget are decisions.
    ///
    /// # Panics
    ///
    /// When `cells` does not have this board's number of cells, or a value is above its side.
    pub fn solve_each(
        &mut self,
        cells: &[u8],
        limit: u64,
        budget: &Budget<'_>,
        witness: &mut dyn FnMut(&[u8]),
    ) -> (u64, End) {
        let side = self.side;
        assert_eq!(cells.len(), side * side, "a board has {side} x {side} cells");
        assert!(cells.iter().all(|&value| usize::from(value) <= side), "values go up to {side}");
        self.clear();
        if limit == 0 || !self.take_givens(cells) {
            return (0, End::Complete);
        }
        self.search(limit, budget, witness)
    }

    fn clear(&mut self) {
        self.trail.clear(&self.groups);
        self.clauses.clear();
        self.order.clear();
        self.visited = 0;
        self.is_closed.clear();
        self.schedule = Schedule::new();
    }

    /// False if the givens contradict each other at first sight.
    fn take_givens(&mut self, cells: &[u8]) -> bool {
        for (cell, &value) in cells.iter().enumerate().filter(|&(_, &value)| value > 0) {
            let literal = Literal::new(cell * self.side + usize::from(value) - 1);
            if self.trail.is_false(literal) {
                return false;
            }
            if self.trail.is_unassigned(literal) {
                self.trail.assign(literal, Reason::None);
                if self.trail.apply(&self.groups).is_some() {
                    return false;
                }
            }
        }
        true
    }

    fn search(&mut self, limit: u64, budget: &Budget<'_>, witness: &mut dyn FnMut(&[u8])) -> (u64, End) {
        let (mut solutions, mut nodes) = (0, 0);
        loop {
            if budget.stopped() {
                return (solutions, End::Cancelled);
            }
            if let Some(conflict) = self.propagate() {
                self.schedule.conflicts += 1;
                if self.trail.level() > self.floor() {
                    self.learn(conflict);
                } else if !self.flip() {
                    return (solutions, End::Complete);
                }
                continue;
            }
            self.restart_and_forget();
            let Some(literal) = self.decision() else {
                solutions += 1;
                witness(&self.solution());
                if solutions == limit || !self.flip() {
                    return (solutions, End::Complete);
                }
                continue;
            };
            if nodes == budget.nodes_max() {
                return (solutions, End::OutOfNodes);
            }
            nodes += 1;
            self.trail.decide(literal);
            self.is_closed.push(false);
        }
    }

    /// Assigns all that follows. The groups go first: they are quicker, and their reasons are simpler.
    fn propagate(&mut self) -> Option<Conflict> {
        loop {
            if let Some(conflict) = self.trail.apply(&self.groups) {
                return Some(conflict);
            }
            let &literal = self.trail.literals().get(self.visited)?;
            self.visited += 1;
            if let Some(clause) = self.clauses.visit(!literal, &mut self.trail) {
                return Some(Conflict::Clause(clause));
            }
        }
    }

    fn learn(&mut self, conflict: Conflict) {
        let graph = Graph { groups: &self.groups, trail: &self.trail, clauses: &self.clauses };
        self.analysis.learn(graph, conflict);
        self.order.conflict(&self.groups, &self.analysis.involved);
        let clause = self.clauses.push(&self.analysis.literals, self.analysis.lbd);
        self.backtrack(self.analysis.level.max(self.floor()));
        self.trail.assign(self.analysis.literals[0], Reason::Clause(clause));
    }

    /// Goes to the other side of the last decision that is not closed; false if there is none.
    fn flip(&mut self) -> bool {
        while let Some(decision) = self.trail.decision() {
            let level = self.trail.level() - 1;
            let was_closed = self.is_closed[level];
            self.backtrack(level);
            if !was_closed {
                self.trail.decide(!decision);
                self.is_closed.push(true);
                return true;
            }
        }
        false
    }

    /// The topmost closed level, below which nothing may go back that is not done with; 0 if none is closed.
    fn floor(&self) -> usize {
        self.is_closed.iter().rposition(|&is_closed| is_closed).map_or(0, |level| level + 1)
    }

    fn backtrack(&mut self, level: usize) {
        let order = &mut self.order;
        self.trail.backtrack(&self.groups, level, |literal| order.unassigned(literal.variable()));
        self.visited = self.visited.min(self.trail.literals().len());
        self.is_closed.truncate(level);
    }

    fn restart_and_forget(&mut self) {
        if self.schedule.ends_run() {
            self.backtrack(self.floor());
        }
        if self.schedule.is_time_to_forget() || self.clauses.are_too_many() {
            self.clauses.forget(&mut self.trail);
        }
    }

    fn decision(&mut self) -> Option<Literal> {
        if self.schedule.runs == 0 {
            self.order.by_cell(&self.groups, &self.trail)
        } else {
            self.order.by_activity(&self.trail)
        }
    }

    fn solution(&self) -> Vec<u8> {
        let mut cells = vec![0; self.side * self.side];
        for literal in self.trail.literals().iter().filter(|literal| literal.is_positive()) {
            if let Some((cell, value)) = self.groups.option(literal.variable()) {
                cells[cell] = (value + 1) as u8;
            }
        }
        cells
    }
}

impl Schedule {
    fn new() -> Self {
        Self { conflicts: 0, runs: 0, run_end: RUN, forget_after: FORGET_FIRST, forget_at: FORGET_FIRST }
    }

    fn ends_run(&mut self) -> bool {
        let ends = self.conflicts >= self.run_end;
        if ends {
            self.runs += 1;
            self.run_end = self.conflicts + RUN * luby(self.runs + 1);
        }
        ends
    }

    fn is_time_to_forget(&mut self) -> bool {
        let is_time = self.conflicts >= self.forget_at;
        if is_time {
            self.forget_after = (self.forget_after + FORGET_MORE).min(FORGET_MAX);
            self.forget_at = self.conflicts + self.forget_after;
        }
        is_time
    }
}

/// The sequence 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 .., from index 1.
fn luby(mut index: u64) -> u64 {
    loop {
        let bits = u64::BITS - index.leading_zeros();
        if index == (1 << bits) - 1 {
            return 1 << (bits - 1);
        }
        index -= (1 << (bits - 1)) - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sudoku::ExactCover;

    #[test]
    fn the_luby_sequence() {
        assert_eq!((1..=15).map(luby).collect::<Vec<_>>(), [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]);
    }

    /// The variables that a solution makes true.
    fn variables_of(groups: &Groups, solution: &[u8], side: usize) -> Vec<bool> {
        let mut trail = Trail::new(groups);
        trail.clear(groups);
        for (cell, &value) in solution.iter().enumerate() {
            let literal = Literal::new(cell * side + usize::from(value) - 1);
            if trail.is_unassigned(literal) {
                trail.assign(literal, Reason::None);
                assert!(trail.apply(groups).is_none(), "a solution keeps the rules");
            }
        }
        assert_eq!(trail.literals().len(), groups.variables(), "a solution leaves nothing open");
        (0..groups.variables()).map(|variable| trail.is_true(Literal::new(variable))).collect()
    }

    #[test]
    fn what_is_learnt_is_true_in_every_solution() {
        const BOARDS: &str =
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/magictour_top1465.txt"));
        let mut learning = ClauseLearning::new(3);
        let (mut boards, mut learnt) = (0, 0);
        for line in BOARDS.lines().step_by(20) {
            // Boards with one solution: without their first clue they have several.
            let mut cells: Vec<u8> =
                line.bytes().map(|byte| if byte == b'.' { 0 } else { byte - b'0' }).collect();
            *cells.iter_mut().find(|cell| **cell > 0).expect("a clue") = 0;
            let mut solutions = Vec::new();
            let mut keep = |found: &[u8]| solutions.push(variables_of(&learning.groups, found, 9));
            let (count, _) = ExactCover::new(3).solve_each(&cells, 500, &Budget::unlimited(), &mut keep);
            if count == 500 {
                // Perhaps not all of them.
                continue;
            }
            let found = learning.solve_each(&cells, u64::MAX, &Budget::unlimited(), &mut |_| {});
            assert_eq!(found, (count, End::Complete));
            for clause in 0..learning.clauses.len() {
                let literals = learning.clauses.literals(clause);
                let holds = |solution: &Vec<bool>| {
                    literals.iter().any(|literal| solution[literal.variable()] == literal.is_positive())
                };
                assert!(solutions.iter().all(holds), "{literals:?}");
            }
            (boards, learnt) = (boards + 1, learnt + learning.clauses.len());
        }
        assert!(
            boards > 3 && learnt > 300,
            "{learnt} clauses of {boards} boards are too few to tell anything"
        );
    }

    #[test]
    fn clauses_stay_within_their_memory() {
        let groups = Groups::new(5);
        let mut trail = Trail::new(&groups);
        trail.clear(&groups);
        let mut clauses = Clauses::new(groups.variables());
        // As long as they can be, and of the distance that is kept for ever.
        let literals: Vec<Literal> = (0..groups.variables()).map(Literal::new).collect();
        while !clauses.are_too_many() {
            clauses.push(&literals, 2);
        }
        let before = clauses.len();
        clauses.forget(&mut trail);
        assert!(!clauses.are_too_many());
        assert_eq!(clauses.len(), before / 2);
    }
}
