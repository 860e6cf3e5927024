//! The last five minutes, a reading a second, in this process's memory. What came before its start it does not know.

use std::collections::VecDeque;

use puzzled_solver::OutcomeKind;

/// How far back, in ms.
pub(crate) const SPAN_MS: u64 = 300_000;

/// Most readings kept, should they ever come faster than once a second.
const SAMPLES_MAX: usize = 400;

/// Jobs by outcome, in the order of [`OutcomeKind::ALL`].
pub(crate) type Counts = [u64; OutcomeKind::ALL.len()];

/// What one reading showed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Sample {
    /// When, ms since 1970 by this machine's clock.
    pub(crate) at_ms: u64,
    /// Jobs finished a second; `None` until two readings can be compared.
    pub(crate) rate: Option<f64>,
    pub(crate) waiting: u64,
    pub(crate) running: u64,
    pub(crate) oldest_ms: u64,
    /// Share of all solver threads that were solving, 0 to 1; `None` without threads.
    pub(crate) busy: Option<f64>,
    /// Jobs finished since the reading before.
    pub(crate) finished: Counts,
}

/// Readings, oldest first. A reading that failed is not there: a gap.
#[derive(Clone, Default, Debug)]
pub(crate) struct History(VecDeque<Sample>);

impl History {
    /// Adds a reading. When the clock was turned back, what then lies ahead of it is forgotten.
    pub(crate) fn push(&mut self, sample: Sample) {
        while self.0.back().is_some_and(|last| last.at_ms >= sample.at_ms) {
            self.0.pop_back();
        }
        self.0.push_back(sample);
        let is_old = |first: &Sample| first.at_ms + SPAN_MS < sample.at_ms;
        while self.0.len() > SAMPLES_MAX || self.0.front().is_some_and(is_old) {
            self.0.pop_front();
        }
    }

    /// One figure over time, where it was known.
    pub(crate) fn series<T>(&self, figure: T) -> impl Iterator<Item = (u64, f64)> + Clone
    where
        T: Fn(&Sample) -> Option<f64> + Copy,
    {
        self.0.iter().filter_map(move |sample| Some((sample.at_ms, figure(sample)?)))
    }

    /// Jobs finished in the last `span_ms`, by outcome.
    pub(crate) fn finished(&self, span_ms: u64) -> Counts {
        let mut sums = Counts::default();
        let now_ms = self.0.back().map_or(0, |last| last.at_ms);
        for sample in self.0.iter().filter(|sample| sample.at_ms + span_ms > now_ms) {
            sums.iter_mut().zip(sample.finished).for_each(|(sum, count)| *sum += count);
        }
        sums
    }

    /// Jobs a second, averaged over the last `span_ms`; `None` before there is any.
    pub(crate) fn mean_rate(&self, span_ms: u64) -> Option<f64> {
        let now_ms = self.0.back()?.at_ms;
        let recent = self.0.iter().filter(|sample| sample.at_ms + span_ms > now_ms);
        let rates: Vec<f64> = recent.filter_map(|sample| sample.rate).collect();
        (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_ms: u64, rate: Option<f64>, solved: u64) -> Sample {
        let mut finished = Counts::default();
        finished[0] = solved;
        Sample { at_ms, rate, waiting: 0, running: 0, oldest_ms: 0, busy: None, finished }
    }

    fn times(history: &History) -> Vec<u64> {
        history.series(|_| Some(0.0)).map(|(at_ms, _)| at_ms).collect()
    }

    #[test]
    fn it_keeps_five_minutes_and_forgets_a_clock_that_ran_ahead() {
        let mut history = History::default();
        for at_ms in [1_000, 100_000, 301_001] {
            history.push(sample(at_ms, None, 0));
        }
        assert_eq!(times(&history), [100_000, 301_001]);
        history.push(sample(100_500, None, 0));
        assert_eq!(times(&history), [100_000, 100_500]);
        (0..1_000).for_each(|i| history.push(sample(200_000 + i, None, 0)));
        assert_eq!(times(&history).len(), SAMPLES_MAX);
    }

    #[test]
    fn sums_and_means_are_of_the_span_asked_for() {
        let mut history = History::default();
        assert_eq!(history.mean_rate(60_000), None);
        history.push(sample(1_000, None, 7));
        assert_eq!(history.mean_rate(60_000), None, "nothing to compare with yet");
        history.push(sample(50_000, Some(10.0), 20));
        history.push(sample(70_000, Some(30.0), 60));
        assert_eq!((history.mean_rate(60_000), history.mean_rate(5_000)), (Some(20.0), Some(30.0)));
        assert_eq!((history.finished(60_000)[0], history.finished(200_000)[0]), (80, 87));
    }
}
