//! The queue at one look, and what a person should know of it, in words. Looking asks Redis; the words are pure.

use std::collections::BTreeMap;

use puzzled_solver::Kind;

use crate::Error;
use crate::connection::Queue;
use crate::doctor::{Finding, Verdict, finding};
use crate::ids::Priority;
use crate::inspect::StreamState;
use crate::pause::Paused;
use crate::presence::Presence;

/// How long the oldest job may wait before [`Vitals::findings`] says so, unless somebody chose otherwise, in ms.
pub const OLDEST_WAITING_MS_MAX_DEFAULT: u64 = 60_000;

/// How far back a dead letter is recent, in ms. Ten minutes; the texts say so.
const RECENT_MS: u64 = 600_000;

/// Silent workers named at most: a lost machine may have had many.
const NAMES_MAX: usize = 3;

/// The queue as one look tells: what holds what, who works, what failed.
#[derive(Clone, PartialEq, Debug)]
pub struct Vitals {
    /// Redis's clock, ms since 1970.
    pub time_ms: u64,
    /// What every stream holds: all shards, kinds and priorities.
    pub streams: Vec<StreamState>,
    /// What is held back.
    pub paused: Vec<Paused>,
    /// Workers heard of in the last minute, by name, whether alive or silent. Who stops in order is not among them.
    pub workers: Vec<Presence>,
    /// Dead letters that are kept.
    pub dead_letters: u64,
    /// Those put away in the last ten minutes.
    pub dead_letters_recent: u64,
}

impl Queue {
    /// Looks at the whole queue. Changes nothing, and takes a Redis that puzzled never used as an empty queue. The parts
    /// are read side by side, not at one instant.
    ///
    /// # Errors
    /// What Redis said.
    pub async fn vitals(&self) -> Result<Vitals, Error> {
        let time_ms = self.server_ms().await?;
        let (streams, paused, workers, (dead_letters, dead_letters_recent)) = tokio::try_join!(
            self.streams(&Kind::ALL),
            self.paused(),
            self.heard_of(time_ms),
            self.dead_counts(time_ms.saturating_sub(RECENT_MS)),
        )?;
        Ok(Vitals { time_ms, streams, paused, workers, dead_letters, dead_letters_recent })
    }
}

impl Vitals {
    /// Workers heard of in the last [`crate::ALIVE_MS`].
    pub fn alive(&self) -> impl Iterator<Item = &Presence> {
        self.workers.iter().filter(|worker| worker.is_alive(self.time_ms))
    }

    /// Workers that have said nothing for longer, and did not take their leave.
    pub fn silent(&self) -> impl Iterator<Item = &Presence> {
        self.workers.iter().filter(|worker| !worker.is_alive(self.time_ms))
    }

    /// What a person should know of the queue, each with its remedy; what is well is said of workers and dead letters.
    /// Jobs may wait `oldest_waiting_ms_max`, 0 = any time. `own_version` is that of the program that asks.
    pub fn findings(&self, oldest_waiting_ms_max: u64, own_version: &str) -> Vec<Finding> {
        let mut findings = vec![self.crew()];
        findings.extend(self.unserved());
        findings.extend(self.silence());
        findings.extend(self.late(oldest_waiting_ms_max));
        findings.extend(self.held_back());
        findings.push(self.dead());
        findings.extend(self.versions(own_version));
        findings
    }

    fn crew(&self) -> Finding {
        let (workers, threads) = (self.alive().count(), self.alive().map(|worker| u64::from(worker.threads)));
        if workers > 0 {
            let text =
                format!("{} alive, {}", counted(workers as u64, "worker"), counted(threads.sum(), "thread"));
            return finding("workers", Verdict::Good, text, "");
        }
        let remedy = "start one: `puzzled worker`; it finds this Redis by redis.url in its puzzled.toml or by PUZZLED_REDIS__URL";
        match Load::of(&self.streams) {
            Load { waiting: 0, running: 0 } => {
                finding("workers", Verdict::Warning, "no worker is alive", remedy)
            }
            load => finding("workers", Verdict::Bad, format!("no worker is alive, and {load}"), remedy),
        }
    }

    /// Kinds that hold jobs and that no living worker serves. Without any worker that is said already.
    fn unserved(&self) -> impl Iterator<Item = Finding> {
        let served = |kind: Kind| self.alive().any(|worker| worker.serves(kind));
        let unserved = Kind::ALL.into_iter().filter(move |&kind| self.alive().count() > 0 && !served(kind));
        unserved.filter_map(|kind| match self.load(kind) {
            Load { waiting: 0, running: 0 } => None,
            load => Some(finding(
                "kinds",
                Verdict::Bad,
                format!("{kind}: {load}, and no living worker serves this kind"),
                format!("start one that does: `puzzled worker --kinds {kind}`"),
            )),
        })
    }

    fn silence(&self) -> Option<Finding> {
        let silent: Vec<&Presence> = self.silent().collect();
        let named = silent.iter().take(NAMES_MAX).map(|worker| {
            let silent_s = self.time_ms.saturating_sub(worker.seen_ms) / 1000;
            format!("{} on host {} for {silent_s} s", worker.worker, worker.host)
        });
        let mut names = named.collect::<Vec<_>>().join(", ");
        if silent.len() > NAMES_MAX {
            names += &format!(" and {} more", silent.len() - NAMES_MAX);
        }
        let (text, remedy) = match silent.len() {
            0 => return None,
            1 => (
                format!("1 worker is silent: {names}"),
                "its chunks are taken over when their leases end; look at its host",
            ),
            count => (
                format!("{count} workers are silent: {names}"),
                "their chunks are taken over when their leases end; look at their hosts",
            ),
        };
        Some(finding("silent", Verdict::Warning, text, remedy))
    }

    fn late(&self, limit_ms: u64) -> Vec<Finding> {
        let mut findings = Vec::new();
        let going_on = Kind::ALL.into_iter().filter(|&kind| self.paused_since(kind).is_none());
        for kind in going_on.filter(|_| limit_ms > 0) {
            for priority in Priority::ALL {
                let lane = self
                    .streams
                    .iter()
                    .filter(|state| state.stream.kind == kind && state.stream.priority == priority);
                let oldest_ms = lane.map(|state| state.oldest_waiting_ms).max().unwrap_or(0);
                if oldest_ms > limit_ms {
                    findings.push(finding(
                        "oldest",
                        Verdict::Warning,
                        format!(
                            "{kind} at priority {priority}: the oldest job has waited {} (limit {})",
                            in_words(oldest_ms),
                            in_words(limit_ms)
                        ),
                        "start more workers, or give them more threads (worker.threads)",
                    ));
                }
            }
        }
        findings
    }

    fn held_back(&self) -> impl Iterator<Item = Finding> {
        let holding = self.paused.iter().filter(|paused| self.load(paused.kind).waiting > 0);
        holding.map(|Paused { kind, since_ms }| {
            let load = Load { running: 0, ..self.load(*kind) };
            let since = in_words(self.time_ms.saturating_sub(*since_ms));
            let text = format!("{kind} has been paused for {since}; {load}");
            finding("paused", Verdict::Warning, text, format!("`puzzled resume {kind}`"))
        })
    }

    fn dead(&self) -> Finding {
        let all = counted(self.dead_letters, "dead letter");
        match (self.dead_letters, self.dead_letters_recent) {
            (0, 0) => finding("dead letters", Verdict::Good, "none", ""),
            (_, 0) => {
                finding("dead letters", Verdict::Good, format!("{all}, none of the last ten minutes"), "")
            }
            (_, recent) => finding(
                "dead letters",
                Verdict::Warning,
                format!("{} failed in the last ten minutes, {all} in all", counted(recent, "job")),
                "`puzzled dead list` shows them and why",
            ),
        }
    }

    fn versions(&self, own: &str) -> Option<Finding> {
        let mut versions: BTreeMap<&str, u64> = BTreeMap::new();
        for worker in self.alive() {
            *versions.entry(&worker.version).or_default() += 1;
        }
        if versions.keys().all(|version| *version == own) {
            return None;
        }
        let run = |(version, &count): (&&str, &u64)| {
            format!("{} {} {version}", counted(count, "worker"), if count == 1 { "runs" } else { "run" })
        };
        let run: Vec<String> = versions.iter().map(run).collect();
        Some(finding(
            "versions",
            Verdict::Warning,
            format!("{}; this program is {own}", run.join(", ")),
            "upgrade workers before producers; docs/protocol.md says what mixes",
        ))
    }

    fn paused_since(&self, kind: Kind) -> Option<u64> {
        self.paused.iter().find(|paused| paused.kind == kind).map(|paused| paused.since_ms)
    }

    fn load(&self, kind: Kind) -> Load {
        Load::of(self.streams.iter().filter(|state| state.stream.kind == kind))
    }
}

/// Unfinished jobs; shown as "3 jobs wait and 1 runs".
#[derive(Clone, Copy, Default)]
struct Load {
    waiting: u64,
    running: u64,
}

impl Load {
    fn of<'a>(streams: impl IntoIterator<Item = &'a StreamState>) -> Self {
        streams.into_iter().fold(Self::default(), |load, state| Self {
            waiting: load.waiting + state.waiting,
            running: load.running + state.running,
        })
    }
}

impl std::fmt::Display for Load {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let verb = |count, one, many| if count == 1 { one } else { many };
        let (wait, run) = (verb(self.waiting, "waits", "wait"), verb(self.running, "runs", "run"));
        match (self.waiting, self.running) {
            (waiting, 0) => write!(f, "{} {wait}", counted(waiting, "job")),
            (0, running) => write!(f, "{} {run}", counted(running, "job")),
            (waiting, running) => write!(f, "{} {wait} and {running} {run}", counted(waiting, "job")),
        }
    }
}

/// "1 job", "2 jobs".
fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A time span by its two largest units: "3 min 20 s".
fn in_words(span_ms: u64) -> String {
    let s = span_ms / 1000;
    let (whole, rest, unit, part) = match s {
        0 if span_ms > 0 => return format!("{span_ms} ms"),
        0..60 => return format!("{s} s"),
        60..3_600 => (s / 60, s % 60, "min", "s"),
        3_600..86_400 => (s / 3_600, s / 60 % 60, "h", "min"),
        _ => (s / 86_400, s / 3_600 % 24, "d", "h"),
    };
    if rest == 0 { format!("{whole} {unit}") } else { format!("{whole} {unit} {rest} {part}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::StreamId;
    use crate::presence::ALIVE_MS;

    const NOW_MS: u64 = 10_000_000;
    const LIMIT_MS: u64 = 60_000;

    fn empty() -> Vitals {
        Vitals {
            time_ms: NOW_MS,
            streams: Vec::new(),
            paused: Vec::new(),
            workers: Vec::new(),
            dead_letters: 0,
            dead_letters_recent: 0,
        }
    }

    /// A worker of two threads that serves every kind.
    fn worker(name: &str, silent_ms: u64) -> Presence {
        Presence {
            worker: name.to_owned(),
            host: format!("{name}-host"),
            version: "1.0.0".to_owned(),
            threads: 2,
            seen_ms: NOW_MS - silent_ms,
            ..Presence::default()
        }
    }

    fn with_workers(workers: Vec<Presence>) -> Vitals {
        Vitals { workers, ..empty() }
    }

    fn stream(shard: u16, kind: Kind, waiting: u64, running: u64, oldest_waiting_ms: u64) -> StreamState {
        let stream = StreamId { shard, kind, priority: Priority::Normal };
        StreamState { stream, waiting, running, chunks: 1, pending: 0, oldest_waiting_ms }
    }

    /// The findings but those that are good, each as subject, verdict and parts of its text and remedy.
    fn check(vitals: &Vitals, expected: &[(&str, Verdict, &[&str])]) {
        let mut found = vitals.findings(LIMIT_MS, "1.0.0");
        found.retain(|finding| finding.verdict != Verdict::Good);
        check_all(&found, expected);
        assert!(found.iter().all(|finding| !finding.remedy.is_empty()), "{found:#?}");
    }

    fn check_all(found: &[Finding], expected: &[(&str, Verdict, &[&str])]) {
        let heads: Vec<_> = found.iter().map(|finding| (finding.subject, finding.verdict)).collect();
        let wanted: Vec<_> = expected.iter().map(|&(subject, verdict, _)| (subject, verdict)).collect();
        assert_eq!(heads, wanted, "{found:#?}");
        for (finding, (.., parts)) in found.iter().zip(expected) {
            let said = format!("{} -> {}", finding.text, finding.remedy);
            assert!(parts.iter().all(|part| said.contains(part)), "{said:?} lacks one of {parts:?}");
        }
    }

    #[test]
    fn what_is_well_is_said() {
        let vitals = with_workers(vec![worker("a", 0), worker("b", 0), worker("c", 0)]);
        check_all(
            &vitals.findings(LIMIT_MS, "1.0.0"),
            &[
                ("workers", Verdict::Good, &["3 workers alive, 6 threads -> "]),
                ("dead letters", Verdict::Good, &["none -> "]),
            ],
        );
        let one = Presence { threads: 1, ..worker("a", 0) };
        let vitals = Vitals { dead_letters: 1, ..with_workers(vec![one]) };
        check_all(
            &vitals.findings(LIMIT_MS, "1.0.0"),
            &[
                ("workers", Verdict::Good, &["1 worker alive, 1 thread -> "]),
                ("dead letters", Verdict::Good, &["1 dead letter, none of the last ten minutes -> "]),
            ],
        );
    }

    #[test]
    fn no_worker_matters_more_while_there_are_jobs() {
        let remedy = "`puzzled worker`; it finds this Redis by redis.url";
        check(&empty(), &[("workers", Verdict::Warning, &["no worker is alive -> ", remedy])]);
        for (waiting, running, words) in [
            (1, 0, "1 job waits"),
            (0, 1, "1 job runs"),
            (2, 1, "2 jobs wait and 1 runs"),
            (0, 2, "2 jobs run"),
        ] {
            let streams = vec![stream(0, Kind::Sudoku, waiting, running, 0)];
            let said = format!("no worker is alive, and {words} -> ");
            check(&Vitals { streams, ..empty() }, &[("workers", Verdict::Bad, &[&said, remedy])]);
        }
    }

    #[test]
    fn a_kind_that_holds_jobs_needs_a_worker_that_serves_it() {
        let only = |kinds: &[Kind]| Presence {
            kinds: kinds.iter().map(|kind| kind.name().to_owned()).collect(),
            ..worker("a", 0)
        };
        let bed = |workers: Vec<Presence>, jobs: u64| Vitals {
            streams: vec![stream(0, Kind::Sudoku, 1, 1, 0), stream(0, Kind::Slide, jobs, 0, 0)],
            ..with_workers(workers)
        };
        let sudoku = only(&[Kind::Sudoku]);
        check(&bed(vec![sudoku.clone()], 0), &[]);
        let words = "slide: 3 jobs wait, and no living worker serves this kind";
        let unserved: &[(&str, Verdict, &[&str])] =
            &[("kinds", Verdict::Bad, &[words, "`puzzled worker --kinds slide`"])];
        check(&bed(vec![sudoku.clone()], 3), unserved);
        check(&bed(vec![sudoku.clone(), only(&[Kind::Slide, Kind::Sudoku])], 3), &[]);
        // An older worker does not say what it serves.
        check(&bed(vec![sudoku.clone(), only(&[])], 3), &[]);
        let silent = Presence { seen_ms: NOW_MS - ALIVE_MS - 1, ..only(&[Kind::Slide]) };
        check(&bed(vec![sudoku, silent], 3), &[unserved[0], ("silent", Verdict::Warning, &[])]);
    }

    #[test]
    fn silent_workers_are_named() {
        check(&with_workers(vec![worker("a", 0), worker("b", ALIVE_MS)]), &[]);
        check(
            &with_workers(vec![worker("a", 0), worker("b", ALIVE_MS + 1)]),
            &[(
                "silent",
                Verdict::Warning,
                &[
                    "1 worker is silent: b on host b-host for 5 s -> its chunks are taken over when their leases end",
                ],
            )],
        );
        let silent = ["b", "c", "d", "e", "f"].map(|name| worker(name, 40_000));
        let mut vitals = with_workers(vec![worker("a", 0)]);
        vitals.workers.extend(silent[..3].iter().cloned());
        let three = "b on host b-host for 40 s, c on host c-host for 40 s, d on host d-host for 40 s";
        let said = format!("3 workers are silent: {three} -> their chunks");
        check(&vitals, &[("silent", Verdict::Warning, &[&said, "look at their hosts"])]);
        vitals.workers.extend(silent[3..].iter().cloned());
        let said = format!("5 workers are silent: {three} and 2 more -> ");
        check(&vitals, &[("silent", Verdict::Warning, &[&said])]);
        assert_eq!((vitals.alive().count(), vitals.silent().count()), (1, 5));
    }

    #[test]
    fn a_job_waits_no_longer_than_the_limit() {
        let bed = |oldest: &[u64]| Vitals {
            streams: (0..).zip(oldest).map(|(shard, &ms)| stream(shard, Kind::Sudoku, 1, 0, ms)).collect(),
            ..with_workers(vec![worker("a", 0)])
        };
        check(&bed(&[LIMIT_MS]), &[]);
        check(&bed(&[LIMIT_MS + 1]), &[("oldest", Verdict::Warning, &["has waited 1 min (limit 1 min)"])]);
        // The oldest of all shards.
        let words = "sudoku at priority normal: the oldest job has waited 3 min 20 s (limit 1 min)";
        let mut late = bed(&[7, 200_000, 90_000]);
        check(&late, &[("oldest", Verdict::Warning, &[words, "more workers"])]);
        let subjects = |vitals: &Vitals, limit_ms| -> Vec<&str> {
            vitals.findings(limit_ms, "1.0.0").iter().map(|finding| finding.subject).collect()
        };
        assert_eq!(subjects(&late, 0), ["workers", "dead letters"], "no limit");
        late.paused = vec![Paused { kind: Kind::Sudoku, since_ms: 0 }];
        assert_eq!(subjects(&late, LIMIT_MS), ["workers", "paused", "dead letters"]);
    }

    #[test]
    fn a_paused_kind_is_told_while_jobs_wait() {
        let bed = |waiting, running| Vitals {
            streams: vec![stream(0, Kind::Sudoku, waiting, running, 0)],
            paused: vec![Paused { kind: Kind::Sudoku, since_ms: NOW_MS - 720_000 }],
            ..with_workers(vec![worker("a", 0)])
        };
        check(&bed(0, 1), &[]);
        check(
            &bed(1, 1),
            &[(
                "paused",
                Verdict::Warning,
                &["sudoku has been paused for 12 min; 1 job waits -> `puzzled resume sudoku`"],
            )],
        );
        check(&Vitals { paused: Vec::new(), ..bed(1, 1) }, &[]);
    }

    #[test]
    fn dead_letters_are_told_while_they_are_new() {
        let bed = |dead_letters, dead_letters_recent| Vitals {
            dead_letters,
            dead_letters_recent,
            ..with_workers(vec![worker("a", 0)])
        };
        check(&bed(5, 0), &[]);
        let one = "1 job failed in the last ten minutes, 1 dead letter in all -> `puzzled dead list`";
        check(&bed(1, 1), &[("dead letters", Verdict::Warning, &[one])]);
        let some = "2 jobs failed in the last ten minutes, 5 dead letters in all";
        check(&bed(5, 2), &[("dead letters", Verdict::Warning, &[some])]);
    }

    #[test]
    fn versions_are_told_when_they_differ() {
        let of = |name: &str, version: &str| Presence { version: version.to_owned(), ..worker(name, 0) };
        let same = with_workers(vec![of("a", "1.0.0"), of("b", "1.0.0")]);
        check(&same, &[]);
        let mixed = with_workers(vec![of("a", "1.0.0"), of("b", "0.9.0"), of("c", "1.0.0")]);
        let words =
            "1 worker runs 0.9.0, 2 workers run 1.0.0; this program is 1.0.0 -> upgrade workers before";
        check(&mixed, &[("versions", Verdict::Warning, &[words, "docs/protocol.md"])]);
        let other = with_workers(vec![of("a", "0.9.0"), of("b", "0.9.0")]);
        let words = "2 workers run 0.9.0; this program is 1.0.0";
        check(&other, &[("versions", Verdict::Warning, &[words])]);
        // Of the silent nobody knows that they will come back.
        let gone = Presence { seen_ms: NOW_MS - ALIVE_MS - 1, ..of("b", "0.9.0") };
        check(&with_workers(vec![worker("a", 0), gone]), &[("silent", Verdict::Warning, &[])]);
    }

    #[test]
    fn spans_in_words() {
        for (ms, words) in [
            (0, "0 s"),
            (999, "999 ms"),
            (59_999, "59 s"),
            (60_000, "1 min"),
            (200_000, "3 min 20 s"),
            (3_599_999, "59 min 59 s"),
            (3_600_000, "1 h"),
            (7_500_000, "2 h 5 min"),
            (86_400_000, "1 d"),
            (100_000_000, "1 d 3 h"),
        ] {
            assert_eq!(in_words(ms), words);
        }
    }
}
