//! Minimal forms against trying every symmetry, against known facts, and under symmetries picked at random.

use std::collections::HashSet;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use puzzled_solver::sudoku::{Board, CELLS, Canonical, Canonicalizer, LaneEngine, Morph, NoForm};
use puzzled_solver::{Budget, OutcomeKind, OutcomeRef, Outcomes, Task};

const CLUES_17: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/sudoku17.txt"));
const MAGICTOUR: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/magictour_top1465.txt"));

/// The smallest and the largest minimal form of a complete grid, and the one with the most automorphisms.
/// By Red Ed, in the sudoku players' forum, 2007; and "Mathematics of Sudoku" for the last.
const SMALLEST: &str = "123456789456789123789123456214365897365897214897214365531642978642978531978531642";
const LARGEST: &str = "123456789457893612986217354274538196531964827698721435342685971715349268869172543";
const MOST_SYMMETRIC: &str =
    "123456789456789123789123456231564897564897231897231564312645978645978312978312645";

fn board(text: &str) -> Board {
    Board::parse(text.as_bytes()).expect("a board")
}

fn text(board: &Board) -> String {
    let mut text = Vec::new();
    board.write(&mut text);
    String::from_utf8(text).expect("ASCII")
}

fn canonical(board: &Board) -> Canonical {
    // Far more than any of these boards needs, and still soon over.
    let budget = Budget { nodes: 100_000, ..Budget::unlimited() };
    let found = Canonicalizer::default().canonical(board, &budget).expect("no clash, and no trap");
    assert_eq!(found.morph.apply(board), found.form, "{}", text(board));
    found
}

const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// The 1,296 orders of nine lines in three bands.
fn line_orders() -> Vec<[usize; 9]> {
    let digits = |way: usize| [way / 216, way / 36 % 6, way / 6 % 6, way % 6].map(|digit| ORDERS[digit]);
    (0..1296)
        .map(|way| {
            let [bands, within @ ..] = digits(way);
            std::array::from_fn(|line| bands[line / 3] * 3 + within[line / 3][line % 3])
        })
        .collect()
}

/// The smallest of all 3,359,232 images with their digits renamed in order of appearance, and how many are equal to it.
fn slow_form(board: &Board) -> ([u8; CELLS], u64) {
    let orders = line_orders();
    let mut best = ([9; CELLS], 0);
    for transposed in [false, true] {
        let cells: [u8; CELLS] = std::array::from_fn(|cell| {
            board.cells()[if transposed { cell % 9 * 9 + cell / 9 } else { cell }]
        });
        for (rows, columns) in
            orders.iter().flat_map(|rows| orders.iter().map(move |columns| (rows, columns)))
        {
            let (mut labels, mut next) = ([0u8; 10], 1);
            let mut image = [0; CELLS];
            let mut order = std::cmp::Ordering::Equal;
            for (place, to) in image.iter_mut().enumerate() {
                let digit = usize::from(cells[rows[place / 9] * 9 + columns[place % 9]]);
                if digit > 0 && labels[digit] == 0 {
                    labels[digit] = next;
                    next += 1;
                }
                *to = labels[digit];
                order = order.then(to.cmp(&&mut best.0[place]));
                if order.is_gt() {
                    break;
                }
            }
            match order {
                std::cmp::Ordering::Less => best = (image, 1),
                std::cmp::Ordering::Equal => best.1 += 1,
                std::cmp::Ordering::Greater => {}
            }
        }
    }
    best
}

fn check_slowly(board: &Board) {
    let (form, count) = slow_form(board);
    let found = canonical(board);
    assert_eq!((found.form.cells(), found.automorphisms), (&form, count), "{}", text(board));
}

/// Boards of all sorts: published ones, and those with the most ways to go wrong.
fn curious_boards() -> Vec<Board> {
    let mut boards = vec![
        board(&".".repeat(81)),
        board(SMALLEST),
        board(LARGEST),
        board(MOST_SYMMETRIC),
        board(&format!("1{}", ".".repeat(80))),
        board(&format!("{}123456789", ".".repeat(72))),
        // A single way to name nine digits in a column, and many to name those of three rows.
        board("........1........2........3........4........5........6........7........8........9"),
        board(&format!("{0}789123456{0}897231564{0}978312645", ".".repeat(18))),
    ];
    boards.extend(CLUES_17.lines().step_by(20_000).map(board));
    boards.extend(MAGICTOUR.lines().step_by(700).map(board));
    for text in [SMALLEST, LARGEST, MOST_SYMMETRIC] {
        let cells = *board(text).cells();
        let mut keep = |kept: &dyn Fn(usize, u8) -> bool| {
            let cells = std::array::from_fn(|cell| if kept(cell, cells[cell]) { cells[cell] } else { 0 });
            boards.push(Board::from_cells(cells).expect("digits"));
        };
        // One digit, two, all but one; one band; boxes on the diagonal; without a transversal; one box.
        keep(&|_, digit| digit == 1);
        keep(&|_, digit| digit <= 2);
        keep(&|_, digit| digit != 9);
        keep(&|cell, _| cell < 27);
        keep(&|cell, _| cell / 27 == cell % 9 / 3);
        keep(&|cell, digit| digit != 1 || cell > 40);
        keep(&|cell, _| cell / 9 != cell % 9);
    }
    boards
}

#[test]
fn equals_the_smallest_of_all_images() {
    curious_boards().iter().for_each(check_slowly);
}

/// `make corpora` asks for more boards than the few that a quick run has time for.
#[test]
fn random_boards_equal_the_smallest_of_all_images() {
    let cases = std::env::var("SLOW_FORMS").map_or(8, |count| count.parse().expect("a number"));
    let mut runner = TestRunner::new(ProptestConfig::with_cases(cases));
    let checked = runner.run(&any_board(), |board| {
        check_slowly(&board);
        Ok(())
    });
    assert_eq!(checked, Ok(()));
}

#[test]
fn known_forms() {
    for (form, automorphisms) in [(SMALLEST, None), (LARGEST, Some(72)), (MOST_SYMMETRIC, Some(648))] {
        let found = canonical(&board(form));
        assert_eq!(text(&found.form), form);
        assert!(automorphisms.is_none_or(|count| found.automorphisms == count));
    }
    assert_eq!(canonical(&board(&".".repeat(81))).automorphisms, 3_359_232);
}

/// Gordon Royle's list has no two puzzles that are the same.
#[test]
fn no_two_of_the_17_clue_puzzles_are_the_same() {
    let mut canonicalizer = Canonicalizer::default();
    let forms: HashSet<_> = CLUES_17
        .lines()
        .map(|line| canonicalizer.canonical(&board(line), &Budget::unlimited()).expect("no clash").form)
        .collect();
    assert_eq!(forms.len(), 49_151);
}

#[test]
fn clashes_have_a_place() {
    let check = |givens: &[(usize, u8)], expected: &str| {
        let mut cells = [0; CELLS];
        givens.iter().for_each(|&(cell, digit)| cells[cell] = digit);
        let board = Board::from_cells(cells).expect("digits");
        let error = Canonicalizer::default().canonical(&board, &Budget::unlimited()).expect_err("a clash");
        assert!(matches!(error, NoForm::Clash(_)));
        assert_eq!(error.to_string(), expected);
    };
    check(&[(9, 5), (17, 5)], "a second 5 in row 2");
    check(&[(7, 9), (79, 9), (80, 9)], "a second 9 in column 8");
    check(&[(30, 1), (40, 1)], "a second 1 in box 5");
    for cell in 1..CELLS {
        let mut cells = [0; CELLS];
        (cells[0], cells[cell]) = (3, 3);
        let sees = cell < 9 || cell % 9 == 0 || cell < 27 && cell % 9 < 3;
        let found = Canonicalizer::default()
            .canonical(&Board::from_cells(cells).expect("digits"), &Budget::unlimited());
        assert_eq!(found.is_err(), sees, "{cell}");
    }
}

#[test]
fn budgets() {
    let puzzle = board(MAGICTOUR.lines().next().expect("a puzzle"));
    let mut canonicalizer = Canonicalizer::default();
    let cancel = std::sync::atomic::AtomicBool::new(true);
    let mut with = |nodes, cancel| canonicalizer.canonical(&puzzle, &Budget { nodes, cancel, expired: None });
    assert_eq!(with(0, Some(&cancel)), Err(NoForm::Cancelled));
    assert_eq!(with(3, None), Err(NoForm::OutOfNodes));
    // A search cut short leaves nothing behind for the next.
    assert_eq!(with(0, None), Ok(canonical(&puzzle)));
}

fn task(text: &str) -> Task {
    text.parse().expect("a task of the table")
}

fn outcome(task: &Task, puzzle: &[u8], budget: &Budget<'_>) -> (OutcomeKind, String) {
    let mut outcomes = Outcomes::new();
    task.engine().solve(&[puzzle], budget, &mut outcomes);
    assert_eq!(outcomes.len(), 1);
    let outcome = outcomes.get(0);
    assert!(task.verify(puzzle, outcome), "{} {outcome:?}", puzzle.escape_ascii());
    (outcome.kind, String::from_utf8_lossy(outcome.text).into_owned())
}

const PUZZLE: &str = ".5..83.17...1..4..3.4..56.8....3...9.9.8245....6....7...9....5...729..861.36.72.4";

#[test]
fn answers() {
    let (plain, with_morph) = (task("sudoku.canonical"), task("sudoku.canonical:morph=yes"));
    assert_eq!(plain.to_string(), "sudoku.canonical:morph=no");
    let form = text(&canonical(&board(PUZZLE)).form);
    let unlimited = Budget::unlimited();
    assert_eq!(outcome(&plain, PUZZLE.as_bytes(), &unlimited), (OutcomeKind::Solved, form.clone()));
    let (kind, answer) = outcome(&with_morph, PUZZLE.as_bytes(), &unlimited);
    assert_eq!((kind, &answer[..82]), (OutcomeKind::Solved, &*format!("{form} ")));
    assert_eq!(answer.len(), 82 + 31);
    let empty = ".".repeat(81);
    assert_eq!(
        outcome(&with_morph, empty.as_bytes(), &unlimited),
        (OutcomeKind::Solved, format!("{empty} p/123456789/123456789/123456789"))
    );

    let flag = std::sync::atomic::AtomicBool::new(true);
    let invalid = |reason: &str| (OutcomeKind::Invalid, reason.to_owned());
    for task in [plain, with_morph] {
        let outcome = |puzzle: &str, budget: &Budget<'_>| outcome(&task, puzzle.as_bytes(), budget);
        assert_eq!(
            outcome(PUZZLE, &Budget { nodes: 5, ..Budget::unlimited() }),
            (OutcomeKind::TimedOut, String::new())
        );
        let cancelled = Budget { cancel: Some(&flag), ..Budget::unlimited() };
        assert_eq!(outcome(PUZZLE, &cancelled), (OutcomeKind::Cancelled, String::new()));
        assert_eq!(outcome(&format!("5.5{}", ".".repeat(78)), &unlimited), invalid("a second 5 in row 1"));
        assert_eq!(outcome("!column 9: why", &unlimited), invalid("column 9: why"));
        assert_eq!(outcome(&format!(" {PUZZLE}"), &unlimited), invalid("not in canonical form"));
        let sixteen = "12343412214343..";
        assert_eq!(outcome(sixteen, &unlimited), invalid("column 17: expected 81 cells, found 16"));
    }
}

#[test]
fn lines_are_judged_with_their_place() {
    let check = |line: &str, expected: Result<&str, &str>| {
        let mut out = Vec::new();
        let found =
            task("sudoku.canonical").canonical(line.as_bytes(), &mut out).map_err(|error| error.to_string());
        let found =
            found.map(|()| std::str::from_utf8(&out).expect("ASCII")).map_err(|error| error.to_string());
        assert_eq!(
            found.as_deref().map_err(String::as_str),
            expected.as_ref().copied().map_err(|error| *error)
        );
    };
    check(PUZZLE, Ok(PUZZLE));
    check(&format!("{}\r", PUZZLE.replace('.', "0")), Ok(PUZZLE));
    check(&format!("{}5..5{}", ".".repeat(40), ".".repeat(37)), Err("column 44: a second 5 in row 5"));
    check(&format!("  7 | 7 {}", ".".repeat(79)), Err("column 7: a second 7 in row 1"));
    let row = ". . . | . . . | . . .\n";
    check(
        &format!("{row}---\n6 . . | . . . | . . .\n{row}{row}. 1 . | . . 1 | . . .\n{}", row.repeat(4)),
        Err("line 6, column 13: a second 1 in row 5"),
    );
    check("12343412214343..", Err("column 17: expected 81 cells, found 16"));
}

#[test]
fn tampered_answers_are_refused() {
    for text in ["sudoku.canonical:morph=yes", "sudoku.canonical"] {
        let task = task(text);
        let (_, answer) = outcome(&task, PUZZLE.as_bytes(), &Budget::unlimited());
        let passes = |kind, text: &[u8]| task.verify(PUZZLE.as_bytes(), OutcomeRef { kind, text });
        assert!(passes(OutcomeKind::Solved, answer.as_bytes()));
        for place in 0..answer.len() {
            for byte in *b"0.123459t/ " {
                let mut tampered = answer.clone().into_bytes();
                tampered[place] = byte;
                if tampered != answer.as_bytes() {
                    // Without the morph another digit may pass as one with as many givens.
                    let may_pass = !text.ends_with("yes") && byte.is_ascii_digit();
                    assert!(may_pass || !passes(OutcomeKind::Solved, &tampered), "{place} {byte}");
                }
            }
            assert!(!passes(OutcomeKind::Solved, &answer.as_bytes()[..place]));
        }
        assert!(!passes(OutcomeKind::Solved, format!("{answer} ").as_bytes()));
        for kind in
            [OutcomeKind::NoSolution, OutcomeKind::Multiple, OutcomeKind::Invalid, OutcomeKind::TimedOut]
        {
            assert!(!passes(kind, answer.as_bytes()), "{kind:?}");
        }
        // The form of another puzzle.
        let other = CLUES_17.lines().next().expect("a puzzle").as_bytes();
        assert!(!task.verify(other, OutcomeRef { kind: OutcomeKind::Solved, text: answer.as_bytes() }));
    }
}

fn any_morph() -> impl Strategy<Value = Morph> {
    let lines = || prop::sample::select(line_orders()).prop_map(|lines| lines.map(|line| line as u8));
    let digits = Just([0, 1, 2, 3, 4, 5, 6, 7, 8]).prop_shuffle();
    (any::<bool>(), lines(), lines(), digits).prop_map(|(transposed, rows, columns, digits)| {
        Morph::new(transposed, rows, columns, digits).expect("a symmetry")
    })
}

/// Published puzzles and their solutions, thinned to all densities.
fn any_board() -> impl Strategy<Value = Board> {
    let mut boards: Vec<Board> = MAGICTOUR.lines().chain(CLUES_17.lines().step_by(100)).map(board).collect();
    let mut verdicts = Vec::new();
    LaneEngine::new().solve_many(&boards, 1, &Budget::unlimited(), &mut verdicts);
    boards.extend(verdicts.iter().filter_map(|verdict| Board::from_cells(verdict.solution)));
    boards.extend([SMALLEST, LARGEST, MOST_SYMMETRIC].map(board));
    let kept = prop::collection::vec(0u8..100, CELLS);
    (prop::sample::select(boards), kept, 0u8..=100).prop_map(|(board, rolls, percent)| {
        let cells = std::array::from_fn(|cell| if rolls[cell] < percent { board.cells()[cell] } else { 0 });
        Board::from_cells(cells).expect("digits")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn images_have_one_form(board in any_board(), morph in any_morph()) {
        let (found, image) = (canonical(&board), canonical(&morph.apply(&board)));
        prop_assert_eq!((found.form, found.automorphisms), (image.form, image.automorphisms));
        prop_assert!(text(&found.form) <= text(&board));
        let again = canonical(&found.form);
        prop_assert_eq!((again.form, again.automorphisms), (found.form, found.automorphisms));
        for puzzle in [board, morph.apply(&board)] {
            let (kind, answer) = outcome(&task("sudoku.canonical"), text(&puzzle).as_bytes(), &Budget::unlimited());
            prop_assert_eq!((kind, answer), (OutcomeKind::Solved, text(&found.form)));
        }
    }

    #[test]
    fn other_boards_have_other_forms(board in any_board(), cell in 0..CELLS) {
        let mut cells = *board.cells();
        cells[cell] = 0;
        let fewer = Board::from_cells(cells).expect("digits");
        prop_assert_eq!(canonical(&board).form == canonical(&fewer).form, board == fewer);
    }

    #[test]
    fn morphs_read_back(morph in any_morph()) {
        prop_assert_eq!(morph.to_string().parse(), Ok(morph));
    }

    #[test]
    fn texts_that_are_no_morphs(text in "[tpx]?/?[1-9]{8,9}/[0-9]{9}/[1-9]{9}/?") {
        if let Ok(morph) = text.parse::<Morph>() {
            prop_assert_eq!(morph.to_string(), text);
        }
    }
}
