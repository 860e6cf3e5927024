//! Every metric of the whole system: names, help texts, labels and buckets, declared here and nowhere else.
//!
//! Labels have few values, all known when a process starts (`kind`, `priority`, `outcome`, `operation`); never a
//! job, a batch or a pod. Each struct registers its metrics once and hands out children already resolved, indexed
//! like the label values it was given, so that counting never looks up a label. Every child exists from the start:
//! a counter that has counted nothing reads 0, it is not absent.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prometheus::core::{
    Atomic, Collector, Desc, GenericCounter, GenericCounterVec, GenericGauge, GenericGaugeVec,
};
use prometheus::proto::MetricFamily;
use prometheus::{Encoder, Gauge, IntCounter, IntGauge, Opts, Registry, TextEncoder};

use crate::bulk_histogram::{BulkHistogram, BulkHistogramFamily};
use crate::process;

/// The media type of [`encode`]'s text, as Prometheus asks for it.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// One metric's declaration.
struct Metric {
    name: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
}

const fn metric(name: &'static str, help: &'static str, labels: &'static [&'static str]) -> Metric {
    Metric { name, help, labels }
}

// Worker.
const JOBS: Metric =
    metric("puzzled_jobs_total", "Jobs whose outcome this worker recorded.", &["kind", "outcome"]);
const CHUNK_SOLVE: Metric =
    metric("puzzled_chunk_solve_seconds", "Time one thread took to solve one chunk.", &["kind"]);
const JOB_SOLVE: Metric = metric(
    "puzzled_job_solve_seconds",
    "Solve time per job: each job of a chunk counts at the chunk's mean, because jobs are solved side by side.",
    &["kind"],
);
const JOB_WAIT: Metric =
    metric("puzzled_job_wait_seconds", "Time from enqueueing a job to its claim.", &["kind", "priority"]);
const CHUNKS_IN_FLIGHT: Metric = metric(
    "puzzled_chunks_in_flight",
    "Chunks this worker has claimed and not yet completed or released.",
    &[],
);
const BUSY_THREADS: Metric = metric("puzzled_busy_threads", "Solver threads that are solving now.", &[]);
const THREADS: Metric = metric("puzzled_threads", "Solver threads of this worker.", &[]);
const LEASES_RENEWED: Metric = metric("puzzled_leases_renewed_total", "Leases extended in time.", &[]);
const LEASES_LOST: Metric = metric(
    "puzzled_leases_lost_total",
    "Leases found to belong to another worker; their work was dropped.",
    &[],
);
const CHUNKS_RECLAIMED: Metric =
    metric("puzzled_chunks_reclaimed_total", "Chunks taken over from a worker whose lease had expired.", &[]);
const CHUNKS_RELEASED: Metric = metric(
    "puzzled_chunks_released_total",
    "Chunks handed back unfinished at shutdown; no attempt spent.",
    &[],
);
const CHUNK_RETRIES: Metric =
    metric("puzzled_chunk_retries_total", "Chunks put back for another attempt after a failure.", &[]);
const DEAD_LETTERS: Metric =
    metric("puzzled_dead_letters_total", "Jobs this worker set aside as dead letters.", &[]);
const RESULT_CONFLICTS: Metric = metric(
    "puzzled_result_conflicts_total",
    "Results that differed from one already stored for the same job: a solver bug.",
    &[],
);
const PANICS: Metric = metric("puzzled_panics_total", "Jobs whose solver panicked.", &[]);
const STUCK_THREADS: Metric = metric(
    "puzzled_stuck_threads",
    "Solver threads that did not come back from a job out of time, and were replaced.",
    &[],
);

// Redis, any role.
const REDIS_ERRORS: Metric = metric(
    "puzzled_redis_errors_total",
    "Redis operations that failed, retries not counted apart.",
    &["operation"],
);
const REDIS_RECONNECTS: Metric =
    metric("puzzled_redis_reconnects_total", "Connections to Redis made again after one was lost.", &[]);
const REDIS_SECONDS: Metric = metric(
    "puzzled_redis_operation_seconds",
    "Time from sending an operation to its reply, blocked reads excluded.",
    &["operation"],
);

// The whole queue, dashboard role only: every worker would report the same numbers.
const WAITING_JOBS: Metric =
    metric("puzzled_waiting_jobs", "Jobs in the queue that no worker has claimed.", &["kind", "priority"]);
const RUNNING_JOBS: Metric =
    metric("puzzled_running_jobs", "Jobs claimed and not yet finished.", &["kind", "priority"]);
const OLDEST_WAITING: Metric = metric(
    "puzzled_oldest_waiting_seconds",
    "Age of the oldest waiting chunk; 0 when none waits.",
    &["kind", "priority"],
);
const WORKERS: Metric = metric("puzzled_workers", "Workers that have been heard of lately.", &[]);
const PAUSED: Metric = metric("puzzled_paused", "1 while the kind is paused.", &["kind"]);
const DEAD_LETTER_JOBS: Metric = metric("puzzled_dead_letter_jobs", "Dead letters kept for inspection.", &[]);
const QUEUE_READ: Metric = metric(
    "puzzled_queue_read_timestamp_seconds",
    "When the queue-wide numbers were last read from Redis; older than a minute means they are stale.",
    &[],
);

// The process, any role. Standard names, so that standard dashboards find them.
const BUILD_INFO: Metric =
    metric("puzzled_build_info", "Always 1; the labels say what is running.", &["version", "commit"]);
const START_TIME: Metric =
    metric("process_start_time_seconds", "Start time of the process since the Unix epoch.", &[]);
const RESIDENT_MEMORY: Metric = metric("process_resident_memory_bytes", "Resident memory size.", &[]);
const CPU_SECONDS: Metric = metric("process_cpu_seconds_total", "User and system CPU time spent.", &[]);
const OPEN_FDS: Metric = metric("process_open_fds", "Open file descriptors.", &[]);
const PROCESS_THREADS: Metric =
    metric("process_threads", "Threads of the process, solvers and all others.", &[]);

/// 100 ns to 100 s: a lane-solved sudoku sits at the left end, an optimal cube at the right.
const JOB_SOLVE_BUCKETS: &[f64] = &[
    1e-7, 2e-7, 5e-7, 1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2,
    5e-2, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0,
];
/// 10 us to 100 s, dense around the 20 ms that a chunk aims at.
const CHUNK_SOLVE_BUCKETS: &[f64] = &[
    1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 3e-2, 5e-2, 0.1, 0.2, 0.5, 1.0, 5.0,
    10.0, 100.0,
];
/// 50 us (an idle system's hand-over) to a day (a batch over night).
const JOB_WAIT_BUCKETS: &[f64] = &[
    5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.25, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0,
    1_800.0, 3_600.0, 21_600.0, 86_400.0,
];
/// 20 us (loopback) to 10 s (well past every time limit).
const REDIS_BUCKETS: &[f64] =
    &[2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.5, 1.0, 5.0, 10.0];

/// The label values of a process, fixed at its start. The indexes of the handles below are positions in these.
#[derive(Debug, Clone, Copy)]
pub struct Labels<'a> {
    /// Puzzle kinds.
    pub kinds: &'a [&'static str],
    /// Names of the outcomes.
    pub outcomes: &'a [&'static str],
    /// Names of the priorities.
    pub priorities: &'a [&'static str],
}

/// What a worker counts.
#[derive(Debug, Clone)]
pub struct WorkerMetrics {
    /// One set of children per kind, in the order of [`Labels::kinds`].
    pub kinds: Vec<KindMetrics>,
    /// Chunks claimed and neither completed nor released.
    pub chunks_in_flight: IntGauge,
    /// Solver threads at work.
    pub busy_threads: IntGauge,
    /// Solver threads in all.
    pub threads: IntGauge,
    /// Leases extended.
    pub leases_renewed: IntCounter,
    /// Leases lost to another worker.
    pub leases_lost: IntCounter,
    /// Chunks taken over after their lease expired.
    pub chunks_reclaimed: IntCounter,
    /// Chunks handed back at shutdown.
    pub chunks_released: IntCounter,
    /// Chunks put back after a failure.
    pub chunk_retries: IntCounter,
    /// Jobs set aside as dead letters.
    pub dead_letters: IntCounter,
    /// Results that contradict a stored one.
    pub result_conflicts: IntCounter,
    /// Jobs whose solver panicked.
    pub panics: IntCounter,
    /// Solver threads left behind.
    pub stuck_threads: IntGauge,
}

/// A worker's metrics of one kind.
#[derive(Debug, Clone)]
pub struct KindMetrics {
    /// Recorded jobs, one counter per outcome in the order of [`Labels::outcomes`].
    pub jobs: Vec<IntCounter>,
    /// Enqueue to claim, one histogram per priority in the order of [`Labels::priorities`].
    pub job_wait: Vec<BulkHistogram>,
    /// Solve time of whole chunks.
    pub chunk_solve: BulkHistogram,
    /// Solve time of jobs.
    pub job_solve: BulkHistogram,
}

impl KindMetrics {
    /// Counts the solving of a chunk of `jobs` jobs that took `elapsed` on one thread.
    pub fn observe_solved(&self, elapsed: Duration, jobs: u64) {
        self.chunk_solve.observe(elapsed);
        self.job_solve.observe_mean(elapsed, jobs);
    }

    /// Counts the claim of a chunk of `jobs` jobs that had waited for `waited`.
    pub fn observe_claimed(&self, priority: usize, waited: Duration, jobs: u64) {
        self.job_wait[priority].observe_n(waited, jobs);
    }
}

impl WorkerMetrics {
    /// Registers a worker's metrics.
    ///
    /// # Errors
    /// When they are registered already.
    pub fn register(registry: &Registry, labels: &Labels<'_>) -> prometheus::Result<Self> {
        let Labels { kinds, outcomes, priorities } = labels;
        let jobs = counters(registry, &JOBS, &pairs(kinds, outcomes))?;
        let waits = histograms(registry, &JOB_WAIT, JOB_WAIT_BUCKETS, &pairs(kinds, priorities))?;
        let chunks = histograms(registry, &CHUNK_SOLVE, CHUNK_SOLVE_BUCKETS, &singles(kinds))?;
        let solves = histograms(registry, &JOB_SOLVE, JOB_SOLVE_BUCKETS, &singles(kinds))?;
        let kinds = chunks
            .into_iter()
            .zip(solves)
            .enumerate()
            .map(|(kind, (chunk_solve, job_solve))| KindMetrics {
                jobs: row(&jobs, kind, outcomes.len()),
                job_wait: row(&waits, kind, priorities.len()),
                chunk_solve,
                job_solve,
            })
            .collect();
        Ok(Self {
            kinds,
            chunks_in_flight: gauge(registry, &CHUNKS_IN_FLIGHT)?,
            busy_threads: gauge(registry, &BUSY_THREADS)?,
            threads: gauge(registry, &THREADS)?,
            leases_renewed: counter(registry, &LEASES_RENEWED)?,
            leases_lost: counter(registry, &LEASES_LOST)?,
            chunks_reclaimed: counter(registry, &CHUNKS_RECLAIMED)?,
            chunks_released: counter(registry, &CHUNKS_RELEASED)?,
            chunk_retries: counter(registry, &CHUNK_RETRIES)?,
            dead_letters: counter(registry, &DEAD_LETTERS)?,
            result_conflicts: counter(registry, &RESULT_CONFLICTS)?,
            panics: counter(registry, &PANICS)?,
            stuck_threads: gauge(registry, &STUCK_THREADS)?,
        })
    }
}

/// What any role counts of its dealings with Redis.
#[derive(Debug, Clone)]
pub struct RedisMetrics {
    /// One set of children per operation, in the order given to [`register`](Self::register).
    pub operations: Vec<OperationMetrics>,
    /// Connections made again.
    pub reconnects: IntCounter,
}

/// The metrics of one operation on Redis.
#[derive(Debug, Clone)]
pub struct OperationMetrics {
    /// Failures.
    pub errors: IntCounter,
    /// Time to the reply.
    pub seconds: BulkHistogram,
}

impl RedisMetrics {
    /// Registers the metrics of these operations (a handful: `submit`, `claim`, `complete` and the like).
    ///
    /// # Errors
    /// When they are registered already.
    pub fn register(registry: &Registry, operations: &[&'static str]) -> prometheus::Result<Self> {
        let errors = counters(registry, &REDIS_ERRORS, &singles(operations))?;
        let seconds = histograms(registry, &REDIS_SECONDS, REDIS_BUCKETS, &singles(operations))?;
        let operations = errors
            .into_iter()
            .zip(seconds)
            .map(|(errors, seconds)| OperationMetrics { errors, seconds })
            .collect();
        Ok(Self { operations, reconnects: counter(registry, &REDIS_RECONNECTS)? })
    }
}

/// The state of the whole queue. The dashboard role alone registers it: it is one truth, read once.
#[derive(Debug, Clone)]
pub struct QueueMetrics {
    /// `kinds[kind][priority]`, in the order of [`Labels`].
    pub kinds: Vec<Vec<LaneMetrics>>,
    /// 1 while a kind is paused, in the order of [`Labels`].
    pub paused: Vec<IntGauge>,
    /// Workers alive.
    pub workers: IntGauge,
    /// Dead letters kept.
    pub dead_letter_jobs: IntGauge,
    read: Gauge,
}

/// The queue of one kind at one priority.
#[derive(Debug, Clone)]
pub struct LaneMetrics {
    /// Jobs not claimed.
    pub waiting_jobs: IntGauge,
    /// Jobs claimed and unfinished.
    pub running_jobs: IntGauge,
    /// Age of the oldest waiting chunk.
    pub oldest_waiting_seconds: Gauge,
}

impl QueueMetrics {
    /// Registers the queue-wide metrics; [`Labels::outcomes`] is not used.
    ///
    /// # Errors
    /// When they are registered already.
    pub fn register(registry: &Registry, labels: &Labels<'_>) -> prometheus::Result<Self> {
        let values = pairs(labels.kinds, labels.priorities);
        let waiting = gauges(registry, &WAITING_JOBS, &values)?;
        let running = gauges(registry, &RUNNING_JOBS, &values)?;
        let oldest = gauges(registry, &OLDEST_WAITING, &values)?;
        let lanes: Vec<LaneMetrics> = waiting
            .into_iter()
            .zip(running)
            .zip(oldest)
            .map(|((waiting_jobs, running_jobs), oldest_waiting_seconds)| LaneMetrics {
                waiting_jobs,
                running_jobs,
                oldest_waiting_seconds,
            })
            .collect();
        Ok(Self {
            kinds: (0..labels.kinds.len()).map(|kind| row(&lanes, kind, labels.priorities.len())).collect(),
            paused: gauges(
                registry,
                &PAUSED,
                &labels.kinds.iter().map(|&kind| vec![kind]).collect::<Vec<_>>(),
            )?,
            workers: gauge(registry, &WORKERS)?,
            dead_letter_jobs: gauge(registry, &DEAD_LETTER_JOBS)?,
            read: gauge(registry, &QUEUE_READ)?,
        })
    }

    /// Says that every number above was read from Redis at `at`. Without it, gauges that Redis no longer feeds
    /// would look alive for ever.
    pub fn mark_read(&self, at: SystemTime) {
        self.read.set(epoch_seconds(at));
    }
}

/// What the process says of itself: build, start time and, on Linux, memory, CPU time, files and threads, read at
/// each scrape.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ProcessMetrics;

impl ProcessMetrics {
    /// Registers the process' metrics. `start` is the time of the process' start, near enough: now, early in `main`.
    ///
    /// # Errors
    /// When they are registered already.
    pub fn register(registry: &Registry, start: SystemTime) -> prometheus::Result<Self> {
        let build = gauges::<prometheus::core::AtomicI64>(registry, &BUILD_INFO, &[vec![VERSION, COMMIT]])?;
        build.iter().for_each(|gauge| gauge.set(1));
        gauge::<prometheus::core::AtomicF64>(registry, &START_TIME)?.set(epoch_seconds(start));
        if process::read().is_some() {
            registry.register(Box::new(ProcessCollector::new()?))?;
        }
        Ok(Self)
    }
}

/// The version of this build.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit of this build: `GIT_COMMIT` at compile time, else `unknown`.
pub const COMMIT: &str = match option_env!("GIT_COMMIT") {
    Some(commit) => commit,
    None => "unknown",
};

/// The metrics that are read from the system when a scrape asks.
struct ProcessCollector {
    resident: IntGauge,
    cpu: prometheus::Counter,
    open_fds: IntGauge,
    threads: IntGauge,
}

impl ProcessCollector {
    fn new() -> prometheus::Result<Self> {
        Ok(Self {
            resident: IntGauge::with_opts(options(&RESIDENT_MEMORY))?,
            cpu: prometheus::Counter::with_opts(options(&CPU_SECONDS))?,
            open_fds: IntGauge::with_opts(options(&OPEN_FDS))?,
            threads: IntGauge::with_opts(options(&PROCESS_THREADS))?,
        })
    }

    fn collectors(&self) -> [&dyn Collector; 4] {
        [&self.resident, &self.cpu, &self.open_fds, &self.threads]
    }
}

impl Collector for ProcessCollector {
    fn desc(&self) -> Vec<&Desc> {
        self.collectors().into_iter().flat_map(Collector::desc).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let Some(now) = process::read() else {
            return Vec::new();
        };
        let set = |gauge: &IntGauge, value: u64| gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        set(&self.resident, now.resident_bytes);
        set(&self.open_fds, now.open_fds);
        set(&self.threads, now.threads);
        // Two scrapes at once may read in either order; a counter must not go back.
        let gained = now.cpu_seconds - self.cpu.get();
        if gained > 0.0 {
            self.cpu.inc_by(gained);
        }
        self.collectors().into_iter().flat_map(Collector::collect).collect()
    }
}

/// Everything in `registry` as Prometheus' text format 0.0.4, sorted by name and by label.
///
/// # Errors
/// When a collector gives inconsistent metrics: a bug.
pub fn encode(registry: &Registry) -> prometheus::Result<String> {
    let mut text = Vec::new();
    TextEncoder::new().encode(&registry.gather(), &mut text)?;
    String::from_utf8(text).map_err(|error| prometheus::Error::Msg(error.to_string()))
}

fn options(metric: &Metric) -> Opts {
    Opts::new(metric.name, metric.help)
}

fn counter<P: Atomic + 'static>(
    registry: &Registry,
    metric: &Metric,
) -> prometheus::Result<GenericCounter<P>> {
    let counter = GenericCounter::with_opts(options(metric))?;
    registry.register(Box::new(counter.clone()))?;
    Ok(counter)
}

fn gauge<P: Atomic + 'static>(registry: &Registry, metric: &Metric) -> prometheus::Result<GenericGauge<P>> {
    let gauge = GenericGauge::with_opts(options(metric))?;
    registry.register(Box::new(gauge.clone()))?;
    Ok(gauge)
}

fn counters<P: Atomic + 'static>(
    registry: &Registry,
    metric: &Metric,
    values: &[Vec<&'static str>],
) -> prometheus::Result<Vec<GenericCounter<P>>> {
    let family = GenericCounterVec::<P>::new(options(metric), metric.labels)?;
    registry.register(Box::new(family.clone()))?;
    values.iter().map(|values| family.get_metric_with_label_values(values)).collect()
}

fn gauges<P: Atomic + 'static>(
    registry: &Registry,
    metric: &Metric,
    values: &[Vec<&'static str>],
) -> prometheus::Result<Vec<GenericGauge<P>>> {
    let family = GenericGaugeVec::<P>::new(options(metric), metric.labels)?;
    registry.register(Box::new(family.clone()))?;
    values.iter().map(|values| family.get_metric_with_label_values(values)).collect()
}

fn histograms(
    registry: &Registry,
    metric: &Metric,
    bounds: &'static [f64],
    values: &[Vec<&'static str>],
) -> prometheus::Result<Vec<BulkHistogram>> {
    let (family, children) =
        BulkHistogramFamily::new(metric.name, metric.help, bounds, metric.labels, values)?;
    registry.register(Box::new(family))?;
    Ok(children)
}

fn singles(values: &[&'static str]) -> Vec<Vec<&'static str>> {
    values.iter().map(|value| vec![*value]).collect()
}

/// Every pair, the first label's value changing slowest: row `i` of [`row`] belongs to `first[i]`.
fn pairs(first: &[&'static str], second: &[&'static str]) -> Vec<Vec<&'static str>> {
    first.iter().flat_map(|a| second.iter().map(move |b| vec![*a, *b])).collect()
}

fn row<T: Clone>(children: &[T], index: usize, len: usize) -> Vec<T> {
    children[index * len..][..len].to_vec()
}

fn epoch_seconds(at: SystemTime) -> f64 {
    at.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use prometheus::proto::MetricType;

    use super::*;

    const LABELS: Labels<'static> = Labels {
        kinds: &["sudoku", "slide"],
        outcomes: &["solved", "invalid", "failed"],
        priorities: &["high", "normal", "low"],
    };

    /// A process that plays every role at once.
    fn everything() -> (Registry, WorkerMetrics, QueueMetrics, RedisMetrics) {
        let registry = Registry::new();
        let worker = WorkerMetrics::register(&registry, &LABELS).unwrap();
        let queue = QueueMetrics::register(&registry, &LABELS).unwrap();
        let redis = RedisMetrics::register(&registry, &["claim", "complete"]).unwrap();
        ProcessMetrics::register(&registry, SystemTime::now()).unwrap();
        (registry, worker, queue, redis)
    }

    #[test]
    fn handles_count_under_their_own_labels() {
        let (registry, worker, queue, redis) = everything();
        worker.kinds[1].jobs[2].inc_by(5);
        worker.kinds[0].observe_claimed(2, Duration::from_millis(3), 256);
        worker.kinds[0].observe_solved(Duration::from_micros(256), 256);
        queue.kinds[1][0].waiting_jobs.set(9);
        queue.mark_read(UNIX_EPOCH + Duration::from_secs(7));
        redis.operations[1].errors.inc();
        let text = encode(&registry).unwrap();
        for line in [
            "puzzled_jobs_total{kind=\"slide\",outcome=\"failed\"} 5",
            "puzzled_jobs_total{kind=\"sudoku\",outcome=\"solved\"} 0",
            "puzzled_job_wait_seconds_count{kind=\"sudoku\",priority=\"low\"} 256",
            "puzzled_chunk_solve_seconds_count{kind=\"sudoku\"} 1",
            "puzzled_job_solve_seconds_count{kind=\"sudoku\"} 256",
            "puzzled_job_solve_seconds_bucket{kind=\"sudoku\",le=\"0.0000005\"} 0",
            "puzzled_job_solve_seconds_bucket{kind=\"sudoku\",le=\"0.000001\"} 256",
            "puzzled_job_solve_seconds_bucket{kind=\"sudoku\",le=\"+Inf\"} 256",
            "puzzled_job_solve_seconds_sum{kind=\"sudoku\"} 0.000256",
            "puzzled_waiting_jobs{kind=\"slide\",priority=\"high\"} 9",
            "puzzled_queue_read_timestamp_seconds 7",
            "puzzled_redis_errors_total{operation=\"complete\"} 1",
        ] {
            assert!(text.lines().any(|have| have == line), "{line} is missing in\n{text}");
        }
    }

    #[test]
    fn registering_twice_is_an_error_not_a_panic() {
        let (registry, ..) = everything();
        assert!(WorkerMetrics::register(&registry, &LABELS).is_err());
        assert!(ProcessMetrics::register(&registry, SystemTime::now()).is_err());
    }

    #[test]
    fn the_text_has_a_stable_order() {
        let names = |text: &str| -> Vec<String> {
            text.lines().filter(|line| line.starts_with("# TYPE")).map(str::to_owned).collect()
        };
        let (first, second) =
            (names(&encode(&everything().0).unwrap()), names(&encode(&everything().0).unwrap()));
        assert_eq!(first, second);
        assert!(first.is_sorted());
    }

    #[test]
    fn cpu_time_never_goes_back() {
        let collector = ProcessCollector::new().unwrap();
        collector.cpu.inc_by(1e9);
        collector.collect();
        assert!(collector.cpu.get() >= 1e9);
    }

    /// The conventions of Prometheus, and ours on labels, over what a scrape really shows.
    #[test]
    fn names_labels_and_help_follow_the_conventions() {
        const LOW_CARDINALITY: [&str; 6] = ["kind", "priority", "outcome", "operation", "version", "commit"];
        for family in everything().0.gather() {
            let (name, help) = (family.name(), family.help());
            assert!(name.starts_with("puzzled_") || name.starts_with("process_"), "{name}: prefix");
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{name}: characters");
            assert!(help.ends_with('.') && help.len() > 10, "{name}: help is a sentence, not {help:?}");
            let is_counter = family.get_field_type() == MetricType::COUNTER;
            assert_eq!(name.ends_with("_total"), is_counter, "{name}: _total marks counters and only them");
            if family.get_field_type() == MetricType::HISTOGRAM {
                assert!(name.ends_with("_seconds"), "{name}: our histograms hold seconds");
            }
            for bad in
                ["_ms", "_us", "_ns", "_millis", "_minutes", "_kb", "_count", "_sum", "_bucket", "_gauge"]
            {
                assert!(
                    !name.ends_with(bad) && !name.contains(&format!("{bad}_")),
                    "{name}: base units, no {bad}"
                );
            }
            for pair in family.get_metric().iter().flat_map(|metric| metric.get_label()) {
                assert!(LOW_CARDINALITY.contains(&pair.name()), "{name}: label {}", pair.name());
            }
            assert!(family.get_metric().len() <= 64, "{name}: {} children", family.get_metric().len());
        }
        for buckets in [JOB_SOLVE_BUCKETS, CHUNK_SOLVE_BUCKETS, JOB_WAIT_BUCKETS, REDIS_BUCKETS] {
            assert!(buckets.is_sorted_by(|a, b| a < b), "{buckets:?} ascend");
        }
    }

    /// Prometheus' own linter agrees, where it is installed; the test above holds the rules everywhere else.
    #[test]
    fn promtool_finds_nothing_to_criticise() {
        let linter = Command::new("promtool")
            .args(["check", "metrics"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let Ok(mut linter) = linter else {
            eprintln!("promtool is not on PATH: its lint is skipped, our own rules are checked");
            return;
        };
        let (registry, worker, ..) = everything();
        worker.kinds[0].observe_solved(Duration::from_micros(256), 256);
        linter.stdin.take().unwrap().write_all(encode(&registry).unwrap().as_bytes()).unwrap();
        let output = linter.wait_with_output().unwrap();
        let said =
            [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
        assert!(output.status.success() && said.trim().is_empty(), "promtool: {said}");
    }
}
