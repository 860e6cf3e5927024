//! Collects outcomes in input order, hands them to the output, and drops from the queue what is written.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use puzzled_queue::{Error, Part};
use puzzled_solver::OutcomeKind;
use tokio::sync::{Notify, mpsc};

use crate::backend::Results;
use crate::outage::{Backoff, Outage, Party};
use crate::output::{Piece, Written};
use crate::sender::Kept;

/// Written parts that are dropped from the queue in one call.
const FLUSH_PARTS: usize = 64;

/// Pause between two looks while much is on its way. A look costs Redis and us some 50 us whatever it finds, and
/// nobody waits for a single chunk among many; a lone chunk is looked for at once.
const PACE: Duration = Duration::from_millis(2);
/// Chunks on their way that count as much.
const PACED_CHUNKS: usize = 8;

/// What is written so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    jobs: AtomicU64,
    counts: Mutex<[u64; OutcomeKind::ALL.len()]>,
    /// Told whenever something was written.
    pub(crate) changed: Notify,
}

impl Tally {
    pub(crate) fn jobs(&self) -> u64 {
        self.jobs.load(Ordering::Acquire)
    }

    pub(crate) fn counts(&self) -> [u64; OutcomeKind::ALL.len()] {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, jobs: u64, counts: &[u64]) {
        let mut sums = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        drop(sums);
        self.jobs.fetch_add(jobs, Ordering::Release);
        self.changed.notify_one();
    }
}

/// Why collecting ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// Everything is written.
    Finished,
    /// The queue no longer has the batch, or misses chunks it had confirmed: `chunks` are left.
    Lost { chunks: u64 },
    /// The output is broken.
    Output { error: std::io::Error },
    /// Not worth trying again.
    Failed(Error),
}

/// The collector of one run.
pub(crate) struct Collector {
    pub(crate) kept: Arc<Kept>,
    pub(crate) tally: Arc<Tally>,
    pub(crate) outage: Arc<Outage>,
    pub(crate) pieces: mpsc::Sender<Piece>,
    pub(crate) acks: mpsc::UnboundedReceiver<Written>,
    pub(crate) keep: bool,
    pub(crate) wants_puzzles: bool,
    /// Number of the batch's first chunk and index of its first job, counted from the beginning of the input.
    pub(crate) base_chunk: u64,
    pub(crate) base_job: u64,
    /// Jobs handed to the output.
    pub(crate) jobs: u64,
    /// Parts handed to the output, and those it has written.
    pub(crate) handed: u64,
    pub(crate) written: u64,
    /// Parts written and not yet dropped from the queue.
    pub(crate) unflushed: Vec<u64>,
}

impl Collector {
    /// Collects from `results`, which begins at the collector's base, until something ends it. Returns itself, for
    /// going on.
    pub(crate) async fn run<R: Results>(mut self, mut results: R) -> (Self, R, Ended) {
        let ended = match self.collect(&mut results).await {
            Ok(ended) | Err(ended) => ended,
        };
        (self, results, ended)
    }

    async fn collect<R: Results>(&mut self, results: &mut R) -> Result<Ended, Ended> {
        let mut backoff = Backoff::new();
        // The next outcomes were just looked for in vain: they will be announced, unless this is the end.
        let mut nothing_new = false;
        loop {
            if std::mem::take(&mut nothing_new) {
                if results.at_end() {
                    return self.finish(results).await;
                }
                if let Err(error) = self.idle(results).await? {
                    self.outage.failed(Party::Collector, error).map_err(Ended::Failed)?;
                }
            }
            // What was confirmed before looking must be there when we look.
            let confirmed = self.kept.held(self.base_chunk);
            let answer = match results.next_ready().await {
                Ok(Some(part)) => {
                    self.outage.worked(Party::Collector);
                    backoff.reset();
                    self.hand_over(part).await?;
                    while let Ok(ack) = self.acks.try_recv() {
                        self.note(ack)?;
                    }
                    nothing_new = results.was_missing();
                    if self.unflushed.len() < FLUSH_PARTS {
                        continue;
                    }
                    self.flush(results).await
                }
                Ok(None) => {
                    self.outage.worked(Party::Collector);
                    let held = results.held();
                    if let Some(held) = held
                        && (held.chunks < confirmed.chunks || confirmed.closed && !held.closed)
                    {
                        return Ok(Ended::Lost { chunks: held.chunks });
                    }
                    if results.at_end() {
                        return self.finish(results).await;
                    }
                    self.idle(results).await?
                }
                Err(error) => Err(error),
            };
            if let Err(error) = answer {
                if matches!(error, Error::NoBatch(_)) {
                    return Ok(Ended::Lost { chunks: 0 });
                }
                self.outage.failed(Party::Collector, error).map_err(Ended::Failed)?;
                tokio::time::sleep(backoff.next()).await;
            }
        }
    }

    async fn hand_over(&mut self, part: Part) -> Result<(), Ended> {
        let payload = self.kept.take(self.base_chunk + part.chunk).filter(|_| self.wants_puzzles);
        self.jobs += part.outcomes.len() as u64;
        self.handed += 1;
        let piece =
            Piece { first: self.base_job + part.first, outcomes: part.outcomes, payload, chunk: part.chunk };
        if self.pieces.send(piece).await.is_err() {
            return Err(self.broken().await);
        }
        Ok(())
    }

    /// Nothing is ready: tidy up, and wait until it is worth looking again. That the output has written something
    /// is no reason to look.
    async fn idle<R: Results>(&mut self, results: &mut R) -> Result<Result<(), Error>, Ended> {
        let is_busy = self.kept.len() >= PACED_CHUNKS;
        {
            let waited = async {
                results.wait().await;
                if is_busy {
                    tokio::time::sleep(PACE).await;
                }
            };
            tokio::pin!(waited);
            // With nothing on its way this may be a long wait: then tidy up before.
            while self.written < self.handed || self.unflushed.is_empty() || self.kept.len() > 0 {
                tokio::select! {
                    () = &mut waited => return Ok(Ok(())),
                    ack = self.acks.recv() => self.note_or_end(ack)?,
                }
            }
        }
        Ok(self.flush(results).await)
    }

    /// Waits for the output and drops the rest from the queue.
    async fn finish<R: Results>(&mut self, results: &mut R) -> Result<Ended, Ended> {
        while self.written < self.handed {
            let ack = self.acks.recv().await;
            self.note_or_end(ack)?;
        }
        let mut backoff = Backoff::new();
        while let Err(error) = self.flush(results).await {
            if matches!(error, Error::NoBatch(_)) {
                break;
            }
            self.outage.failed(Party::Collector, error).map_err(Ended::Failed)?;
            tokio::time::sleep(backoff.next()).await;
        }
        self.outage.worked(Party::Collector);
        Ok(Ended::Finished)
    }

    /// Waits until the output has all it was given, without dropping anything: the batch it came from is lost.
    pub(crate) async fn forget_written(&mut self) {
        while self.written < self.handed {
            match self.acks.recv().await {
                Some(Written::Piece { jobs, counts, .. }) => {
                    self.tally.add(jobs, &counts);
                    self.written += 1;
                }
                // The next piece will meet the broken output, too.
                Some(Written::Broken { .. }) | None => break,
            }
        }
        self.unflushed.clear();
    }

    async fn flush<R: Results>(&mut self, results: &mut R) -> Result<(), Error> {
        self.unflushed.drain(..).for_each(|chunk| results.put_away(chunk));
        results.flush().await
    }

    fn note_or_end(&mut self, ack: Option<Written>) -> Result<(), Ended> {
        match ack {
            Some(ack) => self.note(ack),
            None => Err(Ended::Output { error: std::io::Error::other("the output thread ended") }),
        }
    }

    fn note(&mut self, ack: Written) -> Result<(), Ended> {
        match ack {
            Written::Piece { chunk, jobs, counts } => {
                self.tally.add(jobs, &counts);
                self.written += 1;
                if !self.keep {
                    self.unflushed.push(chunk);
                }
                Ok(())
            }
            Written::Broken { error, jobs } => Err(self.broke(error, jobs)),
        }
    }

    /// The output thread is gone: what were its last words?
    async fn broken(&mut self) -> Ended {
        loop {
            match self.acks.recv().await {
                Some(Written::Piece { jobs, counts, .. }) => self.tally.add(jobs, &counts),
                Some(Written::Broken { error, jobs }) => return self.broke(error, jobs),
                None => return Ended::Output { error: std::io::Error::other("the output thread ended") },
            }
        }
    }

    /// The output knows best how many lines are whole.
    fn broke(&mut self, error: std::io::Error, jobs: u64) -> Ended {
        self.tally.jobs.fetch_max(jobs, Ordering::Release);
        Ended::Output { error }
    }
}
