//! Any text as a morph: what is read is shown as it was written, and permutes the cells of a board.
#![no_main]

use libfuzzer_sys::fuzz_target;
use puzzled_solver::sudoku::{Board, Morph};

fuzz_target!(|text: &str| {
    if let Ok(morph) = text.parse::<Morph>() {
        assert_eq!(morph.to_string(), text);
        let grid = b"123456789456789123789123456214365897365897214897214365531642978642978531978531642";
        let image = morph.apply(&Board::parse(grid).expect("a grid"));
        assert!(puzzled_solver::sudoku::is_solution(&[0; 81], image.cells(), 3));
    }
});
