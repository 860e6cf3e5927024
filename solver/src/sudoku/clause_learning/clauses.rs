//! What was learnt: clauses, each a list of literals of which one is true. Forgets the worse half from time to time.
//!
//! Each clause is watched through its first two literals: only when one of these becomes false does it need a look
//! (Moskewicz et al., "Chaff", 2001).

use super::groups::Literal;
use super::trail::{Reason, Trail};

/// Clauses of no more literal block distance than this are kept: they are few and are used all the time. (The distance
/// is the number of different levels among the literals when the clause was learnt; Audemard and Simon, "Glucose", 2009.)
const LBD_KEPT: u32 = 2;

/// Literals in all clauses (8 MiB), from where on it is time to forget, and even the best clauses have to go.
const LITERALS_MAX: usize = 1 << 22;

#[derive(Default)]
pub(super) struct Clauses {
    clauses: Vec<Clause>,
    /// Of all clauses, one after the other.
    literals: Vec<Literal>,
    /// By literal: the clauses it watches.
    watches: Vec<Vec<Watch>>,
}

#[derive(Clone, Copy)]
struct Clause {
    start: u32,
    len: u32,
    lbd: u32,
}

#[derive(Clone, Copy)]
struct Watch {
    clause: u32,
    /// Some other literal of the clause: while it is true, the clause need not be read.
    other: Literal,
}

impl Clauses {
    pub(super) fn new(variables: usize) -> Self {
        Self { watches: vec![Vec::new(); 2 * variables], ..Self::default() }
    }

    pub(super) fn clear(&mut self) {
        if !self.clauses.is_empty() {
            self.watches.iter_mut().for_each(Vec::clear);
        }
        self.clauses.clear();
        self.literals.clear();
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> u32 {
        self.clauses.len() as u32
    }

    pub(super) fn literals(&self, clause: u32) -> &[Literal] {
        let Clause { start, len, .. } = self.clauses[clause as usize];
        &self.literals[start as usize..][..len as usize]
    }

    /// Adds a clause; its first two literals watch it, so these must be the last to become false.
    pub(super) fn push(&mut self, literals: &[Literal], lbd: u32) -> u32 {
        let clause = self.clauses.len() as u32;
        self.clauses.push(Clause { start: self.literals.len() as u32, len: literals.len() as u32, lbd });
        self.literals.extend_from_slice(literals);
        if let [first, second, ..] = *literals {
            self.watches[first.index()].push(Watch { clause, other: second });
            self.watches[second.index()].push(Watch { clause, other: first });
        }
        clause
    }

    /// Assigns what follows from clauses now that `literal` is false; gives a clause that is false altogether.
    pub(super) fn visit(&mut self, literal: Literal, trail: &mut Trail) -> Option<u32> {
        let mut watches = std::mem::take(&mut self.watches[literal.index()]);
        let mut conflict = None;
        watches.retain_mut(|watch| {
            if conflict.is_some() || trail.is_true(watch.other) {
                return true;
            }
            let Clause { start, len, .. } = self.clauses[watch.clause as usize];
            let literals = &mut self.literals[start as usize..][..len as usize];
            if literals[0] == literal {
                literals.swap(0, 1);
            }
            let other = literals[0];
            watch.other = other;
            if trail.is_true(other) {
                return true;
            }
            if let Some(place) = (2..literals.len()).find(|&place| !trail.is_false(literals[place])) {
                literals.swap(1, place);
                self.watches[literals[1].index()].push(*watch);
                return false;
            }
            if trail.is_false(other) {
                conflict = Some(watch.clause);
            } else {
                trail.assign(other, Reason::Clause(watch.clause));
            }
            true
        });
        self.watches[literal.index()] = watches;
        conflict
    }

    /// Whether they need more memory than they may.
    pub(super) fn are_too_many(&self) -> bool {
        self.literals.len() > LITERALS_MAX
    }

    /// Forgets the half with the greatest distance, old ones first. What is a reason now stays.
    pub(super) fn forget(&mut self, trail: &mut Trail) {
        let lbd_kept = if self.are_too_many() { 0 } else { LBD_KEPT };
        let mut candidates: Vec<usize> =
            (0..self.clauses.len()).filter(|&clause| self.clauses[clause].lbd > lbd_kept).collect();
        candidates.sort_by_key(|&clause| (self.clauses[clause].lbd, usize::MAX - clause));
        let mut is_kept = vec![true; self.clauses.len()];
        for &clause in &candidates[candidates.len() / 2..] {
            is_kept[clause] = false;
        }
        for literal in trail.literals() {
            if let Reason::Clause(clause) = trail.reason_of(literal.variable()) {
                is_kept[clause as usize] = true;
            }
        }
        let mut names = vec![None; self.clauses.len()];
        let clauses = std::mem::take(&mut self.clauses);
        let literals = std::mem::take(&mut self.literals);
        for (old, clause) in clauses.iter().enumerate().filter(|&(old, _)| is_kept[old]) {
            names[old] = Some(self.clauses.len() as u32);
            self.clauses.push(Clause { start: self.literals.len() as u32, ..*clause });
            self.literals.extend_from_slice(&literals[clause.start as usize..][..clause.len as usize]);
        }
        for watches in &mut self.watches {
            watches.retain_mut(|watch| match names[watch.clause as usize] {
                Some(name) => {
                    watch.clause = name;
                    true
                }
                None => false,
            });
        }
        trail.rename_clauses(|clause| names[clause as usize].expect("reasons are kept"));
    }
}
