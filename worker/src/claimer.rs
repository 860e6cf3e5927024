//! The claim loop: one a shard. A permit first, then a claim.

use std::sync::Arc;
use std::time::Duration;

use puzzled_queue::Consumer;

use crate::Shared;
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
        let claim = consumer.claim(
            |stream| shared.pace.chunks(stream.kind),
            |stream, entry| shared.leases.holds(stream, entry),
        );
        let claimed = tokio::select! {
            biased;
            () = draining.cancelled() => return,
            claimed = claim => claimed,
        };
        match claimed {
            Ok(claimed) => {
                pause = Duration::ZERO;
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
