//! How many chunks to claim at once: what about `claim_ms` of work is, from what was measured.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use puzzled_solver::Kind;

/// Most chunks of one claim: bounds memory and the time Redis spends on one command.
const CHUNKS_MAX: usize = 256;

/// A moving average of what a chunk of each kind costs.
#[derive(Debug)]
pub(crate) struct Pace {
    target: Duration,
    chunk_seconds: Mutex<[Option<f64>; Kind::ALL.len()]>,
}

impl Pace {
    pub(crate) fn new(target: Duration) -> Self {
        Self { target, chunk_seconds: Mutex::default() }
    }

    /// Notes that `chunks` chunks of a kind were solved in `elapsed` on one thread.
    pub(crate) fn observe(&self, kind: Kind, chunks: usize, elapsed: Duration) {
        // A quarter of each new value: settles within a few claims, and one odd chunk does not upset it.
        const WEIGHT: f64 = 0.25;
        let seconds = elapsed.as_secs_f64() / chunks.max(1) as f64;
        let mut table = self.chunk_seconds.lock().unwrap_or_else(PoisonError::into_inner);
        let mean = &mut table[place(kind)];
        *mean = Some(mean.map_or(seconds, |mean| mean + WEIGHT * (seconds - mean)));
    }

    /// Chunks to claim at once; one while nothing is known.
    pub(crate) fn chunks(&self, kind: Kind) -> usize {
        let table = self.chunk_seconds.lock().unwrap_or_else(PoisonError::into_inner);
        match table[place(kind)] {
            None => 1,
            Some(mean) => ((self.target.as_secs_f64() / mean.max(1e-9)) as usize).clamp(1, CHUNKS_MAX),
        }
    }
}

fn place(kind: Kind) -> usize {
    Kind::ALL.iter().position(|&k| k == kind).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cheap_chunks_travel_in_numbers_and_dear_ones_alone() {
        let pace = Pace::new(Duration::from_millis(10));
        assert_eq!(pace.chunks(Kind::Sudoku), 1);
        for _ in 0..50 {
            pace.observe(Kind::Sudoku, 1, Duration::from_micros(100));
            pace.observe(Kind::Slide, 1, Duration::from_secs(3));
        }
        assert!((90..=101).contains(&pace.chunks(Kind::Sudoku)));
        assert_eq!(pace.chunks(Kind::Slide), 1);
        for _ in 0..50 {
            pace.observe(Kind::Sudoku, 256, Duration::from_nanos(1));
        }
        assert_eq!(pace.chunks(Kind::Sudoku), CHUNKS_MAX);
    }
}
