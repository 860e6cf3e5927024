//! Processes of ours for the tests, ended with them. Redis itself: see `servers.rs`.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use puzzled_queue::{Config, Queue};

use crate::servers::poll;

/// The lease that processes started here go by.
pub(crate) const LEASE_MS: u64 = 1_000;

/// A process of ours that is killed with the test.
pub(crate) struct Ours(pub(crate) Child);

impl Ours {
    /// Starts a command in a folder, with its Redis at `url`.
    pub(crate) fn start(folder: &Path, url: &str, arguments: &[&str]) -> Self {
        let child = Self::command(folder, url, arguments).stdout(Stdio::null()).spawn();
        Self(child.expect("puzzled starts"))
    }

    /// Runs a command to its end.
    pub(crate) fn output(folder: &Path, url: &str, arguments: &[&str]) -> Output {
        Self::command(folder, url, arguments).output().expect("puzzled starts")
    }

    pub(crate) fn command(folder: &Path, url: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_puzzled"));
        command
            .current_dir(folder)
            .env("PUZZLED_REDIS__URL", url)
            .env("PUZZLED_REDIS__LEASE_MS", LEASE_MS.to_string())
            .env("PUZZLED_REDIS__CONNECT_TIMEOUT_MS", "1000")
            .args(arguments)
            .stdin(Stdio::null());
        command
    }

    /// A worker of one thread.
    pub(crate) fn worker(folder: &Path, url: &str, shards: u16) -> Self {
        let shards = format!("redis.shards={shards}");
        let arguments =
            ["worker", "--threads", "1", "--listen", "", "--set", "log.level=error", "--set", &shards];
        Self::start(folder, url, &arguments)
    }

    pub(crate) fn kill(&mut self) {
        self.0.kill().expect("SIGKILL");
        self.0.wait().expect("it ends");
    }

    /// Its exit code, once it has ended by itself.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        let status = poll("the end of a process", || self.0.try_wait().expect("wait"));
        status.code()
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
