//! Bytes into lines with bounded memory. Knows nothing of puzzles.
//!
//! Blocking reads on a thread of its own: an async read of a file is a blocking read on somebody else's thread plus
//! two wake-ups, and a line is far too small a thing to be awaited.

use std::io::{self, Read};
use std::ops::Range;

/// Longest line that is kept; the largest puzzle, a 25x25 sudoku with separators, is well below.
pub const LINE_BYTES_MAX: usize = 4096;

/// Read at once. Large enough that system calls cost nothing, small enough to stay in the second-level cache.
const BLOCK_BYTES: usize = 128 * 1024;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// One input line, without its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line<'a> {
    /// What it says.
    Text(&'a [u8]),
    /// It is longer than [`LINE_BYTES_MAX`]; its text was thrown away.
    TooLong,
}

/// Cuts a reader into lines. LF ends a line, a CR before it goes; the last line may lack its end; a byte order mark
/// at the very beginning is dropped. Memory stays at one block, however long a line is.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were read.
    end: usize,
    place: Place,
    ended: bool,
    consumed: u64,
}

/// How far lines were taken.
#[derive(Clone, Copy, Default, Debug)]
struct Place {
    /// First byte not taken.
    start: usize,
    /// Bytes from there on that are known to hold no line end.
    searched: usize,
    /// Inside a line that is too long, and was told.
    skipping: bool,
    /// The beginning was looked at for a byte order mark.
    begun: bool,
}

impl<R: Read> Lines<R> {
    /// Reads nothing yet.
    pub fn new(reader: R) -> Self {
        Self {
            reader,
            buffer: vec![0; BLOCK_BYTES],
            end: 0,
            place: Place::default(),
            ended: false,
            consumed: 0,
        }
    }

    /// What it reads from.
    pub fn reader(&self) -> &R {
        &self.reader
    }

    /// Bytes read so far.
    pub fn consumed(&self) -> u64 {
        self.consumed
    }

    /// The next line that is in memory; `None` when [`Lines::fill`] is needed, or, after the end, when all is told.
    pub fn buffered(&mut self) -> Option<Line<'_>> {
        let range = self.take()?;
        Some(self.line(range))
    }

    /// Reads once; `false` at the end of input. Call it when [`Lines::buffered`] has nothing more.
    ///
    /// # Errors
    /// What the reader said.
    pub fn fill(&mut self) -> io::Result<bool> {
        let start = self.place.start;
        if start == self.end || self.end == self.buffer.len() {
            self.buffer.copy_within(start..self.end, 0);
            self.end -= start;
            self.place.start = 0;
        }
        let fresh = loop {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.end += fresh;
        self.consumed += fresh as u64;
        self.ended = fresh == 0;
        Ok(!self.ended)
    }

    /// The first line, without taking it; reads as much as that needs. `None` when the input is empty.
    ///
    /// # Errors
    /// What the reader said.
    pub fn peek(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            let before = self.place;
            if let Some(range) = self.take() {
                self.place = before;
                return Ok(Some(self.line(range)));
            }
            if self.ended {
                return Ok(None);
            }
            self.fill()?;
        }
    }

    /// Where the next line is, its LF excluded; an empty option inside means that it is too long.
    fn take(&mut self) -> Option<Option<Range<usize>>> {
        let place = &mut self.place;
        if !place.begun {
            let text = &self.buffer[place.start..self.end];
            if text.len() < BOM.len() && BOM.starts_with(text) && !self.ended {
                return None;
            }
            place.begun = true;
            place.start += if text.starts_with(BOM) { BOM.len() } else { 0 };
        }
        while let Some(offset) = memchr::memchr(b'\n', &self.buffer[place.start + place.searched..self.end]) {
            let range = place.start..place.start + place.searched + offset;
            (place.start, place.searched) = (range.end + 1, 0);
            if !std::mem::take(&mut place.skipping) {
                return Some(Some(range));
            }
        }
        let range = place.start..self.end;
        // One more for a CR whose LF is still to come.
        let too_long = range.len() > LINE_BYTES_MAX + 1;
        if place.skipping || too_long || self.ended {
            (place.start, place.searched) = (self.end, 0);
        } else {
            place.searched = range.len();
            return None;
        }
        if place.skipping || range.is_empty() {
            return None;
        }
        place.skipping = too_long;
        Some(if too_long { None } else { Some(range) })
    }

    fn line(&self, range: Option<Range<usize>>) -> Line<'_> {
        let Some(range) = range else { return Line::TooLong };
        let text = &self.buffer[range];
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        if text.len() > LINE_BYTES_MAX { Line::TooLong } else { Line::Text(text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out `step` bytes a read.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(self.0.len()).min(buffer.len());
            buffer[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn cut(input: &[u8], step: usize, peek: bool) -> Vec<String> {
        let show = |line: Line<'_>| match line {
            Line::Text(text) if text.len() > 20 => format!("{} bytes", text.len()),
            Line::Text(text) => text.escape_ascii().to_string(),
            Line::TooLong => "too long".to_owned(),
        };
        let mut lines = Lines::new(Drip(input, step));
        let first = if peek { lines.peek().unwrap().map(show) } else { None };
        let mut found = Vec::new();
        loop {
            while let Some(line) = lines.buffered() {
                found.push(show(line));
            }
            if lines.ended {
                break;
            }
            lines.fill().unwrap();
        }
        if peek {
            assert_eq!(
                first.as_ref(),
                found.first(),
                "peek of {:?}",
                &input[..input.len().min(40)].escape_ascii()
            );
        }
        assert_eq!(lines.buffer.len(), BLOCK_BYTES);
        found
    }

    fn check(input: &[u8], expected: &[&str]) {
        for step in [1, 2, 3, 7, 1000, usize::MAX] {
            for peek in [false, true] {
                assert_eq!(cut(input, step, peek), expected, "{step} bytes a read, peek {peek}");
            }
        }
    }

    #[test]
    fn line_ends_of_every_sort() {
        check(b"", &[]);
        check(b"\n", &[""]);
        check(b"a", &["a"]);
        check(b"a\n", &["a"]);
        check(b"a\r\n\r\nb\r\n", &["a", "", "b"]);
        check(b"a\n\nb", &["a", "", "b"]);
        check(b"a\rb\n\r", &["a\\rb", ""]);
        check(b"\x00\xff\n\xfe", &["\\x00\\xff", "\\xfe"]);
    }

    #[test]
    fn a_byte_order_mark_goes_at_the_beginning_only() {
        check(b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", &["a", "\\xef\\xbb\\xbfb"]);
        check(b"\xef\xbb\xbf", &[]);
        check(b"\xef\xbba\n", &["\\xef\\xbba"]);
        check(b"\xef\xbb\xbf\n", &[""]);
    }

    #[test]
    fn long_lines_are_skipped_without_being_held() {
        let line = |n: usize| [vec![b'x'; n], b"\r\nnext\n".to_vec()].concat();
        check(&line(LINE_BYTES_MAX), &["4096 bytes", "next"]);
        check(&line(LINE_BYTES_MAX + 1), &["too long", "next"]);
        check(&line(LINE_BYTES_MAX + 2), &["too long", "next"]);
        check(&line(3 * BLOCK_BYTES), &["too long", "next"]);
        check(&vec![b'x'; 3 * BLOCK_BYTES], &["too long"]);
        check(&vec![b'x'; LINE_BYTES_MAX + 1], &["too long"]);
    }

    #[test]
    fn many_lines_over_many_blocks() {
        let input: Vec<u8> = (0..50_000).flat_map(|i| format!("{i}\n").into_bytes()).collect();
        let expected: Vec<String> = (0..50_000).map(|i: u32| i.to_string()).collect();
        assert_eq!(cut(&input, usize::MAX, true), expected);
        assert_eq!(cut(&input, 4093, false), expected);
    }
}
