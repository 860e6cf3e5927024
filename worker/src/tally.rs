//! What this worker has finished since its start, by task and outcome. It goes into the worker's presence, for people.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use puzzled_solver::OutcomeKind;

/// Jobs of one task, in the order of [`OutcomeKind::ALL`].
type Counts = [u64; OutcomeKind::ALL.len()];

/// Counts by the names of tasks, which are few.
#[derive(Debug, Default)]
pub(crate) struct Tally(Mutex<BTreeMap<String, Counts>>);

impl Tally {
    /// Counts jobs of a task.
    pub(crate) fn add(&self, task: String, counts: &Counts) {
        let mut tally = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (sum, count) in tally.entry(task).or_default().iter_mut().zip(counts) {
            *sum += count;
        }
    }

    /// What was counted so far.
    pub(crate) fn read(&self) -> BTreeMap<String, Vec<u64>> {
        let tally = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tally.iter().map(|(task, counts)| (task.clone(), counts.to_vec())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up_by_task() {
        let tally = Tally::default();
        tally.add("echo".to_owned(), &[1, 0, 0, 0, 0, 0, 2]);
        tally.add("slide.solve".to_owned(), &[0, 5, 0, 0, 0, 0, 0]);
        tally.add("echo".to_owned(), &[3, 0, 0, 0, 0, 0, 0]);
        let expected = [("echo", vec![4, 0, 0, 0, 0, 0, 2]), ("slide.solve", vec![0, 5, 0, 0, 0, 0, 0])];
        assert_eq!(tally.read(), expected.map(|(task, counts)| (task.to_owned(), counts)).into());
    }
}
