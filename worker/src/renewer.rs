//! The renew loop: extends leases long before they end, and learns of cancelled batches.

use std::sync::Arc;
use std::time::Duration;

use crate::Shared;

/// How soon a cancelled batch stops busy cores.
const CHECK_EVERY: Duration = Duration::from_millis(250);

/// Renews until `shared.stopped` is set; goes on during a drain, since chunks are still being solved.
pub(crate) async fn run(shared: Arc<Shared>) {
    let every = (shared.queue.config().lease() / 10).min(CHECK_EVERY);
    let mut failing = false;
    loop {
        tokio::select! {
            () = shared.stopped.cancelled() => return,
            () = tokio::time::sleep(every) => {}
        }
        if shared.leases.is_empty() {
            continue;
        }
        let round = async {
            let renewed = shared.leases.renew().await?;
            shared.leases.check().await?;
            Ok::<_, puzzled_queue::Error>(renewed)
        };
        match round.await {
            Ok(renewed) => {
                failing = false;
                shared.metrics.leases_renewed.inc_by(renewed.renewed);
                shared.metrics.leases_lost.inc_by(renewed.lost);
                if renewed.lost > 0 {
                    tracing::warn!(
                        lost = renewed.lost,
                        "leases ran out before they were renewed; others have the chunks"
                    );
                }
            }
            Err(error) => {
                if !failing {
                    tracing::warn!(%error, code = error.code(), "cannot renew leases; trying again");
                }
                failing = true;
            }
        }
    }
}
