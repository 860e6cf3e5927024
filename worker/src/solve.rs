//! Solving one piece of work on the calling thread: engines, isolation of panics, time limits, verification. No I/O.
//!
//! Chunks of one task are solved side by side. If that fails, for a panic or for lack of time, the jobs it left are
//! solved one at a time, so that a bad one costs itself alone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use bytes::Bytes;
use puzzled_queue::wire::{self, Encoding, PayloadReader};
use puzzled_solver::{Budget, Engine, OutcomeKind, Outcomes, Task};

use crate::pool::{Care, Watched};

/// Engines kept warm by one thread; tasks differ in options, so their number is not bounded by itself.
const ENGINES_MAX: usize = 16;

/// A chunk to solve.
#[derive(Clone, Debug)]
pub struct PoolChunk {
    /// Index of its first job.
    pub first: u64,
    /// Jobs in it.
    pub jobs: u32,
    /// Its payload.
    pub payload: Bytes,
    /// How long it waited to be claimed, in us; stored with its outcomes.
    pub wait_us: u64,
}

/// A solved chunk.
#[derive(Clone, Debug)]
pub struct PoolResult {
    /// Outcomes in their stored form (`wire::encode_result`).
    pub result: Bytes,
    /// Outcomes by kind, in the order of [`OutcomeKind::ALL`].
    pub counts: [u32; OutcomeKind::ALL.len()],
    /// Time on the solver thread, in us.
    pub solve_us: u64,
    /// What was done; `None` if the payload does not say.
    pub task: Option<Task>,
    /// Jobs whose engine panicked.
    pub panics: u32,
}

/// Makes the engine of a task; tests put broken ones here.
pub type EngineFactory = fn(&Task) -> Box<dyn Engine>;

/// Chunks of one task, to be solved side by side.
struct Group<'a> {
    task: &'a Task,
    /// Which chunks, and how they were written.
    places: Vec<(usize, Encoding)>,
    /// Their lines, one chunk after the other.
    lines: Vec<&'a [u8]>,
}

impl Group<'_> {
    /// The number of each line's job, counted through all chunks.
    fn jobs(&self, chunks: &[PoolChunk]) -> Vec<usize> {
        let before = |place| chunks[..place].iter().map(|chunk| chunk.jobs as usize).sum::<usize>();
        (self.places.iter())
            .flat_map(|&(place, _)| (0..chunks[place].jobs as usize).map(move |offset| (place, offset)))
            .map(|(place, offset)| before(place) + offset)
            .collect()
    }
}

/// What is made known of a piece of work besides its chunks.
struct Terms<'a> {
    stop: &'a AtomicBool,
    care: &'a Care,
    watched: &'a Watched<'a>,
}

/// One thread's engines and scratch memory.
pub(crate) struct Bench {
    worker: String,
    factory: EngineFactory,
    engines: Vec<(Task, Box<dyn Engine>)>,
    outcomes: Outcomes,
}

impl Bench {
    pub(crate) fn new(worker: &str, factory: EngineFactory) -> Self {
        Self { worker: worker.to_owned(), factory, engines: Vec::new(), outcomes: Outcomes::new() }
    }

    /// Solves chunks side by side and returns one result each, in order.
    pub(crate) fn solve(
        &mut self,
        chunks: &[PoolChunk],
        stop: &AtomicBool,
        care: &Care,
        watched: &Watched<'_>,
    ) -> Vec<PoolResult> {
        let terms = Terms { stop, care, watched };
        let mut results: Vec<Option<PoolResult>> = vec![None; chunks.len()];
        let read: Vec<_> =
            chunks.iter().map(|chunk| PayloadReader::parse(&chunk.payload, chunk.jobs)).collect();
        let mut groups: Vec<Group<'_>> = Vec::new();
        for (i, (chunk, read)) in chunks.iter().zip(&read).enumerate() {
            match read {
                Ok(read) => match groups.iter_mut().find(|group| *group.task == read.task) {
                    Some(group) => {
                        group.places.push((i, read.encoding));
                        group.lines.extend(read.lines());
                    }
                    None => groups.push(Group {
                        task: &read.task,
                        places: vec![(i, read.encoding)],
                        lines: read.lines().collect(),
                    }),
                },
                Err(error) => {
                    tracing::error!(%error, first = chunk.first, jobs = chunk.jobs, "cannot read a chunk");
                    results[i] = Some(failed_chunk(&self.worker, chunk, &error.to_string()));
                }
            }
        }
        for group in &groups {
            self.solve_group(group, chunks, &terms, &mut results);
        }
        results.into_iter().flatten().collect()
    }

    fn solve_group(
        &mut self,
        group: &Group<'_>,
        chunks: &[PoolChunk],
        terms: &Terms<'_>,
        results: &mut [Option<PoolResult>],
    ) {
        let Group { task, places, lines } = group;
        let started = Instant::now();
        let mut outcomes = std::mem::take(&mut self.outcomes);
        outcomes.clear();
        let mut panicked = Vec::new();
        let mut side_by_side = Err(String::new());
        let mut expired = false;
        if !terms.care.alone {
            (side_by_side, expired) = terms.watched.attempt(task, None, |expired| {
                let budget =
                    Budget { cancel: Some(terms.stop), expired: Some(expired), ..Budget::unlimited() };
                self.attempt(task, lines, &budget, &mut outcomes)
            });
        }
        // One job has had its time to itself already.
        if side_by_side.is_err() || expired && lines.len() > 1 {
            let jobs = group.jobs(chunks);
            let tried = std::mem::take(&mut outcomes);
            for (i, line) in lines.iter().enumerate() {
                if side_by_side.is_ok() && tried.get(i).kind != OutcomeKind::TimedOut {
                    outcomes.push(tried.get(i).kind, tried.get(i).text);
                } else if terms.care.hung.contains(&jobs[i]) {
                    outcomes.push(OutcomeKind::TimedOut, b"");
                } else if let Err(reason) = self.alone(task, jobs[i], line, terms, &mut outcomes) {
                    outcomes.truncate(i);
                    outcomes.push(OutcomeKind::Failed, format!("the solver panicked: {reason}").as_bytes());
                    panicked.push(i);
                    tracing::error!(%task, line = %line.escape_ascii(), reason, "a solver panicked");
                }
            }
        }
        assert_eq!(outcomes.len(), lines.len(), "an engine must give one outcome a puzzle");
        let wrong: Vec<usize> = lines
            .iter()
            .zip(outcomes.iter())
            .enumerate()
            .filter(|(_, (line, o))| !task.verify(line, *o))
            .map(|(i, _)| i)
            .collect();
        if !wrong.is_empty() {
            outcomes = replace_wrong(task, lines, &outcomes, &wrong);
        }
        let elapsed_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);

        let mut start = 0;
        for &(place, encoding) in places {
            let chunk = &chunks[place];
            let end = start + chunk.jobs as usize;
            // Chunks solved together share the time by their jobs.
            let solve_us = elapsed_us * u64::from(chunk.jobs) / lines.len().max(1) as u64;
            let mut counts = [0; OutcomeKind::ALL.len()];
            for i in start..end {
                counts[outcomes.get(i).kind.index()] += 1;
            }
            let facts = wire::Solved {
                first: chunk.first,
                worker: self.worker.clone(),
                wait_us: chunk.wait_us,
                solve_us,
            };
            let panics = panicked.iter().filter(|i| (start..end).contains(i)).count();
            results[place] = Some(PoolResult {
                result: wire::encode_result(&facts, chunk.jobs, outcomes.records(start..end), encoding),
                counts,
                solve_us,
                task: Some((*task).clone()),
                panics: u32::try_from(panics).unwrap_or(u32::MAX),
            });
            start = end;
        }
        self.outcomes = outcomes;
    }

    /// Solves one job by itself.
    fn alone(
        &mut self,
        task: &Task,
        job: usize,
        line: &[u8],
        terms: &Terms<'_>,
        outcomes: &mut Outcomes,
    ) -> Result<(), String> {
        let attempt = terms.watched.attempt(task, Some(job), |expired| {
            let budget = Budget { cancel: Some(terms.stop), expired: Some(expired), ..Budget::unlimited() };
            self.attempt(task, &[line], &budget, outcomes)
        });
        attempt.0
    }

    /// Solves lines with this thread's engine of the task; an engine that panicked is thrown away.
    fn attempt(
        &mut self,
        task: &Task,
        lines: &[&[u8]],
        budget: &Budget<'_>,
        outcomes: &mut Outcomes,
    ) -> Result<(), String> {
        let mut engine = match self.engines.iter().position(|(known, _)| known == task) {
            Some(i) => self.engines.swap_remove(i).1,
            None => (self.factory)(task),
        };
        match catch_unwind(AssertUnwindSafe(|| engine.solve(lines, budget, outcomes))) {
            Ok(()) => {
                if self.engines.len() == ENGINES_MAX {
                    self.engines.remove(0);
                }
                self.engines.push((task.clone(), engine));
                Ok(())
            }
            Err(panic) => Err(panic_text(panic.as_ref())),
        }
    }
}

/// A result that says of every job in a chunk that it failed.
pub(crate) fn failed_chunk(worker: &str, chunk: &PoolChunk, reason: &str) -> PoolResult {
    let mut outcomes = Outcomes::new();
    for _ in 0..chunk.jobs {
        outcomes.push(OutcomeKind::Failed, reason.as_bytes());
    }
    let facts =
        wire::Solved { first: chunk.first, worker: worker.to_owned(), wait_us: chunk.wait_us, solve_us: 0 };
    PoolResult {
        result: wire::encode_result(&facts, chunk.jobs, outcomes.records(0..outcomes.len()), Encoding::Text),
        counts: outcomes.counts(),
        solve_us: 0,
        task: None,
        panics: 0,
    }
}

fn replace_wrong(task: &Task, lines: &[&[u8]], outcomes: &Outcomes, wrong: &[usize]) -> Outcomes {
    let mut checked = Outcomes::new();
    for (i, outcome) in outcomes.iter().enumerate() {
        if wrong.binary_search(&i).is_ok() {
            let answer = outcome.text.escape_ascii().to_string();
            tracing::error!(%task, line = %lines[i].escape_ascii(), answer, "an answer did not verify");
            checked.push(
                OutcomeKind::Failed,
                b"the answer did not pass verification; please report this puzzle",
            );
        } else {
            checked.push(outcome.kind, outcome.text);
        }
    }
    checked
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;

    use puzzled_queue::wire::PayloadWriter;

    use crate::pool::Pool;

    /// Answers every line with itself, wrongly for lines with a `w`, and dies of lines with a `p`.
    struct Fragile;

    impl Engine for Fragile {
        fn solve(&mut self, puzzles: &[&[u8]], _: &Budget<'_>, outcomes: &mut Outcomes) {
            for puzzle in puzzles {
                assert!(!puzzle.contains(&b'p'), "poison");
                let answer: &[u8] = if puzzle.contains(&b'w') { b"wrong" } else { puzzle };
                outcomes.push(OutcomeKind::Solved, answer);
            }
        }
    }

    pub(crate) fn chunk(first: u64, task: &str, lines: &[&str]) -> PoolChunk {
        let mut writer = PayloadWriter::new(&task.parse().unwrap(), Encoding::Packed);
        for line in lines {
            writer.push(|out| out.extend_from_slice(line.as_bytes()));
        }
        let payload = writer.take();
        PoolChunk { first, jobs: payload.jobs, payload: payload.bytes, wait_us: 7 }
    }

    fn solved(pool: &Pool, chunks: &[PoolChunk]) -> Vec<PoolResult> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(pool.solve(chunks.to_vec(), Arc::new(AtomicBool::new(false)))).unwrap()
    }

    pub(crate) fn texts(result: &PoolResult) -> Vec<(OutcomeKind, String)> {
        let (_, outcomes) = wire::decode_result(&result.result).unwrap();
        outcomes.iter().map(|o| (o.kind, String::from_utf8_lossy(o.text).into_owned())).collect()
    }

    #[test]
    fn a_panic_costs_one_job_and_a_wrong_answer_is_not_stored() {
        let pool = Pool::start_with(1, "w", Duration::ZERO, |_| Box::new(Fragile)).unwrap();
        let chunks = [chunk(0, "echo", &["a", "xpx", "b"]), chunk(3, "echo", &["w", "c"])];
        let results = solved(&pool, &chunks);
        let first = texts(&results[0]);
        assert_eq!(first[0], (OutcomeKind::Solved, "a".to_owned()));
        assert_eq!(first[1], (OutcomeKind::Failed, "the solver panicked: poison".to_owned()));
        assert_eq!(first[2], (OutcomeKind::Solved, "b".to_owned()));
        assert_eq!(results[0].panics, 1);
        assert_eq!(results[0].counts[OutcomeKind::Failed.index()], 1);
        let second = texts(&results[1]);
        assert_eq!(second[0].0, OutcomeKind::Failed);
        assert_eq!(second[1], (OutcomeKind::Solved, "c".to_owned()));
        assert_eq!(results[1].panics, 0);
    }

    #[test]
    fn chunks_of_several_tasks_keep_their_order() {
        let pool = Pool::start_with(1, "w", Duration::ZERO, Task::engine).unwrap();
        let grid = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79";
        let chunks = [
            chunk(10, "slide.solve", &["1234567x8"]),
            chunk(20, "sudoku.solve", &[grid, "!too short"]),
            chunk(30, "slide.solve", &["12345678x"]),
        ];
        let results = solved(&pool, &chunks);
        assert_eq!(texts(&results[0]), [(OutcomeKind::Solved, "r".to_owned())]);
        assert_eq!(texts(&results[1])[1], (OutcomeKind::Invalid, "too short".to_owned()));
        assert_eq!(texts(&results[2]), [(OutcomeKind::Solved, String::new())]);
        let (facts, _) = wire::decode_result(&results[1].result).unwrap();
        assert_eq!((facts.first, facts.worker.as_str(), facts.wait_us), (20, "w", 7));
    }

    #[test]
    fn outcomes_are_written_as_their_payload_was() {
        let pool = Pool::start_with(1, "w", Duration::ZERO, Task::engine).unwrap();
        for (encoding, version) in [(Encoding::Text, b"R1"), (Encoding::Packed, b"R2")] {
            let mut writer = PayloadWriter::new(&"echo".parse().unwrap(), encoding);
            (0..600).for_each(|_| writer.push(|out| out.extend_from_slice(b"1.3")));
            let payload = writer.take();
            let chunk = PoolChunk { first: 0, jobs: 600, payload: payload.bytes, wait_us: 0 };
            let results = solved(&pool, &[chunk]);
            assert!(results[0].result.starts_with(version), "{encoding}");
            assert_eq!(texts(&results[0]), vec![(OutcomeKind::Solved, "1.3".to_owned()); 600]);
        }
    }

    #[test]
    fn a_payload_of_another_version_fails_its_jobs_with_the_reason() {
        let pool = Pool::start_with(1, "w", Duration::ZERO, Task::engine).unwrap();
        let strange = PoolChunk { first: 0, jobs: 2, payload: Bytes::from_static(b"P9 x 2\n"), wait_us: 0 };
        let results = solved(&pool, &[strange]);
        let texts = texts(&results[0]);
        assert_eq!(texts.len(), 2);
        assert!(texts.iter().all(|(kind, text)| *kind == OutcomeKind::Failed && text.contains("P9")));
    }
}
