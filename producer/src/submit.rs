//! `submit`: puts a whole input on the queue and does not wait for outcomes.
//!
//! Payloads are kept for the newest `window_jobs` confirmed jobs, so that chunks which Redis forgets while the
//! submission lasts are sent again under the same batch id.

use std::sync::Arc;
use std::time::Duration;

use puzzled_queue::{Batch, Error, Existing, Opened, Queue};
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::events::{Event, Progress, Report};
use crate::input::{Input, InputError};
use crate::outage::Outage;
use crate::sender::{Kept, Sender, Stepped};
use crate::solve::tell_more;

/// How to submit.
#[derive(Clone, Debug)]
pub struct SubmitOptions {
    /// The batch, opened already ([`Queue::create`]).
    pub batch: Batch,
    /// Whether it was there before.
    pub opened: Opened,
    /// Chunks.
    pub config: Config,
    /// How long to go on while Redis is away.
    pub patience: Duration,
}

/// What was submitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Submitted {
    /// Jobs, all of them accepted.
    pub jobs: u64,
    /// Those that the batch held before.
    pub before: u64,
    /// Those whose line is no puzzle.
    pub bad: u64,
}

/// Why an input is not wholly submitted. Submitting it again under the same id goes on where this ended.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// The queue failed for good, or longer than patience lasts.
    #[error(transparent)]
    Queue(#[from] Error),
    /// The input failed in the middle. The batch is left open.
    #[error(transparent)]
    Input(InputError),
    /// Told to stop after so many jobs. The batch is left open.
    #[error("stopped after {0} jobs")]
    Stopped(u64),
    /// The batch, which existed before, was made of another input. Nothing of this one was added.
    #[error("it holds another input: {0}; choose another id")]
    Differs(Difference),
}

/// How an input differs from what a batch holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Difference {
    /// Somewhere in the jobs that the batch holds.
    #[error("its {0} jobs are not the first ones here")]
    Other(u64),
    /// It ends before the batch does.
    #[error("it has {held} jobs, there are only {jobs} here")]
    Shorter {
        /// Jobs of the batch.
        held: u64,
        /// Jobs of this input.
        jobs: u64,
    },
    /// It goes on where the batch is complete.
    #[error("it is complete with {0} jobs, there are more here")]
    Longer(u64),
}

/// Submits the rest of the input and closes the batch.
///
/// # Errors
/// See [`SubmitError`].
pub async fn submit(
    queue: Queue,
    options: SubmitOptions,
    input: Input,
    report: Report,
    stop: CancellationToken,
) -> Result<Submitted, SubmitError> {
    let SubmitOptions { mut batch, opened, mut config, patience } = options;
    let existing = match opened {
        Opened::New => Existing::default(),
        Opened::Existing(existing) => existing,
    };
    // Chunks are told apart by their numbers.
    if existing.chunk_jobs > 0 {
        (batch.chunk_jobs, config.chunk_jobs) = (existing.chunk_jobs, existing.chunk_jobs);
    }
    let window_jobs = u64::from(config.window_jobs);
    let kept = Arc::<Kept>::default();
    let outage = Arc::new(Outage::new(patience, report.clone()));
    // No lingering: the same input must be cut into the same chunks when it is submitted again.
    let mut cuts = input.read(&batch.task, &config, false);
    let batch = Arc::new(batch);
    let mut sender = Sender::new(queue.clone(), batch.clone(), kept.clone(), outage, report.clone());
    // What is there is compared, and not sent again.
    sender.go_on(existing.chunks);
    let (mut chunks, mut total_bad, mut progress) = (0, 0, Progress::default());
    while !sender.is_done() {
        let in_flight = progress.read - kept.confirmed_jobs();
        tokio::select! {
            biased;
            () = stop.cancelled() => return Err(SubmitError::Stopped(kept.confirmed_jobs())),
            stepped = sender.step() => match stepped? {
                Stepped::Confirmed => kept.shrink(window_jobs),
                Stepped::Waiting => {}
                Stepped::Lost(error) => {
                    let expected = if let Error::Gap { expected, .. } = error { expected } else { 0 };
                    if expected < kept.first() {
                        return Err(error.into());
                    }
                    queue.create(&batch).await?;
                    report(Event::SentAgain);
                    sender.go_on(expected);
                }
            },
            cut = cuts.recv(), if !progress.input_over && in_flight < window_jobs => {
                let cut = cut.unwrap_or_default();
                for payload in cut.chunks {
                    progress.read += u64::from(payload.jobs);
                    chunks += 1;
                    kept.push(payload);
                    if chunks == existing.chunks && existing.digest != Some(kept.digest()) {
                        return Err(SubmitError::Differs(Difference::Other(existing.jobs)));
                    }
                    if chunks > existing.chunks && existing.closed {
                        return Err(SubmitError::Differs(Difference::Longer(existing.jobs)));
                    }
                }
                if chunks <= existing.chunks {
                    kept.shrink(window_jobs);
                }
                progress.expected = cut.expected;
                cut.bad_lines.iter().for_each(|line| report(Event::BadLine(line)));
                match cut.end {
                    None => {}
                    Some(Err(error)) => return Err(SubmitError::Input(error)),
                    Some(Ok(bad)) => {
                        tell_more(&report, bad);
                        if chunks < existing.chunks {
                            let (held, jobs) = (existing.jobs, progress.read);
                            return Err(SubmitError::Differs(Difference::Shorter { held, jobs }));
                        }
                        (total_bad, progress.input_over, progress.expected) = (bad, true, progress.read);
                        sender.end(chunks);
                    }
                }
            }
        }
        progress.done = kept.confirmed_jobs();
        report(Event::Progress(progress));
    }
    Ok(Submitted { jobs: progress.read, before: existing.jobs, bad: total_bad })
}
