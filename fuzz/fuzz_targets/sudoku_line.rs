//! Any bytes as a stored job of every sudoku task: one outcome, and it verifies. Both readers of a line agree.
#![no_main]

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use puzzled_solver::sudoku::Board;
use puzzled_solver::{Budget, Engine, Kind, Outcomes, Task};

fuzz_target!(|data: &[u8]| {
    thread_local! {
        static ENGINES: RefCell<Vec<(Task, Box<dyn Engine>)>> = {
            let tasks = Task::table().map(|info| info.task).filter(|task| task.kind() == Kind::Sudoku);
            let options = ["sudoku.all:limit=3", "sudoku.count:limit=5", "sudoku.canonical:morph=yes"];
            let more = options.map(|text| text.parse().expect("a task of the table"));
            RefCell::new(tasks.chain(more).map(|task| (task.clone(), task.engine())).collect())
        };
    }
    if let Some(board) = Board::from_line(data) {
        assert_eq!(Board::parse(data), Ok(board));
    }
    ENGINES.with_borrow_mut(|engines| {
        for (task, engine) in engines {
            let mut outcomes = Outcomes::new();
            engine.solve(&[data], &Budget { nodes: 100, ..Budget::unlimited() }, &mut outcomes);
            assert_eq!(outcomes.len(), 1);
            assert!(task.verify(data, outcomes.get(0)), "{task}");
        }
    });
});
