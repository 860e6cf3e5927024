//! The worker role: claim, solve on every core, record.
//!
//! ```text
//! claimer (one a shard) --+                       +--> solver threads (pool) --+
//! reclaimer --------------+--> work (one task) ---+                            +--> complete
//! renewer: leases, cancelled batches     upkeep: presence, readiness, sweep
//! ```
//!
//! A permit is taken before anything is claimed and given back when it is recorded, so that chunks in memory are
//! bounded whatever waits in Redis. No loop here ever waits for a solver.

mod claimer;
mod clock;
mod config;
mod costs;
mod letters;
mod pace;
mod pool;
mod reclaimer;
mod renewer;
mod retry;
mod solve;
mod tally;
mod trial;
mod upkeep;
mod work;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use puzzled_queue::{Claimed, Consumer, Error, Leases, Priority, Queue, StreamId};
use puzzled_service::Shutdown;
use puzzled_service::admin::Readiness;
use puzzled_service::metrics::{KindMetrics, WorkerMetrics};
use puzzled_solver::Kind;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use config::{Config, ConfigError};
pub use pool::{Pool, Stop};
pub use solve::{EngineFactory, PoolChunk, PoolResult};

/// What all loops of one worker share.
pub(crate) struct Shared {
    pub(crate) queue: Queue,
    /// Consumer name, new at each start: a name that comes back would own what its former life left pending.
    pub(crate) name: String,
    pub(crate) streams: Vec<StreamId>,
    pub(crate) leases: Leases,
    pub(crate) pool: Pool,
    pub(crate) pace: pace::Pace,
    pub(crate) costs: costs::Costs,
    pub(crate) clock: clock::Clock,
    pub(crate) permits: Arc<Semaphore>,
    pub(crate) metrics: WorkerMetrics,
    /// Deaths after which a job fails.
    pub(crate) attempts_max: usize,
    pub(crate) tally: tally::Tally,
    /// Kinds that it serves.
    pub(crate) kinds: Vec<Kind>,
    /// Kinds that are held back, as last heard.
    pub(crate) paused: Mutex<Vec<Kind>>,
    pub(crate) shutdown: Shutdown,
    /// Cancelled when all work is done or handed back: the end of renewing and announcing.
    pub(crate) stopped: CancellationToken,
    tasks: Mutex<JoinSet<()>>,
}

impl Shared {
    /// Runs a piece of work as a task of its own.
    pub(crate) fn spawn(self: &Arc<Self>, work: work::Work) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        // Reap what is done, so that the set does not grow.
        while let Some(ended) = tasks.try_join_next() {
            report(ended);
        }
        tasks.spawn(work.run(self.clone()));
    }

    /// The kinds that are held back, as last heard.
    pub(crate) fn paused(&self) -> Vec<Kind> {
        self.paused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes news of what is held back.
    pub(crate) fn set_paused(&self, kinds: Vec<Kind>) {
        let mut paused = self.paused.lock().unwrap_or_else(PoisonError::into_inner);
        if *paused != kinds {
            tracing::info!(paused = ?kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>(), "what is paused has changed");
            *paused = kinds;
        }
    }

    /// How many chunks of a stream to claim at once; none while its kind is held back.
    pub(crate) fn appetite(&self, stream: StreamId) -> usize {
        if self.paused().contains(&stream.kind) { 0 } else { self.pace.chunks(stream.kind) }
    }

    pub(crate) fn kind_metrics(&self, kind: Kind) -> &KindMetrics {
        let place = Kind::ALL.iter().position(|&k| k == kind).unwrap_or(0);
        &self.metrics.kinds[place]
    }

    pub(crate) fn observe_claimed(&self, chunk: &Claimed, waited: Duration) {
        let priority = Priority::ALL.iter().position(|&p| p == chunk.stream.priority).unwrap_or(0);
        self.kind_metrics(chunk.stream.kind).observe_claimed(priority, waited, u64::from(chunk.chunk.jobs));
    }

    pub(crate) fn observe_solved(&self, kind: Kind, elapsed: Duration, jobs: u64, results: &[PoolResult]) {
        self.kind_metrics(kind).observe_solved(elapsed, jobs);
        self.metrics.panics.inc_by(results.iter().map(|result| u64::from(result.panics)).sum());
    }
}

fn report(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "a bug ended a piece of work; its chunks are left to their leases");
    }
}

/// A name that no other worker has: host, process and a random part.
fn fresh_name() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let host: String =
        host.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.')).take(40).collect();
    let random = uuid::Uuid::now_v7().as_u128() & 0xffff_ffff;
    format!("{host}-{}-{random:08x}", std::process::id())
}

/// Runs a worker until it is told to stop, then drains: finishes what is in hand, or hands it back when the grace
/// period ends. `ready` follows whether Redis can be reached.
///
/// # Errors
/// When it cannot start: a setting, no thread, or what Redis said. Once it runs, faults of Redis are waited out, and it
/// only ends by itself when all its cores are taken by threads that do not come back.
pub async fn run(
    queue: Queue,
    config: &Config,
    metrics: WorkerMetrics,
    ready: watch::Sender<Readiness>,
    shutdown: Shutdown,
) -> Result<(), WorkerError> {
    config.validate()?;
    let kinds = config.parsed_kinds()?;
    let name = fresh_name();
    let mut consumers = Vec::new();
    for shard in 0..queue.config().shards {
        consumers.push(Consumer::open(&queue, &name, shard, &kinds).await?);
    }
    let pool =
        Pool::start(config.thread_count(), &name, config.time_limit()).map_err(WorkerError::Threads)?;
    metrics.threads.set(pool.threads() as i64);
    tracing::info!(worker = %name, threads = pool.threads(), kinds = ?config.kinds, redis = queue.address(), "working");

    let shared = Arc::new(Shared {
        streams: consumers.iter().flat_map(Consumer::streams).collect(),
        leases: Leases::open(&queue, &name).await?,
        pool,
        pace: pace::Pace::new(Duration::from_millis(config.claim_ms)),
        costs: costs::Costs::default(),
        clock: clock::Clock::default(),
        // A shard's claimer holds a permit while it waits for work. Those of idle shards must not starve the others.
        permits: Arc::new(Semaphore::new(config.permits() + consumers.len() - 1)),
        metrics,
        attempts_max: config.attempts_max as usize,
        tally: tally::Tally::default(),
        kinds,
        paused: Mutex::default(),
        shutdown: shutdown.clone(),
        stopped: CancellationToken::new(),
        tasks: Mutex::default(),
        queue,
        name,
    });
    shared.clock.set(shared.queue.server_ms().await?);
    shared.set_paused(shared.queue.paused().await?.iter().map(|paused| paused.kind).collect());

    let mut claiming = JoinSet::new();
    for consumer in consumers {
        claiming.spawn(claimer::run(shared.clone(), consumer));
    }
    claiming.spawn(reclaimer::run(shared.clone()));
    let mut keeping = JoinSet::new();
    keeping.spawn(renewer::run(shared.clone()));
    keeping.spawn(upkeep::run(shared.clone(), ready, Duration::from_secs(config.sweep_s)));

    let draining = shutdown.draining();
    tokio::select! {
        () = draining.cancelled() => {}
        () = shared.pool.worn_out().cancelled() => shutdown.drain(),
    }
    while let Some(ended) = claiming.join_next().await {
        report(ended);
    }
    drain(&shared).await;
    shared.stopped.cancel();
    while let Some(ended) = keeping.join_next().await {
        report(ended);
    }
    hand_back(&shared).await;
    match shared.pool.stuck() {
        stuck if shared.pool.worn_out().is_cancelled() => Err(WorkerError::WornOut(stuck)),
        _ => Ok(()),
    }
}

/// Waits for the work in hand; when the drain must end, tells the solvers to stop and waits a last second.
async fn drain(shared: &Arc<Shared>) {
    let mut tasks = std::mem::take(&mut *shared.tasks.lock().unwrap_or_else(PoisonError::into_inner));
    tracing::info!(pieces = tasks.len(), "draining");
    let stop_now = shared.shutdown.stopping_now();
    let all = async {
        while let Some(ended) = tasks.join_next().await {
            report(ended);
        }
    };
    tokio::pin!(all);
    tokio::select! {
        () = &mut all => return,
        () = stop_now.cancelled() => {}
    }
    shared.leases.stop_all();
    if tokio::time::timeout(Duration::from_secs(1), &mut all).await.is_err() {
        tracing::warn!("some solvers did not stop in time; their chunks are handed back all the same");
    }
}

/// Gives everything that Redis still holds under our name to whoever comes next, and takes the name off.
async fn hand_back(shared: &Shared) {
    let farewell = async {
        let released = shared.queue.release_all(&shared.name, &shared.streams).await?;
        shared.metrics.chunks_released.inc_by(released);
        shared.queue.depart(&shared.name).await?;
        Ok::<u64, Error>(released)
    };
    match tokio::time::timeout(Duration::from_secs(2), farewell).await {
        Ok(Ok(released)) => tracing::info!(released, "stopped"),
        Ok(Err(error)) => tracing::warn!(%error, "stopped without Redis; leases run out by themselves"),
        Err(_) => tracing::warn!("stopped without Redis; leases run out by themselves"),
    }
}

/// Why a worker did not start, or ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// A setting cannot work.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Redis.
    #[error(transparent)]
    Queue(#[from] Error),
    /// The system gave no thread.
    #[error("cannot start solver threads: {0}; lower worker.threads or raise the process limit")]
    Threads(std::io::Error),
    /// As many solver threads were left behind as there are cores for.
    #[error(
        "{0} solver threads are stuck and hold on to their cores, so this worker ends; start it again. \
         Their jobs timed out; the log names them"
    )]
    WornOut(usize),
}
