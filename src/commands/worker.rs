//! `puzzled worker`: claims chunks, solves them on every core, records their outcomes.

use clap::Args;
use prometheus::Registry;
use puzzled_queue::Priority;
use puzzled_service::Shutdown;
use puzzled_service::admin::{self, Readiness, Routes};
use puzzled_service::metrics::{Labels, ProcessMetrics, WorkerMetrics};
use puzzled_solver::{Kind, OutcomeKind};
use tokio::sync::watch;

use crate::failure::Failure;
use crate::settings::Settings;

/// Flags of `puzzled worker`.
#[derive(Args, Debug)]
pub(crate) struct WorkerArgs {
    /// Solver threads; 0 = one per core this process may use.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Kinds of puzzles to serve, comma-separated.
    #[arg(long, value_name = "KINDS")]
    kinds: Option<String>,
    /// Admin address (/livez, /readyz, /metrics); port 0 takes any free one, empty = none.
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
}

impl WorkerArgs {
    /// The settings these flags stand for.
    pub(crate) fn flags(&self) -> Vec<(String, String)> {
        let mut flags = Vec::new();
        let mut set =
            |key: &str, value: Option<String>| flags.extend(value.map(|value| (key.to_owned(), value)));
        set("worker.threads", self.threads.map(|n| n.to_string()));
        set("worker.kinds", self.kinds.clone());
        set("worker.listen", self.listen.clone());
        flags
    }
}

/// Runs until SIGTERM or SIGINT, then drains.
pub(crate) async fn run(settings: &Settings) -> Result<(), Failure> {
    settings.worker.validate()?;
    let shutdown = Shutdown::on_signals(settings.shutdown.grace())
        .map_err(|e| Failure::new(puzzled_service::Exit::Internal, format!("cannot handle signals: {e}")))?;
    let registry = Registry::new();
    let labels = Labels {
        kinds: &Kind::ALL.map(Kind::name),
        outcomes: &OutcomeKind::ALL.map(OutcomeKind::name),
        priorities: &Priority::ALL.map(Priority::name),
    };
    let metrics = WorkerMetrics::register(&registry, &labels)?;
    ProcessMetrics::register(&registry, std::time::SystemTime::now())?;
    let (ready, readiness) = watch::channel(Readiness::NotReady("starting".to_owned()));
    // The admin port comes first: /livez answers while Redis is still away.
    let listener = admin::bind(&settings.worker.listen, "worker.listen").await?;
    let serving = listener.map(|listener| {
        if let Ok(address) = listener.local_addr() {
            tracing::info!(%address, "admin port");
        }
        let stop = shutdown.stopping_now();
        tokio::spawn(admin::serve(listener, Routes::none(), registry.clone(), readiness, stop))
    });
    let queue = super::connect_with(settings, Some(&registry)).await?;
    puzzled_worker::run(queue, &settings.worker, metrics, ready, shutdown.clone()).await?;
    shutdown.stop_now();
    if let Some(Ok(Err(error))) = match serving {
        Some(task) => Some(task.await),
        None => None,
    } {
        tracing::warn!(%error, "the admin port ended early");
    }
    Ok(())
}
