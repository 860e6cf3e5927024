//! The sudoku engines against known answers, against each other and against the checker.

use proptest::prelude::*;
use puzzled_solver::sudoku::{Bitmask, Board, CELLS, End, ExactCover, Verdict, is_solution};
use puzzled_solver::{Budget, Engine, OutcomeKind, OutcomeRef, Outcomes, Task};

const COUNTS: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/sudoku_counts.txt"));
const CLUES_17: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/sudoku17.txt"));
const MAGICTOUR: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/magictour_top1465.txt"));

const UNIQUE: &str = ".5..83.17...1..4..3.4..56.8....3...9.9.8245....6....7...9....5...729..861.36.72.4";

fn task(text: &str) -> Task {
    text.parse().expect("a task of the table")
}

/// Solves one puzzle as the worker does and holds the outcome against the checker.
fn outcome(
    task: &Task,
    engine: &mut dyn Engine,
    puzzle: &[u8],
    budget: &Budget<'_>,
) -> (OutcomeKind, String) {
    let mut outcomes = Outcomes::new();
    engine.solve(&[puzzle], budget, &mut outcomes);
    assert_eq!(outcomes.len(), 1);
    let outcome = outcomes.get(0);
    assert!(task.verify(puzzle, outcome), "{} {outcome:?}", String::from_utf8_lossy(puzzle));
    (outcome.kind, String::from_utf8_lossy(outcome.text).into_owned())
}

fn check(task_text: &str, puzzle: &str, expected: (OutcomeKind, &str)) {
    let task = task(task_text);
    let (kind, text) = outcome(&task, &mut *task.engine(), puzzle.as_bytes(), &Budget::unlimited());
    assert_eq!((kind, text.as_str()), expected, "{task_text} {puzzle}");
}

fn both(board: Board, limit: u64) -> [Verdict; 2] {
    let mut verdicts = Vec::new();
    Bitmask::new().solve_many(&[board], limit, &Budget::unlimited(), &mut verdicts);
    ExactCover::new(3).solve_many(&[board], limit, &Budget::unlimited(), &mut verdicts);
    verdicts.try_into().expect("two engines")
}

/// Both engines must count alike, and what they show must be a solution.
fn engines_agree(board: Board, limit: u64) -> u64 {
    let verdicts = both(board, limit);
    for verdict in verdicts {
        assert_eq!(verdict.end, End::Complete);
        assert_eq!(verdict.solutions > 0, is_solution(board.cells(), &verdict.solution, 3));
    }
    assert_eq!(verdicts[0].solutions, verdicts[1].solutions, "{board:?}");
    verdicts[0].solutions
}

#[test]
fn known_counts() {
    let mut seen = 0;
    for line in COUNTS.lines() {
        let mut fields = line.split(':');
        let puzzle = fields.next().expect("a puzzle");
        let count = fields.next().expect("a count");
        let board = Board::parse(puzzle.as_bytes()).expect("a board");
        assert_eq!(engines_agree(board, 1000).to_string(), count, "{puzzle}");
        check("sudoku.count", puzzle, (OutcomeKind::Solved, count));
        match (count, fields.next()) {
            ("0", _) => check("sudoku.solve", puzzle, (OutcomeKind::NoSolution, "")),
            ("1", Some(solution)) => check("sudoku.solve", puzzle, (OutcomeKind::Solved, solution)),
            _ => {
                let task = task("sudoku.solve");
                let found = outcome(&task, &mut *task.engine(), puzzle.as_bytes(), &Budget::unlimited());
                assert_eq!(found.0, OutcomeKind::Multiple);
            }
        }
        seen += 1;
    }
    assert!(seen > 30);
}

#[test]
fn all_17_clue_puzzles_in_one_slice() {
    let task = task("sudoku.solve");
    let puzzles: Vec<_> = CLUES_17.lines().map(str::as_bytes).collect();
    let mut outcomes = Outcomes::new();
    task.engine().solve(&puzzles, &Budget::unlimited(), &mut outcomes);
    assert_eq!(puzzles.len(), 49151);
    assert_eq!(outcomes.counts(), [49151, 0, 0, 0, 0, 0, 0]);
    assert!(puzzles.iter().zip(outcomes.iter()).all(|(puzzle, outcome)| task.verify(puzzle, outcome)));
}

#[test]
fn hard_puzzles_and_the_oracle_agree() {
    for (lines, step) in [(MAGICTOUR, 15), (CLUES_17, 500)] {
        for line in lines.lines().step_by(step) {
            assert_eq!(engines_agree(Board::parse(line.as_bytes()).expect("a board"), 2), 1, "{line}");
        }
    }
}

#[test]
fn outcomes_by_kind() {
    check("sudoku.count:limit=1000", &".".repeat(81), (OutcomeKind::Solved, "1000"));
    check("sudoku.count:limit=288", &".".repeat(16), (OutcomeKind::Solved, "288"));
    check("sudoku.count", &".".repeat(256), (OutcomeKind::Solved, "1000"));
    check("sudoku.solve", &format!("55{}", ".".repeat(79)), (OutcomeKind::NoSolution, ""));
    check("sudoku.count", &format!("55{}", ".".repeat(79)), (OutcomeKind::Solved, "0"));
    check("sudoku.solve", &format!("GG{}", ".".repeat(254)), (OutcomeKind::NoSolution, ""));
    check("sudoku.solve", "12343412214343..", (OutcomeKind::Solved, "1234341221434321"));
    check("sudoku.solve", "!column 3: a reason", (OutcomeKind::Invalid, "column 3: a reason"));
    check("sudoku.solve", "!", (OutcomeKind::Invalid, ""));
    check("sudoku.solve", " 12343412214343..", (OutcomeKind::Invalid, "not in canonical form"));
    check(
        "sudoku.solve",
        "12",
        (OutcomeKind::Invalid, "column 3: expected 16, 81, 256 or 625 cells, found 2"),
    );
}

#[test]
fn a_mixed_slice_keeps_its_order() {
    let task = task("sudoku.solve");
    let empty = ".".repeat(81);
    let puzzles = [UNIQUE, "!no", "12343412214343..", &empty, "x", UNIQUE].map(str::as_bytes);
    let mut outcomes = Outcomes::new();
    outcomes.push(OutcomeKind::Failed, b"kept");
    task.engine().solve(&puzzles, &Budget::unlimited(), &mut outcomes);
    let kinds: Vec<_> = outcomes.iter().map(|outcome| outcome.kind).collect();
    use OutcomeKind::{Failed, Invalid, Multiple, Solved};
    assert_eq!(kinds, [Failed, Solved, Invalid, Solved, Multiple, Invalid, Solved]);
}

#[test]
fn budgets_give_the_best_so_far() {
    let empty = [b'.'; CELLS];
    let two_nodes = Budget { nodes: 2, cancel: None };
    let found = |text: &str, budget: &Budget<'_>| {
        let task = task(text);
        outcome(&task, &mut *task.engine(), &empty, budget)
    };
    assert_eq!(found("sudoku.solve", &two_nodes), (OutcomeKind::TimedOut, String::new()));
    assert_eq!(found("sudoku.count", &two_nodes), (OutcomeKind::TimedOut, "0".to_owned()));
    let (kind, text) = found("sudoku.count:limit=1000000", &Budget { nodes: 1000, cancel: None });
    assert_eq!(kind, OutcomeKind::TimedOut);
    assert!(text.parse::<u64>().is_ok_and(|count| count > 1));
    let flag = std::sync::atomic::AtomicBool::new(true);
    let cancelled = Budget { nodes: 0, cancel: Some(&flag) };
    assert_eq!(found("sudoku.solve", &cancelled), (OutcomeKind::Cancelled, String::new()));
    let task = task("sudoku.solve");
    let large = outcome(&task, &mut *task.engine(), &[b'.'; 256], &cancelled);
    assert_eq!(large, (OutcomeKind::Cancelled, String::new()));
}

#[test]
fn tampered_answers_are_refused() {
    let solve = task("sudoku.solve");
    let verify = |task: &Task, kind, text: &[u8]| task.verify(UNIQUE.as_bytes(), OutcomeRef { kind, text });
    let answer = solved(UNIQUE);
    assert!(verify(&solve, OutcomeKind::Solved, &answer));
    for cell in 0..CELLS {
        for byte in [b'1', b'2', b'.', b'0', b'a', 0xff] {
            let mut tampered = answer.clone();
            tampered[cell] = byte;
            assert_eq!(verify(&solve, OutcomeKind::Solved, &tampered), tampered == answer);
        }
    }
    // A right answer to another puzzle.
    let mut other = answer.clone();
    for byte in &mut other {
        *byte = if *byte == b'9' { b'1' } else { *byte + 1 };
    }
    assert!(!verify(&solve, OutcomeKind::Solved, &other));
    assert!(!verify(&solve, OutcomeKind::Multiple, b""));
    assert!(!verify(&solve, OutcomeKind::Invalid, b"why"));
    assert!(!verify(&solve, OutcomeKind::TimedOut, &other));
    let count = task("sudoku.count:limit=5");
    assert!(verify(&count, OutcomeKind::Solved, b"5"));
    for wrong in [&b"6"[..], b"", b"+1", b"01", b"-1", b"1 "] {
        assert!(!verify(&count, OutcomeKind::Solved, wrong), "{wrong:?}");
    }
    assert!(!verify(&count, OutcomeKind::Multiple, &answer));
}

fn solved(puzzle: &str) -> Vec<u8> {
    let task = task("sudoku.solve");
    outcome(&task, &mut *task.engine(), puzzle.as_bytes(), &Budget::unlimited()).1.into_bytes()
}

/// A solved grid with some cells blanked, a few spoilt with random values, of varied density.
fn sub_puzzle() -> impl Strategy<Value = [u8; CELLS]> {
    let lines: Vec<_> = COUNTS.lines().filter_map(|line| line.split(':').nth(2)).collect();
    let kept = proptest::collection::vec(0u8..100, CELLS);
    let spoilt = proptest::collection::vec((0..CELLS, 1u8..=9), 0..3);
    (proptest::sample::select(lines), kept, 25u8..60, spoilt).prop_map(|(line, rolls, percent, spoilt)| {
        let mut cells: [u8; CELLS] =
            std::array::from_fn(|i| if rolls[i] < percent { line.as_bytes()[i] - b'0' } else { 0 });
        for (cell, value) in spoilt {
            cells[cell] = value;
        }
        cells
    })
}

proptest! {
    #[test]
    fn engines_agree_on_sub_puzzles(cells in sub_puzzle()) {
        engines_agree(Board::from_cells(cells).expect("values up to 9"), 200);
    }

    #[test]
    fn engines_agree_on_random_givens(givens in proptest::collection::vec((0..CELLS, 1u8..=9), 0..30)) {
        let mut cells = [0; CELLS];
        for (cell, value) in givens {
            cells[cell] = value;
        }
        engines_agree(Board::from_cells(cells).expect("values up to 9"), 10);
    }

    #[test]
    fn any_text_has_one_outcome_that_verifies(text in "[0-9._*a-p!\n ]{0,100}|[.0-4]{16}|[.1-9]{81}") {
        for task in [task("sudoku.solve"), task("sudoku.count:limit=3")] {
            let budget = Budget { nodes: 1000, cancel: None };
            outcome(&task, &mut *task.engine(), text.as_bytes(), &budget);
        }
    }
}
