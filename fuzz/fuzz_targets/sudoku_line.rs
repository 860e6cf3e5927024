//! Any bytes as a stored sudoku: one outcome, and it verifies. Both readers of a line agree.
#![no_main]

use libfuzzer_sys::fuzz_target;
use puzzled_solver::sudoku::Board;
use puzzled_solver::{Budget, Outcomes, Task};

fuzz_target!(|data: &[u8]| {
    if let Some(board) = Board::from_line(data) {
        assert_eq!(Board::parse(data), Ok(board));
    }
    for name in ["sudoku.solve", "sudoku.check", "sudoku.all:limit=3", "sudoku.count:limit=5"] {
        let task: Task = name.parse().expect("a task of the table");
        let mut outcomes = Outcomes::new();
        task.engine().solve(&[data], &Budget { nodes: 100, cancel: None }, &mut outcomes);
        assert_eq!(outcomes.len(), 1);
        assert!(task.verify(data, outcomes.get(0)));
    }
});
