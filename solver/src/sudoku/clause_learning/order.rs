//! Which literal to decide on.
//!
//! Two rules, for the caller to choose from. *By cell*: the cell with fewest options left, where a conflict some time ago counts like fewer
//! options (weighted degree; Boussemart et al., 2004); it finds solutions of sparse boards. *By activity*: the variable
//! that had part in most of the latest conflicts (VSIDS; Moskewicz et al., "Chaff", 2001); it proves hard boards unique.
//! Either way the literal is decided to be true: that assigns far more than the opposite.

use super::groups::{Groups, Literal};
use super::trail::Trail;

/// What a conflict counts, compared to the one after it.
const DECAY: f64 = 0.95;

/// Activities are scaled down before they leave the range of numbers.
const ACTIVITY_MAX: f64 = 1e100;

pub(super) struct Order {
    /// What one part in the next conflict counts.
    weight: f64,
    /// By variable.
    activities: Vec<f64>,
    /// By cell: the sum over its options.
    cell_activities: Vec<f64>,
    /// Variables, a binary heap by activity; has at least all unassigned ones.
    heap: Vec<u16>,
    /// By variable: its place in the heap, or [`ABSENT`].
    places: Vec<u16>,
}

const ABSENT: u16 = u16::MAX;

impl Order {
    pub(super) fn new(groups: &Groups) -> Self {
        Self {
            weight: 1.0,
            activities: vec![0.0; groups.variables()],
            cell_activities: vec![0.0; groups.cells()],
            heap: Vec::with_capacity(groups.variables()),
            places: vec![ABSENT; groups.variables()],
        }
    }

    pub(super) fn clear(&mut self) {
        self.weight = 1.0;
        self.activities.fill(0.0);
        self.cell_activities.fill(0.0);
        self.heap.clear();
        self.heap.extend(0..self.places.len() as u16);
        for (variable, place) in self.places.iter_mut().enumerate() {
            *place = variable as u16;
        }
    }

    /// A conflict that these variables had part in.
    pub(super) fn conflict(&mut self, groups: &Groups, involved: &[usize]) {
        for &variable in involved {
            self.activities[variable] += self.weight;
            if self.places[variable] != ABSENT {
                self.rise(usize::from(self.places[variable]));
            }
            if let Some((cell, _)) = groups.option(variable) {
                self.cell_activities[cell] += self.weight;
            }
        }
        self.weight /= DECAY;
        if self.weight > ACTIVITY_MAX {
            for activity in self.activities.iter_mut().chain(&mut self.cell_activities) {
                *activity /= ACTIVITY_MAX;
            }
            self.weight /= ACTIVITY_MAX;
        }
    }

    /// A variable became unassigned.
    pub(super) fn unassigned(&mut self, variable: usize) {
        if self.places[variable] == ABSENT {
            self.heap.push(variable as u16);
            self.rise(self.heap.len() - 1);
        }
    }

    /// An option of the best cell; `None` if all cells are assigned.
    pub(super) fn by_cell(&self, groups: &Groups, trail: &Trail) -> Option<Literal> {
        // The score is the cell's activity by the cube of its size; assigned cells have none.
        let shares: [f64; 32] =
            std::array::from_fn(|size| if size < 2 { 0.0 } else { (size as f64).powi(-3) });
        let (mut best, mut best_score) = (None, 0.0);
        for (cell, (&size, activity)) in trail.sizes().iter().zip(&self.cell_activities).enumerate() {
            let score = (self.weight + activity) * shares[usize::from(size % 32)];
            if score > best_score {
                (best, best_score) = (Some(cell), score);
            }
        }
        let activity = |literal: &Literal| self.activities[literal.variable()];
        // The first of the best.
        trail.unassigned_members(groups, best?).reduce(|a, b| if activity(&b) > activity(&a) { b } else { a })
    }

    /// The most active unassigned variable; `None` if there is none.
    pub(super) fn by_activity(&mut self, trail: &Trail) -> Option<Literal> {
        loop {
            let literal = Literal::new(self.pop()?);
            if trail.is_unassigned(literal) {
                return Some(literal);
            }
        }
    }

    fn pop(&mut self) -> Option<usize> {
        let first = *self.heap.first()?;
        self.places[usize::from(first)] = ABSENT;
        let last = self.heap.pop()?;
        if let Some(root) = self.heap.first_mut() {
            *root = last;
            self.sink();
        }
        Some(usize::from(first))
    }

    /// Moves an entry up to where it belongs.
    fn rise(&mut self, mut place: usize) {
        let variable = self.heap[place];
        while place > 0 {
            let parent = self.heap[(place - 1) / 2];
            if self.activity(parent) >= self.activity(variable) {
                break;
            }
            self.put(place, parent);
            place = (place - 1) / 2;
        }
        self.put(place, variable);
    }

    /// Moves the root down to where it belongs.
    fn sink(&mut self) {
        let variable = self.heap[0];
        let mut place = 0;
        loop {
            let children = (2 * place + 1..self.heap.len()).take(2);
            let best = children
                .reduce(|a, b| if self.activity(self.heap[b]) > self.activity(self.heap[a]) { b } else { a });
            let Some(child) = best.filter(|&child| self.activity(self.heap[child]) > self.activity(variable))
            else {
                break;
            };
            self.put(place, self.heap[child]);
            place = child;
        }
        self.put(place, variable);
    }

    fn put(&mut self, place: usize, variable: u16) {
        self.heap[place] = variable;
        self.places[usize::from(variable)] = place as u16;
    }

    fn activity(&self, variable: u16) -> f64 {
        self.activities[usize::from(variable)]
    }
}
