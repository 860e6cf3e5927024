//! `puzzled cancel`: ends a batch at once.

use clap::Args;
use puzzled_queue::BatchName;

use crate::failure::Failure;
use crate::settings::Settings;
use crate::terminal;

/// Flags of `puzzled cancel`.
#[derive(Args, Debug)]
#[command(
    after_help = "Jobs without an outcome are recorded as cancelled; outcomes that are there stay readable."
)]
pub(crate) struct CancelArgs {
    /// The batch: its id, or enough of its beginning.
    #[arg(value_name = "BATCH")]
    batch: BatchName,
}

/// Cancels it and prints how many jobs that was.
pub(crate) async fn run(settings: &Settings, args: &CancelArgs) -> Result<(), Failure> {
    let queue = super::connect(settings).await?;
    let jobs = queue.cancel(queue.find(&args.batch).await?).await?;
    terminal::print(&format!("{jobs} jobs cancelled\n"))
}
