//! The command line: global flags, subcommands, and what they set.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use puzzled_service::Exit;

use crate::commands::{
    batches, bench, cancel, config, dashboard, demo, doctor, get, guard, results, solve, status, submit, up,
    watch, worker,
};

/// A distributed job queue for puzzles.
#[derive(Parser, Debug)]
#[command(name = "puzzled", version, about, after_help = exit_codes(), arg_required_else_help = true)]
pub(crate) struct Cli {
    /// Settings file [default: ./puzzled.toml if there is one].
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where Redis is, such as redis://127.0.0.1:6379.
    #[arg(long, global = true, value_name = "URL")]
    redis: Option<String>,
    /// Any setting, such as worker.prefetch=3; `puzzled config` lists them. May be repeated.
    #[arg(long = "set", global = true, value_name = "KEY=VALUE", value_parser = key_value)]
    sets: Vec<(String, String)>,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The roles and tools.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Solve a file of puzzles and print the answers as they come.
    Solve(solve::SolveArgs),
    /// Put a file of puzzles on the queue and print its batch id.
    Submit(submit::SubmitArgs),
    /// Show how a batch stands.
    Status(status::StatusArgs),
    /// Show a batch's progress until it ends.
    Watch(watch::WatchArgs),
    /// Print a batch's outcomes in input order.
    Results(results::ResultsArgs),
    /// Print the outcome of one job.
    Get(get::GetArgs),
    /// End a batch at once.
    Cancel(cancel::CancelArgs),
    /// List the newest batches.
    Batches(batches::BatchesArgs),
    /// Claim chunks, solve them on every core, record the outcomes.
    Worker(worker::WorkerArgs),
    /// Start a private Redis, workers and the dashboard on this machine.
    Up(up::UpArgs),
    /// See it work: solve 49,151 sudokus through a private Redis, and check every answer.
    Demo(demo::DemoArgs),
    /// Show the whole queue as JSON and as Prometheus metrics.
    Dashboard(dashboard::DashboardArgs),
    /// Look at a Redis and say what could lose jobs.
    Doctor(doctor::DoctorArgs),
    /// Print the settings in force and where each comes from.
    Config(config::ConfigArgs),
    /// Measure this machine: queue throughput, CPU a puzzle, latency.
    Bench(bench::BenchArgs),
    /// Run a program that ends when our standard input does.
    #[command(hide = true)]
    Guard(guard::GuardArgs),
}

impl Cli {
    /// The settings file named on the command line.
    pub(crate) fn settings_file(&self) -> Option<&std::path::Path> {
        self.config.as_deref()
    }

    /// What `--set` sets, as given.
    pub(crate) fn sets(&self) -> &[(String, String)] {
        &self.sets
    }

    /// Whether `--redis` is given.
    pub(crate) fn names_redis(&self) -> bool {
        self.redis.is_some()
    }

    /// Settings that flags stand for, weakest first.
    pub(crate) fn flags(&self) -> Vec<(String, String)> {
        let mut flags = match &self.command {
            Command::Worker(args) => args.flags(),
            Command::Up(args) => args.flags(),
            Command::Dashboard(args) => args.flags(),
            _ => Vec::new(),
        };
        flags.extend(self.redis.iter().map(|url| ("redis.url".to_owned(), url.clone())));
        flags.extend(self.sets.iter().cloned());
        flags
    }
}

fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) =
        text.split_once('=').ok_or_else(|| "expected KEY=VALUE, such as worker.prefetch=3".to_owned())?;
    Ok((key.to_owned(), value.to_owned()))
}

fn exit_codes() -> String {
    format!("Exit codes:\n{}", Exit::table())
}
