//! What a measurement needs around it: a private server, workers, and the CPU time of each process.

use std::process::Stdio;
use std::time::Duration;

use puzzled_queue::{LocalServer, Queue, ServerOptions};
use puzzled_service::{Exit, Url};
use tokio::process::{Child, Command};

use crate::failure::Failure;

/// A private Redis with workers, for as long as it lives.
pub(crate) struct Rig {
    pub(crate) server: LocalServer,
    pub(crate) queue: Queue,
    workers: Vec<Child>,
}

impl Rig {
    /// Starts them all, the workers sharing the cores, and waits until the workers have announced themselves.
    pub(crate) async fn start(kinds: &str, workers: usize) -> Result<Self, Failure> {
        let server = LocalServer::start(&ServerOptions::default()).await?;
        let config = puzzled_queue::Config { url: Url::new(server.url()), ..Default::default() };
        let queue = Queue::connect(&config).await?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = format!("worker.threads={}", (cores / workers.max(1)).max(1));
        let start = |_| {
            let arguments =
                ["worker", "--kinds", kinds, "--listen", "", "--set", "log.level=warn", "--set", &threads];
            ourselves(server.url(), &arguments)?
                .spawn()
                .map_err(|e| Failure::new(Exit::Internal, format!("cannot start a worker: {e}")))
        };
        let workers = (0..workers.max(1)).map(start).collect::<Result<_, _>>()?;
        let mut rig = Self { server, queue, workers };
        while rig.queue.workers().await?.len() < rig.workers.len() {
            for worker in &mut rig.workers {
                if let Ok(Some(status)) = worker.try_wait() {
                    return Err(Failure::new(Exit::Internal, format!("a worker ended with {status}")));
                }
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(rig)
    }

    /// CPU time so far of the server and of the workers.
    pub(crate) fn cpu(&self) -> (Duration, Duration) {
        (cpu_of(self.server.pid()), self.workers.iter().map(|worker| cpu_of(worker.id())).sum())
    }
}

/// This program with other arguments, against this server; killed when dropped.
pub(crate) fn ourselves(url: &str, arguments: &[&str]) -> Result<Command, Failure> {
    let program = std::env::current_exe()
        .map_err(|e| Failure::new(Exit::Internal, format!("cannot find this program: {e}")))?;
    let mut command = Command::new(program);
    command.arg("--redis").arg(url).args(arguments).stdin(Stdio::null()).kill_on_drop(true);
    Ok(command)
}

/// CPU time of a process, zero where /proc does not tell.
pub(crate) fn cpu_of(pid: Option<u32>) -> Duration {
    pid.map_or(Duration::ZERO, |pid| cpu_fields(&format!("/proc/{pid}/stat"), 11))
}

/// CPU time of this process's children that have ended.
pub(crate) fn cpu_of_ended_children() -> Duration {
    cpu_fields("/proc/self/stat", 13)
}

/// CPU time of this process.
pub(crate) fn cpu_of_self() -> Duration {
    cpu_fields("/proc/self/stat", 11)
}

/// Sums two neighbouring fields, counted from behind the program's name, of a `stat` file in /proc (see proc(5)).
fn cpu_fields(path: &str, first: usize) -> Duration {
    // Linux reports in hundredths of a second to user space, whatever its own clock.
    const TICK: Duration = Duration::from_millis(10);
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks: u32 =
        fields.split_whitespace().skip(first).take(2).filter_map(|field| field.parse::<u32>().ok()).sum();
    TICK * ticks
}
