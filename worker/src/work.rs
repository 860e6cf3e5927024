//! The life of a piece of work: fetch the payloads, solve them on one thread, record the outcomes.
//!
//! One task runs it from claim to record and holds a permit all the while, so that memory and leases are bounded by
//! the number of permits. Whatever goes wrong for good on the way leaves the chunks pending: their leases run out and
//! another worker takes them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use puzzled_queue::{BatchId, Claimed, Completed, Content, Error, Hold, Interest, Recorded, StreamId};
use puzzled_solver::OutcomeKind;
use tokio::sync::OwnedSemaphorePermit;

use crate::Shared;
use crate::retry::retry;
use crate::solve::{PoolChunk, failed_chunk};

/// Chunks of one stream, claimed together.
pub(crate) struct Work {
    pub(crate) stream: StreamId,
    pub(crate) chunks: Vec<Claimed>,
    pub(crate) interest: Arc<Interest>,
    pub(crate) claimed_ms: u64,
    /// Shared by the pieces of one claim; free again when the last is done.
    pub(crate) permit: Arc<OwnedSemaphorePermit>,
}

impl Work {
    /// Enters the leases of freshly claimed chunks and cuts them into pieces of work, one a stream.
    pub(crate) fn pieces(shared: &Shared, claimed: Vec<Claimed>, permit: OwnedSemaphorePermit) -> Vec<Work> {
        let permit = Arc::new(permit);
        let claimed_ms = shared.clock.server_ms();
        let mut groups: Vec<(StreamId, Vec<Claimed>)> = Vec::new();
        for chunk in claimed {
            match groups.iter_mut().find(|(stream, _)| *stream == chunk.stream) {
                Some((_, chunks)) => chunks.push(chunk),
                None => groups.push((chunk.stream, vec![chunk])),
            }
        }
        groups
            .into_iter()
            .map(|(stream, chunks)| Work {
                stream,
                interest: shared.leases.add(&chunks),
                chunks,
                claimed_ms,
                permit: permit.clone(),
            })
            .collect()
    }

    /// Runs it to its end.
    pub(crate) async fn run(self, shared: Arc<Shared>) {
        shared.metrics.chunks_in_flight.add(self.chunks.len() as i64);
        if let Err(error) = self.try_run(&shared).await {
            let chunks = self.chunks.len();
            if shared.shutdown.is_stopping_now() {
                tracing::info!(chunks, "handing back unfinished chunks");
            } else {
                tracing::error!(%error, code = error.code(), chunks, "chunks left to their leases");
            }
        }
        shared.leases.remove(&self.chunks);
        shared.metrics.chunks_in_flight.sub(self.chunks.len() as i64);
        drop(self.permit);
    }

    async fn try_run(&self, shared: &Shared) -> Result<(), Error> {
        let stop_now = shared.shutdown.stopping_now();
        let fetched = retry("fetch", &stop_now, || shared.queue.fetch(self.stream, &self.chunks)).await?;
        let (mut solvable, mut done, mut unwanted) = (Vec::new(), Vec::new(), Vec::new());
        let mut to_solve = Vec::new();
        for chunk in fetched {
            let claimed = chunk.claimed;
            let waited_ms = self.claimed_ms.saturating_sub(claimed.entry.ms);
            let pool_chunk = |payload| PoolChunk {
                first: claimed.chunk.first,
                jobs: claimed.chunk.jobs,
                payload,
                wait_us: waited_ms * 1000,
            };
            match chunk.content {
                Content::Payload(payload) => {
                    shared.observe_claimed(&claimed, Duration::from_millis(waited_ms));
                    solvable.push(claimed);
                    to_solve.push(pool_chunk(payload));
                }
                Content::Unwanted => unwanted.push(claimed),
                Content::Missing => {
                    tracing::error!(chunk = ?claimed.chunk, "a payload is gone from Redis; its jobs fail");
                    let reason = "the puzzle was deleted from Redis before it was solved";
                    let failed = failed_chunk(&shared.name, &pool_chunk(bytes::Bytes::new()), reason);
                    done.push(Completed { claimed, counts: failed.counts, result: failed.result });
                }
            }
        }
        if !to_solve.is_empty() {
            let started = Instant::now();
            let jobs: u64 = to_solve.iter().map(|chunk| u64::from(chunk.jobs)).sum();
            let results = shared.pool.solve(to_solve, self.interest.clone()).await;
            let stopped = self.interest.stop().load(std::sync::atomic::Ordering::Acquire);
            match results {
                Some(results) if !stopped => {
                    let solve_us: u64 = results.iter().map(|result| result.solve_us).sum();
                    let elapsed = Duration::from_micros(solve_us.max(1));
                    shared.pace.observe(self.stream.kind, solvable.len(), elapsed);
                    shared.observe_solved(self.stream.kind, elapsed, jobs, &results);
                    for (claimed, solved) in solvable.iter().zip(results) {
                        match shared.leases.hold(claimed) {
                            Hold::Wanted => done.push(Completed {
                                claimed: *claimed,
                                counts: solved.counts,
                                result: solved.result,
                            }),
                            Hold::Cancelled => unwanted.push(*claimed),
                            Hold::Lost => {}
                        }
                    }
                }
                // Stopped half way: what came back says "cancelled" of jobs nobody cancelled. Only what really was
                // cancelled is taken off; the rest is handed back or belongs to somebody else.
                _ => {
                    tracing::debug!(
                        chunks = solvable.len(),
                        after_ms = started.elapsed().as_millis() as u64,
                        "stopped"
                    );
                    unwanted.extend(solvable.iter().filter(|c| shared.leases.hold(c) == Hold::Cancelled));
                }
            }
        }
        if !unwanted.is_empty() {
            retry("drop", &stop_now, || shared.queue.drop_unwanted(self.stream, &unwanted)).await?;
        }
        self.record(shared, done).await
    }

    async fn record(&self, shared: &Shared, done: Vec<Completed>) -> Result<(), Error> {
        let stop_now = shared.shutdown.stopping_now();
        let mut batches: Vec<(BatchId, Vec<Completed>)> = Vec::new();
        for chunk in done {
            let id = chunk.claimed.chunk.batch;
            match batches.iter_mut().find(|(batch, _)| *batch == id) {
                Some((_, chunks)) => chunks.push(chunk),
                None => batches.push((id, vec![chunk])),
            }
        }
        for (batch, chunks) in &batches {
            let recorded =
                retry("complete", &stop_now, || shared.queue.complete(self.stream, *batch, chunks)).await?;
            self.count(shared, chunks, recorded);
        }
        Ok(())
    }

    fn count(&self, shared: &Shared, chunks: &[Completed], recorded: Recorded) {
        if recorded.conflicts > 0 {
            tracing::error!(conflicts = recorded.conflicts, "outcomes were stored apart from their counters");
            shared.metrics.result_conflicts.inc_by(recorded.conflicts);
        }
        let mut sums = [0_u64; OutcomeKind::ALL.len()];
        for chunk in chunks {
            for (sum, &count) in sums.iter_mut().zip(&chunk.counts) {
                *sum += u64::from(count);
            }
        }
        // Repeated or dropped chunks are rare and were counted by whoever recorded them; the metric counts work done.
        let kind = shared.kind_metrics(self.stream.kind);
        for (counter, sum) in kind.jobs.iter().zip(sums) {
            counter.inc_by(sum);
        }
        shared.jobs_done.fetch_add(sums.iter().sum(), std::sync::atomic::Ordering::Relaxed);
    }
}
