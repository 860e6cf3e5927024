//! Clause learning, the engine for boards other than 9x9: known answers, the oracle, and the limits it must keep.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use puzzled_solver::sudoku::{ClauseLearning, End, ExactCover, is_solution};
use puzzled_solver::{Budget, OutcomeKind, Outcomes, Task};

/// Lines `puzzle:count:solution`; counts stop at 1000. Made by the example `big_boards`; that a puzzle has none, one or
/// more solutions was confirmed by a SAT solver (Glucose 4) on a plain encoding.
const BIG: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/sudoku_big.txt"));
const COUNT_MAX: u64 = 1000;

fn outcome(task: &str, puzzle: &str) -> (OutcomeKind, String) {
    let task: Task = task.parse().expect("a task of the table");
    let mut outcomes = Outcomes::new();
    task.engine().solve(&[puzzle.as_bytes()], &Budget::unlimited(), &mut outcomes);
    let outcome = outcomes.get(0);
    assert!(task.verify(puzzle.as_bytes(), outcome), "{task} {puzzle} {outcome:?}");
    (outcome.kind, String::from_utf8_lossy(outcome.text).into_owned())
}

/// Counts, and holds every witness against the checker and against the others.
fn solve(
    engine: &mut ClauseLearning,
    cells: &[u8],
    limit: u64,
    budget: &Budget<'_>,
) -> (BTreeSet<Vec<u8>>, End) {
    let box_size = cells.len().isqrt().isqrt();
    let mut witnesses = BTreeSet::new();
    let (solutions, end) = engine.solve_each(cells, limit, budget, &mut |found| {
        assert!(is_solution(cells, found, box_size), "{cells:?}");
        assert!(witnesses.insert(found.to_vec()), "a solution told twice: {cells:?}");
    });
    assert_eq!(solutions, witnesses.len() as u64);
    (witnesses, end)
}

/// Counts must be the oracle's, and so must the solutions if these are all.
fn agree_with_oracle(box_size: usize, cells: &[u8], limit: u64) {
    let mut expected = BTreeSet::new();
    let mut keep = |found: &[u8]| {
        expected.insert(found.to_vec());
    };
    // Enough for all but a few of the 16x16 boards.
    let budget = Budget { nodes: 20_000, ..Budget::unlimited() };
    let (count, end) = ExactCover::new(box_size).solve_each(cells, limit, &budget, &mut keep);
    let mut engine = ClauseLearning::new(box_size);
    let (found, own_end) = solve(&mut engine, cells, limit, &Budget::unlimited());
    assert_eq!(own_end, End::Complete);
    if end == End::Complete {
        assert_eq!(found.len() as u64, count, "{cells:?}");
        if count < limit {
            assert_eq!(found, expected, "{cells:?}");
        }
    } else {
        assert!(found.len() as u64 >= count, "{cells:?}");
    }
}

#[test]
fn known_answers() {
    let mut sizes = [0; 626];
    for line in BIG.lines() {
        let mut fields = line.split(':');
        let puzzle = fields.next().expect("a puzzle");
        let count: u64 = fields.next().expect("a count").parse().expect("a number");
        let only = fields.next();
        sizes[puzzle.len()] += 1;
        let (kind, text) = outcome("sudoku.count:limit=999", puzzle);
        let expected = if count < COUNT_MAX { count.to_string() } else { "999+".to_owned() };
        assert_eq!((kind == OutcomeKind::Multiple, text), (count == COUNT_MAX, expected), "{puzzle}");
        let kind = match count {
            0 => OutcomeKind::NoSolution,
            1 => OutcomeKind::Solved,
            _ => OutcomeKind::Multiple,
        };
        for task in ["sudoku.solve", "sudoku.check"] {
            let (found, text) = outcome(task, puzzle);
            assert_eq!(found, kind, "{task} {puzzle}");
            assert!(only.is_none_or(|only| only == text), "{task} {puzzle}");
        }
        assert_eq!(outcome("sudoku.first", puzzle).0 == OutcomeKind::Solved, count > 0, "{puzzle}");
        // That they are solutions, in order and no two alike, is what `verify` looks at.
        let (_, all) = outcome("sudoku.all:limit=1000", puzzle);
        let shown = all.split(' ').filter(|solution| solution.len() == puzzle.len()).count();
        assert_eq!(shown as u64, count, "{puzzle}");
    }
    assert_eq!((sizes[16], sizes[256], sizes[625]), (12, 18, 4));
}

#[test]
fn all_grids_of_the_smallest_size() {
    // 288 is the number of 4x4 sudoku grids (OEIS A107739).
    let mut engine = ClauseLearning::new(2);
    let (all, end) = solve(&mut engine, &[0; 16], u64::MAX, &Budget::unlimited());
    assert_eq!((all.len(), end), (288, End::Complete));
    for limit in [0, 1, 287, 288, 289] {
        let (some, end) = solve(&mut engine, &[0; 16], limit, &Budget::unlimited());
        assert_eq!((some.len() as u64, end), (limit.min(288), End::Complete));
    }
}

#[test]
fn empty_boards_have_as_many_solutions_as_asked_for() {
    for box_size in 2usize..=5 {
        let limit = if box_size == 2 { 200 } else { 2000 };
        let blank = vec![0; box_size.pow(4)];
        let budget = Budget { nodes: 100_000, ..Budget::unlimited() };
        let (found, end) = solve(&mut ClauseLearning::new(box_size), &blank, limit, &budget);
        assert_eq!((found.len() as u64, end), (limit, End::Complete), "box size {box_size}");
    }
}

#[test]
fn givens_that_clash_have_no_solution() {
    for side in [4, 9, 16, 25] {
        let mut engine = ClauseLearning::new(usize::isqrt(side));
        for second in [1, side, side + 1] {
            let mut cells = vec![0; side * side];
            (cells[0], cells[second]) = (side as u8, side as u8);
            let (found, end) = solve(&mut engine, &cells, 2, &Budget::unlimited());
            assert_eq!((found.len(), end), (0, End::Complete), "side {side}, cells 0 and {second}");
        }
    }
}

#[test]
fn what_was_solved_before_changes_nothing() {
    let mut engines = [(); 6].map(|()| None);
    for line in BIG.lines() {
        let puzzle: Vec<u8> = cells(line.split(':').next().expect("a puzzle"));
        let box_size = puzzle.len().isqrt().isqrt();
        let used = engines[box_size].get_or_insert_with(|| ClauseLearning::new(box_size));
        for nodes in [0, 1, 10, 100] {
            let budget = Budget { nodes, ..Budget::unlimited() };
            let fresh = solve(&mut ClauseLearning::new(box_size), &puzzle, 20, &budget);
            assert_eq!(solve(used, &puzzle, 20, &budget), fresh, "{nodes} nodes, {line}");
        }
    }
}

fn cells(text: &str) -> Vec<u8> {
    let value = |character: char| character.to_digit(36).unwrap_or(0) as u8;
    text.chars().map(value).collect()
}

#[test]
fn a_budget_of_nodes_ends_the_search() {
    let mut engine = ClauseLearning::new(5);
    let mut counts = Vec::new();
    for nodes in [1, 100, 1000, 3000] {
        let (found, end) = solve(&mut engine, &[0; 625], u64::MAX, &Budget { nodes, ..Budget::unlimited() });
        assert_eq!(end, End::OutOfNodes);
        assert!(found.len() as u64 <= nodes);
        counts.push(found.len());
    }
    assert!(counts.is_sorted() && counts[3] > 0, "{counts:?}");
}

#[test]
fn a_flag_ends_the_search() {
    let mut engine = ClauseLearning::new(4);
    let flag = AtomicBool::new(true);
    let budget = Budget { cancel: Some(&flag), ..Budget::unlimited() };
    assert_eq!(engine.solve_each(&[0; 256], 2, &budget, &mut |_| {}), (0, End::Cancelled));
    flag.store(false, Ordering::Relaxed);
    let mut cancel = |_: &[u8]| flag.store(true, Ordering::Relaxed);
    assert_eq!(engine.solve_each(&[0; 256], u64::MAX, &budget, &mut cancel), (1, End::Cancelled));

    // From another thread, in a search that would not end by itself.
    let flag = &AtomicBool::new(false);
    let budget = Budget { cancel: Some(flag), ..Budget::unlimited() };
    let (started, waiting) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            waiting.recv().expect("a solution");
            flag.store(true, Ordering::Relaxed);
        });
        let mut witness = |_: &[u8]| _ = started.send(());
        let (solutions, end) = engine.solve_each(&[0; 256], u64::MAX, &budget, &mut witness);
        assert!(solutions > 0 && end == End::Cancelled);
    });
}

/// A grid with this first row.
fn grid(box_size: usize, order: &[u8]) -> Vec<u8> {
    let mut cells = vec![0; box_size.pow(4)];
    cells[..order.len()].copy_from_slice(order);
    let (found, _) = solve(&mut ClauseLearning::new(box_size), &cells, 1, &Budget::unlimited());
    found.into_iter().next().expect("any first row has a grid")
}

/// A grid with each cell blank at a chance, and some of the others overwritten, which mostly makes it contradict itself.
fn board(box_size: usize, blanks: std::ops::Range<f64>) -> impl Strategy<Value = Vec<u8>> {
    let side = (box_size * box_size) as u8;
    let first_row = Just((1..=side).collect::<Vec<u8>>()).prop_shuffle();
    let area = usize::from(side).pow(2);
    let changes = prop::collection::vec((0..area, 1..=side), 0..3);
    (first_row, blanks, prop::collection::vec(0.0..1.0, area), changes, 0..3).prop_map(
        move |(first_row, blanks, dice, changes, is_changed)| {
            let mut cells = grid(box_size, &first_row);
            for (cell, chance) in cells.iter_mut().zip(dice) {
                if chance < blanks {
                    *cell = 0;
                }
            }
            for (cell, value) in changes {
                if is_changed == 0 {
                    cells[cell] = value;
                }
            }
            cells
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn agrees_with_the_oracle_on_4x4(cells in board(2, 0.3..1.0), limit in 0u64..100) {
        agree_with_oracle(2, &cells, limit);
    }

    #[test]
    fn agrees_with_the_oracle_on_9x9(cells in board(3, 0.3..0.8), limit in 0u64..300) {
        agree_with_oracle(3, &cells, limit);
    }

    #[test]
    fn agrees_with_the_oracle_on_16x16(cells in board(4, 0.3..0.65), limit in 0u64..100) {
        agree_with_oracle(4, &cells, limit);
    }

    #[test]
    fn agrees_with_the_oracle_on_anything(cells in prop::collection::vec(0u8..=4, 16), limit in 0u64..300) {
        agree_with_oracle(2, &cells, limit);
    }
}
