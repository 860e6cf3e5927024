//! The dashboard role: reads the queue once a second and shows it to everybody, as JSON and as Prometheus metrics.
//! By itself it changes nothing on the queue, so any number of dashboards may run; whoever has its token may.

mod batches;
mod config;
mod dead;
mod feed;
mod problem;
mod snapshot;
mod token;

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
use dead::Door;
pub use snapshot::{Batch, Lane, Snapshot, Totals, Worker};
use token::Token;

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

/// Serves on `listener` until `shutdown` drains: `/api/snapshot`, `/api/batches`, `/api/dead`, `/metrics`, `/livez`, `/readyz`, and a list of
/// them at `/`. Faults of Redis are waited out, and shown.
///
/// # Errors
/// See [`DashboardError`].
pub async fn run(
    listener: TcpListener,
    queue: Queue,
    config: Config,
    shutdown: Shutdown,
) -> Result<(), DashboardError> {
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
    let door = Door { queue: queue.clone(), token: Token(config.token) };
    let routes = Routes::none()
        .add(
            "/api/snapshot",
            "the whole queue as JSON, read once a second",
            get(async move || Json(Snapshot::clone(&snapshots.borrow()))),
        )
        .add(
            "/api/batches",
            "the newest batches, or those whose id or label begins with ?q=; ?count=",
            batches::list(queue.clone()),
        )
        .add(
            "/api/dead",
            "dead letters, newest first; ?batch= ?task= ?reason= ?count=",
            dead::list(door.clone()),
        )
        .add("/api/dead/{job}", "one dead letter", dead::show(door.clone()))
        .add(
            "/api/dead/retry",
            "POST {\"jobs\": [..]}, a filter, or {\"all\": true}: submits them again; needs the token",
            dead::retry(door.clone()),
        )
        .add("/api/dead/drop", "POST the same: forgets them; needs the token", dead::drop(door));
    let stop = shutdown.draining();
    let reading = tokio::spawn(feed::run(queue, metrics, sender, ready, stop.clone()));
    let served = admin::serve(listener, routes, registry, readiness, stop).await;
    reading.abort();
    Ok(served?)
}
