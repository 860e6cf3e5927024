//! Any text as a board in any layout: what is accepted is canonical, what is refused has a place within the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use puzzled_solver::Task;

fuzz_target!(|data: &[u8]| {
    let task: Task = "sudoku.solve".parse().expect("a task of the table");
    let _ = (Task::guess(data), task.begins_grid(data), task.grid_is_complete(data));
    let mut out = Vec::new();
    match task.canonical(data, &mut out) {
        Ok(()) => {
            let mut again = Vec::new();
            task.canonical(&out, &mut again).expect("canonical text is a board");
            assert_eq!(out, again);
        }
        Err(error) => {
            assert!(out.is_empty());
            let lines: Vec<_> = data.split(|&byte| byte == b'\n').collect();
            let line = lines[error.line().unwrap_or(1) - 1];
            assert!((1..=line.len() + 1).contains(&error.column()));
        }
    }
});
