//! `puzzled pause` and `puzzled resume`: hold kinds of puzzles back, and let them go on.

use std::time::Duration;

use clap::Args;
use puzzled_queue::Queue;
use puzzled_solver::Kind;

use crate::failure::Failure;
use crate::settings::Settings;
use crate::terminal;

/// Workers listen once a second; one that has not heard after this is cut off or about to end.
const HEARD_WITHIN: Duration = Duration::from_secs(4);

/// Flags of `puzzled pause`.
#[derive(Args, Debug)]
#[command(
    after_help = "Workers finish what they hold and start nothing more of these kinds; other kinds go on. Submitting goes \
                  on too. It lasts until `puzzled resume`, whatever is started again meanwhile.\n\n\
                  Example:\n  puzzled pause sudoku"
)]
pub(crate) struct PauseArgs {
    /// Kinds of puzzles: sudoku, slide.
    #[arg(value_name = "KIND", required = true, value_parser = kind)]
    kinds: Vec<Kind>,
}

/// Flags of `puzzled resume`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  puzzled resume sudoku")]
pub(crate) struct ResumeArgs {
    /// Kinds of puzzles: sudoku, slide.
    #[arg(value_name = "KIND", required = true, value_parser = kind)]
    kinds: Vec<Kind>,
}

/// Returns when every worker alive has heard of it, or is too late to.
pub(crate) async fn pause(settings: &Settings, args: &PauseArgs) -> Result<(), Failure> {
    let queue = super::connect(settings).await?;
    let mut fresh = Vec::new();
    for &kind in &args.kinds {
        fresh.push(queue.pause(kind).await?);
    }
    let (heard, alive) = wait_until_heard(&queue, &args.kinds).await?;
    let workers = match (heard, alive) {
        (_, 0) => "no worker is there".to_owned(),
        (heard, alive) if heard == alive => "every worker has heard".to_owned(),
        (heard, alive) => format!("{heard} of {alive} workers have heard"),
    };
    for (kind, fresh) in args.kinds.iter().zip(fresh) {
        let name = kind.name();
        let was = if fresh { "is" } else { "was already" };
        terminal::print(&format!("{name} {was} paused ({workers}); go on with: puzzled resume {name}\n"))?;
    }
    Ok(())
}

/// Returns at once.
pub(crate) async fn resume(settings: &Settings, args: &ResumeArgs) -> Result<(), Failure> {
    let queue = super::connect(settings).await?;
    for &kind in &args.kinds {
        let text = if queue.resume(kind).await? { "goes on" } else { "was not paused" };
        terminal::print(&format!("{} {text}\n", kind.name()))?;
    }
    Ok(())
}

/// Says so if nothing of this kind will be started.
pub(crate) async fn warn(queue: &Queue, kind: Kind) -> Result<(), Failure> {
    if queue.paused().await?.iter().any(|paused| paused.kind == kind) {
        let name = kind.name();
        terminal::say(&format!(
            "puzzled: {name} is paused: nothing of it is started until `puzzled resume {name}`"
        ));
    }
    Ok(())
}

/// How many workers have heard, and how many there are.
async fn wait_until_heard(queue: &Queue, kinds: &[Kind]) -> Result<(usize, usize), Failure> {
    let deadline = tokio::time::Instant::now() + HEARD_WITHIN;
    loop {
        let workers = queue.workers().await?;
        let knows = |kind: &Kind, paused: &[String]| paused.iter().any(|name| name == kind.name());
        let heard =
            workers.iter().filter(|worker| kinds.iter().all(|kind| knows(kind, &worker.paused))).count();
        if heard == workers.len() || tokio::time::Instant::now() >= deadline {
            return Ok((heard, workers.len()));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn kind(name: &str) -> Result<Kind, String> {
    Kind::parse(name).ok_or_else(|| {
        let known: Vec<&str> = Kind::PUBLIC.iter().map(|kind| kind.name()).collect();
        format!("there is no kind of that name; there are {}", known.join(", "))
    })
}
