//! What a demo counts, and how it is told. The last line is for machines as well: `N solved, M verified`.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use puzzled_queue::wire::Solved;
use puzzled_solver::Task;

/// Counts of a run.
#[derive(Debug)]
pub(super) struct Tally {
    kind: &'static str,
    pub(super) puzzles: u64,
    pub(super) solved: u64,
    /// Solved, and found right by the independent checker.
    pub(super) verified: u64,
    pub(super) elapsed: Duration,
    workers: BTreeMap<String, u64>,
    /// Microseconds and how many jobs they stand for.
    waits: Vec<(f64, u64)>,
    solves: Vec<(f64, u64)>,
}

impl Tally {
    pub(super) fn new(task: &Task) -> Self {
        Self {
            kind: task.kind().name(),
            puzzles: 0,
            solved: 0,
            verified: 0,
            elapsed: Duration::ZERO,
            workers: BTreeMap::new(),
            waits: Vec::new(),
            solves: Vec::new(),
        }
    }

    /// Counts a chunk of `jobs` jobs. They are solved side by side, so each stands at the chunk's mean.
    pub(super) fn add(&mut self, facts: &Solved, jobs: u64) {
        *self.workers.entry(facts.worker.clone()).or_default() += jobs;
        self.waits.push((facts.wait_us as f64, jobs));
        self.solves.push((facts.solve_us as f64 / jobs.max(1) as f64, jobs));
    }

    pub(super) fn all_good(&self) -> bool {
        self.verified == self.puzzles
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.elapsed.as_secs_f64().max(1e-6);
        let rate = (self.puzzles as f64 / seconds) as u64;
        writeln!(f, "{} {} puzzles in {seconds:.2} s", grouped(self.puzzles), self.kind)?;
        writeln!(f, "  rate    {}/s, through Redis and back", grouped(rate))?;
        writeln!(f, "  wait    {}, from enqueue to claim", percentiles(&self.waits))?;
        writeln!(f, "  solve   {}, a puzzle on one thread", percentiles(&self.solves))?;
        for (worker, jobs) in &self.workers {
            let share = *jobs as f64 * 100.0 / self.puzzles.max(1) as f64;
            writeln!(f, "  worker  {share:>5.1} %  {:>9}  {worker}", grouped(*jobs))?;
        }
        writeln!(f, "{} solved, {} verified", self.solved, self.verified)
    }
}

fn percentiles(samples: &[(f64, u64)]) -> String {
    let mut sorted = samples.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    format!("p50 {}  p99 {}", duration(percentile(&sorted, 0.5)), duration(percentile(&sorted, 0.99)))
}

/// The value that `share` of all jobs do not exceed.
fn percentile(sorted: &[(f64, u64)], share: f64) -> f64 {
    let all: u64 = sorted.iter().map(|(_, jobs)| jobs).sum();
    let wanted = (all as f64 * share).ceil() as u64;
    let mut below = 0;
    let found = sorted.iter().find(|(_, jobs)| {
        below += jobs;
        below >= wanted
    });
    found.map_or(0.0, |(value, _)| *value)
}

fn duration(us: f64) -> String {
    match us {
        us if us < 1_000.0 => format!("{us:.1} us"),
        us if us < 1_000_000.0 => format!("{:.1} ms", us / 1_000.0),
        us => format!("{:.1} s", us / 1_000_000.0),
    }
}

/// 49151 as 49,151.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_weigh_each_sample_by_its_jobs() {
        let samples = [(1.0, 98), (5.0, 1), (9.0, 1)];
        assert_eq!((percentile(&samples, 0.5), percentile(&samples, 0.99)), (1.0, 5.0));
        assert_eq!(percentile(&[], 0.5), 0.0);
    }

    #[test]
    fn numbers_for_people() {
        for (number, text) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (49_151, "49,151"), (1_234_567, "1,234,567")]
        {
            assert_eq!(grouped(number), text);
        }
        assert_eq!([duration(7.26), duration(1_500.0), duration(2e6)], ["7.3 us", "1.5 ms", "2.0 s"]);
    }
}
