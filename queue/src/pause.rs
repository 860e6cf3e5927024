//! Holding a kind of work back. Workers start nothing of a paused kind; what they hold they finish, and submitting goes
//! on. They ask once a second, and say in their [`crate::Presence`] what they have heard.

use puzzled_solver::Kind;

use crate::Error;
use crate::connection::{Operation, Queue};

/// A kind that is held back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Paused {
    /// Which.
    pub kind: Kind,
    /// Since when, ms since 1970 by Redis's clock.
    pub since_ms: u64,
}

impl Queue {
    /// Pauses a kind. Returns whether it was not paused before.
    ///
    /// # Errors
    /// What Redis said.
    pub async fn pause(&self, kind: Kind) -> Result<bool, Error> {
        let (key, now) = (self.keys().paused(), self.server_ms().await?);
        self.link(0)
            .run(Operation::Submit, |_| {
                redis::pipe().cmd("HSETNX").arg(&key).arg(kind.name()).arg(now).clone()
            })
            .await
            .map(|(made,): (bool,)| made)
    }

    /// Lets a kind go on. Returns whether it was paused.
    ///
    /// # Errors
    /// What Redis said.
    pub async fn resume(&self, kind: Kind) -> Result<bool, Error> {
        let key = self.keys().paused();
        self.link(0)
            .run(Operation::Submit, |_| redis::pipe().cmd("HDEL").arg(&key).arg(kind.name()).clone())
            .await
            .map(|(gone,): (bool,)| gone)
    }

    /// The kinds that are paused.
    ///
    /// # Errors
    /// What Redis said.
    pub async fn paused(&self) -> Result<Vec<Paused>, Error> {
        let key = self.keys().paused();
        let (since,): (Vec<Option<u64>>,) = self
            .link(0)
            .run(Operation::Presence, |_| {
                redis::pipe().cmd("HMGET").arg(&key).arg(&Kind::ALL.map(Kind::name)[..]).clone()
            })
            .await?;
        let paused = Kind::ALL.into_iter().zip(since);
        Ok(paused.filter_map(|(kind, since)| Some(Paused { kind, since_ms: since? })).collect())
    }
}
