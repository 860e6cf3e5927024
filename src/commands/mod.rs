//! One file a subcommand: flags, wiring, nothing else.

pub(crate) mod bench;
pub(crate) mod config;
pub(crate) mod dashboard;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod guard;
pub(crate) mod up;
pub(crate) mod worker;

use std::io::{self, Write};

use prometheus::Registry;
use puzzled_queue::{Operation, Queue};
use puzzled_service::Exit;
use puzzled_service::metrics::RedisMetrics;
use puzzled_service::settings::{Loaded, Origin};

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
    matches!(command, Command::Up(_) | Command::Demo(_) | Command::Doctor(_) | Command::Config(_))
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
