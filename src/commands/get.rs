//! `puzzled get`: the outcome of one job.

use clap::Args;
use puzzled_queue::{Error, JobName, JobState};
use puzzled_service::Exit;
use puzzled_solver::{OutcomeKind, OutcomeRef};
use serde_json::json;

use crate::failure::Failure;
use crate::settings::Settings;
use crate::terminal;

/// Flags of `puzzled get`.
#[derive(Args, Debug)]
#[command(
    after_help = "The first line of a batch is job 0. A job without outcome prints waiting or running.\n\n\
                        Example:\n  puzzled get 01997e60-5bd0-7cc1-8d1e-3b1f0a2c4d5e.17"
)]
pub(crate) struct GetArgs {
    /// The job: batch id, or enough of its beginning, a dot, and the index.
    #[arg(value_name = "JOBID")]
    job: JobName,
    /// As a JSON object.
    #[arg(long)]
    json: bool,
}

/// Prints it.
pub(crate) async fn run(settings: &Settings, args: &GetArgs) -> Result<(), Failure> {
    let queue = super::connect(settings).await?;
    let job = queue.find_job(&args.job).await?;
    let (kind, text, facts) = match queue.job(job).await? {
        JobState::Recorded { kind, text, facts } => (kind, text, facts),
        JobState::Collected => return Err(Error::Collected(job.batch).into()),
        state @ (JobState::Waiting | JobState::Running) => {
            let word = if state == JobState::Waiting { "waiting" } else { "running" };
            let json = json!({"job": job.to_string(), "state": word});
            return terminal::print(&if args.json { format!("{json}\n") } else { format!("{word}\n") });
        }
    };
    let outcome = OutcomeRef { kind, text: &text };
    let line = if args.json {
        let mut json = json!({"job": job.to_string(), "state": "recorded", "outcome": kind.name()});
        let text = String::from_utf8_lossy(&text);
        match kind {
            OutcomeKind::Invalid | OutcomeKind::Failed => json["reason"] = text.into(),
            OutcomeKind::NoSolution | OutcomeKind::Cancelled => {}
            OutcomeKind::Solved | OutcomeKind::Multiple | OutcomeKind::TimedOut => {
                json["answer"] = text.into()
            }
        }
        if let Some(facts) = facts {
            json["worker"] = facts.worker.into();
            json["wait_us"] = facts.wait_us.into();
            json["chunk_solve_us"] = facts.solve_us.into();
        }
        json.to_string()
    } else {
        let mut line = Vec::new();
        outcome.write_text(&mut line);
        String::from_utf8_lossy(&line).into_owned()
    };
    terminal::print(&format!("{line}\n"))?;
    match kind {
        OutcomeKind::Solved | OutcomeKind::Multiple | OutcomeKind::NoSolution => Ok(()),
        OutcomeKind::Invalid | OutcomeKind::Failed | OutcomeKind::TimedOut => {
            Err(Failure::silent(Exit::SomeJobsBad))
        }
        OutcomeKind::Cancelled => Err(Failure::silent(Exit::Cancelled)),
    }
}
