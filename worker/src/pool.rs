//! The solver threads: one OS thread a core, fed through a bounded channel. Knows nothing of Redis, so that
//! `puzzled solve` without Redis runs the very same pool.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded};
use puzzled_solver::Task;
use tokio::sync::oneshot;

use crate::solve::{Bench, EngineFactory, PoolChunk, PoolResult};

/// Solver threads. Dropping the pool lets them finish what is queued and ends them.
pub struct Pool {
    work: Option<Sender<Work>>,
    threads: Vec<JoinHandle<()>>,
    busy: Arc<AtomicUsize>,
}

struct Work {
    chunks: Vec<PoolChunk>,
    stop: Arc<dyn Stop>,
    reply: oneshot::Sender<Vec<PoolResult>>,
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
    /// Starts the threads. `worker` names them in results.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(threads: usize, worker: &str) -> std::io::Result<Self> {
        Self::start_with(threads, worker, Task::engine)
    }

    /// As [`Pool::start`], with other engines: for tests.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start_with(threads: usize, worker: &str, factory: EngineFactory) -> std::io::Result<Self> {
        // Callers take a permit before they send, so the channel is never full in practice.
        let (sender, receiver) = bounded::<Work>(threads.max(1) * 64);
        let busy = Arc::new(AtomicUsize::new(0));
        let threads = (0..threads.max(1))
            .map(|i| {
                let (receiver, busy, bench) = (receiver.clone(), busy.clone(), Bench::new(worker, factory));
                std::thread::Builder::new()
                    .name(format!("solver-{i}"))
                    .spawn(move || run(&receiver, &busy, bench))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { work: Some(sender), threads, busy })
    }

    /// Solves chunks on one thread, side by side. `None` when the pool is stopping or a bug killed the work.
    pub async fn solve(&self, chunks: Vec<PoolChunk>, stop: Arc<dyn Stop>) -> Option<Vec<PoolResult>> {
        let (reply, answer) = oneshot::channel();
        self.work.as_ref()?.send(Work { chunks, stop, reply }).ok()?;
        answer.await.ok()
    }

    /// Threads at work right now.
    pub fn busy(&self) -> usize {
        self.busy.load(Ordering::Relaxed)
    }

    /// All threads.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.work = None;
        for thread in self.threads.drain(..) {
            // A panic outside the engines has been reported by the panic hook; there is nothing left to save.
            drop(thread.join());
        }
    }
}

fn run(work: &Receiver<Work>, busy: &AtomicUsize, mut bench: Bench) {
    for Work { chunks, stop, reply } in work {
        busy.fetch_add(1, Ordering::Relaxed);
        let results = bench.solve(&chunks, stop.flag());
        busy.fetch_sub(1, Ordering::Relaxed);
        // The asker may have given up (stop now); then its chunks are handed back and solved elsewhere.
        drop(reply.send(results));
    }
}
