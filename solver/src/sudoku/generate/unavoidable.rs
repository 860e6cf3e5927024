//! Unavoidable sets of a final grid: cells whose digits could be exchanged for another solution. A puzzle with one
//! solution has a clue in each of them, so a clue that is the last one in such a set must stay.
//!
//! Found here are those that need only two digits, two rows or two columns, a hundred or so in a grid. They settle
//! most of what must stay without a search.

use crate::sudoku::CELLS;

/// Cells as bits.
pub(super) type CellSet = u128;

/// Appends the sets of a grid to `sets`.
pub(super) fn find(grid: &[u8; CELLS], sets: &mut Vec<CellSet>) {
    let mut digits = [Digit::default(); 9];
    for (cell, &digit) in grid.iter().enumerate() {
        let (row, column) = (cell / 9, cell % 9);
        let digit = &mut digits[usize::from(digit) - 1];
        digit.cells[row] = 1 << cell;
        digit.columns[row] = column as u8;
        digit.boxes[row] = (row / 3 * 3 + column / 3) as u8;
        digit.rows_by_column[column] = 1 << row;
        digit.rows_by_box[row / 3 * 3 + column / 3] = 1 << row;
    }
    for one in 1..9 {
        for other in 0..one {
            two_digits(&digits[one], &digits[other], sets);
        }
    }
    for (a, b) in [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5), (6, 7), (6, 8), (7, 8)] {
        two_lines(|place| [9 * a + place, 9 * b + place], grid, sets);
        two_lines(|place| [9 * place + a, 9 * place + b], grid, sets);
    }
}

/// Where a digit is in a grid; rows as bits.
#[derive(Clone, Copy, Default)]
struct Digit {
    cells: [CellSet; 9],
    columns: [u8; 9],
    boxes: [u8; 9],
    rows_by_column: [u16; 9],
    rows_by_box: [u16; 9],
}

const ALL_ROWS: u16 = 0x1FF;

/// Two digits change places in some rows: in all rows that share a column or a box with different ones of them.
fn two_digits(one: &Digit, other: &Digit, sets: &mut Vec<CellSet>) {
    // By row, those it leads to. Both maps are one to one, so that going on leads back.
    let next: [u16; 9] = std::array::from_fn(|row| {
        other.rows_by_column[usize::from(one.columns[row])] | other.rows_by_box[usize::from(one.boxes[row])]
    });
    let mut seen = 0u16;
    while seen != ALL_ROWS {
        let (mut rows, mut open) = (0u16, 1u16 << (!seen).trailing_zeros());
        while open != 0 {
            let row = open.trailing_zeros();
            rows |= 1 << row;
            open = (open | next[row as usize]) & !rows;
        }
        if rows == ALL_ROWS {
            return;
        }
        seen |= rows;
        let cells = |row: usize| one.cells[row] | other.cells[row];
        sets.push((0..9).filter(|row| rows >> row & 1 == 1).fold(0, |set, row| set | cells(row)));
    }
}

/// Two rows of a band (or columns of a stack) change digits in some places: along a cycle of digits.
fn two_lines(cells: impl Fn(usize) -> [usize; 2], grid: &[u8; CELLS], sets: &mut Vec<CellSet>) {
    let mut place_of = [0; 10];
    (0..9).for_each(|place| place_of[usize::from(grid[cells(place)[0]])] = place);
    let mut seen = 0u16;
    for start in 0..9 {
        if seen >> start & 1 == 1 {
            continue;
        }
        let (mut set, mut place, mut length) = (0, start, 0);
        while seen >> place & 1 == 0 {
            seen |= 1 << place;
            length += 1;
            let [one, other] = cells(place);
            set |= 1 << one | 1 << other;
            place = place_of[usize::from(grid[other])];
        }
        if length < 9 {
            sets.push(set);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Budget;
    use crate::sudoku::{Bitmask, Board, Shuffle};

    #[test]
    fn each_set_has_another_solution_that_differs_in_all_of_it() {
        for place in 0..20 {
            let grid = Shuffle::new(1, 0).grid(place);
            let mut sets = Vec::new();
            find(&grid, &mut sets);
            assert!(sets.len() > 40, "{}", sets.len());
            let boards: Vec<Board> = (sets.iter())
                .map(|set| std::array::from_fn(|cell| if set >> cell & 1 == 1 { 0 } else { grid[cell] }))
                .map(|cells| Board::from_cells(cells).expect("digits"))
                .collect();
            let mut verdicts = Vec::new();
            Bitmask::new().solve_many(&boards, 2, &Budget::unlimited(), &mut verdicts);
            assert!(verdicts.iter().all(|verdict| verdict.solutions == 2));
        }
    }
}
