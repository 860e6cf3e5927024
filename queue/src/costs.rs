//! What a job of each task costs, as workers last measured it: producers cut chunks by it.

use std::time::Duration;

use puzzled_solver::Task;

use crate::Error;
use crate::connection::{Operation, Queue};

/// After so long without news a cost is forgotten, in ms: a day.
const FORGOTTEN_MS: u64 = 86_400_000;

impl Queue {
    /// Tells what a job of some tasks costs, by [`Task::cost_key`]. Whoever measured last is believed.
    ///
    /// # Errors
    /// What Redis said.
    pub async fn tell_costs(&self, costs: &[(String, Duration)]) -> Result<(), Error> {
        if costs.is_empty() {
            return Ok(());
        }
        let (key, now) = (self.keys().costs(), self.server_ms().await?);
        self.link(0)
            .run(Operation::Presence, |_| {
                let mut pipe = redis::pipe();
                pipe.cmd("HSET").arg(&key);
                for (task, cost) in costs {
                    pipe.arg(task).arg(format!("{} {now}", cost.as_nanos()));
                }
                pipe.ignore();
                pipe
            })
            .await
    }

    /// What a job of this task costs on one core, if a worker has measured it in the last day.
    ///
    /// # Errors
    /// What Redis said.
    pub async fn cost(&self, task: &Task) -> Result<Option<Duration>, Error> {
        let key = self.keys().costs();
        let (told,): (Vec<Option<String>>,) = self
            .link(0)
            .run(Operation::Inspect, |_| redis::pipe().cmd("HMGET").arg(&key).arg(task.cost_key()).clone())
            .await?;
        Ok(told.into_iter().flatten().next().and_then(|text| read(&text)).map(|(cost, _)| cost))
    }

    /// Options are many, so keys may be: those nobody has measured lately go.
    pub(crate) async fn sweep_costs(&self) -> Result<(), Error> {
        let key = self.keys().costs();
        let (all,): (Vec<(String, String)>,) =
            self.link(0).run(Operation::Sweep, |_| redis::pipe().cmd("HGETALL").arg(&key).clone()).await?;
        let now = self.server_ms().await?;
        let stale = |text: &str| read(text).is_none_or(|(_, told_ms)| told_ms + FORGOTTEN_MS < now);
        for (task, _) in all.iter().filter(|(_, text)| stale(text)) {
            self.link(0)
                .run::<()>(Operation::Sweep, |_| {
                    redis::pipe().cmd("HDEL").arg(&key).arg(task).ignore().clone()
                })
                .await?;
        }
        Ok(())
    }
}

/// Cost, and when it was told.
fn read(text: &str) -> Option<(Duration, u64)> {
    let (ns, told_ms) = text.split_once(' ')?;
    Some((Duration::from_nanos(ns.parse().ok()?), told_ms.parse().ok()?))
}
