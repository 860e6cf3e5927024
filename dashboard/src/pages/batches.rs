//! The list of batches, and a row of it.

use askama::Template;
use puzzled_solver::OutcomeKind;

use crate::chart::{self, Svg};
use crate::pages::{CELL_CHARS, Chrome, Part, Scene, look_of, parts, query};
use crate::snapshot::Batch;
use crate::text;
use crate::view::View;

/// Batches of a page, the first time and at most.
pub(crate) const COUNT: usize = 50;
pub(crate) const COUNT_MAX: usize = 200;

/// Longest text that is searched for, in characters.
const SEARCH_CHARS: usize = 200;

#[derive(Template)]
#[template(path = "batches.html", blocks = ["live"])]
pub(super) struct BatchesPage {
    chrome: Chrome,
    q: String,
    rows: Vec<Row>,
    /// The query for more; empty when there are none.
    more: String,
}

impl BatchesPage {
    pub(super) fn of(scene: &Scene<'_>, q: &str, count: usize, batches: &[Batch]) -> Self {
        let is_cut = batches.len() >= count && count < COUNT_MAX;
        let next = (count * 4).min(COUNT_MAX).to_string();
        let now_ms = scene.frame.snapshot.time_ms;
        Self {
            chrome: scene.chrome("Batches"),
            rows: batches.iter().map(|batch| Row::of(batch, now_ms)).collect(),
            more: if is_cut { query(&[("q", q), ("count", &next)]) } else { String::new() },
            q: q.to_owned(),
        }
    }
}

/// A batch in words.
pub(super) struct Row {
    pub(super) id: String,
    pub(super) short: String,
    pub(super) name: String,
    pub(super) is_named: bool,
    pub(super) task: String,
    pub(super) priority: &'static str,
    pub(super) state: &'static str,
    pub(super) bar: Svg,
    pub(super) percent: String,
    pub(super) submitted: String,
    pub(super) rate: String,
    pub(super) left: String,
    pub(super) outcomes: Vec<Part>,
    pub(super) age: String,
}

impl Row {
    pub(super) fn of(batch: &Batch, now_ms: u64) -> Self {
        let id = batch.id.to_string();
        // The first half of it is the time it was made at, which batches of one second share.
        let short = format!("{}…{}", &id[..8], &id[28..]);
        let counts = |kind: OutcomeKind| batch.outcomes.get(kind.name()).copied().unwrap_or(0);
        let ended = batch.done + batch.failed + batch.cancelled;
        let mut bars: Vec<(&str, u64)> =
            OutcomeKind::ALL.into_iter().map(|kind| (look_of(kind).0, counts(kind))).collect();
        bars.push(("o-running", batch.running));
        let label = text::clip(&batch.label, CELL_CHARS);
        Self {
            name: if label.is_empty() { short.clone() } else { label.clone() },
            is_named: !label.is_empty(),
            task: text::clip(&brief(&batch.task), CELL_CHARS),
            priority: batch.priority,
            state: batch.state,
            bar: chart::stack(&bars, batch.submitted),
            percent: text::percent(ended, batch.submitted),
            submitted: text::count(batch.submitted),
            rate: if batch.is_going() {
                format!("{}/s", text::rate(batch.jobs_per_second))
            } else {
                "–".to_owned()
            },
            left: batch.done_in_ms.map_or_else(|| "–".to_owned(), text::span),
            outcomes: parts(counts, false),
            age: format!("{} ago", text::span(now_ms.saturating_sub(batch.created_ms))),
            id,
            short,
        }
    }
}

/// A task without the options that are at their defaults.
fn brief(task: &str) -> String {
    task.parse().map_or_else(|_| task.to_owned(), |task: puzzled_solver::Task| task.brief())
}

/// The view of a query.
pub(crate) fn view(q: &str, count: Option<usize>) -> View {
    let q = q.trim().chars().take(SEARCH_CHARS).collect();
    View::Batches { q, count: count.unwrap_or(COUNT).clamp(1, COUNT_MAX) }
}
