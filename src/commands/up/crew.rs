//! Worker processes on this machine: started, started again when they die, drained together.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use puzzled_queue::Queue;
use puzzled_service::settings::{FILE_VARIABLE, variable};
use puzzled_service::{Exit, Shutdown};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

use crate::cli::Cli;
use crate::failure::Failure;
use crate::settings::Settings;

/// Two, so that the death of one can be seen to cost nothing; their threads divide the cores, so more add nothing.
pub(crate) const WORKERS_DEFAULT: usize = 2;

/// Pause before the first new start of a worker that died; doubled for each further one, up to the next bound.
const PAUSE_MIN: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// A worker that lived this long died of something new: the pauses begin anew.
const HEALTHY: Duration = Duration::from_secs(60);

/// How long to wait for all workers to say that they are there.
const MUSTER: Duration = Duration::from_secs(20);

/// The command that ties a child's life to ours: see `guard.rs`.
pub(crate) fn guard() -> Result<Vec<OsString>, Failure> {
    let program = std::env::current_exe()
        .map_err(|e| Failure::new(Exit::Internal, format!("cannot find this very program: {e}")))?;
    Ok(vec![program.into_os_string(), "guard".into(), "--".into()])
}

/// How to start one worker.
struct Recipe {
    line: Vec<OsString>,
    environment: Vec<(String, OsString)>,
}

/// A number of workers.
pub(crate) struct Crew {
    keepers: JoinSet<()>,
    size: usize,
}

impl Crew {
    /// Starts `size` workers on the Redis of `settings`, each with its share of the cores.
    pub(crate) fn start(
        cli: &Cli,
        settings: &Settings,
        size: usize,
        shutdown: &Shutdown,
    ) -> Result<Self, Failure> {
        let mut keepers = JoinSet::new();
        for number in 1..=size {
            let recipe = recipe(cli, settings, size)?;
            keepers.spawn(keep(number, recipe, shutdown.clone()));
        }
        Ok(Self { keepers, size })
    }

    /// Solver threads of each worker.
    pub(crate) fn threads(settings: &Settings, size: usize) -> usize {
        match settings.worker.threads {
            0 => (settings.worker.thread_count() / size.max(1)).max(1),
            threads => threads,
        }
    }

    /// Waits until all workers have said that they are there, and gives how many have.
    pub(crate) async fn muster(&self, queue: &Queue) -> Result<usize, Failure> {
        let deadline = Instant::now() + MUSTER;
        loop {
            let present = queue.workers().await?.len();
            if present >= self.size || Instant::now() > deadline {
                return Ok(present);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until every worker has ended; they drain once the shutdown does.
    pub(crate) async fn ended(mut self) {
        while self.keepers.join_next().await.is_some() {}
    }
}

/// The Redis URL goes through the environment, since a command line is for all to see.
fn recipe(cli: &Cli, settings: &Settings, size: usize) -> Result<Recipe, Failure> {
    let mut line = guard()?;
    line.push(line[0].clone());
    line.push("worker".into());
    let ours = ["redis.url", "worker.threads", "worker.listen", "log.level"];
    for (key, value) in cli.sets().iter().filter(|(key, _)| !ours.contains(&key.as_str())) {
        line.extend(["--set".into(), format!("{key}={value}").into()]);
    }
    let mut environment: Vec<(String, OsString)> = vec![
        (variable("redis.url"), settings.redis.url.expose().into()),
        (variable("worker.threads"), Crew::threads(settings, size).to_string().into()),
        // A port for each; the log tells which.
        (variable("worker.listen"), "127.0.0.1:0".into()),
        (variable("log.level"), settings.log.level.clone().into()),
    ];
    environment.extend(
        cli.settings_file().map(|file| (FILE_VARIABLE.to_owned(), PathBuf::from(file).into_os_string())),
    );
    Ok(Recipe { line, environment })
}

/// Keeps one worker alive until the shutdown drains.
async fn keep(number: usize, recipe: Recipe, shutdown: Shutdown) {
    let (draining, mut pause) = (shutdown.draining(), PAUSE_MIN);
    while !draining.is_cancelled() {
        let started = Instant::now();
        let story = match spawn(&recipe) {
            Ok(child) => match attend(child, &shutdown).await {
                Ok(status) => format!("ended with {status}"),
                Err(error) => format!("cannot be waited for: {error}"),
            },
            Err(error) => format!("did not start: {error}"),
        };
        if draining.is_cancelled() {
            return;
        }
        if started.elapsed() > HEALTHY {
            pause = PAUSE_MIN;
        }
        tracing::warn!(
            worker = number,
            pause_ms = pause.as_millis() as u64,
            "a worker {story}; starting it again"
        );
        tokio::select! {
            () = draining.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

fn spawn(recipe: &Recipe) -> std::io::Result<Child> {
    Command::new(&recipe.line[0])
        .args(&recipe.line[1..])
        .envs(recipe.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        // Ctrl-C goes to a whole terminal group; we alone tell the workers when to drain.
        .process_group(0)
        .spawn()
}

/// Waits for the end of a worker. When the shutdown drains, it is told to as well.
async fn attend(mut child: Child, shutdown: &Shutdown) -> std::io::Result<ExitStatus> {
    // Waiting would close it, and with it the guard's leash.
    let leash = child.stdin.take();
    tokio::select! {
        ended = child.wait() => return ended,
        () = shutdown.draining().cancelled_owned() => {}
    }
    if let Some(pid) = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)
        && let Err(error) = kill_process(pid, Signal::TERM)
    {
        tracing::debug!(%error, "cannot tell a worker to drain");
    }
    tokio::select! {
        ended = child.wait() => return ended,
        () = shutdown.stopping_now().cancelled_owned() => {}
    }
    // The guard ends it: SIGTERM, the worker's second, then SIGKILL.
    drop(leash);
    child.wait().await
}
