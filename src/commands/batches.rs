//! `puzzled batches`: the newest batches, or those of a name.

use clap::Args;
use serde_json::Value;

use crate::failure::Failure;
use crate::settings::Settings;
use crate::{commands::status, terminal};

/// Flags of `puzzled batches`.
#[derive(Args, Debug)]
pub(crate) struct BatchesArgs {
    /// Only those whose id or label begins with this, whatever its case.
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    /// How many at most.
    #[arg(short = 'n', long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    count: u32,
    /// As a JSON array.
    #[arg(long)]
    json: bool,
}

/// Prints them, newest first.
pub(crate) async fn run(settings: &Settings, args: &BatchesArgs) -> Result<(), Failure> {
    let (queue, count) = (super::connect(settings).await?, args.count as usize);
    let batches = match &args.text {
        Some(text) => queue.search(text, count).await?,
        None => queue.recent(count).await?,
    };
    if args.json {
        let list: Vec<Value> = batches.iter().map(status::to_json).collect();
        return terminal::print(&format!("{}\n", Value::Array(list)));
    }
    if batches.is_empty() {
        terminal::say("no batches");
    }
    let mut text = String::new();
    for batch in &batches {
        text += &format!(
            "{}  {:9}  {:>10} of {:<10}  {}  {}\n",
            batch.id,
            batch.state(),
            batch.recorded,
            batch.submitted,
            batch.task.brief(),
            batch.label.escape_debug()
        );
    }
    terminal::print(&text)
}
