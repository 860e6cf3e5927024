//! The two texts that travel: a chunk's payload and a chunk's outcomes.
//!
//! Each is one header line, which names the version, and one line a job. Reading is strict: whatever is not
//! exactly this is refused with a reason, because a lenient reader loses jobs. Examples, and the golden files
//! that hold them fixed, are in `queue/tests/golden`.
//!
//! Version 1 is plain text. In version 2 the same lines are packed (`packing.rs`), and the header ends with the
//! number of odd lines among them. Both are read; which one is written is the producer's choice, and a worker answers
//! in kind.
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

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use bytes::Bytes;
use puzzled_solver::{Outcomes, Task};
use serde::{Deserialize, Serialize};

use crate::{Error, packing};

/// Most jobs in one chunk: what a worker holds at once stays small whatever a producer sends.
pub const JOBS_MAX: u32 = 65_536;

/// Longest line of a payload in bytes; the largest puzzle (25x25) has 625 cells.
pub const LINE_BYTES_MAX: usize = 1024;

/// Texts up to this length travel inside the stream entry and inside the notice: for a few puzzles a round trip
/// costs more than what Lua takes for so few bytes (docs/decisions/0004).
pub const INLINE_BYTES_MAX: usize = 512;

/// How the lines of a payload, and of its outcomes, are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// Two symbols a byte where that gains something: texts up to [`INLINE_BYTES_MAX`], and those that are mostly
    /// other symbols, stay as they are.
    #[default]
    Packed,
    /// As they are: to be read by people, and by programs that know version 1 only.
    Text,
}

impl Encoding {
    /// Both.
    pub const ALL: [Encoding; 2] = [Encoding::Packed, Encoding::Text];

    /// The name in settings and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Packed => "packed",
            Encoding::Text => "text",
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that names no encoding.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no encoding '{0}': expected packed or text")]
pub struct EncodingError(String);

impl FromStr for Encoding {
    type Err = EncodingError;

    fn from_str(text: &str) -> Result<Self, EncodingError> {
        let found = Self::ALL.into_iter().find(|encoding| encoding.name() == text);
        found.ok_or_else(|| EncodingError(text.to_owned()))
    }
}

/// A chunk's puzzles, ready to be stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Payload {
    /// Jobs in it.
    pub jobs: u32,
    /// Header and lines.
    pub bytes: Bytes,
    /// Of the lines, whatever their encoding (see [`crate::Digest`]).
    pub(crate) digest: u128,
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
    task: String,
    encoding: Encoding,
    body: Vec<u8>,
    jobs: u32,
}

impl PayloadWriter {
    /// An empty payload of this task.
    pub fn new(task: &Task, encoding: Encoding) -> Self {
        Self { task: task.to_string(), encoding, body: Vec::new(), jobs: 0 }
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
        let jobs = std::mem::take(&mut self.jobs);
        let bytes = encode('P', &format!("{} {jobs}", self.task), &self.body, self.encoding);
        let digest = crate::digest::of_lines(&self.body);
        self.body.clear();
        Payload { jobs, bytes, digest }
    }
}

/// A payload read back: the task, and one line a job.
#[derive(Debug)]
pub struct PayloadReader<'a> {
    /// What to do with each line.
    pub task: Task,
    /// How it was written: outcomes are written likewise, so that whoever submitted can read them.
    pub encoding: Encoding,
    text: Cow<'a, [u8]>,
    /// Where each line ends, its line end excluded.
    ends: Vec<usize>,
}

impl<'a> PayloadReader<'a> {
    /// Reads a stored payload that must hold `jobs` jobs.
    ///
    /// # Errors
    /// [`Error::UnknownVersion`] for a newer format, [`Error::Malformed`] for anything else that is not a payload.
    pub fn parse(bytes: &'a [u8], jobs: u32) -> Result<Self, Error> {
        let Decoded { fields, text, encoding } = decode(bytes, 'P', 3)?;
        let task = fields[1].parse().map_err(|_| Error::UnknownTask(fields[1].to_owned()))?;
        if fields[2].parse() != Ok(jobs) {
            return Err(malformed(format!("header says {} jobs, the entry says {jobs}", fields[2])));
        }
        let mut ends = Vec::with_capacity(text.len().min(jobs as usize));
        let mut start = 0;
        // Lines of one task are mostly of one length, so look there before searching.
        let mut length = 0;
        while start < text.len() {
            let rest = &text[start..];
            if rest.get(length) != Some(&b'\n') || memchr::memchr(b'\n', &rest[..length]).is_some() {
                length = memchr::memchr(b'\n', rest)
                    .ok_or_else(|| malformed("last line has no end".to_owned()))?;
            }
            if length > LINE_BYTES_MAX {
                return Err(malformed(format!("line of {length} bytes, at most {LINE_BYTES_MAX}")));
            }
            if ends.len() == jobs as usize {
                return Err(malformed(format!("more than {jobs} lines")));
            }
            ends.push(start + length);
            start += length + 1;
        }
        if ends.len() != jobs as usize {
            return Err(malformed(format!("{} lines for {jobs} jobs", ends.len())));
        }
        Ok(Self { task, encoding, text, ends })
    }

    /// The lines, without their ends.
    pub fn lines(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let line = &self.text[start..end];
            start = end + 1;
            line
        })
    }

    /// One line; `None` beyond the last.
    pub fn line(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before] + 1);
        Some(&self.text[start..end])
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

/// Writes a chunk's outcomes: `records` is the wire form of `jobs` outcomes (`Outcomes::records`), `encoding` that of
/// the payload they answer.
pub fn encode_result(facts: &Solved, jobs: u32, records: &[u8], encoding: Encoding) -> Bytes {
    let Solved { first, worker, wait_us, solve_us } = facts;
    encode('R', &format!("{first} {jobs} {worker} {wait_us} {solve_us}"), records, encoding)
}

/// Reads what [`encode_result`] wrote.
///
/// # Errors
/// [`Error::UnknownVersion`] for a newer format, [`Error::Malformed`] for anything else that is not a result.
pub fn decode_result(bytes: &[u8]) -> Result<(Solved, Outcomes), Error> {
    let Decoded { fields, text, .. } = decode(bytes, 'R', 6)?;
    let number = |i: usize| -> Result<u64, Error> {
        fields[i].parse().map_err(|_| malformed(format!("'{}' is not a number", fields[i])))
    };
    let jobs = number(2)?;
    let outcomes = Outcomes::from_records(text.into_owned(), usize::try_from(jobs).unwrap_or(usize::MAX))
        .map_err(|e| malformed(e.to_string()))?;
    let facts =
        Solved { first: number(1)?, worker: fields[3].to_owned(), wait_us: number(4)?, solve_us: number(5)? };
    Ok((facts, outcomes))
}

/// Header and lines in stored form: version 2 where that is wanted and shorter.
fn encode(letter: char, fields: &str, lines: &[u8], encoding: Encoding) -> Bytes {
    if encoding == Encoding::Packed
        && lines.len() > INLINE_BYTES_MAX
        && let Some(packed) = packing::pack(lines, |odd_lines| format!("{letter}2 {fields} {odd_lines}\n"))
    {
        return packed.into();
    }
    [format!("{letter}1 {fields}\n").as_bytes(), lines].concat().into()
}

/// A stored text taken apart.
struct Decoded<'a> {
    /// The header's, the version first; without what only packing needs.
    fields: Vec<&'a str>,
    /// The lines.
    text: Cow<'a, [u8]>,
    encoding: Encoding,
}

/// Splits the header line into `count` fields, the first of which must be a known version of `letter`, and unpacks
/// the lines.
fn decode(bytes: &[u8], letter: char, count: usize) -> Result<Decoded<'_>, Error> {
    const HEADER_BYTES_MAX: usize = 512;
    let end = bytes
        .iter()
        .take(HEADER_BYTES_MAX)
        .position(|&byte| byte == b'\n')
        .ok_or_else(|| malformed("no header line".to_owned()))?;
    let line = std::str::from_utf8(&bytes[..end]).map_err(|_| malformed("header is not text".to_owned()))?;
    let body = &bytes[end + 1..];
    let mut fields: Vec<&str> = line.split(' ').collect();
    let encoding = match fields[0].strip_prefix(letter) {
        Some("1") => Encoding::Text,
        Some("2") => Encoding::Packed,
        Some(digits) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
            return Err(Error::UnknownVersion { found: fields[0].to_owned(), known: "1 and 2" });
        }
        _ => {
            let line = line.escape_debug();
            return Err(malformed(format!("header '{line}' does not begin with {letter} and a version")));
        }
    };
    let expected = count + usize::from(encoding == Encoding::Packed);
    if fields.len() != expected {
        return Err(malformed(format!("header has {} fields, expected {expected}", fields.len())));
    }
    let text = match encoding {
        Encoding::Text => Cow::Borrowed(body),
        Encoding::Packed => {
            let odd_lines = fields.pop().and_then(|field| field.parse().ok());
            let odd_lines = odd_lines.ok_or_else(|| malformed("no number of odd lines".to_owned()))?;
            packing::unpack(body, odd_lines).map_err(|reason| malformed(reason.to_owned()))?.into()
        }
    };
    Ok(Decoded { fields, text, encoding })
}

fn malformed(reason: String) -> Error {
    Error::Malformed(reason)
}
