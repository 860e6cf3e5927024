//! Several chains at once: what follows from every candidate of a cell, from every place of a digit in a unit, or from a
//! candidate and its contrary alike, is true; and what leads to a contradiction is not.
//!
//! ```text
//!                  +--> .. --> x off        One tree for each assumption holds all that follows from it, breadth
//!   r1c1=3 on -----+--> b off --> c on      first. Where trees share a node, it is true; how hard that is to see is
//!                  +--> ..                  the sum of what each tree needs for it.
//!   r1c1=5 on --------> .. --> x off
//! ```
//!
//! A tree may be grown in four ways. *Static*: links of the board as it is. *Dynamic*: candidates that are off are struck
//! out, so that new strong links arise; then a node has several parents. *Nishio*: the same within one digit. *Plus*: where
//! all that ends, locked candidates, hidden and naked pairs and X-wings on what is left.

use crate::sudoku::CELLS;
use crate::sudoku::rate::chains::node;
use crate::sudoku::rate::links::{
    CANDIDATES, Candidate, Links, Set, candidate, cell_of, digit_of, strong, weak, weak_among,
};
use crate::sudoku::rate::pencil::Pencil;
use crate::sudoku::rate::plus;
use crate::sudoku::rate::technique::length_surcharge;
use crate::sudoku::rate::{Effort, Step, Technique};
use crate::sudoku::units::{UNITS, UNITS_OF, bits, is_single};

/// How trees are grown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Growth {
    Nishio,
    Static,
    Dynamic,
    Plus,
}

impl Growth {
    fn is_static(self) -> bool {
        self == Growth::Static
    }

    fn links(self) -> Links {
        if self == Growth::Nishio { Links::X } else { Links::Both }
    }
}

/// All that follows from one assumption, or what was found until a contradiction.
struct Tree {
    /// Candidates that are off, and on.
    nodes: [Set; 2],
    /// For each node (twice the candidate, plus one if on), where its parents are in `arena`, and how many.
    parents: Box<[(u32, u8); 2 * CANDIDATES]>,
    arena: Vec<u16>,
    /// The longest way from the assumption to each node, in nodes.
    depth: Box<[u16; 2 * CANDIDATES]>,
    /// How many nodes each node needs, itself included; 0 where that has not been counted.
    needs: Box<[u16; 2 * CANDIDATES]>,
    /// What the two contrary conclusions need together.
    contradiction: Option<usize>,
}

/// Memory of the search.
pub(super) struct Forcing {
    /// The trees of this board grown so far, and which candidate (on) each belongs to.
    trees: Vec<Tree>,
    grown: usize,
    tree_of: Box<[u16; CANDIDATES]>,
    /// The tree of a candidate that is off.
    contrary: Tree,
    growing: Growing,
}

const NOT_GROWN: u16 = u16::MAX;

/// What growing needs besides the tree.
struct Growing {
    board: Pencil,
    /// Nodes on and off whose consequences have not been drawn.
    pending: [Vec<Candidate>; 2],
    parents: Vec<u16>,
    causes: Vec<Candidate>,
    stack: Vec<u16>,
    visited: Box<[u64; (2 * CANDIDATES).div_ceil(64)]>,
}

/// A conclusion of several chains.
#[derive(Clone, Copy)]
struct Conclusion {
    nodes: usize,
    candidate: Candidate,
    is_on: bool,
    from: From,
}

/// What the chains begin with.
#[derive(Clone, Copy)]
enum From {
    /// The contrary of what is concluded.
    Contradiction,
    /// A candidate on and off.
    Both(Candidate),
    Cell(usize),
    Unit(usize, usize),
}

impl Forcing {
    pub(super) fn new() -> Self {
        Self {
            trees: Vec::new(),
            grown: 0,
            tree_of: Box::new([NOT_GROWN; CANDIDATES]),
            contrary: Tree::new(),
            growing: Growing {
                board: Pencil::blank(),
                pending: [Vec::new(), Vec::new()],
                parents: Vec::new(),
                causes: Vec::new(),
                stack: Vec::new(),
                visited: Box::new([0; (2 * CANDIDATES).div_ceil(64)]),
            },
        }
    }

    /// The conclusion of the lowest rating. `None` if the effort ended first.
    pub(super) fn find(
        &mut self,
        pencil: &Pencil,
        growth: Growth,
        effort: &mut Effort<'_>,
        step: &mut Step,
    ) -> Option<bool> {
        self.grown = 0;
        self.tree_of.fill(NOT_GROWN);
        let mut best = None;
        for cell in 0..CELLS {
            let count = pencil.cell(cell).count_ones();
            if count < 2 || growth.is_static() && count == 2 {
                continue;
            }
            for digit in bits(pencil.cell(cell)) {
                let start = candidate(cell, digit);
                self.tree(pencil, start, growth, effort)?;
                if !growth.is_static() {
                    self.both_ways(pencil, start, growth, effort, &mut best)?;
                }
                if growth != Growth::Nishio {
                    self.units(pencil, cell, digit, growth, effort, &mut best)?;
                }
            }
            if growth != Growth::Nishio {
                let starts: [Candidate; 9] = std::array::from_fn(|digit| candidate(cell, digit));
                self.share(&starts, pencil.cell(cell), From::Cell(cell), &mut best);
            }
        }
        let Some(best) = best else { return Some(false) };
        conclude(pencil, growth, best, step);
        Some(true)
    }

    /// Makes sure that the tree of a candidate that is on is grown.
    fn tree(
        &mut self,
        pencil: &Pencil,
        start: Candidate,
        growth: Growth,
        effort: &mut Effort<'_>,
    ) -> Option<()> {
        if self.tree_of[usize::from(start)] != NOT_GROWN {
            return Some(());
        }
        effort.spend()?;
        if self.grown == self.trees.len() {
            self.trees.push(Tree::new());
        }
        self.growing.grow(&mut self.trees[self.grown], pencil, start, true, growth);
        self.tree_of[usize::from(start)] = self.grown as u16;
        self.grown += 1;
        Some(())
    }

    /// Contradictions of a candidate and of its contrary, and what follows from both.
    fn both_ways(
        &mut self,
        pencil: &Pencil,
        start: Candidate,
        growth: Growth,
        effort: &mut Effort<'_>,
        best: &mut Option<Conclusion>,
    ) -> Option<()> {
        effort.spend()?;
        self.growing.grow(&mut self.contrary, pencil, start, false, growth);
        let tree = &mut self.trees[usize::from(self.tree_of[usize::from(start)])];
        for (is_on, contradiction) in [(false, tree.contradiction), (true, self.contrary.contradiction)] {
            if let Some(nodes) = contradiction.filter(|&nodes| is_better(nodes, best)) {
                *best = Some(Conclusion { nodes, candidate: start, is_on, from: From::Contradiction });
            }
        }
        if growth == Growth::Nishio || pencil.cell(cell_of(start)).count_ones() < 3 {
            return Some(());
        }
        for is_on in [true, false] {
            let mut shared = tree.nodes[usize::from(is_on)];
            shared.retain(&self.contrary.nodes[usize::from(is_on)]);
            for candidate in shared.iter() {
                let id = id(candidate, is_on);
                if !is_better(tree.depth(id) + self.contrary.depth(id), best) {
                    continue;
                }
                let nodes = self.growing.needs(tree, id) + self.growing.needs(&mut self.contrary, id);
                if is_better(nodes, best) {
                    *best = Some(Conclusion { nodes, candidate, is_on, from: From::Both(start) });
                }
            }
        }
        Some(())
    }

    /// The units of a cell in which it is the first place of the digit.
    fn units(
        &mut self,
        pencil: &Pencil,
        cell: usize,
        digit: usize,
        growth: Growth,
        effort: &mut Effort<'_>,
        best: &mut Option<Conclusion>,
    ) -> Option<()> {
        for unit in UNITS_OF[cell].map(usize::from) {
            let spots = pencil.spots(unit, digit);
            if is_single(spots) || usize::from(UNITS[unit][spots.trailing_zeros() as usize]) != cell {
                continue;
            }
            let starts = UNITS[unit].map(|cell| candidate(cell.into(), digit));
            for position in bits(spots) {
                self.tree(pencil, starts[position], growth, effort)?;
            }
            self.share(&starts, spots, From::Unit(unit, digit), best);
        }
        Some(())
    }

    /// What the trees of the chosen starts share.
    fn share(&mut self, starts: &[Candidate; 9], chosen: u16, from: From, best: &mut Option<Conclusion>) {
        let slots = starts.map(|start| usize::from(self.tree_of[usize::from(start)]));
        for is_on in [true, false] {
            let mut shared = self.trees[slots[chosen.trailing_zeros() as usize]].nodes[usize::from(is_on)];
            for index in bits(chosen & (chosen - 1)) {
                shared.retain(&self.trees[slots[index]].nodes[usize::from(is_on)]);
            }
            for candidate in shared.iter() {
                let id = id(candidate, is_on);
                let at_least: usize = bits(chosen).map(|index| self.trees[slots[index]].depth(id)).sum();
                if !is_better(at_least, best) {
                    continue;
                }
                let nodes =
                    bits(chosen).map(|index| self.growing.needs(&mut self.trees[slots[index]], id)).sum();
                if is_better(nodes, best) {
                    *best = Some(Conclusion { nodes, candidate, is_on, from });
                }
            }
        }
    }
}

fn is_better(nodes: usize, best: &Option<Conclusion>) -> bool {
    best.is_none_or(|best| nodes < best.nodes)
}

fn conclude(pencil: &Pencil, growth: Growth, conclusion: Conclusion, step: &mut Step) {
    step.begin(match (growth, conclusion.from) {
        (Growth::Nishio, _) => Technique::Nishio,
        (Growth::Static, From::Unit(..)) => Technique::RegionForcingChains,
        (Growth::Static, _) => Technique::CellForcingChains,
        (Growth::Dynamic, _) => Technique::DynamicForcingChains,
        (Growth::Plus, _) => Technique::DynamicForcingChainsPlus,
    });
    step.tenths += length_surcharge(conclusion.nodes);
    let (cell, digit) = (cell_of(conclusion.candidate), digit_of(conclusion.candidate));
    match conclusion.from {
        From::Contradiction => step.nodes.push(node(conclusion.candidate, !conclusion.is_on)),
        From::Both(start) => step.nodes.extend([node(start, true), node(start, false)]),
        From::Cell(start) => {
            step.nodes.extend(bits(pencil.cell(start)).map(|digit| node(candidate(start, digit), true)));
        }
        From::Unit(unit, digit) => {
            let cells = bits(pencil.spots(unit, digit)).map(|position| UNITS[unit][position]);
            step.nodes.extend(cells.map(|cell| node(candidate(cell.into(), digit), true)));
        }
    }
    if conclusion.is_on {
        step.place(cell, digit);
    } else {
        step.remove(cell, 1 << digit);
    }
}

fn id(candidate: Candidate, is_on: bool) -> u16 {
    2 * candidate + u16::from(is_on)
}

impl Tree {
    fn new() -> Self {
        Self {
            nodes: [Set::EMPTY; 2],
            parents: Box::new([(0, 0); 2 * CANDIDATES]),
            arena: Vec::new(),
            depth: Box::new([0; 2 * CANDIDATES]),
            needs: Box::new([0; 2 * CANDIDATES]),
            contradiction: None,
        }
    }

    fn depth(&self, id: u16) -> usize {
        self.depth[usize::from(id)].into()
    }

    fn parents(&self, id: u16) -> &[u16] {
        let (begin, count) = self.parents[usize::from(id)];
        &self.arena[begin as usize..][..count.into()]
    }

    /// Adds a node if it is new; whether it was.
    fn add(&mut self, candidate: Candidate, is_on: bool, parents: &[u16]) -> bool {
        if !self.nodes[usize::from(is_on)].add(candidate) {
            return false;
        }
        self.describe(id(candidate, is_on), parents);
        true
    }

    /// Says what a new node follows from.
    fn describe(&mut self, id: u16, parents: &[u16]) {
        let id = usize::from(id);
        self.parents[id] = (self.arena.len() as u32, parents.len() as u8);
        self.arena.extend_from_slice(parents);
        self.depth[id] = 1 + parents.iter().map(|&parent| self.depth[usize::from(parent)]).max().unwrap_or(0);
        self.needs[id] = match *parents {
            [] => 1,
            // Unknown, and so zero, if the parent's is.
            [parent] => self.needs[usize::from(parent)] + u16::from(self.needs[usize::from(parent)] > 0),
            _ => 0,
        };
    }
}

impl Growing {
    /// Grows the tree of one assumption to its end, or to its first contradiction.
    fn grow(&mut self, tree: &mut Tree, pencil: &Pencil, start: Candidate, is_on: bool, growth: Growth) {
        tree.nodes = [Set::EMPTY; 2];
        tree.arena.clear();
        tree.contradiction = None;
        tree.add(start, is_on, &[]);
        self.board.clone_from(pencil);
        for pending in &mut self.pending {
            pending.clear();
        }
        self.pending[usize::from(is_on)].push(start);
        // What is on comes first, so that off nodes are taken in the order of their distance.
        let mut next = [0; 2];
        loop {
            let contradiction = if let Some(&from) = self.pending[1].get(next[1]) {
                next[1] += 1;
                self.turn_off(tree, from, growth)
            } else if let Some(&from) = self.pending[0].get(next[0]) {
                next[0] += 1;
                self.turn_on(tree, pencil, from, growth)
            } else if growth == Growth::Plus && self.look_further(tree, pencil) {
                None
            } else {
                return;
            };
            if contradiction.is_some() {
                tree.contradiction = contradiction;
                return;
            }
        }
    }

    /// Draws the consequences of a node that is on; what a contradiction needs, if there is one.
    fn turn_off(&mut self, tree: &mut Tree, from: Candidate, growth: Growth) -> Option<usize> {
        let parent = id(from, true);
        if let Some(clash) = weak_among(&self.board, from, growth.links(), &tree.nodes[1]) {
            return Some(self.closure(tree, &[id(clash, true)]) + self.closure(tree, &[parent]) + 1);
        }
        let mut off = tree.nodes[0];
        weak(&self.board, from, growth.links(), &mut off, |to| {
            tree.describe(id(to, false), &[parent]);
            self.pending[0].push(to);
        });
        tree.nodes[0] = off;
        None
    }

    /// Draws the consequences of a node that is off.
    fn turn_on(
        &mut self,
        tree: &mut Tree,
        pencil: &Pencil,
        from: Candidate,
        growth: Growth,
    ) -> Option<usize> {
        let mut follows = [(0, None); 4];
        let mut count = 0;
        strong(&self.board, from, growth.links(), |to, unit| {
            follows[count] = (to, unit);
            count += 1;
        });
        for &(to, unit) in &follows[..count] {
            self.parents.clear();
            self.parents.push(id(from, false));
            if !growth.is_static() {
                // What was struck out before made the link.
                match unit {
                    None => {
                        let cell = cell_of(from);
                        let gone = pencil.cell(cell) & !self.board.cell(cell);
                        self.parents.extend(bits(gone).map(|digit| id(candidate(cell, digit), false)));
                    }
                    Some(unit) => {
                        let digit = digit_of(from);
                        let gone = pencil.spots(unit, digit) & !self.board.spots(unit, digit);
                        self.parents.extend(
                            bits(gone)
                                .map(|position| id(candidate(UNITS[unit][position].into(), digit), false)),
                        );
                    }
                }
            }
            if tree.nodes[0].has(to) {
                let parents = std::mem::take(&mut self.parents);
                let nodes = self.closure(tree, &[id(to, false)]) + self.closure(tree, &parents) + 1;
                self.parents = parents;
                return Some(nodes);
            }
            if tree.add(to, true, &self.parents) {
                self.pending[1].push(to);
            }
        }
        if !growth.is_static() {
            self.board.remove(cell_of(from), digit_of(from));
        }
        None
    }

    /// Strikes out what simple patterns on the rest of the board allow; whether there was anything.
    fn look_further(&mut self, tree: &mut Tree, pencil: &Pencil) -> bool {
        let pending = &mut self.pending[0];
        let before = pending.len();
        let parents = &mut self.parents;
        plus::find(pencil, &self.board, &mut self.causes, &mut |to, causes| {
            parents.clear();
            parents.extend(causes.iter().map(|&cause| id(cause, false)));
            if tree.add(to, false, parents) {
                pending.push(to);
            }
        });
        pending.len() > before
    }

    /// How many nodes a node needs, itself included.
    fn needs(&mut self, tree: &mut Tree, node: u16) -> usize {
        if tree.needs[usize::from(node)] == 0 {
            tree.needs[usize::from(node)] = self.closure(tree, &[node]) as u16;
        }
        tree.needs[usize::from(node)].into()
    }

    /// How many nodes these need together, themselves included.
    fn closure(&mut self, tree: &Tree, nodes: &[u16]) -> usize {
        self.visited.fill(0);
        self.stack.clear();
        self.stack.extend_from_slice(nodes);
        let mut count = 0;
        while let Some(node) = self.stack.pop() {
            let (word, bit) = (usize::from(node) / 64, 1 << (node % 64));
            if self.visited[word] & bit == 0 {
                self.visited[word] |= bit;
                count += 1;
                self.stack.extend_from_slice(tree.parents(node));
            }
        }
        count
    }
}
