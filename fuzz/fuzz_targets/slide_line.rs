//! Any bytes as a slide board: canonical text is a fixed point, and every outcome verifies.
#![no_main]

use libfuzzer_sys::fuzz_target;
use puzzled_solver::{Budget, Outcomes, Task};

fuzz_target!(|data: &[u8]| {
    let task: Task = "slide.solve".parse().expect("a task of the table");
    let mut out = Vec::new();
    if let Err(error) = task.canonical(data, &mut out) {
        assert!(out.is_empty());
        assert!((1..=data.len() + 1).contains(&error.column()));
    }
    let mut outcomes = Outcomes::new();
    task.engine().solve(&[data, &out], &Budget::unlimited(), &mut outcomes);
    assert!(task.verify(data, outcomes.get(0)) && task.verify(&out, outcomes.get(1)));
});
