//! Any boards, as a slice: every width of the lane engine counts like exact cover.
#![no_main]

use libfuzzer_sys::fuzz_target;
use puzzled_solver::Budget;
use puzzled_solver::sudoku::{Board, CELLS, End, ExactCover, LaneEngine, Width, is_solution};

fuzz_target!(|data: &[u8]| {
    // Bytes above 9 are blanks: most boards then have few enough givens to have solutions.
    let boards: Vec<_> = data
        .chunks_exact(CELLS)
        .take(40)
        .filter_map(|chunk| {
            let mut cells = [0; CELLS];
            for (cell, &byte) in cells.iter_mut().zip(chunk) {
                *cell = if byte > 9 { 0 } else { byte };
            }
            Board::from_cells(cells)
        })
        .collect();
    let mut expected = Vec::new();
    ExactCover::new(3).solve_many(&boards, 3, &Budget { nodes: 10_000, ..Budget::unlimited() }, &mut expected);
    for width in Width::available() {
        let mut found = Vec::new();
        let mut engine = LaneEngine::with_width(width).expect("an available width");
        engine.solve_many(&boards, 3, &Budget { nodes: 10_000, ..Budget::unlimited() }, &mut found);
        for ((board, found), expected) in boards.iter().zip(&found).zip(&expected) {
            assert_eq!(found.solutions > 0, is_solution(board.cells(), &found.solution, 3));
            if (found.end, expected.end) == (End::Complete, End::Complete) {
                assert_eq!(found.solutions, expected.solutions);
            }
        }
    }
});
