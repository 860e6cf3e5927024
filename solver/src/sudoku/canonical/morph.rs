//! Symmetries of a 9x9 board as values and as text. Knows nothing of how the search finds them.

use std::fmt;
use std::str::FromStr;

use crate::sudoku::{Board, CELLS};

/// One of the 2 x 6^8 x 9! symmetries of a 9x9 board: transposing or not, then rows and columns within bands and
/// stacks and these among each other, then digits.
///
/// As text it has 31 characters, `t/231456789/123789456/918273645`: `t` for transposed or `p` for plain; the row of
/// the (transposed) board that comes to stand in rows 1, 2, .. 9; the column that comes to stand in columns 1, 2, ..
/// 9; and what the digits 1, 2, .. 9 become.
///
/// # Examples
///
/// ```
/// use puzzled_solver::sudoku::{Board, Morph};
///
/// let turned: Morph = "t/987654321/123456789/123456789".parse()?;
/// let board = Board::parse(&[&b"12"[..], &[b'.'; 79]].concat())?;
/// assert_eq!(turned.apply(&board).cells()[72], 1);
/// assert_eq!(turned.apply(&board).cells()[63], 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Morph {
    transposed: bool,
    rows: [u8; 9],
    columns: [u8; 9],
    digits: [u8; 9],
}

impl Morph {
    /// A morph of its parts, each from 0: the row that comes to stand at each place, the column, and what each digit
    /// (less one) becomes (less one). `None` unless `rows` and `columns` are permutations that keep bands and stacks
    /// together, and `digits` is a permutation.
    pub fn new(transposed: bool, rows: [u8; 9], columns: [u8; 9], digits: [u8; 9]) -> Option<Morph> {
        let keeps_threes =
            |lines: &[u8; 9]| lines.chunks(3).all(|three| three.iter().all(|line| line / 3 == three[0] / 3));
        let good = [rows, columns, digits].iter().all(is_permutation);
        (good && keeps_threes(&rows) && keeps_threes(&columns)).then_some(Morph {
            transposed,
            rows,
            columns,
            digits,
        })
    }

    /// The board as this morph makes it.
    pub fn apply(&self, board: &Board) -> Board {
        let cells = board.cells();
        let image: [u8; CELLS] = std::array::from_fn(|cell| {
            let (row, column) = (usize::from(self.rows[cell / 9]), usize::from(self.columns[cell % 9]));
            match cells[if self.transposed { column * 9 + row } else { row * 9 + column }] {
                0 => 0,
                digit => self.digits[usize::from(digit) - 1] + 1,
            }
        });
        Board::from_cells(image).expect("digits are permuted among themselves")
    }
}

fn is_permutation(numbers: &[u8; 9]) -> bool {
    (0..9).all(|number| numbers.contains(&number))
}

impl fmt::Display for Morph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.transposed { "t" } else { "p" })?;
        for numbers in [&self.rows, &self.columns, &self.digits] {
            f.write_str("/")?;
            numbers.iter().try_for_each(|number| write!(f, "{}", number + 1))?;
        }
        Ok(())
    }
}

/// A text that is no morph.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("expected t or p, and three permutations of 1-9, as in p/123456789/123456789/123456789")]
pub struct NotAMorph;

impl FromStr for Morph {
    type Err = NotAMorph;

    fn from_str(text: &str) -> Result<Self, NotAMorph> {
        let mut parts = text.split('/');
        let transposed = match parts.next() {
            Some("t") => true,
            Some("p") => false,
            _ => return Err(NotAMorph),
        };
        let mut numbers = || -> Option<[u8; 9]> {
            let digits: [u8; 9] = parts.next()?.as_bytes().try_into().ok()?;
            Some(digits.map(|digit| digit.wrapping_sub(b'1')))
        };
        let (Some(rows), Some(columns), Some(digits), None) = (numbers(), numbers(), numbers(), parts.next())
        else {
            return Err(NotAMorph);
        };
        Morph::new(transposed, rows, columns, digits).ok_or(NotAMorph)
    }
}
