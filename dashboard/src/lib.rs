//! The dashboard role: reads the queue once a second and shows it to everybody, as JSON and as Prometheus metrics.
//! It changes nothing on the queue, so any number of dashboards may run.

mod config;
mod feed;
mod snapshot;

use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use axum::Json;
use axum::routing::get;
use prometheus::Registry;
use puzzled_queue::{Priority, Queue};
use puzzled_service::Shutdown;
use puzzled_service::admin::{self, Readiness, Routes};
use puzzled_service::metrics::{Labels, ProcessMetrics, QueueMetrics};
use puzzled_solver::{Kind, OutcomeKind};
use tokio::net::TcpListener;
use tokio::sync::watch;

pub use config::Config;
pub use snapshot::{Batch, Lane, Snapshot, Totals, Worker};

/// Why a dashboard ended.
#[derive(Debug, thiserror::Error)]
pub enum DashboardError {
    /// A metric is registered twice: a bug.
    #[error("metrics: {0}")]
    Metrics(#[from] prometheus::Error),
    /// The listener failed for good.
    #[error("the dashboard's port failed: {0}")]
    Serve(#[from] io::Error),
}

/// Serves on `listener` until `shutdown` drains: `/api/snapshot`, `/metrics`, `/livez`, `/readyz`, and a list of
/// them at `/`. Faults of Redis are waited out, and shown.
///
/// # Errors
/// See [`DashboardError`].
pub async fn run(listener: TcpListener, queue: Queue, shutdown: Shutdown) -> Result<(), DashboardError> {
    let registry = Registry::new();
    let labels = Labels {
        kinds: &Kind::ALL.map(Kind::name),
        outcomes: &OutcomeKind::ALL.map(OutcomeKind::name),
        priorities: &Priority::ALL.map(Priority::name),
    };
    let metrics = QueueMetrics::register(&registry, &labels)?;
    ProcessMetrics::register(&registry, SystemTime::now())?;
    let (ready, readiness) =
        watch::channel(Readiness::NotReady("the queue has not been read yet".to_owned()));
    let (sender, snapshots) = watch::channel(Arc::new(Snapshot::unread(queue.address())));
    let routes = Routes::none().add(
        "/api/snapshot",
        "the whole queue as JSON, read once a second",
        get(async move || Json(Snapshot::clone(&snapshots.borrow()))),
    );
    let stop = shutdown.draining();
    let reading = tokio::spawn(feed::run(queue, metrics, sender, ready, stop.clone()));
    let served = admin::serve(listener, routes, registry, readiness, stop).await;
    reading.abort();
    Ok(served?)
}
