//! The lane engine: many boards side by side, one in each lane of the processor's vectors.

mod block;
mod branch;
#[cfg(target_arch = "aarch64")]
mod neon;
mod search;
mod sweep;
mod vector;
mod widths;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use widths::Width;

use crate::engine::Budget;
use crate::sudoku::{Board, CELLS, End, Verdict};
use search::Job;
use widths::Engine;

/// The engine for slices of 9x9 boards.
pub struct LaneEngine {
    width: Width,
    engine: Box<dyn Engine>,
}

impl Default for LaneEngine {
    fn default() -> Self {
        Self::new()
    }
}

impl LaneEngine {
    /// An engine of the widest vectors the processor has.
    pub fn new() -> Self {
        let width = Width::available()[0];
        Self { width, engine: widths::engine(width) }
    }

    /// An engine of a given width; `None` when this processor lacks it.
    pub fn with_width(width: Width) -> Option<Self> {
        Width::available().contains(&width).then(|| Self { width, engine: widths::engine(width) })
    }

    /// The width in use.
    pub fn width(&self) -> Width {
        self.width
    }

    /// Sweeps, lane-sweeps and branchings since the engine was made.
    pub fn work(&self) -> (u64, u64, u64) {
        self.engine.work()
    }

    /// Counts the solutions of each board up to `limit` and pushes one verdict for each, in order. After the cancel
    /// flag is seen, those not finished are [`End::Cancelled`].
    pub fn solve_many(
        &mut self,
        boards: &[Board],
        limit: u64,
        budget: &Budget<'_>,
        verdicts: &mut Vec<Verdict>,
    ) {
        self.run(boards, limit, budget, verdicts, None);
    }

    /// [`LaneEngine::solve_many`], and hands every solution to `witness` with the index of its board. The order among
    /// the solutions of a board, and among boards, is not promised.
    pub fn solve_each(
        &mut self,
        boards: &[Board],
        limit: u64,
        budget: &Budget<'_>,
        verdicts: &mut Vec<Verdict>,
        witness: &mut dyn FnMut(usize, &[u8; CELLS]),
    ) {
        self.run(boards, limit, budget, verdicts, Some(witness));
    }

    fn run<'a>(
        &mut self,
        boards: &'a [Board],
        limit: u64,
        budget: &'a Budget<'a>,
        verdicts: &'a mut Vec<Verdict>,
        witness: Option<&'a mut (dyn FnMut(usize, &[u8; CELLS]) + 'a)>,
    ) {
        let first = verdicts.len();
        let nothing = Verdict { solutions: 0, end: End::Complete, solution: [0; CELLS] };
        verdicts.resize(first + boards.len(), nothing);
        if limit > 0 {
            let verdicts = &mut verdicts[first..];
            self.engine.run(&mut Job { boards, limit, budget, verdicts, witness });
        }
    }
}
