//! `sudoku.generate` as a worker meets it: lines in, outcomes out, each held against the task's own check.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use puzzled_solver::sudoku::{Board, CELLS, ExactCover, Shuffle};
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

/// The texts for numbers 0 to `count`.
fn many(task: &str, count: u64) -> Vec<(OutcomeKind, String)> {
    let lines: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    generate(task, &lines.iter().map(String::as_str).collect::<Vec<_>>())
}

fn clues(puzzle: &str) -> usize {
    puzzle.bytes().filter(|&byte| byte != b'.').count()
}

#[test]
fn puzzles_are_as_wanted_and_checked_by_another_engine() {
    for (options, count) in [
        ("what=puzzle", 40),
        ("what=minimal", 40),
        ("what=minimal,corner=3", 20),
        ("what=puzzle,clues_min=30,clues_max=30", 40),
        ("what=puzzle,clues_min=26,clues_max=40,symmetry=half-turn", 20),
        ("what=puzzle,symmetry=quarter-turn", 10),
        ("what=puzzle,symmetry=horizontal", 10),
        ("what=puzzle,symmetry=vertical", 10),
        ("what=puzzle,symmetry=orthogonal", 10),
        ("what=puzzle,symmetry=diagonal", 10),
        ("what=puzzle,symmetry=anti-diagonal", 10),
        ("what=puzzle,symmetry=diagonals", 10),
        ("what=puzzle,symmetry=full", 10),
        ("what=minimal,clues_max=22", 10),
        ("what=minimal,symmetry=diagonal", 5),
        ("what=puzzle,difficulty_min=26,difficulty_max=44", 5),
    ] {
        let found = many(&format!("sudoku.generate:seed=9,{options}"), count);
        for (kind, text) in &found {
            assert_eq!(*kind, OutcomeKind::Solved, "{options}: {text}");
        }
        let distinct: HashSet<_> = found.iter().collect();
        assert_eq!(distinct.len(), found.len(), "{options}");
    }
    let numbers: HashSet<usize> = many("sudoku.generate:what=puzzle,clues_min=26,clues_max=28", 40)
        .iter()
        .map(|(_, text)| clues(text))
        .collect();
    assert_eq!(numbers.len(), 3, "every number of clues in the range");
}

/// By exact cover, which neither made nor checked them.
#[test]
fn puzzles_have_one_solution_and_minimal_ones_no_clue_to_spare() {
    let mut cover = ExactCover::new(3);
    let mut solutions = |cells: &[u8]| cover.solve(cells, 2, &Budget::unlimited(), &mut [0; CELLS]).0;
    for options in ["what=puzzle,clues_min=28", "what=minimal", "what=minimal,symmetry=half-turn"] {
        for (_, text) in many(&format!("sudoku.generate:seed=4,{options}"), 8) {
            let cells = *Board::parse(text.as_bytes()).expect("a puzzle").cells();
            assert_eq!(solutions(&cells), 1, "{options} {text}");
            for clue in (0..CELLS).filter(|&cell| options.contains("minimal") && cells[cell] != 0) {
                let mut without = cells;
                without[clue] = 0;
                assert_eq!(solutions(&without), 2, "{options} {text}: clue {clue} is needless");
            }
        }
    }
}

#[test]
fn symmetries_are_what_their_names_say() {
    type Image = fn(usize, usize) -> usize;
    let half_turn: Image = |row, column| 9 * (8 - row) + 8 - column;
    let quarter_turn: Image = |row, column| 9 * column + 8 - row;
    let upside_down: Image = |row, column| 9 * (8 - row) + column;
    let left_right: Image = |row, column| 9 * row + 8 - column;
    let transposed: Image = |row, column| 9 * column + row;
    let anti_transposed: Image = |row, column| 9 * (8 - column) + 8 - row;
    let check = |name: &str, images: &[Image]| {
        for (kind, text) in many(&format!("sudoku.generate:what=puzzle,symmetry={name}"), 20) {
            assert_eq!(kind, OutcomeKind::Solved);
            let clue: Vec<bool> = text.bytes().map(|byte| byte != b'.').collect();
            for image in images {
                assert!(
                    (0..CELLS).all(|cell| clue[cell] == clue[image(cell / 9, cell % 9)]),
                    "{name} {text}"
                );
            }
        }
    };
    check("half-turn", &[half_turn]);
    check("quarter-turn", &[quarter_turn, half_turn]);
    check("horizontal", &[upside_down]);
    check("vertical", &[left_right]);
    check("orthogonal", &[upside_down, left_right, half_turn]);
    check("diagonal", &[transposed]);
    check("anti-diagonal", &[anti_transposed]);
    check("diagonals", &[transposed, anti_transposed, half_turn]);
    check("full", &[quarter_turn, half_turn, upside_down, left_right, transposed, anti_transposed]);
}

#[test]
fn clues_and_difficulty_stay_within_their_ranges() {
    let found =
        many("sudoku.generate:what=puzzle,clues_min=27,clues_max=29,difficulty_min=20,difficulty_max=44", 6);
    let texts: Vec<&str> = found.iter().map(|(_, text)| &text[..]).collect();
    assert!(texts.iter().all(|text| (27..=29).contains(&clues(text))), "{texts:?}");
    for (_, rating) in generate("sudoku.rate", &texts) {
        let grade: f64 = rating.split(' ').next().and_then(|grade| grade.parse().ok()).expect("a rating");
        assert!((2.0..=4.4).contains(&grade), "{rating}");
    }
}

#[test]
fn a_slice_of_a_thousand_is_a_thousand_slices_of_one() {
    // Some of them need many tries, so that the waves of a large slice and of a small one differ.
    for task in
        ["sudoku.generate:what=minimal", "sudoku.generate:what=puzzle,clues_max=24,symmetry=half-turn"]
    {
        let together = many(task, 1_000);
        let distinct: HashSet<_> = together.iter().collect();
        assert_eq!(distinct.len(), 1_000, "{task}");
        let parsed: Task = task.parse().expect("a task");
        let (mut engine, mut outcomes) = (parsed.engine(), Outcomes::new());
        for number in 0..1_000 {
            engine.solve(&[number.to_string().as_bytes()], &Budget::unlimited(), &mut outcomes);
        }
        let alone = outcomes.iter().map(|o| (o.kind, String::from_utf8_lossy(o.text).into_owned()));
        assert!(alone.eq(together), "{task}");
    }
}

#[test]
fn a_search_that_finds_nothing_can_be_cancelled() {
    let task: Task = "sudoku.generate:what=minimal,clues_max=17,tries=100000000".parse().expect("a task");
    let (cancel, mut outcomes) = (AtomicBool::new(false), Outcomes::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let budget = Budget { cancel: Some(&cancel), ..Budget::unlimited() };
            task.engine().solve(&[b"0", b"1", b"x"], &budget, &mut outcomes);
        });
        cancel.store(true, Ordering::Relaxed);
    });
    let kinds: Vec<OutcomeKind> = outcomes.iter().map(|outcome| outcome.kind).collect();
    assert_eq!(kinds, [OutcomeKind::Cancelled, OutcomeKind::Cancelled, OutcomeKind::Invalid]);
}

#[test]
fn when_time_is_up_there_is_the_nearest_so_far_or_nothing() {
    let task: Task = "sudoku.generate:what=minimal,clues_max=17,tries=100000000".parse().expect("a task");
    let expired = AtomicBool::new(false);
    let budget = Budget { expired: Some(&expired), ..Budget::unlimited() };
    for is_over_at_once in [true, false] {
        expired.store(is_over_at_once, Ordering::Relaxed);
        let mut outcomes = Outcomes::new();
        std::thread::scope(|scope| {
            scope.spawn(|| task.engine().solve(&[b"0", b"1"], &budget, &mut outcomes));
            expired.store(true, Ordering::Relaxed);
        });
        for (line, outcome) in [b"0", b"1"].into_iter().zip(outcomes.iter()) {
            assert_eq!(outcome.kind, OutcomeKind::TimedOut);
            assert!(!is_over_at_once || outcome.text.is_empty());
            assert!(task.verify(line, outcome));
        }
    }
}

#[test]
fn a_puzzle_depends_on_nothing_but_task_and_number() {
    let task = "sudoku.generate:what=minimal,clues_max=23,seed=1";
    let together = many(task, 30);
    for number in [0, 7, 29] {
        assert_eq!(generate(task, &[&number.to_string()])[0], together[number]);
    }
    let reversed: Vec<String> = (0..30).rev().map(|number| number.to_string()).collect();
    let mut reversed = generate(task, &reversed.iter().map(String::as_str).collect::<Vec<_>>());
    reversed.reverse();
    assert_eq!(reversed, together);
}

#[test]
fn what_is_not_found_in_time_is_told_with_the_nearest() {
    for (kind, text) in many("sudoku.generate:what=minimal,clues_max=17,tries=20", 3) {
        assert_eq!(kind, OutcomeKind::TimedOut);
        assert!((18..=24).contains(&clues(&text)), "{text}");
    }
}

#[test]
fn puzzles_that_are_not_as_wanted_do_not_pass() {
    let check = |options: &str, text: &str, expected| {
        let task: Task = format!("sudoku.generate:{options}").parse().expect("a task");
        let outcome = OutcomeRef { kind: OutcomeKind::Solved, text: text.as_bytes() };
        assert_eq!(task.verify(b"0", outcome), expected, "{options} {text}");
    };
    let minimal = &many("sudoku.generate:what=minimal", 1)[0].1;
    let found = clues(minimal);
    check("what=minimal", minimal, true);
    check("what=puzzle", minimal, true);
    check(&format!("what=minimal,clues_max={}", found - 1), minimal, false);
    check(&format!("what=minimal,clues_min={}", found + 1), minimal, false);
    check("what=minimal,symmetry=half-turn", minimal, false);
    check("what=grid", minimal, false);
    check("what=minimal", &minimal.replace('.', "0"), false);
    let mut one_less = minimal.clone().into_bytes();
    let clue = one_less.iter().position(|&byte| byte != b'.').expect("a clue");
    one_less[clue] = b'.';
    check("what=puzzle", &String::from_utf8(one_less).expect("text"), false);
    let full = &many("sudoku.generate:what=puzzle,clues_min=40,clues_max=40", 1)[0].1;
    check("what=puzzle", full, true);
    check("what=minimal", full, false);
    let corner = &many("sudoku.generate:what=puzzle,corner=4", 1)[0].1;
    check("what=puzzle,corner=4", corner, true);
    check("what=puzzle,corner=5", corner, false);
}
