//! The one loop that reads the queue: once a second, however many look.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use puzzled_queue::{Error, Queue};
use puzzled_service::admin::Readiness;
use puzzled_service::metrics::QueueMetrics;
use puzzled_solver::Kind;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::snapshot::{Reading, Snapshot, lanes};

/// A glance a second is as fast as a person follows, and workers say no more often how they are.
const PERIOD: Duration = Duration::from_secs(1);

/// How many of the newest batches are shown.
const BATCHES_MAX: usize = 20;

/// Reads until `stop`. While Redis fails the last snapshot stays, marked stale with the reason.
pub(crate) async fn run(
    queue: Queue,
    metrics: QueueMetrics,
    snapshots: watch::Sender<Arc<Snapshot>>,
    ready: watch::Sender<Readiness>,
    stop: CancellationToken,
) {
    let mut ticks = tokio::time::interval(PERIOD);
    // After a slow answer the next reading is a second later, not at once.
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = ticks.tick() => {}
        }
        let answer = tokio::select! {
            () = stop.cancelled() => return,
            answer = read(&queue) => answer,
        };
        let last = snapshots.borrow().clone();
        let readiness = match answer {
            Ok(reading) => {
                publish(&metrics, &reading);
                snapshots.send_replace(Arc::new(last.next(reading)));
                Readiness::Ready
            }
            Err(error) => {
                let reason = error.to_string();
                if last.stale.as_ref() != Some(&reason) {
                    tracing::warn!(code = error.code(), %error, "cannot read the queue; showing what was read last");
                }
                let stale = Snapshot { stale: Some(reason.clone()), ..(*last).clone() };
                snapshots.send_replace(Arc::new(stale));
                Readiness::NotReady(reason)
            }
        };
        ready.send_if_modified(|old| {
            let changed = *old != readiness;
            *old = readiness;
            changed
        });
    }
}

async fn read(queue: &Queue) -> Result<Reading, Error> {
    Ok(Reading {
        time_ms: queue.server_ms().await?,
        streams: queue.streams(&Kind::ALL).await?,
        paused: queue.paused().await?,
        workers: queue.workers().await?,
        batches: queue.recent(BATCHES_MAX).await?,
        dead_letters: queue.dead_count().await?,
    })
}

/// The lanes come in the order of the labels: kinds, then priorities.
fn publish(metrics: &QueueMetrics, reading: &Reading) {
    let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let shown = metrics.kinds.iter().flatten();
    for (lane, gauges) in lanes(&reading.streams).into_iter().zip(shown) {
        gauges.waiting_jobs.set(signed(lane.waiting));
        gauges.running_jobs.set(signed(lane.running));
        gauges.oldest_waiting_seconds.set(lane.oldest_waiting_ms as f64 / 1000.0);
    }
    for (kind, gauge) in Kind::ALL.into_iter().zip(&metrics.paused) {
        gauge.set(i64::from(reading.paused.iter().any(|paused| paused.kind == kind)));
    }
    metrics.workers.set(signed(reading.workers.len() as u64));
    metrics.dead_letter_jobs.set(signed(reading.dead_letters));
    metrics.mark_read(SystemTime::now());
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus::Registry;
    use puzzled_service::metrics::Labels;

    #[test]
    fn what_was_read_is_what_the_gauges_say() {
        let labels = Labels { kinds: &["sudoku"], outcomes: &["solved"], priorities: &["high"] };
        let metrics = QueueMetrics::register(&Registry::new(), &labels).unwrap();
        let reading = Reading {
            time_ms: 1,
            streams: Vec::new(),
            paused: Vec::new(),
            workers: Vec::new(),
            batches: Vec::new(),
            dead_letters: 3,
        };
        publish(&metrics, &reading);
        assert_eq!((metrics.dead_letter_jobs.get(), metrics.workers.get()), (3, 0));
    }
}
