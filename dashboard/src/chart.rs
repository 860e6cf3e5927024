//! Small pictures as SVG, without a colour or a size: the style sheet has those. Pure.

use std::fmt;

use askama::filters::HtmlSafe;

/// Width of a sparkline in its own units, one a second.
const WIDTH: f64 = 300.0;
/// Its height.
const HEIGHT: f64 = 40.0;

/// Readings further apart than this leave a gap, in ms: a second was missed.
const GAP_MS: u64 = 2_500;

/// Markup that is safe as it stands: numbers and our own words only.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Svg(String);

impl fmt::Display for Svg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl HtmlSafe for Svg {}

/// The last five minutes of one figure, as (ms, value) with rising times; of each `bucket_ms` the highest. Where nothing was read
/// there is a gap.
///
/// It is sent anew once a second, so it is written short: in steps, as tenths of a unit.
pub(crate) fn sparkline(points: impl Iterator<Item = (u64, f64)>, now_ms: u64, bucket_ms: u64) -> Svg {
    let is_shown = |ms: u64| now_ms.saturating_sub(ms) <= WIDTH as u64 * 1000;
    let mut groups: Vec<Group> = Vec::new();
    for (ms, value) in points.filter(|(ms, _)| is_shown(*ms)) {
        match groups.last_mut() {
            Some(group) if group.last / bucket_ms == ms / bucket_ms && ms - group.last <= GAP_MS => {
                (group.last, group.top) = (ms, group.top.max(value));
            }
            _ => groups.push(Group { first: ms, last: ms, top: value }),
        }
    }
    let top = groups.iter().map(|group| group.top).fold(0.0, f64::max);
    let x = |ms: u64| ((WIDTH - now_ms.saturating_sub(ms) as f64 / 1000.0) * 10.0).round() as i64;
    let floor = (HEIGHT * 10.0) as i64;
    let y = |value: f64| {
        if top > 0.0 { floor - (value / top * (HEIGHT - 2.0) * 10.0).round() as i64 } else { floor }
    };
    let (mut line, mut area) = (String::new(), String::new());
    let mut before: Option<(u64, i64, i64)> = None;
    for group in &groups {
        let at = (x(group.last), y(group.top));
        match before {
            Some((last, x, y)) if group.first.saturating_sub(last) <= GAP_MS => {
                let step = format!("l{}", pair(at.0 - x, at.1 - y));
                line += &step;
                area += &step;
            }
            _ => {
                if before.is_some() {
                    area += &format!("V{HEIGHT}Z");
                }
                // A lone reading between two gaps is a dot.
                line += &format!("M{}h0", pair(at.0, at.1));
                area += &format!("M{}V{}", pair(at.0, floor), tenths(at.1));
            }
        }
        before = Some((group.last, at.0, at.1));
    }
    if before.is_some() {
        area += &format!("V{HEIGHT}Z");
    }
    Svg(format!(
        "<svg class=\"spark\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <path class=\"area\" d=\"{area}\"/><path class=\"line\" d=\"{line}\"/></svg>"
    ))
}

/// Readings that are drawn as one.
struct Group {
    first: u64,
    last: u64,
    top: f64,
}

/// `12.5`, `-.3`, `4`.
fn tenths(n: i64) -> String {
    let (sign, whole, rest) = (if n < 0 { "-" } else { "" }, n.abs() / 10, n.abs() % 10);
    match (whole, rest) {
        (whole, 0) => format!("{sign}{whole}"),
        (0, rest) => format!("{sign}.{rest}"),
        (whole, rest) => format!("{sign}{whole}.{rest}"),
    }
}

/// Two numbers; a minus parts them as well as a space.
fn pair(x: i64, y: i64) -> String {
    format!("{}{}{}", tenths(x), if y < 0 { "" } else { " " }, tenths(y))
}

/// Parts of a whole side by side, each with the name of its class. What is missing to the whole stays empty.
pub(crate) fn stack(parts: &[(&'static str, u64)], whole: u64) -> Svg {
    let mut rects = String::new();
    let mut x = 0.0;
    for (class, part) in parts.iter().filter(|(_, part)| *part > 0) {
        // A single failure among millions must be seen.
        let width = (*part as f64 / whole.max(1) as f64 * 100.0).max(0.6);
        rects += &format!("<rect class=\"{class}\" x=\"{x:.2}\" width=\"{width:.2}\" height=\"1\"/>");
        x += width;
    }
    Svg(format!(
        "<svg class=\"stack\" viewBox=\"0 0 100 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\">{rects}</svg>"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_of(svg: &Svg) -> String {
        svg.to_string().split("class=\"line\" d=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
    }

    #[test]
    fn a_gap_is_a_gap_and_never_a_zero() {
        let points = [(100_000, 1.0), (101_000, 2.0), (110_000, 2.0), (111_000, 0.0)];
        let svg = sparkline(points.into_iter(), 111_000, 1_000);
        assert_eq!(line_of(&svg), "M289 21h0l1-19M299 2h0l1 38");
        assert_eq!(svg.to_string().matches('Z').count(), 2, "two areas, none over the gap");
    }

    #[test]
    fn of_each_bucket_the_highest_is_drawn() {
        let points = [(99_500, 1.0), (100_000, 0.0), (101_000, 2.0), (102_900, 1.0), (103_100, 4.0)];
        assert_eq!(line_of(&sparkline(points.into_iter(), 105_000, 3_000)), "M296 21h0l2.1-19");
        assert_eq!(line_of(&sparkline(points.into_iter(), 105_000, 1)).matches('l').count(), 4);
    }

    #[test]
    fn what_is_older_than_five_minutes_is_not_drawn() {
        let svg = sparkline([(1_000, 5.0), (400_000, 5.0)].into_iter(), 400_000, 1_000).to_string();
        assert_eq!(svg.matches('M').count(), 2, "one line, one area: {svg}");
        assert!(!sparkline(std::iter::empty(), 7, 1_000).to_string().contains('M'));
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([125, -3, 40, 0, -10].map(tenths).join(" "), "12.5 -.3 4 0 -1");
    }

    #[test]
    fn a_single_failure_among_millions_is_seen() {
        let svg =
            stack(&[("o-solved", 5_000_000), ("o-failed", 1), ("o-invalid", 0)], 10_000_000).to_string();
        assert_eq!(svg.matches("<rect").count(), 2);
        assert!(svg.contains("class=\"o-failed\" x=\"50.00\" width=\"0.60\""), "{svg}");
    }
}
