//! The search for the minimal form. Takes boards without clashes; knows nothing of texts.
//!
//! # The idea
//!
//! Write the form from left to right, three cells (one row of one box) at a time, and keep every way to have written
//! what is written so far; drop those that would make the next three cells larger than another can.
//!
//! ```text
//! form  . . . | . . . | . . 1        27 steps of three cells
//!       . . . | . . 2 | ? ? ?  <---  each state tries every way to fill the next three, the smallest stay
//!
//! state   rows      which row of the board stands in each row written
//!         columns   what is known of their order: as little as what is written tells
//!         labels    what each digit that was written is called
//!
//! the last states, all with the same text, are the morphs that lead to the form
//! ```
//!
//! # The tricks
//!
//! 1. Nothing is decided before it shows. Columns (and whole stacks) that look the same so far stay a group without
//!    order, and split when a row tells them apart: blanks before digits, known labels in order, and digits that had
//!    no label yet last. Only among new digits there is a choice, as whichever comes first gets the smaller label;
//!    each choice is a state.
//! 2. A blank row is like any other blank row of its band, and a blank band like another: only the first is tried.
//!    With that, no board has more than some thousands of states; the empty one has two.
//! 3. A complete grid has no such luck with its first row, which reads 123456789 in 23,328 ways. But its first three
//!    rows are the smallest of its bands, and `band.rs` tells by table which that is and by a hundred steps how to
//!    write it.
//!
//! Row-wise minimal forms, and the look at bands first, are old: gsf and Lummox JR described them in the sudoku
//! programmers' forum in 2009.

use super::band::{self, ORDERS};
use crate::engine::Budget;
use crate::sudoku::{Board, CELLS, End};

/// What a search gives: the form, one way to it, and how many there are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) form: [u8; CELLS],
    pub(super) transposed: bool,
    /// The row of the board (after transposing) at each place of the form.
    pub(super) rows: [u8; 9],
    /// The column of the board (after transposing) at each place of the form.
    pub(super) columns: [u8; 9],
    /// What each digit 1-9 becomes, 0 for those the board lacks.
    pub(super) labels: [u8; 9],
    pub(super) automorphisms: u64,
}

/// The scratch memory of a search.
#[derive(Default)]
pub(super) struct Search {
    states: Vec<State>,
    /// The states one step on.
    next_states: Vec<State>,
    band_morphs: Vec<band::BandMorph>,
}

/// Steps of three cells.
const STEPS: usize = 27;

/// In place of the label of a digit that has none yet: more than any label.
const NEW: u8 = 15;

/// One way to write what is written.
#[derive(Clone, Copy)]
struct State {
    /// By digit: its label, or [`NEW`]. 0, the blank, is 0.
    labels: [u8; 10],
    /// 0 for the board, 1 for the board transposed.
    view: u8,
    /// The row at each place written.
    rows: [u8; 9],
    /// The rows not written, as bits.
    free_rows: u16,
    /// The stacks in order, as far as it is known.
    stacks: Groups,
    /// The columns (0-8) of each stack in order, as far as it is known.
    columns: [Groups; 3],
}

/// Three things in order, where neighbours may be a group whose order is not known.
#[derive(Clone, Copy)]
struct Groups {
    order: [u8; 3],
    /// Bit `i` tells that a group begins at place `i`. Bit 0 is always set.
    begins: u8,
}

impl Groups {
    fn unknown(order: [u8; 3]) -> Self {
        Self { order, begins: 0b001 }
    }

    fn known(order: [u8; 3]) -> Self {
        Self { order, begins: 0b111 }
    }

    fn begins(&self, place: usize) -> bool {
        self.begins >> place & 1 == 1
    }

    /// Whether two places are in one group.
    fn joined(&self, low: usize, high: usize) -> bool {
        (low + 1..=high).all(|place| !self.begins(place))
    }

    /// Where the group ends whose members may stand at `place`: those of a group that began before have shown that
    /// they read the same in this row, and any of them will do.
    fn end(&self, place: usize) -> usize {
        let mut end = place + 1;
        while self.begins(place) && end < 3 && !self.begins(end) {
            end += 1;
        }
        end
    }

    /// Puts those of the places up to `end` whose bits are in `front` before the others, as a group of their own.
    fn bring_forward(&mut self, front: u8, place: usize, end: usize) {
        let before = self.order;
        let is_front = |index: &usize| front >> index & 1 == 1;
        let sorted = (place..end).filter(is_front).chain((place..end).filter(|index| !is_front(index)));
        for (to, from) in (place..).zip(sorted) {
            self.order[to] = before[from];
        }
        let next = place + front.count_ones() as usize;
        if next < end {
            self.begins |= 1 << next;
        }
    }
}

/// The board, or the board transposed.
struct View {
    rows: [[u8; 9]; 9],
    /// The blank rows, as bits.
    blank_rows: u16,
}

impl View {
    fn new(cell: impl Fn(usize, usize) -> u8) -> Self {
        let rows: [[u8; 9]; 9] = std::array::from_fn(|row| std::array::from_fn(|column| cell(row, column)));
        let blank_rows = (0..9).filter(|&row| rows[row] == [0; 9]).map(|row| 1 << row).sum();
        Self { rows, blank_rows }
    }

    fn of_board(cells: &[u8; CELLS]) -> [View; 2] {
        [View::new(|row, column| cells[row * 9 + column]), View::new(|row, column| cells[column * 9 + row])]
    }

    fn band(&self, band: usize) -> [u8; 27] {
        std::array::from_fn(|cell| self.rows[band * 3 + cell / 9][cell % 9])
    }

    /// The rows to try at a place, as bits: those that are free, in the band begun if one is, less blank rows and
    /// blank bands that are like another.
    fn candidates(&self, state: &State, place: usize) -> u16 {
        let mut allowed = state.free_rows;
        if !place.is_multiple_of(3) {
            allowed &= band_rows(usize::from(state.rows[place - 1]) / 3);
        }
        let (mut candidates, mut seen_blank_band) = (0, false);
        for band in 0..3 {
            let rows = allowed & band_rows(band);
            let blank = rows & self.blank_rows;
            if blank != band_rows(band) || !std::mem::replace(&mut seen_blank_band, true) {
                candidates |= rows & !blank | blank & blank.wrapping_neg();
            }
        }
        candidates
    }

    /// In how many ways blank rows can change places, and blank bands.
    fn blank_orders(&self) -> u64 {
        const FACTORIAL: [u64; 4] = [1, 1, 2, 6];
        let blank = [0, 1, 2].map(|band| (self.blank_rows & band_rows(band)).count_ones() as usize);
        let blank_bands = blank.iter().filter(|&&rows| rows == 3).count();
        FACTORIAL[blank_bands] * blank.map(|rows| FACTORIAL[rows]).iter().product::<u64>()
    }
}

/// The rows of a band, as bits.
fn band_rows(band: usize) -> u16 {
    0b111 << (3 * band)
}

impl Search {
    /// Finds the form of a board without clashes.
    ///
    /// # Errors
    ///
    /// Why it stopped before. A node is a state to go on from.
    pub(super) fn run(&mut self, board: &Board, budget: &Budget<'_>) -> Result<Found, End> {
        let views = View::of_board(board.cells());
        let mut text = Text { cells: [0; CELLS], steps: 0, labels: 0 };
        self.states.clear();
        if board.cells().contains(&0) {
            self.begin(&views);
        } else {
            self.begin_with_bands(&views, &mut text);
        }
        let mut nodes = 0;
        while text.steps < STEPS {
            nodes += self.states.len() as u64;
            if nodes > budget.nodes_max() {
                return Err(End::OutOfNodes);
            }
            if budget.stopped() {
                return Err(End::Cancelled);
            }
            self.step(&views, &mut text);
        }
        Ok(self.found(&text))
    }

    /// Nothing written, in both views.
    fn begin(&mut self, views: &[View; 2]) {
        let mut labels = [NEW; 10];
        labels[0] = 0;
        let columns = [0, 3, 6].map(|first| Groups::unknown([first, first + 1, first + 2]));
        for view in 0..views.len() as u8 {
            let stacks = Groups::unknown([0, 1, 2]);
            self.states.push(State { labels, view, rows: [0; 9], free_rows: 0o777, stacks, columns });
        }
    }

    /// The first three rows of a complete grid, in every way there is.
    fn begin_with_bands(&mut self, views: &[View; 2], text: &mut Text) {
        let bands: [[u8; 27]; 6] = std::array::from_fn(|index| views[index / 3].band(index % 3));
        let classes = bands.map(|band| band::band_class(&band));
        let smallest = classes.iter().min();
        for (index, band) in bands.iter().enumerate().filter(|&(index, _)| Some(&classes[index]) == smallest)
        {
            let form = band::minimal_form(band, &mut self.band_morphs);
            text.write_band(form);
            for morph in &self.band_morphs {
                self.states.push(State::after_band(band, index, morph));
            }
        }
    }

    /// Writes the next three cells.
    fn step(&mut self, views: &[View; 2], text: &mut Text) {
        let (row_place, place) = (text.steps / 3, text.steps % 3);
        let label = text.labels + 1;
        let mut next = Next { cells: u16::MAX, states: &mut self.next_states, row_place, place, label };
        next.states.clear();
        for state in &self.states {
            let view = &views[usize::from(state.view)];
            if place > 0 {
                let row = state.rows[row_place];
                next.offer(state, row, &view.rows[usize::from(row)]);
                continue;
            }
            let mut candidates = view.candidates(state, row_place);
            while candidates != 0 {
                let row = candidates.trailing_zeros() as u8;
                candidates &= candidates - 1;
                next.offer(state, row, &view.rows[usize::from(row)]);
            }
        }
        text.write(next.cells);
        std::mem::swap(&mut self.states, &mut self.next_states);
    }

    fn found(&self, text: &Text) -> Found {
        let state = &self.states[0];
        let mut columns = [0; 9];
        for (place, &stack) in state.stacks.order.iter().enumerate() {
            columns[place * 3..][..3].copy_from_slice(&state.columns[usize::from(stack)].order);
        }
        // What the states do not tell apart: blank lines, as many in the form as in the board.
        let blank_orders: u64 = View::of_board(&text.cells).iter().map(View::blank_orders).product();
        Found {
            form: text.cells,
            transposed: state.view == 1,
            rows: state.rows,
            columns,
            labels: std::array::from_fn(|digit| state.labels[digit + 1] % NEW),
            automorphisms: self.states.len() as u64 * blank_orders,
        }
    }
}

impl State {
    /// The state that wrote a complete band: `index` is its view and its place there.
    fn after_band(band: &[u8; 27], index: usize, morph: &band::BandMorph) -> Self {
        let first = (index % 3 * 3) as u8;
        let mut state = State {
            labels: [0; 10],
            view: (index / 3) as u8,
            rows: [0; 9],
            free_rows: 0o777 & !band_rows(index % 3),
            stacks: Groups::known([0, 3, 6].map(|place| (morph.columns[place] / 3) as u8)),
            columns: [Groups::known([0; 3]); 3],
        };
        for (place, &row) in morph.rows.iter().enumerate() {
            state.rows[place] = first + row as u8;
        }
        for (place, &column) in morph.columns.iter().enumerate() {
            state.columns[column / 3].order[place % 3] = column as u8;
            state.labels[usize::from(band[morph.rows[0] * 9 + column])] = place as u8 + 1;
        }
        state
    }
}

/// What is written of the form.
struct Text {
    cells: [u8; CELLS],
    /// Threes of cells written.
    steps: usize,
    /// Labels given.
    labels: u8,
}

impl Text {
    /// Writes three cells, each in four bits; new ones get their labels.
    fn write(&mut self, cells: u16) {
        for (place, shift) in [8, 4, 0].into_iter().enumerate() {
            let mut label = (cells >> shift) as u8 & 15;
            if label == NEW {
                self.labels += 1;
                label = self.labels;
            }
            self.cells[self.steps * 3 + place] = label;
        }
        self.steps += 1;
    }

    /// Writes the first three rows of a complete grid.
    fn write_band(&mut self, form: band::BandForm) {
        for column in 0..9 {
            self.cells[column] = column as u8 + 1;
            for (row, digits) in (1..).zip(form) {
                self.cells[row * 9 + column] = (digits >> (4 * (8 - column)) & 15) as u8 + 1;
            }
        }
        (self.steps, self.labels) = (9, 9);
    }
}

/// The smallest next three cells found yet, and the states that write them.
struct Next<'a> {
    /// Four bits a cell.
    cells: u16,
    states: &'a mut Vec<State>,
    /// The row being written, and which three cells of it.
    row_place: usize,
    place: usize,
    /// What a digit without label would be called.
    label: u8,
}

impl Next<'_> {
    /// Goes on from a state by a row of its view, in every way that is no worse than what was found.
    fn offer(&mut self, state: &State, row: u8, cells: &[u8; 9]) {
        let end = state.stacks.end(self.place);
        let mut parts = [Part { keys: [u8::MAX; 3] }; 3];
        let mut smallest = u16::MAX;
        for (part, &stack) in parts.iter_mut().zip(&state.stacks.order).take(end).skip(self.place) {
            *part = Part::read(state, stack, cells);
            smallest = smallest.min(part.cells());
        }
        if smallest > self.cells {
            return;
        }
        if smallest < self.cells {
            self.cells = smallest;
            self.states.clear();
        }
        // Stacks that read the same stay together, unless they give out labels: then one of them is first.
        let mut smallest = (self.place..end).filter(|&index| parts[index].cells() == smallest);
        while let Some(first) = smallest.next() {
            let part = &parts[first];
            let mut front = 1 << first;
            if part.new_digits() == 0 {
                front |= smallest.by_ref().map(|index| 1 << index).sum::<u8>();
            }
            self.push(state, row, cells, front, end, part);
        }
    }

    /// Pushes the state with the stacks `front` next, the columns of the first of them in the order of `part` and in
    /// every other order of its new digits.
    fn push(&mut self, before: &State, row: u8, cells: &[u8; 9], front: u8, end: usize, part: &Part) {
        let stack = usize::from(before.stacks.order[front.trailing_zeros() as usize]);
        let orders = if part.new_digits() < 2 { &ORDERS[..1] } else { &ORDERS[..] };
        for order in orders.iter().filter(|order| part.allows(order, &before.columns[stack])) {
            // Copied first and changed in place: a copy of what was just written in bytes would wait for the bytes.
            self.states.push(*before);
            let Some(state) = self.states.last_mut() else { return };
            state.rows[self.row_place] = row;
            state.free_rows &= !(1 << row);
            state.stacks.bring_forward(front, self.place, end);
            let columns = &mut state.columns[stack];
            columns.begins |= part.begins();
            let mut label = self.label;
            for (to, &from) in columns.order.iter_mut().zip(order) {
                *to = part.column(from);
                if part.label(from) == NEW {
                    state.labels[usize::from(cells[usize::from(*to)])] = label;
                    label += 1;
                }
            }
        }
    }
}

/// Three cells of a row in one stack, sorted as far as the order of its columns is open: label in the high four bits,
/// column in the low.
#[derive(Clone, Copy)]
struct Part {
    keys: [u8; 3],
}

impl Part {
    fn read(state: &State, stack: u8, cells: &[u8; 9]) -> Self {
        let columns = &state.columns[usize::from(stack)];
        let mut keys =
            columns.order.map(|column| state.labels[usize::from(cells[usize::from(column)])] << 4 | column);
        let mut sort = |low: usize, high: usize| {
            if !columns.begins(high) && keys[low] > keys[high] {
                keys.swap(low, high);
            }
        };
        sort(0, 1);
        sort(1, 2);
        sort(0, 1);
        Part { keys }
    }

    /// The labels, four bits each.
    fn cells(&self) -> u16 {
        let [a, b, c] = self.keys.map(|key| u16::from(key >> 4));
        a << 8 | b << 4 | c
    }

    fn label(&self, index: usize) -> u8 {
        self.keys[index] >> 4
    }

    fn column(&self, index: usize) -> u8 {
        self.keys[index] & 15
    }

    fn new_digits(&self) -> usize {
        self.keys.iter().filter(|&&key| key >> 4 == NEW).count()
    }

    /// The places where a group of columns begins, as bits, by what is read here.
    fn begins(&self) -> u8 {
        let begins = |index: usize| self.label(index) != self.label(index - 1) || self.label(index) == NEW;
        u8::from(begins(1)) << 1 | u8::from(begins(2)) << 2
    }

    /// Whether an order moves new digits only, and within groups.
    fn allows(&self, order: &[usize; 3], groups: &Groups) -> bool {
        order.iter().enumerate().all(|(to, &from)| {
            let (low, high) = (to.min(from), to.max(from));
            low == high || self.label(low) == NEW && self.label(high) == NEW && groups.joined(low, high)
        })
    }
}
