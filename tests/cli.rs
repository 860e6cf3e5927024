//! The producer's commands as people meet them: the real binary, a real Redis, a real worker.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test, as the tests themselves do")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use puzzled_queue::{LocalServer, ServerOptions};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// No condition here takes a fraction of this; it only ends a test that hangs.
const DEADLINE: Duration = Duration::from_secs(120);

/// A folder, perhaps a Redis and a worker, all gone on drop.
pub(crate) struct Bench {
    runtime: tokio::runtime::Runtime,
    folder: TempDir,
    server: Option<LocalServer>,
    workers: Vec<Process>,
}

/// A child that does not outlive its test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// What a command came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Bench {
    /// Without Redis.
    pub(crate) fn bare() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { runtime, folder: tempfile::tempdir().unwrap(), server: None, workers: Vec::new() }
    }

    fn with_redis() -> Self {
        let mut bench = Self::bare();
        bench.start_redis(&ServerOptions::default());
        bench
    }

    pub(crate) fn with_worker() -> Self {
        let mut bench = Self::with_redis();
        bench.start_worker();
        bench
    }

    /// The socket is reached by a name that stays the same when the server is another one.
    fn start_redis(&mut self, options: &ServerOptions) {
        let server = self.runtime.block_on(LocalServer::start(options)).unwrap();
        let socket = server.url().split_once("://").unwrap().1.to_owned();
        drop(fs::remove_file(self.socket()));
        symlink(socket, self.socket()).unwrap();
        self.server = Some(server);
    }

    fn start_worker(&mut self) {
        let child = self.command(&["worker"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        self.workers.push(Process(child));
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("redis.sock")
    }

    fn url(&self) -> String {
        format!("redis+unix://{}", self.socket().display())
    }

    /// Asks Redis itself.
    fn redis(&self, command: &[&str]) {
        let client = redis::Client::open(self.url()).unwrap();
        let mut connection = client.get_connection().unwrap();
        let mut cmd = redis::Cmd::new();
        command.iter().for_each(|word| {
            cmd.arg(word);
        });
        cmd.exec(&mut connection).unwrap();
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_puzzled"));
        // Variables of whoever runs the tests are not ours.
        std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PUZZLED_")).for_each(
            |(name, _)| {
                command.env_remove(name);
            },
        );
        if self.server.is_some() {
            command.env("PUZZLED_REDIS__URL", self.url());
        }
        command.current_dir(self.folder.path()).args(args);
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.command(args).stdin(Stdio::null()).output().unwrap().into()
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.folder.path().join(name);
        fs::write(&path, content).unwrap();
        path.display().to_string()
    }

    /// Starts a command whose ends the test holds.
    fn talk(&self, args: &[&str]) -> Talk {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Talk { input, output, process: Process(child) }
    }
}

/// A command at work.
struct Talk {
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    process: Process,
}

impl Talk {
    fn send(&mut self, text: &str) {
        self.input.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn lines(&mut self, count: usize) -> String {
        let mut text = String::new();
        for _ in 0..count {
            assert!(self.output.read_line(&mut text).unwrap() > 0, "the output ended after {text:?}");
        }
        text
    }

    /// Ends the input and reads the rest.
    fn end(mut self) -> Ran {
        self.input = None;
        let mut out = String::new();
        self.output.read_to_string(&mut out).unwrap();
        let mut err = String::new();
        self.process.0.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        Ran { code: self.process.0.wait().unwrap().code().unwrap_or(-1), out, err }
    }
}

fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn data(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap()
}

/// The first puzzles of the 17-clue file.
fn puzzles(count: usize) -> String {
    data("sudoku17.txt").lines().take(count).map(|line| format!("{line}\n")).collect()
}

/// Their answers by the embedded pool.
fn answers(bench: &Bench, input: &str) -> String {
    let ran = bench.run(&["solve", "--embedded", "-q", input]);
    assert_eq!((ran.code, &ran.err[..]), (0, ""));
    ran.out
}

#[test]
fn answers_through_redis_are_those_of_the_embedded_pool() {
    let bench = Bench::with_worker();
    let input = bench.file("in.txt", puzzles(2_000));
    let expected = answers(&bench, &input);
    assert_eq!(expected.lines().count(), 2_000);
    for chunk in ["1", "7", "1024"] {
        let ran = bench.run(&["solve", "--set", &format!("producer.chunk_jobs={chunk}"), &input]);
        assert_eq!((ran.code, ran.out == expected), (0, true), "chunks of {chunk}: {}", ran.err);
        assert!(ran.err.starts_with("2000 jobs: 2000 solved, "), "{}", ran.err);
    }
    let ran = bench.run(&["solve", "-q", "--set", "producer.window_jobs=1", &input, "-o", "out.txt"]);
    assert_eq!((ran.code, &ran.out[..], &ran.err[..]), (0, "", ""));
    assert_eq!(fs::read_to_string(bench.folder.path().join("out.txt")).unwrap(), expected);
}

#[test]
fn pencil_marks_travel_like_givens() {
    let bench = Bench::with_worker();
    let givens = puzzles(40);
    let marks = |line: &str| -> String {
        let mark = |cell| move |digit| if matches!(cell, '.' | '0') || cell == digit { digit } else { '.' };
        line.chars().flat_map(|cell| ('1'..='9').map(mark(cell))).collect()
    };
    let mixed: Vec<_> = givens.lines().flat_map(|line| [marks(line), line.to_owned()]).collect();
    let expected = answers(&bench, &bench.file("givens.txt", &givens));
    let expected: Vec<_> = expected.lines().flat_map(|line| [line, line]).collect();
    let input = bench.file("mixed.txt", mixed.join("\n"));
    for encoding in ["packed", "text"] {
        let ran = bench.run(&["solve", "-q", "--set", &format!("producer.encoding={encoding}"), &input]);
        assert_eq!((ran.code, ran.out.lines().collect::<Vec<_>>()), (0, expected.clone()), "{}", ran.err);
    }
}

#[test]
fn embedded_mode_says_so_in_one_line() {
    let bench = Bench::bare();
    let ran = bench.run(&["solve", &bench.file("in.txt", puzzles(3))]);
    assert_eq!((ran.code, ran.out.lines().count(), ran.err.lines().count()), (0, 3, 2), "{}", ran.err);
    assert!(ran.err.contains("no Redis is configured: solving here"), "{}", ran.err);
}

#[test]
fn bad_lines_keep_their_place_and_stop_nothing() {
    let bench = Bench::with_worker();
    let good = puzzles(2);
    let good: Vec<&str> = good.lines().collect();
    let garbage = "\u{1}\u{2}junk";
    let mut input = format!("{}\r\nhello\r\n\r\n{garbage}\n{}", good[0], good[1]);
    for mode in [&["solve"][..], &["solve", "--embedded", "-q"]] {
        let ran = bench.run(&[mode, &[&bench.file("in.txt", &input)]].concat());
        let lines: Vec<&str> = ran.out.lines().collect();
        assert_eq!((ran.code, lines.len()), (1, 5), "{ran:?}");
        assert!(lines[0].len() == 81 && lines[4].len() == 81, "{ran:?}");
        assert!(lines[1].starts_with("Invalid: ") && lines[3].starts_with("Invalid: "), "{ran:?}");
        assert_eq!(lines[2], "Invalid: empty line");
        for place in ["in.txt:2:", "in.txt:3:1: empty line", "in.txt:4:1: "] {
            assert!(ran.err.contains(place), "{place} in {}", ran.err);
        }
    }
    input += &"\nx".repeat(100);
    let ran = bench.run(&["solve", "-q", &bench.file("in.txt", &input)]);
    assert_eq!((ran.out.lines().count(), ran.err.lines().count()), (105, 11), "{}", ran.err);
    assert!(ran.err.ends_with("in.txt: ... and 93 more bad lines\n"), "{}", ran.err);
}

#[test]
fn byte_order_mark_and_crlf_change_no_answer() {
    let bench = Bench::bare();
    let plain = puzzles(50);
    let expected = answers(&bench, &bench.file("plain.txt", &plain));
    let windows = format!("\u{feff}{}", plain.replace('\n', "\r\n"));
    assert_eq!(answers(&bench, &bench.file("windows.txt", windows)), expected);
    assert_eq!(answers(&bench, &bench.file("unended.txt", plain.trim_end())), expected);
}

#[test]
fn a_grid_is_one_puzzle() {
    let bench = Bench::bare();
    let line = puzzles(1);
    let rows: Vec<&str> = (0..9).map(|row| &line[row * 9..row * 9 + 9]).collect();
    let expected = answers(&bench, &bench.file("line.txt", &line));
    assert_eq!(answers(&bench, &bench.file("grid.txt", rows.join("\n"))), expected);
    let ruled = format!("+---+\n{}\n\n{}\n", rows.join("\r\n"), rows.join("\n"));
    assert_eq!(answers(&bench, &bench.file("grids.txt", ruled)), expected.repeat(2));
}

#[test]
fn eight_puzzle_cases() {
    let bench = Bench::with_worker();
    let text = data("slide8_cases.txt");
    let cases: Vec<(&str, &str)> =
        text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.rsplit_once(':')).collect();
    let input: String = cases.iter().map(|(board, _)| format!("{board}\n")).collect();
    let ran = bench.run(&["solve", &bench.file("in.txt", input)]);
    assert_eq!(ran.out.lines().count(), cases.len(), "{}", ran.err);
    for ((board, length), answer) in cases.iter().zip(ran.out.lines()) {
        match *length {
            "bad" => assert!(answer.starts_with("Invalid: "), "{board}: {answer}"),
            "-1" => assert_eq!(answer, "NoSolution", "{board}"),
            length => {
                assert_eq!(answer.len().to_string(), length, "{board}: {answer}");
                assert!(answer.bytes().all(|move_| b"lrud".contains(&move_)), "{board}: {answer}");
            }
        }
    }
}

#[test]
fn formats() {
    let bench = Bench::with_worker();
    let input = bench.file("in.txt", "1234567x8\n\"a,b\n2134567x8\n");
    let csv = bench.run(&["solve", "-q", "--format", "csv", &input]);
    let lines: Vec<&str> = csv.out.lines().collect();
    assert_eq!(
        (lines.len(), lines[0], lines[1], lines[3]),
        (4, "index,outcome,answer", "0,solved,r", "2,no_solution,")
    );
    assert!(lines[2].starts_with("1,invalid,\"column "), "{}", csv.out);
    let ndjson = bench.run(&["solve", "-q", "--format", "ndjson", &input]);
    let objects: Vec<serde_json::Value> =
        ndjson.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(objects.len(), 3);
    assert_eq!((&objects[0]["answer"], &objects[0]["puzzle"]), (&"r".into(), &"1234567x8".into()));
    assert_eq!((&objects[1]["outcome"], &objects[1]["line"]), (&"invalid".into(), &2.into()));
    assert!(objects[1]["reason"].is_string() && objects[2]["answer"].is_null());
}

#[test]
fn input_that_cannot_be_read() {
    let bench = Bench::bare();
    let check = |args: &[&str], code, message: &str| {
        let ran = bench.run(args);
        assert_eq!(
            (ran.code, ran.err.lines().count() == 1 || code == 2 || message.contains("--task")),
            (code, true),
            "{args:?}: {}",
            ran.err
        );
        assert!(ran.err.contains(message), "{args:?}: {}", ran.err);
        assert_eq!(ran.out, "");
    };
    check(&["solve", &bench.file("empty", "")], 3, "empty: it is empty");
    check(&["solve", &bench.file("mark", "\u{feff}")], 3, "mark: it is empty");
    check(&["solve", "-"], 3, "no puzzles in standard input");
    check(&["solve", "missing"], 3, "cannot open missing");
    check(&["solve", "."], 3, ". is a directory");
    check(
        &["solve", &bench.file("prose", "hello, world\n")],
        3,
        "is no puzzle I know; say what it is with --task",
    );
    check(&["solve", "--task", "chess.solve", "prose"], 2, "there is no task");
    check(&["submit", &bench.file("one", "12345678x\n")], 2, "no Redis is configured");
    check(&["solve", "-q", "one", "-o", "one"], 2, "one is the input");
    assert_eq!(fs::read_to_string(bench.folder.path().join("one")).unwrap(), "12345678x\n");
}

#[test]
fn a_closed_pipe_loses_nothing() {
    let bench = Bench::with_worker();
    let input = bench.file("in.txt", puzzles(3_000));
    let expected = answers(&bench, &input);
    let mut talk = bench.talk(&["solve", "-q", &input]);
    assert_eq!(Some(&talk.lines(1)[..81]), expected.get(..81));
    let Talk { output, mut process, .. } = talk;
    drop(output);
    let mut err = String::new();
    process.0.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((process.0.wait().unwrap().code(), err.lines().count()), (Some(4), 1), "{err}");
    let (_, way_on) = err.split_once("puzzled results ").unwrap_or_else(|| panic!("{err}"));
    let words: Vec<&str> = way_on.split_whitespace().take(3).collect();
    let ran = bench.run(&["results", words[0], words[1], words[2], "--follow"]);
    let from: usize = words[2].parse().unwrap();
    let rest: Vec<&str> = expected.lines().skip(from).collect();
    assert!(ran.out.lines().zip(&rest).all(|(found, wanted)| found == *wanted), "{}", ran.err);
    // What was not submitted is told.
    let missing = rest.len() - ran.out.lines().count();
    assert_eq!(missing > 0, err.contains("were not submitted"), "{missing} missing, {err}");
}

#[test]
fn a_full_disk_and_a_closed_pipe_of_every_command_are_exit_4() {
    let bench = Bench::with_worker();
    let input = bench.file("in.txt", puzzles(10));
    let full = |args: &[&str]| -> Ran {
        let device = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        bench.command(args).stdin(Stdio::null()).stdout(device).output().unwrap().into()
    };
    let ran = bench.run(&["solve", "-q", &input, "-o", "/dev/full"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.err.contains("after 0 lines: the disk is full. The other results stay"), "{}", ran.err);
    let id = bench.run(&["submit", "-q", &input]).out;
    assert_eq!(bench.run(&["watch", id.trim()]).code, 0);
    for args in [&["results", id.trim()][..], &["status", id.trim()], &["batches"], &["submit", &input]] {
        let ran = full(args);
        assert_eq!((ran.code, ran.err.lines().count()), (4, 1), "{args:?}: {}", ran.err);
    }
}

#[test]
fn redis_that_does_not_serve_is_exit_5() {
    let bench = Bench::with_redis();
    let input = bench.file("in.txt", puzzles(10));
    let check = |url: &str, message: &str| {
        for command in ["solve", "submit"] {
            let ran = bench.run(&["--redis", url, command, &input]);
            assert_eq!((ran.code, ran.err.lines().count(), &ran.out[..]), (5, 1, ""), "{}", ran.err);
            assert!(ran.err.contains(message), "{}", ran.err);
            assert!(!ran.err.contains("secret"), "{}", ran.err);
        }
    };
    check(&format!("redis+unix://{}/nothing", bench.folder.path().display()), "cannot be reached");
    bench.redis(&["REPLICAOF", "127.0.0.1", "1"]);
    check(&bench.url(), "read-only");
    bench.redis(&["REPLICAOF", "NO", "ONE"]);
    bench.redis(&["CONFIG", "SET", "maxmemory", "1"]);
    check(&bench.url(), "out of memory");
    bench.redis(&["CONFIG", "SET", "maxmemory", "0"]);
    bench.redis(&["CONFIG", "SET", "requirepass", "right"]);
    check(&bench.url(), "refuses us");
    check(&format!("{}?pass=secret", bench.url()), "refuses us");
    let ran = bench.run(&["--redis", &format!("{}?pass=right", bench.url()), "submit", &input]);
    assert_eq!(ran.code, 0, "{}", ran.err);
}

#[test]
fn redis_out_of_memory_in_the_middle() {
    let bench = Bench::with_worker();
    let input = bench.file("in.txt", puzzles(40));
    let expected = answers(&bench, &input);
    let (first, second) = (puzzles(20), puzzles(40)[20 * 82..].to_owned());
    // With patience: the run waits and goes on.
    let mut talk = bench.talk(&["solve", "-"]);
    talk.send(&first);
    let mut out = talk.lines(20);
    bench.redis(&["CONFIG", "SET", "maxmemory", "1"]);
    talk.send(&second);
    let mut err = BufReader::new(talk.process.0.stderr.take().unwrap());
    let mut told = String::new();
    err.read_line(&mut told).unwrap();
    assert!(told.contains("out of memory") && told.contains("Trying again"), "{told}");
    bench.redis(&["CONFIG", "SET", "maxmemory", "0"]);
    out += &talk.lines(20);
    talk.input = None;
    told.clear();
    err.read_to_string(&mut told).unwrap();
    assert!(told.starts_with("puzzled: Redis answers again, going on\n40 jobs: 40 solved"), "{told}");
    assert_eq!((out, talk.process.0.wait().unwrap().code()), (expected.clone(), Some(0)));
    // Without: it says how to go on.
    let mut talk = bench.talk(&["solve", "-", "--set", "redis.patience_s=0"]);
    talk.send(&first);
    assert_eq!(talk.lines(20), expected[..20 * 82]);
    bench.redis(&["CONFIG", "SET", "maxmemory", "1"]);
    talk.send(&second);
    let ran = talk.end();
    assert_eq!((ran.code, ran.err.lines().count()), (5, 1), "{}", ran.err);
    assert!(ran.err.contains(" --from 20 (jobs from input line 21 on were not submitted)"), "{}", ran.err);
}

#[test]
fn a_redis_that_forgets_everything_costs_no_line() {
    let bench = Bench::with_worker();
    let expected = answers(&bench, &bench.file("in.txt", puzzles(300)));
    let text = puzzles(300);
    let mut talk = bench.talk(&["solve", "-", "--set", "producer.chunk_jobs=10"]);
    talk.send(&text[..100 * 82]);
    let mut out = talk.lines(100);
    bench.redis(&["FLUSHALL"]);
    talk.send(&text[100 * 82..]);
    out += &talk.lines(200);
    let ran = talk.end();
    assert_eq!((out, ran.code), (expected, 0), "{}", ran.err);
    assert!(ran.err.contains("goes on as batch"), "{}", ran.err);
}

#[test]
fn a_redis_that_forgets_before_the_first_answer_is_sent_all_again() {
    let mut bench = Bench::with_redis();
    let input = bench.file("in.txt", puzzles(300));
    let expected = answers(&bench, &input);
    let talk = bench.talk(&["solve", &input, "--set", "producer.chunk_jobs=10"]);
    eventually("all submitted", || bench.run(&["batches"]).out.contains("300"));
    bench.redis(&["FLUSHALL"]);
    bench.start_worker();
    let ran = talk.end();
    assert_eq!((ran.out == expected, ran.code), (true, 0), "{}", ran.err);
    assert!(ran.err.contains("sent them again"), "{}", ran.err);
}

#[test]
fn a_redis_that_is_killed_and_comes_back_costs_no_line() {
    let mut bench = Bench::bare();
    let data = bench.folder.path().join("data");
    let options = ServerOptions {
        data: Some(data),
        arguments: vec!["--appendfsync".to_owned(), "always".to_owned()],
        ..ServerOptions::default()
    };
    bench.start_redis(&options);
    bench.start_worker();
    let expected = answers(&bench, &bench.file("in.txt", puzzles(600)));
    let text = puzzles(600);
    let mut talk = bench.talk(&["solve", "-", "--set", "producer.chunk_jobs=10"]);
    let mut out = String::new();
    for part in 0..3 {
        talk.send(&text[part * 200 * 82..(part + 1) * 200 * 82]);
        // In the middle of a part: some of it answered, some on its way.
        out += &talk.lines(50);
        if part < 2 {
            bench.server = None;
            bench.start_redis(&options);
        }
        out += &talk.lines(150);
    }
    let ran = talk.end();
    assert_eq!((out == expected, ran.code), (true, 0), "{}", ran.err);
    assert!(!ran.err.contains("goes on as batch"), "{}", ran.err);
}

#[test]
fn the_life_of_a_submitted_batch() {
    let mut bench = Bench::with_redis();
    let input = bench.file("in.txt", puzzles(100));
    let expected = answers(&bench, &input);
    let small = ["--set", "producer.chunk_jobs=10"];
    let ran = bench.run(&[&small[..], &["submit", "--label", "mine", "--priority", "low", &input]].concat());
    assert_eq!((ran.code, &ran.err[..]), (0, "100 jobs submitted\n"));
    let id = ran.out.trim();
    let status = |id: &str| bench.run(&["status", id]).out;
    assert!(
        status(id).contains("100 submitted = 0 done + 0 failed + 0 cancelled + 100 waiting + 0 running"),
        "{}",
        status(id)
    );
    let batches = bench.run(&["batches"]).out;
    assert!(batches.contains(id) && batches.contains("mine"), "{batches}");
    let job = format!("{id}.17");
    assert_eq!(bench.run(&["get", &job]).out, "waiting\n");
    let ran = bench.run(&["results", id]);
    assert_eq!((ran.code, &ran.out[..]), (0, ""));
    assert!(ran.err.starts_with("100 jobs still to come"), "{}", ran.err);

    // Twice is once; another input is noticed.
    let ran = bench.run(&[&small[..], &["submit", "--id", id, "--priority", "low", &input]].concat());
    assert_eq!((ran.code, ran.out.trim()), (0, id), "{}", ran.err);
    let shorter = bench.file("shorter.txt", puzzles(50));
    let ran = bench.run(&[&small[..], &["submit", "--id", id, "--priority", "low", &shorter]].concat());
    assert_eq!(ran.code, 2, "{}", ran.err);
    let ran = bench.run(&["submit", "--id", id, &input]);
    assert_eq!(ran.code, 2, "another priority: {}", ran.err);

    bench.start_worker();
    let ran = bench.run(&["results", id, "--follow"]);
    assert_eq!((ran.code, ran.out == expected), (0, true), "{}", ran.err);
    let ran = bench.run(&["watch", id]);
    assert_eq!((ran.code, ran.err.lines().count()), (0, 1), "{}", ran.err);
    assert!(ran.err.starts_with("100 jobs: 100 solved, "), "{}", ran.err);
    let ran = bench.run(&["results", id, "--from", "95"]);
    assert_eq!((ran.code, &ran.out[..], &ran.err[..]), (0, &expected[95 * 82..], ""));
    let ran = bench.run(&["results", id, "--from", "100"]);
    assert_eq!((ran.code, &ran.out[..], &ran.err[..]), (0, "", ""));
    assert_eq!(bench.run(&["get", &job]).out, expected[17 * 82..18 * 82]);
    let json: serde_json::Value = serde_json::from_str(&bench.run(&["get", "--json", &job]).out).unwrap();
    assert_eq!((&json["state"], &json["outcome"]), (&"recorded".into(), &"solved".into()));
    let json: serde_json::Value = serde_json::from_str(&bench.run(&["status", "--json", id]).out).unwrap();
    assert_eq!(
        (&json["state"], &json["done"], &json["submitted"]),
        (&"finished".into(), &100.into(), &100.into())
    );
    assert_eq!(bench.run(&["cancel", id]).out, "0 jobs cancelled\n");

    let unknown = "01997e60-5bd0-7cc1-8d1e-3b1f0a2c4d5e";
    for args in [
        &["status", unknown][..],
        &["watch", unknown],
        &["results", unknown],
        &["cancel", unknown],
        &["get", &format!("{unknown}.0")],
        &["get", &format!("{id}.100")],
        &["results", id, "--from", "101"],
    ] {
        let ran = bench.run(args);
        assert_eq!((ran.code, ran.err.lines().count()), (7, 1), "{args:?}: {}", ran.err);
    }
}

#[test]
fn a_batch_is_found_by_the_beginning_of_its_id_or_label() {
    let bench = Bench::with_worker();
    let submit = |name: &str, label: &str| {
        let ran = bench.run(&["submit", "-q", "--label", label, &bench.file(name, puzzles(3))]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.out.trim().to_owned()
    };
    let (one, other) = (submit("one.txt", "Nightly 17"), submit("other.txt", "weekly"));
    eventually("both are done", || {
        [&one, &other].iter().all(|batch| bench.run(&["results", batch]).out.lines().count() == 3)
    });
    // Ids of one minute share their beginning; this many letters tell these two apart.
    let apart = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count() + 1;
    let (prefix, both) = (&one[..apart.max(4)], &one[..4]);
    assert_eq!(bench.run(&["results", prefix]).out, bench.run(&["results", &one]).out);
    assert_eq!(bench.run(&["get", &format!("{prefix}.1")]).out, bench.run(&["get", &format!("{one}.1")]).out);
    let ran = bench.run(&["cancel", both]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains(&one) && ran.err.contains(&other), "{}", ran.err);
    let ran = bench.run(&["status", "ffff"]);
    assert!(ran.code == 7 && ran.err.contains("ffff"), "{ran:?}");

    let found = |text: &str| {
        let ran = bench.run(&["batches", "--json", text]);
        let list: Vec<serde_json::Value> = serde_json::from_str(&ran.out).unwrap();
        list.iter().map(|batch| batch["batch"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found("nIGHT"), [one.as_str()]);
    assert_eq!(found(&other), [other.as_str()]);
    assert_eq!(found("ightly"), [""; 0], "by the beginning alone");
}

#[test]
fn cancelling_ends_a_batch_for_everybody() {
    let bench = Bench::with_redis();
    let input = bench.file("in.txt", puzzles(30));
    let solving = bench.talk(&["solve", &input]);
    eventually("submitted", || bench.run(&["batches"]).out.contains("running"));
    let batches = bench.run(&["batches"]).out;
    let id = batches.split_whitespace().next().unwrap();
    assert_eq!(bench.run(&["cancel", id]).out, "30 jobs cancelled\n");
    let ran = solving.end();
    assert_eq!((ran.code, ran.out), (6, "Cancelled\n".repeat(30)), "{}", ran.err);
    assert_eq!(bench.run(&["watch", id]).code, 6);
    assert!(
        bench
            .run(&["status", id])
            .out
            .contains("30 submitted = 0 done + 0 failed + 30 cancelled + 0 waiting")
    );

    let submitted = bench.run(&["submit", "-q", &input]).out;
    let id = submitted.trim();
    assert_eq!(bench.run(&["cancel", id]).out, "30 jobs cancelled\n");
    let ran = bench.run(&["results", id]);
    assert_eq!((ran.code, ran.out), (6, "Cancelled\n".repeat(30)), "{}", ran.err);
}

#[test]
fn an_interrupt_cancels_solve_and_leaves_submit_open() {
    let bench = Bench::with_redis();
    let interrupt = |talk: &Talk| {
        let pid = Pid::from_raw(i32::try_from(talk.process.0.id()).unwrap()).unwrap();
        kill_process(pid, Signal::INT).unwrap();
    };
    let mut solving = bench.talk(&["solve", "-", "--label", "s"]);
    solving.send(&puzzles(3));
    eventually("submitted", || bench.run(&["batches", "--json"]).out.contains("\"submitted\":3"));
    interrupt(&solving);
    // Its input stays open: it must not wait for it.
    eventually("solve ends", || solving.process.0.try_wait().unwrap().is_some());
    let ran = solving.end();
    assert_eq!(ran.code, 130, "{}", ran.err);
    assert!(ran.err.contains("is cancelled, 3 of its jobs were unfinished"), "{}", ran.err);

    let mut submitting = bench.talk(&["submit", "-", "--set", "producer.chunk_jobs=2"]);
    submitting.send(&puzzles(5));
    let id = submitting.lines(1);
    eventually("submitted", || bench.run(&["status", id.trim()]).out.contains("4 submitted (more may come)"));
    interrupt(&submitting);
    eventually("submit ends", || submitting.process.0.try_wait().unwrap().is_some());
    let ran = submitting.end();
    assert_eq!(ran.code, 130, "{}", ran.err);
    assert!(ran.err.contains("stopped after 4 jobs") && ran.err.contains("--resume"), "{}", ran.err);
    assert!(bench.run(&["status", id.trim()]).out.contains(": open"));
}

#[test]
fn a_full_queue_holds_the_input_back() {
    let mut bench = Bench::with_redis();
    let input = bench.file("in.txt", puzzles(200));
    let expected = answers(&bench, &input);
    let limits = ["--set", "redis.depth_jobs_max=50", "--set", "producer.chunk_jobs=10"];
    // The limit is looked at once a call, so somebody else must have reached it.
    assert_eq!(bench.run(&["submit", &input]).code, 0);
    let mut talk = bench.talk(&[&limits[..], &["solve", &input]].concat());
    let mut err = BufReader::new(talk.process.0.stderr.take().unwrap());
    let mut told = String::new();
    err.read_line(&mut told).unwrap();
    assert!(told.contains("the queue is full") && told.contains("Waiting for room"), "{told}");
    bench.start_worker();
    let mut out = String::new();
    talk.output.read_to_string(&mut out).unwrap();
    err.read_to_string(&mut told).unwrap();
    assert_eq!((talk.process.0.wait().unwrap().code(), out == expected), (Some(0), true), "{told}");
    assert_eq!(told.matches("is full").count(), 1, "{told}");
}

#[test]
fn an_endless_line_takes_no_memory() {
    const MIB: usize = 1 << 20;
    let bench = Bench::bare();
    let mut talk = bench.talk(&["solve", "--task", "slide.solve", "-"]);
    let block = "x".repeat(MIB);
    (0..64).for_each(|_| talk.send(&block));
    talk.send("\n1234567x8\n");
    assert_eq!(talk.lines(2), "Invalid: line longer than 4096 bytes\nr\n");
    let status = fs::read_to_string(format!("/proc/{}/status", talk.process.0.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak_kib: usize = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak_kib < 60 * 1024, "{peak_kib} KiB");
    assert_eq!(talk.end().code, 1);
}
