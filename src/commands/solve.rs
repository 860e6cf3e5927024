//! `puzzled solve`: submits a file and prints the outcomes as they come. `puzzled generate` does the same with numbers.

use std::fs::{File, OpenOptions};
use std::io::IsTerminal;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use puzzled_producer::{Backend, Input, Options, SolveError, Stand, Summary};
use puzzled_queue::wire::Encoding;
use puzzled_queue::{Batch, Format, Priority};
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
    /// What to do with each puzzle [default: guessed from the first line].
    #[arg(long)]
    task: Option<Task>,
    #[command(flatten)]
    run: RunArgs,
}

/// Flags of commands that submit and print.
#[derive(Args, Debug)]
pub(super) struct RunArgs {
    /// Write answers here instead of standard output. They are written as they come, so an early end leaves the
    /// beginning.
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: Option<PathBuf>,
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
    pub(super) quiet: bool,
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
    let input = Input::open(&args.input)?;
    let task = |input: &mut Input| super::task(args.task.as_ref(), input);
    submit_and_print(settings, &args.run, input, task, |_| String::new()).await
}

/// Submits an input and prints the outcomes. `task` is asked for when the queue has answered. `resume` says how to go
/// on after so many outcomes, for an end that leaves nothing to fetch.
pub(super) async fn submit_and_print(
    settings: &Settings,
    args: &RunArgs,
    mut input: Input,
    task: impl FnOnce(&mut Input) -> Result<Task, Failure>,
    resume: impl Fn(u64) -> String,
) -> Result<(), Failure> {
    let (output, output_name) = open_output(args.output.as_deref(), &input)?;
    // Redis is asked before standard input is: nobody should type puzzles for a server that is not there.
    let queue = if args.embedded || !settings.redis.is_configured() {
        None
    } else {
        Some(super::connect(settings).await?)
    };
    let task = task(&mut input)?;
    if let Some(queue) = &queue {
        super::pause::warn(queue, task.kind()).await?;
    }
    let batch =
        Batch { priority: args.priority, label: args.label.clone(), keep: args.keep, ..Batch::new(task) };
    let mut config = super::cut(settings, queue.as_ref(), &batch.task).await?;
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
    let resume: &dyn Fn(u64) -> String = &resume;
    let job = Job { options, input, output, output_name, display: &display, quiet: args.quiet, resume };
    match queue {
        Some(queue) => job.run(queue, true, &shutdown).await,
        None => {
            settings.worker.validate()?;
            let embedded = Embedded::start(&settings.worker)
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
    resume: &'a dyn Fn(u64) -> String,
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
            Err(error) => Err(failure(error, durable, &self.output_name, self.resume)),
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

fn failure(error: SolveError, durable: bool, output: &str, resume: &dyn Fn(u64) -> String) -> Failure {
    match error {
        SolveError::Queue { error, stand } => {
            let rest = stand.filter(|_| durable).map(|stand| format!(". {}", way_on(&stand, "")));
            let failure = Failure::from(error);
            Failure::new(failure.exit, failure.message + &rest.unwrap_or_default())
        }
        SolveError::Input(error) => error.into(),
        SolveError::Output { error, stand } => {
            let earlier = terminal::perhaps_earlier(&error);
            let rest = match resume(stand.written) {
                _ if durable => format!(". {}", way_on(&stand, earlier)),
                resume if resume.is_empty() => resume,
                resume => resume + earlier,
            };
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
            let resume = resume(stand.written);
            Failure::new(Exit::Interrupted, format!("stopped after {} results{fate}{resume}", stand.written))
        }
    }
}

/// How to get at what is not written. `earlier`: why from before that.
fn way_on(stand: &Stand, earlier: &str) -> String {
    let from = stand.written.saturating_sub(stand.first);
    let batch = stand.batch;
    let fetch =
        format!("The other results stay; fetch them with: puzzled results {batch} --from {from}{earlier}");
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
    let ours = file.metadata().map_err(failed)?;
    if ours.is_file() {
        let theirs = input.file().map(File::metadata).transpose().map_err(failed)?;
        if theirs.is_some_and(|theirs| (ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino())) {
            return Err(Failure::new(Exit::Usage, format!("{name} is the input: choose another output")));
        }
        file.set_len(0).map_err(failed)?;
    }
    Ok((file, name))
}
