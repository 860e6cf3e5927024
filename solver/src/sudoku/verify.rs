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

/// `SIDE` values that cover all of 1 to `SIDE` must be distinct, so each unit only gathers what it has seen. Constants
/// for the sizes let the compiler unroll the walk; the comparisons that need no order run a vector at a time before
/// it. A worker checks every answer, so this competes with engines that need less than a microsecond.
fn check<const BOX: usize, const SIDE: usize>(puzzle: &[u8], solution: &[u8]) -> bool {
    if puzzle.len() != SIDE * SIDE || solution.len() != SIDE * SIDE {
        return false;
    }
    let mut good = true;
    for (&given, &value) in puzzle.iter().zip(solution) {
        good &= (given == 0) | (given == value);
        good &= (value >= 1) & (value <= SIDE as u8);
    }
    let full = ((1u32 << SIDE) - 1) << 1;
    let mut columns = [0; SIDE];
    for band in solution.chunks_exact(BOX * SIDE) {
        let mut boxes = [0; BOX];
        for values in band.chunks_exact(SIDE) {
            let mut row = 0;
            for (box_values, (unit, columns)) in
                values.chunks_exact(BOX).zip(boxes.iter_mut().zip(columns.chunks_exact_mut(BOX)))
            {
                let mut part = 0;
                for (&value, column) in box_values.iter().zip(columns) {
                    let bit = BITS[usize::from(value % 32)];
                    *column |= bit;
                    part |= bit;
                }
                *unit |= part;
                row |= part;
            }
            good &= row == full;
        }
        good &= boxes == [full; BOX];
    }
    good & (columns == [full; SIDE])
}

/// Powers of two: a load is cheaper than a shift by a variable amount on older instruction sets.
static BITS: [u32; 32] = {
    let mut bits = [0; 32];
    let mut value = 0;
    while value < 32 {
        bits[value] = 1 << value;
        value += 1;
    }
    bits
};

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
