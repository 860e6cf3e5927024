//! Workers, and what was checked.

use askama::Template;

use crate::chart::{self, Svg};
use crate::pages::chrome::Warning;
use crate::pages::{CELL_CHARS, Chrome, Scene};
use crate::snapshot::Worker;
use crate::text;

#[derive(Template)]
#[template(path = "workers.html", blocks = ["live"])]
pub(super) struct WorkersPage {
    chrome: Chrome,
    summary: String,
    rows: Vec<WorkerRow>,
    checks: Vec<Warning>,
}

struct WorkerRow {
    name: String,
    host: String,
    version: String,
    bar: Svg,
    busy: u32,
    threads: u32,
    rate: String,
    leases: String,
    kinds: String,
    heartbeat: String,
    up: String,
    is_alive: bool,
}

impl WorkersPage {
    pub(super) fn of(scene: &Scene<'_>) -> Self {
        let snapshot = &scene.frame.snapshot;
        let totals = &snapshot.totals;
        Self {
            chrome: scene.chrome("Workers"),
            summary: format!(
                "{} alive, {} of {} busy, {} puzzles/s.",
                text::counted(totals.workers, "worker", "workers"),
                text::count(totals.busy),
                text::counted(totals.threads, "thread", "threads"),
                text::rate(totals.jobs_per_second)
            ),
            rows: snapshot.workers.iter().map(|worker| WorkerRow::of(worker, snapshot.time_ms)).collect(),
            checks: scene.frame.findings.iter().map(Warning::from).collect(),
        }
    }
}

impl WorkerRow {
    fn of(worker: &Worker, now_ms: u64) -> Self {
        let presence = &worker.presence;
        let kind = |name: &String| {
            if presence.paused.contains(name) { format!("{name} (paused)") } else { name.clone() }
        };
        let kinds: Vec<String> = presence.kinds.iter().map(kind).collect();
        Self {
            name: text::clip(&presence.worker, CELL_CHARS),
            host: text::clip(&presence.host, CELL_CHARS),
            version: text::clip(&presence.version, 40),
            bar: chart::stack(&[("o-busy", u64::from(presence.busy))], u64::from(presence.threads)),
            busy: presence.busy,
            threads: presence.threads,
            rate: text::rate(worker.jobs_per_second),
            leases: text::count(presence.chunks),
            kinds: if kinds.is_empty() {
                "–".to_owned()
            } else {
                text::clip(&kinds.join(", "), CELL_CHARS)
            },
            heartbeat: format!("{} ago", text::span(now_ms.saturating_sub(presence.seen_ms))),
            up: text::span(now_ms.saturating_sub(presence.started_ms)),
            is_alive: worker.alive,
        }
    }
}
