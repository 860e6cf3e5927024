//! `sudoku.generate` as a worker meets it: lines in, outcomes out, each held against the task's own check.

use std::sync::atomic::AtomicBool;

use puzzled_solver::sudoku::Shuffle;
use puzzled_solver::{Budget, OutcomeKind, OutcomeRef, Outcomes, Task};

/// Runs lines through the task's engine; every outcome must pass the task's own check.
fn generate(task: &str, lines: &[&str]) -> Vec<(OutcomeKind, String)> {
    let task: Task = task.parse().expect("a task");
    let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
    let mut outcomes = Outcomes::new();
    task.engine().solve(&lines, &Budget::unlimited(), &mut outcomes);
    for (line, outcome) in lines.iter().zip(outcomes.iter()) {
        assert!(task.verify(line, outcome), "{task} {:?}", line.escape_ascii().to_string());
    }
    outcomes.iter().map(|o| (o.kind, String::from_utf8_lossy(o.text).into_owned())).collect()
}

#[test]
fn a_line_is_a_place_in_the_order_of_the_seed() {
    let found = generate("sudoku.generate:seed=42,corner=5", &["0", "7", "18446744073709551615", "7"]);
    let shuffle = Shuffle::new(42, 5);
    for (place, (kind, text)) in [0, 7, u64::MAX, 7].into_iter().zip(found) {
        let grid = shuffle.grid(u128::from(place)).map(|value| b'0' + value);
        assert_eq!((kind, text.as_bytes()), (OutcomeKind::Solved, &grid[..]));
    }
}

#[test]
fn a_line_that_is_no_number_is_invalid() {
    let found = generate("sudoku.generate", &["x", "!empty line", "07"]);
    let reasons: Vec<&str> = found.iter().map(|(_, text)| &text[..]).collect();
    assert!(found.iter().all(|(kind, _)| *kind == OutcomeKind::Invalid));
    assert_eq!(reasons[1..], ["empty line", "not in canonical form"]);
    assert!(reasons[0].starts_with("column 1: expected a whole number"), "{}", reasons[0]);
}

#[test]
fn a_cancelled_call_generates_nothing() {
    let task: Task = "sudoku.generate".parse().expect("a task");
    let (cancel, mut outcomes) = (AtomicBool::new(true), Outcomes::new());
    let budget = Budget { cancel: Some(&cancel), ..Budget::unlimited() };
    task.engine().solve(&[b"1", b"x"], &budget, &mut outcomes);
    assert!(outcomes.iter().all(|outcome| outcome.kind == OutcomeKind::Cancelled && outcome.text.is_empty()));
}

#[test]
fn what_is_no_grid_as_wanted_does_not_pass() {
    let check = |task: &str, line: &[u8], kind, text: &str, expected| {
        let task: Task = task.parse().expect("a task");
        let outcome = OutcomeRef { kind, text: text.as_bytes() };
        assert_eq!(task.verify(line, outcome), expected, "{task} {kind:?} {text}");
    };
    let five = &generate("sudoku.generate:corner=5", &["3"])[0].1;
    check("sudoku.generate", b"3", OutcomeKind::Solved, five, true);
    check("sudoku.generate:corner=5", b"3", OutcomeKind::Solved, five, true);
    check("sudoku.generate:corner=6", b"3", OutcomeKind::Solved, five, false);
    check("sudoku.generate", b"x", OutcomeKind::Solved, five, false);
    check("sudoku.generate", b"3", OutcomeKind::Solved, &five.replace('5', "6"), false);
    check("sudoku.generate", b"3", OutcomeKind::Solved, &five[1..], false);
    check("sudoku.generate", b"3", OutcomeKind::Multiple, five, false);
    check("sudoku.generate", b"3", OutcomeKind::NoSolution, "", false);
    check("sudoku.generate", b"3", OutcomeKind::Invalid, "why", false);
}
