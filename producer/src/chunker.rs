//! Lines into chunks. Pure: no input, no output, no clock.
//!
//! Each line is one job and keeps its place, also a bad one: it becomes the text `!reason` in the payload, which every
//! engine answers with `Invalid: reason`. So outcomes and input lines stay side by side without any bookkeeping.

use puzzled_queue::wire::{Encoding, Payload, PayloadWriter};
use puzzled_solver::Task;

use crate::lines::{LINE_BYTES_MAX, Line};

/// A chunk of large puzzles goes before it is full, so that neither Redis nor a worker meets a huge value.
const CHUNK_BYTES_MAX: usize = 1024 * 1024;

/// Longest reason that is stored; a payload line holds 1,024 bytes.
const REASON_BYTES_MAX: usize = 512;

/// Where and why an input line is not a puzzle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadLine {
    /// Line of the input, from 1.
    pub line: u64,
    /// Column in bytes, from 1.
    pub column: usize,
    /// Why.
    pub reason: String,
}

/// Cuts lines into chunks of one batch.
#[derive(Debug)]
pub struct Chunker {
    task: Task,
    chunk_jobs: u32,
    writer: PayloadWriter,
    writer_bytes: usize,
    chunks: Vec<Payload>,
    lines: u64,
    /// Bad lines are described up to this number, then only counted.
    bad_lines_max: u64,
    bad: u64,
    bad_lines: Vec<BadLine>,
    grid: Grid,
}

/// A puzzle may be written on several lines at the beginning of an input, and more of them may follow.
#[derive(Debug)]
enum Grid {
    /// The next line may begin one; `after` another one, where blank lines are mere separators.
    Possible { after: bool },
    /// Lines of a grid so far, and the number of the first.
    Open { text: Vec<u8>, line: u64 },
    /// One puzzle a line from here on.
    No,
}

impl Chunker {
    /// Describes at most `bad_lines_max` bad lines.
    pub fn new(task: &Task, chunk_jobs: u32, encoding: Encoding, bad_lines_max: u64) -> Self {
        Self {
            task: task.clone(),
            chunk_jobs: chunk_jobs.max(1),
            writer: PayloadWriter::new(task, encoding),
            writer_bytes: 0,
            chunks: Vec::new(),
            lines: 0,
            bad_lines_max,
            bad: 0,
            bad_lines: Vec::new(),
            grid: Grid::Possible { after: false },
        }
    }

    /// Takes the next line.
    pub fn push(&mut self, line: Line<'_>) {
        self.lines += 1;
        match (&self.grid, line) {
            (Grid::No, _) => self.job(line, self.lines),
            (Grid::Open { .. }, _) => self.push_to_grid(line),
            (Grid::Possible { .. }, Line::Text(text)) if self.task.begins_grid(text) => {
                self.grid = Grid::Open { text: Vec::new(), line: self.lines };
                self.push_to_grid(line);
            }
            (Grid::Possible { after: true }, Line::Text(text)) if text.trim_ascii().is_empty() => {}
            (Grid::Possible { .. }, _) => {
                self.grid = Grid::No;
                self.job(line, self.lines);
            }
        }
    }

    /// Makes a chunk of the jobs that fill none.
    pub fn flush(&mut self) {
        if self.writer.jobs() > 0 {
            self.chunks.push(self.writer.take());
            self.writer_bytes = 0;
        }
    }

    /// Says that the input is over.
    pub fn finish(&mut self) {
        if let Grid::Open { text, line } = std::mem::replace(&mut self.grid, Grid::No) {
            self.close_grid(&text, line);
        }
        self.flush();
    }

    /// Jobs that fill no chunk yet.
    pub fn open_jobs(&self) -> u32 {
        self.writer.jobs()
    }

    /// Chunks made since the last call.
    pub fn take_chunks(&mut self) -> Vec<Payload> {
        std::mem::take(&mut self.chunks)
    }

    /// How many chunks wait to be taken.
    pub fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// Descriptions of bad lines since the last call.
    pub fn take_bad_lines(&mut self) -> Vec<BadLine> {
        std::mem::take(&mut self.bad_lines)
    }

    /// Bad lines so far, described or not.
    pub fn bad(&self) -> u64 {
        self.bad
    }

    fn push_to_grid(&mut self, line: Line<'_>) {
        let Grid::Open { text, .. } = &mut self.grid else { return };
        let mut complete = true;
        if let Line::Text(row) = line {
            if !text.is_empty() {
                text.push(b'\n');
            }
            text.extend_from_slice(row);
            complete = self.task.grid_is_complete(text);
        }
        if complete {
            let Grid::Open { text, line: first } =
                std::mem::replace(&mut self.grid, Grid::Possible { after: true })
            else {
                return;
            };
            self.close_grid(&text, first);
            if line == Line::TooLong {
                self.grid = Grid::No;
                self.job(line, self.lines);
            }
        }
    }

    /// A whole grid, or what there is of it.
    fn close_grid(&mut self, text: &[u8], first: u64) {
        let mut scratch = Vec::new();
        let is_puzzle = |text: &[u8], out: &mut Vec<u8>| self.task.canonical(text, out).is_ok();
        // A first line cut short looks like a row. If what follows are puzzles by themselves, it was no grid.
        let is_list = !is_puzzle(text, &mut scratch)
            && text.split(|&b| b == b'\n').skip(1).any(|row| is_puzzle(row, &mut scratch));
        if is_list {
            self.grid = Grid::No;
            for (row, line) in text.split(|&b| b == b'\n').zip(first..) {
                self.job(Line::Text(row), line);
            }
        } else {
            self.job(Line::Text(text), first);
        }
    }

    /// Adds the job whose text begins at input line `number`.
    fn job(&mut self, line: Line<'_>, number: u64) {
        let mut fault = None;
        let (task, bytes) = (&self.task, &mut self.writer_bytes);
        self.writer.push(|out| {
            let before = out.len();
            let bad = match line {
                Line::TooLong => {
                    Some((0, LINE_BYTES_MAX + 1, format!("line longer than {LINE_BYTES_MAX} bytes"), false))
                }
                Line::Text(text) => match task.canonical(text, out) {
                    Ok(()) => None,
                    Err(_) if text.trim_ascii().is_empty() => Some((0, 1, "empty line".to_owned(), false)),
                    Err(e) => Some((
                        e.line().map_or(0, |l| l as u64 - 1),
                        e.column(),
                        e.to_string(),
                        e.line().is_some(),
                    )),
                },
            };
            if let Some((_, _, reason, _)) = &bad {
                out.push(b'!');
                let cut = reason.floor_char_boundary(REASON_BYTES_MAX);
                out.extend_from_slice(&reason.as_bytes()[..cut]);
            }
            fault = bad;
            *bytes += out.len() - before + 1;
        });
        if let Some((below, column, reason, _)) = fault {
            self.bad += 1;
            if self.bad <= self.bad_lines_max {
                // The report has the place in front.
                let reason = reason.split_once(&format!("column {column}: ")).map_or(&reason[..], |(_, r)| r);
                self.bad_lines.push(BadLine { line: number + below, column, reason: reason.to_owned() });
            }
        }
        if self.writer.jobs() == self.chunk_jobs || self.writer_bytes >= CHUNK_BYTES_MAX {
            self.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EASY: &str = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79";

    /// Chunks as `jobs|jobs`, jobs separated by commas, then the bad lines.
    fn check(task: &str, chunk_jobs: u32, input: &str, expected: &str) {
        let mut chunker = Chunker::new(&task.parse().unwrap(), chunk_jobs, Encoding::Packed, 3);
        for line in input.split('\n') {
            chunker.push(if line == "LONG" { Line::TooLong } else { Line::Text(line.as_bytes()) });
        }
        chunker.finish();
        let chunks = chunker.take_chunks();
        let mut found = Vec::new();
        for chunk in &chunks {
            let read = puzzled_queue::wire::PayloadReader::parse(&chunk.bytes, chunk.jobs).unwrap();
            assert_eq!(read.task, task.parse().unwrap());
            let lines: Vec<_> = read.lines().map(String::from_utf8_lossy).collect();
            found.push(lines.join(","));
        }
        let mut found = found.join("|");
        for bad in chunker.take_bad_lines() {
            found += &format!(" {}:{}:{}", bad.line, bad.column, bad.reason);
        }
        if chunker.bad() > 3 {
            found += &format!(" +{}", chunker.bad() - 3);
        }
        assert_eq!(found, expected);
    }

    #[test]
    fn chunks_are_cut_by_number() {
        check("slide.solve", 2, "12345678x\n1 2 3 4 5 6 7 x 8\n1234x5786", "12345678x,1234567x8|1234x5786");
        check("slide.solve", 3, "12345678x\n1234567x8\n1234x5786", "12345678x,1234567x8,1234x5786");
    }

    #[test]
    fn a_bad_line_keeps_its_place_and_is_described() {
        check(
            "slide.solve",
            9,
            "12345678x\n\nLONG\n1234567x8",
            "12345678x,!empty line,!line longer than 4096 bytes,1234567x8 \
             2:1:empty line 3:4097:line longer than 4096 bytes",
        );
        check(
            "slide.solve",
            9,
            "\n\n\n\n ",
            "!empty line,!empty line,!empty line,!empty line,!empty line \
             1:1:empty line 2:1:empty line 3:1:empty line +2",
        );
    }

    fn grid(puzzle: &str) -> String {
        puzzle.as_bytes().chunks(9).map(|row| String::from_utf8_lossy(row)).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn grids_at_the_beginning() {
        check("sudoku.solve", 9, &grid(EASY), EASY);
        check("sudoku.solve", 9, &format!("{}\n\n\n{}", grid(EASY), grid(EASY)), &format!("{EASY},{EASY}"));
        check(
            "sudoku.solve",
            9,
            &format!("{}\n{EASY}\n{EASY}", grid(EASY)),
            &format!("{EASY},{EASY},{EASY}"),
        );
    }

    #[test]
    fn a_first_line_cut_short_swallows_nobody() {
        let list = [&EASY[..9]].into_iter().chain([EASY; 10]).collect::<Vec<_>>().join("\n");
        let mut chunker = Chunker::new(&"sudoku.solve".parse().unwrap(), 100, Encoding::Packed, 0);
        list.split('\n').for_each(|line| chunker.push(Line::Text(line.as_bytes())));
        chunker.finish();
        assert_eq!((chunker.take_chunks()[0].jobs, chunker.bad()), (11, 1));
    }

    #[test]
    fn a_grid_with_a_fault_is_one_job_with_its_place() {
        let faulty = grid(EASY).replacen("98", "9x", 1);
        let mut chunker = Chunker::new(&"sudoku.solve".parse().unwrap(), 100, Encoding::Packed, 1);
        faulty.split('\n').for_each(|line| chunker.push(Line::Text(line.as_bytes())));
        chunker.finish();
        assert_eq!(chunker.take_chunks()[0].jobs, 1);
        let bad = &chunker.take_bad_lines()[0];
        assert_eq!((bad.line, bad.column), (3, 3), "{bad:?}");
    }

    #[test]
    fn large_puzzles_make_chunks_of_bounded_size() {
        let mut chunker = Chunker::new(&"sudoku.solve".parse().unwrap(), u32::MAX, Encoding::Packed, 0);
        let line = [b'.'; 625];
        (0..4000).for_each(|_| chunker.push(Line::Text(&line)));
        chunker.finish();
        let chunks = chunker.take_chunks();
        assert_eq!(chunks.iter().map(|chunk| chunk.jobs).sum::<u32>(), 4000);
        assert!(chunks.iter().all(|chunk| chunk.bytes.len() < CHUNK_BYTES_MAX + 1024));
    }
}
