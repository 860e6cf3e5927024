//! Solves every sudoku file of a folder, verifies every answer, and holds one puzzle in a thousand against the oracle.
//!
//! `cargo run --release -p puzzled-solver --example corpora -- FOLDER` takes files `*.txt` with one puzzle a line,
//! also `puzzle:count:solution`, and leaves out files whose first line is no sudoku. Ends with an error at the first
//! answer that is wrong. The sets are too large for the repository; any folder of them will do.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use puzzled_solver::sudoku::{Bitmask, Board, ExactCover};
use puzzled_solver::{Budget, Kind, OutcomeKind, Outcomes, Task};

const SLICE: usize = 1024;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args().nth(1).ok_or("usage: corpora FOLDER")?;
    let mut files: Vec<_> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_, std::io::Error>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    for path in &files {
        check_file(path)?;
    }
    Ok(())
}

fn check_file(path: &Path) -> Result<(), Box<dyn Error>> {
    let text = fs::read(path)?;
    let lines: Vec<Vec<&[u8]>> = text
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| line.split(|&byte| byte == b':').collect())
        .collect();
    let first = lines.first().and_then(|fields| Task::guess(fields[0]));
    if first.is_none_or(|task| task.kind() != Kind::Sudoku) {
        return Ok(());
    }
    let task: Task = "sudoku.solve".parse()?;
    let mut engine = task.engine();
    let mut counts = [0u64; OutcomeKind::ALL.len()];
    for slice in lines.chunks(SLICE) {
        let puzzles: Vec<_> = slice.iter().map(|fields| fields[0]).collect();
        let mut outcomes = Outcomes::new();
        engine.solve(&puzzles, &Budget::unlimited(), &mut outcomes);
        for (fields, outcome) in slice.iter().zip(outcomes.iter()) {
            let expected = fields.get(2).copied().filter(|_| outcome.kind == OutcomeKind::Solved);
            if !task.verify(fields[0], outcome) || expected.is_some_and(|answer| answer != outcome.text) {
                return Err(
                    format!("{}: wrong answer to {}", path.display(), fields[0].escape_ascii()).into()
                );
            }
        }
        for (sum, count) in counts.iter_mut().zip(outcomes.counts()) {
            *sum += u64::from(count);
        }
    }
    let sampled = compare_with_oracle(&lines).map_err(|puzzle| format!("{}: {puzzle}", path.display()))?;
    print!("{}: {} lines, {sampled} held against the oracle", path.display(), lines.len());
    for (kind, count) in OutcomeKind::ALL.iter().zip(counts).filter(|&(_, count)| count > 0) {
        print!(", {count} {}", kind.name());
    }
    println!();
    Ok(())
}

/// Counts solutions by both engines; gives the number of puzzles compared, or the first they differ on.
fn compare_with_oracle(lines: &[Vec<&[u8]>]) -> Result<usize, String> {
    const LIMIT: u64 = 1000;
    let boards: Vec<_> =
        lines.iter().step_by(1000).filter_map(|fields| Board::from_line(fields[0])).collect();
    let (mut fast, mut oracle) = (Vec::new(), Vec::new());
    Bitmask::new().solve_many(&boards, LIMIT, &Budget::unlimited(), &mut fast);
    ExactCover::new(3).solve_many(&boards, LIMIT, &Budget::unlimited(), &mut oracle);
    match fast.iter().zip(&oracle).position(|(fast, oracle)| fast.solutions != oracle.solutions) {
        None => Ok(boards.len()),
        Some(index) => {
            let mut line = Vec::new();
            boards[index].write(&mut line);
            Err(format!("the engines disagree on {}", line.escape_ascii()))
        }
    }
}
