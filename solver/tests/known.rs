//! Published boards, impossible boards and degenerate ones, by every engine and every task.

use puzzled_solver::sudoku::{
    Bitmask, Board, CELLS, End, ExactCover, LaneEngine, Verdict, Width, is_solution,
};
use puzzled_solver::{Budget, OutcomeKind, Outcomes, Task};

/// Where it is from, the puzzle, its only solution.
const UNIQUE: [[&str; 3]; 12] = [
    [
        "POJ 3074, first sample",
        ".2738..1..1...6735.......293.5692.8...........6.1745.364.......9518...7..8..6534.",
        "527389416819426735436751829375692184194538267268174593643217958951843672782965341",
    ],
    [
        "POJ 3074, second sample",
        "......52..8.4......3...9...5.1...6..2..7........3.....6...1..........7.4.......3.",
        "416837529982465371735129468571298643293746185864351297647913852359682714128574936",
    ],
    [
        "POJ 2676, sample",
        "103000509002109400000704000300502006060000050700803004000401000009205800804000107",
        "143628579572139468986754231391542786468917352725863914237481695619275843854396127",
    ],
    [
        "Project Euler 96, grid 1",
        "003020600900305001001806400008102900700000008006708200002609500800203009005010300",
        "483921657967345821251876493548132976729564138136798245372689514814253769695417382",
    ],
    [
        "Wikipedia, \"Sudoku\"",
        "530070000600195000098000060800060003400803001700020006060000280000419005000080079",
        "534678912672195348198342567859761423426853791713924856961537284287419635345286179",
    ],
    [
        "the 17 clues of muduo's test, from Gordon Royle's list",
        "000000010400000000020000000000050407008000300001090000300400200050100000000806000",
        "693784512487512936125963874932651487568247391741398625319475268856129743274836159",
    ],
    [
        "Arto Inkala 2006, \"AI Escargot\"",
        "100007090030020008009600500005300900010080002600004000300000010040000007007000300",
        "162857493534129678789643521475312986913586742628794135356478219241935867897261354",
    ],
    [
        "Arto Inkala 2010",
        "005300000800000020070010500400005300010070006003200080060500009004000030000009700",
        "145327698839654127672918543496185372218473956753296481367542819984761235521839764",
    ],
    [
        "Arto Inkala 2012",
        "800000000003600000070090200050007000000045700000100030001000068008500010090000400",
        "812753649943682175675491283154237896369845721287169534521974368438526917796318452",
    ],
    [
        "\"Golden Nugget\"",
        "000000039000001005003050800008090006070002000100400000009080050020000600400700000",
        "751846239892371465643259871238197546974562318165438927319684752527913684486725193",
    ],
    [
        "\"Platinum Blonde\"",
        "000000012000000003002300400001800005060070800000009000008500000900040500470006000",
        "839465712146782953752391486391824675564173829287659341628537194913248567475916238",
    ],
    [
        "against plain backtracking: first row 987654321",
        "..............3.85..1.2.......5.7.....4...1...9.......5......73..2.1........4...9",
        "987654321246173985351928746128537694634892157795461832519286473472319568863745219",
    ],
];

/// Where it is from or why, and a board without solution whose givens do not clash.
const IMPOSSIBLE: [[&str; 2]; 7] = [
    [
        "Norvig 2009: 1,439 s for his program",
        ".....5.8....6.1.43..........1.5........1.6...3.......553.....61........4.........",
    ],
    [
        "no value for the first cell, by row and column",
        ".12345678..................9.....................................................",
    ],
    [
        "no value for the first cell, by three of its row, column and box each",
        "....123...78.......9.......4........5........6...................................",
    ],
    [
        "no place for 1 in the first row",
        "....23456.1............................1.........................................",
    ],
    [
        "no place for 1 in the first column",
        "..........1....................1....2........3........4........5........6........",
    ],
    [
        "no place for 1 in the middle box",
        "...1.......................1...............1......2................1.............",
    ],
    [
        "1, 2 and 3 in two cells of the first row",
        "....56789....................1........2........3.........1........2........3.....",
    ],
];

fn board(text: &str) -> Board {
    Board::parse(text.as_bytes()).expect("a board")
}

/// What each engine finds for each board, with its name.
fn by_every_engine(boards: &[Board], limit: u64, budget: &Budget<'_>) -> Vec<(String, Vec<Verdict>)> {
    let mut found = Vec::new();
    let mut run = |name: String, solve: &mut dyn FnMut(&mut Vec<Verdict>)| {
        let mut verdicts = Vec::new();
        solve(&mut verdicts);
        assert_eq!(verdicts.len(), boards.len(), "{name}");
        found.push((name, verdicts));
    };
    run("exact cover".into(), &mut |out| ExactCover::new(3).solve_many(boards, limit, budget, out));
    run("bit masks".into(), &mut |out| Bitmask::new().solve_many(boards, limit, budget, out));
    for width in Width::available() {
        let mut engine = LaneEngine::with_width(width).expect("an available width");
        run(format!("{width:?}"), &mut |out| engine.solve_many(boards, limit, budget, out));
    }
    found
}

/// The answers of a task, one puzzle at a time and all in one slice, which different engines serve.
fn answers(task_text: &str, puzzles: &[&str]) -> Vec<(OutcomeKind, String)> {
    let task: Task = task_text.parse().expect("a task of the table");
    let puzzles: Vec<_> = puzzles.iter().map(|puzzle| puzzle.as_bytes()).collect();
    let mut engine = task.engine();
    let mut answers = |puzzles: &[&[u8]]| -> Vec<(OutcomeKind, String)> {
        let mut outcomes = Outcomes::new();
        engine.solve(puzzles, &Budget::unlimited(), &mut outcomes);
        assert_eq!(outcomes.len(), puzzles.len());
        for (puzzle, outcome) in puzzles.iter().zip(outcomes.iter()) {
            assert!(task.verify(puzzle, outcome), "{task_text} {} {outcome:?}", puzzle.escape_ascii());
        }
        outcomes.iter().map(|o| (o.kind, String::from_utf8_lossy(o.text).into_owned())).collect()
    };
    let together = answers(&puzzles);
    let alone: Vec<_> = puzzles.iter().flat_map(|puzzle| answers(&[puzzle])).collect();
    assert_eq!(alone, together, "{task_text}");
    together
}

#[test]
fn published_boards_have_their_one_solution() {
    let puzzles: Vec<_> = UNIQUE.iter().map(|[_, puzzle, _]| *puzzle).collect();
    let boards: Vec<_> = puzzles.iter().map(|puzzle| board(puzzle)).collect();
    for (engine, verdicts) in by_every_engine(&boards, 2, &Budget::unlimited()) {
        for ([name, _, solution], verdict) in UNIQUE.iter().zip(&verdicts) {
            assert_eq!((verdict.solutions, verdict.end), (1, End::Complete), "{engine}: {name}");
            assert_eq!(Board::from_cells(verdict.solution), Some(board(solution)), "{engine}: {name}");
        }
    }
    for task in ["sudoku.solve", "sudoku.check", "sudoku.first", "sudoku.all"] {
        let expected = UNIQUE.map(|[.., solution]| (OutcomeKind::Solved, solution.to_owned()));
        assert_eq!(answers(task, &puzzles), expected, "{task}");
    }
    assert!(
        answers("sudoku.count", &puzzles).iter().all(|answer| answer == &(OutcomeKind::Solved, "1".into()))
    );
}

fn assert_no_solution(puzzles: &[&str]) {
    let boards: Vec<_> = puzzles.iter().map(|puzzle| board(puzzle)).collect();
    for (engine, verdicts) in by_every_engine(&boards, 2, &Budget::unlimited()) {
        for (puzzle, verdict) in puzzles.iter().zip(&verdicts) {
            let expected = Verdict { solutions: 0, end: End::Complete, solution: [0; CELLS] };
            assert_eq!(*verdict, expected, "{engine}: {puzzle}");
        }
    }
    for task in ["sudoku.solve", "sudoku.check", "sudoku.first", "sudoku.all"] {
        for (puzzle, answer) in puzzles.iter().zip(answers(task, puzzles)) {
            assert_eq!(answer, (OutcomeKind::NoSolution, String::new()), "{task}: {puzzle}");
        }
    }
    for answer in answers("sudoku.count", puzzles) {
        assert_eq!(answer, (OutcomeKind::Solved, "0".into()));
    }
}

#[test]
fn impossible_boards_have_none() {
    assert_no_solution(&IMPOSSIBLE.map(|[_, puzzle]| puzzle));
}

/// A puzzle with one solution has none any more once a given is added that is not of the solution.
#[test]
fn one_wrong_given_is_one_too_many() {
    let mut texts = Vec::new();
    for ([_, puzzle, solution], digit) in UNIQUE.iter().zip((b'1'..=b'9').cycle()) {
        let blanks = (0..CELLS).filter(|&cell| matches!(puzzle.as_bytes()[cell], b'.' | b'0'));
        for cell in blanks.filter(|&cell| solution.as_bytes()[cell] != digit) {
            let mut text = puzzle.as_bytes().to_vec();
            text[cell] = digit;
            texts.push(String::from_utf8(text).expect("ASCII"));
        }
    }
    assert!(texts.len() > 500);
    assert_no_solution(&texts.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn two_equal_givens_that_see_each_other_are_no_solution() {
    let sees =
        |a: usize, b: usize| a / 9 == b / 9 || a % 9 == b % 9 || (a / 27, a % 9 / 3) == (b / 27, b % 9 / 3);
    let mut texts = Vec::new();
    for first in 0..CELLS {
        for second in (first + 1..CELLS).filter(|&second| sees(first, second)) {
            let mut text = [b'.'; CELLS];
            let digit = b'1' + ((first + second) % 9) as u8;
            (text[first], text[second]) = (digit, digit);
            texts.push(String::from_utf8(text.to_vec()).expect("ASCII"));
        }
    }
    assert_eq!(texts.len(), CELLS * 20 / 2);
    assert_no_solution(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    // Full boards: all of one digit, and a solved one with two cells of a row swapped.
    let mut swapped = UNIQUE[0][2].as_bytes().to_vec();
    swapped.swap(3, 4);
    assert_no_solution(&["5".repeat(81).as_str(), std::str::from_utf8(&swapped).expect("ASCII")]);
}

/// Every engine must stop at the limit, with some nodes a solution (lanes that are free begin branches far up).
#[test]
fn the_empty_board_stops_at_its_limit() {
    let empty = ".".repeat(CELLS);
    for limit in [1, 2, 1000] {
        let budget = Budget { nodes: 100 * limit + 10_000, ..Budget::unlimited() };
        for (engine, verdicts) in by_every_engine(&[board(&empty)], limit, &budget) {
            assert_eq!((verdicts[0].solutions, verdicts[0].end), (limit, End::Complete), "{engine}");
            assert!(is_solution(&[0; CELLS], &verdicts[0].solution, 3), "{engine}");
        }
    }
    assert_eq!(answers("sudoku.count:limit=7", &[&empty]), [(OutcomeKind::Multiple, "7+".into())]);
    let kind = |task| answers(task, &[&empty])[0].0;
    assert_eq!(kind("sudoku.first"), OutcomeKind::Solved);
    for task in ["sudoku.solve", "sudoku.check", "sudoku.all", "sudoku.count"] {
        assert_eq!(kind(task), OutcomeKind::Multiple, "{task}");
    }
}

/// A solved board is its own answer.
#[test]
fn full_boards_are_their_own_solution() {
    let grids = UNIQUE.map(|[.., solution]| solution);
    for task in ["sudoku.solve", "sudoku.check", "sudoku.first", "sudoku.all"] {
        let expected = grids.map(|grid| (OutcomeKind::Solved, grid.to_owned()));
        assert_eq!(answers(task, &grids), expected, "{task}");
    }
}

/// Solutions of two bands of a grid come in known numbers: the last band has 3 rows whose digits in each column are
/// told, so its completions can be counted by trying all orders of each column.
#[test]
fn bands_are_completed_as_often_as_counted_by_hand() {
    for [name, _, solution] in UNIQUE {
        let cells = *board(solution).cells();
        let mut given = cells;
        given[54..].fill(0);
        let given = Board::from_cells(given).expect("digits");
        let columns: [[u8; 3]; 9] = std::array::from_fn(|x| [54, 63, 72].map(|row| cells[row + x]));
        let expected = orders_of_columns(&columns, 0, [0; 3]);
        for (engine, verdicts) in by_every_engine(&[given], 1_000_000, &Budget::unlimited()) {
            assert_eq!(verdicts[0].solutions, expected, "{engine}: {name}");
        }
    }
}

/// In how many ways the columns can be ordered so that no row repeats a digit. Boxes hold by themselves.
fn orders_of_columns(columns: &[[u8; 3]; 9], next: usize, rows: [u16; 3]) -> u64 {
    let Some([a, b, c]) = columns.get(next) else { return 1 };
    let orders = [[a, b, c], [a, c, b], [b, a, c], [b, c, a], [c, a, b], [c, b, a]];
    let fits = |order: &&[&u8; 3]| order.iter().zip(rows).all(|(&&digit, row)| row >> digit & 1 == 0);
    let place = |order: &[&u8; 3]| std::array::from_fn(|row| rows[row] | 1 << order[row]);
    orders.iter().filter(fits).map(|order| orders_of_columns(columns, next + 1, place(order))).sum()
}
