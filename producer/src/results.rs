//! `results`: writes what is there, in order, and follows the batch if asked to. Changes nothing on the queue.

use std::io::{self, Write};
use std::time::Duration;

use puzzled_queue::{BatchId, Error, Format, Formatter, Part, Queue};
use puzzled_solver::OutcomeKind;

use crate::events::Report;
use crate::outage::{Backoff, Outage, Party};
use crate::output::{Piece, Writer};

/// Where reading ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResultsEnd {
    /// Index of the first job that was not written.
    pub next: u64,
    /// Outcomes written, by kind.
    pub outcomes: [u64; OutcomeKind::ALL.len()],
    /// Jobs submitted. Those from `next` on are not written: unfinished, or behind an unfinished one.
    pub submitted: u64,
    /// Whether more jobs may still be submitted.
    pub open: bool,
    /// Whether the batch was cancelled.
    pub cancelled: bool,
}

/// Why results could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The queue failed.
    #[error(transparent)]
    Queue(#[from] Error),
    /// The output failed; the lines before job `next` are whole.
    #[error("{error}")]
    Output {
        /// What the system said.
        error: io::Error,
        /// Where to go on.
        next: u64,
    },
}

/// What to write.
#[derive(Clone, Debug)]
pub struct ResultsOptions {
    /// The batch.
    pub batch: BatchId,
    /// Index of the first job.
    pub from: u64,
    /// Whether to wait for what is not there yet.
    pub follow: bool,
    /// How outcomes are written.
    pub format: Format,
    /// How long to go on while Redis is away.
    pub patience: Duration,
}

/// Writes outcomes from job `from` on: with `follow` until the batch ends, else up to the first job that has none.
///
/// # Errors
/// See [`ResultsError`].
pub async fn results(
    queue: &Queue,
    options: &ResultsOptions,
    output: impl Write,
    report: Report,
) -> Result<ResultsEnd, ResultsError> {
    let outage = Outage::new(options.patience, report);
    let mut backoff = Backoff::new();
    let mut reader = queue.follow(options.batch, options.from).await?;
    let mut writer = Writer::new(output, Formatter::new(options.format, options.batch));
    let mut outcomes = [0; OutcomeKind::ALL.len()];
    loop {
        let answer = reader.next_ready().await;
        if let Ok(Some(Part { chunk, first, outcomes: list, .. })) = answer {
            outcomes.iter_mut().zip(list.counts()).for_each(|(sum, count)| *sum += u64::from(count));
            writer.format(&Piece { first, outcomes: list, payload: None, chunk });
            if writer.is_full() {
                writer.write().map_err(|error| broken(error, &writer, options))?;
            }
            continue;
        }
        // Before waiting, and before giving up.
        writer.write().map_err(|error| broken(error, &writer, options))?;
        match answer {
            Ok(_) if reader.at_end() || !options.follow => break,
            Ok(_) => {
                outage.worked(Party::Collector);
                backoff.reset();
                reader.wait().await;
            }
            Err(error) => {
                outage.failed(Party::Collector, error)?;
                tokio::time::sleep(backoff.next()).await;
            }
        }
    }
    let next = options.from + writer.jobs();
    let status = reader.status();
    Ok(ResultsEnd {
        next,
        outcomes,
        submitted: status.map_or(next, |status| status.submitted),
        open: status.is_some_and(|status| !status.closed),
        cancelled: status.is_some_and(|status| status.cancelled),
    })
}

fn broken<W: Write>(error: io::Error, writer: &Writer<W>, options: &ResultsOptions) -> ResultsError {
    ResultsError::Output { error, next: options.from + writer.jobs() }
}
