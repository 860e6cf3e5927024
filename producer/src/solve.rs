//! `solve`: submit and collect at the same time, in bounded memory, in input order.
//!
//! ```text
//! input thread --cuts--> this loop --chunks--> queue --outcomes--> collector --pieces--> output thread
//!                           ^                                         |                       |
//!                           +------------- window: read - written <---+------ written --------+
//! ```
//! A chunk's payload is kept until its outcomes are here, so whatever Redis forgets of what it had confirmed can be
//! sent again. Outcomes stay in Redis until they are written, so a broken output loses nothing.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use puzzled_queue::{Batch, BatchId, Error, Format, Formatter};
use puzzled_solver::OutcomeKind;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::backend::{Backend, Results as _};
use crate::collector::{Collector, Ended, Tally};
use crate::config::Config;
use crate::events::{Event, Progress, Report};
use crate::input::{Cut, Input, InputError};
use crate::outage::{Backoff, Outage, Party};
use crate::output;
use crate::sender::{Kept, Sender, Stepped};

/// How long the last words to the queue (cancel, close) may take when the run ends early.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The batch to open.
    pub batch: Batch,
    /// Chunks and window.
    pub config: Config,
    /// How long to go on while Redis is away.
    pub patience: Duration,
    /// How outcomes are written.
    pub format: Format,
}

/// What a run came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary {
    /// The batch that holds the jobs; after a loss the newest one.
    pub batch: BatchId,
    /// Jobs written.
    pub jobs: u64,
    /// Those by outcome, in the order of [`OutcomeKind::ALL`].
    pub outcomes: [u64; OutcomeKind::ALL.len()],
    /// From open to end.
    pub elapsed: Duration,
    /// Somebody cancelled the batch: the rest of the input was not submitted.
    pub cancelled: bool,
}

/// Where a run stood when it ended early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stand {
    /// The batch.
    pub batch: BatchId,
    /// Index of the batch's first job, counted from the beginning of the input: not 0 only after a loss.
    pub first: u64,
    /// Jobs submitted, counted from the beginning of the input.
    pub submitted: u64,
    /// Jobs whose lines are written, counted likewise.
    pub written: u64,
    /// Whether all of the input was submitted.
    pub input_over: bool,
}

/// Why a run did not reach its end.
#[derive(Debug, thiserror::Error)]
pub enum SolveError {
    /// The queue failed for good, or longer than patience lasts.
    #[error("{error}")]
    Queue {
        /// What it said.
        error: Error,
        /// Where things stood; `None` when nothing was submitted.
        stand: Option<Stand>,
    },
    /// The input failed in the middle; what was read before is solved and written.
    #[error(transparent)]
    Input(InputError),
    /// The output failed. Outcomes not written are still on the queue, if that is durable.
    #[error("{error}")]
    Output {
        /// What the system said.
        error: std::io::Error,
        /// Where things stood.
        stand: Stand,
    },
    /// Told to stop. `cancelled` jobs had no outcome yet.
    #[error("stopped")]
    Stopped {
        /// Jobs cancelled, or why they could not be.
        cancelled: Result<u64, Error>,
        /// Where things stood.
        stand: Stand,
    },
}

/// Solves a whole input.
///
/// # Errors
/// See [`SolveError`].
pub async fn solve<B: Backend>(
    backend: B,
    options: Options,
    input: Input,
    output: impl Write + Send + 'static,
    report: Report,
    stop: CancellationToken,
) -> Result<Summary, SolveError> {
    let begun = Instant::now();
    let mut run = Run::start(backend, &options, input, output, report).await?;
    let ended = tokio::select! {
        biased;
        () = stop.cancelled() => None,
        ended = run.drive() => Some(ended),
    };
    match ended {
        None => {
            let id = run.sender.batch().id;
            let cancelled = match tokio::time::timeout(LAST_WORDS, run.backend.cancel(id)).await {
                Ok(answer) => answer,
                Err(_) => {
                    Err(Error::Busy { address: "the queue".to_owned(), reason: "no answer".to_owned() })
                }
            };
            let written = run.end_output().await;
            Err(SolveError::Stopped { cancelled, stand: Stand { written, ..run.stand() } })
        }
        Some(Ok(cancelled)) => match run.input_error.take() {
            Some(error) => Err(SolveError::Input(error)),
            None => Ok(Summary {
                batch: run.sender.batch().id,
                jobs: run.tally.jobs(),
                outcomes: run.tally.counts(),
                elapsed: begun.elapsed(),
                cancelled,
            }),
        },
        Some(Err(error)) => {
            // Nothing more will come: let the batch end, so that it can be collected and will expire.
            let batch = run.sender.batch().clone();
            let last = run.backend.enqueue(&batch, &[], true);
            // It comes behind the calls on their way, and says what they have brought.
            if let Ok(Ok(chunks)) = tokio::time::timeout(LAST_WORDS, last).await {
                run.kept.confirm(run.sender.base() + chunks);
            }
            let submitted = run.kept.confirmed_jobs();
            Err(match error {
                SolveError::Queue { error, stand: Some(stand) } => {
                    let written = run.end_output().await;
                    SolveError::Queue { error, stand: Some(Stand { written, submitted, ..stand }) }
                }
                SolveError::Output { error, stand } => {
                    SolveError::Output { error, stand: Stand { submitted, ..stand } }
                }
                other => other,
            })
        }
    }
}

type Collecting<R> = JoinHandle<(Collector, R, Ended)>;

struct Run<B: Backend> {
    backend: B,
    window_jobs: u64,
    sender: Sender<B>,
    kept: Arc<Kept>,
    tally: Arc<Tally>,
    outage: Arc<Outage>,
    cuts: mpsc::Receiver<Cut>,
    collecting: Collecting<B::Results>,
    report: Report,
    chunks: u64,
    progress: Progress,
    input_error: Option<InputError>,
    ending: output::Ending,
}

impl<B: Backend> Run<B> {
    async fn start(
        backend: B,
        options: &Options,
        input: Input,
        output: impl Write + Send + 'static,
        report: Report,
    ) -> Result<Self, SolveError> {
        let early = |error| SolveError::Queue { error, stand: None };
        let batch = Arc::new(options.batch.clone());
        backend.create(&batch).await.map_err(early)?;
        let results = backend.results(batch.id).await.map_err(early)?;
        let formatter = Formatter::new(options.format, batch.id);
        let wants_puzzles = formatter.wants_puzzles();
        let (pieces, acks, ending) = output::start(output, formatter)
            .map_err(|error| SolveError::Output { error, stand: nothing(batch.id) })?;
        let (kept, tally) = (Arc::<Kept>::default(), Arc::<Tally>::default());
        let outage = Arc::new(Outage::new(options.patience, report.clone()));
        let collector = Collector {
            kept: kept.clone(),
            tally: tally.clone(),
            outage: outage.clone(),
            pieces,
            acks,
            keep: batch.keep,
            wants_puzzles,
            base_chunk: 0,
            base_job: 0,
            jobs: 0,
            handed: 0,
            written: 0,
            unflushed: Vec::new(),
        };
        let cuts = input.read(&batch.task, &options.config, true);
        Ok(Self {
            sender: Sender::new(backend.clone(), batch, kept.clone(), outage.clone(), report.clone()),
            backend,
            window_jobs: u64::from(options.config.window_jobs),
            kept,
            tally,
            outage,
            cuts,
            collecting: tokio::spawn(collector.run(results)),
            report,
            chunks: 0,
            progress: Progress::default(),
            input_error: None,
            ending,
        })
    }

    /// Runs to the end; whether somebody cancelled the batch.
    async fn drive(&mut self) -> Result<bool, SolveError> {
        let mut cancelled = false;
        loop {
            let in_flight = self.progress.read - self.tally.jobs();
            tokio::select! {
                ended = &mut self.collecting => match ended {
                    Ok((collector, results, ended)) => {
                        cancelled |= results.is_cancelled();
                        if self.ended(collector, results, ended).await? {
                            self.tell();
                            self.check_sum(cancelled)?;
                            return Ok(cancelled);
                        }
                    }
                    Err(panic) => std::panic::resume_unwind(panic.into_panic()),
                },
                stepped = self.sender.step() => match stepped {
                    Ok(Stepped::Confirmed | Stepped::Waiting) => {}
                    // The collector sees it as well, and knows how far it came.
                    Ok(Stepped::Lost(_)) => {}
                    Err(Error::Cancelled(_)) => {
                        cancelled = true;
                        self.sender.stop();
                        self.progress.input_over = true;
                    }
                    Err(error) => return Err(self.failed(error)),
                },
                cut = self.cuts.recv(), if !self.progress.input_over && in_flight < self.window_jobs => {
                    self.take(cut);
                }
                () = self.tally.changed.notified() => {}
            }
            self.tell();
        }
    }

    /// A job that is lost must never be lost in silence.
    fn check_sum(&self, cancelled: bool) -> Result<(), SolveError> {
        let (read, written) = (self.progress.read, self.tally.jobs());
        if cancelled || self.progress.input_over && read == written {
            return Ok(());
        }
        Err(self.failed(Error::Malformed(format!(
            "the batch ended after {written} outcomes, {read} jobs were read; somebody else closed or collected it"
        ))))
    }

    fn take(&mut self, cut: Option<Cut>) {
        let cut = cut.unwrap_or_default();
        for payload in cut.chunks {
            self.progress.read += u64::from(payload.jobs);
            self.chunks += 1;
            self.kept.push(payload);
        }
        self.progress.expected = cut.expected;
        cut.bad_lines.iter().for_each(|line| (self.report)(Event::BadLine(line)));
        match cut.end {
            None => return,
            Some(Ok(bad)) => tell_more(&self.report, bad),
            Some(Err(error)) => self.input_error = Some(error),
        }
        self.progress.input_over = true;
        self.progress.expected = self.progress.read;
        self.sender.end(self.chunks);
    }

    /// What the end of the collector means: whether the run is over, or how it goes on.
    async fn ended(
        &mut self,
        mut collector: Collector,
        results: B::Results,
        ended: Ended,
    ) -> Result<bool, SolveError> {
        let left = match ended {
            Ended::Finished => return Ok(true),
            Ended::Output { error } => return Err(SolveError::Output { error, stand: self.stand() }),
            Ended::Failed(error) => return Err(self.failed(error)),
            Ended::Lost { chunks } => chunks,
        };
        let (base, first) = (self.sender.base(), self.kept.first());
        let old = self.sender.batch().clone();
        if base + left >= first {
            // All that is missing is here.
            if left == 0 {
                self.create(&old).await?;
            }
            (self.report)(Event::SentAgain);
            self.sender.go_on(base + left);
            self.collecting = tokio::spawn(collector.run(results));
            return Ok(false);
        }
        // Written outcomes cannot be put back, and numbers must begin at 0: the rest becomes a batch of its own.
        collector.forget_written().await;
        let new = Arc::new(Batch { id: BatchId::new(), ..Batch::clone(&old) });
        self.create(&new).await?;
        drop(tokio::time::timeout(LAST_WORDS, self.backend.enqueue(&old, &[], true)).await);
        (self.report)(Event::NewBatch { old: old.id, new: new.id });
        collector.base_chunk = first;
        collector.base_job = collector.jobs;
        self.sender.go_on_in(new.clone(), first, collector.jobs);
        let results = self.results(new.id).await?;
        self.collecting = tokio::spawn(collector.run(results));
        Ok(false)
    }

    async fn create(&self, batch: &Batch) -> Result<(), SolveError> {
        let mut backoff = Backoff::new();
        while let Err(error) = self.backend.create(batch).await {
            self.outage.failed(Party::Sender, error).map_err(|error| self.failed(error))?;
            tokio::time::sleep(backoff.next()).await;
        }
        Ok(())
    }

    async fn results(&self, id: BatchId) -> Result<B::Results, SolveError> {
        let mut backoff = Backoff::new();
        loop {
            match self.backend.results(id).await {
                Ok(results) => return Ok(results),
                Err(error) => self.outage.failed(Party::Sender, error).map_err(|error| self.failed(error))?,
            }
            tokio::time::sleep(backoff.next()).await;
        }
    }

    fn failed(&self, error: Error) -> SolveError {
        SolveError::Queue { error, stand: Some(self.stand()) }
    }

    /// Lets the output write what it was handed to the last line, so that no line is torn and the count is true, unless
    /// its reader does not read. The jobs whose lines are out.
    async fn end_output(&mut self) -> u64 {
        if !self.collecting.is_finished() {
            self.collecting.abort();
            drop((&mut self.collecting).await);
        }
        match tokio::time::timeout(LAST_WORDS, self.ending.jobs()).await {
            Ok(Some(jobs)) => jobs,
            _ => self.tally.jobs(),
        }
    }

    fn stand(&self) -> Stand {
        Stand {
            batch: self.sender.batch().id,
            first: self.sender.base_job(),
            submitted: self.kept.confirmed_jobs(),
            written: self.tally.jobs(),
            input_over: self.progress.input_over && self.sender.is_done(),
        }
    }

    fn tell(&mut self) {
        self.progress.done = self.tally.jobs();
        (self.report)(Event::Progress(self.progress));
    }
}

impl<B: Backend> Drop for Run<B> {
    fn drop(&mut self) {
        self.collecting.abort();
    }
}

fn nothing(batch: BatchId) -> Stand {
    Stand { batch, first: 0, submitted: 0, written: 0, input_over: false }
}

/// Tells how many bad lines were not described.
pub(crate) fn tell_more(report: &Report, bad: u64) {
    let more = bad.saturating_sub(crate::input::BAD_LINES_MAX);
    if more > 0 {
        report(Event::MoreBadLines(more));
    }
}
