//! The command line: global flags, subcommands, and what they set.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};
use puzzled_service::Exit;

use crate::commands::{
    batches, bench, cancel, config, dashboard, dead, demo, doctor, generate, get, guard, pause, results,
    solve, status, submit, up, watch, worker,
};

/// Flags of every command stand apart from its own.
const COMMON: &str = "Common options";

/// A distributed job queue for puzzles.
#[derive(Parser, Debug)]
#[command(name = "puzzled", version, about, after_help = exit_codes(), arg_required_else_help = true)]
pub(crate) struct Cli {
    /// Settings file [default: ./puzzled.toml if there is one].
    #[arg(long, global = true, value_name = "FILE", help_heading = COMMON)]
    config: Option<PathBuf>,
    /// Where Redis is, such as redis://127.0.0.1:6379.
    #[arg(long, global = true, value_name = "URL", help_heading = COMMON)]
    redis: Option<String>,
    /// Any setting, such as worker.prefetch=3; `puzzled config` lists them. May be repeated.
    // Not `global`: see `with_settings`.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value, help_heading = COMMON)]
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
    /// Generate sudokus: final grids, all equally likely, or puzzles; none twice.
    Generate(generate::GenerateArgs),
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
    /// Hold kinds of puzzles back: workers start nothing more of them.
    Pause(pause::PauseArgs),
    /// Let paused kinds go on.
    Resume(pause::ResumeArgs),
    /// List the newest batches.
    Batches(batches::BatchesArgs),
    /// List, show, retry or drop the jobs that failed.
    Dead(dead::DeadArgs),
    /// Claim chunks, solve them on every core, record the outcomes.
    Worker(worker::WorkerArgs),
    /// Start a private Redis, workers and the dashboard on this machine.
    Up(up::UpArgs),
    /// See it work: solve 49,151 sudokus through a private Redis, and check every answer.
    Demo(demo::DemoArgs),
    /// Show the whole queue: a page to leave open, its JSON, its Prometheus metrics.
    Dashboard(dashboard::DashboardArgs),
    /// Look at a Redis and say what could lose jobs, and how the queue on it does.
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
    /// Reads the command line, or ends the program with help or a usage error.
    pub(crate) fn read() -> Self {
        Self::of(std::env::args_os()).unwrap_or_else(|error| error.exit())
    }

    fn of(arguments: impl Iterator<Item = OsString>) -> Result<Self, clap::Error> {
        let root = Self::command();
        let set = root.get_arguments().find(|argument| argument.get_long() == Some("set")).cloned();
        let root = root.mut_subcommands(|command| with_settings(command, set.as_ref()));
        Self::from_arg_matches(&root.try_get_matches_from(hoist_sets(arguments))?)
    }

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

/// Makes `--set KEY=VALUE` part of each subcommand's help and errors, but for one that has a `--set` of its own. What
/// it sets was read before: see [`hoist_sets`].
fn with_settings(command: clap::Command, set: Option<&Arg>) -> clap::Command {
    let has_own = command.get_arguments().any(|argument| argument.get_long() == Some("set"));
    let command = command.mut_subcommands(|command| with_settings(command, set));
    if has_own { command } else { command.args(set) }
}

/// Moves every `--set KEY=VALUE` to the front. As a global flag of clap it would lose the occurrences before the
/// subcommand when there are others behind it, and a setting that is silently lost is worse than an unusual order.
fn hoist_sets(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments = arguments.peekable();
    let mut front: Vec<OsString> = arguments.next().into_iter().collect();
    let mut rest = Vec::new();
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            // What follows belongs to somebody else.
            Some("--") => {
                rest.push(argument);
                rest.extend(arguments.by_ref());
            }
            Some("--set") => {
                let setting = arguments.next_if(|value| is_setting(value.to_str()));
                let side = if setting.is_some() { &mut front } else { &mut rest };
                side.push(argument);
                side.extend(setting);
            }
            Some(text) if is_setting(text.strip_prefix("--set=")) => front.push(argument),
            _ => rest.push(argument),
        }
    }
    front.append(&mut rest);
    front
}

fn is_setting(value: Option<&str>) -> bool {
    value.is_some_and(|value| key_value(value).is_ok())
}

fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) =
        text.split_once('=').ok_or_else(|| "expected KEY=VALUE, such as worker.prefetch=3".to_owned())?;
    Ok((key.to_owned(), value.to_owned()))
}

fn exit_codes() -> String {
    format!("Exit codes:\n{}", Exit::table())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_count_wherever_they_stand() {
        let line = ["puzzled", "--set", "a.b=1", "worker", "--set=c.d=2", "--threads", "3", "--set", "e.f=x"];
        let cli = Cli::of(line.into_iter().map(OsString::from)).expect("a command line");
        let sets: Vec<_> = cli.sets().iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(sets, ["a.b=1", "c.d=2", "e.f=x"]);
        assert!(cli.flags().contains(&("worker.threads".to_owned(), "3".to_owned())));
    }

    #[test]
    fn sets_of_puzzles_are_no_settings() {
        let line = ["puzzled", "bench", "sudoku", "--set", "easy", "--set", "a.b=1", "--set", "many"];
        let hoisted = hoist_sets(line.into_iter().map(OsString::from));
        assert_eq!(
            hoisted,
            ["puzzled", "--set", "a.b=1", "bench", "sudoku", "--set", "easy", "--set", "many"]
        );
        let cli = Cli::parse_from(hoisted);
        assert_eq!(cli.sets(), [("a.b".to_owned(), "1".to_owned())]);
        let Command::Bench(args) = &cli.command else { panic!("{:?}", cli.command) };
        assert!(format!("{args:?}").contains(r#"["easy", "many"]"#), "{args:?}");
    }

    #[test]
    fn settings_are_in_every_help_and_checked_where_they_stand() {
        for line in [vec!["worker"], vec!["dead", "list"], vec!["bench", "queue"]] {
            let run = |more: &[&'static str]| {
                let line = ["puzzled"].iter().chain(&line).chain(more).map(OsString::from);
                Cli::of(line.collect::<Vec<_>>().into_iter()).err().map(|error| error.to_string())
            };
            assert!(run(&["--help"]).is_some_and(|help| help.contains("--set <KEY=VALUE>")), "{line:?}");
            assert!(
                run(&["--set", "typo"]).is_some_and(|error| error.contains("expected KEY=VALUE")),
                "{line:?}"
            );
            assert_eq!(run(&["--set", "a.b=1"]), None, "{line:?}");
        }
    }

    #[test]
    fn what_a_guarded_program_gets_is_its_own() {
        let line = ["puzzled", "guard", "--", "program", "--set", "x"];
        assert_eq!(hoist_sets(line.iter().map(OsString::from)), line);
    }
}
