//! One file a subcommand: flags, wiring, nothing else.

pub(crate) mod batches;
pub(crate) mod bench;
pub(crate) mod cancel;
pub(crate) mod config;
pub(crate) mod dashboard;
pub(crate) mod dead;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod generate;
pub(crate) mod get;
pub(crate) mod guard;
pub(crate) mod pause;
pub(crate) mod results;
pub(crate) mod solve;
pub(crate) mod status;
pub(crate) mod submit;
pub(crate) mod up;
pub(crate) mod watch;
pub(crate) mod worker;

use std::io::{self, Write};

use prometheus::Registry;
use puzzled_producer::Input;
use puzzled_queue::{Operation, Queue};
use puzzled_service::metrics::RedisMetrics;
use puzzled_service::settings::{Loaded, Origin};
use puzzled_service::{Exit, Shutdown};
use puzzled_solver::Task;

use crate::cli::Command;
use crate::failure::Failure;
use crate::settings::Settings;

/// An error with the ways to name one, unless a Redis is configured.
pub(crate) fn require_redis(settings: &Settings) -> Result<(), Failure> {
    if !settings.redis.is_configured() {
        return Err(Failure::new(
            Exit::Usage,
            "no Redis is configured. Start one with `puzzled up`, or say where yours is: \
             --redis redis://127.0.0.1:6379, PUZZLED_REDIS__URL, or url in section [redis] of puzzled.toml",
        ));
    }
    Ok(())
}

/// Connects to the configured Redis.
pub(crate) async fn connect(settings: &Settings) -> Result<Queue, Failure> {
    connect_with(settings, None).await
}

/// Connects, and registers what it counts of Redis when a role has a registry.
pub(crate) async fn connect_with(settings: &Settings, registry: Option<&Registry>) -> Result<Queue, Failure> {
    require_redis(settings)?;
    let metrics = registry.map(|registry| RedisMetrics::register(registry, &Operation::NAMES)).transpose()?;
    Ok(Queue::connect_with(&settings.redis, metrics).await?)
}

/// Whether a command tells its own story on the terminal, so that only warnings are logged unless someone asks.
pub(crate) fn is_quiet(command: &Command) -> bool {
    !matches!(command, Command::Worker(_) | Command::Dashboard(_))
}

/// Whether nobody has set this.
pub(crate) fn is_default(loaded: &Loaded<Settings>, key: &str) -> bool {
    loaded.settings.iter().any(|setting| setting.key == key && setting.origin == Origin::Default)
}

/// Writes a text to standard output, at once and whole.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|e| Failure::new(Exit::Output, format!("cannot write to standard output: {e}")))
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
        Failure::new(Exit::Input, message)
    })
}

/// The producer's settings with chunks cut by what a job costs: as workers measured it, or about.
async fn cut(
    settings: &Settings,
    queue: Option<&Queue>,
    task: &Task,
) -> Result<puzzled_producer::Config, Failure> {
    let measured = match queue {
        Some(queue) => queue.cost(task).await?,
        None => None,
    };
    Ok(settings.producer.cut_for(measured.unwrap_or_else(|| task.typical_cost())))
}

/// The table of tasks and their options, for help texts.
fn tasks() -> String {
    let mut text = String::from("Tasks, as NAME or NAME:OPTION=VALUE,OPTION=VALUE:\n");
    for info in Task::table() {
        text += &format!("  {:<18} {}\n", info.task.name(), info.about);
        for option in &info.options {
            let setting = format!("{}={}", option.name, option.default);
            text += &format!("    {setting:<16} {} ({})\n", option.about, option.values);
        }
    }
    text + "Every task takes time_ms: ms a job may take before it ends as timed_out\n"
}

/// Takes SIGINT and SIGTERM over from the system.
fn on_signals(settings: &Settings) -> Result<Shutdown, Failure> {
    Shutdown::on_signals(settings.shutdown.grace())
        .map_err(|e| Failure::new(Exit::Internal, format!("cannot handle signals: {e}")))
}
