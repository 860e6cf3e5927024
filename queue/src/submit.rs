//! Putting work on the queue: open a batch, add chunks, close it, cancel it.

use puzzled_solver::Task;
use redis::{Pipeline, Value};

use crate::connection::{Operation, Queue};
use crate::digest::Digest;
use crate::ids::{BatchId, Priority};
use crate::keys::StreamId;
use crate::scripts::{self, Mode};
use crate::wire::Payload;
use crate::{Error, reply};

/// A batch to be opened.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Its id; choose one yourself to make a submission repeatable.
    pub id: BatchId,
    /// What to do with every puzzle in it.
    pub task: Task,
    /// How urgent it is.
    pub priority: Priority,
    /// A name for people; any text.
    pub label: String,
    /// Whether results stay until somebody deletes them, instead of expiring.
    pub keep: bool,
    /// Jobs in a full chunk; 0 if it varies. Submitting again under one id must cut the input alike, since chunks are
    /// told apart by their numbers.
    pub chunk_jobs: u32,
    /// Most unclaimed jobs of it in the stream; the rest waits in its backlog, so that batches of one priority take
    /// turns. 0 takes 32 full chunks: with chunks of 20 ms that is what a newcomer waits for, two thirds of a second
    /// of one core.
    pub ahead_jobs: u32,
}

impl Batch {
    /// A batch of normal priority with a fresh id.
    pub fn new(task: Task) -> Self {
        Self {
            id: BatchId::new(),
            task,
            priority: Priority::default(),
            label: String::new(),
            keep: false,
            chunk_jobs: 0,
            ahead_jobs: 0,
        }
    }

    fn ahead(&self) -> u32 {
        // Of chunks that vary nothing is known but their most.
        let chunk_jobs = if self.chunk_jobs == 0 { crate::wire::JOBS_MAX } else { self.chunk_jobs };
        if self.ahead_jobs == 0 { chunk_jobs.saturating_mul(32) } else { self.ahead_jobs }
    }
}

/// Whether opening a batch made it or found it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opened {
    /// This call made it.
    New,
    /// It was there, with the same task and priority: a repeated submission.
    Existing(Existing),
}

/// What a batch holds that was there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Existing {
    /// Jobs in its full chunks: those who go on with it must cut the input alike. 0 if it varies.
    pub chunk_jobs: u32,
    /// Chunks accepted.
    pub chunks: u64,
    /// Jobs accepted.
    pub jobs: u64,
    /// Of those chunks; `None` if whoever submitted them told none.
    pub digest: Option<Digest>,
    /// Whether its input is complete.
    pub closed: bool,
}

/// A chunk to be added.
#[derive(Clone, Debug)]
pub struct NewChunk {
    /// Its number: 0 for the first of the batch, then without gaps.
    pub number: u64,
    /// Its puzzles.
    pub payload: Payload,
    /// Digest of the chunks before it. `None`: nobody will look whether this is the same input.
    pub before: Option<Digest>,
}

impl NewChunk {
    /// Numbers payloads from the first one of a batch on.
    pub fn number(payloads: impl IntoIterator<Item = Payload>) -> impl Iterator<Item = Self> {
        payloads.into_iter().scan((0, Digest::default()), |(next, digest), payload| {
            let chunk = Self { number: *next, before: Some(*digest), payload };
            (*next, *digest) = (*next + 1, digest.then(&chunk.payload));
            Some(chunk)
        })
    }

    fn after(&self) -> String {
        text_of(self.before.map(|before| before.then(&self.payload)))
    }
}

fn text_of(digest: Option<Digest>) -> String {
    digest.map(|digest| digest.to_string()).unwrap_or_default()
}

impl Queue {
    /// Opens a batch. Repeating it is harmless. One that exists keeps the size of its chunks: see [`Existing::chunk_jobs`].
    ///
    /// # Errors
    /// [`Error::Taken`] when the id belongs to a batch of another task or priority; else what Redis said.
    pub async fn create(&self, batch: &Batch) -> Result<Opened, Error> {
        let (answer,): (Vec<Value>,) = self
            .link_to(batch.id)
            .run(Operation::Submit, |mode| {
                let mut pipe = redis::pipe();
                self.create_call(&mut pipe, mode, batch);
                pipe
            })
            .await?;
        let task = batch.task.to_string();
        match &answer[..] {
            [made] if reply::int(made) == Some(1) => Ok(Opened::New),
            [_, old_task, old_priority, chunk_jobs, chunks, jobs, digest, closed] => {
                let (old_task, old_priority) = (reply::text(old_task), reply::text(old_priority));
                if old_task != task || old_priority != batch.priority.name() {
                    return Err(Error::Taken { id: batch.id, task: old_task, priority: old_priority });
                }
                let number = |value| reply::int(value).and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
                let digest = Some(reply::text(digest)).filter(|text| !text.is_empty());
                Ok(Opened::Existing(Existing {
                    chunk_jobs: u32::try_from(number(chunk_jobs)).unwrap_or(0),
                    chunks: number(chunks),
                    jobs: number(jobs),
                    digest: digest.map(|text| text.parse()).transpose()?,
                    closed: number(closed) == 1,
                }))
            }
            other => Err(reply::unexpected("create", other)),
        }
    }

    /// Adds chunks in order and, with `close`, says that no more will come. Returns the number of the chunk that
    /// the batch expects next. Repeating it is harmless: chunks accepted before are passed over.
    ///
    /// Without chunks, `close` ends the batch with what it has: send that only once everything before is confirmed.
    ///
    /// # Errors
    /// [`Error::Full`] adds nothing: wait and repeat. [`Error::Gap`] names the chunk to send next.
    /// [`Error::NoBatch`], [`Error::Cancelled`], [`Error::Closed`], [`Error::Differs`] are final. Else what Redis said.
    pub async fn enqueue(&self, batch: &Batch, chunks: &[NewChunk], close: bool) -> Result<u64, Error> {
        let mut answers: Vec<Vec<Value>> = self
            .link_to(batch.id)
            .run_as(Operation::Submit, mode_of(chunks), |mode| {
                let mut pipe = redis::pipe();
                self.enqueue_call(&mut pipe, mode, batch, chunks, close);
                pipe
            })
            .await?;
        self.enqueued(batch.id, &answers.pop().unwrap_or_default())
    }

    /// Opens a batch under a fresh id, adds all its chunks and closes it, in one round trip: for the few puzzles
    /// somebody waits for. `batch.id` must be fresh ([`Batch::new`]), since nothing here looks at a former owner.
    ///
    /// # Errors
    /// As [`Queue::enqueue`].
    pub async fn submit(&self, batch: &Batch, chunks: &[NewChunk]) -> Result<u64, Error> {
        let mut answers: Vec<Vec<Value>> = self
            .link_to(batch.id)
            .run_as(Operation::Submit, mode_of(chunks), |mode| {
                let mut pipe = redis::pipe();
                self.create_call(&mut pipe, mode, batch);
                self.enqueue_call(&mut pipe, mode, batch, chunks, true);
                pipe
            })
            .await?;
        self.enqueued(batch.id, &answers.pop().unwrap_or_default())
    }

    /// Cancels a batch: every job that has no outcome yet is recorded as cancelled, at once. Returns how many.
    /// Cancelling a finished batch changes nothing.
    ///
    /// # Errors
    /// [`Error::NoBatch`], else what Redis said.
    pub async fn cancel(&self, id: BatchId) -> Result<u64, Error> {
        let status = self.status(id).await?;
        let stream =
            StreamId { shard: self.keys().shard(id), kind: status.task.kind(), priority: status.priority };
        let (count,): (i64,) = self
            .link_to(id)
            .run(Operation::Submit, |mode| {
                let mut pipe = redis::pipe();
                self.cancel_call(&mut pipe, mode, stream, id);
                pipe
            })
            .await?;
        u64::try_from(count).map_err(|_| Error::NoBatch(id))
    }

    pub(crate) fn cancel_call(&self, pipe: &mut Pipeline, mode: Mode, stream: StreamId, id: BatchId) {
        let keys = self.keys();
        let (depth, record) = (keys.depth(stream.shard), keys.batch(id));
        let (payload, result, layout) = (keys.payload(id), keys.result(id), keys.layout(id));
        let backlog = keys.backlog(id);
        scripts::CANCEL
            .call(pipe, mode, &[&depth, &record, &payload, &result, &layout, &backlog])
            .arg(keys.notice(id))
            .arg(depth_field(stream));
    }

    pub(crate) fn create_call(&self, pipe: &mut Pipeline, mode: Mode, batch: &Batch) {
        let keys = self.keys();
        let shard = keys.shard(batch.id);
        scripts::CREATE
            .call(pipe, mode, &[&keys.batch(batch.id), &keys.batches(shard), &keys.names(shard)])
            .arg(1)
            .arg(batch.id.to_string())
            .arg(batch.task.to_string())
            .arg(batch.priority.name())
            .arg(&batch.label)
            .arg(u8::from(batch.keep))
            .arg(self.config().retention_s.saturating_mul(1000))
            .arg(batch.chunk_jobs)
            .arg(batch.ahead());
    }

    pub(crate) fn enqueue_call(
        &self,
        pipe: &mut Pipeline,
        mode: Mode,
        batch: &Batch,
        chunks: &[NewChunk],
        close: bool,
    ) {
        let keys = self.keys();
        let shard = batch.id.shard(keys.shards());
        let stream = StreamId { shard, kind: batch.task.kind(), priority: batch.priority };
        let (stream_key, depth, record) = (keys.stream(stream), keys.depth(shard), keys.batch(batch.id));
        let (payload, result, layout) =
            (keys.payload(batch.id), keys.result(batch.id), keys.layout(batch.id));
        let backlog = keys.backlog(batch.id);
        for chunk in chunks.iter().filter(|chunk| !chunk.payload.is_inline()) {
            pipe.atomic();
            pipe.cmd("HSETNX").arg(&payload).arg(chunk.number).arg(&chunk.payload.bytes[..]).ignore();
        }
        scripts::ENQUEUE
            .call(pipe, mode, &[&stream_key, &depth, &record, &payload, &result, &layout, &backlog])
            .arg(batch.id.to_string())
            .arg(keys.notice(batch.id))
            .arg(depth_field(stream))
            .arg(self.depth_limit())
            .arg(u8::from(close))
            .arg(text_of(chunks.first().and_then(|chunk| chunk.before)));
        for chunk in chunks {
            let inline = if chunk.payload.is_inline() { &chunk.payload.bytes[..] } else { b"" };
            pipe.arg(chunk.number).arg(chunk.payload.jobs).arg(inline).arg(chunk.after());
        }
    }

    fn depth_limit(&self) -> u64 {
        match self.config().depth_jobs_max {
            0 => u64::MAX >> 12, // exact as a Lua number
            limit => limit,
        }
    }

    pub(crate) fn enqueued(&self, id: BatchId, answer: &[Value]) -> Result<u64, Error> {
        let number = || answer.get(1).and_then(reply::int).and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
        match answer.first().map(reply::text).as_deref() {
            Some("ok") => Ok(number()),
            Some("full") => Err(Error::Full { unfinished: number(), limit: self.depth_limit() }),
            Some("gap" | "lost") => Err(Error::Gap { id, expected: number() }),
            Some("gone") => Err(Error::NoBatch(id)),
            Some("cancelled") => Err(Error::Cancelled(id)),
            Some("closed") => Err(Error::Closed(id)),
            Some("differs") => Err(Error::Differs { id, chunks: number() }),
            _ => Err(reply::unexpected("enqueue", answer)),
        }
    }
}

/// Alone, the script is atomic and may be named by its hash; beside a store, both must happen or neither.
fn mode_of(chunks: &[NewChunk]) -> Mode {
    if chunks.iter().all(|chunk| chunk.payload.is_inline()) { Mode::Hash } else { Mode::Text }
}

/// Where a stream's unfinished jobs are counted in the depth hash.
pub(crate) fn depth_field(stream: StreamId) -> String {
    format!("{}:{}", stream.kind.name(), stream.priority.name())
}
