//! Every key of the queue, named in this one file; docs/protocol.md says what each holds.
//!
//! All keys of a shard share the hash tag `{PREFIX:SHARD}`, so that one script may touch several of them on a
//! Redis Cluster, and a batch lives on one shard whole.

use puzzled_solver::Kind;

use crate::ids::{BatchId, Priority};

/// The consumer group of every work stream.
pub(crate) const GROUP: &str = "workers";

/// The consumer that owns what a stopping worker handed back: nobody reads under this name, so that its
/// entries are taken over at once.
pub(crate) const RELEASED: &str = "released";

/// One stream of work: a shard, a kind, a priority.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StreamId {
    /// Shard number.
    pub shard: u16,
    /// Kind of puzzle.
    pub kind: Kind,
    /// Priority.
    pub priority: Priority,
}

/// Makes the keys of one installation.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    prefix: String,
    shards: u16,
}

impl Keys {
    pub(crate) fn new(prefix: &str, shards: u16) -> Self {
        Self { prefix: prefix.to_owned(), shards: shards.max(1) }
    }

    pub(crate) fn shards(&self) -> u16 {
        self.shards
    }

    /// The shard that holds a batch.
    pub(crate) fn shard(&self, id: BatchId) -> u16 {
        id.shard(self.shards)
    }

    /// Hash: protocol version and number of shards, written by whoever comes first.
    pub(crate) fn meta(&self) -> String {
        self.at(0, "meta")
    }

    /// Hash of live workers: consumer name to JSON.
    pub(crate) fn workers(&self) -> String {
        self.at(0, "workers")
    }

    /// Hash of kinds that are held back: kind to since when, in ms.
    pub(crate) fn paused(&self) -> String {
        self.at(0, "paused")
    }

    /// Hash: cost key of a task to what a job costs, in ns, and when that was told, in ms.
    pub(crate) fn costs(&self) -> String {
        self.at(0, "costs")
    }

    /// Stream of chunks to do.
    pub(crate) fn stream(&self, id: StreamId) -> String {
        self.at(id.shard, &format!("stream:{}:{}", id.kind.name(), id.priority.name()))
    }

    /// Hash of unfinished jobs: `KIND:PRIORITY:waiting` and `KIND:PRIORITY:running`.
    pub(crate) fn depth(&self, shard: u16) -> String {
        self.at(shard, "depth")
    }

    /// Sorted set of batches by time of creation, in ms.
    pub(crate) fn batches(&self, shard: u16) -> String {
        self.at(shard, "batches")
    }

    /// Sorted set by text: `iID 0 label` of every batch, `llabel 0 ID` of those that have one, labels in lower case.
    pub(crate) fn names(&self, shard: u16) -> String {
        self.at(shard, "names")
    }

    /// Hash: the batch record.
    pub(crate) fn batch(&self, id: BatchId) -> String {
        self.of("batch", id)
    }

    /// Hash: chunk number to payload, until its outcomes are stored.
    pub(crate) fn payload(&self, id: BatchId) -> String {
        self.of("payload", id)
    }

    /// List: chunks whose turn to be in the stream has not come.
    pub(crate) fn backlog(&self, id: BatchId) -> String {
        self.of("backlog", id)
    }

    /// Hash: chunk number to outcomes, until they are collected or expire.
    pub(crate) fn result(&self, id: BatchId) -> String {
        self.of("result", id)
    }

    /// Sorted set by first job: where the number of jobs a chunk changes inside the batch.
    pub(crate) fn layout(&self, id: BatchId) -> String {
        self.of("layout", id)
    }

    /// Hash: what is known of a chunk whose worker died.
    pub(crate) fn trial(&self, id: BatchId, chunk: u64) -> String {
        self.of("trial", id) + &format!(":{chunk}")
    }

    /// Hash: job id to dead letter.
    pub(crate) fn dead(&self, shard: u16) -> String {
        self.at(shard, "dead")
    }

    /// Sorted set of dead letters by time, in ms.
    pub(crate) fn dead_index(&self, shard: u16) -> String {
        self.at(shard, "dead:index")
    }

    /// Channel: what became readable in this batch.
    pub(crate) fn notice(&self, id: BatchId) -> String {
        self.of("notice", id)
    }

    /// Keys of the benchmark that measures the raw limit, beside the first shard's.
    pub(crate) fn yardstick(&self, what: &str, lane: u64) -> String {
        self.at(0, &format!("yardstick:{what}:{lane}"))
    }

    fn of(&self, what: &str, id: BatchId) -> String {
        self.at(self.shard(id), &format!("{what}:{id}"))
    }

    fn at(&self, shard: u16, rest: &str) -> String {
        format!("{{{}:{shard}}}:{rest}", self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_batch_share_its_hash_tag() {
        let keys = Keys::new("puzzled", 4);
        let id = BatchId::new();
        let tag = format!("{{puzzled:{}}}:", id.shard(4));
        for key in [keys.batch(id), keys.payload(id), keys.result(id), keys.layout(id), keys.notice(id)] {
            assert!(key.starts_with(&tag), "{key}");
        }
        let stream = StreamId { shard: 3, kind: Kind::Sudoku, priority: Priority::High };
        assert_eq!(keys.stream(stream), "{puzzled:3}:stream:sudoku:high");
    }
}
