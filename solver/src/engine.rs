//! What every engine looks like from outside: a slice of puzzles in, outcomes out, within a budget.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::outcome::{OutcomeKind, Outcomes};

/// Solves puzzles of one task. One per solver thread and task; it owns all its scratch memory and keeps it between
/// calls, so that a warm engine allocates nothing per puzzle (large sudoku boards and invalid lines excepted).
pub trait Engine: Send {
    /// Solves a whole slice and pushes exactly one outcome per puzzle, in input order; what `outcomes` already held
    /// stays. One puzzle is a slice of one.
    ///
    /// A puzzle is canonical text ([`Task::canonical`](crate::Task::canonical)), but it came over a network, so
    /// nothing is trusted: any other text becomes `Invalid`. Text that begins with `!` was judged by the producer
    /// already and becomes `Invalid` with the rest as its reason.
    ///
    /// Once a flag of the budget is seen, every puzzle not finished becomes `Cancelled` or, where time is up, `TimedOut`
    /// with the best found so far, if the task has such.
    ///
    /// # Panics
    ///
    /// Only on a bug. `outcomes` may then hold any prefix of this call's outcomes: cut it back with
    /// [`Outcomes::truncate`], drop the engine, and solve the puzzles one by one with a new one.
    fn solve(&mut self, puzzles: &[&[u8]], budget: &Budget<'_>, outcomes: &mut Outcomes);
}

/// How much work an engine may put into a call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget<'a> {
    /// Search nodes (guesses; steps that follow by logic alone are free) per puzzle; 0 means no limit. A puzzle that
    /// needs more becomes `TimedOut`. Nodes, unlike time, give the same outcome on every machine for one engine;
    /// different engines need different numbers of them. The exception is a sudoku with more solutions than asked
    /// for, among others: how soon enough of them are found may depend on its neighbours.
    pub nodes: u64,
    /// Looked at between puzzles and between nodes. Set it from any thread; it is never cleared here.
    pub cancel: Option<&'a AtomicBool>,
    /// The same for time: a watchdog sets it when the call has taken as long as it may.
    pub expired: Option<&'a AtomicBool>,
}

impl Budget<'_> {
    /// No limit and no cancel flag.
    pub const fn unlimited() -> Budget<'static> {
        Budget { nodes: 0, cancel: None, expired: None }
    }

    /// Whether to stop at once: a flag is set. The flags order no other memory, so the weakest load will do.
    pub fn stopped(&self) -> bool {
        self.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed)) || self.is_expired()
    }

    fn is_expired(&self) -> bool {
        self.expired.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// What becomes of a puzzle that was not finished when a flag was seen.
    pub(crate) fn unfinished(&self) -> OutcomeKind {
        if self.is_expired() { OutcomeKind::TimedOut } else { OutcomeKind::Cancelled }
    }

    /// The node limit as a number to compare with: unlimited is the largest.
    pub(crate) fn nodes_max(&self) -> u64 {
        if self.nodes == 0 { u64::MAX } else { self.nodes }
    }
}

/// The reason in a line that its producer judged invalid and sent as `!reason`.
pub(crate) fn rejection(puzzle: &[u8]) -> Option<&[u8]> {
    puzzle.strip_prefix(b"!")
}
