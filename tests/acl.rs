//! Every role under exactly the rules of docs/operations.md: real processes do real work and are denied nothing; what
//! the rules leave out is denied.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output};

use puzzled_queue::{Config, Queue};
use puzzled_service::Url;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::servers::{Server, poll};
use crate::support::Ours;

/// The lines of the page: the user's name, and the words behind it.
fn rules() -> Vec<(String, Vec<String>)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operations.md");
    let page = fs::read_to_string(page).expect("the page");
    page.lines()
        .filter_map(|line| line.strip_prefix("ACL SETUSER "))
        .map(|line| {
            let mut words = line.split(' ').map(str::to_owned);
            (words.next().expect("a name"), words.collect())
        })
        .collect()
}

fn password(role: &str) -> String {
    format!("{}-PASSWORD", role.to_uppercase())
}

struct Bed {
    server: Server,
    folder: TempDir,
}

impl Bed {
    fn start() -> Self {
        let server = Server::start(&[]);
        for (user, words) in rules() {
            let mut command = vec!["ACL", "SETUSER", &user];
            command.extend(words.iter().map(String::as_str));
            server.command(&command);
        }
        Self { server, folder: TempDir::new().expect("temporary folder") }
    }

    fn url(&self, role: &str) -> String {
        format!("redis://puzzled-{role}:{}@{}", password(role), self.server.address())
    }

    fn config(&self, role: &str) -> Config {
        Config { url: Url::new(self.url(role)), ..Config::default() }
    }

    fn worker(&self) -> Ours {
        let fast = ["worker.sweep_s=1", "shutdown.grace_ms=0", "log.level=error"];
        let mut arguments = vec!["worker", "--threads", "1", "--listen", "", "--kinds", "sudoku,echo"];
        arguments.extend(fast.iter().flat_map(|setting| ["--set", setting]));
        Ours::start(self.folder.path(), &self.url("worker"), &arguments)
    }

    fn producer(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_puzzled"))
            .current_dir(self.folder.path())
            .env("PUZZLED_REDIS__URL", self.url("producer"))
            .args(arguments)
            .output()
            .expect("puzzled starts")
    }

    fn produced(&self, arguments: &[&str]) -> String {
        let output = self.producer(arguments);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {told}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// What was denied so far: user, command, key or channel, and where from.
    fn denied(&self) -> Vec<String> {
        let entries: Vec<redis::Value> =
            redis::from_redis_value(self.server.command(&["ACL", "LOG"])).expect("entries");
        entries.iter().map(|entry| format!("{entry:?}")).collect()
    }

    /// A command as a role: whether the rules let it through.
    fn is_allowed(&self, role: &str, words: &[&str]) -> bool {
        let client = redis::Client::open(self.url(role)).expect("a client");
        let mut connection = client.get_connection().expect("a connection");
        let answer: redis::RedisResult<redis::Value> =
            redis::cmd(words[0]).arg(&words[1..]).query(&mut connection);
        // Inside a script servers say it each in their own words.
        !answer.is_err_and(|error| {
            let said = error.to_string();
            error.code() == Some("NOPERM")
                || ["user executing the script", "ACL failure"].iter().any(|words| said.contains(words))
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_role_works_under_the_rules_of_the_page() {
    let bed = Bed::start();
    let data = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sudoku17.txt"));
    let data = data.expect("shipped data");
    fs::write(bed.folder.path().join("many.txt"), &data).expect("a file");
    let few: Vec<&str> = data.lines().take(3).collect();
    fs::write(bed.folder.path().join("few.txt"), few.join("\n")).expect("a file");

    // The dashboard comes first, when nothing is set up and it may not do so.
    let arguments = ["dashboard", "--listen", "127.0.0.1:0", "--set", "log.level=info"];
    let log = fs::File::create(bed.folder.path().join("dashboard.log")).expect("a file");
    let dashboard = Command::new(env!("CARGO_BIN_EXE_puzzled"))
        .current_dir(bed.folder.path())
        .env("PUZZLED_REDIS__URL", bed.url("dashboard"))
        .args(arguments)
        .stderr(log)
        .spawn()
        .expect("puzzled starts");
    let _dashboard = Ours(dashboard);
    let address = poll("the dashboard's address", || {
        let log = fs::read_to_string(bed.folder.path().join("dashboard.log")).unwrap_or_default();
        let found = log.split(" address=127.0.0.1:").nth(1)?;
        let port: String = found.chars().take_while(char::is_ascii_digit).collect();
        port.parse::<u16>().ok()
    });
    poll("a snapshot", || snapshot(address).contains("\"stale\":null").then_some(()));
    assert!(bed.denied().iter().all(|entry| entry.contains("hsetnx")), "{:?}", bed.denied());
    bed.server.command(&["ACL", "LOG", "RESET"]);

    // Work is claimed, a worker dies over it, another takes it over.
    let queue = Queue::connect(&bed.config("producer")).await.expect("a connection");
    let id = bed.produced(&["submit", "many.txt"]).trim().to_owned();
    let batch = id.parse().expect("an id");
    let mut dies = bed.worker();
    while queue.status(batch).await.expect("an answer").running() == 0 {
        assert!(!queue.status(batch).await.expect("an answer").finished(), "too fast to die over");
    }
    dies.0.kill().expect("SIGKILL");
    let mut worker = bed.worker();
    assert_eq!(bed.produced(&["results", &id, "--follow"]).lines().count(), data.lines().count());
    assert_eq!(bed.produced(&["get", &format!("{id}.40000")]).trim().len(), 81);
    assert_eq!(bed.produced(&["solve", "few.txt"]).lines().count(), 3);
    bed.produced(&["status", &id]);
    bed.produced(&["watch", &id]);
    bed.produced(&["batches"]);
    // A job that fails leaves a letter.
    fs::write(bed.folder.path().join("bad.txt"), "panic").expect("a file");
    let id = bed.produced(&["submit", "bad.txt", "--task", "echo.fault"]).trim().to_owned();
    bed.producer(&["watch", &id]);
    bed.produced(&["dead", "list"]);
    // The dashboard's user sees how the queue does.
    let looking = Queue::connect(&bed.config("dashboard")).await.expect("a connection");
    let vitals = looking.vitals().await.expect("vitals");
    assert_eq!((vitals.dead_letters, vitals.dead_letters_recent), (1, 1));
    assert!(vitals.alive().any(|worker| worker.kinds == ["sudoku", "echo"]), "{:?}", vitals.workers);
    bed.produced(&["dead", "show", &format!("{id}.0")]);
    let id = bed.produced(&["dead", "retry", "--all"]).split_whitespace().next().expect("an id").to_owned();
    bed.producer(&["watch", &id]);
    bed.produced(&["dead", "drop", "--all"]);
    // Who listens for long subscribes now and then, and leaves again.
    let mut follow = queue.follow(batch, 0).await.expect("an answer");
    follow.listen().await.expect("a subscription");
    drop(follow);
    poll("the end of the subscription", || {
        bed.server.text(&["INFO", "commandstats"]).contains("cmdstat_unsubscribe:").then_some(())
    });
    // Told to go, a worker hands back what it holds; the rest is cancelled.
    let id = bed.produced(&["submit", "many.txt"]).trim().to_owned();
    let batch = id.parse().expect("an id");
    while queue.status(batch).await.expect("an answer").running() == 0 {}
    let pid = Pid::from_raw(i32::try_from(worker.0.id()).expect("a pid")).expect("a pid");
    kill_process(pid, Signal::TERM).expect("SIGTERM");
    assert_eq!(worker.ended(), Some(0));
    bed.producer(&["cancel", &id]);
    let mut worker = bed.worker();
    // Unwanted chunks are dropped, and expired batches swept.
    let id = bed.produced(&["submit", "few.txt", "--set", "redis.retention_s=1"]).trim().to_owned();
    poll("the sweep of an expired batch", || {
        let score = bed.server.command(&["ZSCORE", "{puzzled:0}:batches", &id]);
        (score == redis::Value::Nil).then_some(())
    });
    poll("the end of the unwanted", || {
        let left = bed.server.command(&["XLEN", "{puzzled:0}:stream:sudoku:normal"]);
        (left == redis::Value::Int(0)).then_some(())
    });
    assert!(snapshot(address).contains("\"stale\":null"));
    let pid = Pid::from_raw(i32::try_from(worker.0.id()).expect("a pid")).expect("a pid");
    kill_process(pid, Signal::TERM).expect("SIGTERM");
    assert_eq!(worker.ended(), Some(0));
    assert_eq!(bed.denied(), Vec::<String>::new());

    // What the page grants is used by somebody; a cluster's two are for a cluster.
    let used = bed.server.text(&["INFO", "commandstats"]).to_lowercase();
    let granted: BTreeSet<String> = rules()
        .into_iter()
        .flat_map(|(_, words)| words)
        .filter_map(|word| word.strip_prefix('+').map(str::to_owned))
        .filter(|command| !command.starts_with("cluster|"))
        .collect();
    let idle: Vec<&String> =
        granted.iter().filter(|command| !used.contains(&format!("cmdstat_{command}:"))).collect();
    assert!(idle.is_empty(), "granted in docs/operations.md and used by nobody here: {idle:?}");
}

fn snapshot(port: u16) -> String {
    let mut text = String::new();
    let read = TcpStream::connect(("127.0.0.1", port)).and_then(|mut stream| {
        stream.write_all(b"GET /api/snapshot HTTP/1.0\r\n\r\n")?;
        stream.read_to_string(&mut text)
    });
    match read {
        Ok(_) => text,
        Err(_) => String::new(),
    }
}

#[test]
fn what_the_rules_leave_out_is_denied() {
    let bed = Bed::start();
    let stream = "{puzzled:0}:stream:sudoku:normal";
    bed.server.command(&["XADD", stream, "*", "b", "x"]);
    for role in ["worker", "producer", "dashboard"] {
        for words in [
            &["FLUSHALL"][..],
            &["FLUSHDB"],
            &["KEYS", "*"],
            &["SCAN", "0"],
            &["CONFIG", "GET", "*"],
            &["CONFIG", "SET", "maxmemory", "1"],
            &["ACL", "LIST"],
            &["ACL", "SETUSER", "me", "on", "nopass", "+@all"],
            &["CLIENT", "LIST"],
            &["CLIENT", "KILL", "TYPE", "normal"],
            &["MONITOR"],
            &["REPLICAOF", "NO", "ONE"],
            &["CLUSTER", "RESET"],
            &["SCRIPT", "FLUSH"],
            &["FUNCTION", "FLUSH"],
            &["XTRIM", stream, "MAXLEN", "0"],
            &["DEL", stream],
            &["GET", "{puzzled:0}:x"],
            &["HMGET", "other", "x"],
            &["HMGET", "{other:0}:meta", "x"],
            &["HSET", "{other:0}:meta", "x", "1"],
            &["SUBSCRIBE", "other"],
            &["PUBLISH", "other", "x"],
            &["PSUBSCRIBE", "*"],
            // A script has its caller's rights.
            &["EVAL", "return redis.call('FLUSHALL')", "0"],
            &["EVAL", "return redis.call('HSET', 'other', 'x', '1')", "0"],
        ] {
            assert!(!bed.is_allowed(role, words), "puzzled-{role} may {words:?}");
        }
        assert!(bed.is_allowed(role, &["HMGET", "{puzzled:0}:meta", "shards"]));
    }
    for words in [
        &["HSET", "{puzzled:0}:meta", "shards", "7"][..],
        &["HDEL", "{puzzled:0}:workers", "w"],
        &["XADD", stream, "*", "b", "x"],
        &["XDEL", stream, "0-1"],
        &["UNLINK", stream],
        &["SUBSCRIBE", "{puzzled:0}:notice:x"],
        &["EVAL", "return 1", "0"],
    ] {
        assert!(!bed.is_allowed("dashboard", words), "the dashboard may {words:?}");
    }
    for role in ["worker", "producer"] {
        assert!(!bed.is_allowed(role, &["INFO"]), "puzzled-{role} may ask how the server is");
    }
    for words in [
        &["XREADGROUP", "GROUP", "workers", "w", "STREAMS", stream, ">"][..],
        &["XGROUP", "DESTROY", stream, "workers"],
        &["XACK", stream, "workers", "0-1"],
    ] {
        assert!(!bed.is_allowed("producer", words), "the producer may {words:?}");
    }
    for words in [&["XGROUP", "DESTROY", stream, "workers"][..], &["XGROUP", "SETID", stream, "workers", "$"]]
    {
        assert!(!bed.is_allowed("worker", words), "the worker may {words:?}");
    }
    assert_eq!(bed.server.command(&["XLEN", stream]), redis::Value::Int(1));
}
