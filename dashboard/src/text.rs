//! Figures and foreign texts as people read them. Pure.

/// `1,234,567`.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// As [`count`], and in millions or billions where that would be long: for a place of a fixed width.
pub(crate) fn large(n: u64) -> String {
    match n {
        0..100_000_000 => count(n),
        100_000_000..10_000_000_000 => format!("{} M", count(n / 1_000_000)),
        _ => format!("{} bn", count(n / 1_000_000_000)),
    }
}

/// `3 jobs`, `1 job`.
pub(crate) fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// A number a second, without the unit: three digits where it is small, whole where it is large.
pub(crate) fn rate(per_second: f64) -> String {
    match per_second {
        r if r < 0.005 => "0".to_owned(),
        r if r < 9.995 => format!("{r:.2}"),
        r if r < 99.95 => format!("{r:.1}"),
        r => count(r.round() as u64),
    }
}

/// The two largest units: `42 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`.
pub(crate) fn span(ms: u64) -> String {
    let s = ms / 1000;
    let two = |large: u64, large_unit: &str, small: u64, small_unit: &str| {
        if small == 0 {
            format!("{large} {large_unit}")
        } else {
            format!("{large} {large_unit} {small} {small_unit}")
        }
    };
    match s {
        0..60 => format!("{s} s"),
        60..3_600 => two(s / 60, "min", s % 60, "s"),
        3_600..86_400 => two(s / 3_600, "h", s % 3_600 / 60, "min"),
        _ => two(s / 86_400, "d", s % 86_400 / 3_600, "h"),
    }
}

/// `85 us`, `1.2 ms`, `3.4 s`.
pub(crate) fn micros(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} us"),
        1_000..1_000_000 => format!("{:.1} ms", us as f64 / 1e3),
        _ => format!("{:.1} s", us as f64 / 1e6),
    }
}

/// `63 %`; 100 only when nothing is missing, 0 only when there is nothing.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    match (part, whole) {
        (_, 0) | (0, _) => "0 %".to_owned(),
        (part, whole) if part >= whole => "100 %".to_owned(),
        (part, whole) => match u128::from(part) * 100 / u128::from(whole) {
            0 => "<1 %".to_owned(),
            share => format!("{share} %"),
        },
    }
}

/// A text that somebody else wrote, at most `max` characters of it: what would break a line, turn the direction of writing or
/// hide itself is shown as a box.
pub(crate) fn clip(text: &str, max: usize) -> String {
    let mut clipped: String =
        text.chars().take(max).map(|c| if is_unfit(c) { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(max).is_some() {
        clipped.pop();
        clipped.push('\u{2026}');
    }
    clipped
}

fn is_unfit(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Copy>(write: impl Fn(T) -> String, expected: &[(T, &str)]) {
        expected.iter().for_each(|(figure, text)| assert_eq!(write(*figure), *text));
    }

    #[test]
    fn figures_read_well() {
        check(count, &[(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")]);
        check(large, &[(99_999_999, "99,999,999"), (1_234_567_890, "1,234 M"), (12_345_678_901, "12 bn")]);
        check(|n| counted(n, "job", "jobs"), &[(1, "1 job"), (1_000, "1,000 jobs")]);
        check(
            rate,
            &[
                (0.0, "0"),
                (0.5, "0.50"),
                (9.999, "10.0"),
                (12.34, "12.3"),
                (99.96, "100"),
                (8_475.4, "8,475"),
            ],
        );
        let spans = [
            (999, "0 s"),
            (59_999, "59 s"),
            (60_000, "1 min"),
            (200_000, "3 min 20 s"),
            (7_500_000, "2 h 5 min"),
            (273_600_000, "3 d 4 h"),
        ];
        check(span, &spans);
        check(micros, &[(85, "85 us"), (1_234, "1.2 ms"), (3_400_000, "3.4 s")]);
    }

    #[test]
    fn a_share_is_whole_only_when_nothing_is_missing() {
        let shares = [
            ((0, 0), "0 %"),
            ((1, 1_000), "<1 %"),
            ((999, 1_000), "99 %"),
            ((1_000, 1_000), "100 %"),
            ((0, 5), "0 %"),
        ];
        check(|(part, whole)| percent(part, whole), &shares);
        assert_eq!(percent(u64::MAX - 1, u64::MAX), "99 %");
    }

    #[test]
    fn foreign_text_is_cut_and_cannot_hide() {
        assert_eq!(clip("nightly", 7), "nightly");
        assert_eq!(clip("nightly!", 7), "nightl\u{2026}");
        assert_eq!(clip("a\r\n\u{202e}b\u{7}", 9), "a\u{fffd}\u{fffd}\u{fffd}b\u{fffd}");
        assert_eq!(clip("<script>", 40), "<script>", "escaping is for the template");
    }
}
