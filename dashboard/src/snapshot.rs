//! The queue at one instant, as JSON shows it. Pure: what was read comes in, what is shown comes out.
//!
//! Times are ms since 1970 by Redis's clock, ages are ms. Nothing here holds a password.

use std::collections::BTreeMap;

use puzzled_queue::{BatchId, BatchStatus, Finding, Presence, Priority, StreamState, Vitals};
use puzzled_solver::{Kind, OutcomeKind};
use serde::Serialize;

use crate::history::Counts;
use crate::pace;

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
    /// Jobs finished a second by task, the busiest first; those of the last minute.
    pub tasks: Vec<TaskRate>,
    /// Jobs finished in the last minute, by outcome.
    pub last_minute: BTreeMap<&'static str, u64>,
    /// Workers heard of in the last minute, by name; those alive count in the totals.
    pub workers: Vec<Worker>,
    /// The newest batches, newest first.
    pub batches: Vec<Batch>,
    /// Dead letters kept.
    pub dead_letters: u64,
    /// What a person should know, the worst first; each with its remedy.
    pub warnings: Vec<Finding>,
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
    /// Age of the oldest chunk that nobody has claimed; 0 when none waits.
    pub oldest_waiting_ms: u64,
    /// Until nothing waits or runs, at the pace of the last half minute; `null` when nothing does, or nothing moves.
    pub drained_in_ms: Option<u64>,
}

/// What is done of one task.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TaskRate {
    /// Its name, without options.
    pub task: String,
    /// Jobs finished a second, averaged over the last five readings.
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
    /// Whether it was heard of in the last seconds.
    pub alive: bool,
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
    /// Whether its results, or some, were taken away by the `solve` that submitted it.
    pub collected: bool,
    /// Jobs finished a second: as seen lately, or the mean since it was opened; 0 when it moves no more.
    pub jobs_per_second: f64,
    /// Until it is done, at that pace; `null` when it is, has no pace, or is still open.
    pub done_in_ms: Option<u64>,
    /// Jobs by outcome.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// When it was opened.
    pub created_ms: u64,
    /// When its last outcome was recorded; 0 while unfinished.
    pub finished_ms: u64,
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
            tasks: Vec::new(),
            last_minute: BTreeMap::new(),
            workers: Vec::new(),
            batches: Vec::new(),
            dead_letters: 0,
            warnings: Vec::new(),
        }
    }

    /// What follows this snapshot: rates are the difference to it. What only time tells is left to the feed.
    pub(crate) fn next(&self, vitals: Vitals, batches: Vec<Batch>) -> Self {
        let lanes = lanes(&vitals.streams);
        let time_ms = vitals.time_ms;
        let paused = vitals.paused.iter().map(|paused| (paused.kind.name(), paused.since_ms)).collect();
        let workers: Vec<Worker> =
            vitals.workers.into_iter().map(|presence| self.worker(presence, time_ms)).collect();
        let alive = || workers.iter().filter(|worker| worker.alive);
        let totals = Totals {
            waiting: lanes.iter().map(|lane| lane.waiting).sum(),
            running: lanes.iter().map(|lane| lane.running).sum(),
            chunks: lanes.iter().map(|lane| lane.chunks).sum(),
            workers: alive().count() as u64,
            threads: alive().map(|worker| u64::from(worker.presence.threads)).sum(),
            busy: alive().map(|worker| u64::from(worker.presence.busy)).sum(),
            jobs_per_second: alive().map(|worker| worker.jobs_per_second).sum(),
            oldest_waiting_ms: lanes.iter().map(|lane| lane.oldest_waiting_ms).max().unwrap_or(0),
            drained_in_ms: None,
        };
        Self {
            server: self.server.clone(),
            time_ms,
            stale: None,
            totals,
            lanes: lanes.into_iter().filter(Lane::is_shown).collect(),
            paused,
            tasks: Vec::new(),
            last_minute: BTreeMap::new(),
            workers,
            batches,
            dead_letters: vitals.dead_letters,
            warnings: Vec::new(),
        }
    }

    fn worker(&self, presence: Presence, now_ms: u64) -> Worker {
        let alive = presence.is_alive(now_ms);
        let before = self.workers.iter().find(|worker| worker.presence.worker == presence.worker);
        let jobs_per_second = before.filter(|_| alive).map_or(0.0, |before| {
            match presence.seen_ms.saturating_sub(before.presence.seen_ms) {
                // It has said nothing since: what it did then still stands.
                0 => before.jobs_per_second,
                elapsed_ms => {
                    presence.jobs.saturating_sub(before.presence.jobs) as f64 * 1000.0 / elapsed_ms as f64
                }
            }
        });
        let busy_share = f64::from(presence.busy) / f64::from(presence.threads.max(1));
        Worker { presence, alive, busy_share, jobs_per_second }
    }

    /// Jobs that workers say they finished since the snapshot before, by task and outcome. A worker that was not there then
    /// counts from its start, one that is gone no more.
    pub(crate) fn finished_since(&self, before: &Snapshot) -> BTreeMap<String, Counts> {
        let mut finished: BTreeMap<String, Counts> = BTreeMap::new();
        for worker in &self.workers {
            let former =
                before.workers.iter().find(|former| former.presence.worker == worker.presence.worker);
            // What it did before we first looked was no work of this second.
            let Some(former) = former else { continue };
            for (task, counts) in &worker.presence.done {
                let former = former.presence.done.get(task);
                for (i, sum) in finished.entry(task.clone()).or_default().iter_mut().enumerate() {
                    let at = |counts: &Vec<u64>| counts.get(i).copied().unwrap_or(0);
                    *sum += at(counts).saturating_sub(former.map_or(0, at));
                }
            }
        }
        finished
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

impl Batch {
    /// Whether it may still change.
    pub(crate) fn is_going(&self) -> bool {
        matches!(self.state, "open" | "running")
    }

    /// A batch as it stands, going at `jobs_per_second`.
    pub(crate) fn new(status: &BatchStatus, jobs_per_second: f64) -> Self {
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
            collected: status.collected > 0,
            jobs_per_second,
            done_in_ms: pace::left_ms(status, jobs_per_second),
            outcomes: OutcomeKind::ALL.iter().map(|kind| (kind.name(), status.outcome(*kind))).collect(),
            created_ms: status.created_ms,
            finished_ms: status.finished_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use puzzled_queue::{ALIVE_MS, StreamId};

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
            kinds: Vec::new(),
            done: [("echo".to_owned(), vec![jobs])].into(),
            seen_ms,
        }
    }

    fn stream(shard: u16, kind: Kind, waiting: u64, oldest_waiting_ms: u64) -> StreamState {
        let stream = StreamId { shard, kind, priority: Priority::Normal };
        StreamState { stream, waiting, running: 1, chunks: 2, pending: 1, oldest_waiting_ms }
    }

    fn vitals(time_ms: u64, workers: Vec<Presence>) -> Vitals {
        let (streams, paused) = (Vec::new(), Vec::new());
        Vitals { time_ms, streams, paused, workers, dead_letters: 3, dead_letters_recent: 0 }
    }

    #[test]
    fn the_rate_is_the_difference_between_a_workers_words() {
        let next = |before: &Snapshot, time_ms, workers| before.next(vitals(time_ms, workers), Vec::new());
        let first = next(&Snapshot::unread("here"), 1_000, vec![presence(100, 1_000)]);
        assert_eq!((first.totals.jobs_per_second, first.workers[0].busy_share), (0.0, 0.75));
        assert!(first.finished_since(&Snapshot::unread("here")).is_empty(), "done before we looked");
        let second = next(&first, 1_500, vec![presence(600, 1_500)]);
        assert_eq!(second.totals.jobs_per_second, 1_000.0);
        assert_eq!(second.finished_since(&first)["echo"][0], 500);
        let silent = next(&second, 1_600, vec![presence(600, 1_500)]);
        assert_eq!((silent.totals.jobs_per_second, silent.dead_letters), (1_000.0, 3));
        let idle = next(&silent, 2_500, vec![presence(600, 2_500)]);
        assert_eq!(idle.totals.jobs_per_second, 0.0);
        let dead = next(&second, 1_501 + ALIVE_MS, vec![presence(600, 1_500)]);
        assert_eq!((dead.totals.workers, dead.totals.jobs_per_second, dead.workers.len()), (0, 0.0, 1));
        assert_eq!(next(&idle, 3_000, Vec::new()).totals.workers, 0);
    }

    #[test]
    fn shards_are_summed_and_a_hidden_kind_shows_only_while_it_holds_something() {
        let mut vitals = vitals(1, Vec::new());
        vitals.streams = vec![stream(0, Kind::Sudoku, 10, 7), stream(1, Kind::Sudoku, 5, 9)];
        let snapshot = Snapshot::unread("here").next(vitals.clone(), Vec::new());
        let lane = snapshot.lanes.iter().find(|lane| lane.kind == "sudoku" && lane.waiting > 0).unwrap();
        assert_eq!((lane.waiting, lane.running, lane.chunks, lane.oldest_waiting_ms), (15, 2, 4, 9));
        let totals = &snapshot.totals;
        assert_eq!((totals.waiting, totals.oldest_waiting_ms, snapshot.lanes.len()), (15, 9, 6));
        vitals.streams.push(stream(0, Kind::Echo, 1, 1));
        assert_eq!(snapshot.next(vitals, Vec::new()).lanes.len(), 7);
    }
}
