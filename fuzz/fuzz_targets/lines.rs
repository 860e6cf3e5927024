//! Any bytes as an input file, read in pieces of any size: the lines are those of a plain split.
#![no_main]

use std::io::Read;

use libfuzzer_sys::fuzz_target;
use puzzled_producer::lines::{LINE_BYTES_MAX, Line, Lines};

/// Hands out `step` bytes a read.
struct Drip<'a>(&'a [u8], usize);

impl Read for Drip<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.1.min(self.0.len()).min(buffer.len());
        buffer[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

fuzz_target!(|input: (u16, bool, &[u8])| {
    // One byte in sixteen stands for many, so that lines too long come up.
    let mut file = Vec::new();
    for &byte in input.2 {
        let count = if byte % 16 == 9 { LINE_BYTES_MAX / 2 + usize::from(byte) } else { 1 };
        file.resize(file.len() + count, byte);
    }
    let text = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&file);
    let mut expected: Vec<_> = text
        .split(|&byte| byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .map(|line| (line.len() <= LINE_BYTES_MAX).then_some(line))
        .collect();
    if text.is_empty() || text.ends_with(b"\n") {
        expected.pop();
    }

    let mut lines = Lines::new(Drip(&file, usize::from(input.0) + 1));
    let show = |line: Line<'_>| match line {
        Line::Text(text) => Some(text.to_vec()),
        Line::TooLong => None,
    };
    if input.1 {
        let first = lines.peek().expect("no errors").map(show);
        assert_eq!(first.as_ref().map(Option::as_deref), expected.first().copied());
    }
    let mut found = Vec::new();
    loop {
        while let Some(line) = lines.buffered() {
            found.push(show(line));
        }
        if !lines.fill().expect("no errors") {
            break;
        }
    }
    while let Some(line) = lines.buffered() {
        found.push(show(line));
    }
    assert_eq!(found.iter().map(Option::as_deref).collect::<Vec<_>>(), expected);
    assert_eq!(lines.consumed(), file.len() as u64);
});
