//! Everything that people see: lines on stderr, a progress bar, text on stdout. Nothing here panics when the other
//! end is gone.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use puzzled_producer::{Event, Progress, Report};
use puzzled_service::Exit;
use puzzled_solver::OutcomeKind;

use crate::failure::Failure;

/// Says one line on stderr.
pub(crate) fn say(text: &str) {
    // With stderr gone there is nobody to tell.
    drop(writeln!(io::stderr(), "{text}"));
}

/// Prints a text on stdout.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(|error| broken("standard output", &error))
}

/// The failure of an output nobody can come back to.
pub(crate) fn broken(name: &str, error: &io::Error) -> Failure {
    Failure::new(Exit::Output, format!("cannot write {name}: {}", plain(error)))
}

/// What to add to a way to go on behind the lines that were written: a pipe may have held some that nobody read.
pub(crate) fn perhaps_earlier(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::BrokenPipe {
        " (or from the first line that its reader did not get)"
    } else {
        ""
    }
}

/// What the system said, without our having to know its numbers.
pub(crate) fn plain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::BrokenPipe => "its reader went away".to_owned(),
        io::ErrorKind::StorageFull => "the disk is full".to_owned(),
        _ => error.to_string(),
    }
}

/// Standard output without the line buffer of the standard library: results come in large pieces.
pub(crate) fn stdout_file() -> Result<File, Failure> {
    let cloned = io::stdout().as_fd().try_clone_to_owned();
    cloned.map(File::from).map_err(|error| broken("standard output", &error))
}

/// A progress bar, when somebody looks and nothing else is drawn there.
pub(crate) struct Display {
    name: String,
    bar: ProgressBar,
    quiet: bool,
}

impl Display {
    /// `name` stands before line numbers. No bar when stderr is no terminal, or when results go to a terminal.
    pub(crate) fn new(name: &str, quiet: bool, results_on_terminal: bool) -> Arc<Self> {
        let shown = !quiet && !results_on_terminal && io::stderr().is_terminal();
        let bar = if shown {
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10))
        } else {
            ProgressBar::hidden()
        };
        bar.set_style(spinner());
        bar.enable_steady_tick(Duration::from_millis(200));
        Arc::new(Self { name: name.to_owned(), bar, quiet })
    }

    /// Takes the events of a run.
    pub(crate) fn report(self: &Arc<Self>) -> Report {
        let display = self.clone();
        Arc::new(move |event| display.show(&event))
    }

    /// Says a line above the bar.
    pub(crate) fn say(&self, text: &str) {
        self.bar.suspend(|| say(text));
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Moves the bar.
    pub(crate) fn progress(&self, progress: Progress) {
        if progress.expected > 0 && self.bar.length() != Some(progress.expected) {
            if self.bar.length().is_none() {
                self.bar.set_style(bar());
            }
            self.bar.set_length(progress.expected);
        }
        self.bar.set_position(progress.done);
    }

    fn show(&self, event: &Event<'_>) {
        match event {
            Event::Progress(progress) => self.progress(*progress),
            Event::BadLine(bad) => {
                self.say(&format!("{}:{}:{}: {}", self.name, bad.line, bad.column, bad.reason));
            }
            Event::MoreBadLines(more) => self.say(&format!("{}: ... and {more} more bad lines", self.name)),
            Event::Outage(error) => self.say(&format!("puzzled: {error} Trying again.")),
            Event::OutageOver => self.say("puzzled: Redis answers again, going on"),
            Event::Full(_) if self.quiet => {}
            Event::Full(error) => self.say(&format!("puzzled: {error}. Waiting for room.")),
            Event::SentAgain => self.say("puzzled: Redis lost its last moments; sent them again, nothing is missing"),
            Event::NewBatch { old, new } => self.say(&format!(
                "puzzled: Redis lost the end of batch {old}; the rest goes on as batch {new}, nothing is missing"
            )),
        }
    }
}

fn bar() -> ProgressStyle {
    style("{bar:32} {human_pos}/{human_len} {rate:>12} {eta:>4} left")
}

fn spinner() -> ProgressStyle {
    style("{spinner} {human_pos} {rate}")
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .with_key("rate", rate)
}

/// `49151 jobs: 49151 solved, 0.4 s, 123k/s`
pub(crate) fn summary(outcomes: &[u64; OutcomeKind::ALL.len()], elapsed: Duration) -> String {
    let jobs: u64 = outcomes.iter().sum();
    let rate = jobs as f64 / elapsed.as_secs_f64().max(1e-6);
    let parts = in_words(outcomes);
    let parts = if parts.is_empty() { String::new() } else { format!(" {parts},") };
    let noun = if jobs == 1 { "job" } else { "jobs" };
    format!("{jobs} {noun}:{parts} {:.1} s, {}/s", elapsed.as_secs_f64(), short(rate))
}

/// `3 solved, 1 invalid`
pub(crate) fn in_words(outcomes: &[u64; OutcomeKind::ALL.len()]) -> String {
    let parts: Vec<String> = OutcomeKind::ALL
        .iter()
        .zip(outcomes)
        .filter(|(_, count)| **count > 0)
        .map(|(kind, count)| format!("{count} {}", kind.name().replace('_', " ")))
        .collect();
    parts.join(", ")
}

/// Three digits are enough for a rate.
fn short(rate: f64) -> String {
    match rate {
        r if r >= 9.995e5 => format!("{:.2}M", r / 1e6),
        r if r >= 9_999.5 => format!("{:.0}k", r / 1e3),
        r if r >= 1e3 => format!("{}", HumanCount(r as u64)),
        r => format!("{r:.0}"),
    }
}

/// Whether a finished run is a good one.
pub(crate) fn verdict(outcomes: &[u64; OutcomeKind::ALL.len()], cancelled: bool) -> Result<(), Failure> {
    let of = |kind: OutcomeKind| outcomes[kind.index()];
    if cancelled || of(OutcomeKind::Cancelled) > 0 {
        return Err(Failure::new(Exit::Cancelled, "the batch was cancelled"));
    }
    if of(OutcomeKind::Invalid) + of(OutcomeKind::Failed) + of(OutcomeKind::TimedOut) > 0 {
        return Err(Failure::silent(Exit::SomeJobsBad));
    }
    Ok(())
}

/// Whole puzzles a second: the library's own would show digits behind the point.
pub(crate) fn rate(state: &ProgressState, out: &mut dyn std::fmt::Write) {
    // A formatter that fails shows no rate, which harms nobody.
    write!(out, "{}/s", HumanCount(state.per_sec() as u64)).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries() {
        let check = |outcomes, ms, expected: &str| {
            assert_eq!(summary(&outcomes, Duration::from_millis(ms)), expected);
        };
        check([49_151, 0, 0, 0, 0, 0, 0], 400, "49151 jobs: 49151 solved, 0.4 s, 123k/s");
        check([3, 1, 0, 2, 0, 0, 0], 2_000, "6 jobs: 3 solved, 1 no solution, 2 invalid, 2.0 s, 3/s");
        check([3_000_000, 0, 0, 0, 0, 0, 0], 2_000, "3000000 jobs: 3000000 solved, 2.0 s, 1.50M/s");
        check([0, 1, 0, 0, 0, 0, 0], 2_000, "1 job: 1 no solution, 2.0 s, 0/s");
        check([2_468, 0, 0, 0, 0, 0, 0], 2_000, "2468 jobs: 2468 solved, 2.0 s, 1,234/s");
    }
}
