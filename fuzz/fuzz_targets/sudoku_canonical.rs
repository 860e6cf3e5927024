//! Any board and any symmetry: the board and its image have one form, to which their morphs lead; one given fewer makes
//! another form. Clashes are told.
#![no_main]

use libfuzzer_sys::fuzz_target;
use puzzled_solver::Budget;
use puzzled_solver::sudoku::{Board, CELLS, Canonicalizer, Morph, NoForm};

/// An order of nine lines that keeps bands together, by sorting.
fn lines(keys: [u8; 9]) -> [u8; 9] {
    let mut bands = [[0, 1, 2], [3, 4, 5], [6, 7, 8]];
    bands.iter_mut().for_each(|band| band.sort_by_key(|&line| keys[usize::from(line)]));
    bands.sort_by_key(|band| keys[usize::from(band[0])]);
    std::array::from_fn(|place| bands[place / 3][place % 3])
}

fn digits(keys: [u8; 9]) -> [u8; 9] {
    let mut digits = [0, 1, 2, 3, 4, 5, 6, 7, 8];
    digits.sort_by_key(|&digit| keys[usize::from(digit)]);
    digits
}

/// Bytes above 9 are blanks; a given that clashes with one before is left out if the first byte says so.
fn board(bytes: &[u8; CELLS]) -> Board {
    let mut cells = [0; CELLS];
    for (cell, &byte) in bytes.iter().enumerate().filter(|&(_, &byte)| byte <= 9) {
        let sees = |other: usize| {
            other / 9 == cell / 9
                || other % 9 == cell % 9
                || (other / 27, other % 9 / 3) == (cell / 27, cell % 9 / 3)
        };
        let clashes = (0..cell).any(|other| cells[other] == byte && sees(other));
        cells[cell] = if clashes && bytes[0] % 16 != 15 { 0 } else { byte };
    }
    Board::from_cells(cells).expect("digits")
}

fuzz_target!(|input: ([u8; CELLS], bool, [[u8; 9]; 3])| {
    let (bytes, transposed, [rows, columns, names]) = input;
    let board = board(&bytes);
    let morph = Morph::new(transposed, lines(rows), lines(columns), digits(names)).expect("a symmetry");
    assert_eq!(morph.to_string().parse(), Ok(morph));
    let image = morph.apply(&board);
    let mut canonicalizer = Canonicalizer::default();
    let budget = Budget { nodes: 1_000_000, ..Budget::unlimited() };
    match (canonicalizer.canonical(&board, &budget), canonicalizer.canonical(&image, &budget)) {
        (Ok(found), Ok(of_image)) => {
            assert_eq!((found.form, found.automorphisms), (of_image.form, of_image.automorphisms));
            assert_eq!(found.morph.apply(&board), found.form);
            assert_eq!(of_image.morph.apply(&image), found.form);
            if let Some(cell) = board.cells().iter().rposition(|&digit| digit != 0) {
                let mut fewer = *board.cells();
                fewer[cell] = 0;
                let fewer = Board::from_cells(fewer).expect("digits");
                let fewer = canonicalizer.canonical(&fewer, &budget).expect("no clash in fewer givens");
                assert_ne!(fewer.form, found.form);
            }
        }
        (Err(NoForm::Clash(_)), Err(NoForm::Clash(_))) => {}
        other => panic!("{other:?}"),
    }
});
