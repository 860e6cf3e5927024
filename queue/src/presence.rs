//! Who is working: every worker says so once a second, for dashboards only. No decision hangs on it.

use std::collections::BTreeMap;

use puzzled_solver::Kind;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::connection::{Operation, Queue};

/// How long after its last word a worker counts as alive, in ms.
pub const ALIVE_MS: u64 = 5_000;

/// After this silence a worker is struck off the list, in ms.
const FORGOTTEN_MS: u64 = 60_000;

/// What a worker says of itself.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct Presence {
    /// Consumer name.
    pub worker: String,
    /// Host it runs on.
    pub host: String,
    /// Its program version.
    pub version: String,
    /// Solver threads.
    pub threads: u32,
    /// Threads solving at that moment.
    pub busy: u32,
    /// Chunks it holds.
    pub chunks: u64,
    /// Jobs it has finished since its start.
    pub jobs: u64,
    /// The same by task (its name without options; the kind alone where a payload could not be read) and outcome, in
    /// the order of `OutcomeKind::ALL`. A newer worker may know more outcomes, an older one says nothing.
    #[serde(default)]
    pub done: BTreeMap<String, Vec<u64>>,
    /// When it started, ms since 1970 by its own clock.
    pub started_ms: u64,
    /// The kinds that it serves. Older workers do not say: empty.
    #[serde(default)]
    pub kinds: Vec<String>,
    /// The kinds that it has heard are paused.
    #[serde(default)]
    pub paused: Vec<String>,
    /// When it said this, ms since 1970 by Redis's clock; filled in when it is stored.
    #[serde(default)]
    pub seen_ms: u64,
}

impl Presence {
    /// Whether it was heard of in the last [`ALIVE_MS`] before `now_ms`, by Redis's clock.
    pub fn is_alive(&self, now_ms: u64) -> bool {
        self.seen_ms.saturating_add(ALIVE_MS) >= now_ms
    }

    /// Whether it serves a kind; one that does not say what it serves is taken to serve all.
    pub fn serves(&self, kind: Kind) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|name| name == kind.name())
    }

    fn is_forgotten(&self, now_ms: u64) -> bool {
        self.seen_ms.saturating_add(FORGOTTEN_MS) < now_ms
    }
}

impl Queue {
    /// Says that a worker is there.
    ///
    /// # Errors
    /// What Redis said.
    pub async fn announce(&self, presence: &Presence) -> Result<(), Error> {
        let seen_ms = self.server_ms().await?;
        let text = serde_json::to_string(&Presence { seen_ms, ..presence.clone() })
            .map_err(|e| Error::Malformed(e.to_string()))?;
        let key = self.keys().workers();
        self.link(0)
            .run(Operation::Presence, |_| {
                let mut pipe = redis::pipe();
                pipe.cmd("HSET").arg(&key).arg(&presence.worker).arg(&text).ignore();
                pipe
            })
            .await
    }

    /// Says that a worker is gone.
    ///
    /// # Errors
    /// What Redis said.
    pub async fn depart(&self, worker: &str) -> Result<(), Error> {
        let key = self.keys().workers();
        self.link(0)
            .run(Operation::Presence, |_| {
                let mut pipe = redis::pipe();
                pipe.cmd("HDEL").arg(&key).arg(worker).ignore();
                pipe
            })
            .await
    }

    /// Workers heard of in the last [`ALIVE_MS`], by name.
    ///
    /// # Errors
    /// What Redis said.
    pub async fn workers(&self) -> Result<Vec<Presence>, Error> {
        let now = self.server_ms().await?;
        let mut all = self.heard_of(now).await?;
        all.retain(|presence| presence.is_alive(now));
        Ok(all)
    }

    /// Workers that are not forgotten at this time, by name.
    pub(crate) async fn heard_of(&self, now_ms: u64) -> Result<Vec<Presence>, Error> {
        let mut all = self.presences().await?;
        all.retain(|presence| !presence.is_forgotten(now_ms));
        all.sort_by(|a, b| a.worker.cmp(&b.worker));
        Ok(all)
    }

    pub(crate) async fn sweep_workers(&self) -> Result<u64, Error> {
        let now = self.server_ms().await?;
        let mut gone = 0;
        for presence in self.presences().await? {
            if presence.is_forgotten(now) {
                self.depart(&presence.worker).await?;
                gone += 1;
            }
        }
        Ok(gone)
    }

    /// Redis's clock, ms since 1970.
    ///
    /// # Errors
    /// What Redis said.
    pub async fn server_ms(&self) -> Result<u64, Error> {
        let (time,): (Vec<u64>,) =
            self.link(0).run(Operation::Presence, |_| redis::pipe().cmd("TIME").clone()).await?;
        match time[..] {
            [seconds, micros] => Ok(seconds * 1000 + micros / 1000),
            _ => Err(Error::Malformed(format!("unexpected answer to TIME: {time:?}"))),
        }
    }

    async fn presences(&self) -> Result<Vec<Presence>, Error> {
        let key = self.keys().workers();
        let (rows,): (Vec<String>,) = self
            .link(0)
            .run(Operation::Presence, |_| {
                let mut pipe = redis::pipe();
                pipe.cmd("HVALS").arg(&key);
                pipe
            })
            .await?;
        // A row of another version may lack a field: it is passed over, not an error, as nothing hangs on it.
        Ok(rows.iter().filter_map(|row| serde_json::from_str(row).ok()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_workers_word_still_reads() {
        let older = r#"{"worker":"w","host":"h","version":"0.1.0","threads":2,"busy":1,"chunks":3,"jobs":4,"started_ms":5}"#;
        let read: Presence = serde_json::from_str(older).unwrap();
        assert_eq!((read.jobs, read.kinds.len(), read.done.len(), read.seen_ms), (4, 0, 0, 0));
        // And ours is read by whoever knows less, since unknown fields are passed over.
        let newer = older.replace('}', r#","moods":["calm"]}"#);
        assert_eq!(serde_json::from_str::<Presence>(&newer).unwrap(), read);
    }
}
