//! Dead letters: why they failed, and what to do with them.

use askama::Template;
use puzzled_queue::{DeadFilter, DeadLetter};

use crate::pages::{CELL_CHARS, Chrome, Scene, TEXT_CHARS, query};
use crate::text;

/// Letters of a page, the first time and at most.
pub(crate) const COUNT: usize = 50;
pub(crate) const COUNT_MAX: usize = 200;

#[derive(Template)]
#[template(path = "dead.html", blocks = ["live"])]
pub(super) struct DeadPage {
    chrome: Chrome,
    kept: String,
    reason: String,
    task: String,
    batch: String,
    is_filtered: bool,
    /// `&batch=..`, as the filter is.
    filter_query: String,
    all_name: String,
    all_note: &'static str,
    rows: Vec<LetterRow>,
    more: String,
}

struct LetterRow {
    job: String,
    short: String,
    batch: String,
    task: String,
    reason: String,
    puzzle: String,
    attempts: Vec<String>,
    age: String,
}

impl DeadPage {
    pub(super) fn of(
        scene: &Scene<'_>,
        filter: &DeadFilter,
        count: usize,
        letters: &[DeadLetter],
        kept: u64,
    ) -> Self {
        let (reason, task) =
            (filter.reason.clone().unwrap_or_default(), filter.task.clone().unwrap_or_default());
        let batch = filter.batch.map(|id| id.to_string()).unwrap_or_default();
        let fields = [("reason", reason.as_str()), ("task", &task), ("batch", &batch)];
        let filter_query = query(&fields);
        let is_cut = letters.len() >= count && count < COUNT_MAX;
        let next = (count * 4).min(COUNT_MAX).to_string();
        let now_ms = scene.frame.snapshot.time_ms;
        let is_filtered = *filter != DeadFilter::default();
        let found = letters.len() as u64;
        Self {
            chrome: scene.chrome("Dead letters"),
            kept: format!("{} kept.", text::counted(kept, "is", "are")),
            more: if is_cut {
                query(&[&fields[..], &[("count", next.as_str())]].concat())
            } else {
                String::new()
            },
            all_name: match (is_filtered, is_cut) {
                (false, _) => format!("All {}…", text::count(kept)),
                (true, false) => format!("All {} that match…", text::count(found)),
                (true, true) => format!("All that match, {} or more…", text::count(found)),
            },
            all_note: if is_filtered {
                "Every letter that fits the filter, those too that are not shown here."
            } else {
                "Every dead letter there is, those too that are not shown here."
            },
            rows: letters.iter().map(|letter| LetterRow::of(letter, now_ms)).collect(),
            filter_query: if filter_query.is_empty() { String::new() } else { format!("&{filter_query}") },
            reason,
            task,
            batch,
            is_filtered,
        }
    }
}

impl LetterRow {
    fn of(letter: &DeadLetter, now_ms: u64) -> Self {
        let (job, batch) = (letter.job.to_string(), letter.job.batch.to_string());
        let attempt = |attempt: &puzzled_queue::Attempt| {
            let seen = match attempt.at_ms {
                0 => "nobody saw it".to_owned(),
                at_ms => format!("{}, {} ago", attempt.worker, text::span(now_ms.saturating_sub(at_ms))),
            };
            text::clip(&format!("{} ({seen})", attempt.end), TEXT_CHARS)
        };
        Self {
            short: format!("{}…{}.{}", &batch[..8], &batch[28..], letter.job.index),
            task: text::clip(&letter.task, CELL_CHARS),
            reason: text::clip(&letter.reason, 2 * CELL_CHARS),
            puzzle: text::clip(&letter.puzzle, TEXT_CHARS),
            attempts: letter.history.iter().map(attempt).collect(),
            age: format!("{} ago", text::span(now_ms.saturating_sub(letter.at_ms))),
            job,
            batch,
        }
    }
}
