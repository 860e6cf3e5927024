//! Dead letters: jobs that failed, kept with their puzzle, history and reason until somebody retries or drops them.
//!
//! The job itself has its outcome, `failed`, and its batch ends; a dead letter is for whoever wants to know why, or to
//! try again with a better program.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::connection::{Operation, Queue};
use crate::ids::{BatchId, JobId};
use crate::submit::{Batch, NewChunk, Opened};
use crate::wire::{Encoding, PayloadWriter};

/// A job that failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DeadLetter {
    /// The job.
    pub job: JobId,
    /// Its task.
    pub task: String,
    /// Its puzzle.
    pub puzzle: String,
    /// Why it failed, in words.
    pub reason: String,
    /// Its attempts, the first first.
    pub history: Vec<Attempt>,
    /// When it was given up, server time in ms.
    pub at_ms: u64,
}

/// One attempt at a job.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Attempt {
    /// The worker.
    pub worker: String,
    /// When it took the job up, server time in ms; 0 when nobody saw it.
    pub at_ms: u64,
    /// How it ended, in words.
    pub end: String,
}

/// Which dead letters are meant. Everything that is set must fit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeadFilter {
    /// Those of one batch.
    pub batch: Option<BatchId>,
    /// Those of one task, named with or without its options.
    pub task: Option<String>,
    /// Those whose reason holds this text.
    pub reason: Option<String>,
}

impl DeadFilter {
    /// Whether a letter is meant.
    pub fn fits(&self, letter: &DeadLetter) -> bool {
        let task_fits = |task: &String| letter.task == *task || letter.task.split(':').next() == Some(task);
        self.batch.is_none_or(|batch| letter.job.batch == batch)
            && self.task.as_ref().is_none_or(task_fits)
            && self.reason.as_ref().is_none_or(|text| letter.reason.contains(text))
    }
}

/// Letters read or dropped in one call to Redis.
const LETTERS_PER_CALL: usize = 1_000;

/// Most letters kept on a shard; the oldest go first. A task that always fails must not fill Redis with its puzzles.
const LETTERS_MAX: i64 = 100_000;

impl Queue {
    /// Puts letters away. Doing it again changes nothing.
    ///
    /// # Errors
    /// What Redis said.
    pub async fn bury(&self, letters: &[DeadLetter]) -> Result<(), Error> {
        for (shard, letters) in self.by_shard(letters.iter(), |letter| letter.job) {
            let (index, store) = (self.keys().dead_index(shard), self.keys().dead(shard));
            for part in letters.chunks(LETTERS_PER_CALL) {
                let mut texts = Vec::with_capacity(part.len());
                for letter in part {
                    let text = serde_json::to_string(letter).map_err(|e| Error::Malformed(e.to_string()))?;
                    texts.push((letter.job.to_string(), letter.at_ms, text));
                }
                self.link(shard)
                    .run::<()>(Operation::Complete, |_| {
                        let mut pipe = redis::pipe();
                        pipe.atomic();
                        for (job, at_ms, text) in &texts {
                            pipe.cmd("HSETNX").arg(&store).arg(job).arg(text).ignore();
                            pipe.cmd("ZADD").arg(&index).arg("NX").arg(at_ms).arg(job).ignore();
                        }
                        pipe
                    })
                    .await?;
            }
            self.trim_dead(shard).await?;
        }
        Ok(())
    }

    async fn trim_dead(&self, shard: u16) -> Result<(), Error> {
        let index = self.keys().dead_index(shard);
        let (over,): (Vec<String>,) = self
            .link(shard)
            .run(Operation::Complete, |_| {
                let mut pipe = redis::pipe();
                pipe.cmd("ZRANGE").arg(&index).arg(0).arg(-1 - LETTERS_MAX);
                pipe
            })
            .await?;
        if !over.is_empty() {
            tracing::warn!(count = over.len(), "more dead letters than are kept; the oldest are dropped");
            let jobs: Vec<JobId> = over.iter().filter_map(|job| job.parse().ok()).collect();
            self.drop_dead(&jobs).await?;
        }
        Ok(())
    }

    /// How many letters there are.
    ///
    /// # Errors
    /// What Redis said.
    pub async fn dead_count(&self) -> Result<u64, Error> {
        let mut count = 0;
        for shard in 0..self.keys().shards() {
            let index = self.keys().dead_index(shard);
            let (here,): (u64,) = self
                .link(shard)
                .run(Operation::Inspect, |_| {
                    let mut pipe = redis::pipe();
                    pipe.cmd("ZCARD").arg(&index);
                    pipe
                })
                .await?;
            count += here;
        }
        Ok(count)
    }

    /// How many letters there are, and how many of them were put away since then.
    pub(crate) async fn dead_counts(&self, since_ms: u64) -> Result<(u64, u64), Error> {
        let (mut all, mut recent) = (0, 0);
        for shard in 0..self.keys().shards() {
            let index = self.keys().dead_index(shard);
            let here: (u64, u64) = self
                .link(shard)
                .run(Operation::Inspect, |_| {
                    let mut pipe = redis::pipe();
                    pipe.cmd("ZCARD").arg(&index);
                    pipe.cmd("ZCOUNT").arg(&index).arg(since_ms).arg("+inf");
                    pipe
                })
                .await?;
            (all, recent) = (all + here.0, recent + here.1);
        }
        Ok((all, recent))
    }

    /// The newest letters that fit, at most `count`, newest first.
    ///
    /// # Errors
    /// What Redis said.
    pub async fn dead_letters(&self, filter: &DeadFilter, count: usize) -> Result<Vec<DeadLetter>, Error> {
        let mut found = Vec::new();
        for shard in 0..self.keys().shards() {
            let (index, start) = (self.keys().dead_index(shard), found.len());
            let mut offset = 0;
            while found.len() - start < count {
                let (jobs,): (Vec<String>,) = self
                    .link(shard)
                    .run(Operation::Inspect, |_| {
                        let mut pipe = redis::pipe();
                        pipe.cmd("ZRANGE")
                            .arg(&index)
                            .arg(offset)
                            .arg(offset + LETTERS_PER_CALL - 1)
                            .arg("REV");
                        pipe
                    })
                    .await?;
                if jobs.is_empty() {
                    break;
                }
                offset += jobs.len();
                let letters = self.read_dead(shard, &jobs).await?;
                found.extend(letters.into_iter().filter(|letter| filter.fits(letter)));
            }
        }
        found.sort_by_key(|letter| std::cmp::Reverse((letter.at_ms, letter.job)));
        found.truncate(count);
        Ok(found)
    }

    /// The letter of one job.
    ///
    /// # Errors
    /// What Redis said.
    pub async fn dead_letter(&self, job: JobId) -> Result<Option<DeadLetter>, Error> {
        let shard = job.batch.shard(self.keys().shards());
        Ok(self.read_dead(shard, &[job.to_string()]).await?.pop())
    }

    async fn read_dead(&self, shard: u16, jobs: &[String]) -> Result<Vec<DeadLetter>, Error> {
        let store = self.keys().dead(shard);
        let (texts,): (Vec<Option<String>>,) = self
            .link(shard)
            .run(Operation::Inspect, |_| {
                let mut pipe = redis::pipe();
                pipe.cmd("HMGET").arg(&store).arg(jobs);
                pipe
            })
            .await?;
        let letter =
            |text: String| serde_json::from_str(&text).map_err(|e| Error::Malformed(format!("{store}: {e}")));
        texts.into_iter().flatten().map(letter).collect()
    }

    /// Drops letters. Returns how many there were.
    ///
    /// # Errors
    /// What Redis said.
    pub async fn drop_dead(&self, jobs: &[JobId]) -> Result<u64, Error> {
        let mut dropped = 0;
        for (shard, jobs) in self.by_shard(jobs.iter(), |job| *job) {
            let (index, store) = (self.keys().dead_index(shard), self.keys().dead(shard));
            for part in jobs.chunks(LETTERS_PER_CALL) {
                let names: Vec<String> = part.iter().map(|job| job.to_string()).collect();
                let (count,): (u64,) = self
                    .link(shard)
                    .run(Operation::Complete, |_| {
                        let mut pipe = redis::pipe();
                        pipe.atomic();
                        pipe.cmd("ZREM").arg(&index).arg(&names).ignore();
                        pipe.cmd("HDEL").arg(&store).arg(&names);
                        pipe
                    })
                    .await?;
                dropped += count;
            }
        }
        Ok(dropped)
    }

    /// Submits the puzzles of letters again, one new batch a task, and drops the letters. The former outcomes stay as
    /// they are: an outcome, once readable, does not change. The new batches' ids follow from the jobs, so that a
    /// repetition after a lost answer submits nothing twice.
    ///
    /// # Errors
    /// As [`Queue::enqueue`]; a letter not submitted is still there.
    pub async fn retry_dead(&self, letters: &[DeadLetter]) -> Result<Vec<Batch>, Error> {
        let mut tasks: BTreeMap<&str, Vec<&DeadLetter>> = BTreeMap::new();
        for letter in letters {
            tasks.entry(&letter.task).or_default().push(letter);
        }
        let mut batches = Vec::new();
        for (task, mut letters) in tasks {
            letters.sort_by_key(|letter| letter.job);
            let jobs: Vec<JobId> = letters.iter().map(|letter| letter.job).collect();
            let task = task.parse().map_err(|_| Error::UnknownTask(task.to_owned()))?;
            let batch = Batch {
                id: BatchId::derived(
                    jobs.iter().map(JobId::to_string).collect::<Vec<_>>().join(" ").as_bytes(),
                ),
                label: format!("retry of {}{}", jobs[0], if jobs.len() > 1 { " and others" } else { "" }),
                chunk_jobs: 256,
                ..Batch::new(task)
            };
            if self.create(&batch).await? != Opened::New {
                tracing::info!(batch = %batch.id, "these letters were submitted before; going on where that stopped");
            }
            let mut writer = PayloadWriter::new(&batch.task, Encoding::Text);
            let payloads = letters.chunks(256).map(|part| {
                for letter in part {
                    writer.push(|out| out.extend_from_slice(letter.puzzle.as_bytes()));
                }
                writer.take()
            });
            let chunks: Vec<NewChunk> = NewChunk::number(payloads).collect();
            match self.enqueue(&batch, &chunks, true).await {
                Ok(_) | Err(Error::Closed(_)) => {}
                Err(error) => return Err(error),
            }
            self.drop_dead(&jobs).await?;
            batches.push(batch);
        }
        Ok(batches)
    }

    fn by_shard<'a, T: 'a>(
        &self,
        items: impl Iterator<Item = &'a T>,
        job: impl Fn(&T) -> JobId,
    ) -> BTreeMap<u16, Vec<&'a T>> {
        let mut shards: BTreeMap<u16, Vec<&T>> = BTreeMap::new();
        for item in items {
            shards.entry(job(item).batch.shard(self.keys().shards())).or_default().push(item);
        }
        shards
    }
}
