//! From a conflict to a clause that would have prevented it.

use super::clauses::Clauses;
use super::groups::{Groups, Literal};
use super::trail::{Conflict, Reason, Trail};

/// What led to what: for each assigned literal, those that made it so.
#[derive(Clone, Copy)]
pub(super) struct Graph<'a> {
    pub(super) groups: &'a Groups,
    pub(super) trail: &'a Trail,
    pub(super) clauses: &'a Clauses,
}

/// The clause last learnt, and the memory to find the next.
pub(super) struct Analysis {
    /// The first literal follows at `level`; the second is one of those assigned last.
    pub(super) literals: Vec<Literal>,
    /// The lowest level at which the first literal follows.
    pub(super) level: usize,
    /// The number of different levels among the literals: their literal block distance.
    pub(super) lbd: u32,
    /// Variables that had part in the conflict.
    pub(super) involved: Vec<usize>,
    /// By variable; all blank between two conflicts.
    marks: Vec<Mark>,
    marked: Vec<usize>,
    /// By variable: the walk that met it last.
    walks: Vec<u64>,
    walk: u64,
    stack: Vec<usize>,
    visited: Vec<usize>,
    antecedents: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    None,
    /// In the clause, or resolved away.
    Clause,
    /// Follows from marked ones.
    Follows,
    /// Perhaps does not.
    Doubtful,
}

impl Graph<'_> {
    fn each_antecedent(&self, variable: usize, mut each: impl FnMut(usize)) {
        let mut others = |literals: &[Literal]| {
            literals
                .iter()
                .map(|literal| literal.variable())
                .filter(|&other| other != variable)
                .for_each(&mut each);
        };
        match self.trail.reason_of(variable) {
            Reason::None => {}
            Reason::Group(group) => others(self.groups.members(usize::from(group))),
            Reason::Literal(literal) => each(literal.variable()),
            Reason::Clause(clause) => others(self.clauses.literals(clause)),
        }
    }

    fn variables_of(&self, conflict: Conflict, into: &mut Vec<usize>) {
        let literals = match &conflict {
            Conflict::Group(group) => self.groups.members(*group),
            Conflict::Literals(literals) => literals,
            Conflict::Clause(clause) => self.clauses.literals(*clause),
        };
        into.extend(literals.iter().map(|literal| literal.variable()));
    }

    fn false_literal(&self, variable: usize) -> Literal {
        let literal = Literal::new(variable);
        if self.trail.is_false(literal) { literal } else { !literal }
    }
}

impl Analysis {
    pub(super) fn new(variables: usize) -> Self {
        Self {
            literals: Vec::new(),
            level: 0,
            lbd: 0,
            involved: Vec::new(),
            marks: vec![Mark::None; variables],
            marked: Vec::new(),
            walks: vec![0; variables],
            walk: 0,
            stack: Vec::new(),
            visited: Vec::new(),
            antecedents: Vec::new(),
        }
    }

    /// Learns from a conflict at a level above 0.
    ///
    /// Starting from the literals that conflict, the one assigned last is replaced by its antecedents until a single
    /// one of the topmost level is left (the first unique implication point; Marques-Silva and Sakallah, 1996). Then
    /// the same is tried with the literals of every other level, so that each level is left with one literal where
    /// that costs no new level (Fleury and Biere, 2021), and what follows from the rest is left out.
    pub(super) fn learn(&mut self, graph: Graph<'_>, conflict: Conflict) {
        self.literals.clear();
        self.literals.push(Literal::default());
        self.involved.clear();
        self.antecedents.clear();
        graph.variables_of(conflict, &mut self.antecedents);
        let top = graph.trail.level();
        let mut open = 0;
        for &literal in graph.trail.literals().iter().rev() {
            for index in 0..self.antecedents.len() {
                open += self.involve(graph, self.antecedents[index], top);
            }
            self.antecedents.clear();
            let variable = literal.variable();
            if self.marks[variable] != Mark::Clause || graph.trail.level_of(variable) != top {
                continue;
            }
            open -= 1;
            if open == 0 {
                self.literals[0] = !literal;
                break;
            }
            graph.each_antecedent(variable, |other| self.antecedents.push(other));
        }
        self.shrink(graph);
        for variable in self.marked.drain(..) {
            self.marks[variable] = Mark::None;
        }
        self.level = self.literals.get(1).map_or(0, |literal| graph.trail.level_of(literal.variable()));
    }

    /// Marks a variable; gives 1 if that opens one of the topmost level.
    fn involve(&mut self, graph: Graph<'_>, variable: usize, top: usize) -> u32 {
        let level = graph.trail.level_of(variable);
        if level == 0 || self.marks[variable] != Mark::None {
            return 0;
        }
        self.mark(variable, Mark::Clause);
        self.involved.push(variable);
        if level == top {
            return 1;
        }
        self.literals.push(graph.false_literal(variable));
        0
    }

    fn mark(&mut self, variable: usize, mark: Mark) {
        if self.marks[variable] == Mark::None {
            self.marked.push(variable);
        }
        self.marks[variable] = mark;
    }

    /// Makes the literals after the first few, level by level from the top; counts the levels.
    fn shrink(&mut self, graph: Graph<'_>) {
        let mut rest = self.literals.split_off(1);
        rest.sort_unstable_by_key(|literal| std::cmp::Reverse(graph.trail.position_of(literal.variable())));
        self.lbd = 1;
        for block in
            rest.chunk_by(|a, b| graph.trail.level_of(a.variable()) == graph.trail.level_of(b.variable()))
        {
            self.lbd += 1;
            if let Some(single) = self.single(graph, block) {
                self.mark(single.variable(), Mark::Clause);
                self.literals.push(single);
            } else {
                for &literal in block {
                    if !self.follows(graph, literal.variable()) {
                        self.literals.push(literal);
                    }
                }
            }
        }
    }

    /// One literal that can stand for all of a block, which is sorted, last assigned first.
    fn single(&mut self, graph: Graph<'_>, block: &[Literal]) -> Option<Literal> {
        let [last, _, ..] = block else { return None };
        let level = graph.trail.level_of(last.variable());
        self.walk += 1;
        let walk = self.walk;
        for literal in block {
            self.walks[literal.variable()] = walk;
        }
        let mut open = block.len();
        for &literal in graph.trail.literals()[..=graph.trail.position_of(last.variable())].iter().rev() {
            let variable = literal.variable();
            if self.walks[variable] != walk {
                continue;
            }
            open -= 1;
            if open == 0 {
                return Some(!literal);
            }
            self.antecedents.clear();
            graph.each_antecedent(variable, |other| self.antecedents.push(other));
            for index in 0..self.antecedents.len() {
                let other = self.antecedents[index];
                let own = graph.trail.level_of(other);
                if own == level {
                    open += usize::from(self.walks[other] != walk);
                    self.walks[other] = walk;
                } else if own > 0 && !self.is_implied(graph, other) {
                    return None;
                }
            }
        }
        None
    }

    fn is_implied(&mut self, graph: Graph<'_>, variable: usize) -> bool {
        match self.marks[variable] {
            Mark::Clause | Mark::Follows => true,
            Mark::Doubtful => false,
            Mark::None => {
                let follows = self.follows(graph, variable);
                self.mark(variable, if follows { Mark::Follows } else { Mark::Doubtful });
                follows
            }
        }
    }

    /// Whether all that made a variable what it is leads back to marked ones (Sorensson and Biere, 2009).
    fn follows(&mut self, graph: Graph<'_>, variable: usize) -> bool {
        self.stack.clear();
        self.visited.clear();
        self.stack.push(variable);
        let mut follows = true;
        while let Some(variable) = self.stack.pop() {
            self.visited.push(variable);
            follows &= graph.trail.reason_of(variable) != Reason::None;
            let (marks, stack, marked) = (&mut self.marks, &mut self.stack, &mut self.marked);
            graph.each_antecedent(variable, |other| {
                if graph.trail.level_of(other) > 0 {
                    match marks[other] {
                        Mark::Clause | Mark::Follows => {}
                        Mark::Doubtful => follows = false,
                        Mark::None => {
                            // For now: it stands or falls with the whole walk.
                            marks[other] = Mark::Follows;
                            marked.push(other);
                            stack.push(other);
                        }
                    }
                }
            });
            if !follows {
                for &met in self.visited.iter().chain(&self.stack) {
                    if self.marks[met] == Mark::Follows {
                        self.marks[met] = Mark::Doubtful;
                    }
                }
                return false;
            }
        }
        true
    }
}
