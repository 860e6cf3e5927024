//! Claiming: one reader a shard asks Redis for chunks, weighted by priority.
//!
//! Every claim is one round trip. It reads from one stream that is known to hold work, chosen by weight, and in
//! the same command from all streams that were empty last time, so that an urgent chunk is seen at the next claim
//! and an idle reader blocks on everything at once, without polling. The price: a claim may return up to `count`
//! chunks of each stream that has just woken up, a bounded and rare excess.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use bytes::Bytes;
use puzzled_solver::Kind;
use redis::{Pipeline, Value};

use crate::connection::{Operation, Queue, Reader, is_no_group};
use crate::ids::{BatchId, ChunkRef, Priority};
use crate::keys::{GROUP, StreamId};
use crate::scripts::{self, Mode};
use crate::{Error, reply};

/// How long one blocking read waits. Bounds how late a dead connection is noticed, and keeps Redis's notion of
/// this consumer fresh.
const BLOCK: Duration = Duration::from_secs(5);

/// The same while some streams are left out: how soon they are looked at again.
const BLOCK_PARTLY: Duration = Duration::from_millis(250);

/// Id of a stream entry: server time of its enqueueing in ms, and a sequence number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EntryId {
    /// Server time, ms since 1970.
    pub ms: u64,
    /// Tells entries of one ms apart.
    pub seq: u64,
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.ms, self.seq)
    }
}

impl FromStr for EntryId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parse = || {
            let (ms, seq) = text.split_once('-')?;
            Some(Self { ms: ms.parse().ok()?, seq: seq.parse().ok()? })
        };
        parse().ok_or_else(|| Error::Malformed(format!("'{text}' is not an entry id")))
    }
}

/// A chunk this consumer may work on until its lease runs out.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Claimed {
    /// The stream it came from.
    pub stream: StreamId,
    /// Its entry.
    pub entry: EntryId,
    /// The chunk.
    pub chunk: ChunkRef,
    /// Since when it waits, server time in ms: the time of its entry, or earlier if a backlog held it back.
    pub since_ms: u64,
    /// Which attempt at it this is. From 2 on a worker died with it, or at least fell silent for a lease; handing a chunk
    /// back spends no attempt.
    pub attempt: u32,
    /// Its payload, if that is short enough to travel with the entry.
    pub payload: Option<Bytes>,
}

/// Reads the streams of one shard under one consumer name.
pub struct Consumer {
    queue: Queue,
    name: String,
    shard: u16,
    streams: Vec<Stream>,
    reader: Option<Reader>,
    /// Set once a connection broke: what was delivered into the void must be found again.
    may_have_ghosts: bool,
}

struct Stream {
    id: StreamId,
    key: String,
    /// Whether the last read that included it found work.
    active: bool,
    /// Smooth weighted round robin: the stream with the most credit is next.
    credit: i32,
}

impl Consumer {
    /// A consumer of these kinds on one shard. `name` must be new at every start of a process.
    ///
    /// # Errors
    /// What Redis said.
    pub async fn open(queue: &Queue, name: &str, shard: u16, kinds: &[Kind]) -> Result<Self, Error> {
        let mut streams = Vec::new();
        for priority in Priority::ALL {
            for &kind in kinds {
                let id = StreamId { shard, kind, priority };
                streams.push(Stream { id, key: queue.keys().stream(id), active: false, credit: 0 });
            }
        }
        let consumer = Self {
            queue: queue.clone(),
            name: name.to_owned(),
            shard,
            streams,
            reader: None,
            may_have_ghosts: false,
        };
        consumer.create_groups().await?;
        Ok(consumer)
    }

    /// The streams it reads.
    pub fn streams(&self) -> impl Iterator<Item = StreamId> + '_ {
        self.streams.iter().map(|stream| stream.id)
    }

    /// Waits for work and claims it. `count` says how many chunks of a stream to take at once, 0 to leave it out
    /// for now (it is asked again and again while this waits; what was being read when it changed its mind may still
    /// come); `held` tells the entries that the caller already holds. Dropping the future is safe: what Redis had delivered meanwhile is
    /// found by the next call or given back by [`Queue::release_all`].
    ///
    /// # Errors
    /// What Redis said; call again after a pause.
    pub async fn claim(
        &mut self,
        count: impl Fn(StreamId) -> usize,
        held: impl Fn(StreamId, EntryId) -> bool,
    ) -> Result<Vec<Claimed>, Error> {
        loop {
            let mut reader = match self.reader.take() {
                Some(reader) => reader,
                None => self.queue.open_reader(self.shard).await?,
            };
            if self.may_have_ghosts {
                let found = self.adopt(&held).await?;
                self.may_have_ghosts = false;
                if !found.is_empty() {
                    self.reader = Some(reader);
                    return Ok(found);
                }
            }
            // While the read runs the connection is not in `self`: a dropped future drops the connection too.
            self.may_have_ghosts = true;
            let answer = self.read(&mut reader, &count).await;
            match answer {
                Ok(claimed) => {
                    self.may_have_ghosts = false;
                    self.reader = Some(reader);
                    if !claimed.is_empty() {
                        return Ok(claimed);
                    }
                }
                Err(error) if is_no_group(&error) => {
                    tracing::warn!("consumer groups are gone (flushed or failed over); creating them again");
                    self.create_groups().await?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn read(
        &mut self,
        reader: &mut Reader,
        count: impl Fn(StreamId) -> usize,
    ) -> Result<Vec<Claimed>, Error> {
        let open: Vec<usize> = (0..self.streams.len()).filter(|&i| count(self.streams[i].id) > 0).collect();
        let block = if open.len() < self.streams.len() { BLOCK_PARTLY } else { BLOCK };
        if open.is_empty() {
            tokio::time::sleep(block).await;
            return Ok(Vec::new());
        }
        let picked = self.pick(&open);
        let others_active = open.iter().any(|&i| self.streams[i].active && Some(i) != picked);
        let asked: Vec<usize> =
            open.iter().copied().filter(|&i| Some(i) == picked || !self.streams[i].active).collect();
        let wanted = count(self.streams[picked.unwrap_or(open[0])].id).max(1);
        let mut cmd = redis::cmd("XREADGROUP");
        cmd.arg("GROUP").arg(GROUP).arg(&self.name).arg("COUNT").arg(wanted);
        if !others_active {
            cmd.arg("BLOCK").arg(block.as_millis() as u64);
        }
        cmd.arg("STREAMS");
        for &i in &asked {
            cmd.arg(&self.streams[i].key);
        }
        for _ in &asked {
            cmd.arg(">");
        }
        let answer = reader.query(&cmd, BLOCK + Duration::from_secs(2)).await?;
        for &i in &asked {
            self.streams[i].active = false;
        }
        let mut claimed = Vec::new();
        let mut malformed = Vec::new();
        for (key, entries) in streams_of(answer) {
            let Some(stream) = self.streams.iter_mut().find(|s| s.key.as_bytes() == key.as_slice()) else {
                continue;
            };
            let before = claimed.len();
            decode_entries(stream.id, entries, &mut claimed, &mut malformed);
            stream.active = claimed.len() > before;
        }
        self.queue.discard(malformed).await?;
        Ok(claimed)
    }

    /// The active stream, of these, whose turn it is.
    fn pick(&mut self, open: &[usize]) -> Option<usize> {
        let mut total = 0;
        let active: Vec<usize> = open.iter().copied().filter(|&i| self.streams[i].active).collect();
        for &i in &active {
            let stream = &mut self.streams[i];
            stream.credit += stream.id.priority.weight();
            total += stream.id.priority.weight();
        }
        let best = active.into_iter().max_by_key(|&i| {
            // Of equals the first, which is the more urgent.
            (self.streams[i].credit, std::cmp::Reverse(i))
        })?;
        self.streams[best].credit -= total;
        Some(best)
    }

    /// Finds entries that Redis holds under our name but whose delivery we never saw.
    async fn adopt(&self, held: impl Fn(StreamId, EntryId) -> bool) -> Result<Vec<Claimed>, Error> {
        let mut found = Vec::new();
        for stream in &self.streams {
            let pending = self.queue.pending_of(stream.id, &self.name).await?;
            let ghosts: Vec<EntryId> = pending.into_iter().filter(|&entry| !held(stream.id, entry)).collect();
            if ghosts.is_empty() {
                continue;
            }
            tracing::info!(stream = %stream.key, count = ghosts.len(), "took over deliveries lost with a connection");
            let (entries,): (Value,) = self
                .queue
                .link(stream.id.shard)
                .run(Operation::Claim, |_| {
                    let mut pipe = redis::pipe();
                    pipe.cmd("XCLAIM").arg(&stream.key).arg(GROUP).arg(&self.name).arg(0);
                    for entry in &ghosts {
                        pipe.arg(entry.to_string());
                    }
                    pipe
                })
                .await?;
            let mut malformed = Vec::new();
            decode_entries(stream.id, entries, &mut found, &mut malformed);
            self.queue.discard(malformed).await?;
        }
        Ok(found)
    }

    async fn create_groups(&self) -> Result<(), Error> {
        for stream in &self.streams {
            self.queue.create_group(stream.id.shard, &stream.key).await?;
        }
        Ok(())
    }
}

/// Result of one pass over expired leases.
#[derive(Debug, Default)]
pub struct Reclaimed {
    /// Chunks now leased to us.
    pub claimed: Vec<Claimed>,
    /// Entries that were pending but no longer exist: somebody trimmed the stream, and jobs are lost.
    pub lost: u64,
}

impl Queue {
    /// Takes over at most `count` chunks of a stream whose lease has run out, wherever they hide in the pending list.
    ///
    /// # Errors
    /// What Redis said.
    pub async fn reclaim(&self, stream: StreamId, consumer: &str, count: usize) -> Result<Reclaimed, Error> {
        let key = self.keys().stream(stream);
        let mut reclaimed = Reclaimed::default();
        let mut malformed = Vec::new();
        let mut cursor = "0-0".to_owned();
        loop {
            let wanted = count.saturating_sub(reclaimed.claimed.len());
            if wanted == 0 {
                break;
            }
            let answer = self
                .link(stream.shard)
                .run::<(Value,)>(Operation::Reclaim, |_| {
                    let mut pipe = redis::pipe();
                    pipe.cmd("XAUTOCLAIM").arg(&key).arg(GROUP).arg(consumer).arg(self.config().lease_ms);
                    pipe.arg(&cursor).arg("COUNT").arg(wanted);
                    pipe
                })
                .await;
            let answer = match answer {
                Err(error) if is_no_group(&error) => {
                    self.create_group(stream.shard, &key).await?;
                    break;
                }
                answer => answer?.0,
            };
            let mut parts = reply::items(answer).into_iter();
            cursor = parts.next().map(|v| reply::text(&v)).unwrap_or_default();
            decode_entries(stream, parts.next().unwrap_or_default(), &mut reclaimed.claimed, &mut malformed);
            reclaimed.lost += parts.next().map_or(0, |deleted| reply::items(deleted).len() as u64);
            // One call scans at most ten times COUNT pending entries; 0-0 says that it reached the end.
            if cursor == "0-0" || cursor.is_empty() {
                break;
            }
        }
        self.discard(malformed).await?;
        self.read_attempts(&key, stream.shard, &mut reclaimed.claimed).await?;
        Ok(reclaimed)
    }

    /// Asks how often chunks just taken over were delivered: XAUTOCLAIM does not say.
    async fn read_attempts(&self, key: &str, shard: u16, claimed: &mut [Claimed]) -> Result<(), Error> {
        if claimed.is_empty() {
            return Ok(());
        }
        let rows: Vec<Value> = self
            .link(shard)
            .run(Operation::Reclaim, |_| {
                let mut pipe = redis::pipe();
                for chunk in claimed.iter() {
                    let entry = chunk.entry.to_string();
                    pipe.cmd("XPENDING").arg(key).arg(GROUP).arg(&entry).arg(&entry).arg(1);
                }
                pipe
            })
            .await?;
        for (chunk, row) in claimed.iter_mut().zip(rows) {
            let row = reply::items(row).into_iter().next().map(reply::items).unwrap_or_default();
            // Gone meanwhile: whatever is recorded of it will not count.
            chunk.attempt = row.get(3).and_then(reply::int).and_then(|n| u32::try_from(n).ok()).unwrap_or(1);
        }
        Ok(())
    }

    /// Extends leases. Returns those that are no longer ours.
    ///
    /// # Errors
    /// What Redis said: the leases may or may not be extended.
    pub(crate) async fn renew_on(
        &self,
        link: &crate::connection::Link,
        stream: StreamId,
        consumer: &str,
        entries: &[EntryId],
    ) -> Result<Vec<EntryId>, Error> {
        let key = self.keys().stream(stream);
        let mut lost = Vec::new();
        for part in entries.chunks(SCRIPT_ITEMS_MAX) {
            let (gone,): (Vec<String>,) = link
                .run(Operation::Renew, |mode| {
                    let mut pipe = redis::pipe();
                    scripts::RENEW.call(&mut pipe, mode, &[&key]).arg(GROUP).arg(consumer);
                    for entry in part {
                        pipe.arg(entry.to_string());
                    }
                    pipe
                })
                .await?;
            for id in gone {
                lost.push(id.parse()?);
            }
        }
        Ok(lost)
    }

    /// Hands back everything that Redis still holds under this consumer's name, spending no attempt, and takes the
    /// name off the group. Returns how many chunks were handed back. For a worker that has stopped claiming.
    ///
    /// # Errors
    /// What Redis said; the leases then run out by themselves.
    pub async fn release_all(&self, consumer: &str, streams: &[StreamId]) -> Result<u64, Error> {
        let mut released = 0;
        for &stream in streams {
            loop {
                let pending = self.pending_of(stream, consumer).await?;
                if pending.is_empty() {
                    break;
                }
                let count = self.release(stream, consumer, &pending).await?;
                released += count;
                if count == 0 {
                    break;
                }
            }
            self.forget(stream, consumer).await?;
        }
        Ok(released)
    }

    /// Hands back some of what this consumer holds of a stream, spending no attempt. Returns how many chunks that were.
    ///
    /// # Errors
    /// What Redis said; the leases then run out by themselves.
    pub async fn release(&self, stream: StreamId, consumer: &str, entries: &[EntryId]) -> Result<u64, Error> {
        let mut released = 0;
        for part in entries.chunks(SCRIPT_ITEMS_MAX) {
            let (count,): (u64,) = self
                .link(stream.shard)
                .run(Operation::Release, |mode| {
                    let mut pipe = redis::pipe();
                    self.release_call(&mut pipe, mode, stream, consumer, part);
                    pipe
                })
                .await?;
            released += count;
        }
        Ok(released)
    }

    pub(crate) fn release_call(
        &self,
        pipe: &mut Pipeline,
        mode: Mode,
        stream: StreamId,
        consumer: &str,
        entries: &[EntryId],
    ) {
        let key = self.keys().stream(stream);
        scripts::RELEASE
            .call(pipe, mode, &[&key])
            .arg(GROUP)
            .arg(consumer)
            .arg(crate::keys::RELEASED)
            .arg(self.config().lease_ms.saturating_mul(1000));
        for entry in entries {
            pipe.arg(entry.to_string());
        }
    }

    /// Takes a consumer's name off a group unless entries are pending under it.
    pub(crate) async fn forget(&self, stream: StreamId, consumer: &str) -> Result<bool, Error> {
        let answer: Result<(i64,), Error> = self
            .link(stream.shard)
            .run(Operation::Release, |mode| {
                let mut pipe = redis::pipe();
                self.forget_call(&mut pipe, mode, stream, consumer);
                pipe
            })
            .await;
        match answer {
            Ok((deleted,)) => Ok(deleted == 1),
            Err(error) if is_no_group(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn forget_call(&self, pipe: &mut Pipeline, mode: Mode, stream: StreamId, consumer: &str) {
        let key = self.keys().stream(stream);
        scripts::FORGET.call(pipe, mode, &[&key]).arg(GROUP).arg(consumer);
    }

    /// Entries pending under a consumer's name, at most as many as one script call may handle.
    async fn pending_of(&self, stream: StreamId, consumer: &str) -> Result<Vec<EntryId>, Error> {
        let key = self.keys().stream(stream);
        let answer: Result<(Value,), Error> = self
            .link(stream.shard)
            .run(Operation::Claim, |_| {
                let mut pipe = redis::pipe();
                pipe.cmd("XPENDING")
                    .arg(&key)
                    .arg(GROUP)
                    .arg("-")
                    .arg("+")
                    .arg(SCRIPT_ITEMS_MAX)
                    .arg(consumer);
                pipe
            })
            .await;
        let rows = match answer {
            Ok((rows,)) => reply::items(rows),
            Err(error) if is_no_group(&error) => Vec::new(),
            Err(error) => return Err(error),
        };
        rows.into_iter()
            .filter_map(|row| reply::items(row).into_iter().next())
            .map(|id| reply::text(&id).parse())
            .collect()
    }

    /// Makes a stream and its group. The group begins at 0: beginning at `$` would skip what is already there.
    pub(crate) async fn create_group(&self, shard: u16, key: &str) -> Result<(), Error> {
        let made: Result<(), Error> = self
            .link(shard)
            .run(Operation::Claim, |_| {
                let mut pipe = redis::pipe();
                pipe.cmd("XGROUP").arg("CREATE").arg(key).arg(GROUP).arg("0").arg("MKSTREAM").ignore();
                pipe
            })
            .await;
        match made {
            Err(Error::Redis { reason, .. }) if reason.contains("BUSYGROUP") => Ok(()),
            other => other,
        }
    }

    /// Removes entries that are not chunks: no job can hang on them, and left alone they would come back for ever.
    async fn discard(&self, malformed: Vec<(StreamId, EntryId)>) -> Result<(), Error> {
        for (stream, entry) in malformed {
            let key = self.keys().stream(stream);
            tracing::error!(stream = %key, %entry, "dropped an entry that does not follow docs/protocol.md");
            let entry = entry.to_string();
            self.link(stream.shard)
                .run::<()>(Operation::Claim, |_| {
                    let mut pipe = redis::pipe();
                    pipe.cmd("XACK").arg(&key).arg(GROUP).arg(&entry).ignore();
                    pipe.cmd("XDEL").arg(&key).arg(&entry).ignore();
                    pipe
                })
                .await?;
        }
        Ok(())
    }
}

/// Most items one script call handles: a script blocks the server, and Lua's `unpack` has its limit.
pub(crate) const SCRIPT_ITEMS_MAX: usize = 1_000;

fn streams_of(answer: Value) -> Vec<(Vec<u8>, Value)> {
    let pairs = match answer {
        Value::Map(pairs) => pairs,
        Value::Array(rows) => rows
            .into_iter()
            .filter_map(|row| {
                let mut row = reply::items(row).into_iter();
                Some((row.next()?, row.next()?))
            })
            .collect(),
        _ => Vec::new(),
    };
    pairs
        .into_iter()
        .filter_map(|(key, entries)| match key {
            Value::BulkString(key) => Some((key, entries)),
            _ => None,
        })
        .collect()
}

/// Since when the first of these entries waits, server time in ms.
pub(crate) fn waiting_since(entries: Value) -> Option<u64> {
    let mut row = reply::items(reply::items(entries).into_iter().next()?).into_iter();
    let entry: EntryId = reply::text(&row.next()?).parse().ok()?;
    let mut fields = row.next().map(reply::items).unwrap_or_default();
    Some(take_tail(&mut fields).0.unwrap_or(entry.ms))
}

fn decode_entries(
    stream: StreamId,
    entries: Value,
    claimed: &mut Vec<Claimed>,
    malformed: &mut Vec<(StreamId, EntryId)>,
) {
    for row in reply::items(entries) {
        let mut row = reply::items(row).into_iter();
        let Some(Ok(entry)) = row.next().map(|id| reply::text(&id).parse::<EntryId>()) else { continue };
        // A pending entry that was deleted comes without fields; XAUTOCLAIM reports it apart.
        let Some(Value::Array(mut fields)) = row.next() else { continue };
        let (since_ms, payload) = take_tail(&mut fields);
        match decode_chunk(&fields) {
            Some(chunk) => {
                claimed.push(Claimed {
                    stream,
                    entry,
                    chunk,
                    since_ms: since_ms.unwrap_or(entry.ms),
                    attempt: 1,
                    payload,
                });
            }
            None => malformed.push((stream, entry)),
        }
    }
}

/// Takes off what may stand behind the first four fields: since when a chunk from a backlog waits, and a payload.
fn take_tail(fields: &mut Vec<Value>) -> (Option<u64>, Option<Bytes>) {
    let payload = take_field(fields, "p").map(Bytes::from);
    let since = take_field(fields, "t").and_then(|text| std::str::from_utf8(&text).ok()?.parse().ok());
    (since, payload)
}

/// Takes the last field off if it has that name.
fn take_field(fields: &mut Vec<Value>, name: &str) -> Option<Vec<u8>> {
    match &fields[..] {
        [.., Value::BulkString(found), Value::BulkString(_)] if found == name.as_bytes() => {}
        _ => return None,
    }
    let value = fields.pop();
    fields.pop();
    match value {
        Some(Value::BulkString(bytes)) => Some(bytes),
        _ => None,
    }
}

fn decode_chunk(fields: &[Value]) -> Option<ChunkRef> {
    let [b, batch, n, number, f, first, j, jobs] = fields else { return None };
    let names_match = [(b, "b"), (n, "n"), (f, "f"), (j, "j")]
        .iter()
        .all(|(value, name)| matches!(value, Value::BulkString(bytes) if bytes == name.as_bytes()));
    if !names_match {
        return None;
    }
    let Value::BulkString(batch) = batch else { return None };
    let batch: BatchId = std::str::from_utf8(batch).ok()?.parse().ok()?;
    let unsigned = |value| reply::int(value).and_then(|n| u64::try_from(n).ok());
    let jobs = u32::try_from(unsigned(jobs)?).ok()?;
    if jobs == 0 || jobs > crate::wire::JOBS_MAX {
        return None;
    }
    Some(ChunkRef { batch, number: unsigned(number)?, first: unsigned(first)?, jobs })
}
