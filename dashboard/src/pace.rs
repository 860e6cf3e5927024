//! How fast batches go: what they recorded in the last half minute that somebody looked.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use puzzled_queue::{BatchId, BatchStatus};

/// How far back a pace goes, and after how long without a look a batch is forgotten, in ms.
const SPAN_MS: u64 = 30_000;

/// A shorter view than this says nothing: chunks are recorded at once, and batches take turns. In ms.
const SHORTEST_MS: u64 = 5_000;

/// Looks less far apart than this are one, in ms.
const APART_MS: u64 = 500;

/// When somebody looked, and the jobs recorded then.
type Look = (u64, u64);

/// The paces of all batches somebody looks at.
#[derive(Default)]
pub(crate) struct Paces(Mutex<HashMap<BatchId, VecDeque<Look>>>);

impl Paces {
    /// Takes note of a batch as it was at `now_ms` by Redis's clock, and gives its jobs a second: as seen, or else the mean since
    /// it was opened. 0 when it moves no more.
    pub(crate) fn see(&self, status: &BatchStatus, now_ms: u64) -> f64 {
        if status.finished() || status.cancelled {
            return 0.0;
        }
        let rate = |jobs: u64, ms: u64| jobs as f64 * 1000.0 / ms.max(1) as f64;
        let mean = rate(status.recorded, now_ms.saturating_sub(status.created_ms));
        let mut paces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        paces.retain(|_, looks| looks.back().is_some_and(|(at_ms, _)| at_ms + SPAN_MS > now_ms));
        let looks = paces.entry(status.id).or_default();
        if looks.back().is_none_or(|(at_ms, _)| at_ms + APART_MS <= now_ms) {
            looks.push_back((now_ms, status.recorded));
        }
        while looks.len() > 1 && looks.front().is_some_and(|(at_ms, _)| at_ms + SPAN_MS < now_ms) {
            looks.pop_front();
        }
        match looks.front() {
            Some((at_ms, recorded)) if at_ms + SHORTEST_MS <= now_ms => {
                rate(status.recorded.saturating_sub(*recorded), now_ms - at_ms)
            }
            _ => mean,
        }
    }
}

/// Milliseconds until a batch is done at this pace; `None` when it is done, has no pace, or more may still be submitted.
pub(crate) fn left_ms(status: &BatchStatus, rate: f64) -> Option<u64> {
    let left = status.waiting() + status.running();
    (left > 0 && rate > 0.0 && status.closed && !status.cancelled)
        .then(|| (left as f64 * 1000.0 / rate) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(recorded: u64) -> BatchStatus {
        BatchStatus {
            id: "01997e60-5bd0-7cc1-8d1e-3b1f0a2c4d5e".parse().unwrap(),
            task: "echo".parse().unwrap(),
            priority: Default::default(),
            label: String::new(),
            submitted: 1_000,
            chunks: 1,
            claimed: 1_000,
            recorded,
            outcomes: [0; 7],
            closed: true,
            cancelled: false,
            collected: 0,
            keep: false,
            created_ms: 10_000,
            finished_ms: 0,
        }
    }

    #[test]
    fn a_pace_is_the_mean_at_first_and_then_what_is_seen() {
        let paces = Paces::default();
        assert_eq!(paces.see(&status(100), 20_000), 10.0);
        assert_eq!(paces.see(&status(110), 21_000), 10.0, "too soon to tell");
        assert_eq!(paces.see(&status(600), 25_000), 100.0);
        assert_eq!(paces.see(&status(600), 40_000), 25.0, "it stalls");
        assert_eq!(paces.see(&status(600), 56_000), 0.0, "what is longer ago does not count");
        assert_eq!(paces.see(&status(700), 200_000), 700.0 / 190.0, "forgotten meanwhile");
        assert_eq!(paces.see(&BatchStatus { finished_ms: 1, ..status(1_000) }, 201_000), 0.0);
        assert_eq!(left_ms(&status(200), 80.0), Some(10_000));
        assert_eq!(left_ms(&BatchStatus { closed: false, ..status(200) }, 80.0), None);
        assert_eq!(left_ms(&status(1_000), 80.0), None);
    }
}
