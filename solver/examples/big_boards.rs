//! Makes 4x4, 16x16 and 25x25 boards, and times clause learning beside exact cover on them, board by board.
//!
//! `cargo run --release -p puzzled-solver --example big_boards` prints a table. With the argument `boards` it prints boards
//! instead, as lines `puzzle:count:solution` (the count stops at 1000; a solution only if it is the only one): the file
//! `tests/data/sudoku_big.txt`. The same boards each time, as long as the engine they are made with searches in the same
//! way.

use std::time::{Duration, Instant};

use puzzled_solver::Budget;
use puzzled_solver::sudoku::{ClauseLearning, End, ExactCover};

/// A board: values row by row, 0 for a blank.
type Cells = Vec<u8>;

struct Set {
    name: &'static str,
    box_size: usize,
    /// Solutions to look for.
    limit: u64,
    boards: Vec<Cells>,
}

/// Nodes per board, for both engines.
const NODES: u64 = 100_000;

/// Nodes to find out whether a cell can go; if that is not enough, it stays.
const NODES_PER_CELL: u64 = 1000;

const COUNT_MAX: u64 = 1000;

fn main() {
    if std::env::args().nth(1).as_deref() == Some("boards") {
        print_boards();
    } else {
        print_times();
    }
}

fn sets(minimal: usize, sparse: usize) -> Vec<Set> {
    let random = &mut Random(2026);
    let hard16 = random.unique_boards(4, 0, minimal);
    let hard25 = random.unique_boards(5, 300, sparse);
    let set = |name, box_size, limit, boards| Set { name, box_size, limit, boards };
    vec![
        set("16x16, minimal", 4, 2, hard16.clone()),
        set("16x16, minimal, one clue less", 4, 2, random.each(&hard16, Random::without_a_clue)),
        set("16x16, minimal, one clue changed", 4, 2, random.each(&hard16, Random::with_a_clue_changed)),
        set("16x16, 40% of a grid, first solution", 4, 1, random.partial_grids(4, minimal)),
        set("16x16, empty, first solution", 4, 1, vec![vec![0; 256]; 5]),
        set("25x25, 300 clues, unique", 5, 2, hard25.clone()),
        set("25x25, 300 clues, one changed", 5, 2, random.each(&hard25, Random::with_a_clue_changed)),
        set("25x25, 40% of a grid, first solution", 5, 1, random.partial_grids(5, sparse)),
        set("25x25, empty, first solution", 5, 1, vec![vec![0; 625]; 5]),
    ]
}

fn print_times() {
    println!(
        "| boards | engine | median ms | worst ms | not done in {NODES} nodes |\n|---|---|---:|---:|---:|"
    );
    for set in sets(50, 20) {
        let budget = Budget { nodes: NODES, ..Budget::unlimited() };
        let (mut cover, mut learning) = (ExactCover::new(set.box_size), ClauseLearning::new(set.box_size));
        let mut figures = [(); 2].map(|()| (Vec::new(), 0));
        for cells in &set.boards {
            let results = [
                timed(|| cover.solve_each(cells, set.limit, &budget, &mut |_| {})),
                timed(|| learning.solve_each(cells, set.limit, &budget, &mut |_| {})),
            ];
            for ((times, unfinished), ((_, end), time)) in figures.iter_mut().zip(results) {
                times.push(time);
                *unfinished += u32::from(end != End::Complete);
            }
            if let [((ours, End::Complete), _), ((theirs, End::Complete), _)] = results {
                assert_eq!(ours, theirs, "the engines agree");
            }
        }
        for (engine, (mut times, unfinished)) in ["exact cover", "clause learning"].into_iter().zip(figures) {
            times.sort_unstable();
            let ms = |time: Duration| time.as_secs_f64() * 1e3;
            let (median, worst) = (ms(times[times.len() / 2]), ms(times[times.len() - 1]));
            println!("| {} {} | {engine} | {median:.1} | {worst:.1} | {unfinished} |", times.len(), set.name);
        }
    }
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    (work(), start.elapsed())
}

fn print_boards() {
    let random = &mut Random(4);
    let small = random.unique_boards(2, 0, 4);
    let mut boards = random.each(&small, Random::without_a_clue);
    boards.extend(random.each(&small, Random::with_a_clue_changed));
    boards.extend(small);
    boards.extend(sets(6, 2).into_iter().filter(|set| set.limit > 1).flat_map(|set| set.boards));
    for cells in boards {
        let box_size = (2..=5).find(|size: &usize| size.pow(4) == cells.len()).expect("a board's length");
        let mut solution = Vec::new();
        let mut keep = |found: &[u8]| solution = found.to_vec();
        let (count, _) =
            ClauseLearning::new(box_size).solve_each(&cells, COUNT_MAX, &Budget::unlimited(), &mut keep);
        match count {
            1 => println!("{}:1:{}", text(&cells), text(&solution)),
            _ => println!("{}:{count}", text(&cells)),
        }
    }
}

fn text(cells: &[u8]) -> String {
    cells.iter().map(|&value| char::from(b".123456789ABCDEFGHIJKLMNOP"[usize::from(value)])).collect()
}

/// SplitMix64 (Steele, Lea and Flood, 2014): the same numbers everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((word ^ (word >> 31)) % bound as u64) as usize
    }

    fn shuffled(&mut self, len: usize) -> Vec<usize> {
        let mut order: Vec<_> = (0..len).collect();
        for last in (1..len).rev() {
            order.swap(last, self.below(last + 1));
        }
        order
    }

    /// A grid where each line is the one before, shifted; then lines, bands and values shuffled.
    fn regular_grid(&mut self, box_size: usize) -> Cells {
        let side = box_size * box_size;
        let mut lines = || -> Vec<usize> {
            let bands = self.shuffled(box_size);
            bands
                .iter()
                .flat_map(|band| self.shuffled(box_size).into_iter().map(move |line| band * box_size + line))
                .collect()
        };
        let (rows, columns) = (lines(), lines());
        let values = self.shuffled(side);
        let value =
            |row, column| values[(row % box_size * box_size + row / box_size + column) % side] as u8 + 1;
        rows.iter().flat_map(|&row| columns.iter().map(move |&column| value(row, column))).collect()
    }

    /// A share of the cells of a regular grid.
    fn partial_grid(&mut self, box_size: usize, percent: usize) -> Cells {
        let mut cells = self.regular_grid(box_size);
        let blanks = cells.len() * (100 - percent) / 100;
        for &cell in &self.shuffled(cells.len())[..blanks] {
            cells[cell] = 0;
        }
        cells
    }

    fn partial_grids(&mut self, box_size: usize, count: usize) -> Vec<Cells> {
        (0..count).map(|_| self.partial_grid(box_size, 40)).collect()
    }

    /// Boards with one solution, from grids that are a fifth regular: cells are taken away in random order, as long as
    /// that leaves one solution and `clues` cells.
    fn unique_boards(&mut self, box_size: usize, clues: usize, count: usize) -> Vec<Cells> {
        let mut engine = ClauseLearning::new(box_size);
        (0..count).map(|_| self.unique_board(&mut engine, box_size, clues)).collect()
    }

    fn unique_board(&mut self, engine: &mut ClauseLearning, box_size: usize, clues: usize) -> Cells {
        let seed = self.partial_grid(box_size, 20);
        let mut cells = Vec::new();
        engine.solve_each(&seed, 1, &Budget::unlimited(), &mut |grid| cells = grid.to_vec());
        let budget = Budget { nodes: NODES_PER_CELL, ..Budget::unlimited() };
        let mut left = cells.len();
        for cell in self.shuffled(cells.len()) {
            if left == clues {
                break;
            }
            let value = std::mem::take(&mut cells[cell]);
            if engine.solve_each(&cells, 2, &budget, &mut |_| {}) == (1, End::Complete) {
                left -= 1;
            } else {
                cells[cell] = value;
            }
        }
        cells
    }

    fn each(&mut self, boards: &[Cells], change: fn(&mut Self, &mut Cells)) -> Vec<Cells> {
        let mut changed = boards.to_vec();
        changed.iter_mut().for_each(|cells| change(self, cells));
        changed
    }

    fn clue(&mut self, cells: &Cells) -> usize {
        let clues: Vec<_> = (0..cells.len()).filter(|&cell| cells[cell] > 0).collect();
        clues[self.below(clues.len())]
    }

    fn without_a_clue(&mut self, cells: &mut Cells) {
        let clue = self.clue(cells);
        cells[clue] = 0;
    }

    /// Another value for some clue, one that no other clue forbids. Leaves alone a board where luck finds none.
    fn with_a_clue_changed(&mut self, cells: &mut Cells) {
        let side = cells.len().isqrt();
        let box_size = side.isqrt();
        let place = |cell: usize| {
            [cell / side, cell % side, cell / side / box_size * box_size + cell % side / box_size]
        };
        for _ in 0..100 * cells.len() {
            let clue = self.clue(cells);
            let value = self.below(side) as u8 + 1;
            let clashes = |cell: usize| {
                cells[cell] == value && std::iter::zip(place(cell), place(clue)).any(|(a, b)| a == b)
            };
            if !(0..cells.len()).any(clashes) {
                cells[clue] = value;
                return;
            }
        }
    }
}
