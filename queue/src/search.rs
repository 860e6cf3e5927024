//! Finding a batch by the first letters of its id or of its label, among any number of them: a sorted set a shard whose
//! members sort by their text (`names` in docs/protocol.md).

use std::fmt;
use std::str::FromStr;

use crate::Error;
use crate::connection::{Operation, Queue};
use crate::ids::{BatchId, IdError, JobId};
use crate::inspect::BatchStatus;

/// Batches that an ambiguous name is told to mean, at most.
const EXAMPLES: usize = 5;

/// Letters of an id that are taken for a name: fewer would mean any batch of the year.
const LETTERS_MIN: usize = 4;

/// How people name a batch: its id, or enough of its beginning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BatchName {
    /// The whole id.
    Id(BatchId),
    /// Its first letters, lower case.
    Prefix(String),
}

impl FromStr for BatchName {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        if let Ok(id) = text.parse() {
            return Ok(Self::Id(id));
        }
        let is_id = text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        if is_id && (LETTERS_MIN..36).contains(&text.len()) {
            Ok(Self::Prefix(text.to_ascii_lowercase()))
        } else {
            Err(IdError::Batch(text.to_owned()))
        }
    }
}

impl fmt::Display for BatchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Prefix(text) => f.write_str(text),
        }
    }
}

/// How people name a job: its batch, a dot, and its index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JobName {
    /// Its batch.
    pub batch: BatchName,
    /// Place in the batch: 0 is the first line.
    pub index: u64,
}

impl FromStr for JobName {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let parts = text.rsplit_once('.');
        let read = parts.and_then(|(batch, index)| Some((batch.parse().ok()?, index.parse().ok()?)));
        let (batch, index) = read.ok_or_else(|| IdError::Job(text.to_owned()))?;
        Ok(Self { batch, index })
    }
}

impl Queue {
    /// The batch of this name.
    ///
    /// # Errors
    /// [`Error::NoName`], [`Error::Ambiguous`], else what Redis said. A whole id is not looked for.
    pub async fn find(&self, name: &BatchName) -> Result<BatchId, Error> {
        let prefix = match name {
            BatchName::Id(id) => return Ok(*id),
            BatchName::Prefix(prefix) => prefix,
        };
        let mut ids = self.ids('i', prefix, EXAMPLES + 1).await?;
        match ids.len() {
            0 => Err(Error::NoName(prefix.clone())),
            1 => Ok(ids.remove(0)),
            _ => Err(Error::Ambiguous { prefix: prefix.clone(), ids }),
        }
    }

    /// The job of this name.
    ///
    /// # Errors
    /// As [`Queue::find`].
    pub async fn find_job(&self, name: &JobName) -> Result<JobId, Error> {
        Ok(JobId { batch: self.find(&name.batch).await?, index: name.index })
    }

    /// Batches whose id or label begins with this text, whatever its case, newest first: those found first if there are more
    /// than `count`.
    ///
    /// # Errors
    /// What Redis said.
    pub async fn search(&self, text: &str, count: usize) -> Result<Vec<BatchStatus>, Error> {
        let text = text.to_ascii_lowercase();
        let mut ids = self.ids('l', &text, count).await?;
        ids.append(&mut self.ids('i', &text, count).await?);
        ids.sort_unstable();
        ids.dedup();
        let mut found = self.statuses(&ids).await?;
        found.truncate(count);
        Ok(found)
    }

    /// Ids of batches by the first letters of a name: `i` for ids, `l` for labels.
    async fn ids(&self, what: char, prefix: &str, count: usize) -> Result<Vec<BatchId>, Error> {
        let mut ids = Vec::new();
        for shard in 0..self.keys().shards() {
            let key = self.keys().names(shard);
            let (members,): (Vec<Vec<u8>>,) = self
                .link(shard)
                .run(Operation::Inspect, |_| {
                    let from = format!("[{what}{prefix}");
                    // No UTF-8 text has this byte, so it comes after all that begin so.
                    let to = [b"(", what.to_string().as_bytes(), prefix.as_bytes(), b"\xff"].concat();
                    let mut pipe = redis::pipe();
                    pipe.cmd("ZRANGEBYLEX").arg(&key).arg(from).arg(to).arg("LIMIT").arg(0).arg(count);
                    pipe
                })
                .await?;
            for member in members {
                // `iID 0 label`, `llabel 0 ID`.
                let mut parts = member[1..].split(|&byte| byte == 0);
                let id = if what == 'i' { parts.next() } else { parts.next_back() };
                let id: Option<BatchId> = id.and_then(|id| std::str::from_utf8(id).ok()?.parse().ok());
                ids.extend(id);
            }
        }
        ids.truncate(count);
        Ok(ids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_an_id_or_its_beginning() {
        let id = "01997e60-5bd0-7cc1-8d1e-3b1f0a2c4d5e";
        assert_eq!(id.parse(), Ok(BatchName::Id(id.parse().unwrap())));
        assert_eq!("01997E60-5b".parse(), Ok(BatchName::Prefix("01997e60-5b".to_owned())));
        for bad in ["", "019", "nightly", "01997e60-5bd0-7cc1-8d1e-3b1f0a2c4d5e0"] {
            assert_eq!(bad.parse::<BatchName>(), Err(IdError::Batch(bad.to_owned())));
        }
        let job: JobName = "01997e60.17".parse().unwrap();
        assert_eq!((job.batch.to_string().as_str(), job.index), ("01997e60", 17));
        for bad in ["01997e60", "01997e60.", "01997e60.x", ".1"] {
            assert!(bad.parse::<JobName>().is_err(), "{bad}");
        }
    }
}
