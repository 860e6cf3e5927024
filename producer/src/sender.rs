//! Sends chunks in order, several calls at a time, and again when they were refused or lost.
//!
//! ```text
//! kept payloads   first .. confirmed .. next .. end
//!                 ^ dropped once unneeded    ^ sent in the next call
//! ```
//! A call that fails, for whatever reason, is answered by waiting for those in flight and going back: to the chunk the
//! batch expects, or to the last confirmed one. Accepted chunks are passed over by the queue, so going back too far
//! costs bytes and nothing else.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;
use puzzled_queue::wire::Payload;
use puzzled_queue::{Batch, Digest, Error, NewChunk};
use tokio::time::Instant;

use crate::backend::{Backend, Held};
use crate::events::{Event, Report};
use crate::outage::{Backoff, Outage, Party};

/// Calls on their way at once: one is on the wire while Redis works on the other. More would only make small chunks
/// travel in smaller groups.
const CALLS_MAX: usize = 2;
/// Chunks in one call; bounds the time of the script.
const CALL_CHUNKS_MAX: usize = 256;
/// Bytes in one call; bounds Redis' input buffer.
const CALL_BYTES_MAX: usize = 1024 * 1024;

/// Payloads that may be needed again, and what the queue has confirmed. Chunk numbers here count from the beginning
/// of the input; those in the queue begin anew with a new batch.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    shelf: Mutex<Shelf>,
    confirmed: AtomicU64,
    closed: AtomicBool,
}

#[derive(Debug, Default)]
struct Shelf {
    /// Number and first job of the first payload here.
    first: u64,
    first_job: u64,
    /// Digest of the batch before it.
    before: Digest,
    payloads: VecDeque<Shelved>,
}

#[derive(Debug)]
struct Shelved {
    payload: Payload,
    /// Index one past its last job.
    end: u64,
    /// Digest of the batch up to its end.
    after: Digest,
}

impl Shelf {
    fn end_job(&self) -> u64 {
        self.payloads.back().map_or(self.first_job, |shelved| shelved.end)
    }

    fn pop(&mut self) -> Option<Payload> {
        let Shelved { payload, end, after } = self.payloads.pop_front()?;
        (self.first, self.first_job, self.before) = (self.first + 1, end, after);
        Some(payload)
    }

    fn before(&self, place: usize) -> Digest {
        place.checked_sub(1).and_then(|place| self.payloads.get(place)).map_or(self.before, |last| last.after)
    }
}

impl Kept {
    fn lock(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, payload: Payload) {
        let mut shelf = self.lock();
        let end = shelf.end_job() + u64::from(payload.jobs);
        let after = shelf.before(shelf.payloads.len()).then(&payload);
        shelf.payloads.push_back(Shelved { payload, end, after });
    }

    /// Digest of the batch up to the end of the newest payload.
    pub(crate) fn digest(&self) -> Digest {
        let shelf = self.lock();
        shelf.before(shelf.payloads.len())
    }

    /// A batch begins at chunk `base`, which is here.
    fn begin_batch(&self, base: u64) {
        let mut shelf = self.lock();
        let place = usize::try_from(base - shelf.first).unwrap_or(usize::MAX);
        let mut digest = Digest::default();
        match place {
            0 => shelf.before = digest,
            _ => shelf.payloads.iter_mut().take(place).for_each(|shelved| shelved.after = digest),
        }
        for shelved in shelf.payloads.iter_mut().skip(place) {
            digest = digest.then(&shelved.payload);
            shelved.after = digest;
        }
    }

    /// Takes the payload of a chunk and drops those before it.
    pub(crate) fn take(&self, number: u64) -> Option<Payload> {
        let mut shelf = self.lock();
        while shelf.first < number {
            shelf.pop()?;
        }
        if shelf.first == number { shelf.pop() } else { None }
    }

    /// Drops confirmed payloads beyond the newest `jobs_max` jobs.
    pub(crate) fn shrink(&self, jobs_max: u64) {
        let confirmed = self.confirmed.load(Ordering::Relaxed);
        let mut shelf = self.lock();
        while shelf.first < confirmed && shelf.end_job() - shelf.first_job > jobs_max && shelf.pop().is_some()
        {
        }
    }

    /// First chunk that is still here, or will come next.
    pub(crate) fn first(&self) -> u64 {
        self.lock().first
    }

    /// Chunks here.
    pub(crate) fn len(&self) -> usize {
        self.lock().payloads.len()
    }

    /// The queue holds so many chunks of the input.
    pub(crate) fn confirm(&self, chunks: u64) {
        self.confirmed.fetch_max(chunks, Ordering::Release);
    }

    /// Jobs confirmed by the queue.
    pub(crate) fn confirmed_jobs(&self) -> u64 {
        let shelf = self.lock();
        let confirmed = self.confirmed.load(Ordering::Relaxed).saturating_sub(shelf.first);
        match usize::try_from(confirmed).unwrap_or(usize::MAX) {
            0 => shelf.first_job,
            n => shelf.payloads.get(n - 1).map_or(shelf.end_job(), |shelved| shelved.end),
        }
    }

    /// Chunks for one call, beginning at `from`.
    fn call(&self, from: u64, base: u64) -> Vec<NewChunk> {
        let shelf = self.lock();
        let from = from.max(shelf.first);
        let skip = usize::try_from(from - shelf.first).unwrap_or(usize::MAX).min(shelf.payloads.len());
        let (mut bytes, mut before) = (0, shelf.before(skip));
        shelf
            .payloads
            .range(skip..)
            .take(CALL_CHUNKS_MAX)
            .zip(from..)
            .take_while(|(shelved, number)| {
                bytes += shelved.payload.bytes.len();
                bytes <= CALL_BYTES_MAX || *number == from
            })
            .map(|(shelved, number)| {
                let before = Some(std::mem::replace(&mut before, shelved.after));
                NewChunk { number: number - base, payload: shelved.payload.clone(), before }
            })
            .collect()
    }

    /// What the queue has confirmed, in the numbers of a batch that begins at chunk `base`.
    pub(crate) fn held(&self, base: u64) -> Held {
        Held {
            chunks: self.confirmed.load(Ordering::Acquire).saturating_sub(base),
            closed: self.closed.load(Ordering::Acquire),
        }
    }
}

/// What a step came to.
#[derive(Debug)]
pub(crate) enum Stepped {
    /// The queue accepted something.
    Confirmed,
    /// A call was refused for now; it will be repeated.
    Waiting,
    /// The queue no longer has the batch, or misses chunks that are no longer kept. Nothing more is sent until
    /// [`Sender::go_on`].
    Lost(Error),
}

type Call = Pin<Box<dyn Future<Output = (u64, bool, Result<u64, Error>)> + Send>>;

/// The sender of one run.
pub(crate) struct Sender<B> {
    backend: B,
    batch: Arc<Batch>,
    /// Number of the batch's first chunk, counted from the beginning of the input.
    base: u64,
    base_job: u64,
    kept: Arc<Kept>,
    /// Next chunk to send.
    next: u64,
    /// One past the last chunk, once the input is over.
    end: Option<u64>,
    close_sent: bool,
    calls: FuturesOrdered<Call>,
    refused: Option<Error>,
    resume_at: Option<Instant>,
    stopped: bool,
    told_full: bool,
    backoff: Backoff,
    outage: Arc<Outage>,
    report: Report,
}

impl<B: Backend> Sender<B> {
    pub(crate) fn new(
        backend: B,
        batch: Arc<Batch>,
        kept: Arc<Kept>,
        outage: Arc<Outage>,
        report: Report,
    ) -> Self {
        Self {
            backend,
            batch,
            base: 0,
            base_job: 0,
            kept,
            next: 0,
            end: None,
            close_sent: false,
            calls: FuturesOrdered::new(),
            refused: None,
            resume_at: None,
            stopped: false,
            told_full: false,
            backoff: Backoff::new(),
            outage,
            report,
        }
    }

    pub(crate) fn batch(&self) -> &Arc<Batch> {
        &self.batch
    }

    /// The input is over after `chunks` chunks.
    pub(crate) fn end(&mut self, chunks: u64) {
        self.end = Some(chunks);
    }

    /// Everything was accepted, the close as well.
    pub(crate) fn is_done(&self) -> bool {
        self.kept.closed.load(Ordering::Relaxed)
    }

    /// Sends nothing more.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
    }

    /// Goes on after a loss: from chunk `from` on.
    pub(crate) fn go_on(&mut self, from: u64) {
        // What is still in flight belongs to the past.
        self.calls = FuturesOrdered::new();
        self.refused = None;
        self.stopped = false;
        self.back_to(from);
    }

    /// Goes on in another batch, which begins at chunk `base` and job `base_job`.
    pub(crate) fn go_on_in(&mut self, batch: Arc<Batch>, base: u64, base_job: u64) {
        (self.batch, self.base, self.base_job) = (batch, base, base_job);
        self.kept.begin_batch(base);
        self.go_on(base);
    }

    /// Number of the first chunk in the present batch.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// Index of the first job in the present batch.
    pub(crate) fn base_job(&self) -> u64 {
        self.base_job
    }

    /// Works until something is settled. Pends for ever when there is nothing to do. Dropping the future is safe.
    pub(crate) async fn step(&mut self) -> Result<Stepped, Error> {
        loop {
            self.launch();
            if self.calls.is_empty() {
                match self.resume_at {
                    Some(at) if !self.stopped => {
                        tokio::time::sleep_until(at).await;
                        self.resume_at = None;
                        continue;
                    }
                    _ => std::future::pending::<()>().await,
                }
            }
            let Some((end, close, answer)) = self.calls.next().await else { continue };
            match answer {
                Ok(next) if self.refused.is_none() => {
                    self.outage.worked(Party::Sender);
                    self.backoff.reset();
                    debug_assert!(self.base + next >= end, "a call is accepted as a whole");
                    self.kept.confirm(self.base + next);
                    if close {
                        self.kept.closed.store(true, Ordering::Release);
                    }
                    return Ok(Stepped::Confirmed);
                }
                // Calls after a refused one are sent again anyway.
                Ok(_) => {}
                Err(error) => {
                    self.refused.get_or_insert(error);
                }
            }
            if self.calls.is_empty()
                && let Some(error) = self.refused.take()
            {
                return self.settle(error);
            }
        }
    }

    fn launch(&mut self) {
        while !self.stopped
            && self.refused.is_none()
            && self.resume_at.is_none()
            && self.calls.len() < CALLS_MAX
            && !self.close_sent
        {
            // Outcomes may come before the reply that their chunk was accepted, or instead of it.
            self.next = self.next.max(self.kept.first());
            let chunks = self.kept.call(self.next, self.base);
            let next = self.next + chunks.len() as u64;
            // A close without chunks has no number that would betray a gap: sent behind a call that is refused, it
            // would end the batch too early. So it waits until all is confirmed.
            let close = self.end == Some(next) && (!chunks.is_empty() || self.calls.is_empty());
            if chunks.is_empty() && !close {
                return;
            }
            self.next = next;
            self.close_sent = close;
            let (backend, batch) = (self.backend.clone(), self.batch.clone());
            self.calls.push_back(Box::pin(async move {
                let answer = backend.enqueue(&batch, &chunks, close).await;
                (next, close, answer)
            }));
        }
    }

    /// What a refused call means.
    fn settle(&mut self, error: Error) -> Result<Stepped, Error> {
        match error {
            Error::Full { .. } => {
                if !std::mem::replace(&mut self.told_full, true) {
                    (self.report)(Event::Full(&error));
                }
                self.outage.worked(Party::Sender);
                self.back_to_confirmed();
            }
            Error::Gap { expected, .. } => {
                let expected = self.base + expected;
                if expected < self.kept.first() {
                    self.stopped = true;
                    return Ok(Stepped::Lost(error));
                }
                if expected < self.kept.confirmed.load(Ordering::Relaxed) {
                    (self.report)(Event::SentAgain);
                }
                self.back_to(expected);
            }
            Error::NoBatch(_) => {
                self.stopped = true;
                return Ok(Stepped::Lost(error));
            }
            error => {
                self.outage.failed(Party::Sender, error)?;
                self.back_to_confirmed();
            }
        }
        self.resume_at = Some(Instant::now() + self.backoff.next());
        Ok(Stepped::Waiting)
    }

    fn back_to_confirmed(&mut self) {
        self.back_to(self.kept.confirmed.load(Ordering::Relaxed));
    }

    fn back_to(&mut self, number: u64) {
        self.kept.confirmed.store(number, Ordering::Release);
        self.kept.closed.store(false, Ordering::Release);
        self.next = number;
        self.close_sent = false;
        self.resume_at = None;
    }
}
