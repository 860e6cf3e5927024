//! `puzzled generate` as people meet it: the real binary, with and without a real Redis.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::cli::Bench;

fn lines(bench: &Bench, args: &[&str]) -> Vec<String> {
    let ran = bench.run(&[&["generate", "-q"], args].concat());
    assert_eq!((ran.code, &ran.err[..]), (0, ""), "{args:?}");
    ran.out.lines().map(str::to_owned).collect()
}

#[test]
fn a_seed_and_an_index_give_the_same_grids_everywhere() {
    let bench = Bench::with_worker();
    let all = lines(&bench, &["-c", "3000", "--seed", "42"]);
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), 3000);
    assert_eq!(lines(&bench, &["-c", "3000", "--seed", "42", "--embedded"]), all);
    assert_eq!(lines(&bench, &["-c", "1000", "--seed", "42", "--from", "2000"]), all[2000..]);
    assert_ne!(lines(&bench, &["--seed", "43"]), all[..1]);
    let numbers: String = (0..3000).map(|number| format!("{number}\n")).collect();
    let input = bench.file("numbers.txt", numbers);
    let ran = bench.run(&["solve", "-q", "--task", "sudoku.generate:seed=42", &input]);
    assert_eq!(ran.out.lines().collect::<Vec<_>>(), all);
}

#[test]
fn a_first_number_of_nine_digits_is_no_row_of_a_grid() {
    let bench = Bench::bare();
    let nine = lines(&bench, &["-c", "20", "--seed", "1", "--from", "123456789"]);
    assert_eq!(nine[5..10], lines(&bench, &["-c", "5", "--seed", "1", "--from", "123456794"]));
    assert_eq!(lines(&bench, &["--seed", "1", "--from", &u64::MAX.to_string()]).len(), 1);
}

#[test]
fn grids_are_solutions_with_the_corner_asked_for() {
    let bench = Bench::bare();
    let grids = lines(&bench, &["-c", "2500", "--corner", "7"]);
    assert_eq!(grids.iter().filter(|grid| grid.starts_with('7')).count(), 2500);
    let ran = bench.run(&["solve", "-q", &bench.file("grids.txt", grids.join("\n"))]);
    assert_eq!((ran.code, ran.out.lines().map(str::to_owned).collect::<Vec<_>>()), (0, grids));
}

#[test]
fn a_seed_not_given_is_said_and_repeats_the_run() {
    let bench = Bench::bare();
    let ran = bench.run(&["generate", "-c", "5"]);
    let seed =
        ran.err.lines().find_map(|line| line.strip_prefix("puzzled: to repeat this: --seed ")).unwrap();
    assert_eq!(lines(&bench, &["-c", "5", "--seed", seed]).join("\n") + "\n", ran.out);
    assert!(ran.err.contains("5 jobs: 5 solved"), "{}", ran.err);
}

#[test]
fn formats_count_from_the_beginning_of_the_run() {
    let bench = Bench::bare();
    let csv = lines(&bench, &["-c", "2", "--seed", "42", "--from", "7", "--format", "csv"]);
    let text = lines(&bench, &["-c", "2", "--seed", "42", "--from", "7"]);
    assert_eq!(csv[1..], [format!("0,solved,{}", text[0]), format!("1,solved,{}", text[1])]);
    let json = lines(&bench, &["--seed", "42", "--from", "7", "--format", "ndjson"]);
    let json: serde_json::Value = serde_json::from_str(&json[0]).unwrap();
    assert_eq!((&json["puzzle"], &json["answer"]), (&"7".into(), &text[0][..].into()));
}

#[test]
fn puzzles_come_with_the_clues_and_the_symmetry_asked_for() {
    let bench = Bench::with_worker();
    let args = ["puzzles", "-c", "300", "--seed", "5", "--clues", "26..=30", "--symmetry", "half-turn"];
    let puzzles = lines(&bench, &args);
    assert_eq!(lines(&bench, &[&args[..], &["--embedded"]].concat()), puzzles);
    for puzzle in &puzzles {
        let blanks: Vec<bool> = puzzle.bytes().map(|byte| byte == b'.').collect();
        assert!((26..=30).contains(&blanks.iter().filter(|&&blank| !blank).count()), "{puzzle}");
        assert!((0..81).all(|cell| blanks[cell] == blanks[80 - cell]), "{puzzle}");
    }
    // Each has one solution, says the solver, and no two have the same.
    let ran = bench.run(&["solve", "-q", &bench.file("puzzles.txt", puzzles.join("\n"))]);
    assert_eq!((ran.code, ran.out.lines().collect::<HashSet<_>>().len()), (0, 300), "{}", ran.err);
}

#[test]
fn minimal_puzzles_of_a_difficulty() {
    let bench = Bench::bare();
    let easy = lines(&bench, &["minimal", "-c", "5", "--seed", "6", "--difficulty", "..=2.5"]);
    let ran = bench.run(&["solve", "-q", "--task", "sudoku.rate", &bench.file("easy.txt", easy.join("\n"))]);
    let rated: Vec<f64> =
        ran.out.lines().map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect();
    assert!(rated.len() == 5 && rated.iter().all(|&rating| rating <= 2.5), "{rated:?}");
}

#[test]
fn a_puzzle_that_is_not_found_is_told_with_the_nearest() {
    let bench = Bench::bare();
    let ran = bench.run(&["generate", "minimal", "-c", "2", "--seed", "1", "--clues", "17", "--tries", "10"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    for line in ran.out.lines() {
        assert_eq!(line.strip_prefix("TimedOut: ").map(str::len), Some(81), "{line}");
    }
    assert!(ran.err.contains("2 jobs: 2 timed out"), "{}", ran.err);
    assert!(ran.err.contains("nothing fit within --tries"), "{}", ran.err);
}

#[test]
fn what_cannot_be_is_refused_at_once() {
    let bench = Bench::bare();
    let check = |args: &[&str], code, message: &str| {
        let ran = bench.run(&[&["generate"], args].concat());
        assert_eq!((ran.code, &ran.out[..]), (code, ""), "{args:?}: {}", ran.err);
        assert!(ran.err.contains(message), "{args:?}: {}", ran.err);
    };
    check(&["-c", "0"], 2, "0 is not in 1..");
    check(&["--corner", "0"], 2, "0 is not in 1..=9");
    check(&["--seed", "x"], 2, "invalid value 'x' for '--seed <N>'");
    let last = u64::MAX.to_string();
    check(&["-c", "2", "--from", &last], 2, "indices end at 18446744073709551615");
    check(&["--clues", "24"], 2, "are for puzzles: puzzled generate puzzles");
    check(&["puzzles", "--clues", "16"], 2, "expected N or MIN..=MAX from 17 to 81, such as 24 or 24..=28");
    check(
        &["puzzles", "--clues", "24-28"],
        2,
        "expected N or MIN..=MAX from 17 to 81, such as 24 or 24..=28",
    );
    check(&["puzzles", "--difficulty", "20"], 2, "from 1.0 to 12.0");
    check(&["minimal", "--clues", "26..=27", "--symmetry", "full"], 2, "no choice of whole groups");
    check(
        &["puzzles", "--difficulty", "3.25"],
        2,
        "expected N or MIN..=MAX from 1.0 to 12.0, such as 2.0 or 3.0..=5.0",
    );
    check(&["puzzles", "--symmetry", "spiral"], 2, "symmetry must be one of none, half-turn");
    check(&["minimal", "--clues", "41..=50"], 2, "use what=puzzle");
    check(&["-o", "missing/out.txt"], 4, "cannot write missing/out.txt");
}

#[test]
fn billions_come_as_a_stream_and_end_with_their_reader() {
    let bench = Bench::bare();
    let mut child = bench
        .command(&["generate", "-c", "5000000000", "--seed", "3", "--from", "10"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    for _ in 0..5_000 {
        output.read_line(&mut first).unwrap();
    }
    drop(output);
    let ended = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(4), "{err}");
    // It says where to go on: behind the lines that were written, read or not.
    let from = err.trim_end().rsplit_once("; to go on: --seed 3 --from ").unwrap().1;
    let from: u64 =
        from.strip_suffix(" (or from the first line that its reader did not get)").unwrap().parse().unwrap();
    assert!((5_010..5_000_000_010).contains(&from), "{err}");
    assert_eq!(first, lines(&bench, &["-c", "5000", "--seed", "3", "--from", "10"]).join("\n") + "\n");
}
