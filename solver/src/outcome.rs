//! Outcomes: the answers to jobs, kept flat in the very bytes that go over the wire.
//!
//! ```text
//! bytes   = 4 8 3 .. 1 \n 0 \n ! c o l u m n .. \n      one record per job: tag, text, newline
//! ends              ^      ^                     ^      where each record ends
//! ```
//!
//! A run of jobs is one slice of `bytes`: storing, sending and re-reading a chunk copies memory and never walks over
//! objects. A vector of enums with strings inside lost: it costs an allocation per job and a second, encoded copy.

use std::ops::Range;

use memchr::memchr_iter;

/// How a job ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum OutcomeKind {
    /// There is an answer, and it is the text. For a sudoku to solve or check: the only one.
    Solved,
    /// The puzzle is well-formed and has no solution.
    NoSolution,
    /// More solutions than the task asks for: more than one to `solve` (the text is one of them) or to `check` (two of
    /// them), more than the limit for `all` and `count` (the text ends in `+`). Which ones are shown may differ from
    /// engine to engine.
    Multiple,
    /// The line is not a puzzle of this task; the text says why.
    Invalid,
    /// The budget ran out; the text is the best known so far, or empty.
    TimedOut,
    /// The batch was cancelled before the job was done.
    Cancelled,
    /// The job could not be run to an end (it crashed its engine, say); the text says why.
    Failed,
}

impl OutcomeKind {
    /// Every kind, in the order of [`Outcomes::counts`].
    pub const ALL: [OutcomeKind; 7] = [
        Self::Solved,
        Self::NoSolution,
        Self::Multiple,
        Self::Invalid,
        Self::TimedOut,
        Self::Cancelled,
        Self::Failed,
    ];

    /// The name for machines: metrics labels, NDJSON, CSV.
    pub fn name(self) -> &'static str {
        match self {
            Self::Solved => "solved",
            Self::NoSolution => "no_solution",
            Self::Multiple => "multiple",
            Self::Invalid => "invalid",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }

    /// The first byte of a record on the wire.
    pub fn tag(self) -> u8 {
        match self {
            Self::Solved => b'=',
            Self::NoSolution => b'0',
            Self::Multiple => b'*',
            Self::Invalid => b'!',
            Self::TimedOut => b'T',
            Self::Cancelled => b'C',
            Self::Failed => b'F',
        }
    }

    /// The kind with that tag.
    pub fn from_tag(tag: u8) -> Option<OutcomeKind> {
        Some(match tag {
            b'=' => Self::Solved,
            b'0' => Self::NoSolution,
            b'*' => Self::Multiple,
            b'!' => Self::Invalid,
            b'T' => Self::TimedOut,
            b'C' => Self::Cancelled,
            b'F' => Self::Failed,
            _ => return None,
        })
    }

    /// The place in [`OutcomeKind::ALL`] and [`Outcomes::counts`].
    pub fn index(self) -> usize {
        self as usize
    }
}

/// One outcome, borrowed from [`Outcomes`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutcomeRef<'a> {
    /// How the job ended.
    pub kind: OutcomeKind,
    /// The answer (`Solved`, `Multiple`), the reason (`Invalid`, `Failed`), the best so far (`TimedOut`), else empty.
    pub text: &'a [u8],
}

impl OutcomeRef<'_> {
    /// Appends the outcome as a line for people, without the newline: the answer alone (empty for a board that is
    /// solved already), or `NoSolution`, `Invalid: reason`, `TimedOut`, `TimedOut: best`, `Cancelled`,
    /// `Failed: reason`.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        let word: &[u8] = match self.kind {
            OutcomeKind::Solved | OutcomeKind::Multiple => return out.extend_from_slice(self.text),
            OutcomeKind::NoSolution => b"NoSolution",
            OutcomeKind::Invalid => b"Invalid",
            OutcomeKind::TimedOut => b"TimedOut",
            OutcomeKind::Cancelled => b"Cancelled",
            OutcomeKind::Failed => b"Failed",
        };
        out.extend_from_slice(word);
        if !self.text.is_empty() {
            out.extend_from_slice(b": ");
            out.extend_from_slice(self.text);
        }
    }
}

/// A growing list of outcomes in wire form. Clear and reuse it: it keeps its memory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outcomes {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    counts: [u32; OutcomeKind::ALL.len()],
}

/// Why bytes are not the outcomes they should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutcomesError {
    /// A record does not begin with a known tag. Perhaps a newer version wrote it.
    #[error("outcome {index} begins with byte 0x{tag:02x}, which is no known tag")]
    UnknownTag {
        /// Which record, from 0.
        index: usize,
        /// The byte in the tag's place; the newline itself if the record is empty.
        tag: u8,
    },
    /// The last record has no newline.
    #[error("the last outcome is cut short")]
    CutShort,
    /// Another number of records than jobs.
    #[error("{found} outcomes where {expected} were expected")]
    WrongCount {
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// A control character inside a record: nothing of ours writes that, and a terminal might obey it.
    #[error("a control character inside an outcome")]
    ControlCharacter,
    /// Too long to index.
    #[error("outcomes of 4 GiB or more")]
    TooLong,
}

impl Outcomes {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets all outcomes and keeps the memory.
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Adds one. Control characters in the text, which would break the record or the reader's terminal, become
    /// spaces; an answer never has any.
    ///
    /// # Panics
    ///
    /// When all records together reach 4 GiB; chunks are some thousand times smaller.
    pub fn push(&mut self, kind: OutcomeKind, text: &[u8]) {
        self.bytes.push(kind.tag());
        let start = self.bytes.len();
        self.bytes.extend_from_slice(text);
        if has_control(text) {
            for byte in self.bytes[start..].iter_mut().filter(|byte| byte.is_ascii_control()) {
                *byte = b' ';
            }
        }
        self.bytes.push(b'\n');
        self.ends.push(u32::try_from(self.bytes.len()).expect("outcomes stay below 4 GiB"));
        self.counts[kind.index()] += 1;
    }

    /// The outcome of job `index`.
    ///
    /// # Panics
    ///
    /// When `index` is not below [`Outcomes::len`].
    pub fn get(&self, index: usize) -> OutcomeRef<'_> {
        let record = self.records(index..index + 1);
        OutcomeRef { kind: kind_of(record), text: &record[1..record.len() - 1] }
    }

    /// All outcomes, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = OutcomeRef<'_>> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// How many there are of each kind, in the order of [`OutcomeKind::ALL`].
    pub fn counts(&self) -> [u32; 7] {
        self.counts
    }

    /// The raw records of a run of jobs: this is the wire form that [`Outcomes::parse`] reads.
    ///
    /// # Panics
    ///
    /// When the range goes beyond [`Outcomes::len`].
    pub fn records(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[self.start(range.start)..self.start(range.end)]
    }

    /// Reads records written by [`Outcomes::records`]; never panics, whatever the bytes.
    ///
    /// # Errors
    ///
    /// Anything but exactly `expected_len` well-formed records is refused as a whole.
    pub fn parse(bytes: &[u8], expected_len: usize) -> Result<Outcomes, OutcomesError> {
        Self::from_records(bytes.to_vec(), expected_len)
    }

    /// As [`Outcomes::parse`], for bytes that are the caller's: they are not copied.
    ///
    /// # Errors
    ///
    /// As [`Outcomes::parse`].
    pub fn from_records(bytes: Vec<u8>, expected_len: usize) -> Result<Outcomes, OutcomesError> {
        if u32::try_from(bytes.len()).is_err() {
            return Err(OutcomesError::TooLong);
        }
        if bytes.iter().fold(false, |bad, &byte| bad | (byte.is_ascii_control() & (byte != b'\n'))) {
            return Err(OutcomesError::ControlCharacter);
        }
        // Each record takes two bytes or more, so a wild `expected_len` cannot reserve wild memory.
        let mut ends = Vec::with_capacity(expected_len.min(bytes.len() / 2));
        let mut counts = [0; OutcomeKind::ALL.len()];
        let mut start = 0;
        for newline in memchr_iter(b'\n', &bytes) {
            let tag = bytes[start];
            let kind =
                OutcomeKind::from_tag(tag).ok_or(OutcomesError::UnknownTag { index: ends.len(), tag })?;
            counts[kind.index()] += 1;
            start = newline + 1;
            ends.push(start as u32);
        }
        if start != bytes.len() {
            return Err(OutcomesError::CutShort);
        }
        if ends.len() != expected_len {
            return Err(OutcomesError::WrongCount { found: ends.len(), expected: expected_len });
        }
        Ok(Outcomes { bytes, ends, counts })
    }

    /// Forgets all but the first `len` outcomes; does nothing if there are no more.
    pub fn truncate(&mut self, len: usize) {
        if len == 0 {
            self.counts = Default::default();
        } else {
            for index in len..self.len() {
                let kind = self.get(index).kind;
                self.counts[kind.index()] -= 1;
            }
        }
        let bytes_len = if len < self.len() { self.start(len) } else { self.bytes.len() };
        self.bytes.truncate(bytes_len);
        self.ends.truncate(len);
    }

    /// Where record `index` begins; the end of all records for `index == len`.
    fn start(&self, index: usize) -> usize {
        if index == 0 { 0 } else { self.ends[index - 1] as usize }
    }
}

fn kind_of(record: &[u8]) -> OutcomeKind {
    OutcomeKind::from_tag(record[0]).expect("push and parse admit known tags only")
}

/// Whether there is any control character. Written without an early exit, so that it runs a vector at a time.
pub(crate) fn has_control(text: &[u8]) -> bool {
    text.iter().fold(false, |found, byte| found | byte.is_ascii_control())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tags_names_and_places_are_distinct() {
        for (index, kind) in OutcomeKind::ALL.into_iter().enumerate() {
            assert_eq!(OutcomeKind::from_tag(kind.tag()), Some(kind));
            assert_eq!(kind.index(), index);
            assert_eq!(OutcomeKind::ALL.iter().filter(|other| other.name() == kind.name()).count(), 1);
        }
    }

    #[test]
    fn text_for_people() {
        let check = |kind, text: &[u8], expected: &str| {
            let mut out = b">".to_vec();
            OutcomeRef { kind, text }.write_text(&mut out);
            assert_eq!(out[1..], *expected.as_bytes());
        };
        check(OutcomeKind::Solved, b"123", "123");
        check(OutcomeKind::Solved, b"", "");
        check(OutcomeKind::Multiple, b"123", "123");
        check(OutcomeKind::NoSolution, b"", "NoSolution");
        check(OutcomeKind::Invalid, b"column 1: no", "Invalid: column 1: no");
        check(OutcomeKind::TimedOut, b"", "TimedOut");
        check(OutcomeKind::TimedOut, b"12", "TimedOut: 12");
        check(OutcomeKind::Cancelled, b"", "Cancelled");
        check(OutcomeKind::Failed, b"panic", "Failed: panic");
    }

    #[test]
    fn hostile_bytes_are_refused() {
        let check = |bytes: &[u8], expected_len, expected| {
            assert_eq!(Outcomes::parse(bytes, expected_len).map(|_| ()), Err(expected), "{bytes:?}");
        };
        check(b"", 1, OutcomesError::WrongCount { found: 0, expected: 1 });
        check(b"=1\n", usize::MAX, OutcomesError::WrongCount { found: 1, expected: usize::MAX });
        check(b"=1\n=2\n", 1, OutcomesError::WrongCount { found: 2, expected: 1 });
        check(b"=1\n=2", 2, OutcomesError::CutShort);
        check(b"=1\n\n", 2, OutcomesError::UnknownTag { index: 1, tag: b'\n' });
        check(b"?1\n", 1, OutcomesError::UnknownTag { index: 0, tag: b'?' });
        check(b"=\x1b[2J\n", 1, OutcomesError::ControlCharacter);
        assert_eq!(Outcomes::parse(b"", 0), Ok(Outcomes::new()));
    }

    #[test]
    fn truncate_and_clear_keep_the_counts_right() {
        let mut outcomes = Outcomes::new();
        outcomes.push(OutcomeKind::Solved, b"1");
        outcomes.push(OutcomeKind::Invalid, b"a\nb\x07");
        outcomes.push(OutcomeKind::Solved, b"");
        assert_eq!(outcomes.get(1).text, b"a b ");
        outcomes.truncate(7);
        assert_eq!(outcomes.counts(), [2, 0, 0, 1, 0, 0, 0]);
        outcomes.truncate(1);
        assert_eq!((outcomes.len(), outcomes.counts()), (1, [1, 0, 0, 0, 0, 0, 0]));
        assert_eq!(outcomes.records(0..1), b"=1\n");
        outcomes.clear();
        assert_eq!(outcomes, Outcomes::new());
    }

    fn any_outcome() -> impl Strategy<Value = (OutcomeKind, Vec<u8>)> {
        (proptest::sample::select(&OutcomeKind::ALL[..]), proptest::collection::vec(any::<u8>(), 0..20))
    }

    proptest! {
        #[test]
        fn what_is_pushed_reads_back(list in proptest::collection::vec(any_outcome(), 0..20)) {
            let mut outcomes = Outcomes::new();
            for (kind, text) in &list {
                outcomes.push(*kind, text);
            }
            prop_assert_eq!(outcomes.iter().len(), list.len());
            for ((kind, text), outcome) in list.iter().zip(outcomes.iter()) {
                let clean: Vec<u8> =
                    text.iter().map(|&b| if b.is_ascii_control() { b' ' } else { b }).collect();
                prop_assert_eq!((outcome.kind, outcome.text), (*kind, &clean[..]));
            }
            let read = Outcomes::parse(outcomes.records(0..list.len()), list.len());
            prop_assert_eq!(read, Ok(outcomes));
        }

        #[test]
        fn parse_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..100), len in 0usize..10) {
            if let Ok(outcomes) = Outcomes::parse(&bytes, len) {
                prop_assert_eq!(outcomes.records(0..len), &bytes[..]);
            }
        }
    }
}
