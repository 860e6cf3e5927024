//! `puzzled doctor`: looks at a Redis as an operator would, and says in words what could lose jobs.

use std::collections::HashMap;

use serde::Serialize;

use crate::Error;
use crate::connection::{Operation, Queue};

/// How bad a finding is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it should be.
    Good,
    /// It works; under some fault it will not.
    Warning,
    /// Jobs will be lost, or nothing will work.
    Bad,
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

fn finding(
    subject: &'static str,
    verdict: Verdict,
    text: impl Into<String>,
    remedy: impl Into<String>,
) -> Finding {
    Finding { subject, verdict, text: text.into(), remedy: remedy.into() }
}

impl Queue {
    /// Looks at the server behind this queue.
    ///
    /// # Errors
    /// What Redis said to INFO; everything else becomes a finding.
    pub async fn examine(&self) -> Result<Vec<Finding>, Error> {
        let (info,): (String,) =
            self.link(0).run(Operation::Inspect, |_| redis::pipe().cmd("INFO").clone()).await?;
        let info: HashMap<&str, &str> =
            info.lines().filter_map(|line| line.trim_end().split_once(':')).collect();
        let mut findings = vec![version(&info), role(&info)];
        let limit = self.config_get("maxmemory").await;
        let policy = self.config_get("maxmemory-policy").await;
        findings.push(eviction(&info, policy.as_deref()));
        findings.push(memory(&info, limit.as_deref()));
        findings.extend(persistence(&info, self.config_get("appendfsync").await.as_deref()));
        findings.push(self.scripts().await);
        findings.push(self.latency().await);
        findings.push(if info.get("cluster_enabled") == Some(&"1") {
            let remedy = "use one server, or one behind Sentinel, until cluster support arrives";
            finding(
                "cluster",
                Verdict::Bad,
                "this is a Redis Cluster node, which puzzled cannot use yet",
                remedy,
            )
        } else {
            finding("cluster", Verdict::Good, "single server", "")
        });
        Ok(findings)
    }

    async fn config_get(&self, name: &str) -> Option<String> {
        let answer: Result<(HashMap<String, String>,), Error> = self
            .link(0)
            .run(Operation::Inspect, |_| {
                let mut pipe = redis::pipe();
                pipe.cmd("CONFIG").arg("GET").arg(name);
                pipe
            })
            .await;
        // Managed services forbid CONFIG; INFO then has to do.
        answer.ok().and_then(|(mut map,)| map.remove(name))
    }

    async fn scripts(&self) -> Finding {
        let answer: Result<(i64,), Error> = self
            .link(0)
            .run(Operation::Inspect, |_| {
                let mut pipe = redis::pipe();
                pipe.cmd("EVAL").arg("redis.call('TIME') return 1").arg(0);
                pipe
            })
            .await;
        match answer {
            Ok(_) => finding("scripts", Verdict::Good, "Lua scripts run", ""),
            Err(error) => finding(
                "scripts",
                Verdict::Bad,
                format!("Lua scripts do not run: {error}"),
                "allow EVAL, EVALSHA and the commands listed in docs/operations.md for this user",
            ),
        }
    }

    async fn latency(&self) -> Finding {
        let mut times = Vec::new();
        for _ in 0..20 {
            let start = std::time::Instant::now();
            if let Err(error) = self.ping().await {
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
        (Some("1"), fsync) => finding(
            "persistence",
            Verdict::Good,
            format!(
                "append-only file, fsync {}: a crash of the machine loses about a second",
                fsync.unwrap_or("unknown")
            ),
            "",
        ),
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
