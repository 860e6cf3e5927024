//! The dashboard role: reads the queue once a second and shows it to everybody, as pages, as JSON and as Prometheus metrics.
//!
//! ```text
//! feed (once a second) -> frame -> view + desk (what else a view needs) -> pages -> web (whole, or as events)
//!                               -> api (JSON)                                     actions (POST)
//! ```
//! By itself it changes nothing on the queue, so any number of dashboards may run; who may act through it, says `access`.

mod access;
mod actions;
mod api;
mod chart;
mod config;
mod download;
mod feed;
mod form;
mod history;
mod looks;
mod pace;
mod pages;
mod snapshot;
mod text;
mod trial;
mod view;
mod web;

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

use access::Access;
use api::dead::Door;
use api::{batches, dead};
pub use config::Config;
use feed::{Feed, Frame};
use looks::Looks;
pub use snapshot::{Batch, Lane, Snapshot, TaskRate, Totals, Worker};
use web::{Web, asset};

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

/// Serves on `listener` until `shutdown` drains: the pages from `/` on, their JSON below `/api`, `/metrics`, `/livez`, `/readyz`.
/// Faults of Redis are waited out, and shown.
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
    let access = Access::new(&config, listener.local_addr()?);
    let (ready, readiness) =
        watch::channel(Readiness::NotReady("the queue has not been read yet".to_owned()));
    let (sender, frames) = watch::channel(Arc::new(Frame::unread(queue.address())));
    let (found, examined) = watch::channel(Vec::new());
    let (looks, stop) = (Looks::new(queue.clone()), shutdown.draining());
    let feed = Feed::new(looks.clone(), metrics, config.oldest_waiting_ms(), examined);
    let reading = [
        tokio::spawn(feed.run(sender, ready, stop.clone())),
        tokio::spawn(feed::examine(queue.clone(), found, stop.clone())),
    ];
    let web = Web::new(looks.clone(), access.clone(), frames.clone(), stop.clone());
    let routes = programs(pages(Routes::none(), &web), &looks, Door { queue, access }, frames);
    let served = admin::serve(listener, routes, registry, readiness, stop).await;
    reading.iter().for_each(|task| task.abort());
    Ok(served?)
}

/// What people look at.
fn pages(routes: Routes, web: &Web) -> Routes {
    routes
        .add("/", "the page: how it goes now", web.view(web::now))
        .add("/batches", "batches; ?q=", web.view(web::batches))
        .add("/batches/{id}", "one batch", web.batch())
        .add("/batches/{id}/{results}", "its results: results.txt, .ndjson or .csv", download::results(web))
        .add("/batches/{id}/cancel", "POST: a button of the page", web.cancel())
        .add("/workers", "workers, and what was checked", web.view(web::workers))
        .add("/dead", "dead letters; ?batch= ?task= ?reason=", web.view(web::dead))
        .add("/dead/retry", "POST: a button of the page", web.retry())
        .add("/dead/drop", "POST: a button of the page", web.drop())
        .add("/try", "try a puzzle; ?puzzle=", web.view(web::trial).merge(web.attempt()))
        .add("/unlock", "takes the token", web.unlock_page().merge(web.unlock()))
        .add("/lock", "POST: a button of the page", web.lock())
        .add("/live.js", "the page's script", asset("text/javascript; charset=utf-8", pages::SCRIPT))
        .add("/favicon.svg", "its icon", asset("image/svg+xml", pages::ICON))
}

/// What programs read and send.
fn programs(routes: Routes, looks: &Looks, door: Door, frames: watch::Receiver<Arc<Frame>>) -> Routes {
    routes
        .add(
            "/api/snapshot",
            "the whole queue as JSON, read once a second",
            get(async move || Json(Snapshot::clone(&frames.borrow().snapshot))),
        )
        .add(
            "/api/batches",
            "the newest batches, or those whose id or label begins with ?q=; ?count=",
            batches::list(looks.clone()),
        )
        .add("/api/batches/{id}", "one batch", batches::show(looks.clone()))
        .add("/api/batches/{id}/cancel", "POST: cancels it", batches::cancel(door.clone()))
        .add(
            "/api/dead",
            "dead letters, newest first; ?batch= ?task= ?reason= ?count=",
            dead::list(door.clone()),
        )
        .add("/api/dead/{job}", "one dead letter", dead::show(door.clone()))
        .add(
            "/api/dead/retry",
            "POST {\"jobs\": [..]}, a filter, or {\"all\": true}: submits them again",
            dead::retry(door.clone()),
        )
        .add("/api/dead/drop", "POST the same: forgets them", dead::drop(door))
}
