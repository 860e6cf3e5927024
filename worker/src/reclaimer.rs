//! The reclaim loop: takes over chunks whose worker has fallen silent, if there is room for them.

use std::sync::Arc;
use std::time::Duration;

use crate::Shared;
use crate::work::Work;

/// Reclaims until the shutdown begins.
pub(crate) async fn run(shared: Arc<Shared>) {
    let every =
        (shared.queue.config().lease() / 4).clamp(Duration::from_millis(25), Duration::from_millis(500));
    let draining = shared.shutdown.draining();
    loop {
        tokio::select! {
            () = draining.cancelled() => return,
            () = tokio::time::sleep(every) => {}
        }
        for &stream in &shared.streams {
            let wanted = shared.appetite(stream);
            if wanted == 0 {
                continue;
            }
            // Without room somebody else takes them.
            let Ok(permit) = shared.permits.clone().try_acquire_owned() else { break };
            match shared.queue.reclaim(stream, &shared.name, wanted).await {
                Ok(mut reclaimed) => {
                    if reclaimed.lost > 0 {
                        tracing::error!(
                            lost = reclaimed.lost,
                            "somebody trimmed the stream: chunks are lost"
                        );
                    }
                    // One of our own that ran out while we still solve it: taking it over has renewed it.
                    reclaimed.claimed.retain(|chunk| !shared.leases.holds(chunk.stream, chunk.entry));
                    if reclaimed.claimed.is_empty() {
                        continue;
                    }
                    tracing::info!(
                        chunks = reclaimed.claimed.len(),
                        "took over chunks whose lease had run out"
                    );
                    shared.metrics.chunks_reclaimed.inc_by(reclaimed.claimed.len() as u64);
                    for work in Work::pieces(&shared, reclaimed.claimed, permit) {
                        shared.spawn(work);
                    }
                }
                // The claim loop says so already.
                Err(error) => {
                    tracing::debug!(%error, "cannot reclaim");
                    break;
                }
            }
        }
    }
}
