//! Any text as a task: what is read is shown in a form that reads back as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use puzzled_solver::Task;

fuzz_target!(|text: &str| {
    if let Ok(task) = text.parse::<Task>() {
        assert_eq!(task.to_string().parse(), Ok(task));
    }
});
