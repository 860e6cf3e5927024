//! The independent checker: reads an answer against its puzzle with code no engine uses.

/// Whether `solution` fills `puzzle` (0 is a blank) by the rules: every given kept, every value once in each row,
/// column and box. Both are values row by row, of `box_size` to the fourth power cells; any other length is false.
pub fn is_solution(puzzle: &[u8], solution: &[u8], box_size: usize) -> bool {
    match box_size {
        2 => check::<2, 4>(puzzle, solution),
        3 => check::<3, 9>(puzzle, solution),
        4 => check::<4, 16>(puzzle, solution),
        5 => check::<5, 25>(puzzle, solution),
        _ => false,
    }
}

/// [`is_solution`] of two 9x9 lines as they are stored: digits, and blanks in the puzzle only. A worker asks this of
/// every answer, so it competes with engines that need a tenth of a microsecond: two passes over the bytes in the form
/// compilers make vector code of, and no copy of either line.
pub(crate) fn is_solution_line(puzzle: &[u8; 81], solution: &[u8; 81]) -> bool {
    let mut bad = 0u8;
    for (&given, &digit) in puzzle.iter().zip(solution) {
        let blank = (given == b'.') | (given == b'0') | (given == b'_') | (given == b'*');
        bad |= u8::from(!(blank | (given == digit))) | u8::from(digit.wrapping_sub(b'1') >= 9);
    }
    let mut bits = [0u32; 81];
    for (bit, &digit) in bits.iter_mut().zip(solution) {
        *bit = 1 << (digit & 15);
    }
    (bad == 0) & units_full::<3, 9>(&bits)
}

/// The same for a puzzle of pencil marks: each digit of the answer is marked in its cell.
pub(crate) fn is_solution_of_marks(marks: &[u8; 729], solution: &[u8; 81]) -> bool {
    let is_marked =
        |(cell, &digit): (&[u8; 9], &u8)| cell.get(usize::from(digit.wrapping_sub(b'1'))) == Some(&digit);
    marks.as_chunks().0.iter().zip(solution).all(is_marked) && is_solution_line(&[b'.'; 81], solution)
}

fn check<const BOX: usize, const SIDE: usize>(puzzle: &[u8], solution: &[u8]) -> bool {
    if puzzle.len() != SIDE * SIDE || solution.len() != SIDE * SIDE {
        return false;
    }
    let mut good = true;
    let mut bits = [0u32; 25 * 25];
    for ((&given, &value), bit) in puzzle.iter().zip(solution).zip(&mut bits) {
        good &= (given == 0) | (given == value);
        good &= (value >= 1) & (value <= SIDE as u8);
        *bit = 1 << (value % 32);
    }
    good & units_full::<BOX, SIDE>(&bits[..SIDE * SIDE])
}

/// Whether every unit has all of the bits 1 to `SIDE`: `SIDE` values that cover them must be distinct, so each unit
/// only gathers what it has. The sizes are constants to have the walk unrolled.
#[inline(always)]
fn units_full<const BOX: usize, const SIDE: usize>(bits: &[u32]) -> bool {
    let full = ((1u32 << SIDE) - 1) << 1;
    let mut all = full;
    let mut columns = [0; SIDE];
    for band in bits.chunks_exact(BOX * SIDE) {
        let mut parts = [0; SIDE];
        for row in band.chunks_exact(SIDE) {
            let mut whole = 0;
            for (part, &bit) in parts.iter_mut().zip(row) {
                *part |= bit;
                whole |= bit;
            }
            all &= whole;
        }
        for unit in parts.chunks_exact(BOX) {
            all &= unit.iter().fold(0, |sum, part| sum | part);
        }
        for (column, part) in columns.iter_mut().zip(parts) {
            *column |= part;
        }
    }
    columns.iter().fold(all, |sum, column| sum & column) == full
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A solved board of any size: each row is the one before, shifted.
    fn solved(box_size: usize) -> Vec<u8> {
        let side = box_size * box_size;
        (0..side * side)
            .map(|cell| {
                let (y, x) = (cell / side, cell % side);
                ((x + y % box_size * box_size + y / box_size) % side + 1) as u8
            })
            .collect()
    }

    #[test]
    fn lines_are_judged_like_values() {
        let good = solved(3);
        let text = |values: &[u8]| -> [u8; 81] { std::array::from_fn(|i| values[i] + b'0') };
        for blank in [b'.', b'0', b'_', b'*'] {
            for cell in 0..81 {
                let mut puzzle = text(&good);
                puzzle[cell] = blank;
                assert!(is_solution_line(&puzzle, &text(&good)));
                assert!(!is_solution_line(&puzzle, &puzzle), "a blank is no answer");
                for wrong in b'0'..=b'9' {
                    let mut answer = text(&good);
                    answer[cell] = wrong;
                    assert_eq!(is_solution_line(&puzzle, &answer), wrong == good[cell] + b'0');
                }
                for wrong in [b'/', b':', b'?', b'A', 0, 255, good[cell], good[cell] + b'0' + 16] {
                    let mut answer = text(&good);
                    answer[cell] = wrong;
                    assert!(!is_solution_line(&puzzle, &answer));
                    assert!(!is_solution_line(&answer, &text(&good)) || wrong == b'.');
                }
            }
        }
    }

    #[test]
    fn accepts_solutions_and_no_change_of_them() {
        for box_size in 2..=5 {
            let good = solved(box_size);
            let blank = vec![0; good.len()];
            assert!(is_solution(&blank, &good, box_size));
            assert!(is_solution(&good, &good, box_size));
            for cell in 0..good.len() {
                for wrong in [0, 1, 2, (box_size * box_size) as u8 + 1, 255] {
                    let mut bad = good.clone();
                    bad[cell] = wrong;
                    assert_eq!(is_solution(&blank, &bad, box_size), bad == good);
                    assert_eq!(is_solution(&bad, &good, box_size), bad == good || wrong == 0);
                }
            }
            // Each unit rule alone: rows and columns hold, boxes do not, and so on.
            let mut swapped = good.clone();
            swapped.swap(0, 1);
            assert!(!is_solution(&blank, &swapped, box_size));
            assert!(!is_solution(&blank, &good[1..], box_size));
            assert!(!is_solution(&blank[1..], &good, box_size));
        }
        assert!(!is_solution(&[], &[], 1));
        let latin: Vec<u8> = (0..81).map(|cell| ((cell / 9 + cell % 9) % 9 + 1) as u8).collect();
        assert!(!is_solution(&[0; 81], &latin, 3));
    }
}
