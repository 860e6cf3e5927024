//! The commands that run and look after an installation, as real processes: up, demo, dashboard, doctor, config,
//! guard. Nothing here waits a fixed time: everything polls what it waits for, with a deadline.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use puzzled_queue::{LocalServer, ServerOptions};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

const DEADLINE: Duration = Duration::from_secs(60);

#[test]
fn up_shows_its_queue_and_ends_clean_on_sigterm() {
    let mut up = Up::start(&["--workers", "2"]);
    let snapshot = up.snapshot_with_workers(2);
    assert_eq!(snapshot["stale"], Value::Null);
    assert_eq!(snapshot["lanes"].as_array().map(Vec::len), Some(6), "{snapshot}");
    let metrics = get(&up.address, "/metrics");
    assert!(metrics.contains("\npuzzled_workers 2\n"), "{metrics}");
    assert!(metrics.contains("puzzled_waiting_jobs{kind=\"sudoku\",priority=\"normal\"} 0\n"), "{metrics}");
    assert_eq!(get(&up.address, "/readyz"), "ready\n");
    check_metrics(&metrics);

    let solved = up.puzzled(&["demo", "--workers", "1"]);
    assert!(solved.status.success(), "{}", told(&solved));

    let family = descendants(up.pid());
    assert_eq!(family.len(), 6, "two workers and a server, each with its guard: {family:?}");
    signal(up.pid(), Signal::TERM);
    assert_eq!(up.process.ended(), Some(0));
    gone(&family);
    assert_eq!(fs::read_dir(up.folder.path()).expect("folder").count(), 0, "the private folder is removed");
}

#[test]
fn nothing_outlives_an_up_that_is_killed() {
    let mut up = Up::start(&["--workers", "2"]);
    up.snapshot_with_workers(2);
    let family = descendants(up.pid());
    assert_eq!(family.len(), 6, "{family:?}");
    signal(up.pid(), Signal::KILL);
    up.process.ended();
    gone(&family);
}

#[test]
fn a_worker_that_dies_is_started_again() {
    let up = Up::start(&["--workers", "1"]);
    let name = |snapshot: &Value| snapshot["workers"][0]["worker"].as_str().map(str::to_owned);
    let first = name(&up.snapshot_with_workers(1));
    let worker = descendants(up.pid())
        .into_iter()
        .find(|process| process.line.contains("worker") && !process.line.contains("guard"))
        .expect("a worker runs");
    signal(worker.pid, Signal::KILL);
    poll("another worker", || {
        let workers = up.snapshot()["workers"].as_array()?.clone();
        workers.iter().any(|worker| worker["worker"].as_str().map(str::to_owned) != first).then_some(())
    });
}

#[test]
fn up_says_so_when_its_redis_dies() {
    let mut up = Up::start(&["--workers", "1"]);
    up.snapshot_with_workers(1);
    let family = descendants(up.pid());
    let server = family.iter().find(|process| process.line.contains("unixsocket:")).or_else(|| {
        family.iter().find(|process| process.line.contains("redis.sock") && !process.line.contains("guard"))
    });
    signal(server.expect("a server runs").pid, Signal::KILL);
    assert_eq!(up.process.ended(), Some(5));
    let said = up.process.stderr();
    assert!(said.contains("the private Redis died") && said.contains("--data DIR"), "{said}");
    gone(&family);
}

#[test]
fn up_keeps_its_data_in_a_folder() {
    let data = TempDir::new().expect("temporary folder");
    let path = data.path().join("deep/er").display().to_string();
    let mut up = Up::start(&["--workers", "1", "--data", &path]);
    up.snapshot_with_workers(1);
    signal(up.pid(), Signal::TERM);
    assert_eq!(up.process.ended(), Some(0));
    assert!(Path::new(&path).join("appendonlydir").is_dir());
}

#[test]
fn up_without_a_server_on_path_tells_how_to_get_one() {
    let folder = TempDir::new().expect("temporary folder");
    let output =
        puzzled(folder.path()).args(["up", "--listen", "127.0.0.1:0"]).env("PATH", "/nowhere").output();
    let output = output.expect("puzzled starts");
    assert_eq!(output.status.code(), Some(5));
    assert!(told(&output).contains("apt-get install redis-server"), "{}", told(&output));

    let output =
        puzzled(folder.path()).args(["up", "--redis", "redis://elsewhere"]).output().expect("puzzled starts");
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
}

#[test]
fn demo_solves_a_file_and_its_last_line_says_so() {
    let folder = TempDir::new().expect("temporary folder");
    let all = fs::read_to_string(root().join("tests/data/sudoku17.txt")).expect("shipped data");
    let some: Vec<&str> = all.lines().take(500).collect();
    fs::write(folder.path().join("some.txt"), some.join("\n")).expect("a file");
    let output = puzzled(folder.path()).args(["demo", "some.txt"]).output().expect("puzzled starts");
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.lines().last(), Some("500 solved, 500 verified"));

    fs::write(folder.path().join("bad.txt"), format!("{}\nnonsense\n", some[0])).expect("a file");
    let output = puzzled(folder.path()).args(["demo", "bad.txt"]).output().expect("puzzled starts");
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    assert!(told(&output).contains("1 solved, 1 verified"), "{}", told(&output));

    let output = puzzled(folder.path()).args(["demo", "missing.txt"]).output().expect("puzzled starts");
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
}

#[test]
fn demo_carries_all_its_puzzles() {
    let folder = TempDir::new().expect("temporary folder");
    let output = puzzled(folder.path()).arg("demo").output().expect("puzzled starts");
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.lines().last(), Some("49151 solved, 49151 verified"));
}

#[test]
fn doctor_tells_good_from_bad() {
    let server = Server::start();
    let doctor = |json: bool| {
        let mut command = server.puzzled();
        command.arg("doctor").args(json.then_some("--json")).output().expect("puzzled starts")
    };
    server.set("maxmemory", "1gb");
    let mut worker = server.puzzled();
    worker.args(["worker", "--threads", "1", "--listen", "", "--set", "log.level=error"]);
    let _worker = Process(worker.spawn().expect("puzzled starts"));
    let output = poll("a worker and a healthy server", || {
        Some(doctor(false)).filter(|output| told(output).contains("All is well."))
    });
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert!(told(&output).contains("1 worker alive, 1 thread"), "{}", told(&output));

    server.set("appendonly", "no");
    let output = doctor(true);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["verdict"], "warning", "{report}");

    server.set("maxmemory-policy", "allkeys-lru");
    let output = doctor(false);
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    assert!(told(&output).contains("CONFIG SET maxmemory-policy noeviction"), "{}", told(&output));

    server.set("requirepass", "hunter2");
    let output = doctor(true);
    assert_eq!(output.status.code(), Some(5), "{}", told(&output));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["findings"][0]["subject"], "connection", "{report}");
    let wrong = format!("{}?pass=swordfish", server.url().replace("redis+unix", "unix"));
    let output =
        server.puzzled().env("PUZZLED_REDIS__URL", wrong).arg("doctor").output().expect("puzzled starts");
    assert_eq!(output.status.code(), Some(5), "{}", told(&output));
    assert!(told(&output).contains("refuses us"), "{}", told(&output));
    assert!(!told(&output).contains("swordfish"), "{}", told(&output));
}

#[test]
fn doctor_says_how_the_queue_does() {
    let server = Server::start();
    server.set("maxmemory", "1gb");
    let run = |arguments: &[&str], code: i32, words: &[&str]| {
        let output = server.puzzled().args(arguments).output().expect("puzzled starts");
        let said = told(&output);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(words.iter().all(|words| said.contains(words)), "{said}");
    };
    // Fresh from the shelf: it works, nobody works, and looking left nothing behind.
    run(&["doctor"], 0, &["warning  workers       no worker is alive\n", "-> start one: `puzzled worker`;"]);
    let client = redis::Client::open(server.url()).expect("a URL");
    let mut connection = client.get_connection().expect("a connection");
    let keys: u64 = redis::cmd("DBSIZE").query(&mut connection).expect("a number");
    assert_eq!(keys, 0);

    let data = fs::read_to_string(root().join("tests/data/sudoku17.txt")).expect("shipped data");
    let some: Vec<&str> = data.lines().take(3).collect();
    fs::write(server.folder.path().join("some.txt"), some.join("\n")).expect("a file");
    run(&["submit", "some.txt"], 0, &[]);
    run(&["doctor"], 1, &["BAD      workers       no worker is alive, and 3 jobs wait\n"]);
    run(&["pause", "sudoku"], 0, &[]);
    run(
        &["doctor"],
        1,
        &["paused        sudoku has been paused for ", "; 3 jobs wait\n", "`puzzled resume sudoku`"],
    );
    run(&["doctor", "--set", "redis.shards=4"], 1, &["BAD      connection", "redis.shards = 1"]);
}

#[test]
fn doctor_finds_nobody_at_home() {
    let folder = TempDir::new().expect("temporary folder");
    // A port that was free a moment ago; nobody is told of it but us.
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port();
    let output = puzzled(folder.path())
        .args(["doctor", "--redis", &format!("redis://127.0.0.1:{port}")])
        .output()
        .expect("puzzled starts");
    assert_eq!(output.status.code(), Some(5), "{}", told(&output));
    assert!(
        told(&output).contains("cannot be reached") && told(&output).contains("-> "),
        "{}",
        told(&output)
    );
}

#[test]
fn config_shows_origins_hides_passwords_and_can_be_loaded_again() {
    let folder = TempDir::new().expect("temporary folder");
    fs::write(folder.path().join("puzzled.toml"), "[worker]\nthreads = 3\n").expect("a file");
    let config = |arguments: &[&str]| {
        puzzled(folder.path())
            .env("PUZZLED_REDIS__URL", "redis://me:hunter2@db:6379")
            .arg("config")
            .args(arguments)
            .output()
            .expect("puzzled starts")
    };
    let output = config(&["--set", "worker.prefetch=5"]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap_or_default();
    assert!(!text.contains("hunter2"), "{text}");
    assert!(line("# url").ends_with("# environment variable PUZZLED_REDIS__URL; hidden"), "{text}");
    assert!(line("threads = 3 ").ends_with("# file puzzled.toml"), "{text}");
    assert!(line("prefetch = 5 ").ends_with("# command line flag for worker.prefetch"), "{text}");
    assert!(line("claim_ms = 10 ").ends_with("# default"), "{text}");

    fs::write(folder.path().join("puzzled.toml"), &text).expect("a file");
    let again = String::from_utf8_lossy(&config(&[]).stdout).into_owned();
    let values = |text: &str| -> Vec<String> {
        text.lines()
            .filter_map(|line| line.split("  #").next())
            .map(|line| line.trim_end().to_owned())
            .collect()
    };
    assert_eq!(values(&again), values(&text));
    let defaults = String::from_utf8_lossy(&config(&["--defaults"]).stdout).into_owned();
    assert!(defaults.contains("\nthreads = 0 "), "{defaults}");

    let output = puzzled(folder.path()).env("PUZZLED_WORKER__THREDS", "1").arg("config").output();
    let output = output.expect("puzzled starts");
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(told(&output).contains("PUZZLED_WORKER__THREADS"), "{}", told(&output));
}

#[test]
fn a_guard_passes_codes_on_and_ends_its_program_with_its_owner() {
    let folder = TempDir::new().expect("temporary folder");
    let guard = |line: &[&str]| {
        let mut command = puzzled(folder.path());
        command.args(["guard", "--"]).args(line).stdin(Stdio::piped()).stdout(Stdio::piped());
        Process(command.spawn().expect("puzzled starts"))
    };
    assert_eq!(guard(&["sh", "-c", "exit 7"]).ended(), Some(7));
    assert_eq!(guard(&["sh", "-c", "kill -9 $$"]).ended(), Some(137));

    let mut passing = guard(&["sh", "-c", "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done"]);
    passing.line_with("ready");
    signal(passing.pid(), Signal::TERM);
    assert_eq!(passing.ended(), Some(9));

    let mut orphan = guard(&["sh", "-c", "echo ready; exec sleep 1000"]);
    orphan.line_with("ready");
    let family = descendants(orphan.pid());
    drop(orphan.0.stdin.take());
    assert_eq!(orphan.ended(), Some(128 + 15));
    gone(&family);
}

#[test]
fn a_worker_and_a_dashboard_show_clean_metrics() {
    let server = Server::start();
    let start = |role: &str| {
        let mut command = server.puzzled();
        command.args([role, "--listen", "127.0.0.1:0"]).stderr(Stdio::piped());
        let mut process = Process(command.spawn().expect("puzzled starts"));
        let line = process.line_with("address=");
        let address =
            line.split("address=").nth(1).and_then(|rest| rest.split(' ').next()).expect("an address");
        (address.trim().to_owned(), process)
    };
    for role in ["worker", "dashboard"] {
        let (address, mut process) = start(role);
        poll("readiness", || (get(&address, "/readyz") == "ready\n").then_some(()));
        let metrics = get(&address, "/metrics");
        assert!(metrics.contains("puzzled_build_info"), "{metrics}");
        check_metrics(&metrics);
        // The worker lists its routes there, the dashboard has a page.
        let front = get(&address, "/");
        assert!(front.contains(if role == "worker" { "/metrics  " } else { "href=\"metrics\"" }), "{front}");
        signal(process.pid(), Signal::TERM);
        assert_eq!(process.ended(), Some(0), "{role}");
    }
}

#[test]
fn a_dashboard_keeps_the_last_snapshot_while_redis_is_away() {
    let mut server = Server::start();
    let mut command = server.puzzled();
    command.args(["dashboard", "--listen", "127.0.0.1:0"]).stderr(Stdio::piped());
    let mut process = Process(command.spawn().expect("puzzled starts"));
    let line = process.line_with("address=");
    let address =
        line.split("address=").nth(1).and_then(|rest| rest.split(' ').next()).expect("an address").to_owned();
    let snapshot = || serde_json::from_str::<Value>(&get(&address, "/api/snapshot")).ok();
    let fresh = poll("a snapshot", || snapshot().filter(|snapshot| snapshot["stale"].is_null()));
    server.stop();
    let stale = poll("a stale snapshot", || snapshot().filter(|snapshot| !snapshot["stale"].is_null()));
    assert!(stale["stale"].as_str().is_some_and(|reason| reason.contains("cannot be reached")), "{stale}");
    assert!(stale["time_ms"].as_u64() >= fresh["time_ms"].as_u64());
    assert_eq!(stale["lanes"], fresh["lanes"]);
    assert!(get(&address, "/readyz").contains("cannot be reached"));
    assert_eq!(get(&address, "/livez"), "ok\n");
}

#[test]
fn the_readme_lists_every_exit_code() {
    let readme = fs::read_to_string(root().join("README.md")).expect("a README");
    for exit in puzzled_service::Exit::ALL {
        let row = format!("| {} | {}", exit.code(), exit.meaning());
        assert!(readme.contains(&row), "README.md lacks: {row}");
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The binary, in a folder of its own and without the settings of whoever runs the tests.
fn puzzled(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_puzzled"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PUZZLED_")) {
        command.env_remove(name);
    }
    command.current_dir(folder).stdin(Stdio::null());
    command
}

fn told(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Asks until there is an answer.
fn poll<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "still waiting for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A process that does not outlive its test.
struct Process(Child);

impl Process {
    fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Its exit code; `None` when a signal ended it.
    fn ended(&mut self) -> Option<i32> {
        poll("the end of a process", || self.0.try_wait().expect("a child can be waited for")).code()
    }

    /// The first line of its piped output that has `text`.
    fn line_with(&mut self, text: &str) -> String {
        let stream: &mut dyn Read = match (&mut self.0.stderr, &mut self.0.stdout) {
            (Some(stderr), _) => stderr,
            (None, Some(stdout)) => stdout,
            (None, None) => panic!("no output is piped"),
        };
        // Byte by byte: a buffer would swallow what comes after the line.
        let mut line = Vec::new();
        loop {
            let mut byte = [0];
            assert_eq!(
                stream.read(&mut byte).expect("output is readable"),
                1,
                "it ended without saying {text:?}"
            );
            match byte[0] {
                b'\n' if String::from_utf8_lossy(&line).contains(text) => {
                    return String::from_utf8_lossy(&line).into_owned();
                }
                b'\n' => line.clear(),
                byte => line.push(byte),
            }
        }
    }

    /// All it said on stderr, after its end.
    fn stderr(&mut self) -> String {
        let mut text = String::new();
        self.0.stderr.take().expect("stderr is piped").read_to_string(&mut text).expect("text");
        text
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Ended already is as good.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A running `puzzled up`, whose private folder lies in `folder`.
struct Up {
    process: Process,
    folder: TempDir,
    work: TempDir,
    address: String,
    url: String,
}

impl Up {
    fn start(arguments: &[&str]) -> Self {
        let (folder, work) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
        let mut command = puzzled(work.path());
        command.args(["up", "--listen", "127.0.0.1:0"]).args(arguments).env("TMPDIR", folder.path());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Process(command.spawn().expect("puzzled starts"));
        let stdout = process.0.stdout.take().expect("stdout is piped");
        let (mut address, mut url) = (None, None);
        for line in BufReader::new(stdout).lines() {
            let line = line.expect("text");
            let after = |mark: &str| line.split(mark).nth(1).map(str::to_owned);
            address = address
                .or(after("http://").map(|rest| rest.split('/').next().unwrap_or_default().to_owned()));
            url = url.or(after("export PUZZLED_REDIS__URL="));
            if let (Some(address), Some(url)) = (&address, &url) {
                return Self { process, folder, work, address: address.clone(), url: url.clone() };
            }
        }
        panic!("up did not start: {}", process.stderr());
    }

    fn pid(&self) -> u32 {
        self.process.pid()
    }

    fn puzzled(&self, arguments: &[&str]) -> Output {
        let mut command = puzzled(self.work.path());
        command.args(["--redis", &self.url]).args(arguments).output().expect("puzzled starts")
    }

    fn snapshot(&self) -> Value {
        serde_json::from_str(&get(&self.address, "/api/snapshot")).expect("a snapshot is JSON")
    }

    fn snapshot_with_workers(&self, count: u64) -> Value {
        poll("workers", || {
            let snapshot = self.snapshot();
            (snapshot["totals"]["workers"].as_u64() == Some(count)).then_some(snapshot)
        })
    }
}

/// A server of this test's own, with an append-only file.
struct Server {
    runtime: tokio::runtime::Runtime,
    server: Option<LocalServer>,
    folder: TempDir,
    url: String,
}

impl Server {
    fn start() -> Self {
        let folder = TempDir::new().expect("temporary folder");
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let data = Some(folder.path().join("data"));
        let server =
            runtime.block_on(LocalServer::start(&ServerOptions { data, ..ServerOptions::default() }));
        let server = server.expect("a server starts");
        Self { runtime, url: server.url().to_owned(), server: Some(server), folder }
    }

    fn url(&self) -> &str {
        &self.url
    }

    fn puzzled(&self) -> Command {
        let mut command = puzzled(self.folder.path());
        command.env("PUZZLED_REDIS__URL", self.url());
        command
    }

    fn set(&self, key: &str, value: &str) {
        let client = redis::Client::open(self.url()).expect("a URL");
        let mut connection = client.get_connection().expect("a connection");
        redis::cmd("CONFIG").arg("SET").arg(key).arg(value).exec(&mut connection).expect("CONFIG SET");
    }

    fn stop(&mut self) {
        let server = self.server.take().expect("it runs");
        self.runtime.block_on(server.stop()).expect("it stops");
    }
}

/// The body of an answer.
fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("the port is open");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("a request can be sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer is text");
    answer.split_once("\r\n\r\n").expect("an answer has a body").1.to_owned()
}

fn signal(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process id");
    kill_process(pid, signal).expect("a process can be signalled");
}

/// A process as /proc shows it. The start time tells it from a later one with the same number.
#[derive(Debug, Clone)]
struct Seen {
    pid: u32,
    parent: u32,
    started: String,
    line: String,
}

/// Every process that lives: one that has ended and is not yet buried by its parent does not count.
fn processes() -> HashMap<u32, Seen> {
    let mut all = HashMap::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let read = |file: &str| fs::read_to_string(entry.path().join(file)).unwrap_or_default();
        let stat = read("stat");
        let Some((_, fields)) = stat.rsplit_once(") ") else { continue };
        let fields: Vec<&str> = fields.split(' ').collect();
        let (Some(&state), Some(Ok(parent)), Some(started)) =
            (fields.first(), fields.get(1).map(|parent| parent.parse()), fields.get(19))
        else {
            continue;
        };
        if state != "Z" && state != "X" {
            let line = read("cmdline").replace('\0', " ");
            all.insert(pid, Seen { pid, parent, started: (*started).to_owned(), line });
        }
    }
    all
}

fn descendants(ancestor: u32) -> Vec<Seen> {
    let all = processes();
    let below = |mut pid: u32| {
        while let Some(process) = all.get(&pid) {
            if process.parent == ancestor {
                return true;
            }
            pid = process.parent;
        }
        false
    };
    all.values().filter(|process| below(process.pid)).cloned().collect()
}

fn gone(family: &[Seen]) {
    poll("the end of all children", || {
        let all = processes();
        let lives = |seen: &&Seen| all.get(&seen.pid).is_some_and(|now| now.started == seen.started);
        family.iter().find(lives).is_none().then_some(())
    });
}

/// Prometheus' own opinion of our metrics. CI has promtool; elsewhere it is used when it is there.
fn check_metrics(text: &str) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let promtool: Option<PathBuf> =
        std::env::split_paths(&path).map(|folder| folder.join("promtool")).find(|file| file.is_file());
    let Some(promtool) = promtool else {
        assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "CI needs promtool on PATH");
        return;
    };
    let mut check = Command::new(promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool starts");
    check.stdin.take().expect("stdin is piped").write_all(text.as_bytes()).expect("promtool reads");
    let output = check.wait_with_output().expect("promtool ends");
    assert!(output.status.success() && told(&output).trim().is_empty(), "promtool: {}", told(&output));
}
