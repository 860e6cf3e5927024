//! Text to cells and back. Strict about content, lenient about layout, exact about places.
//!
//! Two ways in. [`Board::from_line`] reads 81 bytes and nothing else, without a branch per byte: a worker reads
//! millions of those a second. Everything else goes through [`Puzzle::parse`]: grids of any size, with separators and
//! of several lines, and pencil marks; it says where a fault is.

use crate::parse_error::{ParseError, shown};
use crate::sudoku::candidates::MARKS;
use crate::sudoku::{CELLS, Candidates};

/// A 9x9 board: 0 for a blank, else 1-9. The values may contradict each other; that is an outcome, not an error.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Board([u8; CELLS]);

impl Board {
    /// No givens.
    pub(crate) const BLANK: Board = Board([0; CELLS]);

    /// Reads exactly 81 characters of `1`-`9` and blanks (`0 . _ *`); `None` for anything else.
    ///
    /// Every byte is judged by the same few operations and no branch, which compilers turn into vector code.
    #[inline]
    pub fn from_line(line: &[u8]) -> Option<Board> {
        let line: &[u8; CELLS] = line.try_into().ok()?;
        let mut cells = [0; CELLS];
        let mut bad = false;
        for (cell, &byte) in cells.iter_mut().zip(line) {
            let value = byte.wrapping_sub(b'0');
            let is_digit = value <= 9;
            *cell = if is_digit { value } else { 0 };
            bad |= !(is_digit | is_blank(byte));
        }
        (!bad).then_some(Board(cells))
    }

    /// Reads one board in any layout [`Grid::parse`] takes; it must be 9x9.
    ///
    /// # Errors
    ///
    /// The place and reason of the first fault.
    pub fn parse(text: &[u8]) -> Result<Board, ParseError> {
        if let Some(board) = Board::from_line(text) {
            return Ok(board);
        }
        let found = rows(text).map(cell_count).sum::<usize>();
        if matches!(found, 256 | 625 | MARKS) {
            // What it is, and not that a 9x9 board has no letters.
            return Err(fault_at_cell(
                text,
                CELLS,
                format!("expected {CELLS} cells, found {found}: this task is for 9x9 boards only"),
            ));
        }
        let grid = Grid::parse_sized(text, &[3])?;
        let mut cells = [0; CELLS];
        cells.copy_from_slice(&grid.cells);
        Ok(Board(cells))
    }

    /// A board of these values; `None` if one is above 9.
    pub fn from_cells(cells: [u8; CELLS]) -> Option<Board> {
        // No early end: this becomes vector code.
        let largest = cells.iter().fold(0, |largest, &value| value.max(largest));
        (largest <= 9).then_some(Board(cells))
    }

    /// The values, row by row; 0 is a blank.
    pub fn cells(&self) -> &[u8; CELLS] {
        &self.0
    }

    /// Appends the canonical text: 81 characters, blanks as `.`.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.map(|value| if value == 0 { b'.' } else { b'0' + value }));
    }
}

/// A board of any size.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Grid {
    box_size: usize,
    /// 0 for a blank, else 1 to `box_size` squared.
    cells: Vec<u8>,
}

/// The box sizes there are: 4x4, 9x9, 16x16, 25x25 cells.
const BOX_SIZES: [usize; 4] = [2, 3, 4, 5];

impl Grid {
    /// Reads a board from one line, or from several with one row each. Blank space and the separators `|`, `-`, `+`
    /// count for nothing, nor do blank lines and lines that only rule (also with `*`, `=`, `:` at their crossings).
    /// The number of cells decides the size.
    ///
    /// # Errors
    ///
    /// The place and reason of the first fault in reading order, cells before shape.
    pub fn parse(text: &[u8]) -> Result<Grid, ParseError> {
        Self::parse_sized(text, &BOX_SIZES)
    }

    fn parse_sized(text: &[u8], box_sizes: &[usize]) -> Result<Grid, ParseError> {
        let text = text.trim_ascii_end();
        let in_lines = text.contains(&b'\n');
        let fault = |line: usize, column: usize, reason: String| {
            if in_lines { ParseError::in_line(line, column, reason) } else { ParseError::at(column, reason) }
        };
        let found = rows(text).map(cell_count).sum::<usize>();
        let box_size = nearest_box_size(found, box_sizes);
        let (side, expected) = (box_size.pow(2), box_size.pow(4));
        let wrong_count = || format!("expected {} cells, found {found}", cell_counts(box_sizes));

        let mut cells = Vec::with_capacity(expected);
        let mut end = (1, 1);
        for (line, row) in (1..).zip(text.split(|&byte| byte == b'\n')) {
            end = (line, row.trim_ascii_end().len() + 1);
            if is_rule(row) {
                continue;
            }
            let cells_before = cells.len();
            for (index, &byte) in row.iter().enumerate().filter(|&(_, &byte)| !is_separator(byte)) {
                let Some(value) = value_of(byte).filter(|&value| usize::from(value) <= side) else {
                    let reason = format!("expected {}, found {}", alphabet(side), shown(row, index));
                    return Err(fault(line, index + 1, reason));
                };
                if cells.len() == expected && !in_lines {
                    return Err(fault(line, index + 1, wrong_count()));
                }
                cells.push(value);
            }
            let row_cells = cells.len() - cells_before;
            if in_lines && row_cells != side && row_cells != 0 {
                return Err(fault(line, end.1, format!("expected {side} cells in a row, found {row_cells}")));
            }
        }
        if cells.len() != expected {
            return Err(fault(end.0, end.1, wrong_count()));
        }
        Ok(Grid { box_size, cells })
    }

    /// 2 to 5; the board has this to the fourth power of cells.
    pub fn box_size(&self) -> usize {
        self.box_size
    }

    /// The values, row by row; 0 is a blank.
    pub fn cells(&self) -> &[u8] {
        &self.cells
    }
}

/// Appends cells in the canonical alphabet.
pub(crate) fn write_cells(cells: &[u8], out: &mut Vec<u8>) {
    out.extend(cells.iter().map(|&value| match value {
        0 => b'.',
        1..=9 => b'0' + value,
        _ => b'A' + (value - 10),
    }));
}

/// The cell value of one character in the alphabet of the largest board.
pub(crate) fn value_of(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'A'..=b'P' => Some(byte - b'A' + 10),
        b'a'..=b'p' => Some(byte - b'a' + 10),
        _ if is_blank(byte) => Some(0),
        _ => None,
    }
}

/// A puzzle in any form that the tasks of all sizes take.
#[derive(Clone, Debug)]
pub(crate) enum Puzzle {
    Givens(Grid),
    PencilMarks(Box<Candidates>),
}

impl Puzzle {
    /// What [`Grid::parse`] reads, and what [`Candidates::parse`] does: the number of characters decides.
    pub(crate) fn parse(text: &[u8]) -> Result<Puzzle, ParseError> {
        if is_pencil_marks(text) {
            Ok(Puzzle::PencilMarks(Box::new(Candidates::parse(text)?)))
        } else {
            Ok(Puzzle::Givens(Grid::parse(text)?))
        }
    }
}

/// Whether it looks more like pencil marks than like the largest grid.
fn is_pencil_marks(text: &[u8]) -> bool {
    let found = cell_count(text);
    found.abs_diff(MARKS) < found.abs_diff(625) && !text.trim_ascii_end().contains(&b'\n')
}

/// Canonical text of a puzzle in any layout.
pub(crate) fn canonical(line: &[u8], out: &mut Vec<u8>) -> Result<(), ParseError> {
    if let Some(board) = Board::from_line(line.trim_ascii_end()) {
        board.write(out);
    } else {
        match Puzzle::parse(line)? {
            Puzzle::Givens(grid) => write_cells(grid.cells(), out),
            Puzzle::PencilMarks(candidates) => candidates.write(out),
        }
    }
    Ok(())
}

/// A fault in the text of a board that has been read: at its cell of this number, from 0.
pub(crate) fn fault_at_cell(text: &[u8], cell: usize, reason: String) -> ParseError {
    let lines = (1..).zip(text.split(|&byte| byte == b'\n')).filter(|(_, row)| !is_rule(row));
    let cells = lines.flat_map(|(line, row)| (1..).zip(row).map(move |(column, &byte)| (line, column, byte)));
    let (line, column, _) = cells.filter(|&(.., byte)| !is_separator(byte)).nth(cell).unwrap_or((1, 1, 0));
    if text.trim_ascii_end().contains(&b'\n') {
        ParseError::in_line(line, column, reason)
    } else {
        ParseError::at(column, reason)
    }
}

/// Whether a line is a board or a row of one, give or take a tenth of its characters.
pub(crate) fn fits(line: &[u8]) -> bool {
    let count = cell_count(line);
    if count == MARKS {
        return count - good_cells(line, 9) <= count / 10;
    }
    let has_cells = |box_size: &usize| box_size.pow(4) == count;
    let Some(box_size) = BOX_SIZES.iter().find(|size| has_cells(size)) else {
        return begins_grid(line);
    };
    count - good_cells(line, box_size.pow(2)) <= count / 10 || begins_grid(line)
}

/// Whether a line is the first row of a grid, or the rule above it.
pub(crate) fn begins_grid(line: &[u8]) -> bool {
    let count = cell_count(line);
    let is_whole = count == 16 && good_cells(line, 4) == 16;
    let is_row = BOX_SIZES.iter().any(|size| size.pow(2) == count) && good_cells(line, count) == count;
    !line.contains(&b'\n') && !is_whole && (is_row || is_rule(line) && !line.trim_ascii().is_empty())
}

/// Whether there are as many rows as the first one has cells. Text that goes on and on is called complete as well, so
/// that whoever collects it need not fear for memory.
pub(crate) fn grid_is_complete(text: &[u8]) -> bool {
    const BYTES_MAX: usize = 8192;
    let mut rows = rows(text).map(cell_count).filter(|&count| count > 0);
    let side = rows.next();
    side.is_some_and(|side| rows.count() + 1 >= side) || text.len() > BYTES_MAX
}

fn rows(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n').filter(|row| !is_rule(row))
}

fn cell_count(row: &[u8]) -> usize {
    row.iter().filter(|&&byte| !is_separator(byte)).count()
}

fn good_cells(row: &[u8], side: usize) -> usize {
    row.iter()
        .filter(|&&byte| !is_separator(byte) && value_of(byte).is_some_and(|v| usize::from(v) <= side))
        .count()
}

pub(crate) fn is_blank(byte: u8) -> bool {
    (byte == b'.') | (byte == b'_') | (byte == b'*') | (byte == b'0')
}

pub(crate) fn is_separator(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b'|' | b'-' | b'+')
}

/// Whether a line holds no cells: nothing but blank space, or a drawn rule. A `*` is a crossing, not a blank cell,
/// only in the company of `-` or `=`.
fn is_rule(line: &[u8]) -> bool {
    let drawn = line.iter().any(|byte| matches!(byte, b'-' | b'='));
    line.iter().all(|&byte| is_separator(byte) || drawn && matches!(byte, b'=' | b'*' | b':'))
}

fn nearest_box_size(found: usize, box_sizes: &[usize]) -> usize {
    box_sizes.iter().copied().min_by_key(|size| size.pow(4).abs_diff(found)).unwrap_or(3)
}

/// "81", or "16, 81, 256 or 625".
fn cell_counts(box_sizes: &[usize]) -> String {
    match box_sizes.split_last() {
        Some((last, rest)) if !rest.is_empty() => {
            let rest: Vec<_> = rest.iter().map(|size| size.pow(4).to_string()).collect();
            format!("{} or {}", rest.join(", "), last.pow(4))
        }
        _ => CELLS.to_string(),
    }
}

fn alphabet(side: usize) -> String {
    const BLANKS: &str = "a blank (0 . _ *)";
    match side {
        0..=9 => format!("1-{side} or {BLANKS}"),
        _ => format!("1-9, A-{} or {BLANKS}", char::from(b'A' + (side - 10) as u8)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ROW: &str = "53..7....";

    fn check(text: &str, expected: Result<&str, &str>) {
        let mut out = Vec::new();
        let found = canonical(text.as_bytes(), &mut out).map_err(|error| error.to_string());
        match (found, expected) {
            (Ok(()), Ok(expected)) => assert_eq!(String::from_utf8_lossy(&out), expected, "{text:?}"),
            (Err(found), Err(expected)) => {
                assert_eq!(found, expected, "{text:?}");
                assert!(out.is_empty());
            }
            (found, expected) => panic!("{text:?}: found {found:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn lines() {
        let canonical = format!("1{}9", ".".repeat(79));
        check(&canonical, Ok(&canonical));
        check(&canonical.replace('.', "0"), Ok(&canonical));
        check(&canonical.replace('.', "_"), Ok(&canonical));
        check(&canonical.replace('.', "*"), Ok(&canonical));
        check(&format!("{canonical}\r"), Ok(&canonical));
        check(&format!("  {canonical}\t\n"), Ok(&canonical));
        check("12..|..12|....|...*", Ok("12....12........"));
        check(&format!("g{}A", "0".repeat(254)), Ok(&format!("G{}A", ".".repeat(254))));
        check(&format!("P{}", "0".repeat(624)), Ok(&format!("P{}", ".".repeat(624))));
    }

    #[test]
    fn faults_of_lines() {
        let dots = |count| ".".repeat(count);
        check(
            &format!("{}x{}", dots(4), dots(76)),
            Err("column 5: expected 1-9 or a blank (0 . _ *), found 'x'"),
        );
        check(
            &format!("{}A{}", dots(4), dots(76)),
            Err("column 5: expected 1-9 or a blank (0 . _ *), found 'A'"),
        );
        check(
            &format!(" {}\u{e9}{}", dots(4), dots(76)),
            Err("column 6: expected 1-9 or a blank (0 . _ *), found 'é'"),
        );
        check(
            &format!("{}\0{}", dots(80), ""),
            Err("column 81: expected 1-9 or a blank (0 . _ *), found byte 0x00"),
        );
        check(&dots(80), Err("column 81: expected 16, 81, 256 or 625 cells, found 80"));
        check(&dots(83), Err("column 82: expected 16, 81, 256 or 625 cells, found 83"));
        check("", Err("column 1: expected 16, 81, 256 or 625 cells, found 0"));
        check("5", Err("column 1: expected 1-4 or a blank (0 . _ *), found '5'"));
        check(&format!("H{}", dots(255)), Err("column 1: expected 1-9, A-G or a blank (0 . _ *), found 'H'"));
    }

    #[test]
    fn grids() {
        let nine = [ROW; 9].join("\n");
        check(&nine, Ok(&ROW.repeat(9)));
        check(&nine.replace('\n', "\r\n"), Ok(&ROW.repeat(9)));
        check(&nine.replace('\n', "\n\n"), Ok(&ROW.repeat(9)));
        let spaced = "| 5 3 . | . 7 . | . . . |\n".repeat(3);
        let drawn =
            format!("+-------+-------+-------+\n{spaced}*=======*-------*-------*\n{spaced}\n{spaced}");
        check(&drawn, Ok(&ROW.repeat(9)));
        check("1234\n....\n....\n....", Ok("1234............"));
        check(
            &nine.replacen('7', "x", 3),
            Err("line 1, column 5: expected 1-9 or a blank (0 . _ *), found 'x'"),
        );
        let mut rows = [ROW; 9];
        rows[2] = "53..7...";
        check(&rows.join("\n"), Err("line 3, column 9: expected 9 cells in a row, found 8"));
        rows[2] = "";
        check(&rows.join("\n"), Err("line 9, column 10: expected 16, 81, 256 or 625 cells, found 72"));
        assert_eq!(
            Board::parse(&[b'.'; 16]).map_err(|error| error.to_string()),
            Err("column 17: expected 81 cells, found 16".to_owned())
        );
        assert_eq!(
            Board::parse(&[b'G'; 256]).map_err(|error| error.to_string()),
            Err("column 82: expected 81 cells, found 256: this task is for 9x9 boards only".to_owned())
        );
    }

    #[test]
    fn collecting_a_grid_stops_at_its_last_row() {
        let rule = "+---+---+---+";
        let lines = [rule, ROW, ROW, ROW, rule, ROW, ROW, ROW, rule, ROW, ROW, ROW, rule];
        assert!(begins_grid(rule.as_bytes()) && begins_grid(ROW.as_bytes()));
        let complete = (1..=lines.len()).find(|&n| grid_is_complete(lines[..n].join("\n").as_bytes()));
        assert_eq!(complete, Some(12));
        assert!(grid_is_complete(rule.repeat(1000).as_bytes()));
        for line in [&[b'.'; 81][..], &[b'1'; 16], b"", b"  ", b"53..7...", b"53..7...x"] {
            assert!(!begins_grid(line), "{line:?}");
        }
    }

    proptest! {
        #[test]
        fn never_panics_and_agrees_with_itself(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut out = Vec::new();
            let _: bool = (fits(&bytes), begins_grid(&bytes), grid_is_complete(&bytes)).0;
            if canonical(&bytes, &mut out).is_ok() {
                let mut again = Vec::new();
                prop_assert!(canonical(&out, &mut again).is_ok());
                prop_assert_eq!(again, out);
            }
        }

        #[test]
        fn lines_near_a_board(text in "[0-9._*x |+\n-]{75,90}") {
            let (quick, slow) = (Board::from_line(text.as_bytes()), Board::parse(text.as_bytes()));
            if let Some(board) = quick {
                prop_assert_eq!(slow, Ok(board));
            }
        }
    }
}
