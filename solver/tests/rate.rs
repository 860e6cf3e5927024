//! The rater: what it concludes is true, and what it names is the technique that is needed.

use puzzled_solver::Budget;
use puzzled_solver::sudoku::{Board, CELLS, End, LaneEngine, Rater, Step, Technique, rate};

const CLUES_17: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/sudoku17.txt"));
const MAGICTOUR: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/magictour_top1465.txt"));

fn boards(lines: &str, step: usize) -> Vec<Board> {
    lines.lines().step_by(step).map(|line| Board::parse(line.as_bytes()).expect("a board")).collect()
}

/// The boards with their only solutions.
fn solved(boards: Vec<Board>) -> impl Iterator<Item = (Board, [u8; CELLS])> {
    let mut verdicts = Vec::new();
    LaneEngine::new().solve_many(&boards, 2, &Budget::unlimited(), &mut verdicts);
    assert!(verdicts.iter().all(|verdict| verdict.solutions == 1));
    boards.into_iter().zip(verdicts.into_iter().map(|verdict| verdict.solution))
}

/// Follows the steps on a board: each fills a blank cell with the true digit or strikes out false ones, and in the end
/// no cell is blank.
fn follow(board: &Board, solution: &[u8; CELLS], steps: &[Step]) {
    let mut cells = *board.cells();
    for step in steps {
        assert!(step.agrees_with(solution), "{board:?} {step:?}");
        assert!(step.technique.may_rate(step.tenths), "{step:?}");
        assert!(step.placed.is_some() || !step.removed.is_empty(), "{step:?}");
        if let Some((cell, digit)) = step.placed {
            assert_eq!(std::mem::replace(&mut cells[usize::from(cell)], digit), 0, "{step:?}");
        }
        assert!(step.removed.iter().all(|&(cell, _)| cells[usize::from(cell)] == 0), "{step:?}");
    }
    assert_eq!(&cells, solution);
}

#[test]
fn every_step_is_true_of_the_solution() {
    let mut rater = Rater::new();
    let mut steps = Vec::new();
    for (lines, step) in [(CLUES_17, 10), (MAGICTOUR, 1)] {
        for (board, solution) in solved(boards(lines, step)) {
            steps.clear();
            let rated = rater.explain(&board, &solution, &Budget::unlimited(), &mut steps);
            assert_eq!(rated.end, End::Complete);
            follow(&board, &solution, &steps);
            let hardest = steps.iter().max_by_key(|step| step.tenths).expect("a board with blanks");
            assert_eq!(rated.rating.tenths, hardest.tenths);
            assert_eq!(rater.rate(&board, &solution, &Budget::unlimited()), rated);
        }
    }
}

#[test]
fn only_one_solution_has_a_rating() {
    let clash = format!("11{}", ".".repeat(79));
    assert_eq!(rate(&Board::parse(clash.as_bytes()).expect("a board")), None, "digits clash");
    assert_eq!(rate(&Board::parse(&[b'.'; CELLS]).expect("a board")), None, "many solutions");
    let (_, solution) = solved(boards(CLUES_17, 100_000)).next().expect("a board");
    let rating =
        rate(&Board::from_cells(solution).expect("digits")).expect("a board without blanks is unique");
    assert_eq!((rating.tenths, rating.hardest), (0, None));
    let mut text = Vec::new();
    rating.write(&mut text);
    assert_eq!(text, b"0.0 none easy");
}

#[test]
fn techniques_are_in_order() {
    let all: Vec<_> = Technique::all().collect();
    assert!(all.is_sorted());
}
