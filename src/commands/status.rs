//! `puzzled status`: how a batch stands.

use clap::Args;
use puzzled_queue::{BatchName, BatchStatus};
use puzzled_solver::OutcomeKind;
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::settings::Settings;
use crate::terminal;

/// Flags of `puzzled status`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  puzzled status 01997e60-5bd0-7cc1-8d1e-3b1f0a2c4d5e")]
pub(crate) struct StatusArgs {
    /// The batch: its id, or enough of its beginning.
    #[arg(value_name = "BATCH")]
    batch: BatchName,
    /// As a JSON object.
    #[arg(long)]
    json: bool,
}

/// Prints it.
pub(crate) async fn run(settings: &Settings, args: &StatusArgs) -> Result<(), Failure> {
    let queue = super::connect(settings).await?;
    let status = queue.status(queue.find(&args.batch).await?).await?;
    if !status.finished() && !status.cancelled {
        super::pause::warn(&queue, status.task.kind()).await?;
    }
    terminal::print(&if args.json { format!("{}\n", to_json(&status)) } else { to_text(&status) })
}

/// The accounting identity in words, and what is known besides.
fn to_text(status: &BatchStatus) -> String {
    let of = |kind| status.outcome(kind);
    let more = if status.closed { "" } else { " (more may come)" };
    let label =
        if status.label.is_empty() { String::new() } else { format!(" \"{}\"", status.label.escape_debug()) };
    format!(
        "batch {}{label}\n{} priority {}: {}\n\
         {} submitted{more} = {} done + {} failed + {} cancelled + {} waiting + {} running\n{}",
        status.id,
        status.task.brief(),
        status.priority,
        status.state(),
        status.submitted,
        status.done(),
        of(OutcomeKind::Failed),
        of(OutcomeKind::Cancelled),
        status.waiting(),
        status.running(),
        match terminal::in_words(&status.outcomes) {
            words if words.is_empty() => String::new(),
            words => format!("outcomes: {words}\n"),
        },
    )
}

/// The same for machines.
pub(crate) fn to_json(status: &BatchStatus) -> Value {
    let outcomes: Map<String, Value> =
        OutcomeKind::ALL.iter().map(|kind| (kind.name().to_owned(), status.outcome(*kind).into())).collect();
    json!({
        "batch": status.id.to_string(),
        "task": status.task.to_string(),
        "priority": status.priority.name(),
        "label": status.label,
        "state": status.state(),
        "submitted": status.submitted,
        "done": status.done(),
        "failed": status.outcome(OutcomeKind::Failed),
        "cancelled": status.outcome(OutcomeKind::Cancelled),
        "waiting": status.waiting(),
        "running": status.running(),
        "outcomes": outcomes,
        "closed": status.closed,
        "keep": status.keep,
        "created_ms": status.created_ms,
        "finished_ms": status.finished_ms,
    })
}
