//! What a job of each task costs here: a moving average, told to the queue so that producers cut chunks by it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use puzzled_solver::Task;

/// Averages by [`Task::cost_key`] since the last telling, and those before.
#[derive(Debug, Default)]
pub(crate) struct Costs(Mutex<HashMap<String, Cost>>);

#[derive(Debug)]
struct Cost {
    /// Seconds a job.
    mean: f64,
    told: bool,
}

/// Tasks remembered at most: options are many, and what is forgotten is measured again.
const TASKS_MAX: usize = 64;

impl Costs {
    /// Notes that so many jobs of a task took that long on one thread.
    pub(crate) fn observe(&self, task: &Task, jobs: u64, elapsed: Duration) {
        // A tenth of each new value: a few dozen chunks settle it, and one odd chunk does not upset it.
        const WEIGHT: f64 = 0.1;
        if jobs == 0 {
            return;
        }
        let seconds = elapsed.as_secs_f64() / jobs as f64;
        let mut costs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = task.cost_key();
        if costs.len() >= TASKS_MAX && !costs.contains_key(&key) {
            costs.clear();
        }
        let cost = costs.entry(key).or_insert(Cost { mean: seconds, told: false });
        cost.mean += WEIGHT * (seconds - cost.mean);
        cost.told = false;
    }

    /// What has changed since the last call.
    pub(crate) fn news(&self) -> Vec<(String, Duration)> {
        let mut costs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let news = costs.iter_mut().filter(|(_, cost)| !cost.told);
        news.map(|(key, cost)| {
            cost.told = true;
            (key.clone(), Duration::from_secs_f64(cost.mean))
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_follows_and_is_told_once() {
        let costs = Costs::default();
        let task: Task = "sudoku.count:limit=5".parse().unwrap();
        costs.observe(&task, 0, Duration::from_secs(1));
        assert_eq!(costs.news(), []);
        costs.observe(&task, 1_000, Duration::from_millis(1));
        assert_eq!(costs.news(), [("sudoku.count:limit=5".to_owned(), Duration::from_micros(1))]);
        assert_eq!(costs.news(), []);
        (0..100).for_each(|_| costs.observe(&task, 10, Duration::from_millis(1)));
        let news = costs.news();
        assert!((95..=100).contains(&news[0].1.as_micros()), "{news:?}");
    }
}
