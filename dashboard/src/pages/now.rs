//! The front page: big figures first.

use askama::Template;
use puzzled_solver::OutcomeKind;

use crate::chart::{self, Svg};
use crate::history::Sample;
use crate::pages::batches::Row;
use crate::pages::{Chrome, Part, Scene, look_of, parts};
use crate::text;

/// The big figure is of so long, in ms: chunks are recorded at once, and a second's figure would only flicker.
const STEADY_MS: u64 = 5_000;

/// Batches shown here.
const BATCHES_MAX: usize = 6;

#[derive(Template)]
#[template(path = "now.html", blocks = ["live"])]
pub(super) struct NowPage {
    chrome: Chrome,
    rate: String,
    rate_note: String,
    rate_spark: Svg,
    tiles: Vec<Tile>,
    lanes: Vec<LaneRow>,
    minute_stack: Svg,
    minute: Vec<Part>,
    tasks: Vec<TaskRow>,
    rows: Vec<Row>,
}

/// A figure with its last five minutes behind it.
struct Tile {
    id: &'static str,
    name: &'static str,
    number: String,
    unit: &'static str,
    note: String,
    spark: Svg,
}

struct LaneRow {
    kind: &'static str,
    priority: &'static str,
    waiting: String,
    running: String,
    oldest: String,
    is_paused: bool,
    is_idle: bool,
}

struct TaskRow {
    name: String,
    rate: String,
}

impl NowPage {
    pub(super) fn of(scene: &Scene<'_>) -> Self {
        let (frame, snapshot) = (scene.frame, &scene.frame.snapshot);
        let history = &frame.history;
        let spark = |figure: fn(&Sample) -> Option<f64>| {
            chart::sparkline(history.series(figure), frame.made_ms, 1_000)
        };
        let peak = |figure: fn(&Sample) -> Option<f64>| {
            history.series(figure).map(|(_, value)| value).fold(0.0, f64::max)
        };
        let rate: fn(&Sample) -> Option<f64> = |sample| sample.rate;
        let minute = |kind: OutcomeKind| snapshot.last_minute.get(kind.name()).copied().unwrap_or(0);
        let minute_sum: u64 = OutcomeKind::ALL.into_iter().map(minute).sum();
        let bars: Vec<(&str, u64)> =
            OutcomeKind::ALL.into_iter().map(|kind| (look_of(kind).0, minute(kind))).collect();
        let lanes = snapshot.lanes.iter().map(|lane| LaneRow {
            kind: lane.kind,
            priority: lane.priority,
            waiting: text::count(lane.waiting),
            running: text::count(lane.running),
            oldest: if lane.waiting == 0 { "–".to_owned() } else { text::span(lane.oldest_waiting_ms) },
            is_paused: snapshot.paused.contains_key(lane.kind),
            is_idle: lane.waiting + lane.running == 0,
        });
        let task_row = |task: &crate::snapshot::TaskRate| TaskRow {
            name: text::clip(&task.task, 60),
            rate: text::rate(task.jobs_per_second),
        };
        Self {
            chrome: scene.chrome("Now"),
            rate: text::rate(history.mean_rate(STEADY_MS).unwrap_or(0.0)),
            rate_note: match history.mean_rate(60_000) {
                None => "Measuring.".to_owned(),
                Some(mean) => format!(
                    "{}/s on average over the last minute, {}/s at most in five",
                    text::rate(mean),
                    text::rate(peak(rate))
                ),
            },
            rate_spark: spark(rate),
            tiles: tiles(scene, minute_sum),
            lanes: lanes.collect(),
            minute_stack: chart::stack(&bars, minute_sum),
            minute: parts(minute, true),
            tasks: snapshot.tasks.iter().map(task_row).collect(),
            rows: snapshot
                .batches
                .iter()
                .take(BATCHES_MAX)
                .map(|batch| Row::of(batch, snapshot.time_ms))
                .collect(),
        }
    }
}

fn tiles(scene: &Scene<'_>, minute_sum: u64) -> Vec<Tile> {
    let (frame, totals) = (scene.frame, &scene.frame.snapshot.totals);
    let history = &frame.history;
    // A tile has not the width for a line of three hundred seconds.
    let spark =
        |figure: fn(&Sample) -> Option<f64>| chart::sparkline(history.series(figure), frame.made_ms, 3_000);
    let share = if totals.threads == 0 { 0.0 } else { totals.busy as f64 / totals.threads as f64 };
    let (drain, drain_note) = match (totals.drained_in_ms, totals.waiting + totals.running) {
        (_, 0) => ("–".to_owned(), "nothing to do"),
        (None, _) => ("–".to_owned(), "nothing moves"),
        (Some(ms), _) => (text::span(ms), "at the pace of the last half minute"),
    };
    let split = |figure: fn(&crate::snapshot::Lane) -> u64| {
        let mut sums: Vec<(&str, u64)> = Vec::new();
        for lane in &scene.frame.snapshot.lanes {
            match sums.iter_mut().find(|(priority, _)| *priority == lane.priority) {
                Some((_, sum)) => *sum += figure(lane),
                None => sums.push((lane.priority, figure(lane))),
            }
        }
        let shown: Vec<String> = sums
            .into_iter()
            .filter(|(_, sum)| *sum > 0)
            .map(|(priority, sum)| format!("{} {priority}", text::count(sum)))
            .collect();
        shown.join(", ")
    };
    let oldest = if totals.waiting == 0 { "–".to_owned() } else { text::span(totals.oldest_waiting_ms) };
    vec![
        Tile {
            id: "waiting",
            name: "Waiting",
            number: text::large(totals.waiting),
            unit: "",
            note: split(|lane| lane.waiting),
            spark: spark(|sample| Some(sample.waiting as f64)),
        },
        Tile {
            id: "running",
            name: "Running",
            number: text::large(totals.running),
            unit: "",
            note: split(|lane| lane.running),
            spark: spark(|sample| Some(sample.running as f64)),
        },
        Tile {
            id: "oldest",
            name: "Oldest waiting",
            number: oldest,
            unit: "",
            note: String::new(),
            spark: spark(|sample| Some(sample.oldest_ms as f64)),
        },
        Tile {
            id: "workers",
            name: "Workers",
            number: text::count(totals.workers),
            unit: "",
            note: format!(
                "{} of {} busy, {:.0} %",
                totals.busy,
                text::counted(totals.threads, "thread", "threads"),
                share * 100.0
            ),
            spark: spark(|sample| sample.busy),
        },
        Tile {
            id: "minute",
            name: "Last minute",
            number: text::large(minute_sum),
            unit: "",
            note: "puzzles finished".to_owned(),
            spark: spark(|sample| Some(sample.finished.iter().sum::<u64>() as f64)),
        },
        Tile {
            id: "drain",
            name: "Time to drain",
            number: drain,
            unit: "",
            note: drain_note.to_owned(),
            spark: spark(|sample| Some((sample.waiting + sample.running) as f64)),
        },
    ]
}
