//! `puzzled dead`: jobs that failed, and what to do with them.

use std::time::Duration;

use clap::{Args, Subcommand};
use indicatif::HumanDuration;
use puzzled_queue::{BatchName, DeadFilter, DeadLetter, JobId, JobName, Queue};
use puzzled_service::Exit;
use serde_json::json;

use crate::failure::Failure;
use crate::settings::Settings;
use crate::terminal;

/// Flags of `puzzled dead`.
#[derive(Args, Debug)]
#[command(
    after_help = "A job fails when its engine panics, when its answer does not verify, or when it takes its worker with it \
                  once too often. It keeps the outcome 'failed'; its puzzle, history and reason are kept here."
)]
pub(crate) struct DeadArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// List them, newest first.
    List {
        #[command(flatten)]
        filter: Filter,
        /// How many at most.
        #[arg(short = 'n', long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        count: u32,
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Show one: puzzle, reason and every attempt.
    Show {
        /// The job.
        #[arg(value_name = "JOB")]
        job: JobName,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Submit them again, in a new batch a task, and print the new batches' ids.
    Retry(Chosen),
    /// Forget them.
    Drop(Chosen),
}

/// Which letters are meant. What is given must all fit.
#[derive(Args, Debug)]
struct Filter {
    /// Only those of this batch.
    #[arg(long, value_name = "BATCH")]
    batch: Option<BatchName>,
    /// Only those of this task, such as sudoku.solve.
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Only those whose reason holds this text.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// Letters by name, by filter, or all.
#[derive(Args, Debug)]
struct Chosen {
    /// These jobs.
    #[arg(value_name = "JOB", conflicts_with_all = ["batch", "task", "reason", "all"])]
    jobs: Vec<JobName>,
    #[command(flatten)]
    filter: Filter,
    /// All there are.
    #[arg(long, conflicts_with_all = ["batch", "task", "reason"])]
    all: bool,
}

impl Filter {
    async fn to_dead_filter(&self, queue: &Queue) -> Result<DeadFilter, Failure> {
        let batch = match &self.batch {
            Some(name) => Some(queue.find(name).await?),
            None => None,
        };
        Ok(DeadFilter { batch, task: self.task.clone(), reason: self.reason.clone() })
    }

    fn is_empty(&self) -> bool {
        self.batch.is_none() && self.task.is_none() && self.reason.is_none()
    }
}

/// Lists, shows, retries or drops.
pub(crate) async fn run(settings: &Settings, args: &DeadArgs) -> Result<(), Failure> {
    let queue = super::connect(settings).await?;
    match &args.what {
        What::List { filter, count, json } => {
            let letters = queue.dead_letters(&filter.to_dead_filter(&queue).await?, *count as usize).await?;
            list(&letters, *json)
        }
        What::Show { job, json } => {
            let job = queue.find_job(job).await?;
            let letter = queue.dead_letter(job).await?.ok_or_else(|| no_letter(job))?;
            if *json { list(&[letter], true) } else { show(&letter, queue.server_ms().await?) }
        }
        What::Retry(chosen) => {
            let letters = chosen.letters(&queue).await?;
            let batches = queue.retry_dead(&letters).await?;
            terminal::say(&format!("{} jobs submitted again", letters.len()));
            terminal::print(&batches.iter().map(|batch| format!("{}\n", batch.id)).collect::<String>())
        }
        What::Drop(chosen) => {
            let jobs: Vec<JobId> = chosen.letters(&queue).await?.iter().map(|letter| letter.job).collect();
            let dropped = queue.drop_dead(&jobs).await?;
            terminal::print(&format!("{dropped} dead letters dropped\n"))
        }
    }
}

impl Chosen {
    /// The letters meant. Naming none is an error, so that nobody drops all by leaving a word out.
    async fn letters(&self, queue: &Queue) -> Result<Vec<DeadLetter>, Failure> {
        if self.jobs.is_empty() && self.filter.is_empty() && !self.all {
            let message = "say which: job ids, a filter (--batch, --task, --reason), or --all";
            return Err(Failure::new(Exit::Usage, message));
        }
        if self.jobs.is_empty() {
            return Ok(queue.dead_letters(&self.filter.to_dead_filter(queue).await?, usize::MAX).await?);
        }
        let mut letters = Vec::with_capacity(self.jobs.len());
        for job in &self.jobs {
            let job = queue.find_job(job).await?;
            letters.push(queue.dead_letter(job).await?.ok_or_else(|| no_letter(job))?);
        }
        Ok(letters)
    }
}

fn no_letter(job: JobId) -> Failure {
    Failure::new(
        Exit::NotFound,
        format!("there is no dead letter of job {job}; `puzzled dead list` shows all"),
    )
}

fn list(letters: &[DeadLetter], json: bool) -> Result<(), Failure> {
    if json {
        let mut text = String::new();
        for letter in letters {
            text += &json!(letter).to_string();
            text += "\n";
        }
        return terminal::print(&text);
    }
    if letters.is_empty() {
        terminal::say("no dead letters");
    }
    let line =
        |letter: &DeadLetter| format!("{}  {}  {}\n", letter.job, letter.task, letter.reason.escape_debug());
    terminal::print(&letters.iter().map(line).collect::<String>())
}

fn show(letter: &DeadLetter, now_ms: u64) -> Result<(), Failure> {
    let mut text = format!(
        "job      {}\ntask     {}\npuzzle   {}\nreason   {}\n",
        letter.job,
        letter.task,
        letter.puzzle.escape_debug(),
        letter.reason.escape_debug()
    );
    for (i, attempt) in letter.history.iter().enumerate() {
        let seen = match attempt.at_ms {
            0 => "nobody saw it".to_owned(),
            at_ms => {
                let ago = Duration::from_millis(now_ms.saturating_sub(at_ms));
                format!("{}, {} ago", attempt.worker, HumanDuration(ago))
            }
        };
        text += &format!("attempt  {}: {} ({seen})\n", i + 1, attempt.end.escape_debug());
    }
    terminal::print(&text)
}
