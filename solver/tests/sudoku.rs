//! The sudoku engines against known answers, against each other and against the checker.

use proptest::prelude::*;
use puzzled_solver::sudoku::{
    Bitmask, Board, CELLS, Candidates, End, ExactCover, LaneEngine, Verdict, Width, is_solution,
};
use puzzled_solver::{Budget, Engine, OutcomeKind, OutcomeRef, Outcomes, Task};

const COUNTS: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/sudoku_counts.txt"));
const CLUES_17: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/sudoku17.txt"));
const MAGICTOUR: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/magictour_top1465.txt"));

const UNIQUE: &str = ".5..83.17...1..4..3.4..56.8....3...9.9.8245....6....7...9....5...729..861.36.72.4";

/// A board with four solutions, and these.
const FOUR: &str = "12343412........";
const FOUR_SOLUTIONS: &str = "1234341221434321 1234341223414123 1234341241232341 1234341243212143";

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

/// Every engine must count like the oracle, and what it shows must be a solution. Gives the oracle's counts.
fn engines_agree(boards: &[Board], limit: u64) -> Vec<u64> {
    let budget = Budget::unlimited();
    let mut expected = Vec::new();
    ExactCover::new(3).solve_many(boards, limit, &budget, &mut expected);
    let mut found = Vec::new();
    Bitmask::new().solve_many(boards, limit, &budget, &mut found);
    same_counts("bit masks", boards, &found, &expected);
    for width in Width::available() {
        found.clear();
        lane_engine(width).solve_many(boards, limit, &budget, &mut found);
        same_counts(&format!("{width:?}"), boards, &found, &expected);
    }
    expected.iter().map(|verdict| verdict.solutions).collect()
}

fn same_counts(engine: &str, boards: &[Board], found: &[Verdict], expected: &[Verdict]) {
    assert_eq!(found.len(), boards.len(), "{engine}");
    for ((board, found), expected) in boards.iter().zip(found).zip(expected) {
        assert_eq!((found.solutions, found.end), (expected.solutions, End::Complete), "{engine}: {board:?}");
        assert_eq!(
            found.solutions > 0,
            is_solution(board.cells(), &found.solution, 3),
            "{engine}: {board:?}"
        );
    }
}

fn lane_engine(width: Width) -> LaneEngine {
    LaneEngine::with_width(width).expect("an available width")
}

fn boards(lines: &str, step: usize) -> Vec<Board> {
    lines.lines().step_by(step).map(|line| Board::parse(line.as_bytes()).expect("a board")).collect()
}

#[test]
fn known_counts() {
    let mut seen = 0;
    for line in COUNTS.lines() {
        let mut fields = line.split(':');
        let puzzle = fields.next().expect("a puzzle");
        let count = fields.next().expect("a count");
        let board = Board::parse(puzzle.as_bytes()).expect("a board");
        assert_eq!(engines_agree(&[board], 1000)[0].to_string(), count, "{puzzle}");
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
        assert!(engines_agree(&boards(lines, step), 2).iter().all(|&count| count == 1));
    }
}

#[test]
fn every_width_solves_the_whole_files() {
    for (lines, step) in [(MAGICTOUR, 1), (CLUES_17, 8)] {
        let boards = boards(lines, step);
        for width in Width::available() {
            let mut verdicts = Vec::new();
            lane_engine(width).solve_many(&boards, 2, &Budget::unlimited(), &mut verdicts);
            for (board, verdict) in boards.iter().zip(&verdicts) {
                assert_eq!((verdict.solutions, verdict.end), (1, End::Complete), "{width:?} {board:?}");
                assert!(is_solution(board.cells(), &verdict.solution, 3), "{width:?} {board:?}");
            }
        }
    }
}

#[test]
fn slices_of_every_size() {
    let all = boards(MAGICTOUR, 19);
    for width in Width::available() {
        let mut engine = lane_engine(width);
        let mut verdicts = Vec::new();
        for size in 0..=70 {
            verdicts.clear();
            engine.solve_many(&all[..size], 2, &Budget::unlimited(), &mut verdicts);
            assert_eq!(verdicts.len(), size);
            assert!(verdicts.iter().all(|verdict| verdict.solutions == 1), "{width:?} {size}");
        }
    }
}

#[test]
fn an_empty_board_stops_at_any_limit() {
    let empty = Board::from_cells([0; CELLS]).expect("a board");
    for width in Width::available() {
        let mut engine = lane_engine(width);
        for limit in [0, 1, 2, 33, 1000, 20_000] {
            let mut found = std::collections::HashSet::new();
            let mut verdicts = Vec::new();
            let mut witness = |board, cells: &[u8; CELLS]| {
                assert_eq!(board, 1);
                assert!(is_solution(&[0; CELLS], cells, 3));
                assert!(found.insert(*cells), "a solution twice");
            };
            let mut clash = [0; CELLS];
            (clash[3], clash[5]) = (7, 7);
            let clash = Board::from_cells(clash).expect("a board");
            engine.solve_each(&[clash, empty], limit, &Budget::unlimited(), &mut verdicts, &mut witness);
            let counts: Vec<_> = verdicts.iter().map(|verdict| (verdict.solutions, verdict.end)).collect();
            assert_eq!(counts, [(0, End::Complete), (limit, End::Complete)], "{width:?}");
            assert_eq!(found.len() as u64, limit, "{width:?}");
        }
    }
}

#[test]
fn widths_keep_to_the_budget() {
    let hard = boards(MAGICTOUR, 10);
    let cancel = std::sync::atomic::AtomicBool::new(true);
    for width in Width::available() {
        let mut engine = lane_engine(width);
        let mut verdicts = Vec::new();
        engine.solve_many(&hard, 2, &Budget { cancel: Some(&cancel), ..Budget::unlimited() }, &mut verdicts);
        assert!(verdicts.iter().all(|verdict| (verdict.solutions, verdict.end) == (0, End::Cancelled)));

        // Some puzzles need more than three branches, some do not; what is found counts either way. Each needs as
        // many at any width and among any neighbours, since a puzzle with one solution is searched to its end.
        verdicts.clear();
        let budget = Budget { nodes: 3, ..Budget::unlimited() };
        engine.solve_many(&hard, 2, &budget, &mut verdicts);
        let complete = verdicts.iter().filter(|verdict| verdict.end == End::Complete).count();
        assert!(complete > 0 && complete < hard.len(), "{width:?}: {complete}");
        assert!(verdicts.iter().all(|verdict| verdict.end == End::OutOfNodes || verdict.solutions == 1));
        let mut alone = Vec::new();
        for board in &hard {
            engine.solve_many(&[*board], 2, &budget, &mut alone);
        }
        let ends = |verdicts: &[Verdict]| verdicts.iter().map(|verdict| verdict.end).collect::<Vec<_>>();
        assert_eq!(ends(&alone), ends(&verdicts), "{width:?}");
    }
}

#[test]
fn cancelling_midway_keeps_what_was_found() {
    let empty = Board::from_cells([0; CELLS]).expect("a board");
    for width in Width::available() {
        let cancel = std::sync::atomic::AtomicBool::new(false);
        let (mut seen, mut verdicts) = (0, Vec::new());
        lane_engine(width).solve_each(
            &[empty; 3],
            u64::MAX,
            &Budget { cancel: Some(&cancel), ..Budget::unlimited() },
            &mut verdicts,
            &mut |_, _| {
                seen += 1;
                cancel.store(seen > 1000, std::sync::atomic::Ordering::Relaxed);
            },
        );
        assert!(verdicts.iter().all(|verdict| verdict.end == End::Cancelled));
        assert_eq!(verdicts.iter().map(|verdict| verdict.solutions).sum::<u64>(), seen, "{width:?}");
    }
}

#[test]
fn outcomes_by_kind() {
    check("sudoku.count:limit=1000", &".".repeat(81), (OutcomeKind::Multiple, "1000+"));
    check("sudoku.count:limit=287", &".".repeat(16), (OutcomeKind::Multiple, "287+"));
    check("sudoku.count:limit=288", &".".repeat(16), (OutcomeKind::Solved, "288"));
    check("sudoku.count", &".".repeat(256), (OutcomeKind::Multiple, "1000+"));
    for task in ["sudoku.check", "sudoku.first", "sudoku.all"] {
        check(task, "12343412214343..", (OutcomeKind::Solved, "1234341221434321"));
        check(task, &format!("55{}", ".".repeat(79)), (OutcomeKind::NoSolution, ""));
        check(task, &format!("GG{}", ".".repeat(254)), (OutcomeKind::NoSolution, ""));
        check(task, "!why", (OutcomeKind::Invalid, "why"));
    }
    check("sudoku.all", FOUR, (OutcomeKind::Solved, FOUR_SOLUTIONS));
    check("sudoku.all:limit=4", FOUR, (OutcomeKind::Solved, FOUR_SOLUTIONS));
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
fn witnesses_differ_and_more_of_them_are_told() {
    let empty = ".".repeat(81);
    for puzzle in [FOUR, &empty, &".".repeat(256)] {
        for (task_text, shown, more) in [
            ("sudoku.check", 2, false),
            ("sudoku.all:limit=1", 1, true),
            ("sudoku.all:limit=3", 3, true),
            ("sudoku.first", 1, false),
        ] {
            let task = task(task_text);
            let (kind, text) = outcome(&task, &mut *task.engine(), puzzle.as_bytes(), &Budget::unlimited());
            let is_first = task_text == "sudoku.first";
            assert_eq!(kind, if is_first { OutcomeKind::Solved } else { OutcomeKind::Multiple });
            let witnesses: Vec<_> = text.strip_suffix(" +").unwrap_or(&text).split(' ').collect();
            assert_eq!((witnesses.len(), text.ends_with(" +")), (shown, more), "{task_text}");
            // That each solves the puzzle and that they ascend is what `verify` looked at already.
            assert!(witnesses.windows(2).all(|pair| pair[0] < pair[1]), "{task_text}");
        }
    }
}

#[test]
fn a_hard_puzzle_alone_is_answered_like_one_among_others() {
    // Far more guesses than a board alone is given by bit masks.
    let puzzles: Vec<_> = MAGICTOUR.lines().step_by(9).map(str::as_bytes).collect();
    for text in ["sudoku.solve", "sudoku.count:limit=1"] {
        let task = task(text);
        let (mut together, mut alone) = (Outcomes::new(), Outcomes::new());
        task.engine().solve(&puzzles, &Budget::unlimited(), &mut together);
        let mut engine = task.engine();
        puzzles.iter().for_each(|puzzle| engine.solve(&[puzzle], &Budget::unlimited(), &mut alone));
        assert_eq!(together.records(0..puzzles.len()), alone.records(0..puzzles.len()));
    }
    let few = Budget { nodes: 3, ..Budget::unlimited() };
    let (kind, _) = outcome(&task("sudoku.solve"), &mut *task("sudoku.solve").engine(), puzzles[0], &few);
    assert_eq!(kind, OutcomeKind::TimedOut);
}

#[test]
fn large_slices_of_few_and_many_solutions_count_alike() {
    // Enough branches kept side by side that groups of them must be merged.
    let sets = [
        CLUES_17,
        MAGICTOUR,
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/serg_2k.txt")),
    ];
    let lines = sets.iter().flat_map(|set| set.lines().filter(|line| line.len() >= 81).take(800));
    let boards: Vec<Board> = lines
        .enumerate()
        .map(|(index, line)| {
            let mut cells = *Board::parse(&line.as_bytes()[..81]).expect("a board").cells();
            let givens: Vec<usize> = (0..CELLS).filter(|&cell| cells[cell] != 0).collect();
            for turn in 0..index % 12 {
                cells[givens[(index * 7 + turn * 5) % givens.len()]] = 0;
            }
            Board::from_cells(cells).expect("digits")
        })
        .collect();
    let mut expected = Vec::new();
    Bitmask::new().solve_many(&boards, 20, &Budget::unlimited(), &mut expected);
    for width in Width::available() {
        let mut found = Vec::new();
        lane_engine(width).solve_many(&boards, 20, &Budget::unlimited(), &mut found);
        same_counts(&format!("{width:?}"), &boards, &found, &expected);
    }
}

/// The text of pencil marks that say what a board's givens say.
fn pencil_marks(board: &str) -> String {
    let mut text = Vec::new();
    Candidates::from(&Board::parse(board.as_bytes()).expect("a board")).write(&mut text);
    String::from_utf8(text).expect("ASCII")
}

#[test]
fn pencil_marks_are_answered_like_the_givens_they_stand_for() {
    let pearl = ".......1.4.........2...........5.4.7..8...3....1.9....3..4..2...5.1........8.6...";
    let (none, empty) = (format!("55{}", ".".repeat(79)), ".".repeat(81));
    let boards: Vec<_> = CLUES_17.lines().take(20).chain([UNIQUE, pearl, &none, &empty]).collect();
    for text in ["sudoku.solve", "sudoku.check", "sudoku.first", "sudoku.all:limit=3", "sudoku.count:limit=9"]
    {
        let task = task(text);
        assert_eq!(
            Task::guess(pencil_marks(UNIQUE).as_bytes()).map(|task| task.name()),
            Some("sudoku.solve".into())
        );
        // Alone, few, many, and among others.
        for slice in [1, 2, 24] {
            for boards in boards.chunks(slice) {
                let marks: Vec<_> =
                    boards.iter().flat_map(|board| [(*board).to_owned(), pencil_marks(board)]).collect();
                let lines: Vec<_> = marks.iter().map(|line| line.as_bytes()).collect();
                let mut outcomes = Outcomes::new();
                task.engine().solve(&lines, &Budget::unlimited(), &mut outcomes);
                for (index, pair) in lines.chunks(2).enumerate() {
                    let (givens, marks) = (outcomes.get(2 * index), outcomes.get(2 * index + 1));
                    assert_eq!(givens.kind, marks.kind, "{text} {}", boards[index]);
                    assert!(task.verify(pair[0], givens) && task.verify(pair[1], marks));
                    if givens.kind == OutcomeKind::Solved && !text.contains("first") || text.contains("count")
                    {
                        assert_eq!(givens.text, marks.text, "{text} {}", boards[index]);
                    }
                }
            }
        }
    }
}

#[test]
fn pencil_marks_rule_out_what_is_not_marked() {
    let solution = {
        let task = task("sudoku.solve");
        outcome(&task, &mut *task.engine(), UNIQUE.as_bytes(), &Budget::unlimited()).1
    };
    let marks = pencil_marks(UNIQUE);
    for cell in (0..CELLS).step_by(7) {
        let place = 9 * cell + usize::from(solution.as_bytes()[cell] - b'1');
        let mut without = marks.clone();
        without.replace_range(place..=place, ".");
        check("sudoku.solve", &without, (OutcomeKind::NoSolution, ""));
        let answer = OutcomeRef { kind: OutcomeKind::Solved, text: solution.as_bytes() };
        assert!(task("sudoku.solve").verify(marks.as_bytes(), answer));
        assert!(!task("sudoku.solve").verify(without.as_bytes(), answer));
        without.replace_range(place..=place, "x");
        assert!(!task("sudoku.solve").verify(without.as_bytes(), answer), "not pencil marks");
    }
    let reason = "column 2: expected 2 or a blank (0 . _ *) among the pencil marks of r1c1, found '1'";
    check("sudoku.solve", &marks.replacen('2', "1", 1), (OutcomeKind::Invalid, reason));
    check("sudoku.solve", &marks.replacen('.', "0", 1), (OutcomeKind::Solved, &solution));
    for task_text in ["sudoku.rate", "sudoku.explain", "sudoku.canonical"] {
        let refused = task(task_text).canonical(marks.as_bytes(), &mut Vec::new()).unwrap_err().to_string();
        assert_eq!(
            refused, "column 82: expected 81 cells, found 729: this task is for 9x9 boards only",
            "{task_text}"
        );
    }
}

#[test]
fn long_slices_with_many_witnesses_are_cut() {
    let task = task("sudoku.all:limit=1000");
    let empty = ".".repeat(81);
    let mut puzzles = vec![empty.as_str(); 66];
    puzzles.extend([UNIQUE, FOUR, "!no"]);
    let puzzles: Vec<_> = puzzles.into_iter().map(str::as_bytes).collect();
    let mut outcomes = Outcomes::new();
    task.engine().solve(&puzzles, &Budget::unlimited(), &mut outcomes);
    assert_eq!(outcomes.counts(), [2, 0, 66, 1, 0, 0, 0]);
    for (puzzle, outcome) in puzzles.iter().zip(outcomes.iter()).step_by(7) {
        assert!(task.verify(puzzle, outcome));
    }
    assert_eq!(outcomes.get(67).text, FOUR_SOLUTIONS.as_bytes());
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
    let two_nodes = Budget { nodes: 2, ..Budget::unlimited() };
    let found = |text: &str, budget: &Budget<'_>| {
        let task = task(text);
        outcome(&task, &mut *task.engine(), &empty, budget)
    };
    assert_eq!(found("sudoku.solve", &two_nodes), (OutcomeKind::TimedOut, String::new()));
    assert_eq!(found("sudoku.count", &two_nodes), (OutcomeKind::TimedOut, "0".to_owned()));
    assert_eq!(found("sudoku.check", &two_nodes), (OutcomeKind::TimedOut, String::new()));
    let all = task("sudoku.all:limit=1000");
    let budget = Budget { nodes: 100, ..Budget::unlimited() };
    let (kind, text) = outcome(&all, &mut *all.engine(), &[b'.'; 16], &budget);
    assert_eq!(kind, OutcomeKind::TimedOut);
    assert!(text.split(' ').count() > 1);
    let budget = Budget { nodes: 100_000, ..Budget::unlimited() };
    let (kind, text) = found("sudoku.count:limit=1000000", &budget);
    assert_eq!(kind, OutcomeKind::TimedOut);
    assert!(text.parse::<u64>().is_ok_and(|count| count > 1));
    let flag = std::sync::atomic::AtomicBool::new(true);
    let cancelled = Budget { cancel: Some(&flag), ..Budget::unlimited() };
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
    assert!(verify(&count, OutcomeKind::Multiple, b"5+"));
    for wrong in [&b"4+"[..], b"6+", b"5", b"+", b"5 +", b"5++"] {
        assert!(!verify(&count, OutcomeKind::Multiple, wrong), "{wrong:?}");
    }
    assert!(!verify(&count, OutcomeKind::Solved, b"5+") && !verify(&count, OutcomeKind::NoSolution, b""));
}

#[test]
fn tampered_witnesses_are_refused() {
    let solutions: Vec<_> = FOUR_SOLUTIONS.split(' ').collect();
    let verify = |task_text: &str, kind, text: &str| {
        task(task_text).verify(FOUR.as_bytes(), OutcomeRef { kind, text: text.as_bytes() })
    };
    let [one, two, three, _] = solutions[..] else { panic!("four solutions") };
    let other = "2143341212344321";
    use OutcomeKind::{Multiple, NoSolution, Solved, TimedOut};
    for (task, kind, text, is_good) in [
        ("sudoku.check", Solved, one.to_owned(), true),
        ("sudoku.check", Solved, format!("{one} {two}"), false),
        ("sudoku.check", Multiple, format!("{one} {three}"), true),
        ("sudoku.check", Multiple, format!("{one} {one}"), false),
        ("sudoku.check", Multiple, format!("{two} {one}"), false),
        ("sudoku.check", Multiple, format!("{one}  {two}"), false),
        ("sudoku.check", Multiple, format!("{one} {two} "), false),
        ("sudoku.check", Multiple, format!("{one} {other}"), false),
        ("sudoku.check", Multiple, format!("{one} {two} {three}"), false),
        ("sudoku.check", Multiple, one.to_owned(), false),
        ("sudoku.check", Multiple, String::new(), false),
        ("sudoku.check", NoSolution, one.to_owned(), false),
        ("sudoku.check", TimedOut, one.to_owned(), true),
        ("sudoku.check", TimedOut, other.to_owned(), false),
        ("sudoku.first", Solved, three.to_owned(), true),
        ("sudoku.first", Multiple, three.to_owned(), false),
        ("sudoku.first", Solved, String::new(), false),
        ("sudoku.all:limit=2", Solved, one.to_owned(), true),
        ("sudoku.all:limit=2", Solved, format!("{one} {two}"), true),
        ("sudoku.all:limit=2", Solved, format!("{one} {two} +"), false),
        ("sudoku.all:limit=2", Solved, format!("{one} {two} {three}"), false),
        ("sudoku.all:limit=2", Solved, format!("{two} {one}"), false),
        ("sudoku.all:limit=2", Multiple, format!("{one} {two} +"), true),
        ("sudoku.all:limit=2", Multiple, format!("{one} {two}"), false),
        ("sudoku.all:limit=2", Multiple, format!("{one} {two}+"), false),
        ("sudoku.all:limit=2", Multiple, format!("{one} +"), false),
        ("sudoku.all:limit=2", Multiple, format!("{one} {one} +"), false),
        ("sudoku.all:limit=2", Multiple, " +".to_owned(), false),
        ("sudoku.all:limit=2", TimedOut, format!("{one} {two}"), true),
        ("sudoku.all:limit=2", TimedOut, format!("{one} {two} {three}"), false),
    ] {
        assert_eq!(verify(task, kind, &text), is_good, "{task} {kind:?} {text:?}");
    }
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

fn random_givens() -> impl Strategy<Value = [u8; CELLS]> {
    proptest::collection::vec((0..CELLS, 1u8..=9), 0..30).prop_map(|givens| {
        let mut cells = [0; CELLS];
        for (cell, value) in givens {
            cells[cell] = value;
        }
        cells
    })
}

/// A published puzzle less up to two of its givens, which has many solutions, then perhaps with a wrong one, which may
/// leave none without two of them clashing.
fn near_published() -> impl Strategy<Value = [u8; CELLS]> {
    let lines: Vec<_> = MAGICTOUR.lines().chain(CLUES_17.lines().step_by(37)).collect();
    let blanked = proptest::collection::vec(0..CELLS, 0..3);
    let spoilt = proptest::collection::vec((0..CELLS, 1u8..=9), 0..2);
    (proptest::sample::select(lines), blanked, spoilt).prop_map(|(line, blanked, spoilt)| {
        let mut cells = *Board::parse(line.as_bytes()).expect("a board").cells();
        // The given at or after the cell.
        for start in blanked {
            let given = (start..CELLS).chain(0..start).find(|&cell| cells[cell] > 0).expect("a given");
            cells[given] = 0;
        }
        for (cell, value) in spoilt {
            cells[cell] = value;
        }
        cells
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn engines_agree_near_published_puzzles(
        slice in proptest::collection::vec(near_published(), 1..40),
        limit in proptest::sample::select(vec![0u64, 1, 2, 3, 7, 40]),
    ) {
        let slice: Vec<_> = slice.into_iter().filter_map(Board::from_cells).collect();
        engines_agree(&slice, limit);
    }

    #[test]
    fn engines_agree_on_sub_puzzles(slice in proptest::collection::vec(sub_puzzle(), 1..8)) {
        let slice: Vec<_> = slice.into_iter().filter_map(Board::from_cells).collect();
        engines_agree(&slice, 200);
    }

    #[test]
    fn engines_agree_on_random_givens(slice in proptest::collection::vec(random_givens(), 1..8)) {
        let slice: Vec<_> = slice.into_iter().filter_map(Board::from_cells).collect();
        engines_agree(&slice, 10);
    }

    #[test]
    fn all_solutions_are_those_of_the_oracle(slice in proptest::collection::vec(sub_puzzle(), 1..40)) {
        const LIMIT: u64 = 50;
        let task = task(&format!("sudoku.all:limit={LIMIT}"));
        let mut oracle = ExactCover::new(3);
        let slice: Vec<_> = slice.into_iter().filter_map(Board::from_cells).collect();
        let mut lines = Vec::new();
        slice.iter().for_each(|board| board.write(&mut lines));
        let puzzles: Vec<_> = lines.chunks(CELLS).collect();
        let mut outcomes = Outcomes::new();
        task.engine().solve(&puzzles, &Budget::unlimited(), &mut outcomes);
        for ((board, puzzle), outcome) in slice.iter().zip(&puzzles).zip(outcomes.iter()) {
            prop_assert!(task.verify(puzzle, outcome));
            let mut expected = Vec::new();
            let mut witness = |cells: &[u8]| expected.push(cells.iter().map(|v| b'0' + v).collect::<Vec<_>>());
            let (count, _) = oracle.solve_each(board.cells(), LIMIT + 1, &Budget::unlimited(), &mut witness);
            expected.sort_unstable();
            match count {
                0 => prop_assert_eq!(outcome.kind, OutcomeKind::NoSolution),
                1..=LIMIT => prop_assert_eq!(outcome.text, &expected.join(&b' ')[..]),
                _ => prop_assert_eq!(outcome.kind, OutcomeKind::Multiple),
            }
        }
    }

    #[test]
    fn any_text_has_one_outcome_that_verifies(text in "[0-9._*a-p!\n ]{0,100}|[.0-4]{16}|[.1-9]{81}") {
        for name in ["solve", "check", "first", "all:limit=2", "count:limit=3"] {
            let task = task(&format!("sudoku.{name}"));
            let budget = Budget { nodes: 1000, ..Budget::unlimited() };
            outcome(&task, &mut *task.engine(), text.as_bytes(), &budget);
        }
    }
}
