//! What a worker holds: the leases of its chunks, and whether anybody still wants them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use redis::Value;

use crate::connection::{Links, Operation, Queue};
use crate::consumer::{Claimed, EntryId};
use crate::ids::BatchId;
use crate::keys::StreamId;
use crate::submit::depth_field;
use crate::{Error, reply, scripts};

/// All leases of one consumer, renewed on a connection of their own so that no payload delays them.
pub struct Leases {
    queue: Queue,
    links: Links,
    consumer: String,
    table: Mutex<HashMap<(StreamId, EntryId), Lease>>,
}

struct Lease {
    batch: BatchId,
    renewed: Instant,
    hold: Hold,
    interest: Arc<Interest>,
}

/// How a held chunk stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hold {
    /// Ours, and wanted.
    Wanted,
    /// Ours, but its batch was cancelled or is gone: take it off the stream.
    Cancelled,
    /// Somebody else's by now: write nothing.
    Lost,
}

/// Whether anybody still wants the chunks that are being solved together.
#[derive(Debug)]
pub struct Interest {
    wanted: AtomicUsize,
    stop: AtomicBool,
}

impl Interest {
    /// Set once nobody wants any of the chunks: the solver may stop.
    pub fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    fn lose_one(&self) {
        if self.wanted.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.stop.store(true, Ordering::Release);
        }
    }
}

/// What a round of renewals did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Renewed {
    /// Leases extended.
    pub renewed: u64,
    /// Leases that turned out to be somebody else's: their outcomes will not be written.
    pub lost: u64,
}

impl Leases {
    /// An empty table of this consumer.
    ///
    /// # Errors
    /// What Redis said.
    pub async fn open(queue: &Queue, consumer: &str) -> Result<Self, Error> {
        let links = queue.open_links().await?;
        Ok(Self { queue: queue.clone(), links, consumer: consumer.to_owned(), table: Mutex::default() })
    }

    /// Enters chunks, just claimed, that will be solved together.
    pub fn add(&self, chunks: &[Claimed]) -> Arc<Interest> {
        let interest =
            Arc::new(Interest { wanted: AtomicUsize::new(chunks.len()), stop: AtomicBool::new(false) });
        let renewed = Instant::now();
        let mut table = self.table();
        for chunk in chunks {
            let lease =
                Lease { batch: chunk.chunk.batch, renewed, hold: Hold::Wanted, interest: interest.clone() };
            table.insert((chunk.stream, chunk.entry), lease);
        }
        interest
    }

    /// Strikes chunks off: completed, or handed back.
    pub fn remove(&self, chunks: &[Claimed]) {
        let mut table = self.table();
        for chunk in chunks {
            table.remove(&(chunk.stream, chunk.entry));
        }
    }

    /// Whether this consumer holds the entry.
    pub fn holds(&self, stream: StreamId, entry: EntryId) -> bool {
        self.table().contains_key(&(stream, entry))
    }

    /// How a chunk stands.
    pub fn hold(&self, chunk: &Claimed) -> Hold {
        self.table().get(&(chunk.stream, chunk.entry)).map_or(Hold::Lost, |lease| lease.hold)
    }

    /// Tells every solver to stop, whatever it holds: the end of a drain.
    pub fn stop_all(&self) {
        for lease in self.table().values() {
            lease.interest.stop.store(true, Ordering::Release);
        }
    }

    /// How many chunks are held.
    pub fn len(&self) -> usize {
        self.table().len()
    }

    /// Whether none is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Extends the leases that are a third of their time old.
    ///
    /// # Errors
    /// What Redis said; call again soon.
    pub async fn renew(&self) -> Result<Renewed, Error> {
        let due_age = self.queue.config().lease() / 3;
        let started = Instant::now();
        let mut due: HashMap<StreamId, Vec<EntryId>> = HashMap::new();
        for (&(stream, entry), lease) in self.table().iter() {
            if lease.hold == Hold::Wanted && started.duration_since(lease.renewed) >= due_age {
                due.entry(stream).or_default().push(entry);
            }
        }
        let mut report = Renewed::default();
        for (stream, entries) in due {
            let lost =
                self.queue.renew_on(self.links.to(stream.shard), stream, &self.consumer, &entries).await?;
            let mut table = self.table();
            for entry in &entries {
                if let Some(lease) = table.get_mut(&(stream, *entry)) {
                    lease.renewed = started;
                }
            }
            let mut lost_count = 0;
            for entry in lost {
                // A chunk completed since the list was made is nobody's any more, and that is no loss.
                lost_count += u64::from(drop_interest(&mut table, (stream, entry), Hold::Lost));
            }
            report.lost += lost_count;
            report.renewed += entries.len() as u64 - lost_count;
        }
        Ok(report)
    }

    /// Asks which held batches were cancelled, and drops the interest in their chunks.
    ///
    /// # Errors
    /// What Redis said.
    pub async fn check(&self) -> Result<(), Error> {
        let mut held: HashMap<StreamId, Vec<BatchId>> = HashMap::new();
        for ((stream, _), lease) in self.table().iter() {
            let batches = held.entry(*stream).or_default();
            if lease.hold == Hold::Wanted && !batches.contains(&lease.batch) {
                batches.push(lease.batch);
            }
        }
        for (stream, batches) in held {
            for part in batches.chunks(crate::consumer::SCRIPT_ITEMS_MAX) {
                let ends: Vec<(BatchId, u64)> = part.iter().map(|&batch| (batch, 0)).collect();
                let wanted = self.begin(stream, &ends).await?;
                let mut table = self.table();
                for (batch, _) in ends.iter().zip(wanted).filter(|(_, wanted)| !wanted).map(|(end, _)| end) {
                    let chunks: Vec<_> = table
                        .iter()
                        .filter(|(_, lease)| lease.batch == *batch)
                        .map(|(&key, _)| key)
                        .collect();
                    for key in chunks {
                        drop_interest(&mut table, key, Hold::Cancelled);
                    }
                }
            }
        }
        Ok(())
    }

    /// Marks batches' chunks as running up to `end`, and says which batches still want them.
    async fn begin(&self, stream: StreamId, ends: &[(BatchId, u64)]) -> Result<Vec<bool>, Error> {
        let (wanted,): (Vec<i64>,) = self
            .links
            .to(stream.shard)
            .run(Operation::Renew, |mode| {
                let mut pipe = redis::pipe();
                begin_call(&self.queue, &mut pipe, mode, stream, ends);
                pipe
            })
            .await?;
        Ok(wanted.into_iter().map(|w| w == 1).collect())
    }

    fn table(&self) -> MutexGuard<'_, HashMap<(StreamId, EntryId), Lease>> {
        // Every change of the table is a single insert, remove or flag: a panic cannot leave it half done.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn drop_interest(
    table: &mut HashMap<(StreamId, EntryId), Lease>,
    key: (StreamId, EntryId),
    hold: Hold,
) -> bool {
    match table.get_mut(&key) {
        Some(lease) if lease.hold == Hold::Wanted => {
            lease.hold = hold;
            lease.interest.lose_one();
            true
        }
        _ => false,
    }
}

pub(crate) fn begin_call(
    queue: &Queue,
    pipe: &mut redis::Pipeline,
    mode: scripts::Mode,
    stream: StreamId,
    ends: &[(BatchId, u64)],
) {
    let mut keys = vec![queue.keys().depth(stream.shard), queue.keys().stream(stream)];
    keys.extend(
        ends.iter().flat_map(|(batch, _)| [queue.keys().batch(*batch), queue.keys().backlog(*batch)]),
    );
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    scripts::BEGIN.call(pipe, mode, &keys).arg(depth_field(stream));
    for (batch, end) in ends {
        pipe.arg(batch.to_string()).arg(end);
    }
}

/// A claimed chunk with what Redis holds for it.
#[derive(Debug)]
pub struct Fetched {
    /// The chunk.
    pub claimed: Claimed,
    /// Its puzzles, if they are there and wanted.
    pub content: Content,
}

/// What Redis holds for a claimed chunk.
#[derive(Debug)]
pub enum Content {
    /// Its payload.
    Payload(bytes::Bytes),
    /// Nobody wants it any more: the batch was cancelled or has expired.
    Unwanted,
    /// The batch wants it, yet the payload is gone: somebody deleted it by hand.
    Missing,
}

impl Queue {
    /// Marks chunks claimed from one stream as running and reads those payloads that did not come with their entry.
    /// Keeps their order.
    ///
    /// # Errors
    /// What Redis said; nothing has changed that a repetition would spoil.
    pub async fn fetch(&self, stream: StreamId, claimed: &[Claimed]) -> Result<Vec<Fetched>, Error> {
        let mut batches: Vec<Asked> = Vec::new();
        for (i, chunk) in claimed.iter().enumerate() {
            let (batch, end) = (chunk.chunk.batch, chunk.chunk.end());
            match batches.iter_mut().find(|asked| asked.batch == batch) {
                Some(asked) => {
                    asked.end = asked.end.max(end);
                    asked.places.push(i);
                }
                None => batches.push(Asked { batch, end, places: vec![i] }),
            }
        }
        let ends: Vec<(BatchId, u64)> = batches.iter().map(|asked| (asked.batch, asked.end)).collect();
        let to_read = |asked: &Asked| {
            let places = asked.places.iter().copied();
            places.filter(|&i| claimed[i].payload.is_none()).collect::<Vec<_>>()
        };
        let answers: Vec<Value> = self
            .link(stream.shard)
            .run(Operation::Fetch, |mode| {
                let mut pipe = redis::pipe();
                begin_call(self, &mut pipe, mode, stream, &ends);
                for asked in &batches {
                    let places = to_read(asked);
                    if !places.is_empty() {
                        pipe.cmd("HMGET").arg(self.keys().payload(asked.batch));
                        for i in places {
                            pipe.arg(claimed[i].chunk.number);
                        }
                    }
                }
                pipe
            })
            .await?;
        let mut answers = answers.into_iter();
        let wanted = reply::items(answers.next().unwrap_or_default());
        let mut contents: Vec<Content> = claimed
            .iter()
            .map(|chunk| chunk.payload.clone().map_or(Content::Missing, Content::Payload))
            .collect();
        for (asked, wanted) in batches.iter().zip(&wanted) {
            let places = to_read(asked);
            let payloads = if places.is_empty() { None } else { answers.next() };
            for (i, payload) in places.into_iter().zip(reply::items(payloads.unwrap_or_default())) {
                if let Value::BulkString(bytes) = payload {
                    contents[i] = Content::Payload(bytes.into());
                }
            }
            if reply::int(wanted) != Some(1) {
                for &i in &asked.places {
                    contents[i] = Content::Unwanted;
                }
            }
        }
        let fetched = claimed.iter().cloned().zip(contents);
        Ok(fetched.map(|(claimed, content)| Fetched { claimed, content }).collect())
    }
}

/// What is asked of one batch in a fetch.
struct Asked {
    batch: BatchId,
    /// Index one past its last claimed job.
    end: u64,
    /// Its places in the list of claimed chunks.
    places: Vec<usize>,
}
