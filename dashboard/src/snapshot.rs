//! The queue at one instant, as JSON shows it. Pure: what was read comes in, what is shown comes out.
//!
//! Times are ms since 1970 by Redis's clock, ages are ms. Nothing here holds a password.

use std::collections::BTreeMap;

use puzzled_queue::{BatchId, BatchStatus, Paused, Presence, Priority, StreamState};
use puzzled_solver::{Kind, OutcomeKind};
use serde::Serialize;

/// Everything the dashboard knows.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Snapshot {
    /// Host and port of Redis, or its socket.
    pub server: String,
    /// When it was read; 0 before the first reading.
    pub time_ms: u64,
    /// Why there is nothing newer; `None` while readings succeed.
    pub stale: Option<String>,
    /// Sums over everything below.
    pub totals: Totals,
    /// One entry a kind and priority; hidden kinds only while they hold something.
    pub lanes: Vec<Lane>,
    /// Kinds that are held back, and since when (ms).
    pub paused: BTreeMap<&'static str, u64>,
    /// Workers alive, by name.
    pub workers: Vec<Worker>,
    /// The newest batches, newest first.
    pub batches: Vec<Batch>,
}

/// Sums over the whole queue.
#[derive(Clone, PartialEq, Default, Debug, Serialize)]
pub struct Totals {
    /// Jobs that no worker has claimed.
    pub waiting: u64,
    /// Jobs claimed and without outcome.
    pub running: u64,
    /// Chunks claimed or soon to be; what waits in a backlog is not among them.
    pub chunks: u64,
    /// Workers alive.
    pub workers: u64,
    /// Their solver threads.
    pub threads: u64,
    /// Those that are solving.
    pub busy: u64,
    /// Jobs finished a second by all workers.
    pub jobs_per_second: f64,
}

/// One kind at one priority.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Lane {
    /// Kind of puzzle.
    pub kind: &'static str,
    /// Priority.
    pub priority: &'static str,
    /// Jobs that no worker has claimed.
    pub waiting: u64,
    /// Jobs claimed and without outcome.
    pub running: u64,
    /// Chunks claimed or soon to be; what waits in a backlog is not among them.
    pub chunks: u64,
    /// Age of the oldest chunk that nobody has claimed; 0 when none waits.
    pub oldest_waiting_ms: u64,
}

/// A worker, and how hard it works.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Worker {
    /// What it last said of itself.
    #[serde(flatten)]
    pub presence: Presence,
    /// Share of its threads that were solving, 0 to 1.
    pub busy_share: f64,
    /// Jobs finished a second between its last two words; 0 until there are two.
    pub jobs_per_second: f64,
}

/// A batch, with the identity that must hold: `submitted = done + failed + cancelled + waiting + running`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Batch {
    /// Its id.
    pub id: BatchId,
    /// What is done with its puzzles.
    pub task: String,
    /// Priority.
    pub priority: &'static str,
    /// Its name for people.
    pub label: String,
    /// `open`, `running`, `finished` or `cancelled`.
    pub state: &'static str,
    /// Jobs accepted.
    pub submitted: u64,
    /// Jobs with an answer, or with the proof that there is none, or that cannot be read.
    pub done: u64,
    /// Jobs that could not be run to an end.
    pub failed: u64,
    /// Jobs cancelled.
    pub cancelled: u64,
    /// Jobs that no worker has claimed.
    pub waiting: u64,
    /// Jobs claimed and without outcome.
    pub running: u64,
    /// Whether the identity holds; anything but true is a bug.
    pub balanced: bool,
    /// Jobs by outcome.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// When it was opened.
    pub created_ms: u64,
    /// When its last outcome was recorded; 0 while unfinished.
    pub finished_ms: u64,
}

/// What one reading of the queue brought.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) time_ms: u64,
    pub(crate) streams: Vec<StreamState>,
    pub(crate) paused: Vec<Paused>,
    pub(crate) workers: Vec<Presence>,
    pub(crate) batches: Vec<BatchStatus>,
    pub(crate) dead_letters: u64,
}

impl Snapshot {
    /// What is shown before the first reading.
    pub(crate) fn unread(server: &str) -> Self {
        Self {
            server: server.to_owned(),
            time_ms: 0,
            stale: Some("the queue has not been read yet".to_owned()),
            totals: Totals::default(),
            lanes: Vec::new(),
            paused: BTreeMap::new(),
            workers: Vec::new(),
            batches: Vec::new(),
        }
    }

    /// What follows this snapshot: rates are the difference to it.
    pub(crate) fn next(&self, reading: Reading) -> Self {
        let lanes = lanes(&reading.streams);
        let workers: Vec<Worker> =
            reading.workers.into_iter().map(|presence| self.worker(presence)).collect();
        let totals = Totals {
            waiting: lanes.iter().map(|lane| lane.waiting).sum(),
            running: lanes.iter().map(|lane| lane.running).sum(),
            chunks: lanes.iter().map(|lane| lane.chunks).sum(),
            workers: workers.len() as u64,
            threads: workers.iter().map(|worker| u64::from(worker.presence.threads)).sum(),
            busy: workers.iter().map(|worker| u64::from(worker.presence.busy)).sum(),
            jobs_per_second: workers.iter().map(|worker| worker.jobs_per_second).sum(),
        };
        Self {
            server: self.server.clone(),
            time_ms: reading.time_ms,
            stale: None,
            totals,
            lanes: lanes.into_iter().filter(Lane::is_shown).collect(),
            paused: reading.paused.iter().map(|paused| (paused.kind.name(), paused.since_ms)).collect(),
            workers,
            batches: reading.batches.iter().map(Batch::from).collect(),
        }
    }

    fn worker(&self, presence: Presence) -> Worker {
        let before = self.workers.iter().find(|worker| worker.presence.worker == presence.worker);
        let jobs_per_second = before.map_or(0.0, |before| {
            match presence.seen_ms.saturating_sub(before.presence.seen_ms) {
                // It has said nothing since: what it did then still stands.
                0 => before.jobs_per_second,
                elapsed_ms => {
                    presence.jobs.saturating_sub(before.presence.jobs) as f64 * 1000.0 / elapsed_ms as f64
                }
            }
        });
        let busy_share = f64::from(presence.busy) / f64::from(presence.threads.max(1));
        Worker { presence, busy_share, jobs_per_second }
    }
}

/// Every kind and priority, in the order of [`Kind::ALL`] and [`Priority::ALL`], shards summed.
pub(crate) fn lanes(streams: &[StreamState]) -> Vec<Lane> {
    let mut lanes = Vec::new();
    for kind in Kind::ALL {
        for priority in Priority::ALL {
            let mut lane = Lane {
                kind: kind.name(),
                priority: priority.name(),
                waiting: 0,
                running: 0,
                chunks: 0,
                oldest_waiting_ms: 0,
            };
            let of_lane =
                |state: &&StreamState| state.stream.kind == kind && state.stream.priority == priority;
            for state in streams.iter().filter(of_lane) {
                lane.waiting += state.waiting;
                lane.running += state.running;
                lane.chunks += state.chunks;
                lane.oldest_waiting_ms = lane.oldest_waiting_ms.max(state.oldest_waiting_ms);
            }
            lanes.push(lane);
        }
    }
    lanes
}

impl Lane {
    fn is_shown(&self) -> bool {
        let public = Kind::parse(self.kind).is_some_and(Kind::is_public);
        public || self.waiting + self.running + self.chunks > 0
    }
}

impl From<&BatchStatus> for Batch {
    fn from(status: &BatchStatus) -> Self {
        let (failed, cancelled) =
            (status.outcome(OutcomeKind::Failed), status.outcome(OutcomeKind::Cancelled));
        let (done, waiting, running) = (status.done(), status.waiting(), status.running());
        Self {
            id: status.id,
            task: status.task.to_string(),
            priority: status.priority.name(),
            label: status.label.clone(),
            state: status.state(),
            submitted: status.submitted,
            done,
            failed,
            cancelled,
            waiting,
            running,
            balanced: status.submitted == done + failed + cancelled + waiting + running
                && status.recorded == status.outcomes.iter().sum::<u64>(),
            outcomes: OutcomeKind::ALL.iter().map(|kind| (kind.name(), status.outcome(*kind))).collect(),
            created_ms: status.created_ms,
            finished_ms: status.finished_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use puzzled_queue::StreamId;

    use super::*;

    fn presence(jobs: u64, seen_ms: u64) -> Presence {
        Presence {
            worker: "w".to_owned(),
            host: "h".to_owned(),
            version: "0".to_owned(),
            threads: 4,
            busy: 3,
            chunks: 5,
            jobs,
            started_ms: 0,
            paused: Vec::new(),
            seen_ms,
            ..Presence::default()
        }
    }

    fn stream(shard: u16, kind: Kind, waiting: u64, oldest_waiting_ms: u64) -> StreamState {
        let stream = StreamId { shard, kind, priority: Priority::Normal };
        StreamState { stream, waiting, running: 1, chunks: 2, pending: 1, oldest_waiting_ms }
    }

    fn reading(workers: Vec<Presence>) -> Reading {
        Reading {
            time_ms: 1,
            streams: Vec::new(),
            paused: Vec::new(),
            workers,
            batches: Vec::new(),
            dead_letters: 0,
        }
    }

    #[test]
    fn the_rate_is_the_difference_between_a_workers_words() {
        let first = Snapshot::unread("here").next(reading(vec![presence(100, 1_000)]));
        assert_eq!((first.totals.jobs_per_second, first.workers[0].busy_share), (0.0, 0.75));
        let second = first.next(reading(vec![presence(600, 1_500)]));
        assert_eq!(second.totals.jobs_per_second, 1_000.0);
        let silent = second.next(reading(vec![presence(600, 1_500)]));
        assert_eq!(silent.totals.jobs_per_second, 1_000.0);
        let idle = silent.next(reading(vec![presence(600, 2_500)]));
        assert_eq!(idle.totals.jobs_per_second, 0.0);
        assert_eq!(idle.next(reading(Vec::new())).totals.workers, 0);
    }

    #[test]
    fn shards_are_summed_and_a_hidden_kind_shows_only_while_it_holds_something() {
        let mut reading = reading(Vec::new());
        reading.streams = vec![stream(0, Kind::Sudoku, 10, 7), stream(1, Kind::Sudoku, 5, 9)];
        let snapshot = Snapshot::unread("here").next(reading.clone());
        let lane = snapshot.lanes.iter().find(|lane| lane.kind == "sudoku" && lane.waiting > 0).unwrap();
        assert_eq!((lane.waiting, lane.running, lane.chunks, lane.oldest_waiting_ms), (15, 2, 4, 9));
        assert_eq!((snapshot.totals.waiting, snapshot.lanes.len()), (15, 6));
        reading.streams.push(stream(0, Kind::Echo, 1, 1));
        assert_eq!(snapshot.next(reading).lanes.len(), 7);
    }
}
