//! Where and why an input line is not a puzzle.

use std::fmt;

/// Why a line is not a puzzle of the task, with the exact place.
///
/// Columns and lines count from 1; a column counts bytes of the line as it was given, before any trimming.
/// `Display` gives `column 5: expected ..`, or `line 2, column 5: ..` for a grid of several lines. It is one line of
/// text free of control characters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    line: Option<usize>,
    column: usize,
    reason: String,
}

impl ParseError {
    /// An error in a text of one line.
    pub(crate) fn at(column: usize, reason: impl Into<String>) -> Self {
        Self { line: None, column, reason: reason.into() }
    }

    /// An error in a text of several lines.
    pub(crate) fn in_line(line: usize, column: usize, reason: impl Into<String>) -> Self {
        Self { line: Some(line), column, reason: reason.into() }
    }

    /// The line within the given text, from 1; `None` when the text was one line.
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// The column in bytes, from 1. One past the end where something is missing.
    pub fn column(&self) -> usize {
        self.column
    }

    /// The reason without its place.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}, ")?;
        }
        write!(f, "column {}: {}", self.column, self.reason)
    }
}

impl std::error::Error for ParseError {}

/// The character that starts at `text[index]`, quoted for a person: `'x'`, `'é'`, or `byte 0xff` for anything that
/// would not print.
pub(crate) fn shown(text: &[u8], index: usize) -> String {
    let end = text.len().min(index + 4);
    let chunk = text[index..end].utf8_chunks().next();
    match chunk.and_then(|chunk| chunk.valid().chars().next()) {
        Some(' ') => "a space".to_owned(),
        Some(c) if !c.is_control() && !c.is_whitespace() => format!("'{c}'"),
        _ => format!("byte 0x{:02x}", text[index]),
    }
}
