//! Looks at batches, with their pace: for everybody who shows some.

use std::sync::Arc;

use puzzled_queue::{BatchId, BatchStatus, Error, Queue};

use crate::pace::Paces;
use crate::snapshot::Batch;

/// The queue, and how fast the batches go that were looked at.
#[derive(Clone)]
pub(crate) struct Looks {
    pub(crate) queue: Queue,
    paces: Arc<Paces>,
}

impl Looks {
    pub(crate) fn new(queue: Queue) -> Self {
        Self { queue, paces: Arc::default() }
    }

    /// One batch.
    pub(crate) async fn batch(&self, id: BatchId) -> Result<Batch, Error> {
        let now_ms = self.queue.server_ms().await?;
        Ok(self.see(&self.queue.status(id).await?, now_ms))
    }

    /// Those whose id or label begins with `text`, newest first; without a text the newest.
    pub(crate) async fn batches(&self, text: &str, count: usize) -> Result<Vec<Batch>, Error> {
        let now_ms = self.queue.server_ms().await?;
        let found = if text.is_empty() {
            self.queue.recent(count).await?
        } else {
            self.queue.search(text, count).await?
        };
        Ok(found.iter().map(|status| self.see(status, now_ms)).collect())
    }

    fn see(&self, status: &BatchStatus, now_ms: u64) -> Batch {
        Batch::new(status, self.paces.see(status, now_ms))
    }
}
