//! Lines that are numbers: 0 to 2^64 - 1, in decimal digits. Canonical text has no leading zeros.

use crate::engine::rejection;
use crate::parse_error::{ParseError, shown};

/// Appends the canonical text of a line.
pub(super) fn canonical(line: &[u8], out: &mut Vec<u8>) -> Result<(), ParseError> {
    let digits = line.trim_ascii();
    let first = line.len() - line.trim_ascii_start().len();
    let wrong = |index: usize, found: &str| {
        Err(ParseError::at(index + 1, format!("expected a whole number from 0 to {}, {found}", u64::MAX)))
    };
    if digits.is_empty() {
        return wrong(first, "found none");
    }
    if let Some(index) = digits.iter().position(|byte| !byte.is_ascii_digit()) {
        return wrong(first + index, &format!("found {}", shown(digits, index)));
    }
    let zeros = digits.iter().take_while(|&&byte| byte == b'0').count().min(digits.len() - 1);
    if value(&digits[zeros..]).is_none() {
        return wrong(first, "this one is larger");
    }
    out.extend_from_slice(&digits[zeros..]);
    Ok(())
}

/// Reads canonical text, or gives the reason why it is none.
pub(super) fn read(line: &[u8]) -> Result<u64, Vec<u8>> {
    if let Some(reason) = rejection(line) {
        return Err(reason.to_vec());
    }
    if let Some(number) = value(line).filter(|_| line.len() == 1 || line[0] != b'0') {
        return Ok(number);
    }
    match canonical(line, &mut Vec::new()) {
        Err(error) => Err(error.to_string().into_bytes()),
        Ok(()) => Err(b"not in canonical form".to_vec()),
    }
}

/// The value of digits only.
fn value(digits: &[u8]) -> Option<u64> {
    let all = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    all.then(|| std::str::from_utf8(digits).ok()?.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let check = |line: &str, expected: Result<&str, &str>| {
            let mut out = Vec::new();
            let found = canonical(line.as_bytes(), &mut out).map_err(|error| error.to_string());
            assert_eq!(
                found.map(|()| std::str::from_utf8(&out).expect("digits")),
                expected.map_err(str::to_owned)
            );
        };
        check("0", Ok("0"));
        check(" 0017\r", Ok("17"));
        check("000", Ok("0"));
        check("18446744073709551615", Ok("18446744073709551615"));
        let range = "expected a whole number from 0 to 18446744073709551615";
        check("18446744073709551616", Err(&format!("column 1: {range}, this one is larger")));
        check(" 12a", Err(&format!("column 4: {range}, found 'a'")));
        check("-1", Err(&format!("column 1: {range}, found '-'")));
        check("", Err(&format!("column 1: {range}, found none")));
    }

    #[test]
    fn only_canonical_text_is_read() {
        let check = |line: &[u8], expected: Result<u64, &str>| {
            assert_eq!(read(line), expected.map_err(|reason| reason.as_bytes().to_vec()));
        };
        check(b"0", Ok(0));
        check(b"18446744073709551615", Ok(u64::MAX));
        check(b"00", Err("not in canonical form"));
        check(b"7 ", Err("not in canonical form"));
        check(b"!empty line", Err("empty line"));
        check(b"+7", Err("column 1: expected a whole number from 0 to 18446744073709551615, found '+'"));
    }
}
