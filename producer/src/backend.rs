//! Where chunks go and outcomes come from: the queue, or solver threads in this very process.

use std::future::Future;

use puzzled_queue::{Batch, BatchId, Error, Follow, NewChunk, Opened, Part, Queue};

/// Takes chunks of batches. Two exist: [`Queue`], and the embedded pool that the binary composes.
pub trait Backend: Clone + Send + Sync + 'static {
    /// Reads a batch's outcomes.
    type Results: Results;

    /// As [`Queue::create`].
    fn create(&self, batch: &Batch) -> impl Future<Output = Result<Opened, Error>> + Send;
    /// As [`Queue::enqueue`].
    fn enqueue(
        &self,
        batch: &Batch,
        chunks: &[NewChunk],
        close: bool,
    ) -> impl Future<Output = Result<u64, Error>> + Send;
    /// As [`Queue::cancel`].
    fn cancel(&self, id: BatchId) -> impl Future<Output = Result<u64, Error>> + Send;
    /// As [`Queue::follow`], from the first job.
    fn results(&self, id: BatchId) -> impl Future<Output = Result<Self::Results, Error>> + Send;
}

/// Reads outcomes in input order.
pub trait Results: Send + 'static {
    /// As [`Follow::next_ready`].
    fn next_ready(&mut self) -> impl Future<Output = Result<Option<Part>, Error>> + Send;
    /// As [`Follow::was_missing`]; `false` where asking costs nothing.
    fn was_missing(&self) -> bool;
    /// As [`Follow::wait`].
    fn wait(&mut self) -> impl Future<Output = ()> + Send;
    /// As [`Follow::at_end`].
    fn at_end(&self) -> bool;
    /// Whether somebody cancelled the batch, as far as the last look showed.
    fn is_cancelled(&self) -> bool;
    /// What the batch held when it was last looked at.
    fn held(&self) -> Option<Held>;
    /// As [`Follow::put_away`].
    fn put_away(&mut self, chunk: u64);
    /// As [`Follow::flush`].
    fn flush(&mut self) -> impl Future<Output = Result<(), Error>> + Send;
}

/// What a batch has taken in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    /// Chunks accepted.
    pub chunks: u64,
    /// Whether its input is complete.
    pub closed: bool,
}

impl Backend for Queue {
    type Results = Follow;

    async fn create(&self, batch: &Batch) -> Result<Opened, Error> {
        Queue::create(self, batch).await
    }

    async fn enqueue(&self, batch: &Batch, chunks: &[NewChunk], close: bool) -> Result<u64, Error> {
        Queue::enqueue(self, batch, chunks, close).await
    }

    async fn cancel(&self, id: BatchId) -> Result<u64, Error> {
        Queue::cancel(self, id).await
    }

    async fn results(&self, id: BatchId) -> Result<Follow, Error> {
        self.follow(id, 0).await
    }
}

impl Results for Follow {
    async fn next_ready(&mut self) -> Result<Option<Part>, Error> {
        Follow::next_ready(self).await
    }

    fn was_missing(&self) -> bool {
        Follow::was_missing(self)
    }

    async fn wait(&mut self) {
        Follow::wait(self).await;
    }

    fn at_end(&self) -> bool {
        Follow::at_end(self)
    }

    fn is_cancelled(&self) -> bool {
        self.status().is_some_and(|status| status.cancelled)
    }

    fn held(&self) -> Option<Held> {
        self.fresh_status().map(|status| Held { chunks: status.chunks, closed: status.closed })
    }

    fn put_away(&mut self, chunk: u64) {
        Follow::put_away(self, chunk);
    }

    async fn flush(&mut self) -> Result<(), Error> {
        Follow::flush(self).await
    }
}
