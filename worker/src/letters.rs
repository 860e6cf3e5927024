//! Dead letters of the jobs in a solved chunk that failed.

use bytes::Bytes;
use puzzled_queue::wire::{self, PayloadReader};
use puzzled_queue::{Attempt, Claimed, DeadLetter, JobId, Sighting};
use puzzled_solver::OutcomeKind;

use crate::Shared;
use crate::solve::PoolResult;

/// One letter for each failed job. `deaths` are those the chunk's trial found. A payload or result that cannot be read has
/// none: nothing of it could be tried again.
pub(crate) fn of_chunk(
    shared: &Shared,
    claimed: &Claimed,
    payload: &Bytes,
    solved: &PoolResult,
    deaths: &[Sighting],
) -> Vec<DeadLetter> {
    if solved.counts[OutcomeKind::Failed.index()] == 0 {
        return Vec::new();
    }
    let (Ok(read), Ok((_, outcomes))) =
        (PayloadReader::parse(payload, claimed.chunk.jobs), wire::decode_result(&solved.result))
    else {
        return Vec::new();
    };
    let at_ms = shared.clock.server_ms();
    let jobs = (0_u32..).zip(read.lines()).zip(outcomes.iter());
    jobs.filter(|(_, outcome)| outcome.kind == OutcomeKind::Failed)
        .map(|((place, line), outcome)| {
            let reason = String::from_utf8_lossy(outcome.text).into_owned();
            let mut history = history(deaths.iter().filter(|death| death.place == place));
            // Else it was not even tried again.
            if history.len() < shared.attempts_max {
                history.push(Attempt { worker: shared.name.clone(), at_ms, end: reason.clone() });
            }
            DeadLetter {
                job: JobId { batch: claimed.chunk.batch, index: claimed.chunk.first + u64::from(place) },
                task: read.task.to_string(),
                puzzle: String::from_utf8_lossy(line).into_owned(),
                reason,
                history,
                at_ms,
            }
        })
        .collect()
}

/// The attempts that a job's deaths tell of. Before the first one alone there was one in its chunk's crowd.
fn history<'a>(deaths: impl Iterator<Item = &'a Sighting>) -> Vec<Attempt> {
    let alone: Vec<Attempt> = deaths
        .map(|death| Attempt {
            worker: death.worker.clone(),
            at_ms: death.at_ms,
            end: "the worker died with this job in hand".to_owned(),
        })
        .collect();
    if alone.is_empty() {
        return alone;
    }
    let crowd = Attempt {
        worker: String::new(),
        at_ms: 0,
        end: "the worker died with the whole chunk in hand".to_owned(),
    };
    std::iter::once(crowd).chain(alone).collect()
}
