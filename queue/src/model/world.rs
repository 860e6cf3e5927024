//! The clients around the server, what each may do next, and what must be true after every step.

use bytes::Bytes;
use puzzled_solver::{OutcomeKind, Task};
use redis::{Pipeline, Value};

use super::server::{Data, Interpreter, commands};
use crate::complete::Completed;
use crate::connection::Queue;
use crate::consumer::{Claimed, EntryId};
use crate::ids::{BatchId, ChunkRef};
use crate::inspect::status_call;
use crate::keys::StreamId;
use crate::lease::begin_call;
use crate::scripts::{Mode, Script};
use crate::submit::{Batch, NewChunk, depth_field};
use crate::wire::{INLINE_BYTES_MAX, Payload};
use crate::{Config, reply};

/// What is explored: how big the world is, and which faults it knows.
#[derive(Clone, Copy)]
pub(super) struct Scenario {
    /// Jobs of each chunk, and whether its payload travels in its entry.
    pub(super) chunks: &'static [(u32, Travels)],
    /// Unclaimed jobs in the stream; the rest waits in the backlog.
    pub(super) ahead: u32,
    /// Unfinished jobs that the queue takes; 0 = any number.
    pub(super) depth: u64,
    /// Chunks a worker holds at once.
    pub(super) hold: usize,
    /// How many workers may die on the way.
    pub(super) crashes: u8,
    /// Whether a second producer submits another input under the same id.
    pub(super) rival: bool,
    /// Whether somebody reads the outcomes.
    pub(super) read: bool,
    /// Whether somebody may cancel the batch.
    pub(super) cancel: bool,
    /// Whether the producer may go away for good, so that a sweeper closes the batch.
    pub(super) abandon: bool,
    /// Whether the retention time may run out once the batch is finished.
    pub(super) expire: bool,
}

/// How a payload gets to its worker.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Travels {
    InItsEntry,
    ByItself,
}

const WORKERS: [&str; 2] = ["one", "two"];

/// How a chunk may end, as far as the model tells: by which worker, or failed for want of its payload.
const COUNTED: [OutcomeKind; 3] = [OutcomeKind::Solved, OutcomeKind::NoSolution, OutcomeKind::Failed];
const LACKING: u8 = 2;
const CANCELLED: u8 = 3;

/// All that matters of one moment.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) data: Data,
    producer: Producer,
    workers: [Vec<Held>; 2],
    reader: Reader,
    crashes: u8,
    /// Whose input the batch holds.
    is_rivals: bool,
    /// What each chunk was counted as when it was recorded. Known to nobody in the system: the checks are against it.
    counted: Vec<Option<u8>>,
}

#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Producer {
    has_opened: bool,
    /// Whether it was told that every chunk is accepted.
    knows_all: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Held {
    entry: u64,
    chunk: u8,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Phase {
    /// It came from the stream.
    Claimed,
    /// Redis knows that we have it, and wants it.
    Begun,
    /// Its payload is here: it may be recorded.
    Ready,
    /// It has none: it is recorded as failed.
    Lacking,
    /// Nobody wants it.
    Unwanted,
}

#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Reader {
    /// What its last look at the record showed.
    seen: Option<Seen>,
    /// What it handed out for each chunk so far.
    handed: Vec<u8>,
    /// Chunks that it knows to be dropped.
    dropped: u8,
    has_ended: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Seen {
    is_cancelled: bool,
    is_closed: bool,
    is_finished: bool,
    chunks: u64,
    collected: u64,
}

/// What may happen next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// The producer opens the batch, or does so again.
    Open,
    /// It sends chunks, perhaps again, perhaps ahead of their turn; or the rival does.
    Send {
        is_rival: bool,
        from: u8,
        count: u8,
        close: bool,
    },
    /// It sends the end of the batch alone.
    Close,
    Cancel,
    /// A worker asks for the next entry. Its answer may be lost.
    Claim {
        worker: usize,
        is_lost: bool,
    },
    /// A worker takes over an entry, be it a dead worker's, a slow one's, or its own of which it does not know.
    TakeOver {
        worker: usize,
        entry: u64,
    },
    /// A worker says what it has claimed.
    Begin {
        worker: usize,
    },
    /// A worker reads the payloads that did not come with their entries.
    Fetch {
        worker: usize,
    },
    /// A worker asks whether its batch is still wanted.
    Ask {
        worker: usize,
    },
    /// A worker takes what nobody wants off the stream.
    Drop {
        worker: usize,
    },
    /// A worker records some of what it holds (bits). Its answer may be lost: then it does so again, or dies.
    Record {
        worker: usize,
        which: u8,
        is_lost: bool,
    },
    /// A worker learns that an entry is another's.
    Notice {
        worker: usize,
        entry: u64,
    },
    /// A worker hands back all it has.
    Release {
        worker: usize,
    },
    Crash {
        worker: usize,
    },
    /// The sweeper takes a worker's name off the group.
    Forget {
        worker: usize,
    },
    /// The sweeper looks at the batch; `is_late` after its whole retention time.
    Sweep {
        is_late: bool,
    },
    /// Keys that may vanish do so: the record first, or all at once.
    Expire {
        all: bool,
    },
    /// The reader looks at the record.
    Look,
    /// The reader asks for the outcomes of the next chunk.
    Read,
    /// The reader drops what it has put away. The answer may be lost.
    Collect {
        is_lost: bool,
    },
}

/// A scenario with the calls of its clients.
pub(super) struct World {
    scenario: Scenario,
    interpreter: Interpreter,
    queue: Queue,
    stream: StreamId,
    batch: Batch,
    chunks: Vec<NewChunk>,
    /// Another input, cut alike.
    rivals: Vec<NewChunk>,
    refs: Vec<ChunkRef>,
    record: String,
    depth: String,
    payload: String,
    result: String,
}

impl World {
    /// `removed` replaces a text of one script. Needs a Tokio runtime around it, though nothing connects.
    pub(super) fn new(scenario: Scenario, removed: Option<(&Script, &str, &str)>) -> Self {
        let config = Config {
            url: puzzled_service::Url::new("redis://127.0.0.1:1"),
            prefix: "m".to_owned(),
            depth_jobs_max: scenario.depth,
            ..Config::default()
        };
        let queue = Queue::open(&config, None).unwrap();
        let mut batch = Batch::new("sudoku.solve".parse::<Task>().unwrap());
        // The same in every run, so that the state space is.
        batch.id = BatchId::derived(b"model");
        batch.ahead_jobs = scenario.ahead;
        let (mut payloads, mut refs, mut first) = ([Vec::new(), Vec::new()], Vec::new(), 0);
        for (number, &(jobs, travels)) in (0_u64..).zip(scenario.chunks) {
            let length = if travels == Travels::InItsEntry { 1 } else { INLINE_BYTES_MAX + 1 };
            for (payloads, alphabet) in payloads.iter_mut().zip(*b"Aa") {
                let letter = alphabet + number as u8;
                payloads.push(Payload { jobs, bytes: vec![letter; length].into(), digest: letter.into() });
            }
            refs.push(ChunkRef { batch: batch.id, number, first, jobs });
            first += u64::from(jobs);
        }
        let [chunks, rivals] = payloads.map(|payloads| NewChunk::number(payloads).collect());
        let stream = StreamId { shard: 0, kind: batch.task.kind(), priority: batch.priority };
        let keys = queue.keys();
        let (record, depth) = (keys.batch(batch.id), keys.depth(0));
        let (payload, result) = (keys.payload(batch.id), keys.result(batch.id));
        let interpreter = Interpreter::new(removed);
        Self {
            scenario,
            interpreter,
            queue,
            stream,
            batch,
            chunks,
            rivals,
            refs,
            record,
            depth,
            payload,
            result,
        }
    }

    pub(super) fn start(&self) -> State {
        State {
            // Fields with a time of 0 would read as absent.
            data: Data { clock: 1, ..Data::default() },
            producer: Producer::default(),
            workers: [Vec::new(), Vec::new()],
            reader: Reader { has_ended: !self.scenario.read, ..Reader::default() },
            crashes: self.scenario.crashes,
            is_rivals: false,
            counted: vec![None; self.chunks.len()],
        }
    }

    /// All that may happen next. A step that turns out to change nothing is no harm.
    pub(super) fn steps(&self, state: &State) -> Vec<Step> {
        let mut steps = vec![Step::Open];
        let total = self.chunks.len() as u8;
        if state.producer.has_opened {
            for from in 0..total {
                for count in 1..=(total - from).min(2) {
                    let close = from + count == total;
                    steps.push(Step::Send { is_rival: false, from, count, close });
                    if self.scenario.rival {
                        // Its input may end anywhere.
                        steps.extend([false, true].map(|close| Step::Send {
                            is_rival: true,
                            from,
                            count,
                            close,
                        }));
                    }
                }
            }
            if state.producer.knows_all {
                steps.push(Step::Close);
            }
            steps.push(Step::Sweep { is_late: false });
            if self.scenario.abandon {
                steps.push(Step::Sweep { is_late: true });
            }
            if self.scenario.cancel {
                steps.push(Step::Cancel);
            }
            if self.scenario.expire && !state.data.expiring.is_empty() {
                steps.extend([Step::Expire { all: true }, Step::Expire { all: false }]);
            }
            self.reader_steps(state, &mut steps);
        }
        for worker in 0..WORKERS.len() {
            self.worker_steps(state, worker, &mut steps);
        }
        steps
    }

    fn reader_steps(&self, state: &State, steps: &mut Vec<Step>) {
        if !state.reader.has_ended {
            steps.push(if state.reader.seen.is_none() { Step::Look } else { Step::Read });
        }
        if state.reader.handed.len() > usize::from(state.reader.dropped) {
            steps.extend([Step::Collect { is_lost: true }, Step::Collect { is_lost: false }]);
        }
    }

    fn worker_steps(&self, state: &State, worker: usize, steps: &mut Vec<Step>) {
        let held = &state.workers[worker];
        let has = |phase| held.iter().any(|held| held.phase == phase);
        steps.push(Step::Claim { worker, is_lost: true });
        if held.len() < self.scenario.hold {
            steps.push(Step::Claim { worker, is_lost: false });
            let unknown =
                state.data.pending.keys().filter(|&&entry| held.iter().all(|held| held.entry != entry));
            steps.extend(unknown.map(|&entry| Step::TakeOver { worker, entry }));
        }
        if has(Phase::Claimed) {
            steps.push(Step::Begin { worker });
        }
        if has(Phase::Begun) {
            steps.push(Step::Fetch { worker });
        }
        if !held.is_empty() {
            steps.push(Step::Ask { worker });
        }
        if has(Phase::Unwanted) {
            steps.push(Step::Drop { worker });
        }
        let ready =
            (0..held.len()).filter(|&i| self.may_record(&held[i])).fold(0_u8, |bits, i| bits | 1 << i);
        for which in 1..=ready {
            if which & !ready == 0 {
                steps.push(Step::Record { worker, which, is_lost: true });
                steps.push(Step::Record { worker, which, is_lost: false });
            }
        }
        for held in held {
            if state.data.pending.get(&held.entry).is_none_or(|owner| **owner != *WORKERS[worker].as_bytes())
            {
                steps.push(Step::Notice { worker, entry: held.entry });
            }
        }
        if state.data.pending.values().any(|owner| **owner == *WORKERS[worker].as_bytes()) {
            steps.push(Step::Release { worker });
            steps.push(Step::Forget { worker });
        }
        if !held.is_empty() && state.crashes > 0 {
            steps.push(Step::Crash { worker });
        }
    }

    /// A worker solves what came with its entry while it tells Redis that it has begun.
    fn may_record(&self, held: &Held) -> bool {
        match held.phase {
            Phase::Claimed => self.scenario.chunks[usize::from(held.chunk)].1 == Travels::InItsEntry,
            Phase::Ready | Phase::Lacking => true,
            Phase::Begun | Phase::Unwanted => false,
        }
    }

    /// The world after a step, or what that step broke.
    pub(super) fn take(&self, before: &State, step: Step) -> Result<State, String> {
        let mut after = before.clone();
        let state = &mut after;
        match step {
            Step::Open => {
                // Under its id again once the record has expired: that is a new batch, and none of this one's.
                if !state.producer.has_opened {
                    self.call(&mut state.data, |queue, pipe| {
                        queue.create_call(pipe, Mode::Hash, &self.batch)
                    });
                    state.producer.has_opened = true;
                } else if state.data.hashes.contains_key(self.record.as_bytes()) {
                    self.call(&mut state.data, |queue, pipe| {
                        queue.create_call(pipe, Mode::Hash, &self.batch)
                    });
                }
            }
            Step::Send { is_rival, from, count, close } => self.send(state, is_rival, from, count, close)?,
            Step::Close => {
                self.call(&mut state.data, |queue, pipe| {
                    queue.enqueue_call(pipe, Mode::Hash, &self.batch, &[], true);
                });
            }
            Step::Cancel => {
                self.call(&mut state.data, |queue, pipe| {
                    queue.cancel_call(pipe, Mode::Hash, self.stream, self.batch.id);
                });
            }
            Step::Sweep { is_late } => {
                // Longer than any retention time, for this moment only.
                let late = if is_late { 10 * Config::default().retention_s } else { 0 };
                state.data.clock += late;
                self.call(&mut state.data, |queue, pipe| queue.sweep_call(pipe, Mode::Hash, self.batch.id));
                state.data.clock -= late;
            }
            Step::Expire { all } => {
                let record = self.record.as_bytes();
                for key in state.data.expiring.clone() {
                    if all || *key == *record {
                        state.data.delete(&key);
                    }
                }
            }
            Step::Look | Step::Read | Step::Collect { .. } => self.read(state, step)?,
            Step::Claim { .. }
            | Step::TakeOver { .. }
            | Step::Begin { .. }
            | Step::Fetch { .. }
            | Step::Ask { .. }
            | Step::Drop { .. }
            | Step::Record { .. }
            | Step::Notice { .. }
            | Step::Release { .. }
            | Step::Crash { .. }
            | Step::Forget { .. } => self.work(state, step),
        }
        self.check_finished(before, state)?;
        self.count(before, state)?;
        self.check(state)?;
        Ok(after)
    }

    fn send(
        &self,
        state: &mut State,
        is_rival: bool,
        from: u8,
        count: u8,
        close: bool,
    ) -> Result<(), String> {
        let all = if is_rival { &self.rivals } else { &self.chunks };
        let chunks = &all[usize::from(from)..usize::from(from + count)];
        let stand = |data: &Data| ["chunks", "closed"].map(|field| data.number(&self.record, field));
        let before = stand(&state.data);
        let answers = self.call(&mut state.data, |queue, pipe| {
            queue.enqueue_call(pipe, Mode::Hash, &self.batch, chunks, close);
        });
        let answer = reply::items(answers.into_iter().next_back().unwrap_or_default());
        match self.queue.enqueued(self.batch.id, &answer) {
            Ok(next) => {
                if before[0] == 0 && next > 0 {
                    state.is_rivals = is_rival;
                }
                if is_rival != state.is_rivals && stand(&state.data) != before {
                    return Err("one input was changed by another".to_owned());
                }
                state.producer.knows_all |= !is_rival && next == self.chunks.len() as u64;
            }
            Err(crate::Error::Malformed(what)) => return Err(what),
            Err(_) => {}
        }
        Ok(())
    }

    fn work(&self, state: &mut State, step: Step) {
        match step {
            Step::Claim { worker, is_lost } => {
                if let Some(entry) = state.data.deliver(WORKERS[worker])
                    && !is_lost
                {
                    self.hold(state, worker, entry);
                }
            }
            Step::TakeOver { worker, entry } => {
                if state.data.take_over(entry, WORKERS[worker]) {
                    self.hold(state, worker, entry);
                }
            }
            Step::Begin { worker } => {
                let claimed = state.workers[worker].iter().filter(|held| held.phase == Phase::Claimed);
                let end = claimed.map(|held| self.refs[usize::from(held.chunk)].end()).max().unwrap();
                let is_wanted = self.begin(&mut state.data, end);
                for held in state.workers[worker].iter_mut().filter(|held| held.phase == Phase::Claimed) {
                    held.phase = match self.scenario.chunks[usize::from(held.chunk)].1 {
                        _ if !is_wanted => Phase::Unwanted,
                        Travels::InItsEntry => Phase::Ready,
                        Travels::ByItself => Phase::Begun,
                    };
                }
            }
            Step::Fetch { worker } => {
                for held in state.workers[worker].iter_mut().filter(|held| held.phase == Phase::Begun) {
                    let is_there = state.data.field(&self.payload, &held.chunk.to_string()).is_some();
                    held.phase = if is_there { Phase::Ready } else { Phase::Lacking };
                }
            }
            Step::Ask { worker } => {
                if !self.begin(&mut state.data, 0) {
                    state.workers[worker].iter_mut().for_each(|held| held.phase = Phase::Unwanted);
                }
            }
            Step::Drop { worker } => {
                let is_unwanted = |held: &Held| held.phase == Phase::Unwanted;
                let chunks: Vec<Claimed> = state.workers[worker]
                    .iter()
                    .filter(|held| is_unwanted(held))
                    .map(|held| self.claimed(held))
                    .collect();
                self.call(&mut state.data, |queue, pipe| {
                    queue.drop_call(pipe, Mode::Hash, self.stream, self.batch.id, &chunks);
                });
                state.workers[worker].retain(|held| !is_unwanted(held));
            }
            Step::Record { worker, which, is_lost } => self.complete(state, worker, which, is_lost),
            Step::Notice { worker, entry } => state.workers[worker].retain(|held| held.entry != entry),
            Step::Release { worker } => {
                let name = WORKERS[worker].as_bytes();
                let owned = state.data.pending.iter().filter(|(_, owner)| ***owner == *name);
                let entries: Vec<EntryId> = owned.map(|(&entry, _)| EntryId { ms: entry, seq: 0 }).collect();
                self.call(&mut state.data, |queue, pipe| {
                    queue.release_call(pipe, Mode::Hash, self.stream, WORKERS[worker], &entries);
                });
                state.workers[worker].clear();
            }
            Step::Crash { worker } => {
                state.workers[worker].clear();
                state.crashes -= 1;
            }
            Step::Forget { worker } => {
                self.call(&mut state.data, |queue, pipe| {
                    queue.forget_call(pipe, Mode::Hash, self.stream, WORKERS[worker]);
                });
            }
            _ => unreachable!("no worker does {step:?}"),
        }
    }

    fn hold(&self, state: &mut State, worker: usize, entry: u64) {
        let chunk = chunk_of(&state.data, entry);
        let held = &mut state.workers[worker];
        held.push(Held { entry, chunk, phase: Phase::Claimed });
        held.sort_unstable();
    }

    fn begin(&self, data: &mut Data, end: u64) -> bool {
        let answers = self.call(data, |queue, pipe| {
            begin_call(queue, pipe, Mode::Hash, self.stream, &[(self.batch.id, end)]);
        });
        reply::items(answers[0].clone()).first().and_then(reply::int) == Some(1)
    }

    fn complete(&self, state: &mut State, worker: usize, which: u8, is_lost: bool) {
        let chosen = |i: usize| which & 1 << i != 0;
        let chunks: Vec<Completed> = (0..)
            .zip(&state.workers[worker])
            .filter(|(i, _)| chosen(*i))
            .map(|(_, held)| {
                let outcome = if held.phase == Phase::Lacking { LACKING } else { worker as u8 };
                let mut counts = [0; OutcomeKind::ALL.len()];
                counts[COUNTED[usize::from(outcome)] as usize] = self.refs[usize::from(held.chunk)].jobs;
                Completed { claimed: self.claimed(held), counts, result: Bytes::from(vec![b'0' + outcome]) }
            })
            .collect();
        self.call(&mut state.data, |queue, pipe| {
            queue.complete_call(pipe, Mode::Hash, self.stream, self.batch.id, &chunks);
        });
        if !is_lost {
            let mut place = 0..;
            state.workers[worker].retain(|_| !chosen(place.next().unwrap()));
        }
    }

    fn claimed(&self, held: &Held) -> Claimed {
        let chunk = usize::from(held.chunk);
        let payload = self.scenario.chunks[chunk].1 == Travels::InItsEntry;
        Claimed {
            stream: self.stream,
            entry: EntryId { ms: held.entry, seq: 0 },
            chunk: self.refs[chunk],
            since_ms: 0,
            attempt: 1,
            payload: payload.then(|| self.chunks[chunk].payload.bytes.clone()),
        }
    }

    /// As `Follow` does: what the record said first decides what a missing outcome means.
    fn read(&self, state: &mut State, step: Step) -> Result<(), String> {
        let next = state.reader.handed.len();
        match step {
            Step::Look => {
                let answers =
                    self.call(&mut state.data, |queue, pipe| status_call(queue, pipe, self.batch.id));
                let Ok(status) = crate::inspect::decode_status(self.batch.id, answers[0].clone()) else {
                    state.reader.has_ended = true;
                    return Ok(());
                };
                state.reader.has_ended = status.closed && next as u64 >= status.chunks;
                state.reader.seen = (!state.reader.has_ended).then_some(Seen {
                    is_cancelled: status.cancelled,
                    is_closed: status.closed,
                    is_finished: status.finished(),
                    chunks: status.chunks,
                    collected: status.collected,
                });
            }
            Step::Read => {
                let seen = state.reader.seen.take().unwrap();
                let is_there = (next as u64) < seen.chunks;
                let outcome =
                    state.data.field(&self.result, &next.to_string()).filter(|outcome| !outcome.is_empty());
                if let Some(outcome) = outcome {
                    state.reader.handed.push(outcome[0] - b'0');
                } else if (next as u64) < seen.collected {
                    return Err(format!("chunk {next} was dropped before it was read"));
                } else if seen.is_cancelled && is_there {
                    state.reader.handed.push(CANCELLED);
                } else if seen.is_finished && is_there {
                    if state.data.hashes.contains_key(self.record.as_bytes()) {
                        return Err(format!("the batch is finished and chunk {next} has no outcomes"));
                    }
                    state.reader.has_ended = true;
                }
            }
            Step::Collect { is_lost } => {
                let numbers: Vec<u64> = (u64::from(state.reader.dropped)..next as u64).collect();
                self.call(&mut state.data, |queue, pipe| {
                    queue.collect_call(pipe, Mode::Hash, self.batch.id, next as u64, &numbers);
                });
                if !is_lost {
                    state.reader.dropped = next as u8;
                }
            }
            _ => unreachable!("no reader does {step:?}"),
        }
        Ok(())
    }

    /// Sends what no other client's commands can come between.
    fn call(&self, data: &mut Data, build: impl FnOnce(&Queue, &mut Pipeline)) -> Vec<Value> {
        let mut pipe = Pipeline::new();
        build(&self.queue, &mut pipe);
        assert!(pipe.is_transaction() || pipe.len() == 1, "several commands that are no transaction");
        commands(&pipe).iter().map(|args| self.interpreter.command(data, args)).collect()
    }

    /// Notes what was counted, by what the step recorded.
    fn count(&self, before: &State, after: &mut State) -> Result<(), String> {
        let recorded = |data: &Data| data.number(&self.record, "recorded");
        if recorded(&after.data) == recorded(&before.data) || self.is_cancelled(&after.data) {
            return Ok(());
        }
        for chunk in 0..self.chunks.len() as u8 {
            let open = |data: &Data| self.places(data, chunk) > 0;
            if open(&before.data) && !open(&after.data) {
                let Some(outcome) = after.data.field(&self.result, &chunk.to_string()) else {
                    return Err(format!("chunk {chunk} left the queue without outcomes"));
                };
                after.counted[usize::from(chunk)] = Some(outcome[0] - b'0');
            }
        }
        Ok(())
    }

    fn is_cancelled(&self, data: &Data) -> bool {
        data.field(&self.record, "cancelled_ms").is_some()
    }

    /// How often a chunk stands in the stream and in the backlog.
    fn places(&self, data: &Data, chunk: u8) -> usize {
        let waiting =
            data.lists.values().flatten().filter(|item| item.starts_with(format!("{chunk} ").as_bytes()));
        waiting.count() + data.stream.keys().filter(|&&entry| chunk_of(data, entry) == chunk).count()
    }

    /// What must be so at every moment.
    fn check(&self, state: &State) -> Result<(), String> {
        let data = &state.data;
        if let Some(entry) = data.pending.keys().find(|entry| !data.stream.contains_key(entry)) {
            return Err(format!("entry {entry} is pending and exists no more"));
        }
        let is_there = data.hashes.contains_key(self.record.as_bytes());
        let number = |field| data.number(&self.record, field);
        let (submitted, claimed, recorded) = (number("submitted"), number("claimed"), number("recorded"));
        let field = depth_field(self.stream);
        let depth = |what| data.number(&self.depth, &format!("{field}:{what}"));
        if (depth("waiting"), depth("running")) != (submitted - claimed, claimed - recorded) {
            return Err(format!(
                "{submitted} submitted, {claimed} claimed, {recorded} recorded, and yet {} waiting and {} running",
                depth("waiting"),
                depth("running")
            ));
        }
        let outcomes: i64 = OutcomeKind::ALL.iter().map(|kind| number(kind.name())).sum();
        if !(recorded == outcomes && recorded <= claimed && claimed <= submitted) {
            return Err(format!("{submitted} >= {claimed} >= {recorded} = {outcomes} does not hold"));
        }
        if state.counted.contains(&Some(LACKING)) {
            return Err("a chunk was counted as failed for want of its payload".to_owned());
        }
        for (chunk, (handed, counted)) in state.reader.handed.iter().zip(&state.counted).enumerate() {
            if (*handed != CANCELLED).then_some(*handed) != *counted {
                return Err(format!("chunk {chunk} was handed out as {handed} and counted as {counted:?}"));
            }
        }
        if is_there {
            self.check_counters(state)?;
            if !self.is_cancelled(data) {
                return self.check_chunks(state);
            }
        }
        if is_there || data.sorted.contains_key(self.queue.keys().batches(0).as_bytes()) {
            return Ok(());
        }
        // Swept, or never there: no key may be left, for nobody would look for it again.
        let is_depth = |key: &[u8]| key == self.depth.as_bytes();
        let mut left = data
            .hashes
            .keys()
            .filter(|key| !is_depth(key.as_ref()))
            .chain(data.lists.keys())
            .chain(data.sorted.keys());
        match left.next() {
            Some(key) => Err(format!("{} has no owner", String::from_utf8_lossy(key))),
            None => Ok(()),
        }
    }

    /// A finished batch needs no payload and has no backlog, and how it ended does not change.
    fn check_finished(&self, before: &State, after: &State) -> Result<(), String> {
        let finished = |state: &State| state.data.field(&self.record, "finished_ms").is_some();
        if finished(after) {
            let keys = self.queue.keys();
            for key in [&self.payload, &keys.backlog(self.batch.id)] {
                if after.data.exists(key.as_bytes()) {
                    return Err(format!("the batch is finished, and there is {key}"));
                }
            }
        }
        let end = |state: &State| {
            let kinds = OutcomeKind::ALL.iter().map(|kind| kind.name());
            kinds
                .chain(["cancelled_ms"])
                .map(|field| state.data.number(&self.record, field))
                .collect::<Vec<_>>()
        };
        if finished(before) && finished(after) && end(before) != end(after) {
            return Err(format!("the batch was finished with {:?}, and now {:?}", end(before), end(after)));
        }
        Ok(())
    }

    /// The counters say what was counted.
    fn check_counters(&self, state: &State) -> Result<(), String> {
        for (outcome, kind) in (0..).zip(COUNTED) {
            let chunks =
                self.refs.iter().zip(&state.counted).filter(|(_, counted)| **counted == Some(outcome));
            let jobs: i64 = chunks.map(|(chunk, _)| i64::from(chunk.jobs)).sum();
            let told = state.data.number(&self.record, kind.name());
            if told != jobs {
                return Err(format!("{jobs} jobs were recorded as {}, the counter says {told}", kind.name()));
            }
        }
        Ok(())
    }

    /// Every accepted chunk is in one place, with all that belongs there.
    fn check_chunks(&self, state: &State) -> Result<(), String> {
        let data = &state.data;
        let number = |field| data.number(&self.record, field) as usize;
        let (accepted, collected) = (number("chunks"), number("collected"));
        for (chunk, &counted) in state.counted.iter().enumerate() {
            let name = chunk.to_string();
            let places = self.places(data, chunk as u8);
            let has_payload = data.field(&self.payload, &name).is_some();
            let result = data.field(&self.result, &name);
            let needs_payload = self.scenario.chunks[chunk].1 == Travels::ByItself;
            let wrong = if chunk >= accepted {
                places > 0 || has_payload || result.is_some()
            } else if let Some(counted) = counted {
                let outcome = result.map(|result| result[0] - b'0');
                let is_kept =
                    outcome == Some(counted) || outcome.is_none() && chunk < state.reader.handed.len();
                places > 0 || has_payload || !is_kept || result.is_some() && chunk < collected
            } else {
                places != 1 || has_payload != needs_payload || result.is_some()
            };
            if wrong {
                return Err(format!(
                    "chunk {chunk} of {accepted} (counted {counted:?}, {collected} collected) stands in {places} places, \
                     {} payload, result {result:?}",
                    if has_payload { "with a" } else { "without" }
                ));
            }
        }
        Ok(())
    }

    /// Whether this is how it should end: all is over, and nothing is left.
    pub(super) fn is_clean(&self, state: &State) -> bool {
        let data = &state.data;
        let is_over = if self.scenario.expire {
            data.hashes.keys().all(|key| **key == *self.depth.as_bytes())
        } else {
            let is_finished = data.field(&self.record, "finished_ms").is_some();
            is_finished && !data.hashes.contains_key(self.payload.as_bytes())
        };
        is_over
            && data.stream.is_empty()
            && data.pending.is_empty()
            && data.lists.is_empty()
            && state.producer.has_opened
            && state.reader.has_ended
    }

    /// A state for people.
    pub(super) fn describe(&self, state: &State) -> String {
        let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace('\n', " ");
        let join = |items: Vec<String>| items.join(" ");
        let hashes = state.data.hashes.iter().map(|(key, hash)| {
            let fields = hash.iter().map(|(field, value)| format!("{}={}", show(field), show(value)));
            format!("  {}: {}\n", show(key), join(fields.collect()))
        });
        let lists = state.data.lists.iter().map(|(key, list)| {
            format!(
                "  {}: {}\n",
                show(key),
                join(list.iter().map(|item| format!("[{}]", show(item))).collect())
            )
        });
        let entries = state.data.stream.iter().map(|(entry, fields)| {
            let owner = state.data.pending.get(entry).map_or("nobody".to_owned(), |owner| show(owner));
            format!(
                "  entry {entry} of {owner}: {}\n",
                join(fields.iter().map(|field| show(field)).collect())
            )
        });
        hashes.chain(lists).chain(entries).collect()
    }
}

/// The number of the chunk that an entry stands for.
fn chunk_of(data: &Data, entry: u64) -> u8 {
    let fields = &data.stream[&entry];
    let number = fields.chunks(2).find(|pair| *pair[0] == *b"n").map(|pair| &pair[1]);
    std::str::from_utf8(number.unwrap()).unwrap().parse().unwrap()
}
