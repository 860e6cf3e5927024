//! One file a subcommand: flags, wiring, nothing else.

pub(crate) mod worker;

use puzzled_queue::Queue;
use puzzled_service::Exit;

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
