//! `puzzled bench sudoku`: the sudoku engines against each other and against the `sudoku` crate, counting to 2, on one
//! thread.
//!
//! Other work on the machine disturbs whole seconds, so times of engines taken one after the other say little. Here every
//! round gives each engine in turn the same puzzles, and what counts is the median over all rounds of the ratio within a
//! round. Before its turn an engine gets the puzzles once untimed: a worker's engine is warm as well, and a processor takes
//! its time to wake its widest vectors.

use std::ops::Range;
use std::time::Instant;

use clap::Args;
use puzzled_service::Exit;
use puzzled_solver::Budget;
use puzzled_solver::sudoku::{Bitmask, Board, ExactCover, LaneEngine, Verdict, Width};
use serde::Serialize;

use crate::commands::demo;
use crate::failure::Failure;
use crate::terminal;

/// Puzzles that come with the program, by name.
const SETS: [(&str, &str); 4] = [
    ("easy", include_str!("../../../tests/data/easy34_2k.txt")),
    ("magictour", include_str!("../../../tests/data/magictour_top1465.txt")),
    ("many", include_str!("../../../tests/data/serg_2k.txt")),
    ("hardest", include_str!("../../../tests/data/hardest11.txt")),
];
/// The 17-clue puzzles are those of the demo, packed apart.
const CLUES17: &str = "17-clue";
/// What a worker gives its engine in one call.
const CHUNK: usize = 1024;
/// Most puzzles of a round: enough to fill every lane many times over.
const ROUND_PUZZLES: usize = 4096;
/// The oracle is some hundred times slower: it gets a few puzzles of each round.
const ORACLE_SHARE: usize = 64;

/// Flags of `puzzled bench sudoku`.
#[derive(Args, Debug)]
#[command(
    after_help = "Built with `--features peers` the table begins with the `sudoku` crate, and ratios are to it; \
                  else they are to the bit-mask engine. Of the oracle every 64th puzzle is asked."
)]
pub(crate) struct SudokuArgs {
    /// A set that comes with the program (easy, 17-clue, magictour, many, hardest) or a file of one puzzle a line; all sets
    /// if none is named. May be repeated.
    #[arg(long = "set", value_name = "NAME|FILE")]
    sets: Vec<String>,
    /// Rounds over each set.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
}

/// One engine on one set.
#[derive(Serialize, Debug)]
struct Row {
    set: String,
    engine: String,
    puzzles: usize,
    rounds: u32,
    /// Median time of a puzzle, in ns.
    ns: f64,
    /// Median, over the rounds, of how many times faster than the first engine of the table.
    ratio: f64,
    /// First and third quartile of that.
    quartiles: [f64; 2],
}

/// Counts solutions up to 2 of a part of the set; gives the sum.
type Count = Box<dyn FnMut(&Set, Range<usize>) -> u64>;

/// An engine on its thread.
struct Contestant {
    name: String,
    /// Every how many puzzles it is given one.
    share: usize,
    run: Count,
}

/// Puzzles, as each engine wants them.
struct Set {
    name: String,
    boards: Vec<Board>,
    #[cfg(feature = "peers")]
    of_peer: Vec<sudoku::Sudoku>,
}

pub(crate) fn run(args: &SudokuArgs, json: bool) -> Result<(), Failure> {
    let all = || SETS.map(|(name, _)| name).into_iter().chain([CLUES17]).map(str::to_owned).collect();
    let sets: Vec<String> = if args.sets.is_empty() { all() } else { args.sets.clone() };
    for set in &sets {
        let rows = measure(&load(set)?, args.rounds)?;
        let text = if json { as_json(&rows)? } else { as_table(&rows) };
        terminal::print(&text)?;
    }
    Ok(())
}

/// The puzzles of a set; a file's lines that are none are an error, which names the first.
fn load(set: &str) -> Result<Set, Failure> {
    if set == CLUES17 {
        return read(set, demo::puzzles::sudoku17().lines().map(str::as_bytes));
    }
    if let Some((_, text)) = SETS.iter().find(|(name, _)| *name == set) {
        return read(set, text.lines().map(str::as_bytes));
    }
    let text = std::fs::read(set).map_err(|error| {
        let names = SETS.map(|(name, _)| name).join(", ");
        let reason = terminal::plain(&error);
        let message =
            format!("{set} is neither a set ({names}, {CLUES17}) nor a file that can be read: {reason}");
        Failure::new(Exit::Usage, message)
    })?;
    read(set, text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()))
}

fn read<'a>(name: &str, lines: impl Iterator<Item = &'a [u8]>) -> Result<Set, Failure> {
    let mut boards = Vec::new();
    for (number, line) in (1..).zip(lines) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let Some(board) = Board::from_line(line.get(..81).unwrap_or(line)) else {
            let message = format!("{name}, line {number}: not a puzzle of 81 cells");
            return Err(Failure::new(Exit::Usage, message));
        };
        boards.push(board);
    }
    if boards.is_empty() {
        return Err(Failure::new(Exit::Usage, format!("{name} has no puzzle")));
    }
    Ok(Set {
        name: name.to_owned(),
        #[cfg(feature = "peers")]
        of_peer: boards.iter().map(peer_board).collect::<Result<_, _>>()?,
        boards,
    })
}

#[cfg(feature = "peers")]
fn peer_board(board: &Board) -> Result<sudoku::Sudoku, Failure> {
    sudoku::Sudoku::from_bytes(*board.cells())
        .map_err(|e| Failure::new(Exit::Internal, format!("the peer does not read a puzzle: {e:?}")))
}

fn measure(set: &Set, rounds: u32) -> Result<Vec<Row>, Failure> {
    let mut contestants = contestants();
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); contestants.len()];
    // A rest at the end would weigh as much as whole parts, so it is left out.
    let size = set.boards.len().min(ROUND_PUZZLES);
    let parts = set.boards.len() / size;
    for round in 0..rounds as usize {
        let first = round % parts * size;
        let mut expected = None;
        for (contestant, times) in contestants.iter_mut().zip(&mut times) {
            let own = first..first + size.div_ceil(contestant.share);
            std::hint::black_box((contestant.run)(set, own.clone()));
            let start = Instant::now();
            let found = (contestant.run)(set, own.clone());
            times.push(start.elapsed().as_secs_f64() * 1e9 / own.len() as f64);
            if contestant.share == 1 && *expected.get_or_insert(found) != found {
                let message = format!("{} counts otherwise than the others on {}", contestant.name, set.name);
                return Err(Failure::new(Exit::Internal, message));
            }
        }
    }
    let row = |(contestant, own): (&Contestant, &Vec<f64>)| {
        let ratios = sorted(own.iter().zip(&times[0]).map(|(own, first)| first / own).collect());
        Row {
            set: set.name.clone(),
            engine: contestant.name.clone(),
            puzzles: set.boards.len(),
            rounds,
            ns: quartile(&sorted(own.clone()), 2),
            ratio: quartile(&ratios, 2),
            quartiles: [quartile(&ratios, 1), quartile(&ratios, 3)],
        }
    };
    Ok(contestants.iter().zip(&times).map(row).collect())
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

fn quartile(sorted: &[f64], quarter: usize) -> f64 {
    sorted.get((sorted.len().saturating_sub(1)) * quarter / 4).copied().unwrap_or(f64::NAN)
}

fn contestants() -> Vec<Contestant> {
    let mut all = peers();
    let mut bitmask = Bitmask::new();
    all.push(Contestant {
        name: "bit masks".to_owned(),
        share: 1,
        run: solver(move |boards, verdicts| bitmask.solve_many(boards, 2, &Budget::unlimited(), verdicts)),
    });
    for width in Width::available() {
        let Some(mut engine) = LaneEngine::with_width(width) else { continue };
        all.push(Contestant {
            name: format!("lanes {width:?}"),
            share: 1,
            run: solver(move |boards, verdicts| engine.solve_many(boards, 2, &Budget::unlimited(), verdicts)),
        });
    }
    let mut oracle = ExactCover::new(3);
    all.push(Contestant {
        name: "exact cover".to_owned(),
        share: ORACLE_SHARE,
        run: solver(move |boards, verdicts| oracle.solve_many(boards, 2, &Budget::unlimited(), verdicts)),
    });
    all
}

/// Runs an engine chunk by chunk, as a worker does, and adds its solutions up.
fn solver(mut solve: impl FnMut(&[Board], &mut Vec<Verdict>) + 'static) -> Count {
    let mut verdicts = Vec::new();
    Box::new(move |set, part| {
        let mut found = 0;
        for chunk in set.boards[part].chunks(CHUNK) {
            verdicts.clear();
            solve(chunk, &mut verdicts);
            found += verdicts.iter().map(|verdict: &Verdict| verdict.solutions).sum::<u64>();
        }
        found
    })
}

/// Engines of others.
#[cfg(feature = "peers")]
fn peers() -> Vec<Contestant> {
    let count = |set: &Set, part: Range<usize>| {
        set.of_peer[part].iter().map(|puzzle| puzzle.solutions_count_up_to(2) as u64).sum()
    };
    vec![Contestant { name: "sudoku crate".to_owned(), share: 1, run: Box::new(count) }]
}

#[cfg(not(feature = "peers"))]
fn peers() -> Vec<Contestant> {
    Vec::new()
}

fn as_json(rows: &[Row]) -> Result<String, Failure> {
    let line = |row| serde_json::to_string(row).map(|text| text + "\n");
    rows.iter().map(line).collect::<Result<_, _>>().map_err(|e| Failure::new(Exit::Internal, e.to_string()))
}

fn as_table(rows: &[Row]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let mut text =
        format!("{}: {} puzzles, counting to 2, {} rounds\n", first.set, first.puzzles, first.rounds);
    text += &format!("  {:<16}{:>12}{:>10}   quartiles\n", "engine", "us/puzzle", "ratio");
    for row in rows {
        let [low, high] = row.quartiles;
        text += &format!(
            "  {:<16}{:>12.3}{:>10.2}   {low:.2} .. {high:.2}\n",
            row.engine,
            row.ns / 1e3,
            row.ratio
        );
    }
    text + "\n"
}
