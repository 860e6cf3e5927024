//! `puzzled submit`: puts a file on the queue and prints the batch id.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use puzzled_producer::{Input, SubmitError, SubmitOptions};
use puzzled_queue::{Batch, BatchId, BatchName, Priority};
use puzzled_service::Exit;
use puzzled_solver::Task;

use crate::failure::Failure;
use crate::settings::Settings;
use crate::terminal::{self, Display};

/// Flags of `puzzled submit`.
#[derive(Args, Debug)]
#[command(after_help = help())]
pub(crate) struct SubmitArgs {
    /// One puzzle a line; - reads standard input.
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// What to do with each puzzle [default: guessed from the first line].
    #[arg(long)]
    task: Option<Task>,
    /// high, normal or low.
    #[arg(long, default_value_t)]
    priority: Priority,
    /// A name for people, shown by `puzzled batches`.
    #[arg(long, default_value = "", hide_default_value = true)]
    label: String,
    /// Batch id, a UUID. Submitting the same file under the same id again goes on where it ended and doubles nothing.
    #[arg(long, value_name = "UUID")]
    id: Option<BatchId>,
    /// Go on with a batch that a submit left open; what it holds is compared with FILE, and not sent again.
    #[arg(long, value_name = "BATCH", conflicts_with_all = ["id", "task", "priority", "label", "keep"])]
    resume: Option<BatchName>,
    /// Keep the results until somebody deletes them, instead of a day.
    #[arg(long)]
    keep: bool,
    /// Say nothing but errors and bad lines.
    #[arg(short, long)]
    quiet: bool,
}

fn help() -> String {
    format!(
        "The batch id is printed at once, before the input is read to its end.\n\n{}\nExamples:\n  \
         puzzled submit puzzles.txt\n  \
         id=$(puzzled submit --priority low --label nightly puzzles.txt); puzzled watch $id; puzzled results $id\n  \
         puzzled submit --resume 01997e60-5bd0-7cc1-8d1e-3b1f0a2c4d5e puzzles.txt   # after a crash",
        super::tasks()
    )
}

/// Returns when every line is accepted. SIGINT leaves the batch open.
pub(crate) async fn run(settings: &Settings, args: &SubmitArgs) -> Result<(), Failure> {
    settings.producer.validate()?;
    let mut input = Input::open(&args.input)?;
    let queue = super::connect(settings).await?;
    let mut batch = match &args.resume {
        Some(name) => {
            let id = queue.find(name).await?;
            let left = queue.status(id).await?;
            Batch { id, priority: left.priority, ..Batch::new(left.task) }
        }
        None => Batch {
            id: args.id.unwrap_or_else(BatchId::new),
            priority: args.priority,
            label: args.label.clone(),
            keep: args.keep,
            ..Batch::new(super::task(args.task.as_ref(), &mut input)?)
        },
    };
    let config = super::cut(settings, Some(&queue), &batch.task).await?;
    batch.chunk_jobs = config.chunk_jobs;
    let opened = queue.create(&batch).await?;
    terminal::print(&format!("{}\n", batch.id))?;
    let shutdown = super::on_signals(settings)?;
    let display = Display::new(input.name(), args.quiet, false);
    let (watched, kind) = (queue.clone(), batch.task.kind());
    let (id, file) = (batch.id, args.input.display().to_string());
    let options =
        SubmitOptions { batch, opened, config, patience: Duration::from_secs(settings.redis.patience_s) };
    let ended = puzzled_producer::submit(queue, options, input, display.report(), shutdown.draining()).await;
    display.finish();
    let go_on = || format!("go on with: puzzled submit --resume {id} {file}");
    match ended {
        Ok(submitted) => {
            if !args.quiet {
                let bad = if submitted.bad > 0 {
                    format!(", {} of them invalid", submitted.bad)
                } else {
                    String::new()
                };
                let before = match submitted.before {
                    0 => String::new(),
                    jobs => format!(", {jobs} of them before"),
                };
                terminal::say(&format!("{} jobs submitted{before}{bad}", submitted.jobs));
                super::pause::warn(&watched, kind).await?;
            }
            Ok(())
        }
        Err(SubmitError::Queue(error)) => {
            let transient = error.is_transient();
            let failure = Failure::from(error);
            let rest = if transient { format!(". {}", go_on()) } else { String::new() };
            Err(Failure::new(failure.exit, failure.message + &rest))
        }
        Err(SubmitError::Input(error)) => Err(error.into()),
        Err(SubmitError::Stopped(jobs)) => Err(Failure::new(
            Exit::Interrupted,
            format!(
                "stopped after {jobs} jobs, which are being solved; {}; or give it up: puzzled cancel {id}",
                go_on()
            ),
        )),
        Err(error @ SubmitError::Differs(_)) => {
            Err(Failure::new(Exit::Usage, format!("batch {id}: {error}")))
        }
    }
}
