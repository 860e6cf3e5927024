//! Reading the queue without changing it: a batch's state, where a job is, what waits.

use puzzled_solver::{Kind, OutcomeKind, Task};
use redis::Value;

use crate::connection::{Operation, Queue, is_no_group};
use crate::ids::{BatchId, Priority};
use crate::keys::{GROUP, StreamId};
use crate::submit::depth_field;
use crate::{Error, reply};

/// A batch as it was at one instant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BatchStatus {
    /// Its id.
    pub id: BatchId,
    /// What is done with its puzzles.
    pub task: Task,
    /// How urgent it is.
    pub priority: Priority,
    /// Its name for people.
    pub label: String,
    /// Jobs accepted so far.
    pub submitted: u64,
    /// Chunks accepted so far.
    pub chunks: u64,
    /// Jobs of chunks that were claimed at least once.
    pub claimed: u64,
    /// Jobs that have their outcome.
    pub recorded: u64,
    /// Those by outcome, in the order of [`OutcomeKind::ALL`].
    pub outcomes: [u64; OutcomeKind::ALL.len()],
    /// Whether the input is complete.
    pub closed: bool,
    /// Whether it was cancelled.
    pub cancelled: bool,
    /// Chunks below this number were collected and dropped.
    pub collected: u64,
    /// Whether its results stay until deleted.
    pub keep: bool,
    /// Server time of creation, ms since 1970.
    pub created_ms: u64,
    /// Server time of the last outcome of a closed batch, ms since 1970; 0 while unfinished.
    pub finished_ms: u64,
}

impl BatchStatus {
    /// Jobs with this outcome.
    pub fn outcome(&self, kind: OutcomeKind) -> u64 {
        OutcomeKind::ALL.iter().position(|&k| k == kind).map_or(0, |i| self.outcomes[i])
    }

    /// Jobs that ended with an answer or with the proof that there is none, or that cannot be read.
    pub fn done(&self) -> u64 {
        let apart = self.outcome(OutcomeKind::Failed) + self.outcome(OutcomeKind::Cancelled);
        self.recorded.saturating_sub(apart)
    }

    /// Jobs not claimed yet.
    pub fn waiting(&self) -> u64 {
        self.submitted.saturating_sub(self.claimed)
    }

    /// Jobs claimed and without outcome.
    pub fn running(&self) -> u64 {
        self.claimed.saturating_sub(self.recorded)
    }

    /// Whether every job has its outcome and none will be added.
    pub fn finished(&self) -> bool {
        self.finished_ms > 0
    }

    /// One word: `open`, `running`, `finished` or `cancelled`.
    pub fn state(&self) -> &'static str {
        match (self.cancelled, self.finished(), self.closed) {
            (true, ..) => "cancelled",
            (_, true, _) => "finished",
            (_, _, true) => "running",
            _ => "open",
        }
    }
}

/// Where a job is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Number of the chunk.
    pub chunk: u64,
    /// Index of that chunk's first job.
    pub first: u64,
    /// Jobs in that chunk.
    pub jobs: u64,
}

/// What one kind and priority holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StreamState {
    /// The stream.
    pub stream: StreamId,
    /// Jobs not claimed yet.
    pub waiting: u64,
    /// Jobs claimed and without outcome.
    pub running: u64,
    /// Chunks claimed or soon to be; what waits in a backlog is not among them.
    pub chunks: u64,
    /// Chunks claimed and not completed.
    pub pending: u64,
    /// Age of the oldest chunk that nobody has claimed, in ms; 0 when none waits.
    pub oldest_waiting_ms: u64,
}

impl Queue {
    /// A batch's state.
    ///
    /// # Errors
    /// [`Error::NoBatch`], else what Redis said.
    pub async fn status(&self, id: BatchId) -> Result<BatchStatus, Error> {
        let (value,): (Value,) = self
            .link_to(id)
            .run(Operation::Inspect, |_| {
                let mut pipe = redis::pipe();
                status_call(self, &mut pipe, id);
                pipe
            })
            .await?;
        decode_status(id, value)
    }

    /// The newest batches, newest first, at most `count`.
    ///
    /// # Errors
    /// What Redis said.
    pub async fn recent(&self, count: usize) -> Result<Vec<BatchStatus>, Error> {
        let mut ids: Vec<(u64, BatchId)> = Vec::new();
        for shard in 0..self.keys().shards() {
            let key = self.keys().batches(shard);
            let (rows,): (Vec<(String, f64)>,) = self
                .link(shard)
                .run(Operation::Inspect, |_| {
                    let mut pipe = redis::pipe();
                    pipe.cmd("ZREVRANGE").arg(&key).arg(0).arg(count.saturating_sub(1)).arg("WITHSCORES");
                    pipe
                })
                .await?;
            for (id, created_ms) in rows {
                if let Ok(id) = id.parse() {
                    ids.push((created_ms as u64, id));
                }
            }
        }
        ids.sort_unstable_by(|a, b| b.cmp(a));
        ids.truncate(count);
        self.statuses(&ids.into_iter().map(|(_, id)| id).collect::<Vec<_>>()).await
    }

    /// Those of these batches that are there, newest first.
    pub(crate) async fn statuses(&self, ids: &[BatchId]) -> Result<Vec<BatchStatus>, Error> {
        let mut found = Vec::new();
        for shard in 0..self.keys().shards() {
            let here: Vec<BatchId> =
                ids.iter().copied().filter(|id| self.keys().shard(*id) == shard).collect();
            if here.is_empty() {
                continue;
            }
            let values: Vec<Value> = self
                .link(shard)
                .run(Operation::Inspect, |_| {
                    let mut pipe = redis::pipe();
                    for id in &here {
                        status_call(self, &mut pipe, *id);
                    }
                    pipe
                })
                .await?;
            // A batch may expire between the two reads.
            found.extend(here.iter().zip(values).filter_map(|(id, value)| decode_status(*id, value).ok()));
        }
        found.sort_unstable_by_key(|status| std::cmp::Reverse((status.created_ms, status.id)));
        Ok(found)
    }

    /// The chunk that holds job `index` of a batch, `None` when the batch has not come that far.
    ///
    /// # Errors
    /// [`Error::NoBatch`], else what Redis said.
    pub async fn span_at(&self, id: BatchId, index: u64) -> Result<Option<Span>, Error> {
        let (batch, layout) = (self.keys().batch(id), self.keys().layout(id));
        let (record, before, after): (Vec<Option<String>>, Vec<String>, Vec<String>) = self
            .link_to(id)
            .run(Operation::Inspect, |_| {
                let mut pipe = redis::pipe();
                pipe.cmd("HMGET").arg(&batch).arg("submitted").arg("layout");
                pipe.cmd("ZREVRANGEBYSCORE").arg(&layout).arg(index).arg(0).arg("LIMIT").arg(0).arg(1);
                pipe.cmd("ZRANGEBYSCORE")
                    .arg(&layout)
                    .arg(format!("({index}"))
                    .arg("+inf")
                    .arg("LIMIT")
                    .arg(0)
                    .arg(1);
                pipe
            })
            .await?;
        let [Some(submitted), newest] = &record[..] else { return Err(Error::NoBatch(id)) };
        let submitted: u64 = number(submitted)?;
        if index >= submitted {
            return Ok(None);
        }
        let newest = newest.as_deref().map(segment).transpose()?;
        let older = before.first().map(|text| segment(text)).transpose()?;
        let next = after.first().map(|text| segment(text)).transpose()?;
        // The newest run of equal chunks stands in the record, the ones before it in the sorted set.
        let (run, limit) = match newest {
            Some(run) if index >= run.first => (run, submitted),
            _ => match older {
                Some(run) => (run, next.or(newest).map_or(submitted, |next| next.first)),
                None => return Err(Error::Malformed(format!("batch {id} has no layout for job {index}"))),
            },
        };
        let place = (index - run.first) / run.jobs.max(1);
        let first = run.first + place * run.jobs;
        Ok(Some(Span { chunk: run.chunk + place, first, jobs: run.jobs.min(limit - first) }))
    }

    /// What every stream holds, one entry a shard, kind and priority.
    ///
    /// # Errors
    /// What Redis said.
    pub async fn streams(&self, kinds: &[Kind]) -> Result<Vec<StreamState>, Error> {
        let mut states = Vec::new();
        for shard in 0..self.keys().shards() {
            for &kind in kinds {
                for priority in Priority::ALL {
                    states.push(self.stream_state(StreamId { shard, kind, priority }).await?);
                }
            }
        }
        Ok(states)
    }

    async fn stream_state(&self, stream: StreamId) -> Result<StreamState, Error> {
        let (key, depth, field) =
            (self.keys().stream(stream), self.keys().depth(stream.shard), depth_field(stream));
        let (jobs, chunks): (Vec<Option<i64>>, u64) = self
            .link(stream.shard)
            .run(Operation::Inspect, |_| {
                let mut pipe = redis::pipe();
                pipe.cmd("HMGET").arg(&depth).arg(format!("{field}:waiting")).arg(format!("{field}:running"));
                pipe.cmd("XLEN").arg(&key);
                pipe
            })
            .await?;
        let jobs_at =
            |i: usize| jobs.get(i).copied().flatten().and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
        let mut state = StreamState {
            stream,
            waiting: jobs_at(0),
            running: jobs_at(1),
            chunks,
            pending: 0,
            oldest_waiting_ms: 0,
        };
        if chunks == 0 {
            return Ok(state);
        }
        let groups: Result<(Value,), Error> = self
            .link(stream.shard)
            .run(Operation::Inspect, |_| {
                let mut pipe = redis::pipe();
                pipe.cmd("XINFO").arg("GROUPS").arg(&key);
                pipe
            })
            .await;
        let groups = match groups {
            Ok((groups,)) => reply::items(groups),
            Err(Error::Redis { reason, .. }) if reason.contains("no such key") => Vec::new(),
            Err(error) if is_no_group(&error) => Vec::new(),
            Err(error) => return Err(error),
        };
        let mut delivered = "0-0".to_owned();
        for group in groups {
            let fields = reply::pairs(group);
            let field =
                |name: &str| fields.iter().find(|(key, _)| reply::text(key) == name).map(|(_, value)| value);
            if field("name").map(reply::text).as_deref() == Some(GROUP) {
                delivered = field("last-delivered-id").map(reply::text).unwrap_or(delivered);
                state.pending =
                    field("pending").and_then(reply::int).and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
            }
        }
        let (time, next): (Vec<u64>, Value) = self
            .link(stream.shard)
            .run(Operation::Inspect, |_| {
                let mut pipe = redis::pipe();
                pipe.cmd("TIME");
                pipe.cmd("XRANGE").arg(&key).arg(format!("({delivered}")).arg("+").arg("COUNT").arg(1);
                pipe
            })
            .await?;
        let oldest = crate::consumer::waiting_since(next);
        if let (Some(oldest), [seconds, micros]) = (oldest, &time[..]) {
            state.oldest_waiting_ms = (seconds * 1000 + micros / 1000).saturating_sub(oldest);
        }
        Ok(state)
    }
}

/// A run of chunks of one size.
#[derive(Clone, Copy)]
struct Segment {
    chunk: u64,
    first: u64,
    jobs: u64,
}

fn segment(text: &str) -> Result<Segment, Error> {
    let parts: Vec<u64> = text.split(':').map(number).collect::<Result<_, _>>()?;
    match parts[..] {
        [chunk, first, jobs] => Ok(Segment { chunk, first, jobs }),
        _ => Err(Error::Malformed(format!("'{text}' is not a layout"))),
    }
}

fn number(text: &str) -> Result<u64, Error> {
    text.parse().map_err(|_| Error::Malformed(format!("'{text}' is not a number")))
}

const STATUS_FIELDS: [&str; 12] = [
    "task",
    "priority",
    "label",
    "submitted",
    "chunks",
    "claimed",
    "recorded",
    "closed",
    "cancelled_ms",
    "collected",
    "created_ms",
    "finished_ms",
];

pub(crate) fn status_call(queue: &Queue, pipe: &mut redis::Pipeline, id: BatchId) {
    pipe.cmd("HMGET").arg(queue.keys().batch(id)).arg(&STATUS_FIELDS[..]).arg("keep");
    for kind in OutcomeKind::ALL {
        pipe.arg(kind.name());
    }
}

pub(crate) fn decode_status(id: BatchId, value: Value) -> Result<BatchStatus, Error> {
    let fields = reply::items(value);
    let text = |i: usize| fields.get(i).map(reply::text).unwrap_or_default();
    let count =
        |i: usize| fields.get(i).and_then(reply::int).and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
    if text(0).is_empty() {
        return Err(Error::NoBatch(id));
    }
    let mut outcomes = [0; OutcomeKind::ALL.len()];
    for (i, outcome) in outcomes.iter_mut().enumerate() {
        *outcome = count(STATUS_FIELDS.len() + 1 + i);
    }
    Ok(BatchStatus {
        id,
        task: text(0).parse().map_err(|_| Error::UnknownTask(text(0)))?,
        priority: text(1).parse().map_err(|_| Error::Malformed(format!("priority '{}'", text(1))))?,
        label: text(2),
        submitted: count(3),
        chunks: count(4),
        claimed: count(5),
        recorded: count(6),
        outcomes,
        closed: count(7) == 1,
        cancelled: count(8) > 0,
        collected: count(9),
        created_ms: count(10),
        finished_ms: count(11),
        keep: count(STATUS_FIELDS.len()) == 1,
    })
}
