//! Names of things that live on the queue: batches, jobs, chunks, priorities, consumers.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// All jobs of one submission: a UUID, version 7 when we make it, so that ids sort by time of creation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BatchId(Uuid);

impl BatchId {
    /// A fresh id that sorts after those made before it.
    #[expect(clippy::new_without_default, reason = "two calls differ, which nobody expects of a default")]
    pub fn new() -> Self {
        Self(Uuid::now_v7())
    }

    /// An id that follows from a text: for submissions that may be repeated.
    pub(crate) fn derived(text: &[u8]) -> Self {
        // Any fixed namespace will do; this one has no other use.
        const NAMESPACE: Uuid = Uuid::from_bytes(*b"puzzled:derived\0");
        Self(Uuid::new_v5(&NAMESPACE, text))
    }

    /// The shard that holds every key of this batch: the last four bytes, which are random in every UUID
    /// version we accept, modulo the number of shards.
    pub fn shard(self, shards: u16) -> u16 {
        let bytes = self.0.as_bytes();
        let tail = u32::from_be_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]);
        // The remainder is below `shards`, so it fits.
        (tail % u32::from(shards.max(1))) as u16
    }
}

impl fmt::Display for BatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl FromStr for BatchId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        Uuid::parse_str(text).map(Self).map_err(|_| IdError::Batch(text.to_owned()))
    }
}

/// One puzzle under one task: batch id and index from 0, written `BATCH.INDEX`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct JobId {
    /// The batch the job came in.
    pub batch: BatchId,
    /// Place in the batch: 0 is the first line.
    pub index: u64,
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.batch, self.index)
    }
}

impl From<JobId> for String {
    fn from(job: JobId) -> String {
        job.to_string()
    }
}

impl TryFrom<String> for JobId {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl FromStr for JobId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let error = || IdError::Job(text.to_owned());
        let (batch, index) = text.split_once('.').ok_or_else(error)?;
        let digits = !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit());
        if !digits {
            return Err(error());
        }
        Ok(Self { batch: batch.parse().map_err(|_| error())?, index: index.parse().map_err(|_| error())? })
    }
}

/// A text that is no id.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum IdError {
    /// Not a UUID.
    #[error("'{0}' is not a batch id: expected a UUID such as 01997e60-5bd0-7cc1-8d1e-3b1f0a2c4d5e")]
    Batch(String),
    /// Not `BATCH.INDEX`.
    #[error(
        "'{0}' is not a job id: expected BATCH.INDEX such as 01997e60-5bd0-7cc1-8d1e-3b1f0a2c4d5e.17 (the first line is 0)"
    )]
    Job(String),
    /// Not a priority.
    #[error("'{0}' is not a priority: expected high, normal or low")]
    Priority(String),
}

/// How urgent a batch is. Claims are weighted, so that none starves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// Somebody waits for it.
    High,
    /// The usual.
    #[default]
    Normal,
    /// Whenever there is room.
    Low,
}

impl Priority {
    /// Most urgent first.
    pub const ALL: [Priority; 3] = [Priority::High, Priority::Normal, Priority::Low];

    /// Name on the wire, in labels and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Priority::High => "high",
            Priority::Normal => "normal",
            Priority::Low => "low",
        }
    }

    /// Share of claims while streams of all priorities hold work: 16 to 4 to 1.
    pub fn weight(self) -> i32 {
        match self {
            Priority::High => 16,
            Priority::Normal => 4,
            Priority::Low => 1,
        }
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Priority {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        Self::ALL
            .into_iter()
            .find(|priority| priority.name() == text)
            .ok_or_else(|| IdError::Priority(text.to_owned()))
    }
}

/// Where a chunk stands in its batch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ChunkRef {
    /// The batch.
    pub batch: BatchId,
    /// Chunks of a batch are numbered from 0 without gaps.
    pub number: u64,
    /// Index of its first job.
    pub first: u64,
    /// How many jobs it holds, at least 1.
    pub jobs: u32,
}

impl ChunkRef {
    /// Index one past its last job.
    pub fn end(&self) -> u64 {
        self.first + u64::from(self.jobs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_read_back_and_reject_what_is_not_one() {
        let batch = BatchId::new();
        assert_eq!(batch.to_string().parse(), Ok(batch));
        let job = JobId { batch, index: 17 };
        assert_eq!(job.to_string().parse(), Ok(job));
        for bad in ["", "x", "17", &format!("{batch}"), &format!("{batch}."), &format!("{batch}.-1"), "a.1"] {
            assert!(bad.parse::<JobId>().is_err(), "{bad}");
        }
        assert!(format!("{batch}.99999999999999999999").parse::<JobId>().is_err());
    }

    #[test]
    fn shard_is_within_range_for_any_count() {
        for shards in [0, 1, 2, 7, u16::MAX] {
            for _ in 0..64 {
                assert!(BatchId::new().shard(shards) < shards.max(1));
            }
        }
    }

    #[test]
    fn new_ids_sort_by_time() {
        let ids: Vec<_> = (0..1000).map(|_| BatchId::new()).collect();
        assert!(ids.is_sorted());
    }
}
