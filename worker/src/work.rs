//! The life of a piece of work: fetch the payloads, solve them on one thread, record the outcomes.
//!
//! One task runs it from claim to record and holds a permit all the while, so that memory and leases are bounded by
//! the number of permits. Whatever goes wrong for good on the way leaves the chunks pending: their leases run out and
//! another worker takes them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use puzzled_queue::{
    BatchId, ChunkRef, Claimed, Completed, Content, DeadLetter, Error, Fetched, Hold, Interest, Recorded,
    Sighting, StreamId,
};
use puzzled_solver::{OutcomeKind, Task};
use tokio::sync::OwnedSemaphorePermit;

use crate::Shared;
use crate::retry::retry;
use crate::solve::{PoolChunk, PoolResult, failed_chunk};
use crate::{letters, trial};

/// Chunks of one stream, claimed together.
pub(crate) struct Work {
    pub(crate) stream: StreamId,
    pub(crate) chunks: Vec<Claimed>,
    pub(crate) interest: Arc<Interest>,
    pub(crate) claimed_ms: u64,
    /// Shared by the pieces of one claim; free again when the last is done.
    pub(crate) permit: Arc<OwnedSemaphorePermit>,
}

/// Solved chunks of one batch, to be recorded together.
struct Done {
    batch: BatchId,
    /// What was done; `None` if no payload says.
    task: Option<Task>,
    chunks: Vec<Completed>,
}

/// What is to be done with the chunks of a piece.
#[derive(Default)]
struct End {
    done: Vec<Done>,
    unwanted: Vec<Claimed>,
    letters: Vec<DeadLetter>,
}

impl End {
    /// Takes a solved chunk, and writes dead letters of those of its jobs that failed.
    fn finish(
        &mut self,
        shared: &Shared,
        claimed: Claimed,
        payload: &Bytes,
        solved: PoolResult,
        deaths: &[Sighting],
    ) {
        self.letters.extend(letters::of_chunk(shared, &claimed, payload, &solved, deaths));
        self.push(claimed, solved);
    }

    fn push(&mut self, claimed: Claimed, solved: PoolResult) {
        let PoolResult { task, counts, result, .. } = solved;
        let batch = claimed.chunk.batch;
        let chunk = Completed { claimed, counts, result };
        match self.done.iter_mut().find(|done| done.batch == batch) {
            // A batch has one task.
            Some(done) => {
                done.task = done.task.take().or(task);
                done.chunks.push(chunk);
            }
            None => self.done.push(Done { batch, task, chunks: vec![chunk] }),
        }
    }
}

/// Whether these chunks, of one piece, are a single one whose worker died.
fn on_trial(chunks: &[Claimed]) -> bool {
    chunks.first().is_some_and(|chunk| chunk.attempt >= 2)
}

impl Work {
    /// Enters the leases of freshly claimed chunks and cuts them into pieces of work: one a stream, and one for each chunk
    /// whose worker died.
    pub(crate) fn pieces(shared: &Shared, claimed: Vec<Claimed>, permit: OwnedSemaphorePermit) -> Vec<Work> {
        let permit = Arc::new(permit);
        let claimed_ms = shared.clock.server_ms();
        let mut groups: Vec<(StreamId, Vec<Claimed>)> = Vec::new();
        for chunk in claimed {
            let group =
                groups.iter_mut().find(|(stream, chunks)| *stream == chunk.stream && !on_trial(chunks));
            match group {
                Some((_, chunks)) if chunk.attempt < 2 => chunks.push(chunk),
                _ => groups.push((chunk.stream, vec![chunk])),
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
        let fetch = || shared.queue.fetch(self.stream, &self.chunks);
        let mut end = End::default();
        if !on_trial(&self.chunks) && self.chunks.iter().all(|chunk| chunk.payload.is_some()) {
            // Everything came with the entries: solve while Redis is told. Should it answer that nobody wants them,
            // recording drops them as well.
            let here = self.chunks.iter().filter_map(|chunk| Some((chunk.clone(), chunk.payload.clone()?)));
            let (told, ()) =
                tokio::join!(retry("fetch", &stop_now, fetch), self.solve(shared, here.collect(), &mut end));
            told?;
        } else {
            let mut to_solve = Vec::new();
            for Fetched { claimed, content } in retry("fetch", &stop_now, fetch).await? {
                match content {
                    Content::Payload(payload) => to_solve.push((claimed, payload)),
                    Content::Unwanted => end.unwanted.push(claimed),
                    Content::Missing => {
                        tracing::error!(chunk = ?claimed.chunk, "a payload is gone from Redis; its jobs fail");
                        let reason = "the puzzle was deleted from Redis before it was solved";
                        let failed =
                            failed_chunk(&shared.name, &self.pool_chunk(&claimed, Bytes::new()), reason);
                        end.push(claimed, failed);
                    }
                }
            }
            if on_trial(&self.chunks) {
                self.try_alone(shared, to_solve, &mut end).await?;
            } else {
                self.solve(shared, to_solve, &mut end).await;
            }
        }
        if !end.unwanted.is_empty() {
            retry("drop", &stop_now, || shared.queue.drop_unwanted(self.stream, &end.unwanted)).await?;
        }
        if !end.letters.is_empty() {
            retry("bury", &stop_now, || shared.queue.bury(&end.letters)).await?;
            shared.metrics.dead_letters.inc_by(end.letters.len() as u64);
        }
        self.record(shared, &end.done).await?;
        if on_trial(&self.chunks) {
            retry("trial", &stop_now, || shared.queue.close_trial(self.chunks[0].chunk)).await?;
        }
        Ok(())
    }

    /// Solves a chunk whose worker died, one job at a time.
    async fn try_alone(
        &self,
        shared: &Shared,
        chunks: Vec<(Claimed, Bytes)>,
        end: &mut End,
    ) -> Result<(), Error> {
        for (claimed, payload) in chunks {
            let waited = self.waited_ms(&claimed);
            shared.observe_claimed(&claimed, Duration::from_millis(waited));
            let solved = trial::solve(shared, &claimed, &payload, waited * 1_000, &self.interest).await?;
            match (solved, shared.leases.hold(&claimed)) {
                (Some((solved, deaths)), Hold::Wanted) => {
                    let elapsed = Duration::from_micros(solved.solve_us.max(1));
                    let results = std::slice::from_ref(&solved);
                    shared.observe_solved(self.stream.kind, elapsed, u64::from(claimed.chunk.jobs), results);
                    end.finish(shared, claimed, &payload, solved, &deaths);
                }
                (_, Hold::Cancelled) => end.unwanted.push(claimed),
                _ => {}
            }
        }
        Ok(())
    }

    /// Solves chunks side by side, and sorts them by what is to be done with them.
    async fn solve(&self, shared: &Shared, chunks: Vec<(Claimed, Bytes)>, end: &mut End) {
        if chunks.is_empty() {
            return;
        }
        let jobs: u64 = chunks.iter().map(|(claimed, _)| u64::from(claimed.chunk.jobs)).sum();
        let mut to_solve = Vec::with_capacity(chunks.len());
        let (mut solvable, mut payloads) =
            (Vec::with_capacity(chunks.len()), Vec::with_capacity(chunks.len()));
        for (claimed, payload) in chunks {
            shared.observe_claimed(&claimed, Duration::from_millis(self.waited_ms(&claimed)));
            to_solve.push(self.pool_chunk(&claimed, payload.clone()));
            payloads.push(payload);
            solvable.push(claimed);
        }
        let results = shared.pool.solve(to_solve, self.interest.clone()).await;
        let stopped = self.interest.stop().load(Ordering::Acquire);
        let Some(results) = results.filter(|_| !stopped) else {
            // Stopped half way: what came back says "cancelled" of jobs nobody cancelled. Only what really was
            // cancelled is taken off; the rest is handed back or belongs to somebody else.
            solvable.retain(|claimed| shared.leases.hold(claimed) == Hold::Cancelled);
            end.unwanted.append(&mut solvable);
            return;
        };
        let solve_us: u64 = results.iter().map(|result| result.solve_us).sum();
        let elapsed = Duration::from_micros(solve_us.max(1));
        shared.pace.observe(self.stream.kind, solvable.len(), elapsed);
        shared.observe_solved(self.stream.kind, elapsed, jobs, &results);
        for (claimed, result) in solvable.iter().zip(&results) {
            if let Some(task) = &result.task {
                shared.costs.observe(task, claimed.chunk.jobs.into(), Duration::from_micros(result.solve_us));
            }
        }
        for ((claimed, payload), solved) in solvable.into_iter().zip(payloads).zip(results) {
            match shared.leases.hold(&claimed) {
                Hold::Wanted => end.finish(shared, claimed, &payload, solved, &[]),
                Hold::Cancelled => end.unwanted.push(claimed),
                Hold::Lost => {}
            }
        }
    }

    fn pool_chunk(&self, claimed: &Claimed, payload: Bytes) -> PoolChunk {
        let ChunkRef { first, jobs, .. } = claimed.chunk;
        PoolChunk { first, jobs, payload, wait_us: self.waited_ms(claimed) * 1_000 }
    }

    fn waited_ms(&self, claimed: &Claimed) -> u64 {
        self.claimed_ms.saturating_sub(claimed.since_ms)
    }

    async fn record(&self, shared: &Shared, done: &[Done]) -> Result<(), Error> {
        let stop_now = shared.shutdown.stopping_now();
        for done in done {
            let complete = || shared.queue.complete(self.stream, done.batch, &done.chunks);
            let recorded = retry("complete", &stop_now, complete).await?;
            self.count(shared, done, recorded);
        }
        Ok(())
    }

    fn count(&self, shared: &Shared, done: &Done, recorded: Recorded) {
        if recorded.conflicts > 0 {
            tracing::error!(conflicts = recorded.conflicts, "outcomes were stored apart from their counters");
            shared.metrics.result_conflicts.inc_by(recorded.conflicts);
        }
        let mut sums = [0_u64; OutcomeKind::ALL.len()];
        for chunk in &done.chunks {
            for (sum, &count) in sums.iter_mut().zip(&chunk.counts) {
                *sum += u64::from(count);
            }
        }
        // Repeated or dropped chunks are rare and were counted by whoever recorded them; the metric counts work done.
        let kind = shared.kind_metrics(self.stream.kind);
        for (counter, sum) in kind.jobs.iter().zip(sums) {
            counter.inc_by(sum);
        }
        let task = done.task.as_ref().map_or_else(|| self.stream.kind.name().to_owned(), Task::name);
        shared.tally.add(task, &sums);
    }
}
