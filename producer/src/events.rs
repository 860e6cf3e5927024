//! What a run tells while it runs. How it looks is the caller's affair.

use std::sync::Arc;

use puzzled_queue::{BatchId, Error};

use crate::chunker::BadLine;

/// Something worth telling.
#[derive(Debug)]
pub enum Event<'a> {
    /// An input line is not a puzzle; told a bounded number of times.
    BadLine(&'a BadLine),
    /// There were this many more bad lines; told once, at the end of input.
    MoreBadLines(u64),
    /// Redis fails us; trying again.
    Outage(&'a Error),
    /// Redis answers again.
    OutageOver,
    /// The queue is full: input waits. Told once.
    Full(&'a Error),
    /// Redis lost the last chunks it had confirmed; they were sent again.
    SentAgain,
    /// Redis lost more than could be sent again under the old id: the rest goes on as another batch.
    NewBatch {
        /// The batch that lost its end.
        old: BatchId,
        /// The batch that holds the rest.
        new: BatchId,
    },
    /// How far things are; told often.
    Progress(Progress),
}

/// How far things are.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Progress {
    /// Jobs read from the input.
    pub read: u64,
    /// Jobs expected in all; an estimate until the input is over, 0 = no idea.
    pub expected: u64,
    /// Jobs done: accepted by the queue for `submit`, written for `solve`.
    pub done: u64,
    /// Whether `expected` is exact.
    pub input_over: bool,
}

/// Called from any thread; must not block for long.
pub type Report = Arc<dyn Fn(Event<'_>) + Send + Sync>;
