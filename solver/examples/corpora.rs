//! Puts every sudoku file of a folder through everything: solves each puzzle by the task and verifies the answer, counts it
//! by every 9x9 engine, one in a hundred by the oracle too, and holds its minimal form against that of a random image.
//!
//! `cargo run --release -p puzzled-solver --example corpora -- FOLDER` takes files `*.txt` with one puzzle a line,
//! also `puzzle:count:solution`, and leaves out files whose first line is no sudoku. Ends with an error at the first
//! answer that is wrong. The sets are too large for the repository; any folder of them will do.

use std::collections::HashSet;
use std::error::Error;
use std::path::Path;
use std::{env, fs};

use puzzled_solver::sudoku::{
    Bitmask, Board, Canonicalizer, ExactCover, LaneEngine, Morph, NoForm, Verdict, Width,
};
use puzzled_solver::{Budget, Kind, OutcomeKind, Outcomes, Task};

const SLICE: usize = 1024;

/// Counting stops here; the oracle needs that to end with puzzles of a million solutions.
const LIMIT: u64 = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args().nth(1).ok_or("usage: corpora FOLDER")?;
    let mut files: Vec<_> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_, std::io::Error>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    for path in &files {
        check_file(path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// One line: a puzzle, then perhaps its number of solutions and its solution.
type Line<'a> = Vec<&'a [u8]>;

fn check_file(path: &Path) -> Result<(), Box<dyn Error>> {
    let text = fs::read(path)?;
    let lines: Vec<Line<'_>> = text
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| line.split(|&byte| byte == b':').collect())
        .collect();
    let first = lines.first().and_then(|fields| Task::guess(fields[0]));
    if first.is_none_or(|task| task.kind() != Kind::Sudoku) {
        return Ok(());
    }
    let counts = solve(&lines)?;
    let boards: Vec<_> = lines.iter().filter_map(|fields| Board::from_line(fields[0])).collect();
    let sampled = count_by_every_engine(&boards)?;
    let forms = minimal_forms(&boards)?;
    print!("{}: {} lines, {} 9x9", path.display(), lines.len(), boards.len());
    print!(" by every engine, {sampled} by the oracle, {forms} different");
    for (kind, count) in OutcomeKind::ALL.iter().zip(counts).filter(|&(_, count)| count > 0) {
        print!(", {count} {}", kind.name());
    }
    println!();
    Ok(())
}

/// Solves all lines by the task and holds the answers against the checker and what the file says. Gives the number of
/// outcomes of each kind.
fn solve(lines: &[Line<'_>]) -> Result<[u64; OutcomeKind::ALL.len()], Box<dyn Error>> {
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
                return Err(format!("wrong answer to {}", fields[0].escape_ascii()).into());
            }
        }
        for (sum, count) in counts.iter_mut().zip(outcomes.counts()) {
            *sum += u64::from(count);
        }
    }
    Ok(counts)
}

/// Counts solutions by every engine and width, and by the oracle for one board in a hundred; gives the number of the
/// latter.
fn count_by_every_engine(boards: &[Board]) -> Result<usize, String> {
    let unlimited = Budget::unlimited();
    let mut reference = Vec::new();
    Bitmask::new().solve_many(boards, LIMIT, &unlimited, &mut reference);
    for width in Width::available() {
        let mut found = Vec::new();
        let mut engine = LaneEngine::with_width(width).ok_or("an available width is not")?;
        engine.solve_many(boards, LIMIT, &unlimited, &mut found);
        same_counts(&format!("{width:?}"), boards, &found, &reference)?;
    }
    let sample: Vec<_> = boards.iter().step_by(100).copied().collect();
    let mut by_oracle = Vec::new();
    ExactCover::new(3).solve_many(&sample, LIMIT, &unlimited, &mut by_oracle);
    let reference: Vec<_> = reference.iter().step_by(100).copied().collect();
    same_counts("the oracle", &sample, &by_oracle, &reference)?;
    Ok(sample.len())
}

fn same_counts(name: &str, boards: &[Board], found: &[Verdict], expected: &[Verdict]) -> Result<(), String> {
    match found.iter().zip(expected).position(|(found, expected)| found.solutions != expected.solutions) {
        None => Ok(()),
        Some(index) => Err(format!("{name} and bit masks disagree on {}", text(&boards[index]))),
    }
}

/// Finds the minimal form of every board, of a random image of it and of the form itself: all must be the same. Gives
/// the number of different forms.
fn minimal_forms(boards: &[Board]) -> Result<usize, String> {
    let mut canonicalizer = Canonicalizer::default();
    let mut random = Random(1);
    let mut forms = HashSet::new();
    for board in boards {
        let morph = random.morph();
        let found = match canonicalizer.canonical(board, &Budget::unlimited()) {
            Err(NoForm::Clash(_)) => continue,
            found => found.map_err(|error| error.to_string())?,
        };
        let same = [morph.apply(board), found.form].iter().all(|image| {
            let of_image = canonicalizer.canonical(image, &Budget::unlimited());
            of_image.is_ok_and(|other| {
                (other.form, other.automorphisms) == (found.form, found.automorphisms)
                    && other.morph.apply(image) == found.form
            })
        });
        if !same || found.morph.apply(board) != found.form {
            return Err(format!("two minimal forms of {} by {morph}", text(board)));
        }
        forms.insert(found.form);
    }
    Ok(forms.len())
}

fn text(board: &Board) -> String {
    let mut text = Vec::new();
    board.write(&mut text);
    text.escape_ascii().to_string()
}

/// Xorshift: plenty for images, and the same on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as usize % limit
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    fn morph(&mut self) -> Morph {
        let mut lines = || {
            let mut bands = [[0, 1, 2], [3, 4, 5], [6, 7, 8]];
            bands.iter_mut().for_each(|band| self.shuffle(band));
            self.shuffle(&mut bands);
            std::array::from_fn(|place| bands[place / 3][place % 3])
        };
        let (rows, columns) = (lines(), lines());
        let mut digits = [0, 1, 2, 3, 4, 5, 6, 7, 8];
        self.shuffle(&mut digits);
        Morph::new(self.below(2) == 1, rows, columns, digits).expect("bands stay together")
    }
}
