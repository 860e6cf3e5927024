//! One step of a human-like solution, and how it reads.

use std::io::Write;

use crate::sudoku::rate::Technique;
use crate::sudoku::units::{bits, cells};

/// What one use of a technique sees and what follows from it. Cells are 0 to 80, row by row; digits 1 to 9.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The technique.
    pub technique: Technique,
    /// Its rating in tenths, surcharges included.
    pub tenths: u8,
    /// The digits the pattern is about, bit 0 for digit 1; none where the result says it.
    pub digits: u16,
    /// The cells of the pattern; none where the result says it.
    pub cells: u128,
    /// The nodes of a single chain, from the assumption to what follows; for several chains, the assumptions of all.
    pub nodes: Vec<Node>,
    /// The cell filled and its digit.
    pub placed: Option<(u8, u8)>,
    /// The candidates struck out: a cell and a set of digits, bit 0 for digit 1. Those that go because a cell is filled
    /// are not told.
    pub removed: Vec<(u8, u16)>,
}

/// A candidate taken to be true, or to be false.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Node {
    /// 0 to 80.
    pub cell: u8,
    /// 1 to 9.
    pub digit: u8,
    /// Whether the cell holds the digit.
    pub is_on: bool,
}

impl Step {
    /// A step that says nothing yet.
    pub(super) fn blank() -> Self {
        Self {
            technique: Technique::Trial,
            tenths: 0,
            digits: 0,
            cells: 0,
            nodes: Vec::new(),
            placed: None,
            removed: Vec::new(),
        }
    }

    /// Makes it a step of that technique at its base rating, seeing and concluding nothing yet.
    pub(super) fn begin(&mut self, technique: Technique) {
        self.technique = technique;
        self.tenths = technique.base();
        (self.digits, self.cells, self.placed) = (0, 0, None);
        self.nodes.clear();
        self.removed.clear();
    }

    /// Concludes that `cell` holds `digit` (0 to 8).
    pub(super) fn place(&mut self, cell: usize, digit: usize) {
        self.placed = Some((cell as u8, digit as u8 + 1));
    }

    /// Concludes that `cell` holds none of `digits`.
    pub(super) fn remove(&mut self, cell: usize, digits: u16) {
        if digits != 0 {
            self.removed.push((cell as u8, digits));
        }
    }

    /// Concludes that none of `places` holds `digit` (0 to 8).
    pub(super) fn remove_from(&mut self, places: u128, digit: usize) {
        self.removed.extend(cells(places).map(|cell| (cell as u8, 1 << digit)));
    }

    /// Whether it concludes anything.
    pub(super) fn is_worth(&self) -> bool {
        self.placed.is_some() || !self.removed.is_empty()
    }

    /// Whether what it concludes is true of this solution (values row by row).
    pub fn agrees_with(&self, solution: &[u8; 81]) -> bool {
        let good_place = self.placed.is_none_or(|(cell, digit)| solution[usize::from(cell)] == digit);
        good_place
            && self.removed.iter().all(|&(cell, digits)| digits >> (solution[usize::from(cell)] - 1) & 1 == 0)
    }

    /// Appends it as text: `RATING TECHNIQUE [PATTERN] => RESULT`, such as `3.0 naked-pair 37 r1c1,r1c2 => r1c5<>3` or
    /// `1.2 hidden-single => r4c5=7`.
    ///
    /// A pattern is digits and cells, or the nodes of a chain; a result is one `rRcC=D`, or some `rRcC<>DD`, with
    /// commas between.
    pub fn write(&self, out: &mut Vec<u8>) {
        write_tenths(self.tenths, out);
        out.push(b' ');
        out.extend_from_slice(self.technique.name().as_bytes());
        if self.digits != 0 {
            out.push(b' ');
            write_digits(self.digits, out);
        }
        for (index, cell) in cells(self.cells).enumerate() {
            out.push(if index == 0 { b' ' } else { b',' });
            write_cell(cell as u8, out);
        }
        for (index, node) in self.nodes.iter().enumerate() {
            out.push(if index == 0 { b' ' } else { b',' });
            write_cell(node.cell, out);
            out.extend_from_slice(if node.is_on { b"=" } else { b"<>" });
            out.push(b'0' + node.digit);
        }
        out.extend_from_slice(b" => ");
        if let Some((cell, digit)) = self.placed {
            write_cell(cell, out);
            out.extend_from_slice(&[b'=', b'0' + digit]);
            return;
        }
        for (index, &(cell, digits)) in self.removed.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            write_cell(cell, out);
            out.extend_from_slice(b"<>");
            write_digits(digits, out);
        }
    }
}

impl Step {
    /// Reads what [`Step::write`] writes; `None` for anything else.
    pub fn parse(text: &str) -> Option<Step> {
        let (head, results) = text.split_once(" => ")?;
        let mut words = head.split(' ');
        let tenths = parse_tenths(words.next()?)?;
        let mut step = Self::blank();
        step.begin(Technique::parse(words.next()?)?);
        step.tenths = tenths;
        for word in words {
            if word.contains(['=', '<']) {
                step.nodes = word.split(',').map(parse_node).collect::<Option<_>>()?;
            } else if word.starts_with('r') {
                for cell in word.split(',') {
                    step.cells |= 1 << parse_cell(cell)?;
                }
            } else {
                step.digits = parse_digits(word)?;
            }
        }
        if let Some((cell, digit)) = results.split_once('=') {
            step.placed = Some((parse_cell(cell)?, parse_digit(digit)?));
        } else {
            let removed = results.split(',').map(|result| {
                let (cell, digits) = result.split_once("<>")?;
                Some((parse_cell(cell)?, parse_digits(digits)?))
            });
            step.removed = removed.collect::<Option<_>>()?;
        }
        // Whatever was read twice, out of order or in another spelling would not be written like that.
        let mut again = Vec::new();
        step.write(&mut again);
        (technique_fits(&step) && again == text.as_bytes()).then_some(step)
    }
}

fn technique_fits(step: &Step) -> bool {
    step.technique.may_rate(step.tenths) && step.is_worth()
}

/// Reads `4.2` as 42; `None` unless it is the one spelling of it.
pub(super) fn parse_tenths(text: &str) -> Option<u8> {
    let tenths = text.replacen('.', "", 1).parse().ok()?;
    let mut again = Vec::new();
    write_tenths(tenths, &mut again);
    (again == text.as_bytes()).then_some(tenths)
}

fn parse_cell(text: &str) -> Option<u8> {
    match *text.as_bytes() {
        [b'r', row @ b'1'..=b'9', b'c', column @ b'1'..=b'9'] => Some((row - b'1') * 9 + (column - b'1')),
        _ => None,
    }
}

fn parse_digit(text: &str) -> Option<u8> {
    match *text.as_bytes() {
        [digit @ b'1'..=b'9'] => Some(digit - b'0'),
        _ => None,
    }
}

fn parse_digits(text: &str) -> Option<u16> {
    let set = text.bytes().try_fold(0, |set, byte| match byte {
        b'1'..=b'9' => Some(set | 1 << (byte - b'1')),
        _ => None,
    });
    set.filter(|&set| set != 0)
}

fn parse_node(text: &str) -> Option<Node> {
    let is_on = text.contains('=');
    let (cell, digit) = text.split_once(if is_on { "=" } else { "<>" })?;
    Some(Node { cell: parse_cell(cell)?, digit: parse_digit(digit)?, is_on })
}

/// Appends a rating as people write it: 42 is `4.2`.
pub(super) fn write_tenths(tenths: u8, out: &mut Vec<u8>) {
    write!(out, "{}.{}", tenths / 10, tenths % 10).expect("a Vec takes any text");
}

fn write_cell(cell: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'r', b'1' + cell / 9, b'c', b'1' + cell % 9]);
}

fn write_digits(digits: u16, out: &mut Vec<u8>) {
    out.extend(bits(digits).map(|digit| b'1' + digit as u8));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(step: &Step, expected: &str) {
        let mut out = Vec::new();
        step.write(&mut out);
        assert_eq!(String::from_utf8_lossy(&out), expected);
        assert_eq!(Step::parse(expected).as_ref(), step.is_worth().then_some(step));
    }

    #[test]
    fn reads_nothing_else() {
        for text in [
            "",
            " => ",
            "1.2 hidden-single => ",
            "1.2 hidden-single => r4c5=0",
            "1.2 hidden-single => r4c5<>0",
            "1.2 hidden-single => r0c5=7",
            "1.3 hidden-single => r4c5=7",
            "1.20 hidden-single => r4c5=7",
            "12 hidden-single => r4c5=7",
            "1.2 hidden single => r4c5=7",
            "1.2 hidden-single  => r4c5=7",
            "1.2 hidden-single => r4c5=7 ",
            "1.2 hidden-single => r4c5=7,r4c6=8",
            "3.0 naked-pair 73 r1c1,r1c2 => r1c5<>3",
            "3.0 naked-pair 37 r1c2,r1c1 => r1c5<>3",
            "3.0 naked-pair r1c1,r1c2 37 => r1c5<>3",
            "3.0 naked-pair 37 r1c1,r1c2 => r1c5<>33",
            "6.6 x-chain r1c1=1,r2c1<>12 => r1c1<>1",
        ] {
            assert_eq!(Step::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn reads_well() {
        let mut step = Step::blank();
        step.begin(Technique::HiddenSingle);
        step.place(31, 6);
        check(&step, "1.2 hidden-single => r4c5=7");
        step.begin(Technique::NakedPair);
        (step.digits, step.cells) = (0b100_0100, 0b11);
        step.remove(4, 0b100);
        step.remove(5, 0);
        step.remove_from(1 << 80, 6);
        check(&step, "3.0 naked-pair 37 r1c1,r1c2 => r1c5<>3,r9c9<>7");
        assert!(step.is_worth());
        step.begin(Technique::XChain);
        step.nodes.push(Node { cell: 0, digit: 1, is_on: true });
        step.nodes.push(Node { cell: 9, digit: 1, is_on: false });
        assert!(!step.is_worth());
        step.remove(0, 0b1);
        check(&step, "6.6 x-chain r1c1=1,r2c1<>1 => r1c1<>1");
        let mut solution = [2; 81];
        assert!(step.agrees_with(&solution));
        solution[0] = 1;
        assert!(!step.agrees_with(&solution));
        step.begin(Technique::NakedSingle);
        step.place(0, 0);
        assert!(step.agrees_with(&solution));
    }
}
