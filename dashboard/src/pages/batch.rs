//! One batch: progress, account, results, failures, cancelling.

use askama::Template;
use puzzled_queue::Format;
use puzzled_solver::OutcomeKind;

use crate::pages::batches::Row;
use crate::pages::{CELL_CHARS, Chrome, Part, Scene, look_of, parts};
use crate::snapshot::Batch;
use crate::text;
use crate::view::{BadJob, bad_jobs};

#[derive(Template)]
#[template(path = "batch.html", blocks = ["live"])]
pub(super) struct BatchPage {
    chrome: Chrome,
    row: Row,
    task: String,
    took: String,
    identity: String,
    is_balanced: bool,
    outcomes: Vec<Part>,
    is_taken: bool,
    download_note: &'static str,
    formats: Vec<Download>,
    has_bad: bool,
    has_failed: bool,
    failures: Vec<FailureRow>,
    failures_note: &'static str,
    can_cancel: bool,
    cancel_note: String,
}

struct Download {
    name: &'static str,
    extension: &'static str,
}

struct FailureRow {
    line: String,
    class: &'static str,
    outcome: &'static str,
    text: String,
}

impl BatchPage {
    pub(super) fn of(scene: &Scene<'_>, batch: &Batch, failures: &[BadJob]) -> Self {
        let row = Row::of(batch, scene.frame.snapshot.time_ms);
        let count = |name: &str| batch.outcomes.get(name).copied().unwrap_or(0);
        let left = batch.waiting + batch.running;
        Self {
            chrome: scene.chrome(&format!("Batch {}", row.name)),
            task: text::clip(&batch.task, CELL_CHARS),
            took: match batch.finished_ms {
                0 => "–".to_owned(),
                end => text::micros(end.saturating_sub(batch.created_ms) * 1000),
            },
            identity: format!(
                "{} submitted = {} done + {} failed + {} cancelled + {} waiting + {} running",
                text::count(batch.submitted),
                text::count(batch.done),
                text::count(batch.failed),
                text::count(batch.cancelled),
                text::count(batch.waiting),
                text::count(batch.running)
            ),
            is_balanced: batch.balanced,
            outcomes: parts(|kind: OutcomeKind| count(kind.name()), true),
            is_taken: batch.collected,
            download_note: if left == 0 && batch.state != "open" {
                "All of them, in the order of the input."
            } else {
                "In the order of the input, up to the first job that has no outcome yet."
            },
            formats: Format::ALL.map(|f| Download { name: name_of(f), extension: f.extension() }).into(),
            has_bad: bad_jobs(batch) > 0,
            has_failed: batch.failed > 0,
            failures: failures.iter().map(FailureRow::of).collect(),
            failures_note: if batch.collected {
                "They were taken with the results."
            } else {
                "Looking for them."
            },
            can_cancel: scene.chrome("").acts()
                && (left > 0 || batch.state == "open")
                && batch.state != "cancelled",
            cancel_note: format!(
                "{} without an outcome will be recorded as cancelled. What is recorded stays.",
                text::counted(left, "job", "jobs")
            ),
            row,
        }
    }
}

impl FailureRow {
    fn of(job: &BadJob) -> Self {
        let (class, outcome) = look_of(job.kind);
        Self { line: text::count(job.index + 1), class, outcome, text: text::clip(&job.text, 2 * CELL_CHARS) }
    }
}

fn name_of(format: Format) -> &'static str {
    match format {
        Format::Text => "text",
        Format::Ndjson => "NDJSON",
        Format::Csv => "CSV",
    }
}
