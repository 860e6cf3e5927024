//! `puzzled solve`: submits a file and prints the outcomes as they come.

use std::fs::{File, OpenOptions};
use std::io::IsTerminal;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use puzzled_producer::{Backend, Format, Input, Options, SolveError, Stand, Summary};
use puzzled_queue::wire::Encoding;
use puzzled_queue::{Batch, Priority};
use puzzled_service::{Exit, Shutdown};
use puzzled_solver::Task;

use crate::embedded::Embedded;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::terminal::{self, Display};

/// Flags of `puzzled solve`.
#[derive(Args, Debug)]
#[command(after_help = help())]
pub(crate) struct SolveArgs {
    /// One puzzle a line; - reads standard input.
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Write answers here instead of standard output. They are written as they come, so an early end leaves the
    /// beginning.
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// What to do with each puzzle [default: guessed from the first line].
    #[arg(long)]
    task: Option<Task>,
    /// high, normal or low.
    #[arg(long, default_value_t)]
    priority: Priority,
    /// A name for people, shown by `puzzled batches`.
    #[arg(long, default_value = "", hide_default_value = true)]
    label: String,
    /// Leave the results in Redis after they are written.
    #[arg(long)]
    keep: bool,
    /// text, ndjson or csv.
    #[arg(long, default_value_t)]
    format: Format,
    /// Solve in this process even if a Redis is configured.
    #[arg(long)]
    embedded: bool,
    /// Say nothing but errors and bad lines.
    #[arg(short, long)]
    quiet: bool,
}

/// The table of tasks and examples.
fn help() -> String {
    format!(
        "One line of output for each line of input, in the same order: the answer, NoSolution, or Invalid: reason.\n\
         Bad lines are described on standard error and never stop the rest. Without a configured Redis the puzzles \
         are solved in this process.\n\n{}\nExamples:\n  \
         puzzled solve puzzles.txt -o answers.txt\n  \
         puzzled solve --task sudoku.count puzzles.txt\n  \
         zcat puzzles.gz | puzzled --redis redis://127.0.0.1:6379 solve - --format ndjson\n  \
         tail -f puzzles.log | puzzled solve -",
        super::tasks()
    )
}

/// Runs to the end of the input, or to SIGINT, which cancels the batch.
pub(crate) async fn run(settings: &Settings, args: &SolveArgs) -> Result<(), Failure> {
    settings.producer.validate()?;
    let mut input = Input::open(&args.input)?;
    let (output, output_name) = open_output(args.output.as_deref(), &input)?;
    // Redis is asked before standard input is: nobody should type puzzles for a server that is not there.
    let queue = if args.embedded || !settings.redis.is_configured() {
        None
    } else {
        Some(super::connect(settings).await?)
    };
    let task = super::task(args.task.as_ref(), &mut input)?;
    let batch =
        Batch { priority: args.priority, label: args.label.clone(), keep: args.keep, ..Batch::new(task) };
    let mut config = settings.producer.clone();
    if queue.is_none() {
        // Nothing travels, so nothing is gained.
        config.encoding = Encoding::Text;
    }
    let options = Options {
        batch,
        config,
        patience: Duration::from_secs(settings.redis.patience_s),
        format: args.format,
    };
    let shutdown = super::on_signals(settings)?;
    let display = Display::new(input.name(), args.quiet, output.is_terminal());
    let job = Job { options, input, output, output_name, display: &display, quiet: args.quiet };
    match queue {
        Some(queue) => job.run(queue, true, &shutdown).await,
        None => {
            settings.worker.validate()?;
            let embedded = Embedded::start(settings.worker.thread_count())
                .map_err(|e| Failure::new(Exit::Internal, format!("cannot start solver threads: {e}")))?;
            if !args.quiet {
                let reason = if args.embedded { "--embedded" } else { "no Redis is configured" };
                display.say(&format!("puzzled: {reason}: solving here, on {} threads", embedded.threads()));
            }
            job.run(embedded, false, &shutdown).await
        }
    }
}

struct Job<'a> {
    options: Options,
    input: Input,
    output: File,
    output_name: String,
    display: &'a std::sync::Arc<Display>,
    quiet: bool,
}

impl Job<'_> {
    /// `durable`: outcomes that are not written stay where somebody can fetch them.
    async fn run<B: Backend>(self, backend: B, durable: bool, shutdown: &Shutdown) -> Result<(), Failure> {
        let report = self.display.report();
        let keep = self.options.batch.keep && durable;
        let ended = puzzled_producer::solve(
            backend,
            self.options,
            self.input,
            self.output,
            report,
            shutdown.draining(),
        )
        .await;
        self.display.finish();
        match ended {
            Ok(summary) => finish(&summary, keep, self.quiet),
            Err(error) => Err(failure(error, durable, &self.output_name)),
        }
    }
}

fn finish(summary: &Summary, keep: bool, quiet: bool) -> Result<(), Failure> {
    if !quiet {
        terminal::say(&terminal::summary(&summary.outcomes, summary.elapsed));
        if keep {
            terminal::say(&format!("kept: puzzled results {}", summary.batch));
        }
    }
    terminal::verdict(&summary.outcomes, summary.cancelled)
}

fn failure(error: SolveError, durable: bool, output: &str) -> Failure {
    match error {
        SolveError::Queue { error, stand } => {
            let rest = stand.filter(|_| durable).map(|stand| format!(". {}", way_on(&stand)));
            let failure = Failure::from(error);
            Failure::new(failure.exit, failure.message + &rest.unwrap_or_default())
        }
        SolveError::Input(error) => error.into(),
        SolveError::Output { error, stand } => {
            let rest = if durable { format!(". {}", way_on(&stand)) } else { String::new() };
            Failure::new(
                Exit::Output,
                format!(
                    "cannot write {output} after {} lines: {}{rest}",
                    stand.written,
                    terminal::plain(&error)
                ),
            )
        }
        SolveError::Stopped { cancelled, stand } => {
            let batch = stand.batch;
            let fate = match cancelled {
                _ if !durable => String::new(),
                Ok(jobs) => format!("; batch {batch} is cancelled, {jobs} of its jobs were unfinished"),
                Err(error) => {
                    format!(
                        "; batch {batch} could not be cancelled ({error}), do it with: puzzled cancel {batch}"
                    )
                }
            };
            Failure::new(Exit::Interrupted, format!("stopped after {} results{fate}", stand.written))
        }
    }
}

/// How to get at what is not written.
fn way_on(stand: &Stand) -> String {
    let from = stand.written.saturating_sub(stand.first);
    let fetch =
        format!("The other results stay; fetch them with: puzzled results {} --from {from}", stand.batch);
    if stand.input_over {
        fetch
    } else {
        format!("{fetch} (jobs from input line {} on were not submitted)", stand.submitted + 1)
    }
}

/// Opens the output, which must not be the input.
fn open_output(path: Option<&Path>, input: &Input) -> Result<(File, String), Failure> {
    let Some(path) = path.filter(|path| *path != Path::new("-")) else {
        return Ok((terminal::stdout_file()?, "standard output".to_owned()));
    };
    let name = path.display().to_string();
    let failed = |error: std::io::Error| terminal::broken(&name, &error);
    // Truncated only after the check.
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path).map_err(failed)?;
    let (ours, theirs) = (file.metadata().map_err(failed)?, input.file().metadata().map_err(failed)?);
    if ours.is_file() {
        if (ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino()) {
            return Err(Failure::new(Exit::Usage, format!("{name} is the input: choose another output")));
        }
        file.set_len(0).map_err(failed)?;
    }
    Ok((file, name))
}
