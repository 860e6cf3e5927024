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

    /// What every stream holds, one entry a shard, kind and priority. Three round trips a shard, one while it is empty,
    /// whatever the number of kinds: dashboards ask once a second.
    ///
    /// # Errors
    /// What Redis said.
    pub async fn streams(&self, kinds: &[Kind]) -> Result<Vec<StreamState>, Error> {
        let mut states = Vec::new();
        for shard in 0..self.keys().shards() {
            let of_kind = |&kind| Priority::ALL.map(|priority| StreamId { shard, kind, priority });
            let streams: Vec<StreamId> = kinds.iter().flat_map(of_kind).collect();
            if streams.is_empty() {
                continue;
            }
            let start = states.len();
            states.append(&mut self.counts(shard, &streams).await?);
            let mut held: Vec<&mut StreamState> =
                states[start..].iter_mut().filter(|state| state.chunks > 0).collect();
            if !held.is_empty() {
                self.read_groups(shard, &mut held).await?;
            }
        }
        Ok(states)
    }

    /// The states of a shard's streams as far as mere counts go.
    async fn counts(&self, shard: u16, streams: &[StreamId]) -> Result<Vec<StreamState>, Error> {
        let depth = self.keys().depth(shard);
        let mut answers: Vec<Value> = self
            .link(shard)
            .run(Operation::Inspect, |_| {
                let mut pipe = redis::pipe();
                pipe.cmd("HMGET").arg(&depth);
                for stream in streams {
                    let field = depth_field(*stream);
                    pipe.arg(format!("{field}:waiting")).arg(format!("{field}:running"));
                }
                for stream in streams {
                    pipe.cmd("XLEN").arg(self.keys().stream(*stream));
                }
                pipe
            })
            .await?;
        let lengths = answers.split_off(1);
        let jobs = reply::items(answers.remove(0));
        let states = streams.iter().zip(jobs.chunks(2)).zip(&lengths);
        Ok(states
            .map(|((&stream, jobs), length)| StreamState {
                stream,
                waiting: jobs.first().map_or(0, unsigned),
                running: jobs.get(1).map_or(0, unsigned),
                chunks: unsigned(length),
                pending: 0,
                oldest_waiting_ms: 0,
            })
            .collect())
    }

    /// Adds to streams of a shard what their groups have taken, and how old the first is that they have not.
    async fn read_groups(&self, shard: u16, states: &mut [&mut StreamState]) -> Result<(), Error> {
        let streams: Vec<StreamId> = states.iter().map(|state| state.stream).collect();
        let mut delivered = Vec::new();
        for (state, groups) in states.iter_mut().zip(self.groups(shard, &streams).await?) {
            let group = reply::items(groups).into_iter().map(reply::pairs).find(|fields| {
                fields.iter().any(|(key, value)| reply::text(key) == "name" && reply::text(value) == GROUP)
            });
            let group = group.unwrap_or_default();
            let field =
                |name: &str| group.iter().find(|(key, _)| reply::text(key) == name).map(|(_, value)| value);
            delivered.push(field("last-delivered-id").map_or("0-0".to_owned(), reply::text));
            state.pending = field("pending").map_or(0, unsigned);
        }
        let mut answers: Vec<Value> = self
            .link(shard)
            .run(Operation::Inspect, |_| {
                let mut pipe = redis::pipe();
                pipe.cmd("TIME");
                for (stream, delivered) in streams.iter().zip(&delivered) {
                    let key = self.keys().stream(*stream);
                    pipe.cmd("XRANGE").arg(key).arg(format!("({delivered}")).arg("+").arg("COUNT").arg(1);
                }
                pipe
            })
            .await?;
        let next = answers.split_off(1);
        let time: Vec<u64> = reply::items(answers.remove(0)).iter().map(unsigned).collect();
        let [seconds, micros] = time[..] else {
            return Err(Error::Malformed(format!("unexpected answer to TIME: {time:?}")));
        };
        for (state, next) in states.iter_mut().zip(next) {
            let oldest = crate::consumer::waiting_since(next);
            state.oldest_waiting_ms =
                oldest.map_or(0, |oldest| (seconds * 1000 + micros / 1000).saturating_sub(oldest));
        }
        Ok(())
    }

    /// What XINFO GROUPS says of streams of a shard; nothing of one that has vanished since it was counted: flushed, or
    /// lost in a failover.
    async fn groups(&self, shard: u16, streams: &[StreamId]) -> Result<Vec<Value>, Error> {
        let ask = async |streams: &[StreamId]| -> Result<Vec<Value>, Error> {
            self.link(shard)
                .run(Operation::Inspect, |_| {
                    let mut pipe = redis::pipe();
                    for stream in streams {
                        pipe.cmd("XINFO").arg("GROUPS").arg(self.keys().stream(*stream));
                    }
                    pipe
                })
                .await
        };
        match ask(streams).await {
            // One that is gone fails the pipeline for all. That is rare: then each is asked for itself, rather than
            // looking for errors among the answers in a second way.
            Err(error) if is_gone(&error) => {}
            answers => return answers,
        }
        let mut all = Vec::with_capacity(streams.len());
        for stream in streams {
            match ask(std::slice::from_ref(stream)).await {
                Ok(mut answers) => all.push(answers.pop().unwrap_or(Value::Nil)),
                Err(error) if is_gone(&error) => all.push(Value::Nil),
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }
}

/// Whether the error says that there is no such stream.
fn is_gone(error: &Error) -> bool {
    is_no_group(error) || matches!(error, Error::Redis { reason, .. } if reason.contains("no such key"))
}

/// A count; 0 for what is none.
fn unsigned(value: &Value) -> u64 {
    reply::int(value).and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, LocalServer, ServerOptions};

    #[tokio::test]
    async fn a_stream_that_vanished_hides_no_other() {
        let server = LocalServer::start(&ServerOptions::default()).await.unwrap();
        let url = puzzled_service::Url::new(server.url());
        let queue = Queue::connect(&Config { url, ..Config::default() }).await.unwrap();
        let [gone, here, too] =
            Priority::ALL.map(|priority| StreamId { shard: 0, kind: Kind::Echo, priority });
        for stream in [here, too] {
            let key = queue.keys().stream(stream);
            let make = |_| {
                redis::pipe()
                    .cmd("XGROUP")
                    .arg("CREATE")
                    .arg(&key)
                    .arg(GROUP)
                    .arg("0")
                    .arg("MKSTREAM")
                    .clone()
            };
            let _: Value = queue.link(0).run(Operation::Other, make).await.unwrap();
        }
        let found = queue.groups(0, &[here, gone, too]).await.unwrap();
        let groups: Vec<usize> = found.into_iter().map(|groups| reply::items(groups).len()).collect();
        assert_eq!(groups, [1, 0, 1]);
    }
}
