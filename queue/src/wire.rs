//! The two texts that travel: a chunk's payload and a chunk's outcomes.
//!
//! Each is one header line, which names the version, and one line a job. Reading is strict: whatever is not
//! exactly this is refused with a reason, because a lenient reader loses jobs. Examples, and the golden files
//! that hold them fixed, are in `queue/tests/golden`.
//!
//! ```text
//! P1 sudoku.solve 2\n                          version, task, jobs
//! 53..7....6..195....98....6.8...6...\n        canonical puzzle
//! !column 3: expected 1-9 ...\n                the producer could not read this line
//!
//! R1 1024 2 worker-7f3a 1830 2210\n            version, first job, jobs, worker, waited us, solved us
//! =534678912672195348198342567...\n            outcome tag and text
//! !column 3: expected 1-9 ...\n
//! ```

use std::fmt::Write as _;

use bytes::Bytes;
use puzzled_solver::{Outcomes, Task};

use crate::Error;

/// Most jobs in one chunk: what a worker holds at once stays small whatever a producer sends.
pub const JOBS_MAX: u32 = 65_536;

/// Longest line of a payload in bytes; the largest puzzle (25x25) has 625 cells.
pub const LINE_BYTES_MAX: usize = 1024;

/// Texts up to this length travel inside the stream entry and inside the notice: for a few puzzles a round trip
/// costs more than what Lua takes for so few bytes (docs/decisions/0004).
pub const INLINE_BYTES_MAX: usize = 512;

/// A chunk's puzzles, ready to be stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Payload {
    /// Jobs in it.
    pub jobs: u32,
    /// Header and lines.
    pub bytes: Bytes,
}

impl Payload {
    /// Whether it is short enough to travel inside the stream entry.
    pub(crate) fn is_inline(&self) -> bool {
        self.bytes.len() <= INLINE_BYTES_MAX
    }
}

/// Builds a payload line by line.
#[derive(Debug)]
pub struct PayloadWriter {
    header: String,
    body: Vec<u8>,
    jobs: u32,
}

impl PayloadWriter {
    /// An empty payload of this task.
    pub fn new(task: &Task) -> Self {
        Self { header: format!("P1 {task} "), body: Vec::new(), jobs: 0 }
    }

    /// Jobs so far.
    pub fn jobs(&self) -> u32 {
        self.jobs
    }

    /// Adds one job: `write` appends the line, without its end, to the buffer it is given.
    pub fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.body);
        self.body.push(b'\n');
        self.jobs += 1;
    }

    /// The payload, and the writer empty again.
    pub fn take(&mut self) -> Payload {
        let mut bytes = Vec::with_capacity(self.header.len() + 12 + self.body.len());
        bytes.extend_from_slice(self.header.as_bytes());
        bytes.extend_from_slice(self.jobs.to_string().as_bytes());
        bytes.push(b'\n');
        bytes.extend_from_slice(&self.body);
        self.body.clear();
        Payload { jobs: std::mem::take(&mut self.jobs), bytes: bytes.into() }
    }
}

/// A payload read back: the task, and one line a job.
#[derive(Debug)]
pub struct PayloadReader<'a> {
    /// What to do with each line.
    pub task: Task,
    /// The lines, without their ends.
    pub lines: Vec<&'a [u8]>,
}

impl<'a> PayloadReader<'a> {
    /// Reads a stored payload that must hold `jobs` jobs.
    ///
    /// # Errors
    /// [`Error::UnknownVersion`] for a newer format, [`Error::Malformed`] for anything else that is not a payload.
    pub fn parse(bytes: &'a [u8], jobs: u32) -> Result<Self, Error> {
        let (fields, body) = header(bytes, "P1", 3)?;
        let task = fields[1].parse().map_err(|_| Error::UnknownTask(fields[1].to_owned()))?;
        if fields[2].parse() != Ok(jobs) {
            return Err(malformed(format!("header says {} jobs, the entry says {jobs}", fields[2])));
        }
        let mut lines = Vec::with_capacity(jobs as usize);
        let mut rest = body;
        // Lines of one task are mostly of one length, so look there before searching.
        let mut length = 0;
        while !rest.is_empty() {
            if rest.get(length) != Some(&b'\n') || memchr::memchr(b'\n', &rest[..length]).is_some() {
                length = memchr::memchr(b'\n', rest)
                    .ok_or_else(|| malformed("last line has no end".to_owned()))?;
            }
            if length > LINE_BYTES_MAX {
                return Err(malformed(format!("line of {length} bytes, at most {LINE_BYTES_MAX}")));
            }
            if lines.len() == jobs as usize {
                return Err(malformed(format!("more than {jobs} lines")));
            }
            lines.push(&rest[..length]);
            rest = &rest[length + 1..];
        }
        if lines.len() != jobs as usize {
            return Err(malformed(format!("{} lines for {jobs} jobs", lines.len())));
        }
        Ok(Self { task, lines })
    }
}

/// Facts about how a chunk was solved, stored with its outcomes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Solved {
    /// Index of the first job.
    pub first: u64,
    /// Consumer name of the worker.
    pub worker: String,
    /// Time from enqueue to claim, in us.
    pub wait_us: u64,
    /// Time on a solver thread, in us.
    pub solve_us: u64,
}

/// Writes a chunk's outcomes: `records` is the wire form of `jobs` outcomes (`Outcomes::records`).
pub fn encode_result(facts: &Solved, jobs: u32, records: &[u8]) -> Bytes {
    let mut head = String::with_capacity(80);
    // Writing to a String cannot fail.
    let written =
        writeln!(head, "R1 {} {jobs} {} {} {}", facts.first, facts.worker, facts.wait_us, facts.solve_us);
    debug_assert!(written.is_ok());
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(records);
    bytes.into()
}

/// Reads what [`encode_result`] wrote.
///
/// # Errors
/// [`Error::UnknownVersion`] for a newer format, [`Error::Malformed`] for anything else that is not a result.
pub fn decode_result(bytes: &[u8]) -> Result<(Solved, Outcomes), Error> {
    let (fields, body) = header(bytes, "R1", 6)?;
    let number = |i: usize| -> Result<u64, Error> {
        fields[i].parse().map_err(|_| malformed(format!("'{}' is not a number", fields[i])))
    };
    let jobs = number(2)?;
    let outcomes = Outcomes::parse(body, usize::try_from(jobs).unwrap_or(usize::MAX))
        .map_err(|e| malformed(e.to_string()))?;
    let facts =
        Solved { first: number(1)?, worker: fields[3].to_owned(), wait_us: number(4)?, solve_us: number(5)? };
    Ok((facts, outcomes))
}

/// Splits the header line into `count` fields, the first of which must be `version`.
fn header<'a>(
    bytes: &'a [u8],
    version: &'static str,
    count: usize,
) -> Result<(Vec<&'a str>, &'a [u8]), Error> {
    const HEADER_BYTES_MAX: usize = 512;
    let end = bytes
        .iter()
        .take(HEADER_BYTES_MAX)
        .position(|&byte| byte == b'\n')
        .ok_or_else(|| malformed("no header line".to_owned()))?;
    let line = std::str::from_utf8(&bytes[..end]).map_err(|_| malformed("header is not text".to_owned()))?;
    let fields: Vec<&str> = line.split(' ').collect();
    if fields[0] != version {
        let letter_digits = fields[0].strip_prefix(&version[..1]).unwrap_or("");
        return Err(if !letter_digits.is_empty() && letter_digits.bytes().all(|b| b.is_ascii_digit()) {
            Error::UnknownVersion { found: fields[0].to_owned(), known: version }
        } else {
            malformed(format!("header '{}' does not begin with {version}", line.escape_debug()))
        });
    }
    if fields.len() != count {
        return Err(malformed(format!("header has {} fields, expected {count}", fields.len())));
    }
    Ok((fields, &bytes[end + 1..]))
}

fn malformed(reason: String) -> Error {
    Error::Malformed(reason)
}
