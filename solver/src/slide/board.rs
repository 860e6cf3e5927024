//! The 3x3 board: text, moves, solvability.

use crate::parse_error::{ParseError, shown};

pub(super) const SIDE: usize = 3;
pub(super) const CELLS: usize = SIDE * SIDE;

/// Nine distinct tiles, row by row: 1 to 8, and 0 for the blank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Board {
    tiles: [u8; CELLS],
    blank: usize,
}

/// A step of the blank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Move {
    Left,
    Right,
    Up,
    Down,
}

impl Move {
    pub(super) const ALL: [Move; 4] = [Move::Left, Move::Right, Move::Up, Move::Down];

    pub(super) fn byte(self) -> u8 {
        match self {
            Move::Left => b'l',
            Move::Right => b'r',
            Move::Up => b'u',
            Move::Down => b'd',
        }
    }

    pub(super) fn from_byte(byte: u8) -> Option<Move> {
        Self::ALL.into_iter().find(|step| step.byte() == byte)
    }

    pub(super) fn reversed(self) -> Move {
        match self {
            Move::Left => Move::Right,
            Move::Right => Move::Left,
            Move::Up => Move::Down,
            Move::Down => Move::Up,
        }
    }
}

impl Board {
    pub(super) const GOAL: Board = Board { tiles: [1, 2, 3, 4, 5, 6, 7, 8, 0], blank: CELLS - 1 };

    /// Reads nine characters, or nine tokens with blank space between.
    pub(super) fn parse(text: &[u8]) -> Result<Board, ParseError> {
        let mut tiles = [0; CELLS];
        let mut blank = 0;
        let mut seen = [false; CELLS];
        let mut count = 0;
        for (index, &byte) in text.iter().enumerate().filter(|(_, byte)| !byte.is_ascii_whitespace()) {
            let column = index + 1;
            let fault = |reason| Err(ParseError::at(column, reason));
            let Some(tile) = tile_of(byte) else {
                return fault(format!("expected a tile (1-8 or x), found {}", shown(text, index)));
            };
            if count == CELLS {
                return fault(format!("expected the end after {CELLS} tiles, found {}", shown(text, index)));
            }
            if std::mem::replace(&mut seen[usize::from(tile)], true) {
                return fault(format!("tile {} appears twice", shown(text, index)));
            }
            if tile == 0 {
                blank = count;
            }
            tiles[count] = tile;
            count += 1;
        }
        if count < CELLS {
            let column = text.trim_ascii_end().len() + 1;
            return Err(ParseError::at(column, format!("expected {CELLS} tiles (1-8 and x), found {count}")));
        }
        Ok(Board { tiles, blank })
    }

    /// One of the solvable boards, picked by a number.
    pub(super) fn random(mut number: u64) -> Board {
        let mut tiles = Board::GOAL.tiles;
        // Fisher and Yates, with the digits of the number for dice.
        for last in (1..CELLS).rev() {
            tiles.swap(last, (number % (last as u64 + 1)) as usize);
            number /= last as u64 + 1;
        }
        let blank = tiles.iter().position(|&tile| tile == 0).unwrap_or(0);
        let mut board = Board { tiles, blank };
        if !board.is_solvable() {
            // A swap of two tiles turns it into one that is.
            let [first, second] = if blank < 2 { [2, 3] } else { [0, 1] };
            board.tiles.swap(first, second);
        }
        board
    }

    /// Appends the canonical text.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.tiles.iter().map(|&tile| if tile == 0 { b'x' } else { b'0' + tile }));
    }

    pub(super) fn tiles(&self) -> &[u8; CELLS] {
        &self.tiles
    }

    /// Which cell is blank.
    pub(super) fn blank(&self) -> usize {
        self.blank
    }

    /// The board after a move of the blank; `None` at the edge.
    pub(super) fn moved(&self, step: Move) -> Option<Board> {
        let (y, x) = (self.blank / SIDE, self.blank % SIDE);
        let blank = match step {
            Move::Left if x > 0 => self.blank - 1,
            Move::Right if x + 1 < SIDE => self.blank + 1,
            Move::Up if y > 0 => self.blank - SIDE,
            Move::Down if y + 1 < SIDE => self.blank + SIDE,
            Move::Left | Move::Right | Move::Up | Move::Down => return None,
        };
        let mut tiles = self.tiles;
        tiles.swap(self.blank, blank);
        Some(Board { tiles, blank })
    }

    /// Whether the goal can be reached. Read the tiles in order without the blank: a sideways move changes nothing,
    /// an upright one carries a tile past two others, so the number of inversions stays even or odd for ever; the
    /// goal has none.
    pub(super) fn is_solvable(&self) -> bool {
        let order = || self.tiles.iter().filter(|&&tile| tile != 0);
        let inversions: usize = order()
            .enumerate()
            .map(|(i, tile)| order().skip(i + 1).filter(|&later| later < tile).count())
            .sum();
        inversions.is_multiple_of(2)
    }
}

/// Whether a line has nine tiles, right or not.
pub(super) fn fits(line: &[u8]) -> bool {
    let tiles = || line.iter().filter(|byte| !byte.is_ascii_whitespace());
    tiles().count() == CELLS && tiles().all(|&byte| tile_of(byte).is_some())
}

fn tile_of(byte: u8) -> Option<u8> {
    match byte {
        b'x' => Some(0),
        b'1'..=b'8' => Some(byte - b'0'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let check = |text: &str, expected: Result<&str, &str>| {
            let mut out = Vec::new();
            let found = Board::parse(text.as_bytes()).map(|board| board.write(&mut out));
            let found = found.map(|()| String::from_utf8_lossy(&out)).map_err(|error| error.to_string());
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{text:?}");
        };
        check("12345678x", Ok("12345678x"));
        check(" 1 2 3  4 5 6\t7 8 x\r", Ok("12345678x"));
        check("12345678", Err("column 9: expected 9 tiles (1-8 and x), found 8"));
        check("", Err("column 1: expected 9 tiles (1-8 and x), found 0"));
        check("12345678x1", Err("column 10: expected the end after 9 tiles, found '1'"));
        check("11345678x", Err("column 2: tile '1' appears twice"));
        check("123456780", Err("column 9: expected a tile (1-8 or x), found '0'"));
        check("1234X5678", Err("column 5: expected a tile (1-8 or x), found 'X'"));
        check("12 34,5678x", Err("column 6: expected a tile (1-8 or x), found ','"));
    }
}
