//! Real Redis servers and processes of ours for the tests, ended with them.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use puzzled_queue::{Config, Queue};
use tempfile::TempDir;

/// The lease that processes started here go by.
pub(crate) const LEASE_MS: u64 = 1_000;

/// A Redis with an append-only file that can die and come back.
pub(crate) struct Redis {
    pub(crate) folder: TempDir,
    pub(crate) process: Child,
}

impl Redis {
    pub(crate) fn start() -> Self {
        let folder = TempDir::new().expect("temporary folder");
        let process = Self::spawn(folder.path());
        Self { folder, process }
    }

    fn spawn(folder: &Path) -> Child {
        let program =
            puzzled_service::programs::find(&["redis-server", "valkey-server"]).expect("a server on PATH");
        let socket = folder.join("redis.sock");
        Command::new(program)
            .args(["--port", "0", "--appendonly", "yes", "--save", "", "--unixsocket"])
            .arg(&socket)
            .arg("--dir")
            .arg(folder)
            .stdout(Stdio::null())
            .spawn()
            .expect("the server starts")
    }

    pub(crate) fn url(&self) -> String {
        format!("redis+unix://{}", self.folder.path().join("redis.sock").display())
    }

    pub(crate) fn kill_and_start_again(&mut self) {
        self.process.kill().expect("SIGKILL");
        self.process.wait().expect("it ends");
        self.process = Self::spawn(self.folder.path());
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// A process of ours that is killed with the test.
pub(crate) struct Ours(pub(crate) Child);

impl Ours {
    pub(crate) fn start(redis: &Redis, arguments: &[&str]) -> Self {
        let child = Self::command(redis, arguments).spawn().expect("puzzled starts");
        Self(child)
    }

    /// Runs a command to its end.
    pub(crate) fn output(redis: &Redis, arguments: &[&str]) -> Output {
        Self::command(redis, arguments).output().expect("puzzled starts")
    }

    fn command(redis: &Redis, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_puzzled"));
        command
            .current_dir(redis.folder.path())
            .args(["--redis", &redis.url(), "--set", &format!("redis.lease_ms={LEASE_MS}")])
            .args(arguments)
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn worker(redis: &Redis) -> Self {
        Self::start(redis, &["worker", "--threads", "1", "--listen", "", "--set", "log.level=error"])
    }

    pub(crate) fn kill(&mut self) {
        self.0.kill().expect("SIGKILL");
        self.0.wait().expect("it ends");
    }

    /// Resident memory in kB.
    pub(crate) fn rss_kb(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
        line.split_whitespace().nth(1).and_then(|kb| kb.parse().ok()).unwrap_or(0)
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

pub(crate) async fn connect(config: &Config) -> Queue {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        match Queue::connect(config).await {
            Ok(queue) => return queue,
            Err(error) => assert!(error.is_transient() && Instant::now() < deadline, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
