//! Chunks whose worker died: solved one job at a time under a note in Redis, until the one that kills is found.
//!
//! A job that was in hand at as many deaths as it may have attempts (the first one, in its chunk's crowd, counts) fails and
//! becomes a dead letter; all others of its chunk get their outcomes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use puzzled_queue::wire::{self, Encoding, PayloadReader, PayloadWriter};
use puzzled_queue::{Claimed, Error, Hold, Interest, JobId, Sighting, Trial};
use puzzled_solver::{OutcomeKind, Outcomes};
use tokio_util::sync::CancellationToken;

use crate::Shared;
use crate::retry::retry;
use crate::solve::{PoolChunk, PoolResult};

/// Pause before a job that was at one death; doubles with each further one. A random part of it is waited, so that
/// workers that died together do not come back together.
const FIRST_BACKOFF: Duration = Duration::from_secs(1);
const LAST_BACKOFF: Duration = Duration::from_secs(60);

/// Solves a chunk on trial, and tells at which jobs workers died. `None` when it was stopped: nothing is held against the
/// job then in hand.
pub(crate) async fn solve(
    shared: &Shared,
    claimed: &Claimed,
    payload: &Bytes,
    wait_us: u64,
    interest: &Arc<Interest>,
) -> Result<Option<(PoolResult, Vec<Sighting>)>, Error> {
    let stop_now = shared.shutdown.stopping_now();
    let chunk = claimed.chunk;
    let Ok(read) = PayloadReader::parse(payload, chunk.jobs) else {
        // Nothing in it can be told apart; the pool says why, and runs none of it.
        let whole = PoolChunk { first: chunk.first, jobs: chunk.jobs, payload: payload.clone(), wait_us };
        let results = shared.pool.solve(vec![whole], interest.clone()).await;
        return Ok(results.and_then(|mut results| results.pop()).map(|solved| (solved, Vec::new())));
    };
    let mut trial = retry("trial", &stop_now, || shared.queue.trial(chunk)).await?;
    if let Some(suspect) = trial.suspect.take()
        && suspect.worker != shared.name
    {
        let job = JobId { batch: chunk.batch, index: chunk.first + u64::from(suspect.place) };
        tracing::warn!(%job, worker = suspect.worker, "a worker fell silent with this job in hand");
        trial.deaths.push(suspect);
    }
    let (mut solve_us, mut panics, mut finished) = (0, 0, None);
    for (place, line) in (0..chunk.jobs).zip(read.lines()) {
        if trial.outcomes.contains_key(&place) {
            continue;
        }
        let deaths = trial.deaths_at(place).count();
        if deaths + 1 >= shared.attempts_max {
            let reason = format!("its worker died {} times with it in hand", deaths + 1);
            // It follows from the deaths, which are stored.
            trial.outcomes.insert(place, (OutcomeKind::Failed, reason.into_bytes()));
            continue;
        }
        if deaths > 0 && !pause(deaths, &stop_now).await {
            return give_up(shared, claimed, trial, finished).await;
        }
        let at_ms = shared.clock.server_ms();
        trial.suspect = Some(Sighting { place, worker: shared.name.clone(), at_ms });
        retry("trial", &stop_now, || shared.queue.save_trial(&trial, finished)).await?;
        let mut writer = PayloadWriter::new(&read.task, Encoding::Text);
        writer.push(|out| out.extend_from_slice(line));
        let alone = PoolChunk {
            first: chunk.first + u64::from(place),
            jobs: 1,
            payload: writer.take().bytes,
            wait_us,
        };
        let solved =
            shared.pool.solve(vec![alone], interest.clone()).await.and_then(|mut results| results.pop());
        let stopped = interest.stop().load(std::sync::atomic::Ordering::Acquire);
        let Some(solved) = solved.filter(|_| !stopped) else {
            return give_up(shared, claimed, trial, None).await;
        };
        let (_, outcomes) = wire::decode_result(&solved.result)?;
        let outcome = outcomes.get(0);
        trial.outcomes.insert(place, (outcome.kind, outcome.text.to_vec()));
        (solve_us, panics, finished) = (solve_us + solved.solve_us, panics + solved.panics, Some(place));
    }
    let mut outcomes = Outcomes::new();
    for (kind, text) in trial.outcomes.values() {
        outcomes.push(*kind, text);
    }
    let facts = wire::Solved { first: chunk.first, worker: shared.name.clone(), wait_us, solve_us };
    let solved = PoolResult {
        result: wire::encode_result(&facts, chunk.jobs, outcomes.records(0..outcomes.len()), read.encoding),
        counts: outcomes.counts(),
        solve_us,
        task: Some(read.task),
        panics,
    };
    Ok(Some((solved, trial.deaths)))
}

/// Takes our name off the job in hand: we live, and hand the chunk back. Of a chunk that is somebody else's by now the note is
/// theirs.
async fn give_up(
    shared: &Shared,
    claimed: &Claimed,
    mut trial: Trial,
    finished: Option<u32>,
) -> Result<Option<(PoolResult, Vec<Sighting>)>, Error> {
    if shared.leases.hold(claimed) != Hold::Lost {
        trial.suspect = None;
        shared.queue.save_trial(&trial, finished).await?;
    }
    Ok(None)
}

/// Waits for a random part of the backoff. False when the worker is to stop.
async fn pause(deaths: usize, stop_now: &CancellationToken) -> bool {
    let doublings = u32::try_from(deaths - 1).unwrap_or(u32::MAX).min(6);
    let longest = (FIRST_BACKOFF * 2_u32.pow(doublings)).min(LAST_BACKOFF);
    let pause = longest.mul_f64(fastrand::f64());
    tokio::select! {
        () = stop_now.cancelled() => false,
        () = tokio::time::sleep(pause) => true,
    }
}
