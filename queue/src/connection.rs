//! Connections to Redis: who sends what where, and what is done when it fails.
//!
//! A process holds one shared set of connections for commands (`Links`), a worker a second one for leases, so that a
//! renewal never waits behind a payload, and one of its own per blocking reader (`Reader`). A set has at most one
//! connection to a node, whatever number of shards lives there.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use puzzled_service::metrics::RedisMetrics;
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{ErrorKind, FromRedisValue, Pipeline, ServerErrorKind, Value};

use crate::config::Config;
use crate::ids::BatchId;
use crate::notices::Notices;
use crate::scripts::Mode;
use crate::topology::{Address, Layout, Places, Topology, redirected};
use crate::{Error, keys::Keys};

/// The protocol of docs/protocol.md that we speak.
const PROTOCOL: u32 = 1;

/// A handle on one installation: settings, keys and shared connections. Cloning is cheap.
#[derive(Clone)]
pub struct Queue {
    inner: Arc<Inner>,
}

struct Inner {
    config: Config,
    keys: Keys,
    address: String,
    hub: Arc<Hub>,
    commands: Links,
    notices: Notices,
}

impl Queue {
    /// Connects, and checks that this installation is one we can work with.
    ///
    /// # Errors
    /// [`Error::Setting`] for settings that cannot work, [`Error::Incompatible`] when the installation was set up
    /// with another number of shards or a newer protocol, else what Redis said.
    pub async fn connect(config: &Config) -> Result<Self, Error> {
        Self::connect_with(config, None).await
    }

    /// As [`Queue::connect`], and counts what happens in metrics registered for [`Operation::NAMES`].
    ///
    /// # Errors
    /// As [`Queue::connect`].
    pub async fn connect_with(config: &Config, metrics: Option<RedisMetrics>) -> Result<Self, Error> {
        let queue = Self::open(config, metrics)?;
        queue.agree().await?;
        Ok(queue)
    }

    /// Connects to look around: writes nothing, and takes any server as it is.
    ///
    /// # Errors
    /// [`Error::Setting`] for settings that cannot work, else what Redis said.
    pub async fn visit(config: &Config) -> Result<Self, Error> {
        let queue = Self::open(config, None)?;
        let node = queue.places().of(0).await?;
        queue.places().topology().connect_any(&node, None).await?;
        Ok(queue)
    }

    /// Connects to nothing yet.
    pub(crate) fn open(config: &Config, metrics: Option<RedisMetrics>) -> Result<Self, Error> {
        let keys = Keys::new(&config.prefix, config.shards);
        let places = Places::new(Topology::new(config)?, &keys);
        let address = places.topology().layout().to_string();
        let telemetry = Telemetry { metrics, broken: AtomicBool::new(false) };
        let hub = Arc::new(Hub { places, telemetry });
        let commands = Links::new(&hub, keys.shards());
        let notices = {
            let hub = hub.clone();
            Notices::start(move || Box::pin(open_pubsub(hub.clone())))
        };
        let inner = Inner { config: config.clone(), keys, address, hub, commands, notices };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Whether a server answers at all, on a connection of its own that is closed again.
    ///
    /// # Errors
    /// What Redis said.
    pub(crate) async fn probe(config: &Config) -> Result<(), Error> {
        let places = Places::new(Topology::new(config)?, &Keys::new(&config.prefix, 1));
        let node = places.of(0).await?;
        let topology = places.topology();
        let mut connection = topology.connect_any(&node, Some(topology.response_timeout())).await?;
        let answer = redis::cmd("PING").exec_async(&mut connection).await;
        answer.map_err(|e| Error::from_redis(&node.to_string(), &e))
    }

    /// The settings it was opened with.
    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    /// Where it is, for people: host and port, a socket, or what a Sentinel or a cluster is asked for.
    pub fn address(&self) -> &str {
        &self.inner.address
    }

    /// One round trip; red readiness is built on it.
    ///
    /// # Errors
    /// What Redis said.
    pub async fn ping(&self) -> Result<(), Error> {
        self.link(0).run(Operation::Inspect, |_| redis::pipe().cmd("PING").ignore().clone()).await
    }

    pub(crate) fn keys(&self) -> &Keys {
        &self.inner.keys
    }

    /// The shared connection to where a shard lives.
    pub(crate) fn link(&self, shard: u16) -> &Link {
        self.inner.commands.to(shard)
    }

    /// The shared connection to where a batch lives.
    pub(crate) fn link_to(&self, batch: BatchId) -> &Link {
        self.link(self.keys().shard(batch))
    }

    /// Further connections for commands. Connects to the first shard's node, so that an error shows at once; to
    /// others when they are needed.
    pub(crate) async fn open_links(&self) -> Result<Links, Error> {
        let links = Links::new(&self.inner.hub, self.keys().shards());
        let link = links.to(0);
        let node = link.pool.hub.places.of(0).await?;
        link.pool.connecting(&node).await?;
        Ok(links)
    }

    /// A connection for blocking reads of a shard.
    pub(crate) async fn open_reader(&self, shard: u16) -> Result<Reader, Error> {
        let hub = self.inner.hub.clone();
        let node = hub.counted(Operation::Claim, hub.places.of(shard).await)?;
        // The library's own deadline would abandon a read that Redis still answers: the entries would be ours in
        // Redis and unknown here. Reader keeps its own deadline and drops the connection.
        match hub.places.topology().connect(&node, None).await {
            Ok(connection) => Ok(Reader { connection, hub, shard, node }),
            Err(error) => {
                hub.places.doubt(&node);
                hub.counted(Operation::Claim, Err(error))
            }
        }
    }

    pub(crate) fn places(&self) -> &Arc<Places> {
        &self.inner.hub.places
    }

    pub(crate) fn notices(&self) -> &Notices {
        &self.inner.notices
    }

    /// Writes down, or compares, what all processes of the installation must agree on.
    async fn agree(&self) -> Result<(), Error> {
        // Reading first: somebody who only looks needs no right to write, and no room in a full server.
        if self.is_set_up().await? {
            return Ok(());
        }
        let (key, shards) = (self.keys().meta(), self.keys().shards());
        let written = self
            .link(0)
            .run::<()>(Operation::Inspect, |_| {
                let mut pipe = redis::pipe();
                pipe.cmd("HSETNX").arg(&key).arg("protocol").arg(PROTOCOL).ignore();
                pipe.cmd("HSETNX").arg(&key).arg("shards").arg(shards).ignore();
                pipe
            })
            .await;
        match written {
            // A dashboard before everybody else: there is nothing yet to agree with, and nothing to show.
            Err(Error::Refused { .. }) => {
                tracing::warn!(
                    redis = self.address(),
                    shards,
                    "nothing is set up here yet, and this user may not"
                );
                return Ok(());
            }
            written => written?,
        }
        if self.is_set_up().await? {
            Ok(())
        } else {
            Err(Error::Incompatible(format!("{key} was deleted while it was written; start again")))
        }
    }

    /// Whether somebody has set this installation up, with settings that go with ours. Changes nothing.
    ///
    /// # Errors
    /// [`Error::Incompatible`] when it was set up with another number of shards or another protocol, else what Redis said.
    pub async fn is_set_up(&self) -> Result<bool, Error> {
        let (key, shards) = (self.keys().meta(), self.keys().shards());
        let (found,): (Vec<Option<String>>,) = self
            .link(0)
            .run(Operation::Inspect, |_| {
                let mut pipe = redis::pipe();
                pipe.cmd("HMGET").arg(&key).arg("protocol").arg("shards");
                pipe
            })
            .await?;
        if found.iter().any(Option::is_none) {
            return Ok(false);
        }
        let number = |i: usize| {
            let text = found.get(i).cloned().flatten().unwrap_or_default();
            text.parse::<u32>().map_err(|_| Error::Incompatible(format!("'{text}' in {key} is not a number")))
        };
        let (protocol, found) = (number(0)?, number(1)?);
        if protocol != PROTOCOL {
            return Err(Error::Incompatible(format!(
                "Redis at {} holds protocol {protocol}, this puzzled speaks {PROTOCOL}; run the same version everywhere",
                self.address()
            )));
        }
        if found != u32::from(shards) {
            return Err(Error::Incompatible(format!(
                "Redis at {} was set up with redis.shards = {found}, these settings say {shards}; \
                 use {found} (shards cannot change while batches exist)",
                self.address()
            )));
        }
        Ok(true)
    }
}

/// A connection that listens to channels. A cluster tells all its nodes what one of them publishes, so any node
/// will do: the first shard's.
async fn open_pubsub(hub: Arc<Hub>) -> Result<redis::aio::PubSub, Error> {
    let node = hub.counted(Operation::Read, hub.places.of(0).await)?;
    let opened = hub.places.topology().connect_pubsub(&node).await;
    if opened.is_err() {
        hub.places.doubt(&node);
    }
    hub.telemetry.count(Operation::Read, opened.as_ref().err());
    opened
}

/// What all connections of a process share.
struct Hub {
    places: Arc<Places>,
    telemetry: Telemetry,
}

impl Hub {
    fn counted<T>(&self, operation: Operation, answer: Result<T, Error>) -> Result<T, Error> {
        if let Err(error) = &answer {
            self.telemetry.count(operation, Some(error));
        }
        answer
    }

    /// Learns from an error of a node. Returns the error, and whether the same call may succeed at once: the shard
    /// is known to be elsewhere, or a connection that had served broke. Everything else is for the caller, who knows
    /// how long to go on.
    fn learn(&self, shard: u16, node: &Address, error: &redis::RedisError) -> (Error, bool) {
        let told = Error::from_redis(&node.to_string(), error);
        match moved(error) {
            Some(_) if matches!(self.places.topology().layout(), Layout::Server(_)) => {
                let reason = format!("{node} is a node of a Redis Cluster; write redis+cluster://{node}");
                return (Error::Setting { key: "redis.url", reason }, false);
            }
            Some(detail) => {
                match redirected(&detail, node) {
                    Some(node) => self.places.moved(shard, node),
                    None => self.places.doubt(node),
                }
                return (told, true);
            }
            None => {}
        }
        if leads_elsewhere(&told) {
            self.places.doubt(node);
        }
        let broke = matches!(told, Error::Unreachable { .. }) && !error.is_timeout();
        (told, broke)
    }
}

/// Whether after this error the shard may be found somewhere else: its node is away, or a master no more.
fn leads_elsewhere(error: &Error) -> bool {
    matches!(
        error,
        Error::Unreachable { .. } | Error::ReadOnly(_) | Error::Busy { .. } | Error::NotPersisting { .. }
    )
}

/// What MOVED says, wherever in a pipeline it stands.
fn moved(error: &redis::RedisError) -> Option<String> {
    let errors = error.clone().into_server_errors()?;
    let (_, moved) = errors.iter().find(|(_, e)| e.kind() == Some(ServerErrorKind::Moved))?;
    Some(moved.details().unwrap_or_default().to_owned())
}

type Connecting = Shared<BoxFuture<'static, Result<MultiplexedConnection, Error>>>;

/// Connections of one use: a link for every shard, at most one connection to a node.
pub(crate) struct Links(Vec<Link>);

impl Links {
    fn new(hub: &Arc<Hub>, shards: u16) -> Self {
        let pool = Arc::new(Pool { hub: hub.clone(), open: Mutex::default() });
        Self((0..shards).map(|shard| Link { pool: pool.clone(), shard }).collect())
    }

    /// The link of a shard.
    pub(crate) fn to(&self, shard: u16) -> &Link {
        // A shard beyond the number of them exists in no key of ours.
        &self.0[usize::from(shard) % self.0.len()]
    }
}

struct Pool {
    hub: Arc<Hub>,
    open: Mutex<HashMap<Arc<Address>, Connecting>>,
}

impl Pool {
    /// The connection to a node, which all who need it wait for together.
    fn connecting(&self, node: &Arc<Address>) -> Connecting {
        self.open().entry(node.clone()).or_insert_with(|| self.connect(node.clone())).clone()
    }

    fn connect(&self, node: Arc<Address>) -> Connecting {
        let hub = self.hub.clone();
        // A task of its own: whoever needs it first may go away meanwhile.
        let connecting = tokio::spawn(async move {
            let topology = hub.places.topology();
            let connected = topology.connect(&node, Some(topology.response_timeout())).await;
            if connected.is_err() {
                hub.places.doubt(&node);
            }
            connected
        });
        connecting
            .map(|ended| ended.unwrap_or_else(|e| Err(Error::Malformed(format!("connecting ended: {e}")))))
            .boxed()
            .shared()
    }

    /// Has the next who needs the node connect anew, unless somebody does already.
    fn forget(&self, node: &Arc<Address>, connecting: &Connecting) {
        let mut open = self.open();
        if open.get(node).is_some_and(|current| current.ptr_eq(connecting)) {
            open.remove(node);
        }
    }

    fn open(&self) -> std::sync::MutexGuard<'_, HashMap<Arc<Address>, Connecting>> {
        // Every change is a single insert or remove: a panic cannot leave it half done.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A shared, self-healing connection to where a shard lives, for commands that answer at once.
#[derive(Clone)]
pub(crate) struct Link {
    pool: Arc<Pool>,
    shard: u16,
}

impl Link {
    /// Sends a pipeline in one write and reads its answers. `build` is called again, in [`Mode::Text`], when the
    /// server has forgotten a script, and once more when the shard turns out to live elsewhere or the connection to
    /// have died in silence: everything in the pipeline must bear repetition.
    pub(crate) async fn run<T: FromRedisValue>(
        &self,
        operation: Operation,
        build: impl Fn(Mode) -> Pipeline,
    ) -> Result<T, Error> {
        self.run_as(operation, Mode::Hash, build).await
    }

    /// Like [`Link::run`], naming scripts as `mode` says from the start.
    pub(crate) async fn run_as<T: FromRedisValue>(
        &self,
        operation: Operation,
        mode: Mode,
        build: impl Fn(Mode) -> Pipeline,
    ) -> Result<T, Error> {
        let telemetry = &self.pool.hub.telemetry;
        let started = Instant::now();
        let answer = match self.try_run(mode, &build).await {
            Err((error, true)) => {
                telemetry.count(operation, Some(&error));
                self.try_run(mode, &build).await
            }
            answer => answer,
        };
        let answer = answer.map_err(|(error, _)| error);
        telemetry.count(operation, answer.as_ref().err());
        if answer.is_ok() {
            telemetry.observe(operation, started);
        }
        answer
    }

    /// One try. An error comes with whether another may succeed at once.
    async fn try_run<T: FromRedisValue>(
        &self,
        mode: Mode,
        build: &impl Fn(Mode) -> Pipeline,
    ) -> Result<T, (Error, bool)> {
        let Pool { hub, .. } = &*self.pool;
        let node = hub.places.of(self.shard).await.map_err(|error| (error, false))?;
        let connecting = self.pool.connecting(&node);
        let mut connection = match connecting.clone().await {
            Ok(connection) => connection,
            Err(error) => {
                self.pool.forget(&node, &connecting);
                return Err((error, false));
            }
        };
        let mut answer = build(mode).query_async(&mut connection).await;
        if mode == Mode::Hash && answer.as_ref().is_err_and(lacks_only_scripts) {
            answer = build(Mode::Text).query_async(&mut connection).await;
        }
        answer.map_err(|error| {
            let (told, again) = hub.learn(self.shard, &node, &error);
            // A connection that broke, or that leads to what has become a replica.
            if matches!(told, Error::Unreachable { .. } | Error::ReadOnly(_)) {
                self.pool.forget(&node, &connecting);
            }
            (told, again)
        })
    }
}

/// What we ask of Redis, as metrics tell it apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Opening batches, adding chunks, cancelling, pausing.
    Submit,
    /// Reading streams for work.
    Claim,
    /// Reading payloads.
    Fetch,
    /// Recording outcomes.
    Complete,
    /// Extending leases, learning of cancelled batches.
    Renew,
    /// Taking over expired leases.
    Reclaim,
    /// Handing back.
    Release,
    /// Reading outcomes.
    Read,
    /// Looking without changing.
    Inspect,
    /// Saying who is there, learning what is paused.
    Presence,
    /// Cleaning up.
    Sweep,
    /// The yardstick of the benchmark.
    Other,
}

impl Operation {
    /// The label values, in the order of the variants.
    pub const NAMES: [&'static str; 12] = [
        "submit", "claim", "fetch", "complete", "renew", "reclaim", "release", "read", "inspect", "presence",
        "sweep", "other",
    ];
}

/// What all connections of a process tell their metrics.
struct Telemetry {
    metrics: Option<RedisMetrics>,
    /// Whether the last call failed for want of a connection.
    broken: AtomicBool,
}

impl Telemetry {
    fn observe(&self, operation: Operation, started: Instant) {
        if let Some(metrics) = &self.metrics {
            metrics.operations[operation as usize].seconds.observe(started.elapsed());
        }
    }

    fn count(&self, operation: Operation, error: Option<&Error>) {
        match error {
            // The first success after a break means that a connection was made again.
            None if self.broken.load(Ordering::Relaxed) && self.broken.swap(false, Ordering::Relaxed) => {
                if let Some(metrics) = &self.metrics {
                    metrics.reconnects.inc();
                }
            }
            None => {}
            Some(error) => {
                if matches!(error, Error::Unreachable { .. }) {
                    self.broken.store(true, Ordering::Relaxed);
                }
                if let Some(metrics) = &self.metrics {
                    metrics.operations[operation as usize].errors.inc();
                }
            }
        }
    }
}

/// A connection that one blocking read at a time has for itself. Dropping it cancels the read.
pub(crate) struct Reader {
    connection: MultiplexedConnection,
    hub: Arc<Hub>,
    shard: u16,
    node: Arc<Address>,
}

impl Reader {
    /// Sends a command and waits at most `deadline`. After an error the connection must be thrown away.
    pub(crate) async fn query(&mut self, cmd: &redis::Cmd, deadline: Duration) -> Result<Value, Error> {
        let hub = &self.hub;
        let address = || self.node.to_string();
        if !hub.places.is_current(self.shard, &self.node) {
            let reason = "the shard has moved to another node".to_owned();
            return Err(Error::Busy { address: address(), reason });
        }
        let asked = tokio::time::timeout(deadline, self.connection.req_packed_command(cmd)).await;
        let answer = match asked {
            Ok(Ok(Value::ServerError(error))) => Err(hub.learn(self.shard, &self.node, &error.into()).0),
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(hub.learn(self.shard, &self.node, &error).0),
            Err(_) => {
                hub.places.doubt(&self.node);
                Err(Error::Unreachable { address: address(), reason: "no answer in time".to_owned() })
            }
        };
        hub.telemetry.count(Operation::Claim, answer.as_ref().err());
        answer
    }
}

/// Whether nothing failed but scripts that the server has forgotten.
fn lacks_only_scripts(error: &redis::RedisError) -> bool {
    const NO_SCRIPT: ServerErrorKind = ServerErrorKind::NoScript;
    match error.clone().into_server_errors() {
        Some(errors) => errors.iter().all(|(_, e)| e.kind() == Some(NO_SCRIPT)),
        None => error.kind() == ErrorKind::Server(NO_SCRIPT),
    }
}

/// Whether the error says that the consumer group is gone (flushed, or lost in a failover).
pub(crate) fn is_no_group(error: &Error) -> bool {
    matches!(error, Error::Redis { reason, .. } if reason.contains("NOGROUP"))
}
