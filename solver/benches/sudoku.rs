//! The bit-mask engine against exact cover, counting to 2, on the 17-clue and magictour sets; and the text work
//! around them. `cargo bench -p puzzled-solver`; throughput is in puzzles.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use puzzled_solver::sudoku::{Bitmask, Board, Canonicalizer, ExactCover, Verdict};
use puzzled_solver::{Budget, Outcomes, Task};

const SETS: [(&str, &str); 2] = [
    ("17-clue", include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/sudoku17.txt"))),
    ("magictour", include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/magictour_top1465.txt"))),
];
/// How many puzzles of a set one iteration takes, spread evenly over it.
const PUZZLES: usize = 1024;

fn sample(text: &'static str) -> Vec<&'static [u8]> {
    let lines: Vec<_> = text.lines().map(str::as_bytes).collect();
    (0..PUZZLES).map(|i| lines[i * lines.len() / PUZZLES]).collect()
}

fn engines(c: &mut Criterion) {
    for (name, text) in SETS {
        let boards: Vec<_> = sample(text).into_iter().filter_map(Board::from_line).collect();
        let mut group = c.benchmark_group(format!("sudoku/{name}"));
        group.throughput(Throughput::Elements(boards.len() as u64)).sample_size(20);
        let mut verdicts: Vec<Verdict> = Vec::new();
        let (mut bitmask, mut cover) = (Bitmask::new(), ExactCover::new(3));
        group.bench_function("bitmask", |b| {
            b.iter(|| {
                verdicts.clear();
                bitmask.solve_many(black_box(&boards), 2, &Budget::unlimited(), &mut verdicts);
            });
        });
        // A few only: the oracle is some hundred times slower.
        let few = &boards[..PUZZLES / 16];
        group.throughput(Throughput::Elements(few.len() as u64)).sample_size(10);
        group.bench_function("exact_cover", |b| {
            b.iter(|| {
                verdicts.clear();
                cover.solve_many(black_box(few), 2, &Budget::unlimited(), &mut verdicts);
            });
        });
        group.finish();
    }
}

fn around_the_engine(c: &mut Criterion) {
    let task: Task = "sudoku.solve".parse().expect("a task of the table");
    let puzzles = sample(SETS[0].1);
    let mut outcomes = Outcomes::new();
    task.engine().solve(&puzzles, &Budget::unlimited(), &mut outcomes);

    let mut group = c.benchmark_group("sudoku/text");
    group.throughput(Throughput::Elements(puzzles.len() as u64));
    group.bench_function("from_line", |b| {
        b.iter(|| puzzles.iter().filter(|line| black_box(Board::from_line(line)).is_some()).count());
    });
    group.bench_function("canonical", |b| {
        let mut out = Vec::new();
        b.iter(|| {
            out.clear();
            puzzles.iter().filter(|line| task.canonical(line, &mut out).is_ok()).count()
        });
    });
    group.bench_function("verify", |b| {
        b.iter(|| puzzles.iter().zip(outcomes.iter()).filter(|(line, o)| task.verify(line, *o)).count());
    });
    group.bench_function("push", |b| {
        let mut copy = Outcomes::new();
        b.iter(|| {
            copy.clear();
            outcomes.iter().for_each(|outcome| copy.push(outcome.kind, outcome.text));
        });
    });
    group.bench_function("parse_outcomes", |b| {
        let bytes = outcomes.records(0..outcomes.len());
        b.iter(|| Outcomes::parse(black_box(bytes), PUZZLES).map(|parsed| parsed.len()));
    });
    group.finish();

    let slide: Task = "slide.solve".parse().expect("a task of the table");
    let mut engine = slide.engine();
    let boards = [&b"64785x321"[..]; PUZZLES];
    let mut group = c.benchmark_group("slide");
    group.throughput(Throughput::Elements(PUZZLES as u64));
    group.bench_function("31 moves", |b| {
        b.iter(|| {
            outcomes.clear();
            engine.solve(black_box(&boards), &Budget::unlimited(), &mut outcomes);
        });
    });
    group.finish();
}

fn minimal_forms(c: &mut Criterion) {
    let mut canonicalizer = Canonicalizer::default();
    let mut group = c.benchmark_group("sudoku/canonical");
    group.throughput(Throughput::Elements(PUZZLES as u64));
    for (name, text) in SETS {
        let puzzles: Vec<_> = sample(text).into_iter().filter_map(Board::from_line).collect();
        let mut verdicts = Vec::new();
        Bitmask::new().solve_many(&puzzles, 1, &Budget::unlimited(), &mut verdicts);
        let grids: Vec<_> =
            verdicts.iter().filter_map(|verdict| Board::from_cells(verdict.solution)).collect();
        for (what, boards) in [("puzzles", puzzles), ("grids", grids)] {
            group.bench_function(format!("{name} {what}"), |b| {
                let mut form = |board| canonicalizer.canonical(board, &Budget::unlimited());
                b.iter(|| boards.iter().filter(|board| form(black_box(board)).is_ok()).count());
            });
        }
    }
    group.finish();
}

criterion_group!(benches, engines, around_the_engine, minimal_forms);
criterion_main!(benches);
