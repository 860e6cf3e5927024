//! Connections to Redis. Everything that says "redis" to the network is here.
//!
//! A process holds one shared connection for commands (`Link`), a worker a second one for leases, so that a
//! renewal never waits behind a payload, and one of its own per blocking reader (`Reader`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use puzzled_service::metrics::RedisMetrics;

use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig, MultiplexedConnection};
use redis::io::tcp::{TcpSettings, socket2::TcpKeepalive};
use redis::{
    AsyncConnectionConfig, Client, ErrorKind, FromRedisValue, IntoConnectionInfo, Pipeline, ProtocolVersion,
    ServerErrorKind, Value,
};

use crate::config::Config;
use crate::ids::BatchId;
use crate::notices::Notices;
use crate::scripts::Mode;
use crate::{Error, keys::Keys};

/// A handle on one installation: settings, keys and a shared connection. Cloning is cheap.
#[derive(Clone)]
pub struct Queue {
    inner: Arc<Inner>,
}

struct Inner {
    config: Config,
    keys: Keys,
    client: Client,
    address: String,
    commands: Links,
    notices: Notices,
    telemetry: Arc<Telemetry>,
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
        let queue = Self::open(config, metrics).await?;
        queue.agree().await?;
        Ok(queue)
    }

    /// Connects to look around: writes nothing, and takes any server as it is.
    ///
    /// # Errors
    /// [`Error::Setting`] for settings that cannot work, else what Redis said.
    pub async fn visit(config: &Config) -> Result<Self, Error> {
        Self::open(config, None).await
    }

    async fn open(config: &Config, metrics: Option<RedisMetrics>) -> Result<Self, Error> {
        config.validate()?;
        let bad_url = |e: redis::RedisError| Error::Setting {
            key: "redis.url",
            reason: format!("{e}; expected redis://host:port"),
        };
        let info = config.url.expose().into_connection_info().map_err(bad_url)?;
        let keepalive = TcpKeepalive::new().with_time(Duration::from_secs(30));
        let redis = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
        let info = info
            .set_tcp_settings(TcpSettings::default().set_nodelay(true).set_keepalive(keepalive))
            .set_redis_settings(redis);
        // The address, unlike the URL, holds no password.
        let address = info.addr().to_string();
        let client = Client::open(info).map_err(bad_url)?;
        let telemetry = Arc::new(Telemetry { metrics, broken: AtomicBool::new(false) });
        let commands = Links(Link::open(&client, &address, config, telemetry.clone()).await?);
        let keys = Keys::new(&config.prefix, config.shards);
        let notices = {
            let (client, address, telemetry) = (client.clone(), address.clone(), telemetry.clone());
            let timeout = Duration::from_millis(config.connect_timeout_ms);
            Notices::start(move || {
                Box::pin(open_pubsub(client.clone(), address.clone(), telemetry.clone(), timeout))
            })
        };
        let inner = Inner { config: config.clone(), keys, client, address, commands, notices, telemetry };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Whether a server answers at all, on a connection of its own that is closed again.
    ///
    /// # Errors
    /// What Redis said.
    pub(crate) async fn probe(config: &Config) -> Result<(), Error> {
        let failed = |e: redis::RedisError| Error::from_redis("the new server", &e);
        let client = Client::open(config.url.expose()).map_err(failed)?;
        let settings = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(Duration::from_millis(config.connect_timeout_ms)))
            .set_response_timeout(Some(Duration::from_millis(config.response_timeout_ms)));
        let mut connection =
            client.get_multiplexed_async_connection_with_config(&settings).await.map_err(failed)?;
        redis::cmd("PING").exec_async(&mut connection).await.map_err(failed)
    }

    /// The settings it was opened with.
    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    /// Host and port, or socket path.
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

    /// Further connections for commands.
    pub(crate) async fn open_links(&self) -> Result<Links, Error> {
        let inner = &self.inner;
        let link = Link::open(&inner.client, &inner.address, &inner.config, inner.telemetry.clone()).await?;
        Ok(Links(link))
    }

    /// A connection for blocking reads of a shard.
    pub(crate) async fn open_reader(&self, _shard: u16) -> Result<Reader, Error> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(Duration::from_millis(self.inner.config.connect_timeout_ms)))
            // The library's own deadline would abandon a read that Redis still answers: the entries would be
            // ours in Redis and unknown here. Reader keeps its own deadline and drops the connection.
            .set_response_timeout(None);
        let connection = self
            .inner
            .client
            .get_multiplexed_async_connection_with_config(&config)
            .await
            .map_err(|e| self.inner.telemetry.failed(Operation::Claim, &self.inner.address, &e))?;
        Ok(Reader {
            connection,
            address: self.inner.address.clone(),
            telemetry: self.inner.telemetry.clone(),
        })
    }

    pub(crate) fn notices(&self) -> &Notices {
        &self.inner.notices
    }

    /// Writes down, or compares, what all processes of the installation must agree on.
    async fn agree(&self) -> Result<(), Error> {
        const PROTOCOL: u32 = 1;
        let (key, shards) = (self.keys().meta(), self.keys().shards());
        let read = || {
            self.link(0).run::<(Vec<Option<String>>,)>(Operation::Inspect, |_| {
                let mut pipe = redis::pipe();
                pipe.cmd("HMGET").arg(&key).arg("protocol").arg("shards");
                pipe
            })
        };
        // Reading first: somebody who only looks needs no right to write, and no room in a full server.
        let (mut found,) = read().await?;
        if found.iter().any(Option::is_none) {
            self.link(0)
                .run::<()>(Operation::Inspect, |_| {
                    let mut pipe = redis::pipe();
                    pipe.cmd("HSETNX").arg(&key).arg("protocol").arg(PROTOCOL).ignore();
                    pipe.cmd("HSETNX").arg(&key).arg("shards").arg(shards).ignore();
                    pipe
                })
                .await?;
            (found,) = read().await?;
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
        Ok(())
    }
}

/// A connection that listens to channels.
async fn open_pubsub(
    client: Client,
    address: String,
    telemetry: Arc<Telemetry>,
    timeout: Duration,
) -> Result<redis::aio::PubSub, Error> {
    let opened = match tokio::time::timeout(timeout, client.get_async_pubsub()).await {
        Ok(opened) => opened.map_err(|e| Error::from_redis(&address, &e)),
        Err(_) => Err(Error::Unreachable { address, reason: "no connection in time".to_owned() }),
    };
    telemetry.count(Operation::Read, opened.as_ref().err());
    opened
}

/// Connections of one use: a link for every shard.
pub(crate) struct Links(Link);

impl Links {
    /// The link of a shard.
    pub(crate) fn to(&self, _shard: u16) -> &Link {
        &self.0
    }
}

/// A shared, self-healing connection for commands that answer at once.
#[derive(Clone)]
pub(crate) struct Link {
    manager: ConnectionManager,
    address: String,
    telemetry: Arc<Telemetry>,
}

impl Link {
    async fn open(
        client: &Client,
        address: &str,
        config: &Config,
        telemetry: Arc<Telemetry>,
    ) -> Result<Self, Error> {
        let settings = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(Duration::from_millis(config.connect_timeout_ms)))
            .set_response_timeout(Some(Duration::from_millis(config.response_timeout_ms)))
            // Callers know how long to go on (patience, leases); a hidden second retry would multiply it.
            .set_number_of_retries(0);
        let manager = ConnectionManager::new_with_config(client.clone(), settings)
            .await
            .map_err(|e| Error::from_redis(address, &e))?;
        Ok(Self { manager, address: address.to_owned(), telemetry })
    }

    /// Sends a pipeline in one write and reads its answers. `build` is called again, in [`Mode::Text`], when the
    /// server has forgotten a script: everything in the pipeline must bear repetition.
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
        let started = Instant::now();
        let mut answer = build(mode).query_async(&mut self.manager.clone()).await;
        if mode == Mode::Hash && answer.as_ref().is_err_and(lacks_only_scripts) {
            answer = build(Mode::Text).query_async(&mut self.manager.clone()).await;
        }
        self.telemetry.finish(operation, &self.address, started, answer)
    }
}

/// What we ask of Redis, as metrics tell it apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Opening batches, adding chunks, cancelling.
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
    /// Saying who is there.
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
    fn finish<T>(
        &self,
        operation: Operation,
        address: &str,
        started: Instant,
        answer: redis::RedisResult<T>,
    ) -> Result<T, Error> {
        match answer {
            Ok(value) => {
                if let Some(metrics) = &self.metrics {
                    metrics.operations[operation as usize].seconds.observe(started.elapsed());
                }
                self.count(operation, None);
                Ok(value)
            }
            Err(error) => Err(self.failed(operation, address, &error)),
        }
    }

    fn failed(&self, operation: Operation, address: &str, error: &redis::RedisError) -> Error {
        let error = Error::from_redis(address, error);
        self.count(operation, Some(&error));
        error
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
    address: String,
    telemetry: Arc<Telemetry>,
}

impl Reader {
    /// Sends a command and waits at most `deadline`. After an error the connection must be thrown away.
    pub(crate) async fn query(&mut self, cmd: &redis::Cmd, deadline: Duration) -> Result<Value, Error> {
        let failed = |e: redis::RedisError| self.telemetry.failed(Operation::Claim, &self.address, &e);
        match tokio::time::timeout(deadline, self.connection.req_packed_command(cmd)).await {
            Ok(Ok(Value::ServerError(error))) => Err(failed(error.into())),
            Ok(answer) => {
                let answer = answer.map_err(failed)?;
                self.telemetry.count(Operation::Claim, None);
                Ok(answer)
            }
            Err(_) => {
                let reason = "no answer in time".to_owned();
                let error = Error::Unreachable { address: self.address.clone(), reason };
                self.telemetry.count(Operation::Claim, Some(&error));
                Err(error)
            }
        }
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
