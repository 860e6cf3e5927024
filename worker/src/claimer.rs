//! The claim loop: one a shard. A permit first, then a claim.

use std::sync::Arc;
use std::time::Duration;

use puzzled_queue::Consumer;

use puzzled_queue::{Claimed, EntryId, StreamId};

use crate::Shared;
use crate::retry::retry;
use crate::work::Work;

/// Claims until the shutdown begins.
pub(crate) async fn run(shared: Arc<Shared>, mut consumer: Consumer) {
    let draining = shared.shutdown.draining();
    let mut pause = Duration::ZERO;
    loop {
        let permit = tokio::select! {
            () = draining.cancelled() => return,
            permit = shared.permits.clone().acquire_owned() => permit,
        };
        let Ok(permit) = permit else { return };
        let claim = consumer
            .claim(|stream| shared.appetite(stream), |stream, entry| shared.leases.holds(stream, entry));
        let claimed = tokio::select! {
            biased;
            () = draining.cancelled() => return,
            claimed = claim => claimed,
        };
        match claimed {
            Ok(claimed) => {
                pause = Duration::ZERO;
                let claimed = without_paused(&shared, claimed).await;
                for work in Work::pieces(&shared, claimed, permit) {
                    shared.spawn(work);
                }
            }
            Err(error) => {
                if pause.is_zero() {
                    tracing::warn!(%error, code = error.code(), "cannot claim; trying again until it works");
                }
                pause = (pause * 2).clamp(Duration::from_millis(20), Duration::from_secs(1));
                tokio::select! {
                    () = draining.cancelled() => return,
                    () = tokio::time::sleep(pause) => {}
                }
            }
        }
    }
}

/// Hands back what came of kinds that were paused while it was being read.
async fn without_paused(shared: &Shared, claimed: Vec<Claimed>) -> Vec<Claimed> {
    let paused = shared.paused();
    let (back, claimed): (Vec<_>, Vec<_>) =
        claimed.into_iter().partition(|chunk| paused.contains(&chunk.stream.kind));
    let mut streams: Vec<(StreamId, Vec<EntryId>)> = Vec::new();
    for chunk in back {
        match streams.iter_mut().find(|(stream, _)| *stream == chunk.stream) {
            Some((_, entries)) => entries.push(chunk.entry),
            None => streams.push((chunk.stream, vec![chunk.entry])),
        }
    }
    let stop_now = shared.shutdown.stopping_now();
    for (stream, entries) in streams {
        match retry("release", &stop_now, || shared.queue.release(stream, &shared.name, &entries)).await {
            Ok(released) => shared.metrics.chunks_released.inc_by(released),
            Err(error) => {
                tracing::warn!(%error, code = error.code(), "chunks of a paused kind left to their leases")
            }
        }
    }
    claimed
}
