//! `puzzled watch`: a progress bar for a batch.

use std::time::Duration;

use clap::Args;
use puzzled_producer::Progress;
use puzzled_queue::{BatchName, BatchStatus};
use puzzled_solver::OutcomeKind;

use crate::failure::Failure;
use crate::settings::Settings;
use crate::terminal::{self, Display};

/// Between two looks: often enough for the eye, nothing for Redis.
const PAUSE: Duration = Duration::from_millis(200);

/// Flags of `puzzled watch`.
#[derive(Args, Debug)]
#[command(after_help = "Ends with the batch. When standard error is no terminal: one line, at the end.")]
pub(crate) struct WatchArgs {
    /// The batch: its id, or enough of its beginning.
    #[arg(value_name = "BATCH")]
    batch: BatchName,
}

/// Watches until every job has its outcome.
pub(crate) async fn run(settings: &Settings, args: &WatchArgs) -> Result<(), Failure> {
    let queue = super::connect(settings).await?;
    let batch = queue.find(&args.batch).await?;
    let patience = Duration::from_secs(settings.redis.patience_s);
    let display = Display::new("", false, false);
    let mut status = queue.status(batch).await?;
    if !is_over(&status) {
        super::pause::warn(&queue, status.task.kind()).await?;
    }
    let mut failing_since = None;
    while !is_over(&status) {
        display.progress(Progress {
            read: status.submitted,
            expected: status.submitted,
            done: status.recorded,
            input_over: status.closed,
        });
        tokio::time::sleep(PAUSE).await;
        match queue.status(batch).await {
            Ok(fresh) => (status, failing_since) = (fresh, None),
            Err(error) => {
                let since = *failing_since.get_or_insert_with(std::time::Instant::now);
                if !error.is_transient() || since.elapsed() >= patience {
                    display.finish();
                    return Err(error.into());
                }
            }
        }
    }
    display.finish();
    let elapsed = Duration::from_millis(status.finished_ms.saturating_sub(status.created_ms));
    terminal::say(&terminal::summary(&status.outcomes, elapsed));
    terminal::verdict(&status.outcomes, status.cancelled)
}

/// Every job has its outcome and none will come. A cancelled batch may have been empty.
fn is_over(status: &BatchStatus) -> bool {
    status.finished() || status.cancelled && status.outcome(OutcomeKind::Cancelled) > 0
}
