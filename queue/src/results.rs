//! Reading outcomes: by job, by range, and as a stream while the batch still runs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use puzzled_solver::{OutcomeKind, Outcomes};
use redis::Value;

use crate::Error;
use crate::connection::{Operation, Queue};
use crate::consumer::SCRIPT_ITEMS_MAX;
use crate::ids::{BatchId, JobId};
use crate::inspect::{BatchStatus, decode_status, status_call};
use crate::notices::Listener;
use crate::scripts::{self, Mode};
use crate::wire::{self, Solved};

/// How long a reader trusts silence before it looks for itself: a notice may be lost with its connection.
const SILENCE_MAX: Duration = Duration::from_secs(1);

/// Jobs read ahead in one request; bounds a reader's memory whatever the size of chunks.
const AHEAD_JOBS: u64 = 65_536;

/// Chunks remembered as recorded ahead of the reader.
const TOLD_MAX: usize = 65_536;

/// How long the record of a wholly collected batch stays, in ms: long enough to ask how it went.
const COLLECTED_RECORD_MS: u64 = 600_000;

/// Outcomes of consecutive jobs.
#[derive(Debug)]
pub struct Part {
    /// Chunk they come from.
    pub chunk: u64,
    /// Index of the first job.
    pub first: u64,
    /// The outcomes.
    pub outcomes: Outcomes,
    /// How they came about; `None` for jobs that were cancelled before they were solved.
    pub facts: Option<Solved>,
}

/// What a job has come to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum JobState {
    /// In the queue.
    Waiting,
    /// Claimed by a worker.
    Running,
    /// It has its outcome.
    Recorded {
        /// Which one.
        kind: OutcomeKind,
        /// Answer or reason.
        text: Vec<u8>,
        /// How it came about; `None` when it was cancelled.
        facts: Option<Solved>,
    },
    /// Its outcome was collected and dropped.
    Collected,
}

impl Queue {
    /// What became of one job.
    ///
    /// # Errors
    /// [`Error::NoBatch`] and [`Error::NoJob`], else what Redis said.
    pub async fn job(&self, id: JobId) -> Result<JobState, Error> {
        let span = self.span_at(id.batch, id.index).await?.ok_or(Error::NoJob(id))?;
        let (batch_status, stored) = self.read(id.batch, &[span.chunk]).await?;
        if let Some(Some(bytes)) = stored.into_iter().next() {
            let (facts, outcomes) = wire::decode_result(&bytes)?;
            let place = usize::try_from(id.index - facts.first).unwrap_or(usize::MAX);
            if place >= outcomes.len() {
                return Err(Error::Malformed(format!("chunk {} does not hold job {id}", span.chunk)));
            }
            let outcome = outcomes.get(place);
            return Ok(JobState::Recorded {
                kind: outcome.kind,
                text: outcome.text.to_vec(),
                facts: Some(facts),
            });
        }
        Ok(if span.chunk < batch_status.collected {
            JobState::Collected
        } else if batch_status.cancelled {
            JobState::Recorded { kind: OutcomeKind::Cancelled, text: Vec::new(), facts: None }
        } else if batch_status.finished() {
            return Err(Error::Missing(id));
        } else if id.index < batch_status.claimed {
            JobState::Running
        } else {
            JobState::Waiting
        })
    }

    /// Reads a batch's outcomes in input order, from job `from` on, while it runs.
    ///
    /// # Errors
    /// [`Error::NoBatch`], else what Redis said.
    pub async fn follow(&self, id: BatchId, from: u64) -> Result<Follow, Error> {
        let start = if from == 0 { None } else { self.span_at(id, from).await? };
        let (chunk, first) = match start {
            Some(span) => (span.chunk, span.first),
            None if from == 0 => (0, 0),
            // Beyond what was submitted so far: start at the end.
            None => {
                let status = self.status(id).await?;
                (status.chunks, status.submitted)
            }
        };
        Ok(Follow {
            queue: self.clone(),
            id,
            from,
            chunk,
            first,
            ahead: 1,
            ready: BTreeMap::new(),
            notices: None,
            status: None,
            told: BTreeSet::new(),
            untold_to: u64::MAX,
            looked_to: 0,
            settled_to: 0,
            looked: false,
            collected: VecDeque::new(),
        })
    }

    async fn read(&self, id: BatchId, chunks: &[u64]) -> Result<(BatchStatus, Vec<Option<Bytes>>), Error> {
        // Status first: what it calls cancelled or collected stays so, while the other order could take a chunk
        // that is recorded between the two reads for a cancelled one.
        let (status, stored): (Value, Vec<Option<Bytes>>) = self
            .link_to(id)
            .run(Operation::Read, |_| {
                let mut pipe = redis::pipe();
                status_call(self, &mut pipe, id);
                pipe.cmd("HMGET").arg(self.keys().result(id)).arg(chunks);
                pipe
            })
            .await?;
        // An empty text stands for what a cancelled batch does not have (drop.lua).
        let stored = stored.into_iter().map(|bytes| bytes.filter(|bytes| !bytes.is_empty())).collect();
        Ok((decode_status(id, status)?, stored))
    }

    async fn collect(&self, id: BatchId, below: u64, numbers: &[u64]) -> Result<(), Error> {
        let (_found,): (i64,) = self
            .link_to(id)
            .run(Operation::Read, |mode| {
                let mut pipe = redis::pipe();
                self.collect_call(&mut pipe, mode, id, below, numbers);
                pipe
            })
            .await?;
        Ok(())
    }

    pub(crate) fn collect_call(
        &self,
        pipe: &mut redis::Pipeline,
        mode: Mode,
        id: BatchId,
        below: u64,
        numbers: &[u64],
    ) {
        let (batch, result, layout) = (self.keys().batch(id), self.keys().result(id), self.keys().layout(id));
        scripts::COLLECT
            .call(pipe, mode, &[&batch, &result, &layout])
            .arg(below)
            .arg(COLLECTED_RECORD_MS)
            .arg(numbers);
    }
}

/// A reader of one batch, in input order.
pub struct Follow {
    queue: Queue,
    id: BatchId,
    /// First job asked for.
    from: u64,
    /// Next chunk to hand out, and its first job.
    chunk: u64,
    first: u64,
    /// Chunks read ahead.
    ahead: u64,
    /// The last look asked for chunks below this number.
    ready: BTreeMap<u64, Bytes>,
    notices: Option<Listener>,
    status: Option<BatchStatus>,
    /// Recorded chunks we were told of and have not read.
    told: BTreeSet<u64>,
    /// Chunks below this number may have been recorded without our being told.
    untold_to: u64,
    /// Chunks below this number were looked for since, whether told of or not.
    looked_to: u64,
    /// Chunks below this number were looked for when the batch was finished: what was missing then is gone.
    settled_to: u64,
    /// Whether the last call looked.
    looked: bool,
    collected: VecDeque<u64>,
}

impl Follow {
    /// The next outcomes in input order: waits for them while the batch runs, `None` after the last. Dropping the
    /// future is safe. After a transient error call it again.
    ///
    /// # Errors
    /// [`Error::Collected`] when somebody else has taken these outcomes away, [`Error::NoBatch`] when the batch
    /// expired meanwhile, else what Redis said.
    pub async fn next(&mut self) -> Result<Option<Part>, Error> {
        loop {
            if let Some(part) = self.next_ready().await? {
                return Ok(Some(part));
            }
            if self.at_end() {
                return Ok(None);
            }
            self.wait().await;
        }
    }

    /// The next outcomes that are there already; `None` when there are none yet, or no more.
    ///
    /// # Errors
    /// As [`Follow::next`].
    pub async fn next_ready(&mut self) -> Result<Option<Part>, Error> {
        self.looked = !self.ready.contains_key(&self.chunk) && self.has_to_look();
        if self.looked {
            self.look().await?;
        }
        if let Some(bytes) = self.ready.remove(&self.chunk) {
            let (facts, outcomes) = wire::decode_result(&bytes)?;
            if facts.first != self.first {
                return Err(Error::Malformed(format!("chunk {} begins at job {}", self.chunk, facts.first)));
            }
            let jobs = outcomes.len() as u64;
            self.ahead = (AHEAD_JOBS / jobs.max(1)).clamp(1, 256);
            return Ok(Some(self.hand_out(jobs, outcomes, Some(facts))));
        }
        let Some(status) = &self.status else { return Ok(None) };
        if self.chunk < status.collected {
            return Err(Error::Collected(self.id));
        }
        if status.cancelled && self.chunk < status.chunks {
            let span = self.queue.span_at(self.id, self.first).await?.ok_or(Error::NoBatch(self.id))?;
            let mut outcomes = Outcomes::new();
            for _ in 0..span.jobs {
                outcomes.push(OutcomeKind::Cancelled, b"");
            }
            return Ok(Some(self.hand_out(span.jobs, outcomes, None)));
        }
        if self.chunk < status.chunks && self.chunk < self.settled_to {
            return Err(Error::Missing(JobId { batch: self.id, index: self.first }));
        }
        Ok(None)
    }

    /// Subscribes ahead of the first look: for a batch that is about to be submitted.
    ///
    /// # Errors
    /// What Redis said.
    pub async fn listen(&mut self) -> Result<(), Error> {
        if self.notices.is_none() {
            self.notices = Some(self.queue.listen(self.id).await?);
        }
        Ok(())
    }

    /// Whether the next outcomes are not there as far as is known: then asking again before [`Follow::wait`] returns
    /// is in vain.
    pub fn was_missing(&self) -> bool {
        let is_cancelled = self.status.as_ref().is_some_and(|status| status.cancelled);
        !self.ready.contains_key(&self.chunk) && !self.has_to_look() && !is_cancelled
    }

    /// The batch as the last [`Follow::next_ready`] saw it; `None` if that had no need to look.
    pub fn fresh_status(&self) -> Option<&BatchStatus> {
        self.status.as_ref().filter(|_| self.looked)
    }

    /// The batch as last seen.
    pub fn status(&self) -> Option<&BatchStatus> {
        self.status.as_ref()
    }

    /// Says that a part is safely put away: its outcomes may be dropped from Redis. They go with the next
    /// [`Follow::flush`].
    pub fn put_away(&mut self, chunk: u64) {
        self.collected.push_back(chunk);
    }

    /// How many parts wait to be dropped.
    pub fn unflushed(&self) -> usize {
        self.collected.len()
    }

    /// Drops what was put away.
    ///
    /// # Errors
    /// What Redis said; call again.
    pub async fn flush(&mut self) -> Result<(), Error> {
        while !self.collected.is_empty() {
            let numbers: Vec<u64> = self.collected.iter().copied().take(SCRIPT_ITEMS_MAX).collect();
            let below = numbers.iter().max().map_or(0, |last| last + 1);
            self.queue.collect(self.id, below, &numbers).await?;
            self.collected.drain(..numbers.len());
        }
        Ok(())
    }

    fn hand_out(&mut self, jobs: u64, mut outcomes: Outcomes, facts: Option<Solved>) -> Part {
        let (chunk, mut first) = (self.chunk, self.first);
        self.chunk += 1;
        self.first += jobs;
        // The first part may begin before the job that was asked for.
        if first < self.from {
            let skip = usize::try_from(self.from - first).unwrap_or(usize::MAX).min(outcomes.len());
            let mut rest = Outcomes::new();
            for outcome in outcomes.iter().skip(skip) {
                rest.push(outcome.kind, outcome.text);
            }
            outcomes = rest;
            first = self.from;
        }
        Part { chunk, first, outcomes, facts }
    }

    /// Whether the input is complete and every part was handed out, as far as the last look showed.
    pub fn at_end(&self) -> bool {
        self.status.as_ref().is_some_and(|s| s.closed && self.chunk >= s.chunks)
    }

    /// Whether Redis may have the next outcomes, as far as notices tell.
    fn has_to_look(&self) -> bool {
        self.is_untold() || self.told.contains(&self.chunk)
    }

    /// Whether the next outcomes may be there without our being told.
    fn is_untold(&self) -> bool {
        self.chunk >= self.looked_to && self.chunk < self.untold_to && !self.at_end()
    }

    async fn look(&mut self) -> Result<(), Error> {
        // Subscribed before looking: what is recorded after the look is announced.
        if self.notices.is_none() && self.status.is_some() && !self.at_end() {
            self.listen().await?;
        }
        let is_announced = self.notices.is_some();
        let everywhere = self.is_untold();
        let window = self.chunk..self.chunk + self.ahead;
        // The next chunks that have not come yet: all of them, or those we were told of.
        let unread: Vec<u64> = if everywhere {
            window.clone().filter(|number| !self.ready.contains_key(number)).collect()
        } else {
            self.told.range(window.clone()).copied().collect()
        };
        let (status, stored) = self.queue.read(self.id, &unread).await?;
        if everywhere && is_announced {
            self.looked_to = window.end;
            // Whatever is added from now on is announced when it is recorded.
            self.untold_to = self.untold_to.min(status.chunks);
        }
        if everywhere && status.finished() {
            self.settled_to = window.end;
        }
        self.status = Some(status);
        for (number, bytes) in unread.into_iter().zip(stored) {
            self.told.remove(&number);
            if let Some(bytes) = bytes {
                self.ready.insert(number, bytes);
            }
        }
        Ok(())
    }

    /// Waits until it is worth looking again: something was recorded, or a second passed in silence. For callers
    /// that have more to wait for than [`Follow::next`] knows of; dropping the future is safe.
    pub async fn wait(&mut self) {
        // In the first round there is no subscription yet: look again, with one.
        let Some(notices) = &self.notices else { return };
        // Silence is no error: the look that follows finds what a lost notice would have said.
        let Ok(heard) = tokio::time::timeout(SILENCE_MAX, notices.heard()).await else {
            self.doubt();
            return;
        };
        if heard.is_partial {
            self.doubt();
        }
        let window = self.chunk..self.chunk + self.ahead;
        for (number, outcomes) in heard.chunks {
            match outcomes {
                Some(outcomes) if window.contains(&number) => {
                    self.ready.insert(number, outcomes);
                }
                _ if number >= self.chunk && !self.ready.contains_key(&number) => {
                    self.told.insert(number);
                }
                _ => {}
            }
        }
        // A reader that lags far behind finds them again by looking.
        if self.told.len() > TOLD_MAX {
            self.told.clear();
            self.doubt();
        }
    }

    /// Notices may have been missed: everything accepted so far has to be looked for.
    fn doubt(&mut self) {
        self.untold_to = u64::MAX;
        self.looked_to = 0;
    }
}
