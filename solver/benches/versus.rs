//! The sudoku engines against each other and against the `sudoku` crate, counting to 2, on one thread.
//!
//! `cargo bench -p puzzled-solver --bench versus -- FOLDER [ROUNDS]`; the folder has the sets of [`SETS`], one puzzle
//! a line, and without one those of `tests/data` are taken. With `RUSTFLAGS="-C target-cpu=native"` the peer gets all
//! the processor has; ours looks at run time either way.
//!
//! Other work on the machine disturbs whole seconds, so times of different engines taken one after the other say
//! little. Here every round gives each engine in turn the same slice of puzzles, and what counts is the median over
//! all rounds of the ratio to the peer within the round. Before its turn each engine gets some other puzzles untimed:
//! a worker's engine is warm as well, and a processor takes its time to wake its widest vectors.

use std::error::Error;
use std::path::Path;
use std::time::Instant;
use std::{env, fs};

use puzzled_solver::Budget;
use puzzled_solver::sudoku::{Bitmask, Board, ExactCover, LaneEngine, Verdict, Width};
use sudoku::Sudoku;

/// File, and puzzles a slice.
const SETS: [(&str, usize); 5] = [
    ("easy34_20k.txt", 8192),
    ("sudoku17.txt", 4096),
    ("magictour_top1465.txt", 488),
    ("serg_benchmark.txt", 4096),
    ("hardest11_sample.txt", 406),
];
/// What a worker gives its engine in one call.
const CHUNK: usize = 1024;
/// The share of a slice that an engine gets before its turn.
const WARM_UP_SHARE: usize = 1;
/// The oracle is some hundred times slower: it gets a few puzzles of each slice.
const ORACLE_SHARE: usize = 64;

/// Counts solutions of a slice of puzzles up to 2; gives the sum over all.
type Contestant = (String, Box<dyn FnMut(&[Board], &[Sudoku]) -> u64>);

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds a `--bench` of its own.
    let mut arguments = env::args().skip(1).filter(|argument| argument != "--bench");
    let in_repository = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data");
    let folder = arguments.next().unwrap_or_else(|| in_repository.to_owned());
    let rounds = arguments.next().map_or(Ok(60), |text| text.parse::<usize>())?;
    for (name, slice) in SETS {
        let path = Path::new(&folder).join(name);
        if path.exists() {
            let text = fs::read(path)?;
            compare(name, &text, slice, rounds)?;
        }
    }
    Ok(())
}

fn compare(name: &str, text: &[u8], slice: usize, rounds: usize) -> Result<(), Box<dyn Error>> {
    let lines: Vec<_> = text.split(|&byte| byte == b'\n').filter(|line| line.len() >= 81).collect();
    let boards: Vec<_> = lines.iter().filter_map(|line| Board::from_line(&line[..81])).collect();
    let peers =
        lines.iter().map(|line| Sudoku::from_str_line(std::str::from_utf8(&line[..81])?).map_err(Into::into));
    let peers = peers.collect::<Result<Vec<_>, Box<dyn Error>>>()?;
    assert_eq!(boards.len(), peers.len(), "both read every line");

    let mut contestants = contestants();
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); contestants.len()];
    for round in 0..rounds {
        let first = round % (boards.len() / slice) * slice;
        let other = (round + 1) % (boards.len() / slice) * slice;
        let (all_boards, all_peers) = (&boards, &peers);
        let (boards, peers) = (&boards[first..first + slice], &peers[first..first + slice]);
        let mut expected = None;
        for ((name, run), times) in contestants.iter_mut().zip(&mut times) {
            let share = if name.as_str() == "oracle" { ORACLE_SHARE } else { 1 };
            let count = slice / share;
            let warm = &all_boards[other..other + count / WARM_UP_SHARE];
            std::hint::black_box(run(warm, &all_peers[other..other + count / WARM_UP_SHARE]));
            let start = Instant::now();
            let found = run(&boards[..count], &peers[..count]);
            times.push(start.elapsed().as_secs_f64() * 1e9 / count as f64);
            if share == 1 {
                assert_eq!(*expected.get_or_insert(found), found, "{name} counts otherwise");
            }
        }
    }
    println!("{name}: medians over {rounds} rounds of {slice} puzzles");
    println!("  {:<10} {:>10} {:>9} {:>9} {:>14}", "engine", "ns/puzzle", "best ns", "x peer", "quartiles");
    for ((name, _), own) in contestants.iter().zip(&times) {
        let mut ratios: Vec<_> = own.iter().zip(&times[0]).map(|(own, peer)| peer / own).collect();
        ratios.sort_by(f64::total_cmp);
        let mut own = own.clone();
        own.sort_by(f64::total_cmp);
        let at = |sorted: &[f64], quarter: usize| sorted[(sorted.len() - 1) * quarter / 4];
        let quartiles = format!("{:.2} .. {:.2}", at(&ratios, 1), at(&ratios, 3));
        let (median, ratio) = (at(&own, 2), at(&ratios, 2));
        println!("  {name:<10} {median:>10.1} {:>9.1} {ratio:>9.2} {quartiles:>14}", own[0]);
    }
    Ok(())
}

/// The peer first.
fn contestants() -> Vec<Contestant> {
    let mut all: Vec<Contestant> = vec![(
        "peer".to_owned(),
        Box::new(|_, peers| peers.iter().map(|peer| peer.solutions_count_up_to(2) as u64).sum()),
    )];
    for width in Width::available() {
        let mut engine = LaneEngine::with_width(width).expect("available");
        let mut verdicts = Vec::new();
        let run = move |boards: &[Board], _: &[Sudoku]| {
            let mut found = 0;
            for chunk in boards.chunks(CHUNK) {
                verdicts.clear();
                engine.solve_many(chunk, 2, &Budget::unlimited(), &mut verdicts);
                found += sum(&verdicts);
            }
            found
        };
        all.push((format!("{width:?}"), Box::new(run)));
    }
    let (mut bitmask, mut verdicts) = (Bitmask::new(), Vec::new());
    let run = move |boards: &[Board], _: &[Sudoku]| {
        verdicts.clear();
        bitmask.solve_many(boards, 2, &Budget::unlimited(), &mut verdicts);
        sum(&verdicts)
    };
    all.push(("Bitmask".to_owned(), Box::new(run)));
    let (mut oracle, mut verdicts) = (ExactCover::new(3), Vec::new());
    let run = move |boards: &[Board], _: &[Sudoku]| {
        verdicts.clear();
        oracle.solve_many(boards, 2, &Budget::unlimited(), &mut verdicts);
        sum(&verdicts)
    };
    all.push(("oracle".to_owned(), Box::new(run)));
    all
}

fn sum(verdicts: &[Verdict]) -> u64 {
    verdicts.iter().map(|verdict| verdict.solutions).sum()
}
