//! `puzzled doctor`: looks at the configured Redis and says in words what could lose jobs.

use std::fmt::Write as _;

use clap::Args;
use puzzled_queue::{Error, Finding, Queue, Verdict};
use puzzled_service::Exit;
use serde::Serialize;

use crate::failure::Failure;
use crate::settings::Settings;

/// Flags of `puzzled doctor`.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    /// Where Redis is, without its password.
    redis: String,
    verdict: Verdict,
    findings: &'a [Finding],
}

/// Prints the findings. Exit 0 when none is bad, 1 when one is, 5 when there is no Redis to look at.
pub(crate) async fn run(args: &DoctorArgs, settings: &Settings) -> Result<(), Failure> {
    super::require_redis(settings)?;
    let examined = async { Queue::visit(&settings.redis).await?.examine().await };
    let (findings, exit) = match examined.await {
        Ok(findings) => (findings, Exit::SomeJobsBad),
        Err(error) => (vec![unusable(&error)], Failure::from(error).exit),
    };
    let worst = findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Good);
    let redis = settings.redis.url.to_string();
    super::print(&if args.json {
        let report = Report { redis, verdict: worst, findings: &findings };
        let mut text =
            serde_json::to_string_pretty(&report).map_err(|e| Failure::new(Exit::Internal, e.to_string()))?;
        text.push('\n');
        text
    } else {
        text(&redis, &findings, worst)
    })?;
    if worst == Verdict::Bad { Err(Failure::silent(exit)) } else { Ok(()) }
}

/// No Redis to look at is a finding as well.
fn unusable(error: &Error) -> Finding {
    let remedy = match error {
        Error::Unreachable { .. } => {
            "start it, or let `puzzled up` start one for this machine; else correct redis.url (host, port, firewall)"
        }
        Error::Refused { .. } => {
            "give user and password in the URL, redis://user:password@host:port, and allow the user every command"
        }
        Error::ReadOnly(_) => "point redis.url at the master",
        Error::OutOfMemory(_) => "raise maxmemory, or collect or expire results",
        Error::NotPersisting { .. } => "make room on the server's disk, and look at its log",
        Error::Busy { .. } => "wait a little; if it stays so, look at the server's log",
        _ => "look at the server's log, and at the settings (`puzzled config`)",
    };
    Finding {
        subject: "connection",
        verdict: Verdict::Bad,
        text: error.to_string(),
        remedy: remedy.to_owned(),
    }
}

fn text(redis: &str, findings: &[Finding], worst: Verdict) -> String {
    let mut out = format!("Redis at {redis}\n\n");
    for Finding { subject, verdict, text, remedy } in findings {
        let mark = match verdict {
            Verdict::Good => "ok     ",
            Verdict::Warning => "warning",
            Verdict::Bad => "BAD    ",
        };
        // Writing to a String cannot fail.
        let mut written = writeln!(out, "  {mark}  {subject:<11}  {text}");
        if !remedy.is_empty() {
            written = written.and(writeln!(out, "  {:22}  -> {remedy}", ""));
        }
        debug_assert!(written.is_ok());
    }
    out.push_str(match worst {
        Verdict::Good => "\nAll is well.\n",
        Verdict::Warning => "\nIt works; the warnings say under which fault it would not.\n",
        Verdict::Bad => "\nNot fit for jobs as it is: see BAD.\n",
    });
    out
}
