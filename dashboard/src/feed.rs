//! The one loop that reads the queue: once a second, however many look.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use puzzled_queue::{Error, Finding, Queue, Rights, Verdict, Vitals};
use puzzled_service::admin::Readiness;
use puzzled_service::metrics::{QueueMetrics, VERSION};
use puzzled_solver::{Kind, OutcomeKind};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::history::{Counts, History, Sample};
use crate::looks::Looks;
use crate::snapshot::{Batch, Snapshot, TaskRate, lanes};

/// A glance a second is as fast as a person follows, and workers say no more often how they are.
const PERIOD: Duration = Duration::from_secs(1);

/// How many of the newest batches are read with it.
pub(crate) const BATCHES_MAX: usize = 20;

/// Settings of a Redis change rarely, and looking at them takes a connection of its own.
const EXAMINE_EVERY: Duration = Duration::from_secs(30);

/// Readings that the rates of tasks are averaged over: chunks of slow tasks are recorded seconds apart.
const TASK_READINGS: usize = 5;

/// What is called "lately" where a pace must be steadier than a second's, in ms.
const LATELY_MS: u64 = 30_000;

/// Everything that is shown, as of one reading.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// Counts readings, those that failed too.
    pub(crate) number: u64,
    /// When the queue was last read, ms since 1970 by this machine's clock; 0 before that.
    pub(crate) read_ms: u64,
    /// When this was made, by the same clock.
    pub(crate) made_ms: u64,
    pub(crate) snapshot: Snapshot,
    pub(crate) history: Arc<History>,
    /// What `puzzled doctor` would say, good and bad.
    pub(crate) findings: Vec<Finding>,
}

impl Frame {
    /// What is shown before the first reading.
    pub(crate) fn unread(server: &str) -> Self {
        let (snapshot, history) = (Snapshot::unread(server), Arc::default());
        Self { number: 0, read_ms: 0, made_ms: now_ms(), snapshot, history, findings: Vec::new() }
    }
}

/// The state of the loop.
pub(crate) struct Feed {
    looks: Looks,
    metrics: QueueMetrics,
    oldest_waiting_ms_max: u64,
    /// What a look at the server found last, and what it could not find out.
    examined: watch::Receiver<Vec<Finding>>,
    /// Jobs finished by task, for each of the last readings, and how long before it the one before was.
    tasks: VecDeque<(u64, BTreeMap<String, Counts>)>,
}

impl Feed {
    pub(crate) fn new(
        looks: Looks,
        metrics: QueueMetrics,
        oldest_waiting_ms_max: u64,
        examined: watch::Receiver<Vec<Finding>>,
    ) -> Self {
        Self { looks, metrics, oldest_waiting_ms_max, examined, tasks: VecDeque::new() }
    }

    /// Reads until `stop`. While Redis fails the last figures stay, marked stale with the reason.
    pub(crate) async fn run(
        mut self,
        frames: watch::Sender<Arc<Frame>>,
        ready: watch::Sender<Readiness>,
        stop: CancellationToken,
    ) {
        let mut ticks = tokio::time::interval(PERIOD);
        // After a slow answer the next reading is a second later, not at once.
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = ticks.tick() => {}
            }
            let last = frames.borrow().clone();
            // While an answer is awaited, nobody must take old figures for new ones.
            let answer = tokio::select! {
                () = stop.cancelled() => return,
                answer = self.read() => answer,
            };
            let readiness = match answer {
                Ok((vitals, batches)) => {
                    publish(&self.metrics, &vitals);
                    frames.send_replace(Arc::new(self.next(&last, vitals, batches)));
                    Readiness::Ready
                }
                Err(error) => {
                    let reason = error.to_string();
                    if last.snapshot.stale.as_ref() != Some(&reason) {
                        tracing::warn!(code = error.code(), %error, "cannot read the queue; showing what was read last");
                    }
                    frames.send_replace(Arc::new(stale(&last, &error)));
                    Readiness::NotReady(reason)
                }
            };
            ready.send_if_modified(|old| {
                let changed = *old != readiness;
                *old = readiness;
                changed
            });
        }
    }

    async fn read(&self) -> Result<(Vitals, Vec<Batch>), Error> {
        Ok((self.looks.queue.vitals().await?, self.looks.batches("", BATCHES_MAX).await?))
    }

    fn next(&mut self, last: &Frame, vitals: Vitals, batches: Vec<Batch>) -> Frame {
        let mut findings = self.examined.borrow().clone();
        findings.extend(vitals.findings(self.oldest_waiting_ms_max, VERSION));
        let mut snapshot = last.snapshot.next(vitals, batches);
        let finished = snapshot.finished_since(&last.snapshot);
        let mut counts = Counts::default();
        for of_task in finished.values() {
            counts.iter_mut().zip(of_task).for_each(|(sum, count)| *sum += count);
        }
        let is_first = last.snapshot.time_ms == 0;
        let made_ms = now_ms();
        let mut history = History::clone(&last.history);
        history.push(Sample {
            at_ms: made_ms,
            rate: (!is_first).then_some(snapshot.totals.jobs_per_second),
            waiting: snapshot.totals.waiting,
            running: snapshot.totals.running,
            oldest_ms: snapshot.totals.oldest_waiting_ms,
            busy: (snapshot.totals.threads > 0)
                .then(|| snapshot.totals.busy as f64 / snapshot.totals.threads as f64),
            finished: counts,
        });
        if !is_first {
            self.tasks.push_back((snapshot.time_ms.saturating_sub(last.snapshot.time_ms), finished));
            self.tasks.drain(..self.tasks.len().saturating_sub(TASK_READINGS));
        }
        snapshot.tasks = task_rates(&self.tasks);
        let minute = history.finished(60_000);
        snapshot.last_minute =
            OutcomeKind::ALL.iter().map(|kind| (kind.name(), minute[kind.index()])).collect();
        let left = snapshot.totals.waiting + snapshot.totals.running;
        let pace = history.mean_rate(LATELY_MS).filter(|rate| *rate > 0.0 && left > 0);
        snapshot.totals.drained_in_ms = pace.map(|rate| (left as f64 * 1000.0 / rate) as u64);
        snapshot.warnings = warnings(&findings);
        Frame {
            number: last.number + 1,
            read_ms: made_ms,
            made_ms,
            snapshot,
            history: Arc::new(history),
            findings,
        }
    }
}

/// The same figures once more, and why there are no newer ones.
fn stale(last: &Frame, error: &Error) -> Frame {
    let findings = vec![Finding::unusable(error)];
    let snapshot =
        Snapshot { stale: Some(error.to_string()), warnings: findings.clone(), ..last.snapshot.clone() };
    Frame { number: last.number + 1, made_ms: now_ms(), snapshot, findings, ..last.clone() }
}

/// What is not as it should be, the worst first.
fn warnings(findings: &[Finding]) -> Vec<Finding> {
    let mut warnings: Vec<Finding> =
        findings.iter().filter(|finding| finding.verdict != Verdict::Good).cloned().collect();
    warnings.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
    warnings
}

fn task_rates(readings: &VecDeque<(u64, BTreeMap<String, Counts>)>) -> Vec<TaskRate> {
    let span_ms: u64 = readings.iter().map(|(span_ms, _)| span_ms).sum();
    let mut sums: BTreeMap<&String, u64> = BTreeMap::new();
    for (task, counts) in readings.iter().flat_map(|(_, finished)| finished) {
        *sums.entry(task).or_default() += counts.iter().sum::<u64>();
    }
    let rate = |jobs: u64| jobs as f64 * 1000.0 / span_ms.max(1) as f64;
    let busy = sums.into_iter().filter(|(_, jobs)| *jobs > 0);
    let mut rates: Vec<TaskRate> =
        busy.map(|(task, jobs)| TaskRate { task: task.clone(), jobs_per_second: rate(jobs) }).collect();
    rates.sort_by(|a, b| b.jobs_per_second.total_cmp(&a.jobs_per_second));
    rates
}

/// Looks at the server now and then, as `puzzled doctor` does with more rights.
pub(crate) async fn examine(queue: Queue, findings: watch::Sender<Vec<Finding>>, stop: CancellationToken) {
    loop {
        let examined = tokio::select! {
            () = stop.cancelled() => return,
            examined = queue.examine(Rights::Reader) => examined,
        };
        match examined {
            Ok(found) => drop(findings.send_replace(found)),
            // The feed says so itself, and sooner.
            Err(error) => tracing::debug!(%error, "cannot look at the server's settings"),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(EXAMINE_EVERY) => {}
        }
    }
}

/// Milliseconds since 1970 by this machine's clock.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The lanes come in the order of the labels: kinds, then priorities.
fn publish(metrics: &QueueMetrics, vitals: &Vitals) {
    let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let shown = metrics.kinds.iter().flatten();
    for (lane, gauges) in lanes(&vitals.streams).into_iter().zip(shown) {
        gauges.waiting_jobs.set(signed(lane.waiting));
        gauges.running_jobs.set(signed(lane.running));
        gauges.oldest_waiting_seconds.set(lane.oldest_waiting_ms as f64 / 1000.0);
    }
    for (kind, gauge) in Kind::ALL.into_iter().zip(&metrics.paused) {
        gauge.set(i64::from(vitals.paused.iter().any(|paused| paused.kind == kind)));
    }
    metrics.workers.set(signed(vitals.alive().count() as u64));
    metrics.dead_letter_jobs.set(signed(vitals.dead_letters));
    metrics.mark_read(SystemTime::now());
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus::Registry;
    use puzzled_service::metrics::Labels;

    #[test]
    fn what_was_read_is_what_the_gauges_say() {
        let labels = Labels { kinds: &["sudoku"], outcomes: &["solved"], priorities: &["high"] };
        let metrics = QueueMetrics::register(&Registry::new(), &labels).unwrap();
        let vitals = Vitals {
            time_ms: 1,
            streams: Vec::new(),
            paused: Vec::new(),
            workers: Vec::new(),
            dead_letters: 3,
            dead_letters_recent: 0,
        };
        publish(&metrics, &vitals);
        assert_eq!((metrics.dead_letter_jobs.get(), metrics.workers.get()), (3, 0));
    }

    #[test]
    fn rates_of_tasks_are_averaged_and_the_busiest_comes_first() {
        let counts = |solved| {
            let mut counts = Counts::default();
            counts[0] = solved;
            counts
        };
        let reading = |rows: &[(&str, u64)]| {
            (1_000, rows.iter().map(|(task, solved)| ((*task).to_owned(), counts(*solved))).collect())
        };
        let readings = [reading(&[("a", 10), ("b", 0)]), reading(&[("a", 0), ("c", 30), ("b", 0)])].into();
        let rates: Vec<(String, f64)> =
            task_rates(&readings).into_iter().map(|rate| (rate.task, rate.jobs_per_second)).collect();
        assert_eq!(rates, [("c".to_owned(), 15.0), ("a".to_owned(), 5.0)]);
    }

    #[test]
    fn the_worst_is_said_first() {
        let finding =
            |subject, verdict| Finding { subject, verdict, text: String::new(), remedy: String::new() };
        let all = [finding("a", Verdict::Warning), finding("b", Verdict::Good), finding("c", Verdict::Bad)];
        let subjects: Vec<_> = warnings(&all).into_iter().map(|finding| finding.subject).collect();
        assert_eq!(subjects, ["c", "a"]);
    }
}
