//! The embedded mode: the worker's own solver threads behind the producer's own loop, in one process and without
//! Redis. What is lost with this process is lost.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use puzzled_producer::{Backend, Held, Results};
use puzzled_queue::wire::decode_result;
use puzzled_queue::{Batch, BatchId, Error, NewChunk, Opened, Part};
use puzzled_worker::{Pool, PoolChunk, PoolResult};
use tokio::sync::{Notify, Semaphore, oneshot};

/// Solver threads that take one batch.
#[derive(Clone)]
pub(crate) struct Embedded {
    inner: Arc<Inner>,
}

struct Inner {
    pool: Pool,
    /// A permit is taken before work goes to the pool, whose channel would else block this runtime.
    permits: Semaphore,
    stop: Arc<AtomicBool>,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    chunks: u64,
    jobs: u64,
    closed: bool,
    /// Chunks whose outcomes nobody has taken yet, in order.
    solving: VecDeque<oneshot::Receiver<Option<PoolResult>>>,
}

impl Embedded {
    /// Starts the threads.
    pub(crate) fn start(config: &puzzled_worker::Config) -> std::io::Result<Self> {
        let pool = Pool::start(config.thread_count(), "embedded", config.time_limit())?;
        let permits = Semaphore::new(pool.threads() * 2);
        let (stop, state, changed) = (Arc::default(), Mutex::default(), Notify::new());
        Ok(Self { inner: Arc::new(Inner { pool, permits, stop, state, changed }) })
    }

    /// How many threads solve.
    pub(crate) fn threads(&self) -> usize {
        self.inner.pool.threads()
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    async fn solve(self: Arc<Self>, work: PoolChunk, reply: oneshot::Sender<Option<PoolResult>>) {
        let permit = self.permits.acquire().await;
        let results = self.pool.solve(vec![work], self.stop.clone()).await;
        drop(permit);
        // Nobody to tell when the run has ended early.
        drop(reply.send(results.and_then(|mut results| results.pop())));
        self.changed.notify_one();
    }
}

impl Backend for Embedded {
    type Results = Outbox;

    async fn create(&self, _: &Batch) -> Result<Opened, Error> {
        Ok(Opened::New)
    }

    async fn enqueue(&self, batch: &Batch, chunks: &[NewChunk], close: bool) -> Result<u64, Error> {
        let mut state = self.inner.state();
        for chunk in chunks.iter().filter(|chunk| chunk.number >= state.chunks).collect::<Vec<_>>() {
            if chunk.number > state.chunks {
                return Err(Error::Gap { id: batch.id, expected: state.chunks });
            }
            let work = PoolChunk {
                first: state.jobs,
                jobs: chunk.payload.jobs,
                payload: chunk.payload.bytes.clone(),
                wait_us: 0,
            };
            let (reply, answer) = oneshot::channel();
            state.solving.push_back(answer);
            tokio::spawn(self.inner.clone().solve(work, reply));
            state.chunks += 1;
            state.jobs += u64::from(chunk.payload.jobs);
        }
        state.closed |= close;
        self.inner.changed.notify_one();
        Ok(state.chunks)
    }

    async fn cancel(&self, _: BatchId) -> Result<u64, Error> {
        self.inner.stop.store(true, Ordering::Relaxed);
        Ok(0)
    }

    async fn results(&self, _: BatchId) -> Result<Outbox, Error> {
        Ok(Outbox { inner: self.inner.clone(), next: 0 })
    }
}

/// Outcomes in order.
pub(crate) struct Outbox {
    inner: Arc<Inner>,
    next: u64,
}

impl Results for Outbox {
    async fn next_ready(&mut self) -> Result<Option<Part>, Error> {
        let result = {
            let mut state = self.inner.state();
            let Some(front) = state.solving.front_mut() else { return Ok(None) };
            let result = match front.try_recv() {
                Err(oneshot::error::TryRecvError::Empty) => return Ok(None),
                result => result.ok().flatten(),
            };
            state.solving.pop_front();
            result.ok_or_else(|| Error::Malformed("a solver thread ended early".to_owned()))?
        };
        let (facts, outcomes) = decode_result(&result.result)?;
        self.next += 1;
        Ok(Some(Part { chunk: self.next - 1, first: facts.first, outcomes, facts: Some(facts) }))
    }

    fn was_missing(&self) -> bool {
        false
    }

    async fn wait(&mut self) {
        self.inner.changed.notified().await;
    }

    fn at_end(&self) -> bool {
        let state = self.inner.state();
        state.closed && self.next == state.chunks
    }

    fn is_cancelled(&self) -> bool {
        // Nobody else can reach it.
        false
    }

    fn held(&self) -> Option<Held> {
        let state = self.inner.state();
        Some(Held { chunks: state.chunks, closed: state.closed })
    }

    fn put_away(&mut self, _: u64) {}

    async fn flush(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
