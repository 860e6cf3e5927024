//! Any text as a job of every sudoku task, in any layout: what is accepted is canonical, what is refused has a place
//! within the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use puzzled_solver::{Kind, Task};

fuzz_target!(|data: &[u8]| {
    let _ = Task::guess(data);
    for task in Task::table().map(|info| info.task).filter(|task| task.kind() == Kind::Sudoku) {
        let _ = (task.begins_grid(data), task.grid_is_complete(data));
        let mut out = Vec::new();
        match task.canonical(data, &mut out) {
            Ok(()) => {
                let mut again = Vec::new();
                task.canonical(&out, &mut again).expect("canonical text is a job");
                assert_eq!(out, again);
            }
            Err(error) => {
                assert!(out.is_empty());
                let lines: Vec<_> = data.split(|&byte| byte == b'\n').collect();
                let line = lines[error.line().unwrap_or(1) - 1];
                assert!((1..=line.len() + 1).contains(&error.column()), "{task}: {error}");
            }
        }
    }
});
