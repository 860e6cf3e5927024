//! Any text as a rating and as a step of a solution: what is read is written the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use puzzled_solver::sudoku::{Rating, Step};

fuzz_target!(|text: &str| {
    let mut again = Vec::new();
    if let Some(rating) = Rating::parse(text) {
        rating.write(&mut again);
        assert_eq!(again, text.as_bytes());
    }
    again.clear();
    if let Some(step) = Step::parse(text) {
        step.write(&mut again);
        assert_eq!(again, text.as_bytes());
    }
});
