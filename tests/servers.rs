//! Redis servers of a test's own, over TCP, as an operator would set them up: alone, behind Sentinels, as a cluster.
//! They die with the test.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use redis::Value;
use tempfile::TempDir;

/// How long anything here may take on a slow machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// A server process.
pub(crate) struct Server {
    folder: TempDir,
    process: Child,
    pub(crate) port: u16,
    arguments: Vec<String>,
}

impl Server {
    /// Starts a server on a free port of the loopback, with these arguments on top.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_by(|port, _| {
            let port = port.to_string();
            let base = ["--port", &port, "--bind", "127.0.0.1", "--save", ""];
            base.iter().chain(arguments).map(|word| (*word).to_owned()).collect()
        })
        .unwrap_or_else(|said| panic!("{}: {said}", program().display()))
    }

    /// Starts a server that speaks TLS alone, with the files of a [`Authority`], and asks for a certificate.
    ///
    /// [`Authority`]: crate::tls::Authority
    pub(crate) fn start_tls(files: &Path) -> Result<Self, String> {
        Self::start_by(|port, _| {
            let file = |name: &str| files.join(name).display().to_string();
            let words = [
                ("--port", "0".to_owned()),
                ("--tls-port", port.to_string()),
                ("--bind", "127.0.0.1".to_owned()),
                ("--save", String::new()),
                ("--tls-ca-cert-file", file("ca.pem")),
                ("--tls-cert-file", file("server.pem")),
                ("--tls-key-file", file("server.key")),
            ];
            words.into_iter().flat_map(|(key, value)| [key.to_owned(), value]).collect()
        })
    }

    /// `arguments` gets a free port and the server's own folder. The error is what the server said.
    fn start_by(arguments: impl Fn(u16, &Path) -> Vec<String>) -> Result<Self, String> {
        let mut said = String::new();
        for _ in 0..10 {
            let folder = TempDir::new().expect("temporary folder");
            let port = free_port();
            let arguments = arguments(port, folder.path());
            let process = spawn(folder.path(), &arguments);
            let mut server = Self { folder, process, port, arguments };
            if server.is_up() {
                return Ok(server);
            }
            said = std::fs::read_to_string(server.log()).unwrap_or_default();
            // Else somebody was quicker to take the port.
            if !said.contains("in use") {
                break;
            }
        }
        Err(said)
    }

    fn is_up(&mut self) -> bool {
        let deadline = Instant::now() + DEADLINE;
        while !self.says_so() || TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            if self.process.try_wait().expect("wait").is_some() {
                return false;
            }
            assert!(Instant::now() < deadline, "no answer on port {}", self.port);
            std::thread::sleep(Duration::from_millis(5));
        }
        self.process.try_wait().expect("wait").is_none()
    }

    /// Whether it is this server that has the port: an answer on it may be somebody else's, who was quicker to take it.
    fn says_so(&self) -> bool {
        let said = std::fs::read_to_string(self.log()).unwrap_or_default();
        said.contains("Ready to accept connections") || said.contains("Sentinel ID is")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// `host:port`.
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// For `redis.url`.
    pub(crate) fn url(&self) -> String {
        format!("redis://{}", self.address())
    }

    /// Sends a command as the default user.
    pub(crate) fn try_command(&self, words: &[&str]) -> redis::RedisResult<Value> {
        let client = redis::Client::open(format!("redis://{}", self.address()))?;
        let mut connection = client.get_connection_with_timeout(Duration::from_secs(5))?;
        redis::cmd(words[0]).arg(&words[1..]).query(&mut connection)
    }

    /// Sends a command that must succeed.
    pub(crate) fn command(&self, words: &[&str]) -> Value {
        self.try_command(words).unwrap_or_else(|e| panic!("{words:?} at {}: {e}", self.address()))
    }

    /// The text a command answers.
    pub(crate) fn text(&self, words: &[&str]) -> String {
        redis::from_redis_value(self.command(words)).expect("a text")
    }

    /// SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.process.kill().expect("SIGKILL");
        self.process.wait().expect("it ends");
    }

    /// Starts it again as it was, with what it left on disk.
    pub(crate) fn start_again(&mut self) {
        self.process = spawn(self.folder.path(), &self.arguments);
        assert!(self.is_up(), "{}", std::fs::read_to_string(self.log()).unwrap_or_default());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn spawn(folder: &Path, arguments: &[String]) -> Child {
    let log = std::fs::File::create(folder.join("log")).expect("log");
    Command::new(program())
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(log)
        .spawn()
        .expect("the server starts")
}

fn program() -> PathBuf {
    puzzled_service::programs::find(&["redis-server", "valkey-server"]).expect("a server on PATH")
}

fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr()).expect("a port").port()
}

/// Waits until `look` finds something.
pub(crate) fn poll<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A master, a replica, and three Sentinels that watch them.
pub(crate) struct Watched {
    pub(crate) servers: [Server; 2],
    pub(crate) sentinels: Vec<Server>,
}

impl Watched {
    /// The name the Sentinels know the master by.
    pub(crate) const MASTER: &'static str = "puzzles";

    pub(crate) fn start() -> Self {
        let master = Server::start(&[]);
        let replica = Server::start(&["--replicaof", "127.0.0.1", &master.port.to_string()]);
        let is_linked =
            |server: &Server| server.text(&["INFO", "replication"]).contains("master_link_status:up");
        poll("the replica", || is_linked(&replica).then_some(()));
        let sentinels: Vec<Server> = (0..3).map(|_| Self::sentinel(master.port)).collect();
        for sentinel in &sentinels {
            poll("the Sentinels to find each other", || {
                let told = sentinel.text(&["INFO", "sentinel"]);
                (told.contains("slaves=1") && told.contains("sentinels=3")).then_some(())
            });
        }
        Self { servers: [master, replica], sentinels }
    }

    fn sentinel(master: u16) -> Server {
        Server::start_by(|port, folder| {
            let name = Self::MASTER;
            let text = format!(
                "port {port}\nbind 127.0.0.1\nsentinel monitor {name} 127.0.0.1 {master} 2\n\
                 sentinel down-after-milliseconds {name} 500\nsentinel failover-timeout {name} 3000\n"
            );
            let file = folder.join("sentinel.conf");
            std::fs::write(&file, text).expect("settings");
            vec![file.display().to_string(), "--sentinel".to_owned()]
        })
        .expect("a Sentinel")
    }

    pub(crate) fn url(&self) -> String {
        let all: Vec<String> = self.sentinels.iter().map(Server::address).collect();
        format!("redis+sentinel://{}/{}", all.join(","), Self::MASTER)
    }

    /// Place of the master among the servers, as its Sentinels tell.
    pub(crate) fn master(&self) -> usize {
        let told = self.sentinels[0].command(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", Self::MASTER]);
        let (_, port): (String, u16) = redis::from_redis_value(told).expect("an address");
        self.servers.iter().position(|server| server.port == port).expect("one of ours")
    }
}

/// Three masters, with a replica each if wanted.
pub(crate) struct Cluster {
    /// First the masters.
    pub(crate) nodes: Vec<Server>,
}

impl Cluster {
    pub(crate) fn start(replicas: bool) -> Self {
        let count = if replicas { 6 } else { 3 };
        let nodes: Vec<Server> = (0..count).map(|_| Self::node()).collect();
        for (node, (first, last)) in nodes.iter().zip([(0, 5_460), (5_461, 10_922), (10_923, 16_383)]) {
            node.command(&["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &last.to_string()]);
        }
        for (i, node) in nodes.iter().enumerate() {
            // Epochs that differ from the start spare the nodes sorting it out among themselves.
            node.command(&["CLUSTER", "SET-CONFIG-EPOCH", &(i + 1).to_string()]);
            let bus = nodes[0].arguments.last().expect("its bus").clone();
            node.command(&["CLUSTER", "MEET", "127.0.0.1", &nodes[0].port.to_string(), &bus]);
        }
        let cluster = Self { nodes };
        cluster.settle();
        for place in 3..count {
            let master = cluster.nodes[place - 3].text(&["CLUSTER", "MYID"]);
            cluster.nodes[place].command(&["CLUSTER", "REPLICATE", &master]);
        }
        for replica in &cluster.nodes[3..] {
            poll("the replica", || {
                replica.text(&["INFO", "replication"]).contains("master_link_status:up").then_some(())
            });
        }
        cluster
    }

    fn node() -> Server {
        Server::start_by(|port, _| {
            let (port, bus) = (port.to_string(), free_port().to_string());
            let words = [
                "--port",
                &port,
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--cluster-enabled",
                "yes",
                "--cluster-node-timeout",
                "1500",
                "--cluster-replica-validity-factor",
                "0",
                "--cluster-port",
                &bus,
            ];
            words.iter().map(|word| (*word).to_owned()).collect()
        })
        .expect("a node")
    }

    /// Waits until all nodes know all others and every slot is served.
    fn settle(&self) {
        let known = format!("cluster_known_nodes:{}\r", self.nodes.len());
        for node in &self.nodes {
            poll("the cluster", || {
                let told = node.text(&["CLUSTER", "INFO"]);
                (told.contains("cluster_state:ok") && told.contains(&known)).then_some(())
            });
        }
    }

    pub(crate) fn url(&self) -> String {
        let all: Vec<String> = self.nodes.iter().take(3).map(Server::address).collect();
        format!("redis+cluster://{}", all.join(","))
    }

    /// Slot of a key.
    pub(crate) fn slot(&self, key: &str) -> u16 {
        self.nodes[0]
            .try_command(&["CLUSTER", "KEYSLOT", key])
            .or_else(|_| self.nodes[1].try_command(&["CLUSTER", "KEYSLOT", key]))
            .and_then(|slot| Ok(redis::from_redis_value(slot)?))
            .expect("a slot")
    }

    /// Place of the master that has a slot, as the node at `asked` tells.
    pub(crate) fn master_of(&self, slot: u16, asked: usize) -> usize {
        let rows: Vec<Vec<Value>> =
            redis::from_redis_value(self.nodes[asked].command(&["CLUSTER", "SLOTS"])).expect("rows");
        let number = |value: &Value| redis::from_redis_value::<u16>(value.clone()).expect("a number");
        let row =
            rows.iter().find(|row| (number(&row[0])..=number(&row[1])).contains(&slot)).expect("a master");
        let (_, port): (String, u16) = redis::from_redis_value(Value::Array(match &row[2] {
            Value::Array(node) => node[..2].to_vec(),
            other => panic!("{other:?}"),
        }))
        .expect("an address");
        self.nodes.iter().position(|node| node.port == port).expect("one of ours")
    }

    /// Moves a slot from one master to another, key by key, as `redis-cli --cluster reshard` does.
    pub(crate) fn move_slot(&self, slot: u16, from: usize, to: usize) {
        let slot = slot.to_string();
        let (source, target) = (&self.nodes[from], &self.nodes[to]);
        let (source_id, target_id) = (source.text(&["CLUSTER", "MYID"]), target.text(&["CLUSTER", "MYID"]));
        target.command(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &source_id]);
        source.command(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &target_id]);
        loop {
            let keys: Vec<String> =
                redis::from_redis_value(source.command(&["CLUSTER", "GETKEYSINSLOT", &slot, "10"]))
                    .expect("keys");
            if keys.is_empty() {
                break;
            }
            let port = target.port.to_string();
            let mut words = vec!["MIGRATE", "127.0.0.1", &port, "", "0", "10000", "KEYS"];
            words.extend(keys.iter().map(String::as_str));
            source.command(&words);
        }
        for node in [target, source] {
            node.command(&["CLUSTER", "SETSLOT", &slot, "NODE", &target_id]);
        }
    }
}
