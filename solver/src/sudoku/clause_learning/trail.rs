//! What is assigned so far, in which order and why; and what follows from the groups.

use super::groups::{Groups, Literal};

/// Why a literal is true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reason {
    /// Given, or decided.
    None,
    /// All other members of the group are false.
    Group(u16),
    /// This literal is true, and shares a group with the opposite.
    Literal(Literal),
    /// All other literals of the learnt clause are false.
    Clause(u32),
}

/// What cannot be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Conflict {
    /// All members are false.
    Group(usize),
    /// Both are true and share a group.
    Literals([Literal; 2]),
    /// All literals of the learnt clause are false.
    Clause(u32),
}

/// One level for each decision; level 0 holds what follows from the givens.
pub(super) struct Trail {
    /// By literal: whether it is true, or false, or unassigned (neither).
    values: Vec<Value>,
    /// By variable, if assigned.
    levels: Vec<u32>,
    positions: Vec<u32>,
    reasons: Vec<Reason>,
    /// True literals in the order in which they became so.
    literals: Vec<Literal>,
    /// Where each level above 0 begins, with its decision.
    starts: Vec<u32>,
    /// How many of `literals` the groups know of.
    applied: usize,
    /// By group: the members not known to be false, as bits by their place, and how many these are.
    masks: Vec<u32>,
    sizes: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    Unassigned,
    True,
    False,
}

impl Trail {
    pub(super) fn new(groups: &Groups) -> Self {
        let variables = groups.variables();
        Self {
            values: vec![Value::Unassigned; 2 * variables],
            levels: vec![0; variables],
            positions: vec![0; variables],
            reasons: vec![Reason::None; variables],
            literals: Vec::with_capacity(variables),
            starts: Vec::new(),
            applied: 0,
            masks: vec![0; groups.len()],
            sizes: vec![0; groups.len()],
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self, groups: &Groups) {
        self.values.fill(Value::Unassigned);
        self.literals.clear();
        self.starts.clear();
        self.applied = 0;
        for (group, (mask, size)) in self.masks.iter_mut().zip(&mut self.sizes).enumerate() {
            *size = groups.members(group).len() as u8;
            *mask = (1 << *size) - 1;
        }
    }

    pub(super) fn is_true(&self, literal: Literal) -> bool {
        self.values[literal.index()] == Value::True
    }

    pub(super) fn is_false(&self, literal: Literal) -> bool {
        self.values[literal.index()] == Value::False
    }

    pub(super) fn is_unassigned(&self, literal: Literal) -> bool {
        self.values[literal.index()] == Value::Unassigned
    }

    pub(super) fn level(&self) -> usize {
        self.starts.len()
    }

    pub(super) fn level_of(&self, variable: usize) -> usize {
        self.levels[variable] as usize
    }

    pub(super) fn position_of(&self, variable: usize) -> usize {
        self.positions[variable] as usize
    }

    pub(super) fn reason_of(&self, variable: usize) -> Reason {
        self.reasons[variable]
    }

    pub(super) fn literals(&self) -> &[Literal] {
        &self.literals
    }

    /// The decision that began the topmost level.
    pub(super) fn decision(&self) -> Option<Literal> {
        self.starts.last().map(|&start| self.literals[start as usize])
    }

    /// How many members of each group are not false.
    pub(super) fn sizes(&self) -> &[u8] {
        &self.sizes
    }

    pub(super) fn unassigned_members<'a>(
        &self,
        groups: &'a Groups,
        group: usize,
    ) -> impl Iterator<Item = Literal> + use<'a> {
        bits(self.masks[group]).map(move |place| groups.member(group, place))
    }

    /// Renames the clauses in reasons.
    pub(super) fn rename_clauses(&mut self, name: impl Fn(u32) -> u32) {
        for literal in &self.literals {
            if let Reason::Clause(clause) = &mut self.reasons[literal.variable()] {
                *clause = name(*clause);
            }
        }
    }

    /// Opens a level with this literal.
    pub(super) fn decide(&mut self, literal: Literal) {
        self.starts.push(self.literals.len() as u32);
        self.assign(literal, Reason::None);
    }

    /// Makes an unassigned literal true.
    pub(super) fn assign(&mut self, literal: Literal, reason: Reason) {
        debug_assert!(self.is_unassigned(literal));
        let variable = literal.variable();
        self.values[literal.index()] = Value::True;
        self.values[(!literal).index()] = Value::False;
        self.levels[variable] = self.starts.len() as u32;
        self.positions[variable] = self.literals.len() as u32;
        self.reasons[variable] = reason;
        self.literals.push(literal);
    }

    /// Assigns all that follows from the groups.
    pub(super) fn apply(&mut self, groups: &Groups) -> Option<Conflict> {
        while let Some(&literal) = self.literals.get(self.applied) {
            self.applied += 1;
            let mut conflict = None;
            // It is the one of its groups: the others are not.
            for (group, bit) in groups.occurrences(literal) {
                for place in bits(self.masks[group] & !bit) {
                    let other = groups.member(group, place);
                    match self.values[other.index()] {
                        Value::Unassigned => self.assign(!other, Reason::Literal(literal)),
                        Value::True => conflict = Some(Conflict::Literals([literal, other])),
                        // It is on its way.
                        Value::False => {}
                    }
                }
            }
            // Its opposite is not the one of its groups. All of them are told, also after a conflict: backtracking
            // tells all of them back.
            for (group, bit) in groups.occurrences(!literal) {
                self.masks[group] &= !bit;
                self.sizes[group] -= 1;
                match self.sizes[group] {
                    0 => conflict = Some(Conflict::Group(group)),
                    1 => {
                        let last = groups.member(group, self.masks[group].trailing_zeros());
                        if self.is_unassigned(last) {
                            self.assign(last, Reason::Group(group as u16));
                        }
                    }
                    _ => {}
                }
            }
            if conflict.is_some() {
                return conflict;
            }
        }
        None
    }

    /// Takes back all levels above this one; tells which literals it leaves unassigned.
    pub(super) fn backtrack(&mut self, groups: &Groups, level: usize, mut tell: impl FnMut(Literal)) {
        let Some(&start) = self.starts.get(level) else { return };
        let start = start as usize;
        for (position, &literal) in self.literals.iter().enumerate().skip(start).rev() {
            self.values[literal.index()] = Value::Unassigned;
            self.values[(!literal).index()] = Value::Unassigned;
            if position < self.applied {
                for (group, bit) in groups.occurrences(!literal) {
                    self.masks[group] |= bit;
                    self.sizes[group] += 1;
                }
            }
            tell(literal);
        }
        self.literals.truncate(start);
        self.applied = self.applied.min(start);
        self.starts.truncate(level);
    }
}

/// The places of the bits that are set, lowest first.
fn bits(mut mask: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let place = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (place < u32::BITS).then_some(place)
    })
}
