//! `puzzled doctor`: looks at a Redis as an operator would, and says in words what could lose jobs. How the queue on it does
//! is said in `vitals.rs`.

use std::collections::HashMap;

use redis::FromRedisValue;
use redis::aio::MultiplexedConnection;
use serde::Serialize;

use crate::Error;
use crate::connection::Queue;
use crate::topology::{Address, ClusterView, Layout, Topology};

/// How bad a finding is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it should be.
    Good,
    /// It works, and somebody should look at it: under some fault it will not, or something has failed or waits.
    Warning,
    /// Jobs will be lost, or nothing will work.
    Bad,
}

/// What whoever looks may ask. What is denied is on record at the server, so nobody asks in vain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rights {
    /// INFO and CONFIG GET, and a script to see whether scripts run.
    Operator,
    /// INFO alone, as the rules of docs/operations.md give the dashboard.
    Reader,
}

/// One thing looked at.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub subject: &'static str,
    /// How it is.
    pub verdict: Verdict,
    /// In words.
    pub text: String,
    /// What to do; empty when there is nothing to do.
    pub remedy: String,
}

impl Finding {
    /// That there is no Redis to look at, or that it does not let us, is a finding as well.
    pub fn unusable(error: &Error) -> Self {
        let remedy = match error {
            Error::Unreachable { .. } => {
                "start it, or let `puzzled up` start one for this machine; else correct redis.url (host, port, firewall)"
            }
            Error::Refused { .. } => {
                "give user and password in the URL, redis://user:password@host:port, and allow the user every command"
            }
            Error::ReadOnly(_) => "point redis.url at the master",
            Error::OutOfMemory(_) => "raise maxmemory, or collect or expire results",
            Error::NotPersisting { .. } => "make room on the server's disk, and look at its log",
            Error::Busy { .. } => "wait a little; if it stays so, look at the server's log",
            Error::Incompatible(_) => {
                "use the settings and the version of those who set it up, or another redis.prefix"
            }
            _ => "look at the server's log, and at the settings (`puzzled config`)",
        };
        finding("connection", Verdict::Bad, error.to_string(), remedy)
    }
}

pub(crate) fn finding(
    subject: &'static str,
    verdict: Verdict,
    text: impl Into<String>,
    remedy: impl Into<String>,
) -> Finding {
    Finding { subject, verdict, text: text.into(), remedy: remedy.into() }
}

impl Queue {
    /// Looks at every server that holds a shard, and at how they stand to each other.
    ///
    /// # Errors
    /// What a single server, or all Sentinels or known nodes of a cluster, said; everything else becomes a finding.
    pub async fn examine(&self, rights: Rights) -> Result<Vec<Finding>, Error> {
        let topology = self.places().topology();
        match topology.layout() {
            Layout::Server(node) => {
                let node = Node::examine(topology, node, rights).await?;
                let mut findings = node.findings;
                findings.push(if node.is_cluster {
                    finding(
                        "topology",
                        Verdict::Bad,
                        "this is a node of a Redis Cluster, addressed as if it were alone: shards on other nodes are out of reach, and nothing is found after a failover",
                        format!("write redis+cluster://{} in redis.url", node.address),
                    )
                } else {
                    finding("topology", Verdict::Good, "single server", "")
                });
                Ok(findings)
            }
            Layout::Sentinel { sentinels, master } => {
                let (mut findings, node) = ask_sentinels(topology, sentinels, master).await?;
                let node = Node::examine(topology, &node, rights).await?;
                findings.splice(0..0, node.findings.iter().cloned());
                findings.extend(node.replicas());
                if node.replicas > 0 && node.replicas_to_write == Some(0) {
                    findings.push(finding(
                        "isolation",
                        Verdict::Warning,
                        "min-replicas-to-write is 0: a master cut off from its Sentinels goes on taking jobs, which are lost when it returns",
                        "CONFIG SET min-replicas-to-write 1 and min-replicas-max-lag 10, and the same in redis.conf",
                    ));
                }
                Ok(findings)
            }
            Layout::Cluster { seeds } => self.examine_cluster(topology, seeds, rights).await,
        }
    }

    async fn examine_cluster(
        &self,
        topology: &Topology,
        seeds: &[Address],
        rights: Rights,
    ) -> Result<Vec<Finding>, Error> {
        let keys: Vec<String> = (0..self.keys().shards()).map(|shard| self.keys().depth(shard)).collect();
        let mut view = Err(Error::Malformed("no seed".to_owned()));
        for seed in seeds {
            view = topology.ask_cluster(seed, &keys).await;
            if view.is_ok() {
                break;
            }
        }
        let view = view?;
        let mut masters: Vec<&Address> = Vec::new();
        for (.., node) in &view.ranges {
            if !masters.contains(&node) {
                masters.push(node);
            }
        }
        let mut nodes = Vec::new();
        let mut findings = Vec::new();
        for &master in &masters {
            match Node::examine(topology, master, rights).await {
                Ok(node) => nodes.push(node),
                Err(error) => findings.push(finding(
                    "connection",
                    Verdict::Bad,
                    error.to_string(),
                    "start it, or let a replica take over",
                )),
            }
        }
        findings.splice(0..0, together(&nodes));
        findings.push(slots(&view, masters.len()));
        findings.push(shards(&view, &masters));
        findings.extend(nodes.iter().filter_map(Node::moving));
        findings.extend(nodes.iter().flat_map(Node::replicas));
        Ok(findings)
    }
}

/// A server as it was found.
struct Node {
    address: Address,
    findings: Vec<Finding>,
    is_cluster: bool,
    replicas: u64,
    replicas_to_write: Option<u64>,
    /// How many of its slots are on their way from or to another node.
    slots_moving: usize,
}

impl Node {
    async fn examine(topology: &Topology, address: &Address, rights: Rights) -> Result<Self, Error> {
        let mut look = Look {
            connection: topology.connect_any(address, Some(topology.response_timeout())).await?,
            address: address.to_string(),
            rights,
        };
        let info: String = look.ask(redis::cmd("INFO")).await?;
        let info: HashMap<&str, &str> =
            info.lines().filter_map(|line| line.trim_end().split_once(':')).collect();
        let mut findings = vec![version(&info), role(&info)];
        findings.push(eviction(&info, look.setting("maxmemory-policy").await.as_deref()));
        findings.push(memory(&info, look.setting("maxmemory").await.as_deref()));
        findings.extend(persistence(&info, look.setting("appendfsync").await.as_deref()));
        if rights == Rights::Operator {
            findings.push(look.scripts().await);
        }
        findings.push(look.latency().await);
        let is_cluster = info.get("cluster_enabled") == Some(&"1");
        let number = |text: &str| text.parse().ok();
        Ok(Self {
            address: address.clone(),
            findings,
            is_cluster,
            replicas: info.get("connected_slaves").and_then(|text| text.parse().ok()).unwrap_or(0),
            replicas_to_write: look.setting("min-replicas-to-write").await.as_deref().and_then(number),
            slots_moving: if is_cluster { look.slots_moving().await } else { 0 },
        })
    }

    /// Whether somebody would take over.
    fn replicas(&self) -> Option<Finding> {
        (self.replicas == 0).then(|| {
            finding(
                "replicas",
                Verdict::Warning,
                format!("{} has no replica: when it dies, its jobs wait until it is back", self.address),
                "add a replica",
            )
        })
    }

    fn moving(&self) -> Option<Finding> {
        (self.slots_moving > 0).then(|| {
            finding(
                "slots",
                Verdict::Warning,
                format!(
                    "{} is giving or taking {} slots: shards on them pause until they have arrived",
                    self.address, self.slots_moving
                ),
                "let it finish; if nobody is moving slots, `redis-cli --cluster fix`",
            )
        })
    }
}

/// A connection to look through.
struct Look {
    connection: MultiplexedConnection,
    address: String,
    rights: Rights,
}

impl Look {
    async fn ask<T: FromRedisValue>(&mut self, cmd: redis::Cmd) -> Result<T, Error> {
        let answer = cmd.query_async(&mut self.connection).await;
        answer.map_err(|e| Error::from_redis(&self.address, &e))
    }

    async fn setting(&mut self, name: &str) -> Option<String> {
        if self.rights == Rights::Reader {
            return None;
        }
        let answer: Result<HashMap<String, String>, Error> =
            self.ask(redis::cmd("CONFIG").arg("GET").arg(name).to_owned()).await;
        // Managed services forbid CONFIG; INFO then has to do.
        answer.ok().and_then(|mut map| map.remove(name))
    }

    async fn slots_moving(&mut self) -> usize {
        let nodes: Result<String, Error> = self.ask(redis::cmd("CLUSTER").arg("NODES").to_owned()).await;
        let nodes = nodes.unwrap_or_default();
        let ours = nodes.lines().find(|line| line.contains("myself")).unwrap_or_default();
        ours.split(' ').filter(|word| word.starts_with('[')).count()
    }

    async fn scripts(&mut self) -> Finding {
        let script = redis::cmd("EVAL").arg("redis.call('TIME') return 1").arg(0).to_owned();
        match self.ask::<i64>(script).await {
            Ok(_) => finding("scripts", Verdict::Good, "Lua scripts run", ""),
            Err(error) => finding(
                "scripts",
                Verdict::Bad,
                format!("Lua scripts do not run: {error}"),
                "allow EVAL, EVALSHA and the commands listed in docs/operations.md for this user",
            ),
        }
    }

    async fn latency(&mut self) -> Finding {
        let mut times = Vec::new();
        for _ in 0..20 {
            let start = std::time::Instant::now();
            if let Err(error) = self.ask::<String>(redis::cmd("PING")).await {
                return finding(
                    "latency",
                    Verdict::Bad,
                    format!("PING failed: {error}"),
                    "look at the server's log",
                );
            }
            times.push(start.elapsed());
        }
        times.sort_unstable();
        let median_us = times[times.len() / 2].as_micros();
        if median_us < 5_000 {
            finding("latency", Verdict::Good, format!("round trip {median_us} us"), "")
        } else {
            finding(
                "latency",
                Verdict::Warning,
                format!("round trip {median_us} us"),
                "put workers and Redis in one network; larger chunks hide it for batches",
            )
        }
    }
}

/// Asks every Sentinel whom it holds for the master: the findings, and the one most of them name.
async fn ask_sentinels(
    topology: &Topology,
    sentinels: &[Address],
    master: &str,
) -> Result<(Vec<Finding>, Address), Error> {
    let mut named: Vec<(Address, usize)> = Vec::new();
    let mut findings = Vec::new();
    let mut failed = Error::Malformed("redis.url names no Sentinel".to_owned());
    for sentinel in sentinels {
        match topology.ask_sentinel(sentinel, master).await {
            Ok(node) => match named.iter_mut().find(|(known, _)| *known == node) {
                Some((_, votes)) => *votes += 1,
                None => named.push((node, 1)),
            },
            Err(error) => {
                findings.push(finding(
                    "sentinel",
                    Verdict::Warning,
                    format!("a Sentinel is of no help: {error}"),
                    "start it, or take it out of redis.url",
                ));
                failed = error;
            }
        }
    }
    named.sort_by_key(|(_, votes)| std::cmp::Reverse(*votes));
    let Some((node, votes)) = named.first().cloned() else { return Err(failed) };
    findings.push(if named.len() > 1 {
        let all: Vec<String> = named.iter().map(|(node, votes)| format!("{node} ({votes})")).collect();
        finding(
            "topology",
            Verdict::Bad,
            format!("Sentinels disagree about the master of '{master}': {}", all.join(", ")),
            "mend the network between them; a failover under way ends within seconds",
        )
    } else if sentinels.len() < 3 {
        finding(
            "topology",
            Verdict::Warning,
            format!("redis.url names {} Sentinels; {node} is the master of '{master}'", sentinels.len()),
            "run three or more on different machines, and name them all: fewer cannot outvote a dead one",
        )
    } else {
        finding("topology", Verdict::Good, format!("{votes} Sentinels name {node} as '{master}'"), "")
    });
    Ok((findings, node))
}

/// What several servers have in common is said once, what is wrong with one under its name.
fn together(nodes: &[Node]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for node in nodes {
        for found in &node.findings {
            if found.verdict != Verdict::Good {
                findings.push(Finding { text: format!("{}: {}", node.address, found.text), ..found.clone() });
            } else if !findings.iter().any(|other| other.subject == found.subject) {
                let all = nodes.iter().flat_map(|node| &node.findings);
                let is_alike = all
                    .filter(|other| other.subject == found.subject)
                    .all(|other| other.verdict == Verdict::Good);
                if is_alike {
                    let text = format!("{} (the same or alike on {} masters)", found.text, nodes.len());
                    findings.push(Finding { text, ..found.clone() });
                }
            }
        }
    }
    findings
}

fn slots(view: &ClusterView, masters: usize) -> Finding {
    const SLOTS: u32 = 16_384;
    let served: u32 = view.ranges.iter().map(|(first, last, _)| u32::from(last - first) + 1).sum();
    if served >= SLOTS {
        finding("topology", Verdict::Good, format!("cluster of {masters} masters, all slots served"), "")
    } else {
        finding(
            "topology",
            Verdict::Bad,
            format!(
                "cluster of {masters} masters; {} of {SLOTS} slots are served by nobody",
                SLOTS - served.min(SLOTS)
            ),
            "`redis-cli --cluster fix`",
        )
    }
}

/// How shards are spread. Where a hash tag falls is chance, so a few more shards than masters leave none idle.
fn shards(view: &ClusterView, masters: &[&Address]) -> Finding {
    let count = |node: &Address| {
        view.key_slots
            .iter()
            .filter(|slot| view.master_of(**slot).is_some_and(|master| master == node))
            .count()
    };
    let spread: Vec<String> = masters.iter().map(|node| format!("{node} {}", count(node))).collect();
    let text = format!("{} shards: {}", view.key_slots.len(), spread.join(", "));
    if masters.iter().all(|node| count(node) > 0) {
        finding("shards", Verdict::Good, text, "")
    } else {
        finding(
            "shards",
            Verdict::Warning,
            format!("{text}: some masters have nothing to do"),
            "set up anew with more redis.shards, about four a master",
        )
    }
}

fn version(info: &HashMap<&str, &str>) -> Finding {
    let valkey = info.get("valkey_version");
    let (name, text) = match valkey {
        Some(version) => ("Valkey", *version),
        None => ("Redis", info.get("redis_version").copied().unwrap_or("0")),
    };
    let major: u32 = text.split('.').next().and_then(|part| part.parse().ok()).unwrap_or(0);
    if major >= 7 {
        finding("version", Verdict::Good, format!("{name} {text}"), "")
    } else {
        finding(
            "version",
            Verdict::Bad,
            format!("{name} {text}; puzzled needs Redis 7.0 or newer, or Valkey"),
            "upgrade the server",
        )
    }
}

fn role(info: &HashMap<&str, &str>) -> Finding {
    match info.get("role").copied().unwrap_or("unknown") {
        "master" => finding("role", Verdict::Good, "master", ""),
        role => finding(
            "role",
            Verdict::Bad,
            format!("this server is a {role}, which takes no writes"),
            "point redis.url at the master",
        ),
    }
}

fn eviction(info: &HashMap<&str, &str>, policy: Option<&str>) -> Finding {
    let policy = policy.or(info.get("maxmemory_policy").copied()).unwrap_or("unknown");
    match policy {
        "noeviction" => finding("eviction", Verdict::Good, "noeviction", ""),
        policy => finding(
            "eviction",
            Verdict::Bad,
            format!("maxmemory-policy is {policy}: under memory pressure Redis deletes jobs and results"),
            "CONFIG SET maxmemory-policy noeviction, and the same in redis.conf",
        ),
    }
}

fn memory(info: &HashMap<&str, &str>, limit: Option<&str>) -> Finding {
    let used: u64 = info.get("used_memory").and_then(|text| text.parse().ok()).unwrap_or(0);
    let limit: u64 = limit.or(info.get("maxmemory").copied()).and_then(|text| text.parse().ok()).unwrap_or(0);
    let mb = |bytes: u64| bytes / 1_000_000;
    if limit == 0 {
        return finding(
            "memory",
            Verdict::Warning,
            format!("{} MB used, no limit: a full machine ends the server", mb(used)),
            "set maxmemory in redis.conf to what the machine can spare",
        );
    }
    let text = format!("{} of {} MB used", mb(used), mb(limit));
    if used > limit / 10 * 9 {
        finding(
            "memory",
            Verdict::Bad,
            text,
            "raise maxmemory, collect or expire results, lower redis.depth_jobs_max",
        )
    } else {
        finding("memory", Verdict::Good, text, "")
    }
}

fn persistence(info: &HashMap<&str, &str>, fsync: Option<&str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.push(match (info.get("aof_enabled").copied(), fsync) {
        (Some("1"), Some("always")) => {
            finding("persistence", Verdict::Good, "append-only file, fsync always: a crash loses nothing", "")
        }
        (Some("1"), Some(fsync)) => finding(
            "persistence",
            Verdict::Good,
            format!("append-only file, fsync {fsync}: a crash of the machine loses about a second"),
            "",
        ),
        (Some("1"), None) => finding("persistence", Verdict::Good, "append-only file", ""),
        _ => finding(
            "persistence",
            Verdict::Warning,
            "no append-only file: a restart of Redis loses jobs and results since its last snapshot",
            "CONFIG SET appendonly yes, and the same in redis.conf",
        ),
    });
    for (key, what) in [("aof_last_write_status", "append-only file"), ("rdb_last_bgsave_status", "snapshot")]
    {
        if info.get(key).is_some_and(|status| *status != "ok") {
            findings.push(finding(
                "disk",
                Verdict::Bad,
                format!("the last write of the {what} failed"),
                "look at the server's disk space and log",
            ));
        }
    }
    findings
}
