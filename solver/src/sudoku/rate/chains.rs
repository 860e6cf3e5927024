//! Single chains: weak and strong links in turn, that come back to where they began.
//!
//! ```text
//! cycle    a on -> b off -> c on -> d off -> a on    Every link also holds the other way round, so either all of its
//!                                                    on's are true or all of its off's: what sees one of each is false.
//! chain    a on -> b off -> c on -> .. -> a off      then a is false,
//!          a off -> b on -> c off -> .. -> a on      and then it is true.
//! ```
//!
//! All are looked for breadth first, so that the first way found to a candidate is a shortest one. What is chosen in the
//! end has the lowest rating, then the fewest nodes.

use crate::sudoku::CELLS;
use crate::sudoku::rate::links::{
    CANDIDATES, Candidate, Links, Set, are_weak, candidate, cell_of, digit_of, strong, weak,
};
use crate::sudoku::rate::pencil::Pencil;
use crate::sudoku::rate::technique::length_surcharge;
use crate::sudoku::rate::{Effort, Node, Step, Technique};
use crate::sudoku::units::{PEERS, bits};

/// Memory of the search.
pub(super) struct Chains {
    /// What each node on follows from, and each node off.
    parents: [[Candidate; CANDIDATES]; 2],
    /// Nodes to go on from, and those found from them.
    frontier: Vec<Candidate>,
    off: Vec<Candidate>,
    nodes: Vec<Node>,
}

/// Rating, nodes, and simplest links first: the lower the better.
type Key = (u8, usize, u8);

/// The best so far.
struct Best<'a> {
    key: Option<Key>,
    step: &'a mut Step,
}

impl Best<'_> {
    fn key_of(technique: Technique, nodes: usize, links: Links) -> Key {
        (technique.base() + length_surcharge(nodes), nodes, links as u8)
    }

    fn is_beaten_by(&self, technique: Technique, nodes: usize, links: Links) -> bool {
        self.key.is_none_or(|key| Self::key_of(technique, nodes, links) < key)
    }

    /// Makes it the best, and the step of that technique that has yet to say anything.
    fn begin(&mut self, technique: Technique, nodes: usize, links: Links) -> &mut Step {
        let key = Self::key_of(technique, nodes, links);
        self.key = Some(key);
        self.step.begin(technique);
        self.step.tenths = key.0;
        self.step
    }
}

impl Chains {
    pub(super) fn new() -> Self {
        Self {
            parents: [[0; CANDIDATES]; 2],
            frontier: Vec::with_capacity(CANDIDATES),
            off: Vec::with_capacity(CANDIDATES),
            nodes: Vec::new(),
        }
    }

    /// The cycle or chain of the lowest rating. `None` if the effort ended first.
    pub(super) fn find(&mut self, pencil: &Pencil, effort: &mut Effort<'_>, step: &mut Step) -> Option<bool> {
        let mut best = Best { key: None, step };
        for links in [Links::X, Links::Y, Links::Both] {
            for cell in 0..CELLS {
                let may_begin = links != Links::Y || pencil.cell(cell).count_ones() == 2;
                for digit in bits(pencil.cell(cell)).filter(|_| may_begin) {
                    effort.spend()?;
                    let start = candidate(cell, digit);
                    self.cycle(pencil, start, links, &mut best);
                    // A chain of cells alone would have to be of even and odd length at once.
                    if links != Links::Y {
                        self.chain(pencil, start, true, links, &mut best);
                        self.chain(pencil, start, false, links, &mut best);
                    }
                }
            }
        }
        Some(best.key.is_some())
    }

    /// Looks for a better cycle through `start`.
    fn cycle(&mut self, pencil: &Pencil, start: Candidate, links: Links, best: &mut Best<'_>) {
        let technique = match links {
            Links::X => Technique::XCycle,
            Links::Y => Technique::YCycle,
            Links::Both => Technique::XyCycle,
        };
        let mut ends = [None; 4];
        let mut count = 0;
        strong(pencil, start, links, |end, _| {
            ends[count] = Some(end);
            count += 1;
        });
        if count == 0 {
            return;
        }
        let mut seen = [Set::EMPTY, Set::EMPTY];
        seen[1].add(start);
        self.frontier.clear();
        self.frontier.push(start);
        // On's of a way to any of the frontier.
        let mut depth = 1;
        while !self.frontier.is_empty() && best.is_beaten_by(technique, 2 * depth + 2, links) {
            self.spread(pencil, links, &mut seen);
            depth += 1;
            for index in 0..self.frontier.len() {
                let last = self.frontier[index];
                for end in ends.into_iter().flatten().filter(|&end| are_weak(last, end, links)) {
                    if best.is_beaten_by(technique, 2 * depth, links) && self.trace(end, last, start) {
                        self.conclude_cycle(pencil, technique, links, best);
                    }
                }
            }
        }
    }

    /// Replaces the frontier (nodes on) by all that are on because of them and were not seen yet.
    fn spread(&mut self, pencil: &Pencil, links: Links, seen: &mut [Set; 2]) {
        let [off_parents, on_parents] = &mut self.parents;
        self.off.clear();
        for &from in &self.frontier {
            weak(pencil, from, links, &mut seen[0], |to| {
                off_parents[usize::from(to)] = from;
                self.off.push(to);
            });
        }
        self.frontier.clear();
        for &from in &self.off {
            strong(pencil, from, links, |to, _| {
                if seen[1].add(to) {
                    on_parents[usize::from(to)] = from;
                    self.frontier.push(to);
                }
            });
        }
    }

    /// Puts the nodes from `start` (on) over `last` (on) to `end` (off) into `nodes`; whether none comes twice.
    fn trace(&mut self, end: Candidate, last: Candidate, start: Candidate) -> bool {
        self.nodes.clear();
        self.nodes.push(node(end, false));
        let mut at = last;
        loop {
            self.nodes.push(node(at, true));
            if at == start {
                break;
            }
            let before = self.parents[1][usize::from(at)];
            if before == end {
                return false;
            }
            self.nodes.push(node(before, false));
            at = self.parents[0][usize::from(before)];
        }
        self.nodes.reverse();
        true
    }

    /// Takes the cycle in `nodes` if it concludes anything.
    fn conclude_cycle(&self, pencil: &Pencil, technique: Technique, links: Links, best: &mut Best<'_>) {
        let mut members = 0u128;
        let mut seen = [[0u128; 9]; 2];
        for node in &self.nodes {
            members |= 1 << node.cell;
            seen[usize::from(node.is_on)][usize::from(node.digit) - 1] |= PEERS[usize::from(node.cell)];
        }
        let gone: [u128; 9] =
            std::array::from_fn(|digit| seen[0][digit] & seen[1][digit] & pencil.places(digit) & !members);
        if gone.iter().all(|&places| places == 0) {
            return;
        }
        let step = best.begin(technique, self.nodes.len(), links);
        step.nodes.extend_from_slice(&self.nodes);
        for (digit, places) in gone.into_iter().enumerate() {
            step.remove_from(places, digit);
        }
    }

    /// Looks for a better chain from `start`, on or off, to its contrary.
    fn chain(&mut self, pencil: &Pencil, start: Candidate, is_on: bool, links: Links, best: &mut Best<'_>) {
        let technique = if links == Links::X { Technique::XChain } else { Technique::ForcingChain };
        let mut seen = [Set::EMPTY, Set::EMPTY];
        self.frontier.clear();
        // Nodes of a way to any of the frontier (which are on).
        let mut length = 1;
        if is_on {
            seen[1].add(start);
            self.frontier.push(start);
        } else {
            seen[0].add(start);
            length = 2;
            let parents = &mut self.parents[1];
            strong(pencil, start, links, |to, _| {
                if seen[1].add(to) {
                    parents[usize::from(to)] = start;
                    self.frontier.push(to);
                }
            });
        }
        loop {
            // From on, one more node leads to the contrary; from off, the frontier may hold it.
            let nodes = length + usize::from(is_on);
            if self.frontier.is_empty() || !best.is_beaten_by(technique, nodes, links) {
                return;
            }
            let last = if is_on {
                self.frontier.iter().copied().find(|&last| are_weak(last, start, links))
            } else {
                seen[1].has(start).then_some(start)
            };
            if let Some(last) = last {
                self.conclude_chain(start, is_on, last, best.begin(technique, nodes, links));
                return;
            }
            self.spread(pencil, links, &mut seen);
            length += 2;
        }
    }

    fn conclude_chain(&self, start: Candidate, is_on: bool, last: Candidate, step: &mut Step) {
        if is_on {
            step.nodes.push(node(start, false));
            step.remove(cell_of(start), 1 << digit_of(start));
        } else {
            step.place(cell_of(start), digit_of(start));
        }
        let mut at = (last, true);
        loop {
            step.nodes.push(node(at.0, at.1));
            if at == (start, is_on) {
                break;
            }
            at = (self.parents[usize::from(at.1)][usize::from(at.0)], !at.1);
        }
        step.nodes.reverse();
    }
}

pub(super) fn node(candidate: Candidate, is_on: bool) -> Node {
    Node { cell: cell_of(candidate) as u8, digit: digit_of(candidate) as u8 + 1, is_on }
}
