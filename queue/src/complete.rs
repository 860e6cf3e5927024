//! Recording a chunk: its outcomes and its counters change in one transaction, once.
//!
//! Long outcomes are stored by a plain HSETNX, not through Lua (which costs five times as much, see
//! docs/decisions/0001); the script beside it in the same MULTI deletes the entry, and its XDEL decides who counts.
//! Those of payloads that travelled in their entry go with the script: a payload in its hash is what tells the script
//! that a chunk is still to do.

use bytes::Bytes;
use puzzled_solver::OutcomeKind;
use redis::Pipeline;

use crate::Error;
use crate::connection::{Operation, Queue};
use crate::consumer::Claimed;
use crate::ids::BatchId;
use crate::keys::{GROUP, StreamId};
use crate::scripts::{self, Mode};
use crate::submit::depth_field;

/// Most chunks recorded by one call.
pub const CHUNKS_PER_CALL_MAX: usize = 256;

/// A solved chunk.
#[derive(Clone, Debug)]
pub struct Completed {
    /// The lease it was solved under.
    pub claimed: Claimed,
    /// Outcomes by kind, in the order of [`OutcomeKind::ALL`].
    pub counts: [u32; OutcomeKind::ALL.len()],
    /// The stored form (`wire::encode_result`).
    pub result: Bytes,
}

impl Completed {
    /// Whether its payload travelled in its entry, so that its outcomes go with the script.
    fn is_short(&self) -> bool {
        self.claimed.payload.is_some()
    }
}

/// What recording found.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Chunks counted by this call.
    pub counted: u64,
    /// Chunks that another worker, or an earlier try of ours, had recorded.
    pub repeated: u64,
    /// Chunks nobody wanted: their batch was cancelled or is gone.
    pub dropped: u64,
    /// Chunks counted although other outcomes were stored before: a bug somewhere, since the two go together.
    pub conflicts: u64,
}

impl Queue {
    /// Records chunks of one batch, claimed from one stream. Repeating the call is harmless.
    ///
    /// # Errors
    /// What Redis said: recorded or not, call again.
    pub async fn complete(
        &self,
        stream: StreamId,
        batch: BatchId,
        chunks: &[Completed],
    ) -> Result<Recorded, Error> {
        let mut recorded = Recorded::default();
        for part in chunks.chunks(CHUNKS_PER_CALL_MAX) {
            self.complete_part(stream, batch, part, &mut recorded).await?;
        }
        Ok(recorded)
    }

    async fn complete_part(
        &self,
        stream: StreamId,
        batch: BatchId,
        chunks: &[Completed],
        recorded: &mut Recorded,
    ) -> Result<(), Error> {
        debug_assert!(chunks.iter().all(|c| c.claimed.stream == stream && c.claimed.chunk.batch == batch));
        let long: Vec<&Completed> = chunks.iter().filter(|chunk| !chunk.is_short()).collect();
        // Alone, the script is atomic and may be named by its hash; beside a store, both must happen or neither.
        let mode = if long.is_empty() { Mode::Hash } else { Mode::Text };
        let answers: Vec<redis::Value> = self
            .link(stream.shard)
            .run_as(Operation::Complete, mode, |mode| {
                let mut pipe = redis::pipe();
                self.complete_call(&mut pipe, mode, stream, batch, chunks);
                pipe
            })
            .await?;
        let (Some(answer), stored) = (answers.last(), &answers[..answers.len().saturating_sub(1)]) else {
            return Err(crate::reply::unexpected("complete", &[]));
        };
        let answer: Vec<i64> =
            crate::reply::items(answer.clone()).iter().filter_map(crate::reply::int).collect();
        let [lives, repeated @ ..] = &answer[..] else {
            return Err(crate::reply::unexpected("complete", &answers));
        };
        if *lives == 0 {
            recorded.dropped += chunks.len() as u64;
            return Ok(());
        }
        recorded.repeated += repeated.len() as u64;
        recorded.counted += (chunks.len() - repeated.len()) as u64;
        for (chunk, stored) in long.iter().zip(stored) {
            let number = i64::try_from(chunk.claimed.chunk.number).unwrap_or(i64::MAX);
            recorded.conflicts +=
                u64::from(crate::reply::int(stored) == Some(0) && !repeated.contains(&number));
        }
        Ok(())
    }

    pub(crate) fn complete_call(
        &self,
        pipe: &mut Pipeline,
        mode: Mode,
        stream: StreamId,
        batch: BatchId,
        chunks: &[Completed],
    ) {
        let keys = self.keys();
        let (stream_key, depth, record) = (keys.stream(stream), keys.depth(stream.shard), keys.batch(batch));
        let (payload, result, layout) = (keys.payload(batch), keys.result(batch), keys.layout(batch));
        let backlog = keys.backlog(batch);
        let mut sums = [0_u64; OutcomeKind::ALL.len()];
        for chunk in chunks {
            for (sum, &count) in sums.iter_mut().zip(&chunk.counts) {
                *sum += u64::from(count);
            }
        }
        for chunk in chunks.iter().filter(|chunk| !chunk.is_short()) {
            pipe.atomic();
            pipe.cmd("HSETNX").arg(&result).arg(chunk.claimed.chunk.number).arg(&chunk.result[..]);
        }
        scripts::COMPLETE
            .call(pipe, mode, &[&stream_key, &depth, &record, &payload, &result, &layout, &backlog])
            .arg(GROUP)
            .arg(keys.notice(batch))
            .arg(depth_field(stream))
            .arg(batch.to_string())
            .arg(&sums[..]);
        for chunk in chunks {
            pipe.arg(chunk.claimed.entry.to_string()).arg(chunk.claimed.chunk.number);
            pipe.arg(format!(
                "{} {}",
                chunk.claimed.chunk.end(),
                chunk.counts.map(|n| n.to_string()).join(" ")
            ));
            pipe.arg(if chunk.is_short() { &chunk.result[..] } else { b"" });
        }
    }

    /// Takes chunks that nobody wants off the stream.
    ///
    /// # Errors
    /// What Redis said.
    pub async fn drop_unwanted(&self, stream: StreamId, chunks: &[Claimed]) -> Result<(), Error> {
        let mut chunks = chunks.to_vec();
        chunks.sort_by_key(|claimed| claimed.chunk.batch);
        for of_batch in chunks.chunk_by(|a, b| a.chunk.batch == b.chunk.batch) {
            for part in of_batch.chunks(crate::consumer::SCRIPT_ITEMS_MAX) {
                let (_found,): (i64,) = self
                    .link(stream.shard)
                    .run(Operation::Complete, |mode| {
                        let mut pipe = redis::pipe();
                        self.drop_call(&mut pipe, mode, stream, part[0].chunk.batch, part);
                        pipe
                    })
                    .await?;
            }
        }
        Ok(())
    }

    pub(crate) fn drop_call(
        &self,
        pipe: &mut Pipeline,
        mode: Mode,
        stream: StreamId,
        batch: BatchId,
        chunks: &[Claimed],
    ) {
        debug_assert!(chunks.iter().all(|chunk| chunk.stream == stream && chunk.chunk.batch == batch));
        let keys = self.keys();
        scripts::DROP
            .call(pipe, mode, &[&keys.stream(stream), &keys.batch(batch), &keys.result(batch)])
            .arg(GROUP);
        for chunk in chunks {
            pipe.arg(chunk.entry.to_string());
            match chunk.payload {
                Some(_) => pipe.arg(b""),
                None => pipe.arg(chunk.chunk.number),
            };
        }
    }
}
