//! Doing it again until it works, for everything that must not be lost to a passing fault.

use std::time::Duration;

use puzzled_queue::Error;
use tokio_util::sync::CancellationToken;

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LAST_PAUSE: Duration = Duration::from_secs(1);

/// Calls `operation` until it succeeds, fails for good, or `stop` is cancelled (then the last error comes back).
/// Says so once when trouble begins and once when it is over.
pub(crate) async fn retry<T, F, R>(what: &str, stop: &CancellationToken, mut operation: F) -> Result<T, Error>
where
    F: FnMut() -> R,
    R: Future<Output = Result<T, Error>>,
{
    let mut pause = FIRST_PAUSE;
    loop {
        let error = match operation().await {
            Ok(value) => {
                if pause > FIRST_PAUSE {
                    tracing::info!(what, "it works again");
                }
                return Ok(value);
            }
            Err(error) => error,
        };
        if !error.is_transient() || stop.is_cancelled() {
            return Err(error);
        }
        if pause == FIRST_PAUSE {
            tracing::warn!(what, %error, code = error.code(), "trying again until it works");
        }
        tokio::select! {
            () = stop.cancelled() => return Err(error),
            () = tokio::time::sleep(pause) => {}
        }
        pause = (pause * 2).min(LAST_PAUSE);
    }
}
