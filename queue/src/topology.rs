//! Where a shard lives: on one server, on the master that Sentinels name, or on a node of a Redis Cluster.
//!
//! All keys of a shard share a hash tag, so a shard is on one node at a time, and ordinary connections to that node
//! are all it takes: no cluster client. This file reads `redis.url`, asks who has what, remembers the answer until
//! somebody doubts it, and opens connections. It never settles for a replica: what a replica shows may be behind.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use redis::aio::MultiplexedConnection;
use redis::io::tcp::{TcpSettings, socket2::TcpKeepalive};
use redis::{
    AsyncConnectionConfig, Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, IntoConnectionInfo,
    ProtocolVersion, RedisConnectionInfo, TlsCertificates, Value,
};

use crate::config::Config;
use crate::keys::Keys;
use crate::{Error, reply};

/// How a certificate in a PEM file begins.
const CERTIFICATE: &[u8] = b"-----BEGIN CERTIFICATE-----";

/// Port of a Sentinel that the URL names without one.
const SENTINEL_PORT: u16 = 26_379;

/// How long one Sentinel or one seed may take to answer: there are others to ask.
const ASK_MAX: Duration = Duration::from_secs(1);

/// How often Sentinels are asked anew though nothing failed: an old master that is cut off from them, but not from
/// us, would take writes that are lost once it hears of its successor.
const ASK_EVERY: Duration = Duration::from_secs(5);

/// A place to connect to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Address {
    /// Host and port.
    Tcp(String, u16),
    /// Path of a socket.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// What `redis.url` stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Layout {
    /// One server.
    Server(Address),
    /// The master that these Sentinels know under a name.
    Sentinel {
        /// Whom to ask.
        sentinels: Vec<Address>,
        /// The name.
        master: String,
    },
    /// A Redis Cluster, of which some nodes are known.
    Cluster {
        /// Whom to ask first.
        seeds: Vec<Address>,
    },
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |all: &[Address]| all.iter().map(Address::to_string).collect::<Vec<_>>().join(",");
        match self {
            Self::Server(address) => write!(f, "{address}"),
            Self::Sentinel { sentinels, master } => {
                write!(f, "{master} (Sentinel at {})", list(sentinels))
            }
            Self::Cluster { seeds } => write!(f, "{} (cluster)", list(seeds)),
        }
    }
}

/// A URL taken apart.
struct Parsed {
    layout: Layout,
    tls: bool,
    redis: RedisConnectionInfo,
}

fn parse(url: &str) -> Result<Parsed, String> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let Some((plain, kind)) = scheme.split_once('+').filter(|(_, kind)| *kind != "unix") else {
        let info = url.into_connection_info().map_err(|e| {
            format!(
                "{e}; expected redis://host:port, rediss:// with TLS, redis+unix:///path, \
                 redis+sentinel://host,host/master or redis+cluster://host,host"
            )
        })?;
        if matches!(info.addr(), ConnectionAddr::TcpTls { insecure: true, .. }) {
            return Err("certificates are always checked; trust your own by redis.ca_file".to_owned());
        }
        let tls = matches!(info.addr(), ConnectionAddr::TcpTls { .. });
        return Ok(Parsed {
            layout: Layout::Server(address_of(&info)?),
            tls,
            redis: info.redis_settings().clone(),
        });
    };
    let shape = match (plain, kind) {
        ("redis" | "rediss", "sentinel") => format!("{scheme}://[user:password@]host:port,host:port/MASTER"),
        ("redis" | "rediss", "cluster") => format!("{scheme}://[user:password@]host:port,host:port"),
        _ => return Err("unknown scheme; expected redis, rediss, and +sentinel or +cluster".to_owned()),
    };
    // The text is not repeated: it may hold a password.
    let wrong =
        |why: &str| format!("{why}; expected {shape} (in a password, write / ? # @ as %2F %3F %23 %40)");
    if rest.contains(['?', '#']) {
        return Err(wrong("there is nothing to say behind ? or #"));
    }
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, hosts) = match authority.rsplit_once('@') {
        Some((user, hosts)) => (format!("{user}@"), hosts),
        None => (String::new(), authority),
    };
    let mut addresses = Vec::new();
    let mut redis = RedisConnectionInfo::default();
    for host in hosts.split(',') {
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'));
        let port = if kind == "sentinel" && !has_port { format!(":{SENTINEL_PORT}") } else { String::new() };
        let info = format!("{plain}://{user}{host}{port}")
            .into_connection_info()
            .map_err(|_| wrong("a host cannot be read"))?;
        addresses.push(address_of(&info)?);
        redis = info.redis_settings().clone();
    }
    let layout = if kind == "cluster" {
        if !matches!(path, "" | "0" | "0/") {
            return Err(wrong("a cluster has only database 0"));
        }
        Layout::Cluster { seeds: addresses }
    } else {
        let (master, database) = path.split_once('/').unwrap_or((path, ""));
        if master.is_empty() {
            return Err(wrong("the name of the master is missing"));
        }
        if !database.is_empty() {
            redis = redis.set_db(database.parse().map_err(|_| wrong("the database is no number"))?);
        }
        Layout::Sentinel { sentinels: addresses, master: master.to_owned() }
    };
    Ok(Parsed { layout, tls: plain == "rediss", redis })
}

fn address_of(info: &ConnectionInfo) -> Result<Address, String> {
    match info.addr() {
        ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
            Ok(Address::Tcp(host.clone(), *port))
        }
        ConnectionAddr::Unix(path) => Ok(Address::Unix(path.clone())),
        _ => Err("unknown kind of address".to_owned()),
    }
}

/// How to get into a node once its address is known.
struct Door {
    redis: RedisConnectionInfo,
    /// Empty: what the URL says.
    password_file: PathBuf,
    password_key: &'static str,
}

/// The nodes as `redis.url` describes them, and the keys to their doors.
pub(crate) struct Topology {
    layout: Layout,
    tls: bool,
    nodes: Door,
    sentinels: Door,
    ca_file: PathBuf,
    cert_file: PathBuf,
    key_file: PathBuf,
    connect_timeout: Duration,
    response_timeout: Duration,
}

impl Topology {
    /// Reads the settings, and the files they name.
    ///
    /// # Errors
    /// [`Error::Setting`].
    pub(crate) fn new(config: &Config) -> Result<Self, Error> {
        config.validate()?;
        let bad = |key, reason: String| Error::Setting { key, reason };
        let Parsed { layout, tls, redis } = parse(config.url.expose()).map_err(|e| bad("redis.url", e))?;
        // CLIENT SETINFO, which the library would send, is unknown to Redis 7.0 and one more right to grant.
        let nodes = redis.set_skip_set_lib_name().set_protocol(ProtocolVersion::RESP3);
        let mut sentinels = RedisConnectionInfo::default().set_skip_set_lib_name();
        if !config.sentinel_user.is_empty() {
            sentinels = sentinels.set_username(&config.sentinel_user);
        }
        if nodes.password().is_some() && !config.password_file.as_os_str().is_empty() {
            let reason = "redis.url holds a password already; leave one of them out";
            return Err(bad("redis.password_file", reason.to_owned()));
        }
        for (key, file) in [
            ("redis.ca_file", &config.ca_file),
            ("redis.cert_file", &config.cert_file),
            ("redis.key_file", &config.key_file),
        ] {
            if !tls && !file.as_os_str().is_empty() {
                return Err(bad(key, "is for TLS: begin redis.url with rediss".to_owned()));
            }
        }
        if config.cert_file.as_os_str().is_empty() != config.key_file.as_os_str().is_empty() {
            return Err(bad("redis.cert_file", "goes together with redis.key_file".to_owned()));
        }
        let for_sentinels =
            !(config.sentinel_user.is_empty() && config.sentinel_password_file.as_os_str().is_empty());
        if for_sentinels && !matches!(layout, Layout::Sentinel { .. }) {
            let reason = "is for Sentinels: begin redis.url with redis+sentinel".to_owned();
            return Err(bad("redis.sentinel_password_file", reason));
        }
        if tls {
            // The one provider we link. A second one, brought in by some dependency, would make the library panic
            // for want of a choice. An error says that it is chosen already.
            drop(rustls::crypto::ring::default_provider().install_default());
        }
        let topology = Self {
            layout,
            tls,
            nodes: Door {
                redis: nodes,
                password_file: config.password_file.clone(),
                password_key: "redis.password_file",
            },
            sentinels: Door {
                redis: sentinels,
                password_file: config.sentinel_password_file.clone(),
                password_key: "redis.sentinel_password_file",
            },
            ca_file: config.ca_file.clone(),
            cert_file: config.cert_file.clone(),
            key_file: config.key_file.clone(),
            connect_timeout: Duration::from_millis(config.connect_timeout_ms),
            response_timeout: Duration::from_millis(config.response_timeout_ms),
        };
        // What a file lacks is told at the start, not when the first connection breaks.
        let nowhere = Address::Tcp("localhost".to_owned(), 1);
        topology.client(&nowhere)?;
        topology.client_of(&topology.sentinels, &nowhere)?;
        Ok(topology)
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Opens nothing yet. Files are read anew, so that a password or a certificate may be replaced under a running
    /// process.
    ///
    /// # Errors
    /// [`Error::Setting`] when a file cannot be read.
    pub(crate) fn client(&self, node: &Address) -> Result<Client, Error> {
        self.client_of(&self.nodes, node)
    }

    fn client_of(&self, door: &Door, address: &Address) -> Result<Client, Error> {
        let mut redis = door.redis.clone();
        if let Some(password) = read(door.password_key, &door.password_file)? {
            let password = String::from_utf8(password).map_err(|_| Error::Setting {
                key: door.password_key,
                reason: "the password is not UTF-8".to_owned(),
            })?;
            redis = redis.set_password(password.trim_end_matches(['\r', '\n']));
        }
        let keepalive = TcpKeepalive::new().with_time(Duration::from_secs(30));
        let tcp = TcpSettings::default().set_nodelay(true).set_keepalive(keepalive);
        let addr = match address {
            Address::Unix(path) => ConnectionAddr::Unix(path.clone()),
            Address::Tcp(host, port) if !self.tls => ConnectionAddr::Tcp(host.clone(), *port),
            Address::Tcp(host, port) => {
                ConnectionAddr::TcpTls { host: host.clone(), port: *port, insecure: false, tls_params: None }
            }
        };
        let is_tls = matches!(addr, ConnectionAddr::TcpTls { .. });
        let failed = |e: redis::RedisError| Error::Setting {
            key: if is_tls { "redis.ca_file" } else { "redis.url" },
            reason: e.to_string(),
        };
        let info = addr.into_connection_info().map_err(failed)?;
        let info = info.set_tcp_settings(tcp).set_redis_settings(redis);
        if !is_tls {
            return Client::open(info).map_err(failed);
        }
        let cert = read("redis.cert_file", &self.cert_file)?;
        let key = read("redis.key_file", &self.key_file)?;
        let ca = read("redis.ca_file", &self.ca_file)?;
        // The library would trust nobody, and say later that everybody is unknown.
        if let Some(pem) = &ca
            && !pem.windows(CERTIFICATE.len()).any(|part| part == CERTIFICATE)
        {
            let reason = format!("{} holds no certificate (PEM)", self.ca_file.display());
            return Err(Error::Setting { key: "redis.ca_file", reason });
        }
        let certificates = TlsCertificates {
            client_tls: cert
                .zip(key)
                .map(|(client_cert, client_key)| ClientTlsConfig { client_cert, client_key }),
            root_cert: ca,
        };
        Client::build_with_tls(info, certificates).map_err(failed)
    }

    /// Connects to a node and makes sure that it is a master. `response_timeout` bounds later answers.
    ///
    /// # Errors
    /// [`Error::ReadOnly`] when it is a replica, else what Redis said.
    pub(crate) async fn connect(
        &self,
        node: &Address,
        response_timeout: Option<Duration>,
    ) -> Result<MultiplexedConnection, Error> {
        let mut connection = self.connect_any(node, response_timeout).await?;
        let role = self.within(node, self.connect_timeout, async {
            redis::cmd("ROLE").query_async::<Value>(&mut connection).await
        });
        match reply::items(role.await?).first().map(reply::text).as_deref() {
            Some("master") => Ok(connection),
            _ => Err(Error::ReadOnly(node.to_string())),
        }
    }

    /// Connects to a node, whatever it is.
    ///
    /// # Errors
    /// What Redis said.
    pub(crate) async fn connect_any(
        &self,
        node: &Address,
        response_timeout: Option<Duration>,
    ) -> Result<MultiplexedConnection, Error> {
        let client = self.client(node).map_err(|e| unreadable(node, &e))?;
        let settings = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.connect_timeout))
            .set_response_timeout(response_timeout);
        client
            .get_multiplexed_async_connection_with_config(&settings)
            .await
            .map_err(|e| Error::from_redis(&node.to_string(), &e))
    }

    /// Connects to a node for listening to channels.
    ///
    /// # Errors
    /// What Redis said.
    pub(crate) async fn connect_pubsub(&self, node: &Address) -> Result<redis::aio::PubSub, Error> {
        let client = self.client(node).map_err(|e| unreadable(node, &e))?;
        self.within(node, self.connect_timeout, client.get_async_pubsub()).await
    }

    /// How long an answer to a command may take.
    pub(crate) fn response_timeout(&self) -> Duration {
        self.response_timeout
    }

    async fn within<T>(
        &self,
        node: &Address,
        limit: Duration,
        asked: impl Future<Output = redis::RedisResult<T>>,
    ) -> Result<T, Error> {
        match tokio::time::timeout(limit, asked).await {
            Ok(answer) => answer.map_err(|e| Error::from_redis(&node.to_string(), &e)),
            Err(_) => {
                Err(Error::Unreachable { address: node.to_string(), reason: "no answer in time".to_owned() })
            }
        }
    }

    /// Whom a Sentinel holds for the master.
    pub(crate) async fn ask_sentinel(&self, sentinel: &Address, master: &str) -> Result<Address, Error> {
        let client = self.client_of(&self.sentinels, sentinel).map_err(|e| unreadable(sentinel, &e))?;
        let limit = self.connect_timeout.min(ASK_MAX);
        let answer: Option<(String, u16)> = self
            .within(sentinel, limit, async {
                let mut connection = client.get_multiplexed_async_connection().await?;
                let mut ask = redis::cmd("SENTINEL");
                ask.arg("GET-MASTER-ADDR-BY-NAME").arg(master).query_async(&mut connection).await
            })
            .await?;
        let (host, port) = answer.ok_or_else(|| Error::Redis {
            address: sentinel.to_string(),
            reason: format!("this Sentinel knows no master '{master}'; correct the name in redis.url"),
        })?;
        Ok(Address::Tcp(host, port))
    }

    /// A cluster as one of its nodes sees it: which master has which slots, and the slots of keys.
    pub(crate) async fn ask_cluster(&self, node: &Address, keys: &[String]) -> Result<ClusterView, Error> {
        let client = self.client(node).map_err(|e| unreadable(node, &e))?;
        let mut ask = redis::pipe();
        ask.cmd("CLUSTER").arg("SLOTS");
        for key in keys {
            ask.cmd("CLUSTER").arg("KEYSLOT").arg(key);
        }
        let answer: Result<Vec<Value>, Error> = self
            .within(node, self.connect_timeout.min(ASK_MAX), async {
                let mut connection = client.get_multiplexed_async_connection().await?;
                ask.query_async(&mut connection).await
            })
            .await;
        let mut answers = match answer {
            Err(Error::Redis { reason, .. }) if reason.contains("cluster support disabled") => {
                return Err(Error::Setting {
                    key: "redis.url",
                    reason: format!("{node} belongs to no cluster; write redis://{node}"),
                });
            }
            answer => answer?.into_iter(),
        };
        let rows = reply::items(answers.next().unwrap_or_default());
        Ok(ClusterView {
            ranges: rows.into_iter().filter_map(|row| decode_range(row, node)).collect(),
            key_slots: answers.filter_map(|slot| u16::try_from(reply::int(&slot)?).ok()).collect(),
        })
    }
}

/// A cluster as one of its nodes sees it.
pub(crate) struct ClusterView {
    /// First slot, last slot, their master.
    pub(crate) ranges: Vec<(u16, u16, Address)>,
    /// Slots of the keys that were asked for.
    pub(crate) key_slots: Vec<u16>,
}

impl ClusterView {
    /// The master of a slot.
    pub(crate) fn master_of(&self, slot: u16) -> Option<&Address> {
        self.ranges.iter().find(|(first, last, _)| (*first..=*last).contains(&slot)).map(|(.., node)| node)
    }
}

/// A file that was there at the start and is not now: it may come back, as a node may.
fn unreadable(node: &Address, error: &Error) -> Error {
    Error::Unreachable { address: node.to_string(), reason: error.to_string() }
}

/// The bytes of a file, `None` when no file is named.
fn read(key: &'static str, path: &Path) -> Result<Option<Vec<u8>>, Error> {
    if path.as_os_str().is_empty() {
        return Ok(None);
    }
    let failed = |e| Error::Setting { key, reason: format!("cannot read {}: {e}", path.display()) };
    std::fs::read(path).map(Some).map_err(failed)
}

/// A row of CLUSTER SLOTS: first slot, last slot, master, replicas.
fn decode_range(row: Value, asked: &Address) -> Option<(u16, u16, Address)> {
    let row = reply::items(row);
    let slot = |i: usize| row.get(i).and_then(reply::int).and_then(|n| u16::try_from(n).ok());
    let master = reply::items(row.get(2)?.clone());
    let port = u16::try_from(reply::int(master.get(1)?)?).ok()?;
    let host = reply::text(master.first()?);
    match (host.as_str(), asked) {
        // A node that does not know under which name it is reached leaves it out.
        ("", Address::Tcp(asked, _)) => Some((slot(0)?, slot(1)?, Address::Tcp(asked.clone(), port))),
        ("" | "?", _) => None,
        _ => Some((slot(0)?, slot(1)?, Address::Tcp(host, port))),
    }
}

/// The place that a redirection names: `SLOT HOST:PORT`; without a host it is the one that was asked.
pub(crate) fn redirected(detail: &str, asked: &Address) -> Option<Address> {
    let (host, port) = detail.split_ascii_whitespace().nth(1)?.rsplit_once(':')?;
    let port = port.parse().ok()?;
    match (host, asked) {
        ("", Address::Tcp(asked, _)) => Some(Address::Tcp(asked.clone(), port)),
        ("" | "?", _) => None,
        _ => Some(Address::Tcp(host.trim_matches(['[', ']']).to_owned(), port)),
    }
}

type Asking = Shared<BoxFuture<'static, Result<(), Error>>>;

/// Where every shard was last known to live.
pub(crate) struct Places {
    topology: Topology,
    /// A key of each shard: it tells the shard's slot.
    keys: Vec<String>,
    known: Mutex<Known>,
    /// Whom to ask first, next time: an answer that led nowhere may come from one that is cut off.
    turn: AtomicUsize,
}

struct Known {
    nodes: Vec<Option<Arc<Address>>>,
    asked: Instant,
    asking: Option<Asking>,
}

impl Places {
    pub(crate) fn new(topology: Topology, keys: &Keys) -> Arc<Self> {
        let node = match &topology.layout {
            Layout::Server(address) => Some(Arc::new(address.clone())),
            Layout::Sentinel { .. } | Layout::Cluster { .. } => None,
        };
        let shards = usize::from(keys.shards());
        Arc::new(Self {
            topology,
            keys: (0..keys.shards()).map(|shard| keys.depth(shard)).collect(),
            known: Mutex::new(Known { nodes: vec![node; shards], asked: Instant::now(), asking: None }),
            turn: AtomicUsize::new(0),
        })
    }

    pub(crate) fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The node of a shard.
    ///
    /// # Errors
    /// [`Error::Busy`] when the cluster has none for it at present, else what those said who were asked.
    pub(crate) async fn of(self: &Arc<Self>, shard: u16) -> Result<Arc<Address>, Error> {
        let (node, asking) = {
            let mut known = self.known();
            let node = known.nodes.get(usize::from(shard)).cloned().flatten();
            let is_old =
                matches!(self.topology.layout, Layout::Sentinel { .. }) && known.asked.elapsed() >= ASK_EVERY;
            let asking = (node.is_none() || is_old).then(|| self.asking(&mut known));
            (node, asking)
        };
        match (node, asking) {
            // An old answer serves until there is a newer one.
            (Some(node), _) => return Ok(node),
            (None, Some(asking)) => asking.await?,
            (None, None) => {}
        }
        self.known().nodes.get(usize::from(shard)).cloned().flatten().ok_or_else(|| Error::Busy {
            address: self.topology.layout.to_string(),
            reason: format!("no node of the cluster serves the slot of shard {shard}"),
        })
    }

    /// Says that a node may not be the place any more. Where there is only one, it stays.
    pub(crate) fn doubt(&self, node: &Address) {
        if !matches!(self.topology.layout, Layout::Server(_)) {
            for place in &mut self.known().nodes {
                place.take_if(|place| **place == *node);
            }
        }
    }

    /// A node said where a shard is now.
    pub(crate) fn moved(&self, shard: u16, node: Address) {
        if let Some(place) = self.known().nodes.get_mut(usize::from(shard)) {
            *place = Some(Arc::new(node));
        }
    }

    /// Whether a node is, as far as is known, the place of a shard.
    pub(crate) fn is_current(&self, shard: u16, node: &Address) -> bool {
        self.known().nodes.get(usize::from(shard)).is_some_and(|place| place.as_deref() == Some(node))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Every change is a single assignment: a panic cannot leave it half done.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The inquiry under way, or a new one. It runs as a task of its own: whoever asked may go away meanwhile.
    fn asking(self: &Arc<Self>, known: &mut Known) -> Asking {
        if let Some(asking) = &known.asking {
            return asking.clone();
        }
        let places = self.clone();
        let inquiry = tokio::spawn(async move {
            let answer = places.ask().await;
            let mut known = places.known();
            known.asking = None;
            known.asked = Instant::now();
            known.nodes = answer?;
            Ok(())
        });
        let asking = inquiry
            .map(|ended| ended.unwrap_or_else(|e| Err(Error::Malformed(format!("the inquiry ended: {e}")))))
            .boxed()
            .shared();
        known.asking = Some(asking.clone());
        asking
    }

    /// Asks one after the other until one answers; whoever is asked first changes each time.
    async fn ask(&self) -> Result<Vec<Option<Arc<Address>>>, Error> {
        let whom = match &self.topology.layout {
            Layout::Server(address) => vec![address.clone()],
            Layout::Sentinel { sentinels, .. } => sentinels.clone(),
            Layout::Cluster { seeds } => {
                // The seeds may be gone by now, the nodes that were found through them not.
                let mut all = seeds.clone();
                all.extend(self.known().nodes.iter().flatten().map(|node| Address::clone(node)));
                all
            }
        };
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let mut failed: Option<Error> = None;
        for i in 0..whom.len() {
            match self.ask_one(&whom[(turn + i) % whom.len()]).await {
                Ok(answer) => return Ok(answer),
                // One that says what is wrong says more than one that is away.
                Err(error) if failed.as_ref().is_none_or(Error::is_transient) => failed = Some(error),
                Err(_) => {}
            }
        }
        Err(failed.unwrap_or_else(|| Error::Malformed("there is nobody to ask".to_owned())))
    }

    async fn ask_one(&self, whom: &Address) -> Result<Vec<Option<Arc<Address>>>, Error> {
        let everywhere = |node: Address| vec![Some(Arc::new(node)); self.keys.len()];
        match &self.topology.layout {
            Layout::Server(address) => Ok(everywhere(address.clone())),
            Layout::Sentinel { master, .. } => {
                Ok(everywhere(self.topology.ask_sentinel(whom, master).await?))
            }
            Layout::Cluster { .. } => {
                let view = self.topology.ask_cluster(whom, &self.keys).await?;
                Ok(view.key_slots.iter().map(|&slot| view.master_of(slot).cloned().map(Arc::new)).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(host: &str, port: u16) -> Address {
        Address::Tcp(host.to_owned(), port)
    }

    #[test]
    fn every_form_of_url_is_read() {
        let sentinels =
            |all: &[Address]| Layout::Sentinel { sentinels: all.to_vec(), master: "m".to_owned() };
        let cluster = |all: &[Address]| Layout::Cluster { seeds: all.to_vec() };
        for (url, layout, tls, user, password, database) in [
            ("redis://h", Layout::Server(tcp("h", 6379)), false, None, None, 0),
            ("rediss://u:p@h:1/2", Layout::Server(tcp("h", 1)), true, Some("u"), Some("p"), 2),
            (
                "redis+unix:///r.sock?pass=p",
                Layout::Server(Address::Unix("/r.sock".into())),
                false,
                None,
                Some("p"),
                0,
            ),
            ("redis+sentinel://a,b:1/m", sentinels(&[tcp("a", 26_379), tcp("b", 1)]), false, None, None, 0),
            ("rediss+sentinel://u:p%2Fp@a:1/m/3", sentinels(&[tcp("a", 1)]), true, Some("u"), Some("p/p"), 3),
            ("redis+cluster://a,b:1", cluster(&[tcp("a", 6379), tcp("b", 1)]), false, None, None, 0),
            (
                "rediss+cluster://:p@[::1]:7000,b/",
                cluster(&[tcp("::1", 7000), tcp("b", 6379)]),
                true,
                None,
                Some("p"),
                0,
            ),
        ] {
            let parsed = parse(url).unwrap();
            assert_eq!((parsed.layout, parsed.tls), (layout, tls), "{url}");
            let redis = parsed.redis;
            assert_eq!((redis.username(), redis.password(), redis.db()), (user, password, database), "{url}");
        }
    }

    #[test]
    fn a_bad_url_is_explained_and_its_password_is_not_told() {
        for url in [
            "redis+sentinel://u:hunter2@a,b",
            "redis+sentinel://u:hunter2@a,b/",
            "redis+sentinel://u:hunter2@a/m/x",
            "redis+sentinel://u:hunter2@/m",
            "redis+cluster://u:hunter2@a,,b",
            "redis+cluster://u:hunter2@a/5",
            "redis+cluster://u:hunter2/b@a",
            "redis+cluster://u:hunter2?b@a",
            "redis+cluster://u:hunter2@a:x",
            "redis+bluster://u:hunter2@a",
            "http+cluster://u:hunter2@a",
            "rediss://u:hunter2@a#insecure",
            "http://u:hunter2@a",
            "u:hunter2@a",
            "",
        ] {
            let reason = parse(url).err().unwrap();
            assert!(!reason.contains("hunter2"), "{url}: {reason}");
            assert!(reason.contains("expected") || reason.contains("redis.ca_file"), "{url}: {reason}");
        }
    }

    #[test]
    fn a_redirection_may_leave_the_host_out() {
        let asked = tcp("asked", 1);
        assert_eq!(redirected("3999 h:7000", &asked), Some(tcp("h", 7000)));
        assert_eq!(redirected("3999 ::1:7000", &asked), Some(tcp("::1", 7000)));
        assert_eq!(redirected("3999 :7000", &asked), Some(tcp("asked", 7000)));
        assert_eq!(redirected("3999 ?:7000", &asked), None);
        assert_eq!(redirected("3999", &asked), None);
    }
}
