//! Puzzles as wanted: digs, looks at what came out, and tries again until it fits.
//!
//! Every try of a job has a grid and an order of digging of its own, settled by seed, number and try alone. The tries
//! of a job are judged in their order, so the puzzle of a number is the one of its first try that fits, whoever is dug
//! beside it. As tries of distinct numbers have distinct grids, puzzles of distinct numbers are distinct.

use std::ops::Range;

use super::dig::{Dig, Digger};
use super::shuffle::{Random, Shuffle};
use super::wanted::{PuzzleWanted, Wanted};
use crate::engine::Budget;
use crate::sudoku::{self, Board, CELLS, Rater};

/// Puzzles dug side by side: enough to fill the widest lanes while some are done before others.
const WAVE: usize = 1024;

/// The end of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// A puzzle as wanted.
    Found([u8; CELLS]),
    /// The nearest to it of all tries.
    Nearest([u8; CELLS]),
    /// A flag of the budget was seen. The nearest to it so far, if there is one.
    Stopped(Option<[u8; CELLS]>),
}

/// One thread's puzzles.
pub(super) struct Puzzles {
    wanted: PuzzleWanted,
    seed: u64,
    shuffle: Shuffle,
    digger: Digger,
    rater: Rater,
}

/// A number on its way to a puzzle.
struct Job {
    index: usize,
    number: u64,
    tries: u64,
    /// How far the nearest one is off, and what it is.
    nearest: Option<(Distance, [u8; CELLS])>,
}

impl Job {
    /// Tries to take side by side: one at first, and twice as many in all each time, up to `most` at once.
    fn next_tries(&self, most: u64, tries_max: u64) -> Range<u64> {
        self.tries..tries_max.min(self.tries + self.tries.clamp(1, most))
    }
}

/// How far a puzzle is from what is wanted: clues too many or too few, whether a clue is needless, tenths of difficulty.
/// Compared in this order.
type Distance = (usize, bool, u8);

impl Puzzles {
    pub(super) fn new(wanted: &Wanted, puzzle: &PuzzleWanted) -> Self {
        Self {
            wanted: puzzle.clone(),
            seed: wanted.seed,
            shuffle: Shuffle::new(wanted.seed, wanted.corner),
            digger: Digger::new(puzzle.symmetry),
            rater: Rater::new(),
        }
    }

    /// One end for each number, in order.
    pub(super) fn make(&mut self, numbers: &[u64], budget: &Budget<'_>) -> Vec<End> {
        let mut ends = vec![End::Stopped(None); numbers.len()];
        let mut jobs: Vec<Job> = (numbers.iter().enumerate())
            .map(|(index, &number)| Job { index, number, tries: 0, nearest: None })
            .collect();
        while !jobs.is_empty() {
            let wave = jobs.len().min(WAVE);
            let most = (WAVE / wave) as u64;
            let mut digs = Vec::with_capacity(WAVE);
            for job in &jobs[..wave] {
                digs.extend(
                    (job.next_tries(most, self.wanted.tries)).map(|try_| self.begin(job.number, try_)),
                );
            }
            if !self.digger.finish(&mut digs, budget) {
                break;
            }
            let Some(distances) = self.distances(&digs, budget) else { break };
            let mut results = digs.iter().zip(distances);
            for job in &mut jobs[..wave] {
                let tries = job.next_tries(most, self.wanted.tries);
                for (dig, distance) in results.by_ref().take((tries.end - tries.start) as usize) {
                    // Of equals, the first one.
                    if job.nearest.is_none_or(|(nearest, _)| distance < nearest) {
                        job.nearest = Some((distance, dig.cells()));
                    }
                }
                job.tries = tries.end;
            }
            jobs.retain(|job| match job.nearest {
                Some(((0, false, 0), cells)) => {
                    ends[job.index] = End::Found(cells);
                    false
                }
                Some((_, cells)) if job.tries == self.wanted.tries => {
                    ends[job.index] = End::Nearest(cells);
                    false
                }
                _ => true,
            });
        }
        for job in jobs {
            ends[job.index] = End::Stopped(job.nearest.map(|(_, cells)| cells));
        }
        ends
    }

    fn begin(&self, number: u64, try_: u64) -> Dig {
        // There are more grids than numbers: each number has some dozens of them, no other's.
        let grids = (self.shuffle.len() >> 64) as u64;
        let place = u128::from(try_ % grids) << 64 | u128::from(number);
        let mut random = Random::of(&[self.seed, number, try_]);
        let (least, most) = (*self.wanted.clues.start(), *self.wanted.clues.end());
        let clues_min = if self.wanted.minimal || least == 0 {
            0
        } else {
            least + random.below((most - least) as u64 + 1) as usize
        };
        self.digger.begin(self.shuffle.grid(place), clues_min, &mut random)
    }

    /// How far each one is off; `None` if a flag of the budget was seen.
    fn distances(&mut self, digs: &[Dig], budget: &Budget<'_>) -> Option<Vec<Distance>> {
        let fits: Vec<bool> = digs.iter().map(|dig| self.wanted.clues.contains(&dig.clues())).collect();
        let needless = if self.wanted.minimal {
            self.digger.needless(digs, &fits, budget)?
        } else {
            vec![false; digs.len()]
        };
        let mut distances = Vec::with_capacity(digs.len());
        for (dig, needless) in digs.iter().zip(needless) {
            let (least, most) = (*self.wanted.clues.start(), *self.wanted.clues.end());
            let clues = least.saturating_sub(dig.clues()) + dig.clues().saturating_sub(most);
            let mut off = 0;
            if let Some(difficulty) = self.wanted.difficulty.as_ref().filter(|_| clues == 0 && !needless) {
                let board = Board::from_cells(dig.cells()).expect("digits");
                let rated = self.rater.rate(&board, &dig.grid, &Budget { nodes: 0, ..*budget });
                if rated.end == sudoku::End::Cancelled {
                    return None;
                }
                let tenths = rated.rating.tenths;
                off = difficulty.start().saturating_sub(tenths) + tenths.saturating_sub(*difficulty.end());
            }
            distances.push((clues, needless, off));
        }
        Some(distances)
    }
}
