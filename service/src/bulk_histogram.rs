//! A histogram that takes n equal observations for the price of one.
//!
//! A job takes well below a microsecond and arrives in chunks of hundreds: observing each job on its own would
//! cost a tenth of solving it. The `prometheus` crate's histogram has no "n times" (its local twin loops), so this
//! collector keeps its own counts: one search and two relaxed additions a call, whatever n is. It knows mechanics
//! only; names and buckets are declared in `metrics.rs`.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use prometheus::core::{Collector, Desc};
use prometheus::proto;

/// One labelled child of a histogram of durations. Cheap to clone; clones count together.
#[derive(Clone)]
pub struct BulkHistogram(Arc<Child>);

struct Child {
    labels: Vec<proto::LabelPair>,
    bounds: &'static [f64],
    /// One count per bound, not cumulated, and one more for everything above the last.
    counts: Vec<AtomicU64>,
    /// Nanoseconds, so that adding is one instruction; a u64 holds 584 years of work.
    sum_ns: AtomicU64,
}

impl BulkHistogram {
    /// Counts `n` observations of `each`. With `n` = 0 nothing happens.
    pub fn observe_n(&self, each: Duration, n: u64) {
        if n == 0 {
            return;
        }
        let ns = u64::try_from(each.as_nanos()).unwrap_or(u64::MAX);
        self.add(each.as_secs_f64(), n, ns.saturating_mul(n));
    }

    /// Counts one observation.
    pub fn observe(&self, each: Duration) {
        self.observe_n(each, 1);
    }

    /// Counts `n` observations that took `total` together, each at their mean. The sum stays exact even where the
    /// mean is a fraction of a nanosecond.
    pub fn observe_mean(&self, total: Duration, n: u64) {
        if n == 0 {
            return;
        }
        let mean = total.as_secs_f64() / n as f64;
        self.add(mean, n, u64::try_from(total.as_nanos()).unwrap_or(u64::MAX));
    }

    /// How many observations were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.counts.iter().map(|count| count.load(Relaxed)).sum()
    }

    /// Their sum in seconds.
    #[must_use]
    pub fn sum_seconds(&self) -> f64 {
        let ns = self.0.sum_ns.load(Relaxed) as f64;
        ns / 1e9
    }

    fn add(&self, seconds: f64, n: u64, ns: u64) {
        // Prometheus' bounds are inclusive: the first one not below the value.
        let bucket = self.0.bounds.partition_point(|bound| *bound < seconds);
        self.0.counts[bucket].fetch_add(n, Relaxed);
        self.0.sum_ns.fetch_add(ns, Relaxed);
    }

    fn metric(&self) -> proto::Metric {
        let mut cumulated = 0;
        let mut buckets = Vec::with_capacity(self.0.bounds.len());
        // The total is the sum of what was just read, never a counter of its own: a scrape between two additions
        // must not see a count that disagrees with the last bucket.
        for (count, bound) in self.0.counts.iter().zip(self.0.bounds) {
            cumulated += count.load(Relaxed);
            let mut bucket = proto::Bucket::default();
            bucket.set_upper_bound(*bound);
            bucket.set_cumulative_count(cumulated);
            buckets.push(bucket);
        }
        let above = self.0.counts.last().map_or(0, |count| count.load(Relaxed));
        let mut histogram = proto::Histogram::default();
        histogram.set_bucket(buckets);
        histogram.set_sample_count(cumulated + above);
        histogram.set_sample_sum(self.sum_seconds());
        let mut metric = proto::Metric::from_label(self.0.labels.clone());
        metric.set_histogram(histogram);
        metric
    }
}

impl fmt::Debug for BulkHistogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BulkHistogram")
            .field("count", &self.count())
            .field("sum_seconds", &self.sum_seconds())
            .finish()
    }
}

/// All children of one histogram: what the registry collects.
pub(crate) struct BulkHistogramFamily {
    desc: Desc,
    children: Vec<BulkHistogram>,
}

impl BulkHistogramFamily {
    /// One child per entry of `values`, each a value for every label of `labels`.
    pub(crate) fn new(
        name: &str,
        help: &str,
        bounds: &'static [f64],
        labels: &[&str],
        values: &[Vec<&'static str>],
    ) -> prometheus::Result<(Self, Vec<BulkHistogram>)> {
        let names = labels.iter().map(|label| (*label).to_owned()).collect();
        let desc = Desc::new(name.to_owned(), help.to_owned(), names, HashMap::new())?;
        let children: Vec<BulkHistogram> = values
            .iter()
            .map(|values| {
                BulkHistogram(Arc::new(Child {
                    labels: labels.iter().zip(values).map(|(name, value)| label_pair(name, value)).collect(),
                    bounds,
                    counts: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
                    sum_ns: AtomicU64::new(0),
                }))
            })
            .collect();
        Ok((Self { desc, children: children.clone() }, children))
    }
}

fn label_pair(name: &str, value: &str) -> proto::LabelPair {
    let mut pair = proto::LabelPair::default();
    pair.set_name(name.to_owned());
    pair.set_value(value.to_owned());
    pair
}

impl Collector for BulkHistogramFamily {
    fn desc(&self) -> Vec<&Desc> {
        vec![&self.desc]
    }

    fn collect(&self) -> Vec<proto::MetricFamily> {
        let mut family = proto::MetricFamily::default();
        family.set_name(self.desc.fq_name.clone());
        family.set_help(self.desc.help.clone());
        family.set_field_type(proto::MetricType::HISTOGRAM);
        family.set_metric(self.children.iter().map(BulkHistogram::metric).collect());
        vec![family]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: &[f64] = &[1e-6, 1e-3, 1.0];

    fn one() -> (BulkHistogramFamily, BulkHistogram) {
        let (family, children) =
            BulkHistogramFamily::new("x_seconds", "x", BOUNDS, &["kind"], &[vec!["sudoku"]]).unwrap();
        (family, children.into_iter().next().unwrap())
    }

    fn counts(histogram: &BulkHistogram) -> Vec<u64> {
        histogram.0.counts.iter().map(|count| count.load(Relaxed)).collect()
    }

    #[test]
    fn each_observation_falls_into_its_bucket_bounds_included() {
        for (each, expected) in [
            (Duration::ZERO, [7, 0, 0, 0]),
            (Duration::from_micros(1), [7, 0, 0, 0]),
            (Duration::from_nanos(1_001), [0, 7, 0, 0]),
            (Duration::from_secs(1), [0, 0, 7, 0]),
            (Duration::from_secs(2), [0, 0, 0, 7]),
            (Duration::MAX, [0, 0, 0, 7]),
        ] {
            let (_, histogram) = one();
            histogram.observe_n(each, 7);
            histogram.observe_n(each, 0);
            assert_eq!(counts(&histogram), expected, "{each:?}");
        }
    }

    #[test]
    fn a_mean_below_a_nanosecond_keeps_its_sum() {
        let (_, histogram) = one();
        histogram.observe_mean(Duration::from_nanos(100), 1_000);
        histogram.observe_mean(Duration::from_nanos(100), 0);
        assert_eq!(counts(&histogram), [1_000, 0, 0, 0]);
        assert!((histogram.sum_seconds() - 1e-7).abs() < 1e-15);
    }

    #[test]
    fn n_at_once_reads_as_n_one_by_one_in_the_crates_own_histogram() {
        let options = prometheus::HistogramOpts::new("x_seconds", "x").buckets(BOUNDS.to_vec());
        let theirs = prometheus::Histogram::with_opts(options).unwrap();
        let (family, ours) = one();
        for (ns, n) in [(5_u64, 3_u64), (1_000, 1), (400_000, 9), (2_000_000_000, 2)] {
            ours.observe_n(Duration::from_nanos(ns), n);
            for _ in 0..n {
                theirs.observe(Duration::from_nanos(ns).as_secs_f64());
            }
        }
        let collected = family.collect();
        let (ours, theirs) = (collected[0].get_metric()[0].get_histogram(), theirs.collect());
        let theirs = theirs[0].get_metric()[0].get_histogram();
        assert_eq!(ours.get_bucket(), theirs.get_bucket());
        assert_eq!(ours.get_sample_count(), theirs.get_sample_count());
        assert!((ours.get_sample_sum() - theirs.get_sample_sum()).abs() < 1e-9);
    }
}
