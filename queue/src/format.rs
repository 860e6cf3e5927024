//! Outcomes into text, NDJSON or CSV. Pure. Whoever shows outcomes writes them with this: commands and pages alike.

use std::fmt;
use std::io::Write as _;
use std::str::FromStr;

use puzzled_solver::{OutcomeKind, OutcomeRef};

use crate::ids::BatchId;

/// How outcomes are written, always one line a job.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Format {
    /// The answer, or `NoSolution`, `Invalid: reason`, and so on.
    #[default]
    Text,
    /// One JSON object a line: `job`, `line` (index + 1), `puzzle` when it is at hand, `outcome`, then `answer` or
    /// `reason`.
    Ndjson,
    /// A header line, then `index,outcome,answer`, quoted as RFC 4180 says; lines end with LF alone.
    Csv,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 3] = [Format::Text, Format::Ndjson, Format::Csv];

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Ndjson => "ndjson",
            Format::Csv => "csv",
        }
    }

    /// Media type, for an HTTP answer.
    pub fn media_type(self) -> &'static str {
        match self {
            Format::Text => "text/plain; charset=utf-8",
            Format::Ndjson => "application/x-ndjson",
            Format::Csv => "text/csv; charset=utf-8",
        }
    }

    /// How the name of a file ends, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Text => "txt",
            Format::Ndjson => "ndjson",
            Format::Csv => "csv",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that names no format.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no format '{0}': expected text, ndjson or csv")]
pub struct FormatError(String);

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        Self::ALL.into_iter().find(|format| format.name() == text).ok_or_else(|| FormatError(text.to_owned()))
    }
}

/// Writes outcomes of one batch.
#[derive(Clone, Debug)]
pub struct Formatter {
    format: Format,
    batch: BatchId,
}

impl Formatter {
    /// For a batch.
    pub fn new(format: Format, batch: BatchId) -> Self {
        Self { format, batch }
    }

    /// Whether it would show puzzles.
    pub fn wants_puzzles(&self) -> bool {
        self.format == Format::Ndjson
    }

    /// Appends what stands before the first job; returns how many lines that is.
    pub fn begin(&self, out: &mut Vec<u8>) -> u64 {
        match self.format {
            Format::Text | Format::Ndjson => 0,
            Format::Csv => {
                out.extend_from_slice(b"index,outcome,answer\n");
                1
            }
        }
    }

    /// Appends one line. `puzzle` is a line of the payload, where there is one.
    pub fn write(&self, index: u64, puzzle: Option<&[u8]>, outcome: OutcomeRef<'_>, out: &mut Vec<u8>) {
        match self.format {
            Format::Text => outcome.write_text(out),
            Format::Ndjson => self.write_json(index, puzzle, outcome, out),
            Format::Csv => {
                number(index, out);
                out.push(b',');
                out.extend_from_slice(outcome.kind.name().as_bytes());
                out.push(b',');
                csv_field(outcome.text, out);
            }
        }
        out.push(b'\n');
    }

    fn write_json(&self, index: u64, puzzle: Option<&[u8]>, outcome: OutcomeRef<'_>, out: &mut Vec<u8>) {
        written(write!(out, "{{\"job\":\"{}.{index}\",\"line\":{}", self.batch, index + 1));
        // `!reason` stands for a line that is no puzzle.
        if let Some(puzzle) = puzzle.filter(|puzzle| puzzle.first() != Some(&b'!')) {
            out.extend_from_slice(b",\"puzzle\":");
            json_string(puzzle, out);
        }
        written(write!(out, ",\"outcome\":\"{}\"", outcome.kind.name()));
        let key: &[u8] = match outcome.kind {
            OutcomeKind::Solved | OutcomeKind::Multiple => b",\"answer\":",
            OutcomeKind::TimedOut if !outcome.text.is_empty() => b",\"answer\":",
            OutcomeKind::Invalid | OutcomeKind::Failed => b",\"reason\":",
            OutcomeKind::TimedOut | OutcomeKind::NoSolution | OutcomeKind::Cancelled => b"",
        };
        if !key.is_empty() {
            out.extend_from_slice(key);
            json_string(outcome.text, out);
        }
        out.push(b'}');
    }
}

fn number(value: u64, out: &mut Vec<u8>) {
    written(write!(out, "{value}"));
}

/// Writing to a vector cannot fail.
fn written(result: std::io::Result<()>) {
    debug_assert!(result.is_ok());
}

fn json_string(text: &[u8], out: &mut Vec<u8>) {
    let plain = |byte: u8| (0x20..0x7f).contains(&byte) && byte != b'"' && byte != b'\\';
    if text.iter().fold(true, |all, &byte| all & plain(byte)) {
        out.push(b'"');
        out.extend_from_slice(text);
        out.push(b'"');
    } else {
        let text = serde_json::Value::from(String::from_utf8_lossy(text));
        written(write!(out, "{text}"));
    }
}

fn csv_field(text: &[u8], out: &mut Vec<u8>) {
    if memchr::memchr3(b',', b'"', b'\r', text).is_none() && !text.contains(&b'\n') {
        return out.extend_from_slice(text);
    }
    out.push(b'"');
    for &byte in text {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    const BATCH: &str = "01997e60-5bd0-7cc1-8d1e-3b1f0a2c4d5e";

    fn check(format: Format, kind: OutcomeKind, text: &[u8], puzzle: Option<&str>, expected: &str) {
        let formatter = Formatter::new(format, BATCH.parse().unwrap());
        let mut out = Vec::new();
        formatter.write(7, puzzle.map(str::as_bytes), OutcomeRef { kind, text }, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), format!("{expected}\n"));
    }

    #[test]
    fn text() {
        check(Format::Text, OutcomeKind::Solved, b"lr", None, "lr");
        check(Format::Text, OutcomeKind::Solved, b"", None, "");
        check(Format::Text, OutcomeKind::Invalid, b"empty line", Some("!empty line"), "Invalid: empty line");
    }

    #[test]
    fn ndjson() {
        let head = format!("{{\"job\":\"{BATCH}.7\",\"line\":8");
        let json = |kind, text: &[u8], puzzle, rest: &str| {
            check(Format::Ndjson, kind, text, puzzle, &format!("{head}{rest}}}"));
        };
        json(OutcomeKind::Solved, b"l", Some("x1"), r#","puzzle":"x1","outcome":"solved","answer":"l""#);
        json(OutcomeKind::Solved, b"", None, r#","outcome":"solved","answer":"""#);
        json(OutcomeKind::NoSolution, b"", None, r#","outcome":"no_solution""#);
        json(OutcomeKind::TimedOut, b"", None, r#","outcome":"timed_out""#);
        json(OutcomeKind::TimedOut, b"ll", None, r#","outcome":"timed_out","answer":"ll""#);
        json(
            OutcomeKind::Invalid,
            "a \"q\" \\ \u{e9}".as_bytes(),
            Some("!a"),
            ",\"outcome\":\"invalid\",\"reason\":\"a \\\"q\\\" \\\\ \u{e9}\"",
        );
        json(OutcomeKind::Failed, b"\xff", None, ",\"outcome\":\"failed\",\"reason\":\"\u{fffd}\"");
    }

    #[test]
    fn csv() {
        check(Format::Csv, OutcomeKind::Solved, b"123", None, "7,solved,123");
        check(Format::Csv, OutcomeKind::NoSolution, b"", None, "7,no_solution,");
        check(Format::Csv, OutcomeKind::Invalid, b"a, \"b\"", None, "7,invalid,\"a, \"\"b\"\"\"");
        let mut out = Vec::new();
        assert_eq!(Formatter::new(Format::Csv, BATCH.parse().unwrap()).begin(&mut out), 1);
        assert_eq!(out, b"index,outcome,answer\n");
    }

    #[test]
    fn names_read_back() {
        assert!(Format::ALL.iter().all(|format| format.name().parse() == Ok(*format)));
        assert!("xml".parse::<Format>().is_err());
    }

    #[test]
    fn media_types_and_extensions() {
        let of = |format: Format| (format.media_type(), format.extension());
        assert_eq!(of(Format::Text), ("text/plain; charset=utf-8", "txt"));
        assert_eq!(of(Format::Ndjson), ("application/x-ndjson", "ndjson"));
        assert_eq!(of(Format::Csv), ("text/csv; charset=utf-8", "csv"));
    }
}
