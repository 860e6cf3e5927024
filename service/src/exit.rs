//! The exit codes of the binary, in one place. This file only names them; `main` alone exits.

use std::fmt;
use std::process::ExitCode;

/// How a command ended, for the shell. The numbers are a promise: scripts branch on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Exit {
    /// Everything asked for was done.
    Ok = 0,
    /// The batch finished, but some of its jobs are invalid, failed or timed out.
    SomeJobsBad = 1,
    /// A flag or a setting is wrong; nothing was started.
    Usage = 2,
    /// The input is missing, unreadable, empty, or of no kind that is known.
    Input = 3,
    /// The output cannot be written: disk full, or the reader went away.
    Output = 4,
    /// Redis is unreachable, refuses us, is read-only or out of memory.
    Redis = 5,
    /// The batch was cancelled.
    Cancelled = 6,
    /// No such batch or job: never submitted, or expired.
    NotFound = 7,
    /// A bug of ours.
    Internal = 70,
    /// Stopped by a signal before the work was done.
    Interrupted = 130,
}

impl Exit {
    /// Every code, in ascending order.
    pub const ALL: [Self; 10] = [
        Self::Ok,
        Self::SomeJobsBad,
        Self::Usage,
        Self::Input,
        Self::Output,
        Self::Redis,
        Self::Cancelled,
        Self::NotFound,
        Self::Internal,
        Self::Interrupted,
    ];

    /// The number the shell sees.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// What it means and what to do, as one sentence for help texts.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Ok => "done",
            Self::SomeJobsBad => "the batch finished, but some jobs are invalid, failed or timed out",
            Self::Usage => "a flag or a setting is wrong; nothing was started",
            Self::Input => "the input is missing, unreadable, empty, or of no kind that is known",
            Self::Output => "the output cannot be written: disk full, or its reader went away",
            Self::Redis => "Redis is unreachable, refuses the password, is read-only or out of memory",
            Self::Cancelled => "the batch was cancelled",
            Self::NotFound => "no such batch or job: never submitted, or expired",
            Self::Internal => "a bug in puzzled; please report it with the log",
            Self::Interrupted => "stopped by a signal before the work was done",
        }
    }

    /// Whether the same command, run again later and unchanged, may succeed.
    #[must_use]
    pub const fn retry_helps(self) -> bool {
        match self {
            Self::Redis | Self::Interrupted => true,
            Self::Ok
            | Self::SomeJobsBad
            | Self::Usage
            | Self::Input
            | Self::Output
            | Self::Cancelled
            | Self::NotFound
            | Self::Internal => false,
        }
    }

    /// The table of all codes, one line each, for `--help`.
    #[must_use]
    pub fn table() -> String {
        Self::ALL.iter().map(|exit| format!("{:>5}  {}\n", exit.code(), exit.meaning())).collect()
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.code(), self.meaning())
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_the_documented_ones() {
        let codes: Vec<u8> = Exit::ALL.iter().map(|exit| exit.code()).collect();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7, 70, 130]);
    }

    #[test]
    fn the_table_has_a_line_for_every_code() {
        let table = Exit::table();
        assert_eq!(table.lines().count(), Exit::ALL.len());
        assert!(table.contains("    5  Redis is unreachable"), "{table}");
    }
}
