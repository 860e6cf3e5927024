//! Trials: a chunk whose worker died is solved one job at a time, with a note of which job is in hand, so that the one
//! that kills its worker is found and costs nobody else.
//!
//! The note is written before the job begins and answered by Redis before the job may begin. Whoever takes the chunk
//! over after the next death reads in it which job that was, and keeps what the jobs before it found.

use std::collections::BTreeMap;

use puzzled_solver::OutcomeKind;
use redis::Value;
use serde::{Deserialize, Serialize};

use crate::connection::{Operation, Queue};
use crate::ids::ChunkRef;
use crate::{Error, reply};

/// What is known of a chunk on trial.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trial {
    /// The chunk.
    pub chunk: ChunkRef,
    /// The job in hand, and whose hand.
    pub suspect: Option<Sighting>,
    /// Workers that fell silent with one of its jobs, and no other, in hand.
    pub deaths: Vec<Sighting>,
    /// Outcomes so far, by place in the chunk.
    pub outcomes: BTreeMap<u32, (OutcomeKind, Vec<u8>)>,
}

/// A job in a worker's hand.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sighting {
    /// Place of the job in its chunk.
    pub place: u32,
    /// The worker.
    pub worker: String,
    /// When it took the job up, server time in ms.
    pub at_ms: u64,
}

/// The field of the note that is not an outcome.
const NOTE: &str = "note";

#[derive(Serialize, Deserialize)]
struct Note {
    suspect: Option<Sighting>,
    deaths: Vec<Sighting>,
}

impl Trial {
    /// The deaths that this job was seen at.
    pub fn deaths_at(&self, place: u32) -> impl Iterator<Item = &Sighting> {
        self.deaths.iter().filter(move |death| death.place == place)
    }
}

impl Queue {
    /// What is known of a chunk; nothing yet if nobody tried it.
    ///
    /// # Errors
    /// What Redis said.
    pub async fn trial(&self, chunk: ChunkRef) -> Result<Trial, Error> {
        let key = self.keys().trial(chunk.batch, chunk.number);
        let (fields,): (Value,) = self
            .link(chunk.batch.shard(self.keys().shards()))
            .run(Operation::Fetch, |_| {
                let mut pipe = redis::pipe();
                pipe.cmd("HGETALL").arg(&key);
                pipe
            })
            .await?;
        let mut trial = Trial { chunk, suspect: None, deaths: Vec::new(), outcomes: BTreeMap::new() };
        for (field, value) in reply::pairs(fields) {
            let Value::BulkString(value) = value else { continue };
            let field = reply::text(&field);
            if field == NOTE {
                let note: Note = serde_json::from_slice(&value)
                    .map_err(|e| Error::Malformed(format!("{key}, field {NOTE}: {e}")))?;
                (trial.suspect, trial.deaths) = (note.suspect, note.deaths);
            } else if let (Ok(place), Some((&tag, text))) = (field.parse(), value.split_first())
                && let Some(kind) = OutcomeKind::from_tag(tag)
            {
                trial.outcomes.insert(place, (kind, text.to_vec()));
            }
        }
        Ok(trial)
    }

    /// Stores who has which job in hand, and the outcome of the job at `finished`, if one has just got its own.
    ///
    /// # Errors
    /// What Redis said. The job may only begin once this has succeeded.
    pub async fn save_trial(&self, trial: &Trial, finished: Option<u32>) -> Result<(), Error> {
        let note = Note { suspect: trial.suspect.clone(), deaths: trial.deaths.clone() };
        let note = serde_json::to_string(&note).map_err(|e| Error::Malformed(e.to_string()))?;
        let outcome = finished.and_then(|place| {
            let (kind, text) = trial.outcomes.get(&place)?;
            Some((place, [&[kind.tag()], &text[..]].concat()))
        });
        let key = self.keys().trial(trial.chunk.batch, trial.chunk.number);
        self.link(trial.chunk.batch.shard(self.keys().shards()))
            .run(Operation::Renew, |_| {
                let mut pipe = redis::pipe();
                pipe.atomic();
                pipe.cmd("HSET").arg(&key).arg(NOTE).arg(&note);
                if let Some((place, record)) = &outcome {
                    pipe.arg(place).arg(&record[..]);
                }
                pipe.ignore();
                // Nobody may be left to close it: it goes with its batch at the latest.
                pipe.cmd("PEXPIRE").arg(&key).arg(self.config().retention_s.saturating_mul(1000)).ignore();
                pipe
            })
            .await
    }

    /// Drops what is known of a chunk: it is recorded.
    ///
    /// # Errors
    /// What Redis said; it expires by itself then.
    pub async fn close_trial(&self, chunk: ChunkRef) -> Result<(), Error> {
        let key = self.keys().trial(chunk.batch, chunk.number);
        self.link(chunk.batch.shard(self.keys().shards()))
            .run(Operation::Complete, |_| {
                let mut pipe = redis::pipe();
                pipe.cmd("UNLINK").arg(&key).ignore();
                pipe
            })
            .await
    }
}
