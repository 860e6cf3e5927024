//! `puzzled demo`: the whole system on this machine, on 49,151 real puzzles, checked and measured.
//!
//! It is a producer like any other: what it prints went through Redis and came back from worker processes.

pub(crate) mod puzzles;
mod summary;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use puzzled_producer::Config;
use puzzled_queue::wire::PayloadWriter;
use puzzled_queue::{Batch, Error, Follow, LocalServer, NewChunk, Part, Queue, ServerOptions};
use puzzled_service::{Exit, Url};
use puzzled_solver::{OutcomeKind, Task};

use super::up::crew::{self, Crew, WORKERS_DEFAULT};
use super::up::{count, death_of, signals};
use crate::cli::Cli;
use crate::failure::Failure;
use crate::settings::Settings;
use summary::Tally;

/// Chunks sent in one call: enough to hide the round trip, little enough that workers begin at once.
const CHUNKS_PER_CALL: usize = 8;

/// Parts whose results are dropped from Redis in one call.
const FLUSH_PARTS: usize = 64;

/// Pause before a full queue is tried again.
const FULL_PAUSE: Duration = Duration::from_millis(20);

/// Flags of `puzzled demo`.
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// Worker processes; they share the cores.
    #[arg(long, value_name = "N", default_value_t = WORKERS_DEFAULT, value_parser = count)]
    workers: usize,
    /// Puzzles, one a line [default: the 49,151 known sudokus of 17 clues, which this program carries].
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Runs to the end of the batch. Exit 1 when anything is not solved and verified.
pub(crate) async fn run(cli: &Cli, args: &DemoArgs, settings: &Settings) -> Result<(), Failure> {
    settings.worker.validate()?;
    settings.producer.validate()?;
    let text = match &args.file {
        Some(path) => read(path)?,
        None => puzzles::sudoku17(),
    };
    let lines: Vec<&[u8]> =
        text.lines().map(str::as_bytes).filter(|line| !line.trim_ascii().is_empty()).collect();
    let Some(first) = lines.first() else {
        return Err(Failure::new(Exit::Input, "the file holds no puzzle"));
    };
    let task = Task::guess(first).ok_or_else(|| {
        Failure::new(
            Exit::Input,
            "line 1 is no puzzle of a known kind: expected 81 cells of a sudoku, or 9 tiles",
        )
    })?;

    let shutdown = signals(settings)?;
    let mut settings = settings.clone();
    // Only a Redis named on this very command line: a demo must not write to one that happens to be configured.
    let server = if cli.names_redis() {
        None
    } else {
        let options = ServerOptions { guard: crew::guard()?, ..ServerOptions::default() };
        Some(LocalServer::start(&options).await?)
    };
    if let Some(server) = &server {
        settings.redis.url = Url::new(server.url());
    }
    let queue = Queue::connect(&settings.redis).await?;
    let crew = Crew::start(cli, &settings, args.workers, &shutdown)?;
    let solved = tokio::select! {
        solved = solve(&queue, &settings, &crew, &task, &lines) => solved,
        () = shutdown.draining().cancelled_owned() => Err(Failure::new(Exit::Interrupted, "stopped by a signal")),
        () = death(server.as_ref()) => Err(Failure::new(Exit::Redis, "the private Redis died")),
    };
    shutdown.drain();
    if solved.is_err() {
        shutdown.stop_now();
    }
    crew.ended().await;
    drop(queue);
    if let Some(server) = server
        && let Err(error) = server.stop().await
    {
        tracing::warn!(%error, "cannot wait for the private Redis");
    }
    let tally = solved?;
    super::print(&tally.to_string())?;
    if tally.all_good() { Ok(()) } else { Err(Failure::silent(Exit::SomeJobsBad)) }
}

async fn death(server: Option<&LocalServer>) {
    match server {
        Some(server) => death_of(server.url()).await,
        None => std::future::pending().await,
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|e| Failure::new(Exit::Input, format!("cannot read {}: {e}", path.display())))
}

/// Sends everything and reads everything back at the same time.
async fn solve(
    queue: &Queue,
    settings: &Settings,
    crew: &Crew,
    task: &Task,
    lines: &[&[u8]],
) -> Result<Tally, Failure> {
    let workers = crew.muster(queue).await?;
    if workers == 0 {
        return Err(Failure::new(Exit::Internal, "no worker came up; the log above says why"));
    }
    if !std::io::stderr().is_terminal() {
        eprintln!("solving {} puzzles with {workers} workers", lines.len());
    }
    let batch = Batch { label: "demo".to_owned(), ..Batch::new(task.clone()) };
    queue.create(&batch).await?;
    let bar = bar(lines.len() as u64);
    let mut tally = Tally::new(task);
    let started = Instant::now();
    let sending = send(queue, &batch, lines, &settings.producer);
    let mut follow = queue.follow(batch.id, 0).await?;
    let collecting = collect(&mut follow, task, lines, &mut tally, &bar);
    tokio::try_join!(sending, collecting)?;
    tally.elapsed = started.elapsed();
    bar.finish_and_clear();
    Ok(tally)
}

async fn send(queue: &Queue, batch: &Batch, lines: &[&[u8]], config: &Config) -> Result<(), Failure> {
    let mut writer = PayloadWriter::new(&batch.task, config.encoding);
    let payloads = lines.chunks(config.chunk_jobs as usize).map(|lines| {
        for line in lines {
            writer.push(|out| {
                if let Err(error) = batch.task.canonical(line, out) {
                    out.extend_from_slice(format!("!{error}").as_bytes());
                }
            });
        }
        writer.take()
    });
    let mut chunks = NewChunk::number(payloads);
    loop {
        let some: Vec<NewChunk> = chunks.by_ref().take(CHUNKS_PER_CALL).collect();
        let last = some.is_empty();
        while let Err(error) = queue.enqueue(batch, &some, last).await {
            match error {
                Error::Full { .. } => tokio::time::sleep(FULL_PAUSE).await,
                error => return Err(error.into()),
            }
        }
        if last {
            return Ok(());
        }
    }
}

async fn collect(
    follow: &mut Follow,
    task: &Task,
    lines: &[&[u8]],
    tally: &mut Tally,
    bar: &ProgressBar,
) -> Result<(), Failure> {
    while let Some(part) = follow.next().await? {
        check(&part, task, lines, tally);
        bar.set_position(part.first + part.outcomes.len() as u64);
        follow.put_away(part.chunk);
        if follow.unflushed() >= FLUSH_PARTS {
            follow.flush().await?;
        }
    }
    Ok(follow.flush().await?)
}

/// Counts a part, and checks every answer against the line as it was read, by code that shares nothing with the
/// engines.
fn check(part: &Part, task: &Task, lines: &[&[u8]], tally: &mut Tally) {
    let first = usize::try_from(part.first).unwrap_or(usize::MAX);
    let mut puzzle = Vec::new();
    for (outcome, line) in part.outcomes.iter().zip(lines.iter().skip(first)) {
        puzzle.clear();
        let readable = task.canonical(line, &mut puzzle).is_ok();
        let solved = outcome.kind == OutcomeKind::Solved;
        tally.puzzles += 1;
        tally.solved += u64::from(solved);
        tally.verified += u64::from(solved && readable && task.verify(&puzzle, outcome));
    }
    if let Some(facts) = &part.facts {
        tally.add(facts, part.outcomes.len() as u64);
    }
}

/// Draws on stderr, and only when that is a terminal.
fn bar(jobs: u64) -> ProgressBar {
    // A wrong template is a typo here; the plain bar still serves.
    let style = ProgressStyle::with_template("{bar:40} {human_pos}/{human_len}  {rate}  {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .with_key("rate", crate::terminal::rate);
    ProgressBar::new(jobs).with_style(style)
}
