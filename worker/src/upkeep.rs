//! The once-a-second loop: presence, readiness, clock, what is paused, what jobs cost; and now and then a sweep.

use std::sync::Arc;
use std::time::{Duration, Instant};

use puzzled_queue::Presence;
use puzzled_service::admin::Readiness;
use puzzled_service::metrics::VERSION;
use tokio::sync::watch;

use crate::Shared;
use crate::clock::own_ms;

/// Runs until `shared.stopped` is set.
pub(crate) async fn run(shared: Arc<Shared>, ready: watch::Sender<Readiness>, sweep_every: Duration) {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let threads = u32::try_from(shared.pool.threads()).unwrap_or(u32::MAX);
    let started_ms = own_ms();
    let mut swept = Instant::now();
    loop {
        let busy = shared.pool.busy();
        shared.metrics.busy_threads.set(busy as i64);
        shared.metrics.stuck_threads.set(shared.pool.stuck() as i64);
        let word = async {
            shared.clock.set(shared.queue.server_ms().await?);
            // Heard before it is announced, so that whoever paused a kind can wait for this worker to know.
            let paused = shared.queue.paused().await?;
            shared.set_paused(paused.iter().map(|paused| paused.kind).collect());
            let done = shared.tally.read();
            let presence = Presence {
                worker: shared.name.clone(),
                host: host.clone(),
                version: VERSION.to_owned(),
                threads,
                busy: u32::try_from(busy).unwrap_or(u32::MAX),
                chunks: shared.leases.len() as u64,
                jobs: done.values().flatten().sum(),
                done,
                started_ms,
                kinds: shared.kinds.iter().map(|kind| kind.name().to_owned()).collect(),
                paused: paused.iter().map(|paused| paused.kind.name().to_owned()).collect(),
                seen_ms: 0,
            };
            shared.queue.announce(&presence).await?;
            shared.queue.tell_costs(&shared.costs.news()).await
        };
        let state = match word.await {
            Ok(()) => Readiness::Ready,
            Err(error) => Readiness::NotReady(error.to_string()),
        };
        ready.send_if_modified(|old| {
            let changed = *old != state;
            *old = state;
            changed
        });
        if !sweep_every.is_zero() && swept.elapsed() >= sweep_every && !shared.shutdown.is_draining() {
            swept = Instant::now();
            match shared.queue.sweep(&shared.streams).await {
                Ok(done) if done != puzzled_queue::Swept::default() => tracing::info!(?done, "swept"),
                Ok(_) => {}
                Err(error) => tracing::debug!(%error, "cannot sweep"),
            }
        }
        tokio::select! {
            () = shared.stopped.cancelled() => return,
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
        }
    }
}
