//! A plain bit-mask engine for 9x9: all candidates of one digit in 81 bits, logic by word operations.
//!
//! # The idea
//!
//! Keep, for each digit, the set of cells it may still go to, as three bands of 27 bits:
//!
//! ```text
//! candidates[digit][band]     bit 0 .. 8 first row of the band, 9 .. 17 second, 18 .. 26 third
//!
//!          box 0   box 1   box 2          A mini-row is three bits: one row within one box.
//! row 0  | x x x | . . . | . x . |        The 9 mini-rows of a band decide most of what
//! row 1  | . . . | x x . | . . . |        logic can say about a digit in that band.
//! row 2  | . x . | . . x | x . . |
//!
//! loop
//!     cells with one digit left, found for all 27 cells of a band at once     -> place them, repeat
//!     for each digit that changed: strike out dead mini-rows and mini-columns
//!         by table; places with no alternative in their row, column or box    -> place them, repeat
//!     all placed: a solution. otherwise: branch on a cell with fewest digits left
//! ```
//!
//! # The tricks
//!
//! 1. Counting across digits: `once |= d`, `twice |= once & d` and so on over nine words counts the candidates of 27
//!    cells together. Cells in `once` and not in `twice` are naked singles.
//! 2. In a band, a digit occupies one mini-row in each row and each box: a permutation. So a nine-bit number (which
//!    mini-rows have a candidate) goes into a table that gives the union of the permutations that fit. What is
//!    missing there is struck out (locked candidates, both ways at once), and an empty union is a dead end. The
//!    observation is old among solver writers; it is the heart of zhouyundong_2012's and champagne's JCZSolve. The
//!    same table serves the mini-columns of a stack, which took a third off the time for hard puzzles.
//! 3. A digit that has not changed since its last look is not looked at again.
//! 4. Branching copies 228 bytes of state onto a stack that was allocated once; nothing is ever undone step by step.
//! 5. Branch where it hurts: of all cells with two digits left, on the one that sees most others like it. That took
//!    a quarter off the time for 17-clue puzzles against the first such cell.
//!
//! What lost: row, column and box masks with candidates derived per cell. It is shorter, and finding hidden singles
//! then costs a walk over all cells for each digit.
//!
//! Not guaranteed: which of several solutions comes first, and how many nodes a puzzle takes.

use crate::engine::Budget;
use crate::sudoku::candidates::Boards;
use crate::sudoku::{AnyBoard, Board, CELLS, Candidates, End, Verdict};

/// The engine with its stack. Warm or new, it allocates nothing per puzzle.
///
/// # Examples
///
/// ```
/// use puzzled_solver::Budget;
/// use puzzled_solver::sudoku::{Bitmask, Board};
///
/// let board = Board::parse(
///     b"000000010400000000020000000000050407008000300001090000300400200050100000000806000",
/// )?;
/// let mut verdicts = Vec::new();
/// Bitmask::new().solve_many(&[board], 2, &Budget::unlimited(), &mut verdicts);
/// assert_eq!(verdicts[0].solutions, 1);
/// # Ok::<(), puzzled_solver::ParseError>(())
/// ```
pub struct Bitmask {
    /// Branches not taken yet, deepest last. Each goes with a cell placed above it, so there are never more than
    /// cells.
    stack: Vec<State>,
}

impl Default for Bitmask {
    fn default() -> Self {
        Self::new()
    }
}

impl Bitmask {
    /// An engine with its stack allocated.
    pub fn new() -> Self {
        Self { stack: Vec::with_capacity(CELLS) }
    }

    /// Counts the solutions of each board up to `limit` and pushes one verdict for each, in order. After the cancel
    /// flag is seen, the rest are [`End::Cancelled`].
    pub fn solve_many<B: AnyBoard>(
        &mut self,
        boards: &[B],
        limit: u64,
        budget: &Budget<'_>,
        verdicts: &mut Vec<Verdict>,
    ) {
        let boards = B::boards(boards);
        verdicts.reserve(boards.len());
        for index in 0..boards.len() {
            if budget.stopped() {
                verdicts.push(Verdict::CANCELLED);
                continue;
            }
            let state = match boards {
                Boards::Givens(boards) => State::new(&boards[index]),
                Boards::Candidates(boards) => Some(State::of_candidates(&boards[index])),
            };
            verdicts.push(self.solve(state, limit, budget));
        }
    }

    fn solve(&mut self, state: Option<State>, limit: u64, budget: &Budget<'_>) -> Verdict {
        let mut verdict = Verdict { solutions: 0, end: End::Complete, solution: [0; CELLS] };
        self.stack.clear();
        if limit > 0 {
            self.stack.extend(state);
        }
        let nodes_max = budget.nodes_max();
        let mut nodes = 0;
        while let Some(mut state) = self.stack.pop() {
            // Down this branch to its end, leaving the other half of each choice on the stack.
            while state.settle() {
                let Some((cell, digit)) = state.choose() else {
                    if verdict.solutions == 0 {
                        verdict.solution = state.solution();
                    }
                    verdict.solutions += 1;
                    if verdict.solutions == limit {
                        return verdict;
                    }
                    break;
                };
                if nodes == nodes_max {
                    return Verdict { end: End::OutOfNodes, ..verdict };
                }
                if budget.stopped() {
                    return Verdict { end: End::Cancelled, ..verdict };
                }
                nodes += 1;
                let mut other = state.clone();
                other.candidates[digit][cell.band] &= !cell.bit;
                self.stack.push(other);
                if !state.place(cell, digit) {
                    break;
                }
            }
        }
        verdict
    }
}

/// All 27 cells of a band.
const BAND: u32 = (1 << 27) - 1;
/// The nine cells of the first row of a band.
const ROW: u32 = (1 << 9) - 1;
/// The first box of a band.
const BOX: u32 = 0b111 | 0b111 << 9 | 0b111 << 18;

#[derive(Clone)]
struct State {
    /// Where each digit may go, or has gone.
    candidates: [[u32; 3]; 9],
    /// `candidates` as of each digit's last look (trick 3).
    seen: [[u32; 3]; 9],
    /// Cells whose digit has been placed, so that their peers know.
    placed: [u32; 3],
}

#[derive(Clone, Copy)]
struct Cell {
    index: usize,
    band: usize,
    bit: u32,
}

impl Cell {
    /// The lowest cell of a set within a band; the set is not empty.
    fn lowest(band: usize, set: u32) -> Self {
        let place = set.trailing_zeros() as usize;
        Self { index: band * 27 + place, band, bit: 1 << place }
    }
}

impl State {
    /// All givens placed at once; `None` when two of them clash.
    fn new(board: &Board) -> Option<Self> {
        let mut candidates = [[BAND; 3]; 9];
        let mut givens = [[0; 3]; 9];
        let mut placed = [0; 3];
        for (index, &value) in board.cells().iter().enumerate() {
            if value > 0 {
                let digit = usize::from(value) - 1;
                let (band, bit) = (index / 27, 1 << (index % 27));
                givens[digit][band] |= bit;
                placed[band] |= bit;
                for (word, keep) in candidates[digit].iter_mut().zip(KEEP[index]) {
                    *word &= keep;
                }
            }
        }
        let mut clash = 0;
        for (words, own) in candidates.iter_mut().zip(givens) {
            for band in 0..3 {
                words[band] &= !placed[band] | own[band];
                clash |= own[band] & !words[band];
            }
        }
        (clash == 0).then_some(Self { candidates, seen: [[0; 3]; 9], placed })
    }

    /// The board as it stands, nothing placed.
    fn of_candidates(board: &Candidates) -> Self {
        let mut candidates = [[0; 3]; 9];
        for (index, &mask) in board.masks().iter().enumerate() {
            for (digit, words) in candidates.iter_mut().enumerate() {
                words[index / 27] |= u32::from(mask >> digit & 1) << (index % 27);
            }
        }
        // No digit counts as looked at, not even one without any place.
        Self { candidates, seen: [[!0; 3]; 9], placed: [0; 3] }
    }

    /// Follows logic until it says no more; false at a dead end.
    fn settle(&mut self) -> bool {
        loop {
            match self.naked_singles() {
                Step::Dead => return false,
                Step::Changed => continue,
                Step::Still => {}
            }
            match self.hidden_singles() {
                Step::Dead => return false,
                Step::Changed => {}
                Step::Still => return true,
            }
        }
    }

    /// Places every cell that has one candidate (trick 1).
    fn naked_singles(&mut self) -> Step {
        let mut step = Step::Still;
        for band in 0..3 {
            let [once, twice, ..] = self.counts(band);
            if once != BAND {
                return Step::Dead;
            }
            let mut singles = once & !twice & !self.placed[band];
            while singles != 0 {
                let cell = Cell::lowest(band, singles);
                singles &= singles - 1;
                let Some(digit) = self.first_digit(cell) else { return Step::Dead };
                if !self.place(cell, digit) {
                    return Step::Dead;
                }
                step = Step::Changed;
            }
        }
        step
    }

    /// Strikes out what mini-rows forbid (trick 2) and places digits that have one place left in a unit.
    fn hidden_singles(&mut self) -> Step {
        let mut step = Step::Still;
        for digit in 0..9 {
            let before = self.candidates[digit];
            if before == self.seen[digit] {
                continue;
            }
            let mut words = before;
            for word in &mut words {
                *word &= MINIROWS[minirows_of(*word)];
            }
            strike_minicolumns(&mut words);
            if words.contains(&0) {
                return Step::Dead;
            }
            let (mut once, mut twice) = (0, 0);
            let mut forced = [0; 3];
            for (word, forced) in words.iter().zip(&mut forced) {
                for row in 0..3 {
                    let cells = word & ROW << (9 * row);
                    *forced |= if cells & cells.wrapping_sub(1) == 0 { cells } else { 0 };
                    let columns = cells >> (9 * row);
                    twice |= once & columns;
                    once |= columns;
                }
                for box_index in 0..3 {
                    let cells = word & BOX << (3 * box_index);
                    *forced |= if cells & cells.wrapping_sub(1) == 0 { cells } else { 0 };
                }
            }
            if once != ROW {
                return Step::Dead;
            }
            let columns = once & !twice;
            let columns = columns | columns << 9 | columns << 18;
            self.candidates[digit] = words;
            self.seen[digit] = words;
            if words != before {
                step = Step::Changed;
            }
            for band in 0..3 {
                let mut cells = (forced[band] | words[band] & columns) & !self.placed[band];
                while cells != 0 {
                    let cell = Cell::lowest(band, cells);
                    cells &= cells - 1;
                    if !self.place(cell, digit) {
                        return Step::Dead;
                    }
                    step = Step::Changed;
                }
            }
        }
        step
    }

    /// Fixes a digit in a cell; false when it may not go there (any more).
    #[inline]
    fn place(&mut self, cell: Cell, digit: usize) -> bool {
        if self.candidates[digit][cell.band] & cell.bit == 0 {
            return false;
        }
        for words in &mut self.candidates {
            words[cell.band] &= !cell.bit;
        }
        for (word, keep) in self.candidates[digit].iter_mut().zip(KEEP[cell.index]) {
            *word &= keep;
        }
        self.candidates[digit][cell.band] |= cell.bit;
        self.placed[cell.band] |= cell.bit;
        true
    }

    /// A cell to branch on and its first digit; `None` when all are placed. Among the cells with fewest candidates
    /// (more than four count alike), the one that sees most others of that sort: either choice there decides more.
    fn choose(&self) -> Option<(Cell, usize)> {
        let counts = [0, 1, 2].map(|band| self.counts(band));
        let open = self.placed.map(|placed| BAND & !placed);
        let exactly_two = |band: usize| counts[band][1] & !counts[band][2] & open[band];
        let exactly_three = |band: usize| counts[band][2] & !counts[band][3] & open[band];
        let sets = [[0, 1, 2].map(exactly_two), [0, 1, 2].map(exactly_three), open];
        let fewest = sets.into_iter().find(|set| *set != [0; 3])?;
        let mut best: Option<(u32, Cell)> = None;
        for (band, &word) in fewest.iter().enumerate() {
            let mut cells = word;
            while cells != 0 {
                let cell = Cell::lowest(band, cells);
                cells &= cells - 1;
                let sees =
                    KEEP[cell.index].iter().zip(fewest).map(|(keep, set)| (set & !keep).count_ones()).sum();
                if best.is_none_or(|(most, _)| sees > most) {
                    best = Some((sees, cell));
                }
            }
        }
        let (_, cell) = best?;
        Some((cell, self.first_digit(cell)?))
    }

    /// The cells of a band with at least one, two, three, four candidates.
    #[inline]
    fn counts(&self, band: usize) -> [u32; 4] {
        let [mut once, mut twice, mut thrice, mut four] = [0; 4];
        for words in &self.candidates {
            let word = words[band];
            four |= thrice & word;
            thrice |= twice & word;
            twice |= once & word;
            once |= word;
        }
        [once, twice, thrice, four]
    }

    fn first_digit(&self, cell: Cell) -> Option<usize> {
        self.candidates.iter().position(|words| words[cell.band] & cell.bit != 0)
    }

    /// The values of all cells, once all are placed.
    fn solution(&self) -> [u8; CELLS] {
        let mut cells = [0; CELLS];
        for (value, words) in (1..).zip(&self.candidates) {
            for (band, &word) in words.iter().enumerate() {
                let mut set = word;
                while set != 0 {
                    cells[Cell::lowest(band, set).index] = value;
                    set &= set - 1;
                }
            }
        }
        cells
    }
}

enum Step {
    Dead,
    Changed,
    Still,
}

/// Which mini-rows of a band have a candidate, as nine bits: `row * 3 + box`.
#[inline]
fn minirows_of(word: u32) -> usize {
    let row = |index: u32| usize::from(ROW_MINIROWS[(word >> (9 * index) & ROW) as usize]);
    row(0) | row(1) << 3 | row(2) << 6
}

/// For each cell and band, the cells that a digit placed there leaves possible: all but its peers.
static KEEP: [[u32; 3]; CELLS] = {
    let mut keep = [[BAND; 3]; CELLS];
    let mut cell = 0;
    while cell < CELLS {
        let mut peer = 0;
        while peer < CELLS {
            let same_row = cell / 9 == peer / 9;
            let same_column = cell % 9 == peer % 9;
            let same_box = cell / 27 == peer / 27 && cell % 9 / 3 == peer % 9 / 3;
            if cell != peer && (same_row || same_column || same_box) {
                keep[cell][peer / 27] &= !(1 << (peer % 27));
            }
            peer += 1;
        }
        cell += 1;
    }
    keep
};

/// Which of the three mini-rows of a row have a candidate.
static ROW_MINIROWS: [u8; 512] = {
    let mut table = [0; 512];
    let mut row = 0;
    while row < 512 {
        table[row] =
            (row & 0o7 != 0) as u8 | ((row & 0o70 != 0) as u8) << 1 | ((row & 0o700 != 0) as u8) << 2;
        row += 1;
    }
    table
};

/// The mini-columns likewise: what [`MINIROWS`] is to a row within a band, this is to a column within a stack.
#[inline]
fn strike_minicolumns(words: &mut [u32; 3]) {
    let columns = words.map(|word| (word | word >> 9 | word >> 18) & ROW);
    let mut keep = [0; 3];
    for stack in [0, 3, 6] {
        let occupied =
            columns[0] >> stack & 7 | (columns[1] >> stack & 7) << 3 | (columns[2] >> stack & 7) << 6;
        let used = u32::from(PERMUTED[occupied as usize]);
        for (band, keep) in keep.iter_mut().enumerate() {
            *keep |= (used >> (3 * band) & 7) << stack;
        }
    }
    for (word, keep) in words.iter_mut().zip(keep) {
        *word &= keep | keep << 9 | keep << 18;
    }
}

/// For each set of fields of a 3x3 square, those that some permutation within the set uses (trick 2).
static PERMUTED: [u16; 512] = {
    const PERMUTATIONS: [[u16; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let mut table = [0; 512];
    let mut occupied = 0;
    while occupied < 512 {
        let mut which = 0;
        while which < 6 {
            let [first, second, third] = PERMUTATIONS[which];
            let used = 1 << first | 1 << (3 + second) | 1 << (6 + third);
            if occupied & used as usize == used as usize {
                table[occupied] |= used;
            }
            which += 1;
        }
        occupied += 1;
    }
    table
};

/// [`PERMUTED`] for mini-rows, widened to the 27 cells of a band.
static MINIROWS: [u32; 512] = {
    let mut table = [0; 512];
    let mut occupied = 0;
    while occupied < 512 {
        let mut minirow = 0;
        while minirow < 9 {
            if PERMUTED[occupied] >> minirow & 1 == 1 {
                table[occupied] |= 0b111 << (3 * minirow);
            }
            minirow += 1;
        }
        occupied += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    fn solve(cells: [u8; CELLS], limit: u64, budget: &Budget<'_>) -> Verdict {
        let mut verdicts = Vec::new();
        let board = Board::from_cells(cells).expect("values up to 9");
        Bitmask::new().solve_many(&[board], limit, budget, &mut verdicts);
        verdicts[0]
    }

    #[test]
    fn the_empty_board_stops_at_its_limit() {
        for limit in [1, 2, 1000] {
            let verdict = solve([0; CELLS], limit, &Budget::unlimited());
            assert_eq!((verdict.solutions, verdict.end), (limit, End::Complete));
            assert!(crate::sudoku::is_solution(&[0; CELLS], &verdict.solution, 3));
        }
        assert_eq!(solve([0; CELLS], 0, &Budget::unlimited()).solutions, 0);
    }

    #[test]
    fn a_budget_and_a_flag_stop_it() {
        let verdict = solve([0; CELLS], u64::MAX, &Budget { nodes: 1000, ..Budget::unlimited() });
        assert_eq!(verdict.end, End::OutOfNodes);
        assert!(verdict.solutions > 0);
        let flag = AtomicBool::new(true);
        let verdict = solve([0; CELLS], 2, &Budget { cancel: Some(&flag), ..Budget::unlimited() });
        assert_eq!(verdict, Verdict::CANCELLED);
    }

    #[test]
    fn equal_givens_in_one_unit_have_no_solution() {
        for (one, other) in [(0, 1), (0, 8), (0, 72), (0, 10), (80, 71), (40, 50)] {
            let mut cells = [0; CELLS];
            (cells[one], cells[other]) = (5, 5);
            assert_eq!(solve(cells, 2, &Budget::unlimited()).solutions, 0, "{one} {other}");
        }
    }
}
