//! `puzzled dashboard`: the page of the whole queue, its JSON and its Prometheus metrics, for one or many readers.

use clap::Args;
use puzzled_service::{Exit, admin};

use crate::failure::Failure;
use crate::settings::Settings;

/// Flags of `puzzled dashboard`.
#[derive(Args, Debug)]
pub(crate) struct DashboardArgs {
    /// Where it listens; port 0 takes any free one.
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
}

impl DashboardArgs {
    /// The settings these flags stand for.
    pub(crate) fn flags(&self) -> Vec<(String, String)> {
        self.listen.iter().map(|listen| ("dashboard.listen".to_owned(), listen.clone())).collect()
    }
}

/// Runs until SIGTERM or SIGINT.
pub(crate) async fn run(settings: &Settings) -> Result<(), Failure> {
    let shutdown = super::up::signals(settings)?;
    let listener = admin::bind(&settings.dashboard.listen, "dashboard.listen")
        .await?
        .ok_or_else(|| Failure::new(Exit::Usage, "dashboard.listen is empty: set it to host:port"))?;
    let queue = super::connect(settings).await?;
    if let Ok(address) = listener.local_addr() {
        tracing::info!(%address, redis = queue.address(), "dashboard: open http://{address}/");
    }
    Ok(puzzled_dashboard::run(listener, queue, settings.dashboard.clone(), shutdown).await?)
}
