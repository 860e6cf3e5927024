//! `puzzled results`: prints a batch's outcomes in input order.

use std::time::Duration;

use clap::Args;
use puzzled_producer::{ResultsError, ResultsOptions};
use puzzled_queue::{BatchName, Error, Format, JobId};
use puzzled_service::Exit;

use crate::failure::Failure;
use crate::settings::Settings;
use crate::terminal::{self, Display};

/// Flags of `puzzled results`.
#[derive(Args, Debug)]
#[command(
    after_help = "Without --follow: what is there now, up to the first unfinished job; standard error tells how many \
                  are still to come. Reading changes nothing: read as often as you like.\n\n\
                  Examples:\n  \
                  puzzled results 01997e60-5bd0-7cc1-8d1e-3b1f0a2c4d5e --follow > answers.txt\n  \
                  puzzled results 01997e60-5bd0-7cc1-8d1e-3b1f0a2c4d5e --from 5000 --format csv"
)]
pub(crate) struct ResultsArgs {
    /// The batch: its id, or enough of its beginning.
    #[arg(value_name = "BATCH")]
    batch: BatchName,
    /// Index of the first job to print; the first line of a batch is 0.
    #[arg(long, default_value_t = 0, value_name = "N")]
    from: u64,
    /// Wait for what is not there yet, until the batch ends.
    #[arg(long)]
    follow: bool,
    /// text, ndjson or csv.
    #[arg(long, default_value_t)]
    format: Format,
}

/// Prints them. The exit code tells of a cancelled batch, and with `--follow`, which alone sees them all, of bad jobs.
pub(crate) async fn run(settings: &Settings, args: &ResultsArgs) -> Result<(), Failure> {
    let queue = super::connect(settings).await?;
    let batch = queue.find(&args.batch).await?;
    let display = Display::new("", false, true);
    let options = ResultsOptions {
        batch,
        from: args.from,
        follow: args.follow,
        format: args.format,
        patience: Duration::from_secs(settings.redis.patience_s),
    };
    let output = terminal::stdout_file()?;
    match puzzled_producer::results(&queue, &options, output, display.report()).await {
        Ok(end) if args.follow => terminal::verdict(&end.outcomes, end.cancelled),
        Ok(end) => {
            if end.cancelled {
                return terminal::verdict(&end.outcomes, true);
            }
            if args.from > end.submitted && !end.open {
                return Err(Error::NoJob(JobId { batch, index: args.from }).into());
            }
            let to_come = end.submitted.saturating_sub(end.next);
            if to_come > 0 || end.open {
                let open = if end.open { ", and the batch is still open" } else { "" };
                terminal::say(&format!(
                    "{to_come} jobs still to come{open}; go on with: puzzled results {} --from {}",
                    batch, end.next
                ));
            }
            Ok(())
        }
        Err(ResultsError::Queue(error)) => Err(error.into()),
        Err(ResultsError::Output { error, next }) => Err(Failure::new(
            Exit::Output,
            format!(
                "cannot write standard output after {} lines: {}. Results stay; go on with: puzzled results {} \
                 --from {next}{}",
                next - args.from,
                terminal::plain(&error),
                batch,
                terminal::perhaps_earlier(&error)
            ),
        )),
    }
}
