//! Keeping the house clean: consumers of dead workers, batches whose producer went away, index entries of expired
//! batches. Every worker sweeps now and then; doing it twice changes nothing.

use redis::{Pipeline, Value};

use crate::connection::{Operation, Queue, is_no_group};
use crate::ids::BatchId;
use crate::keys::{GROUP, RELEASED, StreamId};
use crate::scripts::{self, Mode};
use crate::{Error, reply};

/// Batches looked at in one sweep of a shard: bounded work, and the next sweep goes on.
const BATCHES_PER_SWEEP: usize = 1_000;

/// What a sweep did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Swept {
    /// Names of dead workers taken off their groups.
    pub consumers: u64,
    /// Index entries of expired batches removed.
    pub expired: u64,
    /// Abandoned batches closed.
    pub closed: u64,
    /// Workers struck off the list because they have been silent.
    pub workers: u64,
}

impl Queue {
    /// One pass over the given streams and the batch index.
    ///
    /// # Errors
    /// What Redis said; what was done stays done.
    pub async fn sweep(&self, streams: &[StreamId]) -> Result<Swept, Error> {
        let mut swept = Swept::default();
        for &stream in streams {
            swept.consumers += self.sweep_consumers(stream).await?;
        }
        for shard in 0..self.keys().shards() {
            self.sweep_batches(shard, &mut swept).await?;
        }
        swept.workers = self.sweep_workers().await?;
        self.sweep_costs().await?;
        Ok(swept)
    }

    /// A live worker asks for work every few seconds, so a name that has been silent for ten leases and has nothing
    /// pending belongs to a dead one. Should it wake up after all, its next read makes the name anew.
    async fn sweep_consumers(&self, stream: StreamId) -> Result<u64, Error> {
        let key = self.keys().stream(stream);
        let answer: Result<(Value,), Error> = self
            .link(stream.shard)
            .run(Operation::Sweep, |_| {
                let mut pipe = redis::pipe();
                pipe.cmd("XINFO").arg("CONSUMERS").arg(&key).arg(GROUP);
                pipe
            })
            .await;
        let rows = match answer {
            Ok((rows,)) => reply::items(rows),
            Err(error) if is_no_group(&error) => return Ok(0),
            Err(Error::Redis { reason, .. }) if reason.contains("no such key") => return Ok(0),
            Err(error) => return Err(error),
        };
        let silence_ms = i64::try_from(self.config().lease_ms.saturating_mul(10)).unwrap_or(i64::MAX);
        let mut deleted = 0;
        for row in rows {
            let fields = reply::pairs(row);
            let field =
                |name: &str| fields.iter().find(|(key, _)| reply::text(key) == name).map(|(_, value)| value);
            let name = field("name").map(reply::text).unwrap_or_default();
            let idle = field("idle").and_then(reply::int).unwrap_or(0);
            let pending = field("pending").and_then(reply::int).unwrap_or(1);
            if name != RELEASED && pending == 0 && idle > silence_ms && self.forget(stream, &name).await? {
                deleted += 1;
            }
        }
        Ok(deleted)
    }

    async fn sweep_batches(&self, shard: u16, swept: &mut Swept) -> Result<(), Error> {
        let index = self.keys().batches(shard);
        let mut cursor = 0_u64;
        let mut seen = 0;
        loop {
            let ((next, rows),): ((u64, Vec<(String, f64)>),) = self
                .link(shard)
                .run(Operation::Sweep, |_| {
                    let mut pipe = redis::pipe();
                    pipe.cmd("ZSCAN").arg(&index).arg(cursor).arg("COUNT").arg(100);
                    pipe
                })
                .await?;
            for (text, _) in &rows {
                let Ok(id) = text.parse::<BatchId>() else { continue };
                let (what,): (String,) = self
                    .link(shard)
                    .run(Operation::Sweep, |mode| {
                        let mut pipe = redis::pipe();
                        self.sweep_call(&mut pipe, mode, id);
                        pipe
                    })
                    .await?;
                match what.as_str() {
                    "gone" => swept.expired += 1,
                    "closed" => swept.closed += 1,
                    _ => {}
                }
            }
            seen += rows.len();
            cursor = next;
            if cursor == 0 || seen >= BATCHES_PER_SWEEP {
                return Ok(());
            }
        }
    }

    pub(crate) fn sweep_call(&self, pipe: &mut Pipeline, mode: Mode, id: BatchId) {
        let keys = self.keys();
        let (shard, batch) = (keys.shard(id), keys.batch(id));
        let (index, names) = (keys.batches(shard), keys.names(shard));
        let (payload, result, layout) = (keys.payload(id), keys.result(id), keys.layout(id));
        let backlog = keys.backlog(id);
        scripts::SWEEP
            .call(pipe, mode, &[&index, &names, &batch, &payload, &result, &layout, &backlog])
            .arg(id.to_string())
            .arg(keys.notice(id));
    }
}
