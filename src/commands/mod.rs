//! One file a subcommand: flags, wiring, nothing else.

pub(crate) mod bench;
pub(crate) mod worker;

use prometheus::Registry;
use puzzled_queue::{Operation, Queue};
use puzzled_service::Exit;
use puzzled_service::metrics::RedisMetrics;

use crate::failure::Failure;
use crate::settings::Settings;

/// Connects to the configured Redis.
pub(crate) async fn connect(settings: &Settings) -> Result<Queue, Failure> {
    connect_with(settings, None).await
}

/// Connects, and registers what it counts of Redis when a role has a registry.
pub(crate) async fn connect_with(settings: &Settings, registry: Option<&Registry>) -> Result<Queue, Failure> {
    if !settings.redis.is_configured() {
        return Err(Failure::new(
            Exit::Usage,
            "no Redis is configured. Start one with `puzzled up`, or say where yours is: \
             --redis redis://127.0.0.1:6379, PUZZLED_REDIS__URL, or url in section [redis] of puzzled.toml",
        ));
    }
    let metrics = registry.map(|registry| RedisMetrics::register(registry, &Operation::NAMES)).transpose()?;
    Ok(Queue::connect_with(&settings.redis, metrics).await?)
}
