//! `puzzled doctor`: looks at the configured Redis and says in words what could lose jobs, and how the queue on it does.

use std::fmt::Write as _;

use clap::Args;
use puzzled_queue::{Error, Finding, Queue, Rights, Verdict};
use puzzled_service::Exit;
use puzzled_service::metrics::VERSION;
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
    let (findings, exit) = match look(settings).await {
        Ok(findings) => (findings, Exit::SomeJobsBad),
        Err(error) => (vec![Finding::unusable(&error)], Failure::from(error).exit),
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

/// The server first, then the queue on it. Changes nothing, also where nothing is set up yet.
async fn look(settings: &Settings) -> Result<Vec<Finding>, Error> {
    let queue = Queue::visit(&settings.redis).await?;
    let mut findings = queue.examine(Rights::Operator).await?;
    let vitals = async {
        // With another number of shards we would see a part and take it for the whole.
        queue.is_set_up().await?;
        queue.vitals().await
    };
    match vitals.await {
        Ok(vitals) => findings.extend(vitals.findings(settings.dashboard.oldest_waiting_ms(), VERSION)),
        // That it is no master has been said.
        Err(Error::ReadOnly(_)) => {}
        Err(error) => findings.push(Finding::unusable(&error)),
    }
    Ok(findings)
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
        let mut written = writeln!(out, "  {mark}  {subject:<12}  {text}");
        if !remedy.is_empty() {
            written = written.and(writeln!(out, "  {:23}  -> {remedy}", ""));
        }
        debug_assert!(written.is_ok());
    }
    out.push_str(match worst {
        Verdict::Good => "\nAll is well.\n",
        Verdict::Warning => "\nIt works; the warnings say what to look at.\n",
        Verdict::Bad => "\nNot fit for jobs as it is: see BAD.\n",
    });
    out
}
