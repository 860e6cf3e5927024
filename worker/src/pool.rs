//! The solver threads: one OS thread a core, fed through a bounded channel, and a watchdog over them. Knows nothing of
//! Redis, so that `puzzled solve` without Redis runs the very same pool.
//!
//! ```text
//! solve() --> channel --> solver thread, at its post:  work in hand, job in hand, age --> reply
//!                                ^                          |
//!                                |    a new thread          | the watchdog ages it:
//!                                +-- with the same work <---+   past its limit: the flag that engines look at
//!                                                               and still there: stuck
//! ```
//!
//! No thread can be ended from outside. One that is stuck is left behind with its core, and a new one takes over its
//! post and its work, solved one job at a time from then on, until the job that hangs is known. When as many were left
//! behind as there are posts, the pool is *worn out*: only a new process gets the cores back.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use puzzled_solver::Task;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::solve::{Bench, EngineFactory, PoolChunk, PoolResult};

/// Pause between two looks of the watchdog. Limits are kept to within this.
const LOOK: Duration = Duration::from_millis(20);

/// How long after its limit an engine may take to notice that its time is up. They look every few ms.
const GRACE: Duration = Duration::from_secs(1);

/// Solver threads. They end when the pool is dropped and what is queued is done.
pub struct Pool {
    sender: Sender<Work>,
    crew: Arc<Crew>,
}

/// What solver threads and watchdog share.
struct Crew {
    receiver: Receiver<Work>,
    posts: Vec<Post>,
    worker: String,
    factory: EngineFactory,
    /// Longest time of a job whose task does not say; zero is no limit.
    time_limit: Duration,
    /// Threads left behind that have not come back.
    stuck: AtomicUsize,
    worn_out: CancellationToken,
}

/// A solver thread's place. When the thread is stuck, another one takes the place.
#[derive(Default)]
struct Post {
    hand: Mutex<Hand>,
}

#[derive(Default)]
struct Hand {
    /// Counts the threads that were here; one that finds another number is left behind.
    thread: u64,
    work: Option<Work>,
    /// The attempt at hand.
    attempt: Option<Attempt>,
}

/// Some jobs in an engine.
struct Attempt {
    expired: Arc<AtomicBool>,
    /// The job, if it is alone.
    job: Option<usize>,
    /// Time the watchdog saw it at work. Not the time since it began: nobody works while the machine sleeps.
    age: Duration,
    limit: Duration,
}

struct Work {
    chunks: Arc<[PoolChunk]>,
    stop: Arc<dyn Stop>,
    care: Care,
    reply: oneshot::Sender<Vec<PoolResult>>,
}

/// What is known of work that a thread got stuck with. Jobs are counted through all its chunks.
#[derive(Clone, Default, Debug)]
pub(crate) struct Care {
    /// Solve the jobs one at a time.
    pub(crate) alone: bool,
    /// Jobs not to be tried again.
    pub(crate) hung: BTreeSet<usize>,
}

/// Tells a solver that nobody wants its work any more.
pub trait Stop: Send + Sync {
    /// Set once the work is unwanted.
    fn flag(&self) -> &AtomicBool;
}

impl Stop for puzzled_queue::Interest {
    fn flag(&self) -> &AtomicBool {
        self.stop()
    }
}

impl Stop for AtomicBool {
    fn flag(&self) -> &AtomicBool {
        self
    }
}

impl Pool {
    /// Starts the threads. `worker` names them in results; `time_limit` is how long a job may take unless its task
    /// says otherwise, zero for no limit.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(threads: usize, worker: &str, time_limit: Duration) -> std::io::Result<Self> {
        Self::start_with(threads, worker, time_limit, Task::engine)
    }

    /// As [`Pool::start`], with other engines: for tests.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start_with(
        threads: usize,
        worker: &str,
        time_limit: Duration,
        factory: EngineFactory,
    ) -> std::io::Result<Self> {
        let threads = threads.max(1);
        // Callers take a permit before they send, so the channel is never full in practice.
        let (sender, receiver) = bounded::<Work>(threads * 64);
        let crew = Arc::new(Crew {
            receiver,
            posts: std::iter::repeat_with(Post::default).take(threads).collect(),
            worker: worker.to_owned(),
            factory,
            time_limit,
            stuck: AtomicUsize::new(0),
            worn_out: CancellationToken::new(),
        });
        for post in 0..threads {
            crew.clone().man(post, 0, None)?;
        }
        let watched = Arc::downgrade(&crew);
        std::thread::Builder::new().name("watchdog".to_owned()).spawn(move || watch(&watched))?;
        Ok(Self { sender, crew })
    }

    /// Solves chunks on one thread, side by side. `None` when the pool is stopping or a bug killed the work.
    pub async fn solve(&self, chunks: Vec<PoolChunk>, stop: Arc<dyn Stop>) -> Option<Vec<PoolResult>> {
        let (reply, answer) = oneshot::channel();
        self.sender.send(Work { chunks: chunks.into(), stop, care: Care::default(), reply }).ok()?;
        answer.await.ok()
    }

    /// Threads at work right now.
    pub fn busy(&self) -> usize {
        self.crew.posts.iter().filter(|post| post.hand().work.is_some()).count()
    }

    /// All threads, those left behind not counted.
    pub fn threads(&self) -> usize {
        self.crew.posts.len()
    }

    /// Threads that were left behind and have not come back.
    pub fn stuck(&self) -> usize {
        self.crew.stuck.load(Ordering::Relaxed)
    }

    /// Cancelled when as many threads were left behind as there are posts.
    pub fn worn_out(&self) -> &CancellationToken {
        &self.crew.worn_out
    }
}

impl Post {
    fn hand(&self) -> MutexGuard<'_, Hand> {
        self.hand.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Crew {
    /// Starts a thread at a post, with the work of the one before.
    fn man(self: Arc<Self>, post: usize, thread: u64, work: Option<Work>) -> std::io::Result<()> {
        std::thread::Builder::new()
            .name(format!("solver-{post}"))
            .spawn(move || self.solve(post, thread, work))
            .map(drop)
    }

    /// The life of a solver thread.
    fn solve(&self, post: usize, thread: u64, first: Option<Work>) {
        let post = &self.posts[post];
        let mut bench = Bench::new(&self.worker, self.factory);
        for work in first.into_iter().chain(&self.receiver) {
            // Whoever has the post when it is done has the reply: the work itself stays there.
            let (chunks, stop, care) = (work.chunks.clone(), work.stop.clone(), work.care.clone());
            post.hand().work = Some(work);
            let watched = Watched { crew: self, post, thread };
            // Engines that panic are caught further in. A bug elsewhere must not leave the asker waiting.
            let solve = || bench.solve(&chunks, stop.flag(), &care, &watched);
            let results = catch_unwind(AssertUnwindSafe(solve)).ok();
            let mut hand = post.hand();
            if hand.thread != thread {
                // It was only slow, and somebody else has the work and the post.
                self.stuck.fetch_sub(1, Ordering::Relaxed);
                return;
            }
            hand.attempt = None;
            let work = hand.work.take();
            drop(hand);
            match (work, results) {
                // The asker may have given up (stop now); then its chunks are handed back and solved elsewhere.
                (Some(work), Some(results)) => drop(work.reply.send(results)),
                _ => bench = Bench::new(&self.worker, self.factory),
            }
        }
    }

    /// Ages the attempt at a post by `passed`; puts a new thread there if the old one does not come back.
    fn look(self: &Arc<Self>, post: usize, passed: Duration) {
        let mut hand = self.posts[post].hand();
        let Some(attempt) = &mut hand.attempt else { return };
        attempt.age += passed;
        if attempt.age >= attempt.limit {
            attempt.expired.store(true, Ordering::Relaxed);
        }
        if attempt.age < attempt.limit.saturating_add(GRACE) {
            return;
        }
        let job = attempt.job;
        hand.attempt = None;
        hand.thread += 1;
        let thread = hand.thread;
        let mut work = hand.work.take();
        // Counted while it cannot come back yet, or it would be taken off before.
        let stuck = self.stuck.fetch_add(1, Ordering::Relaxed) + 1;
        drop(hand);
        if let Some(work) = &mut work {
            work.care.alone = true;
            work.care.hung.extend(job);
            tracing::error!(
                post,
                job = job.and_then(|job| line_of(&work.chunks, job)),
                "a solver thread is stuck: left behind, another one goes on"
            );
        }
        if let Err(error) = self.clone().man(post, thread, work) {
            tracing::error!(post, %error, "no new thread for the one that is stuck");
        }
        if stuck >= self.posts.len() {
            self.worn_out.cancel();
        }
    }
}

/// A job as people know it.
fn line_of(chunks: &[PoolChunk], job: usize) -> Option<String> {
    let mut before = 0;
    let chunk = chunks.iter().find(|chunk| {
        before += chunk.jobs as usize;
        job < before
    })?;
    let place = job + chunk.jobs as usize - before;
    let read = puzzled_queue::wire::PayloadReader::parse(&chunk.payload, chunk.jobs).ok()?;
    Some(format!("{} {}", read.task, read.line(place)?.escape_ascii()))
}

/// The watchdog's round, for as long as there is a pool.
fn watch(crew: &Weak<Crew>) {
    let mut last = Instant::now();
    loop {
        std::thread::sleep(LOOK);
        let Some(crew) = crew.upgrade() else { return };
        let passed = last.elapsed().min(2 * LOOK);
        last = Instant::now();
        for post in 0..crew.posts.len() {
            crew.look(post, passed);
        }
    }
}

/// A solver thread at its post, as what it runs sees it.
pub(crate) struct Watched<'a> {
    crew: &'a Crew,
    post: &'a Post,
    thread: u64,
}

impl Watched<'_> {
    /// Runs an attempt under the watchdog, for as long as the task says; tells whether its time ran out. `job` is the
    /// one that is tried alone.
    pub(crate) fn attempt<T>(
        &self,
        task: &Task,
        job: Option<usize>,
        run: impl FnOnce(&AtomicBool) -> T,
    ) -> (T, bool) {
        let expired = Arc::new(AtomicBool::new(false));
        let limit = task.time_limit().unwrap_or(self.crew.time_limit);
        if !limit.is_zero() {
            self.enter(Some(Attempt { expired: expired.clone(), job, age: Duration::ZERO, limit }));
        }
        let result = run(&expired);
        self.enter(None);
        let expired = expired.load(Ordering::Relaxed);
        (result, expired)
    }

    fn enter(&self, attempt: Option<Attempt>) {
        let mut hand = self.post.hand();
        if hand.thread == self.thread {
            hand.attempt = attempt;
        }
    }
}

#[cfg(test)]
mod tests {
    use puzzled_solver::{Budget, Engine, OutcomeKind, Outcomes};

    use super::*;
    use crate::solve::tests::{chunk, texts};

    async fn outcomes(pool: &Pool, chunks: &[PoolChunk]) -> Vec<(OutcomeKind, String)> {
        let stop = Arc::new(AtomicBool::new(false));
        let results = pool.solve(chunks.to_vec(), stop).await.expect("results");
        results.iter().flat_map(texts).collect()
    }

    /// What each of these words comes to.
    fn expected(words: &[&str]) -> Vec<(OutcomeKind, String)> {
        let is_solved = |word: &str| !matches!(word, "slow" | "hang");
        words
            .iter()
            .map(|&word| match is_solved(word) {
                true => (OutcomeKind::Solved, word.to_owned()),
                false => (OutcomeKind::TimedOut, String::new()),
            })
            .collect()
    }

    #[tokio::test]
    async fn a_job_out_of_time_costs_itself_alone() {
        let pool = Pool::start(1, "w", Duration::ZERO).unwrap();
        let words = ["a", "slow", "b", "c", "slow"];
        let task = "echo.fault:time_ms=60";
        let chunks = [chunk(0, task, &words[..2]), chunk(2, "echo", &["x"]), chunk(3, task, &words[2..])];
        let mut found = outcomes(&pool, &chunks).await;
        assert_eq!(found.remove(2), (OutcomeKind::Solved, "x".to_owned()));
        assert_eq!((found, pool.stuck()), (expected(&words), 0));
    }

    /// Breaks the promise of one outcome a puzzle, which is a bug outside the engine's own care.
    struct Mute;

    impl Engine for Mute {
        fn solve(&mut self, _: &[&[u8]], _: &Budget<'_>, _: &mut Outcomes) {}
    }

    #[tokio::test]
    async fn a_bug_around_the_engine_ends_the_work_and_not_the_thread() {
        let pool = Pool::start_with(1, "w", Duration::ZERO, |task| match task.to_string().as_str() {
            "echo" => task.engine(),
            _ => Box::new(Mute),
        });
        let pool = pool.unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        assert!(pool.solve(vec![chunk(0, "echo.fault", &["a"])], stop).await.is_none());
        assert_eq!(outcomes(&pool, &[chunk(0, "echo", &["b"])]).await, expected(&["b"]));
        assert_eq!((pool.busy(), pool.stuck()), (0, 0));
    }

    #[tokio::test]
    async fn the_limit_of_the_pool_is_for_tasks_without_their_own() {
        let pool = Pool::start(1, "w", Duration::from_millis(60)).unwrap();
        let found = outcomes(&pool, &[chunk(0, "echo.fault", &["slow"])]).await;
        assert_eq!(found, expected(&["slow"]));
    }

    #[tokio::test]
    async fn a_job_that_hangs_costs_a_thread_and_no_outcome() {
        let pool = Pool::start(3, "w", Duration::ZERO).unwrap();
        // Of another task and in front, so that jobs must be counted through all chunks.
        let words = ["a", "hang", "b"];
        let chunks = [chunk(0, "echo", &["x", "y"]), chunk(2, "echo.fault:time_ms=60", &words)];
        let found = outcomes(&pool, &chunks).await;
        assert_eq!(found[2..], expected(&words));
        // Once among the others, and once alone.
        assert_eq!((pool.stuck(), pool.worn_out().is_cancelled()), (2, false));
        assert_eq!((pool.threads(), pool.busy()), (3, 0));
        assert_eq!(outcomes(&pool, &[chunk(0, "echo.fault", &["on"])]).await, expected(&["on"]));
        let found = outcomes(&pool, &[chunk(0, "echo.fault:time_ms=60", &["hang"])]).await;
        assert_eq!(found, expected(&["hang"]));
        assert!(pool.worn_out().is_cancelled());
    }
}
