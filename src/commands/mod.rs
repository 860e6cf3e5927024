//! One file a subcommand: flags, wiring, nothing else.

pub(crate) mod batches;
pub(crate) mod cancel;
pub(crate) mod get;
pub(crate) mod results;
pub(crate) mod solve;
pub(crate) mod status;
pub(crate) mod submit;
pub(crate) mod watch;
pub(crate) mod worker;

use puzzled_producer::Input;
use puzzled_queue::Queue;
use puzzled_service::{Exit, Shutdown};
use puzzled_solver::Task;

use crate::failure::Failure;
use crate::settings::Settings;

/// Connects to the configured Redis.
pub(crate) async fn connect(settings: &Settings) -> Result<Queue, Failure> {
    if !settings.redis.is_configured() {
        return Err(Failure::new(
            Exit::Usage,
            "no Redis is configured. Start one with `puzzled up`, or say where yours is: \
             --redis redis://127.0.0.1:6379, PUZZLED_REDIS__URL, or url in section [redis] of puzzled.toml",
        ));
    }
    Ok(Queue::connect(&settings.redis).await?)
}

/// The task asked for, or the one the first line looks made for. An empty input is an error either way.
fn task(asked: Option<&Task>, input: &mut Input) -> Result<Task, Failure> {
    let guessed = input.guess_task()?;
    asked.cloned().or(guessed).ok_or_else(|| {
        let message = format!(
            "the first line of {} is no puzzle I know; say what it is with --task\n{}",
            input.name(),
            tasks()
        );
        Failure::new(Exit::Usage, message)
    })
}

/// The table of tasks, for help texts.
fn tasks() -> String {
    let rows: String =
        Task::table().map(|info| format!("  {:<26} {}\n", info.task.to_string(), info.about)).collect();
    format!("Tasks:\n{rows}")
}

/// Takes SIGINT and SIGTERM over from the system.
fn on_signals(settings: &Settings) -> Result<Shutdown, Failure> {
    Shutdown::on_signals(settings.shutdown.grace())
        .map_err(|e| Failure::new(Exit::Internal, format!("cannot handle signals: {e}")))
}
