//! `puzzled cancel`: ends a batch at once.

use clap::Args;
use puzzled_queue::BatchId;

use crate::failure::Failure;
use crate::settings::Settings;
use crate::terminal;

/// Flags of `puzzled cancel`.
#[derive(Args, Debug)]
#[command(
    after_help = "Jobs without an outcome are recorded as cancelled; outcomes that are there stay readable."
)]
pub(crate) struct CancelArgs {
    /// The batch.
    #[arg(value_name = "BATCH")]
    batch: BatchId,
}

/// Cancels it and prints how many jobs that was.
pub(crate) async fn run(settings: &Settings, args: &CancelArgs) -> Result<(), Failure> {
    let jobs = super::connect(settings).await?.cancel(args.batch).await?;
    terminal::print(&format!("{jobs} jobs cancelled\n"))
}
