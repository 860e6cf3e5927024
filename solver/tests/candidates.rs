//! Boards given as pencil marks: every engine and width against a plain search by cells.

use std::collections::HashSet;

use proptest::prelude::*;
use puzzled_solver::Budget;
use puzzled_solver::sudoku::{
    Bitmask, Board, CELLS, Candidates, End, ExactCover, LaneEngine, Verdict, Width, is_solution,
};

const COUNTS: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/sudoku_counts.txt"));
const MAGICTOUR: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/magictour_top1465.txt"));

type Masks = [u16; CELLS];
type Values = [u8; CELLS];

/// What a solution must have once each, as pairs of cell and value: a value for each cell, a place for each value in
/// each row, column and box.
fn demands() -> Vec<[(usize, usize); 9]> {
    let mut demands = Vec::new();
    for (i, j) in (0..9).flat_map(|i| (0..9).map(move |j| (i, j))) {
        demands.push(std::array::from_fn(|value| (i * 9 + j, value)));
        demands.push(std::array::from_fn(|column| (i * 9 + column, j)));
        demands.push(std::array::from_fn(|row| (row * 9 + i, j)));
        demands.push(std::array::from_fn(|k| ((i / 3 * 3 + k / 3) * 9 + i % 3 * 3 + k % 3, j)));
    }
    demands
}

/// Up to `limit` solutions by trial and error: whatever demand has fewest ways to be met goes first.
fn plain_search(masks: &Masks, limit: usize) -> HashSet<Values> {
    fn search(
        demands: &[[(usize, usize); 9]],
        masks: &Masks,
        values: &Values,
        limit: usize,
        found: &mut HashSet<Values>,
    ) {
        let can = |&&(cell, value): &&(usize, usize)| masks[cell] >> value & 1 == 1;
        let is_met = |demand: &[(usize, usize); 9]| {
            demand.iter().any(|&(cell, value)| usize::from(values[cell]) == value + 1)
        };
        let open = demands.iter().filter(|demand| !is_met(demand));
        let Some(demand) = open.min_by_key(|demand| demand.iter().filter(can).count()) else {
            assert!(found.insert(*values), "the plain search finds nothing twice");
            return;
        };
        for &(cell, value) in demand.iter().filter(can) {
            if found.len() == limit {
                return;
            }
            let (mut masks, mut values) = (*masks, *values);
            for demand in demands.iter().filter(|demand| demand.contains(&(cell, value))) {
                demand.iter().for_each(|&(cell, value)| masks[cell] &= !(1 << value));
            }
            masks[cell] = 1 << value;
            values[cell] = value as u8 + 1;
            search(demands, &masks, &values, limit, found);
        }
    }
    let mut found = HashSet::new();
    search(&demands(), masks, &[0; CELLS], limit, &mut found);
    found
}

fn fits(masks: &Masks, values: &Values) -> bool {
    is_solution(&[0; CELLS], values, 3)
        && masks.iter().zip(values).all(|(mask, value)| mask >> (value - 1) & 1 == 1)
}

fn counts(verdicts: &[Verdict]) -> Vec<(u64, End)> {
    verdicts.iter().map(|verdict| (verdict.solutions, verdict.end)).collect()
}

/// Holds all engines against the plain search: counts, what is shown, and every solution where all are asked for.
/// Gives the counts.
fn check(slice: &[Masks], limit: usize) -> Vec<usize> {
    let boards: Vec<_> = slice.iter().filter_map(|masks| Candidates::from_masks(*masks)).collect();
    let expected: Vec<_> = slice.iter().map(|masks| plain_search(masks, limit)).collect();
    let expected_counts: Vec<_> = expected.iter().map(|found| (found.len() as u64, End::Complete)).collect();
    let shown = |name: &str, verdicts: &[Verdict]| {
        assert_eq!(counts(verdicts), expected_counts, "{name}: {slice:?}");
        for (masks, verdict) in slice.iter().zip(verdicts) {
            let is_right = if verdict.solutions == 0 {
                verdict.solution == [0; CELLS]
            } else {
                fits(masks, &verdict.solution)
            };
            assert!(is_right, "{name} shows {:?} for {masks:?}", verdict.solution);
        }
    };
    let mut verdicts = Vec::new();
    Bitmask::new().solve_many(&boards, limit as u64, &Budget::unlimited(), &mut verdicts);
    shown("bit masks", &verdicts);
    for width in Width::available() {
        let name = format!("{width:?}");
        let mut engine = LaneEngine::with_width(width).expect("an available width");
        verdicts.clear();
        engine.solve_many(&boards, limit as u64, &Budget::unlimited(), &mut verdicts);
        shown(&name, &verdicts);

        verdicts.clear();
        let mut found = vec![HashSet::new(); boards.len()];
        let mut witness = |board: usize, values: &Values| {
            assert!(found[board].insert(*values), "{name}: a solution twice");
        };
        engine.solve_each(&boards, limit as u64, &Budget::unlimited(), &mut verdicts, &mut witness);
        shown(&name, &verdicts);
        for ((found, expected), masks) in found.iter().zip(&expected).zip(slice) {
            assert_eq!(found.len(), expected.len(), "{name}: {masks:?}");
            assert!(found.iter().all(|values| fits(masks, values)), "{name}: {masks:?}");
            assert!(expected.len() == limit || found == expected, "{name}: {masks:?}");
        }
    }
    expected.iter().map(HashSet::len).collect()
}

fn known_solutions() -> Vec<Values> {
    let solutions = COUNTS.lines().filter_map(|line| line.split(':').nth(2));
    let values = |line: &str| std::array::from_fn(|cell| line.as_bytes()[cell] - b'0');
    solutions.filter(|line| line.len() == CELLS).map(values).collect()
}

/// A known solution with random other candidates.
fn around_a_solution(percent: std::ops::Range<u8>) -> impl Strategy<Value = Masks> {
    let rolls = proptest::collection::vec(0u8..100, CELLS * 9);
    (proptest::sample::select(known_solutions()), rolls, percent).prop_map(|(solution, rolls, percent)| {
        std::array::from_fn(|cell| {
            let extra = |value: &usize| rolls[cell * 9 + value] < percent;
            (0..9).filter(extra).fold(1 << (solution[cell] - 1), |mask, value| mask | 1 << value)
        })
    })
}

/// The candidates of two or three known solutions together: mostly a few solutions, spread over all cells.
fn overlaid() -> impl Strategy<Value = Masks> {
    proptest::collection::vec(proptest::sample::select(known_solutions()), 2..=3).prop_map(|solutions| {
        std::array::from_fn(|cell| solutions.iter().fold(0, |mask, values| mask | 1 << (values[cell] - 1)))
    })
}

/// Around a solution, which some cells then lose.
fn spoilt() -> impl Strategy<Value = Masks> {
    let lost = proptest::collection::vec((0..CELLS, 0u16..512), 1..4);
    (around_a_solution(5..35), lost).prop_map(|(mut masks, lost)| {
        for (cell, mask) in lost {
            masks[cell] &= mask;
        }
        masks
    })
}

fn of_any_sort() -> impl Strategy<Value = Masks> {
    let random = proptest::collection::vec(0u16..512, CELLS)
        .prop_map(|masks| std::array::from_fn(|cell| masks[cell] | masks[(cell + 1) % CELLS]));
    prop_oneof![around_a_solution(5..50), overlaid(), spoilt(), random]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn engines_agree(slice in proptest::collection::vec(of_any_sort(), 1..12)) {
        check(&slice, 100);
    }

    #[test]
    fn engines_agree_at_small_limits(slice in proptest::collection::vec(of_any_sort(), 30..70)) {
        check(&slice, 1);
        check(&slice, 2);
    }
}

#[test]
fn contradictions_are_no_solution() {
    let any = [Candidates::ANY; CELLS];
    let with = |changes: &[(usize, u16)]| {
        let mut masks = any;
        changes.iter().for_each(|&(cell, mask)| masks[cell] = mask);
        masks
    };
    let slice = [
        with(&[(40, 0)]),
        with(&[(0, 1), (8, 1)]),
        with(&[(0, 1), (72, 1)]),
        with(&[(0, 1), (20, 1)]),
        // Three cells of a row share two values; a value has no place in a column.
        with(&[(0, 3), (4, 3), (8, 3)]),
        any.map(|mask| mask & !256),
        std::array::from_fn(|cell| if cell % 9 == 4 { Candidates::ANY & !16 } else { Candidates::ANY }),
        [0; CELLS],
        any,
    ];
    assert_eq!(check(&slice, 3), [0, 0, 0, 0, 0, 0, 0, 0, 3]);
}

#[test]
fn givens_and_their_candidates_count_alike() {
    let boards: Vec<_> =
        MAGICTOUR.lines().step_by(7).map(|line| Board::parse(line.as_bytes()).expect("a board")).collect();
    let candidates: Vec<_> = boards.iter().map(Candidates::from).collect();
    let budget = Budget { nodes: 20, ..Budget::unlimited() };
    for width in Width::available() {
        let new = || LaneEngine::with_width(width).expect("an available width");
        let [mut one, mut other] = [Vec::new(), Vec::new()];
        new().solve_many(&boards, 2, &budget, &mut one);
        new().solve_many(&candidates, 2, &budget, &mut other);
        assert_eq!(one, other, "{width:?}");
        assert!(one.iter().any(|verdict| verdict.end == End::OutOfNodes), "{width:?}");
        assert!(one.iter().any(|verdict| verdict.end == End::Complete), "{width:?}");
    }
}

/// A limit of 1 finds one solution and looks no further; exact cover says there are more.
#[test]
fn find_first() {
    let mut solution = [0; CELLS];
    let found = ExactCover::new(3).solve(&[0; CELLS], 2, &Budget::unlimited(), &mut solution);
    assert_eq!(found, (2, End::Complete));
    let any = [Candidates::ANY; CELLS];
    assert_eq!(check(&[any; 40], 1), [1; 40]);
}

#[test]
fn masks_have_nine_bits() {
    let mut masks = [Candidates::ANY; CELLS];
    assert!(Candidates::from_masks(masks).is_some_and(|board| board.masks() == &masks));
    masks[80] = 1 << 9;
    assert_eq!(Candidates::from_masks(masks), None);
    let mut cells = [0; CELLS];
    (cells[3], cells[80]) = (1, 9);
    let board = Board::from_cells(cells).expect("values up to 9");
    masks[3] = 1;
    masks[80] = 1 << 8;
    assert_eq!(Candidates::from(&board).masks(), &masks);
}
