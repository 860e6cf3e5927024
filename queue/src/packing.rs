//! Lines over sixteen symbols, two to a byte: what version 2 of the wire makes of a text. Pure, and knows of no jobs.
//!
//! ```text
//! symbol   0 .. 9   *    line end   blank   =    .    ?
//! half     0 .. 9   a    b          c       d    e    f
//!
//! 53..7....\n !column 3: no\n 1.\n    ->    !column 3: no\n  53 ee 7e ee eb fb 1e bf
//! ```
//!
//! The first of two symbols is the upper half, so a hex dump reads as the text; `f` fills the last byte up. A line
//! with any other symbol is *odd*: a lone `?` stands for it, and it goes in front as it is. All symbols but line end
//! and blank are the low four bits of their ASCII code, so that packing is arithmetic on whole vectors.
//!
//! What lost: a mask of givens with their digits, and ranks of rows for solutions, halve the bytes again to 20 a
//! puzzle and cost ten times as much to compute as that saves (docs/performance.md).

/// Symbols packed at once: two of the narrowest vectors.
const BLOCK: usize = 32;

/// The symbols, each at the place of its half.
const SYMBOLS: &[u8; 16] = b"0123456789*\n =.?";

/// Stands for an odd line; last of the symbols.
const ODD: u8 = b'?';

/// Both symbols of a byte.
const PAIRS: [[u8; 2]; 256] = {
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [SYMBOLS[byte >> 4], SYMBOLS[byte & 0xf]];
        byte += 1;
    }
    pairs
};

/// Packs whole lines behind the header that `head` makes for a number of odd lines. `None` when that would be no
/// shorter than the text.
pub(crate) fn pack(text: &[u8], head: impl Fn(usize) -> String) -> Option<Vec<u8>> {
    let mut out = head(0).into_bytes();
    if push_halves(text, &mut out) {
        return Some(out).filter(|out| out.len() < text.len());
    }
    let (mut even, mut odd, mut odd_lines) = (Vec::with_capacity(text.len()), Vec::new(), 0);
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        if line.iter().all(|&symbol| fits(symbol)) {
            even.extend_from_slice(line);
        } else {
            odd.extend_from_slice(line);
            even.extend_from_slice(&[ODD, b'\n']);
            odd_lines += 1;
        }
    }
    out.clear();
    out.extend_from_slice(head(odd_lines).as_bytes());
    out.extend_from_slice(&odd);
    // Every other line fits now; the sign for odd ones is packed like them.
    push_halves(&even, &mut out);
    Some(out).filter(|out| out.len() < text.len())
}

/// The text of what [`pack`] put behind the header.
///
/// # Errors
/// What is wrong. The text is at most twice as long as what is read, whatever that says of itself.
pub(crate) fn unpack(packed: &[u8], odd_lines: usize) -> Result<Vec<u8>, &'static str> {
    let mut halves = packed;
    let mut odd = Vec::new();
    for _ in 0..odd_lines {
        let end = memchr::memchr(b'\n', halves).ok_or("fewer odd lines than the header says")?;
        odd.push(&halves[..=end]);
        halves = &halves[end + 1..];
    }
    let mut text = vec![0; halves.len() * 2];
    for (byte, pair) in halves.iter().zip(text.as_chunks_mut().0) {
        *pair = PAIRS[usize::from(*byte)];
    }
    // No text ends with the sign for an odd line, since a line end follows it.
    if text.last() == Some(&ODD) {
        text.pop();
    }
    let mut odd = odd.into_iter();
    let mut signs = memchr::memchr_iter(ODD, &text).peekable();
    if signs.peek().is_none() && odd.len() == 0 {
        return Ok(text);
    }
    let mut whole = Vec::with_capacity(text.len() + packed.len());
    let mut start = 0;
    for sign in signs {
        let is_line =
            text[..sign].last().is_none_or(|&byte| byte == b'\n') && text.get(sign + 1) == Some(&b'\n');
        let line = odd.next().filter(|_| is_line).ok_or("a sign for an odd line that is not there")?;
        whole.extend_from_slice(&text[start..sign]);
        whole.extend_from_slice(line);
        start = sign + 2;
    }
    whole.extend_from_slice(&text[start..]);
    if odd.next().is_some() { Err("an odd line without its sign") } else { Ok(whole) }
}

/// Whether a symbol can be packed where it stands.
fn fits(symbol: u8) -> bool {
    symbol != ODD && SYMBOLS.contains(&symbol)
}

/// Appends a text, two symbols to a byte, the last filled up. Whether every symbol fits; else what was appended is
/// nonsense, except that [`ODD`] is packed like any other.
fn push_halves(text: &[u8], out: &mut Vec<u8>) -> bool {
    out.reserve(text.len().div_ceil(2));
    let mut all_fit = [0xff; BLOCK];
    let (blocks, rest) = text.as_chunks();
    for block in blocks {
        let (bytes, fit) = halves(block);
        out.extend_from_slice(&bytes);
        all_fit.iter_mut().zip(fit).for_each(|(all, fit)| *all &= fit);
    }
    let mut last = [ODD; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    out.extend_from_slice(&halves(&last).0[..rest.len().div_ceil(2)]);
    all_fit == [0xff; BLOCK] && rest.iter().all(|&symbol| fits(symbol))
}

/// Packs a block; the second array is zero where a symbol does not fit.
///
/// Comparisons are masks from the start, joined bit by bit: so the compiler makes vectors of them. Written with `bool`
/// and [`fits`] it makes branches, 25 times as slow; a table of halves takes twice as long.
#[inline(always)]
fn halves(block: &[u8; BLOCK]) -> ([u8; BLOCK / 2], [u8; BLOCK]) {
    let (mut halves, mut fit) = ([0; BLOCK], [0; BLOCK]);
    for i in 0..BLOCK {
        let symbol = block[i];
        let (line_end, blank) = (mask(symbol == b'\n'), mask(symbol == b' '));
        halves[i] = (symbol & 0xf) + (line_end & 1) + (blank & 0xc);
        let sign = mask(symbol == b'*') | mask(symbol == b'=') | mask(symbol == b'.');
        fit[i] = mask(symbol.wrapping_sub(b'0') <= 9) | sign | line_end | blank;
    }
    let mut bytes = [0; BLOCK / 2];
    for (byte, pair) in bytes.iter_mut().zip(halves.as_chunks().0) {
        let pair = u16::from_be_bytes(*pair);
        // The upper byte has nothing above its half, so the lower byte of the sum is both halves.
        *byte = (pair >> 4 | pair) as u8;
    }
    (bytes, fit)
}

fn mask(condition: bool) -> u8 {
    if condition { 0xff } else { 0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packed(text: &[u8]) -> (usize, Vec<u8>) {
        let odd_lines = std::cell::Cell::new(0);
        let head = |count| {
            odd_lines.set(count);
            String::new()
        };
        let packed = pack(text, head).unwrap_or_default();
        (odd_lines.get(), packed)
    }

    #[test]
    fn a_hex_dump_reads_as_the_text() {
        assert_eq!(packed(b"53..7....\n=12\n* 0\n").1, b"\x53\xee\x7e\xee\xeb\xd1\x2b\xac\x0b");
        let (odd_lines, bytes) = packed(b"1.345678901\n!no\n2\n\xff=\n");
        assert_eq!(odd_lines, 2);
        assert_eq!(bytes, b"!no\n\xff=\n\x1e\x34\x56\x78\x90\x1b\xfb\x2b\xfb");
        assert_eq!(packed(b"1.345678901\n!no\n").1, b"!no\n\x1e\x34\x56\x78\x90\x1b\xfb");
        assert_eq!(packed(b"12\n").1, b"\x12\xbf");
    }

    #[test]
    fn every_byte_fits_or_makes_its_line_odd() {
        for byte in (0..=u8::MAX).filter(|&byte| byte != b'\n') {
            // In a whole block, and in the rest behind it.
            for place in [0, 45] {
                let mut text = [b'7'; 46];
                text[place] = byte;
                let text = [&text[..], b"\n1234567890\n"].concat();
                let (odd_lines, bytes) = packed(&text);
                let is_symbol = byte != b'?' && SYMBOLS.contains(&byte);
                assert_eq!(odd_lines, usize::from(!is_symbol), "{byte:#x}");
                assert_eq!(bytes.len(), if is_symbol { 29 } else { 47 + 7 }, "{byte:#x}");
                assert_eq!(unpack(&bytes, odd_lines).as_deref(), Ok(&text[..]), "{byte:#x}");
            }
        }
    }

    #[test]
    fn what_gains_nothing_is_left_alone() {
        assert_eq!(pack(b"", |_| String::new()), None);
        assert_eq!(pack(b"left\nright\n", |_| String::new()), None);
        assert_eq!(pack(b"1\n", |_| "head".to_owned()), None);
        assert_eq!(pack(b"12345\n", |_| "hea".to_owned()), None);
        assert_eq!(pack(b"123456\n", |_| "he".to_owned()), Some(b"he\x12\x34\x56\xbf".to_vec()));
    }

    #[test]
    fn whatever_is_not_exactly_this_is_refused() {
        for (bytes, odd_lines) in [
            (&b"no end"[..], 1),
            (b"a\n", 2),
            (b"a\n", usize::MAX),
            (b"a\n\x1b", 1),     // no sign
            (b"a\n\xfb\xfb", 1), // two
            (b"\xfb", 0),
            (b"a\n\x1f\xbf", 1), // not alone on its line
            (b"a\n\xf1\xbf", 1),
            (b"a\n\xff", 1), // no line end
        ] {
            assert!(unpack(bytes, odd_lines).is_err(), "{} {odd_lines}", bytes.escape_ascii());
        }
        assert_eq!(unpack(b"", 0), Ok(Vec::new()));
    }

    /// Lines that fit and lines that do not.
    fn any_text() -> impl Strategy<Value = Vec<u8>> {
        let line = prop_oneof![
            4 => proptest::collection::vec(proptest::sample::select(&b"0123456789*=. "[..]), 0..90),
            1 => proptest::collection::vec(any::<u8>().prop_filter("line end", |&b| b != b'\n'), 0..90),
        ];
        let with_end =
            |lines: Vec<Vec<u8>>| lines.into_iter().flat_map(|line| [line, b"\n".to_vec()].concat());
        proptest::collection::vec(line, 0..20).prop_map(move |lines| with_end(lines).collect())
    }

    proptest! {
        #[test]
        fn what_is_packed_reads_back(text in any_text()) {
            let odd_lines = std::cell::Cell::new(0);
            let head = |count| { odd_lines.set(count); String::new() };
            if let Some(packed) = pack(&text, head) {
                prop_assert!(packed.len() < text.len());
                prop_assert_eq!(unpack(&packed, odd_lines.get()), Ok(text));
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..100),
            odd_lines in 0usize..4,
        ) {
            if let Ok(text) = unpack(&bytes, odd_lines) {
                prop_assert!(text.len() <= 2 * bytes.len());
            }
        }
    }
}
