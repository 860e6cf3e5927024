//! The rater: what it concludes is true, and what it names is the technique that is needed.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use puzzled_solver::sudoku::{Board, CELLS, End, LaneEngine, Rater, Rating, Step, Technique, rate};
use puzzled_solver::{Budget, OutcomeKind, OutcomeRef, Outcomes, Task};

const CLUES_17: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/sudoku17.txt"));
const MAGICTOUR: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/magictour_top1465.txt"));

fn boards(lines: &str, step: usize) -> Vec<Board> {
    lines.lines().step_by(step).map(|line| Board::parse(line.as_bytes()).expect("a board")).collect()
}

const RATINGS: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/sudoku_ratings.txt"));

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
    for (lines, step) in [(CLUES_17, 10), (MAGICTOUR, 20)] {
        for (board, solution) in solved(boards(lines, step)) {
            steps.clear();
            let rated = rater.explain(&board, &solution, &Budget::unlimited(), &mut steps);
            assert_eq!(rated.end, End::Complete);
            follow(&board, &solution, &steps);
            let hardest = steps.iter().map(|step| step.tenths).max();
            assert_eq!(Some(rated.rating.tenths), hardest);
            for step in &steps {
                let mut text = Vec::new();
                step.write(&mut text);
                assert_eq!(Step::parse(&String::from_utf8_lossy(&text)).as_ref(), Some(step));
            }
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

/// Boards whose hardest step is the one named; every technique is there.
const HARDEST: &[(&str, &str)] = &[
    (
        "1.0 last-value easy",
        ".23456789456.89123789123.562.43658973658.72148972143.553.64297864297.53197853164.",
    ),
    (
        "1.2 hidden-single easy",
        "65.97..2..743..6..8.......7...738....2.6..41..98.....6..94..1.541..53..9.6.1..78.",
    ),
    (
        "1.5 hidden-single easy",
        ".5......8..1.8..7.9.....2.4.3.5298..81.3..569......7.2.2..56....8.4....6169.7342.",
    ),
    (
        "1.7 direct-pointing medium",
        "7...49.26864....19.2968.73..7.95.........4.739..1..2.56.......7..7.9.4.......736.",
    ),
    (
        "2.0 direct-hidden-pair medium",
        "....2.4.3...1..7...85......3..7........4...1..6...........18...4.3.........6...5.",
    ),
    (
        "2.3 naked-single medium",
        ".9..3.........826.....7.4...1.7.2......8....3.....697..7........4....5..2..5...8.",
    ),
    (
        "2.5 direct-hidden-triplet medium",
        "19.........2..4.793........45..........28..6.2.....73....17.6...4.63..1.........5",
    ),
    (
        "2.6 pointing hard",
        "2.8.5.......7...4.3........5...2.9.......1......6......7.1.4.6.......3.2.1.......",
    ),
    (
        "2.8 claiming hard",
        "...7....2.8....1...9.......7.6....3.....91...2............5.84.3..6........4..5..",
    ),
    (
        "3.0 naked-pair hard",
        "1...48....5....9....6...3.....57.2..8.3.........9............4167..........2.....",
    ),
    ("3.2 x-wing hard", "....6.38..315....9..2.3951..48.159..1.3.9.75.7.5.....1....54.7....1.6.3.52.....9."),
    (
        "3.4 hidden-pair hard",
        "3.7.4...........918........4.....7.....16.......25..........38..9....5...2.6.....",
    ),
    (
        "3.6 naked-triplet hard",
        "......41.9..3.....3...2.....48..7..........52.1.......5..2....6.7....8......9....",
    ),
    (
        "3.8 swordfish hard",
        ".5.4.........3.8..........13...8.7...6.....5....2........5.6.4.1.8...3...........",
    ),
    (
        "4.0 hidden-triplet hard",
        ".8..1......5....3.......4.....6.5.7.89....2.....3.....2.....1.9..67........4.....",
    ),
    ("4.2 xy-wing hard", "9.....7.1.2.4...........5..7.1..5....8.....3.............82..4.1.9.........39...."),
    (
        "4.4 xyz-wing hard",
        "..3.......6.7.9..1...6......16...8.9.......24.98......5....2.6....5.4.3...9..32..",
    ),
    (
        "4.5 unique-rectangle expert",
        "85.....7.....41...3..........1...4.6.7.5...........2..742.6.......8...3..........",
    ),
    (
        "4.6 unique-loop expert",
        "1..4..7599.75231..8..1........6....2.2..3.98...9.8..37...95..4..9.8.6.7371.....9.",
    ),
    (
        "4.7 unique-loop expert",
        "....1456.8...2....3.........645........3...7...........3....4..7..6.............1",
    ),
    (
        "5.0 unique-loop expert",
        "...4.1....58........7......13....2..6..2..4......8...........51....5..7.2........",
    ),
    (
        "5.0 naked-quad expert",
        "......3...5.61.8..1...87...3.72....5..4...1..6....17.9...57...4..2.63.5...8......",
    ),
    (
        "5.2 jellyfish expert",
        "...5..47.1...........3.....4.....1.2.5.63..........7......82....7.....6.....1....",
    ),
    (
        "5.4 hidden-quad expert",
        "..7.....5...5.93.2.8....1....19.382..9.....13.238.145...5....6.9.27.4.3.8.4...2..",
    ),
    ("5.6 bug expert", ".8...4.5....7..3............1..85...6.....2......4....3.26............417........"),
    ("5.7 bug expert", "....1.9...78........2.........4.8.6.3.....1.....2.....51.....3....7....29........"),
    ("5.8 bug expert", "..8.1....3.....7..5...........3..5...7....6...2.....4....62.......7...2.4......1."),
    (
        "6.2 aligned-pair-exclusion expert",
        ".2.3...........8.4..3...5.....2...7.5.....6.....1......1..6..2.8...4.........5...",
    ),
    (
        "6.5 x-cycle expert",
        "32794.86..5..1.......2..45.5.....1..6345.12..17.39..4.....39......6...2...6.24.13",
    ),
    (
        "6.6 y-cycle expert",
        "....32.4..6....1...........2.3.....8...1..7..4...5....5......2..1.6........9.....",
    ),
    (
        "6.6 x-chain expert",
        "2...6...8.743.........2....62......1...4..5..8...........5..34......1..........7.",
    ),
    (
        "7.0 xy-cycle expert",
        "...35.2..9.1...............25..6........4...7.......1....7.9.4..3....8.....1.....",
    ),
    (
        "7.1 forcing-chain expert",
        "7.8...3.....6.1...4.........6.....253...8.......1...9..9.5....2....7.4...........",
    ),
    (
        "7.5 aligned-triplet-exclusion expert",
        "4.9...5.....8....27..3.........4.7...8.....6..1..........6..12.5...9...........3.",
    ),
    (
        "7.6 nishio expert",
        "....75....1..2.....4...3...5.....3.2...8...1.......6.....1..48.2........7........",
    ),
    (
        "8.3 cell-forcing-chains extreme",
        "......41.9..3.....3...5.....48..7..........52.1.......6..2....5.7....8......9....",
    ),
    (
        "8.2 region-forcing-chains extreme",
        "....7...56.1.92....95.6....8.......3.6........3..4.7...5.....1...2.5..78...4.95..",
    ),
    (
        "8.7 dynamic-forcing-chains extreme",
        "38.6.......9.......2..3.51......5....3..1..6....4......17.5..8.......9.......7.32",
    ),
    (
        "9.8 dynamic-forcing-chains-plus extreme",
        "7.....4...2..7..8...3..8..9...5..3...6..2..9...1..7..6...3..9...3..4..6...9..1..5",
    ),
    (
        "9.5 trial extreme",
        ".......39.....1..5..3.5.8....8.9...6.7...2...1..4.......9.8..5..2....6..4..7.....",
    ),
];

#[test]
fn every_technique_is_the_hardest_somewhere() {
    let mut seen = BTreeSet::new();
    for &(expected, puzzle) in HARDEST {
        let mut text = Vec::new();
        let rating = rate(&Board::parse(puzzle.as_bytes()).expect("a board")).expect("one solution");
        rating.write(&mut text);
        assert_eq!(String::from_utf8_lossy(&text), expected, "{puzzle}");
        assert_eq!(Rating::parse(expected), Some(rating));
        seen.extend(rating.hardest);
    }
    assert!(seen.into_iter().eq(Technique::all()));
}

#[test]
fn published_ratings() {
    let mut differ = 0;
    let rows: Vec<_> = RATINGS.lines().filter(|line| !line.starts_with('#')).collect();
    for row in &rows {
        let (puzzle, ratings) = row.split_once(':').expect("a puzzle and its ratings");
        let (published, ours) = ratings.split_once(':').unwrap_or((ratings, ratings));
        let rating = rate(&Board::parse(puzzle.as_bytes()).expect("a board")).expect("one solution");
        let text = format!("{}.{}", rating.tenths / 10, rating.tenths % 10);
        assert_eq!(text, ours, "{row}");
        if rating.hardest == Some(Technique::Trial) {
            let bound: f32 = published.parse().expect("a number");
            assert!(u32::from(rating.tenths) <= (bound * 10.0).round() as u32, "a lower bound: {row}");
        } else {
            differ += usize::from(published != ours);
        }
    }
    assert!(rows.len() > 300 && differ <= rows.len() / 100, "{differ} of {} differ", rows.len());
}

/// The same board with rows and columns moved within and among bands and stacks, transposed or not, and digits renamed.
fn morph(cells: &[u8; CELLS], random: &mut dyn FnMut(usize) -> usize) -> [u8; CELLS] {
    let mut order = |count: usize| {
        let mut order: Vec<_> = (0..count).collect();
        for last in (1..count).rev() {
            order.swap(last, random(last + 1));
        }
        order
    };
    let digits = order(9);
    let mut lines = || -> Vec<usize> {
        order(3).into_iter().flat_map(|band| order(3).into_iter().map(move |line| 3 * band + line)).collect()
    };
    let (rows, columns) = (lines(), lines());
    let is_transposed = order(2)[0] == 1;
    std::array::from_fn(|cell| {
        let (row, column) = (rows[cell / 9], columns[cell % 9]);
        match cells[if is_transposed { 9 * column + row } else { 9 * row + column }] {
            0 => 0,
            value => digits[usize::from(value) - 1] as u8 + 1,
        }
    })
}

/// Which of several steps of one rating comes first depends on where they are on the board, and may matter later on. So
/// ratings are not quite a property of the puzzle; docs/rating.md has the figures of this test.
#[test]
fn symmetries_hardly_matter() {
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % below as u64) as usize
    };
    let (mut rater, budget) = (Rater::new(), Budget::unlimited());
    // Of ratings below 6.5 (no chains) and others: how many, how many changed, and by how much at most.
    let mut counts = [(0, 0, 0); 2];
    for (board, solution) in solved(boards(CLUES_17, 100).into_iter().chain(boards(MAGICTOUR, 25)).collect())
    {
        let plain = rater.rate(&board, &solution, &budget).rating.tenths;
        let both: Vec<u8> = board.cells().iter().chain(&solution).copied().collect();
        for _ in 0..2 {
            // The same random numbers move the board and its solution.
            let seed = random(1 << 30) as u64;
            let moved = [0, CELLS].map(|begin| {
                let mut state = seed;
                let cells = both[begin..][..CELLS].try_into().expect("81 cells");
                morph(&cells, &mut |below| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    ((state >> 33) % below as u64) as usize
                })
            });
            let moved_board = Board::from_cells(moved[0]).expect("digits");
            let rating = rater.rate(&moved_board, &moved[1], &budget).rating.tenths;
            let count = &mut counts[usize::from(plain >= 65)];
            count.0 += 1;
            count.1 += usize::from(rating != plain);
            count.2 = count.2.max(rating.abs_diff(plain));
        }
    }
    println!("boards, changed, at most by: {counts:?}");
    let [plain, chains] = counts;
    assert!(plain.0 > 500 && plain.1 * 200 <= plain.0, "{plain:?}");
    assert!(chains.0 > 100 && chains.1 * 10 <= chains.0, "{chains:?}");
}

fn task(text: &str) -> Task {
    text.parse().expect("a task of the table")
}

/// Runs puzzles as the worker does, and holds every outcome against the checker.
fn outcomes(task: &Task, puzzles: &[&[u8]], budget: &Budget<'_>) -> Vec<(OutcomeKind, String)> {
    let mut outcomes = Outcomes::new();
    task.engine().solve(puzzles, budget, &mut outcomes);
    assert_eq!(outcomes.len(), puzzles.len());
    puzzles
        .iter()
        .zip(outcomes.iter())
        .map(|(puzzle, outcome)| {
            assert!(task.verify(puzzle, outcome), "{task} {outcome:?}");
            (outcome.kind, String::from_utf8_lossy(outcome.text).into_owned())
        })
        .collect()
}

const SHORT: &str = "12345678945678912378912345621436589736589721489721436553164297864297853197853164.";

#[test]
fn tasks_tell_outcomes_apart() {
    let clash = format!("11{}", ".".repeat(79));
    let puzzles: [&[u8]; 8] = [
        SHORT.as_bytes(),
        HARDEST[10].1.as_bytes(),
        clash.as_bytes(),
        &[b'.'; CELLS],
        b"1...............",
        b"!column 1: no",
        b"nonsense",
        SHORT.as_bytes(),
    ];
    use OutcomeKind::{Invalid, Multiple, NoSolution, Solved};
    let rated = outcomes(&task("sudoku.rate"), &puzzles, &Budget::unlimited());
    let explained = outcomes(&task("sudoku.explain"), &puzzles, &Budget::unlimited());
    let kinds = [Solved, Solved, NoSolution, Multiple, Invalid, Invalid, Invalid, Solved];
    for found in [&rated, &explained] {
        assert!(found.iter().map(|outcome| outcome.0).eq(kinds), "{found:?}");
        assert_eq!(found[4].1, "column 17: expected 81 cells, found 16");
        assert_eq!(found[5].1, "column 1: no");
    }
    assert_eq!(rated[0].1, "1.0 last-value easy");
    assert_eq!(rated[1].1, HARDEST[10].0);
    assert_eq!(explained[0].1, "1.0 last-value => r9c9=2");
    assert!(explained[1].1.contains("; 3.2 x-wing "), "{}", explained[1].1);
}

#[test]
fn only_9x9_boards_are_taken() {
    for name in ["sudoku.rate", "sudoku.explain"] {
        let mut out = Vec::new();
        let error = task(name).canonical(&[b'.'; 256], &mut out).expect_err("a 16x16 board");
        assert_eq!(
            error.to_string(),
            "column 82: expected 81 cells, found 256: this task is for 9x9 boards only"
        );
        task(name).canonical(SHORT.replace('.', "0").as_bytes(), &mut out).expect("a board");
        assert_eq!(out, SHORT.as_bytes());
    }
}

#[test]
fn budget_and_flag_are_honoured() {
    let hard = HARDEST.iter().find(|row| row.0.contains("dynamic-forcing-chains ")).expect("in the table").1;
    let few = Budget { nodes: 100, ..Budget::unlimited() };
    let cancelled = AtomicBool::new(true);
    let cancel = Budget { cancel: Some(&cancelled), ..Budget::unlimited() };
    for name in ["sudoku.rate", "sudoku.explain"] {
        let found = outcomes(&task(name), &[hard.as_bytes()], &few);
        assert_eq!(found[0].0, OutcomeKind::TimedOut, "{found:?}");
        let found = outcomes(&task(name), &[hard.as_bytes()], &cancel);
        assert_eq!(found, [(OutcomeKind::Cancelled, String::new())]);
    }
}

#[test]
fn the_checker_refuses_what_is_wrong() {
    let refused = |name: &str, puzzle: &str, kind: OutcomeKind, text: &str| {
        !task(name).verify(puzzle.as_bytes(), OutcomeRef { kind, text: text.as_bytes() })
    };
    let solved = OutcomeKind::Solved;
    for text in [
        "",
        "1.0 last-value",
        "1.0 last-value hard",
        "1.1 last-value easy",
        "1.0 naked-single easy",
        "1.0 LastValue easy",
        "1 last-value easy",
        "0.0 none easy",
        "1.0 last-value easy ",
    ] {
        assert!(refused("sudoku.rate", SHORT, solved, text), "{text:?}");
    }
    assert!(refused("sudoku.rate", "nonsense", solved, "1.0 last-value easy"));
    assert!(refused("sudoku.rate", SHORT, OutcomeKind::Invalid, "why not"));
    assert!(refused("sudoku.rate", SHORT, OutcomeKind::NoSolution, "1.0 last-value easy"));
    assert!(refused("sudoku.rate", SHORT, OutcomeKind::Multiple, "1.0 last-value easy"));
    for text in [
        "",
        "1.0 last-value => r9c9=3",
        "1.0 last-value => r9c8=2",
        "1.0 last-value => r9c9=2; ",
        "1.0 last-value => r9c9=2; 1.0 last-value => r9c9=2",
        "2.6 pointing 2 r9c8,r9c9 => r9c9<>2; 1.0 last-value => r9c9=2",
        "2.6 pointing 3 r9c8,r9c9 => r9c9<>3",
    ] {
        assert!(refused("sudoku.explain", SHORT, solved, text), "{text:?}");
    }
    let full = SHORT.replace('.', "2");
    assert!(refused("sudoku.rate", &full, solved, "1.0 last-value easy"));
    assert!(!refused("sudoku.rate", &full, solved, "0.0 none easy"));
    assert!(!refused("sudoku.explain", &full, solved, ""));
}
