//! The 49,151 known sudokus of 17 clues (collected by Gordon Royle), packed so that the program can carry them.
//!
//! ```text
//! puzzle   one byte: how many of its first clues are those of the puzzle before; then the other clues
//! clue     gap * 9 + digit - 1; gap = blank cells since the clue before, 0 to 27
//!          252 = 28 more blank cells, then go on
//! ```
//! 763 kB instead of 4 MB, and the reader is a dozen lines, so no decompressor is needed.

const PACKED: &[u8] = include_bytes!("sudoku17.bin");
const CLUES: usize = 17;
const CELLS: usize = 81;
/// The byte that stands for [`SKIP`] blank cells.
const SKIP_BYTE: u8 = 252;
const SKIP: usize = 28;

/// All of them, one a line, `0` for a blank cell.
pub(crate) fn sudoku17() -> String {
    let mut text = String::with_capacity(PACKED.len() * 6);
    let mut bytes = PACKED.iter().copied();
    let mut clues: Vec<(usize, u8)> = Vec::with_capacity(CLUES);
    while let Some(shared) = bytes.next() {
        clues.truncate(shared.into());
        let mut cell = clues.last().map_or(0, |(cell, _)| cell + 1);
        while clues.len() < CLUES {
            match bytes.next() {
                Some(SKIP_BYTE) => cell += SKIP,
                Some(byte) => {
                    cell += usize::from(byte / 9);
                    clues.push((cell, byte % 9 + 1));
                    cell += 1;
                }
                // The test below holds the packed bytes to the file, so they do not end here.
                None => return text,
            }
        }
        let mut line = [b'0'; CELLS];
        clues.iter().for_each(|&(cell, digit)| line[cell] = b'0' + digit);
        text.extend(line.map(char::from));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packed_puzzles_are_the_shipped_file() {
        let file = include_str!("../../../tests/data/sudoku17.txt");
        assert!(sudoku17() == file);
        assert!(pack(file) == PACKED, "write what pack() gives to sudoku17.bin");
    }

    fn pack(text: &str) -> Vec<u8> {
        let mut packed = Vec::new();
        let mut before: Vec<(usize, u8)> = Vec::new();
        for line in text.lines() {
            let clues: Vec<(usize, u8)> = line
                .bytes()
                .enumerate()
                .filter(|(_, b)| *b != b'0')
                .map(|(cell, b)| (cell, b - b'1'))
                .collect();
            let shared = clues.iter().zip(&before).take_while(|(a, b)| a == b).count();
            packed.push(shared as u8);
            let mut next = if shared == 0 { 0 } else { clues[shared - 1].0 + 1 };
            for &(cell, digit) in &clues[shared..] {
                while cell - next >= SKIP {
                    packed.push(SKIP_BYTE);
                    next += SKIP;
                }
                packed.push((cell - next) as u8 * 9 + digit);
                next = cell + 1;
            }
            before = clues;
        }
        packed
    }
}
