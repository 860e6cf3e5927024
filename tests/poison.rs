//! Poison jobs: what a job costs that kills its worker, panics, or answers wrongly; and the dead letters it leaves.

use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use puzzled_queue::{BatchId, BatchStatus, Config, JobId, Queue};
use puzzled_service::Url;
use puzzled_solver::OutcomeKind;
use tempfile::TempDir;

use crate::servers::Server;
use crate::support::{LEASE_MS, Ours, connect};

const DEADLINE: Duration = Duration::from_secs(120);
const JOBS: usize = 60;

fn worker(folder: &Path, url: &str) -> Ours {
    let arguments =
        ["worker", "--threads", "1", "--listen", "", "--kinds", "echo", "--set", "log.level=error"];
    Ours::start(folder, url, &arguments)
}

/// Runs a worker, and another whenever it has died, until the batch is finished. Returns how many died.
async fn work_until_finished(folder: &Path, url: &str, queue: &Queue, batch: BatchId) -> (u32, BatchStatus) {
    let (mut ours, mut deaths, start) = (worker(folder, url), 0, Instant::now());
    loop {
        let status = queue.status(batch).await.expect("a status");
        let (failed, cancelled) =
            (status.outcome(OutcomeKind::Failed), status.outcome(OutcomeKind::Cancelled));
        let all = status.done() + failed + cancelled + status.waiting() + status.running();
        assert_eq!(status.submitted, all, "{status:?}");
        if status.finished() {
            return (deaths, status);
        }
        if ours.0.try_wait().expect("its state").is_some() {
            deaths += 1;
            ours = worker(folder, url);
        }
        assert!(start.elapsed() < DEADLINE, "{deaths} deaths, {status:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poison_job_costs_three_workers_and_nobody_else_their_outcome() {
    let redis = Server::start(&["--appendonly", "yes"]);
    let folder = TempDir::new().expect("temporary folder");
    let (folder, url) = (folder.path(), redis.url());
    let run = |arguments: &[&str]| Ours::output(folder, &url, arguments);
    let config = Config { url: Url::new(&url), lease_ms: LEASE_MS, ..Config::default() };
    let queue = connect(&config).await;
    let mut lines: Vec<String> = (0..JOBS).map(|i| format!("job-{i}")).collect();
    for (place, word) in [(7, "panic"), (31, "overflow"), (32, "wrong")] {
        word.clone_into(&mut lines[place]);
    }
    let input = folder.join("jobs.txt");
    fs::write(&input, lines.join("\n")).expect("a file");
    let input = input.display().to_string();
    let submitted = run(&["submit", "--quiet", "--task", "echo.fault", &input]);
    let batch: BatchId = text(&submitted).trim().parse().expect("a batch id");

    let (deaths, status) = work_until_finished(folder, &url, &queue, batch).await;
    assert_eq!(deaths, 3);
    assert_eq!(status.outcome(OutcomeKind::Failed), 3);
    assert_eq!(status.outcome(OutcomeKind::Solved), JOBS as u64 - 3);

    let results = text(&run(&["results", &batch.to_string()]));
    let answers: Vec<&str> = results.lines().collect();
    assert_eq!(answers.len(), JOBS);
    for (i, (line, answer)) in lines.iter().zip(&answers).enumerate() {
        let expected = match line.as_str() {
            "panic" => "Failed: the solver panicked: told to",
            "overflow" => "Failed: its worker died 3 times with it in hand",
            "wrong" => "Failed: the answer did not pass verification; please report this puzzle",
            line => line,
        };
        assert_eq!(*answer, expected, "job {i}");
    }

    // The three are dead letters, with their puzzles and how they came to this.
    assert_eq!(queue.dead_count().await.expect("a count"), 3);
    let poison = JobId { batch, index: 31 };
    let letter = queue.dead_letter(poison).await.expect("a letter").expect("one of the poison job");
    assert_eq!((letter.task.as_str(), letter.puzzle.as_str()), ("echo.fault", "overflow"));
    assert_eq!(letter.history.len(), 3, "{letter:?}");
    let shown = text(&run(&["dead", "show", &poison.to_string()]));
    assert!(shown.contains("puzzle   overflow") && shown.contains("attempt  3: "), "{shown}");
    let listed = text(&run(&["dead", "list", "--reason", "panicked"]));
    assert!(listed.starts_with(&format!("{batch}.7 ")) && listed.lines().count() == 1, "{listed}");

    // Tried again it fails again, as a new batch with letters of its own; the first outcome stays as it was.
    let retried = text(&run(&["dead", "retry", "--reason", "panicked"]));
    let again: BatchId = retried.trim().parse().expect("a batch id");
    let (deaths, status) = work_until_finished(folder, &url, &queue, again).await;
    assert_eq!((deaths, status.outcome(OutcomeKind::Failed)), (0, 1));
    assert_eq!(queue.dead_letter(JobId { batch, index: 7 }).await.expect("an answer"), None);
    assert_eq!(text(&run(&["get", &format!("{batch}.7")])).trim(), answers[7]);
    let dropped = run(&["dead", "drop", "--all"]);
    assert_eq!(text(&dropped), "3 dead letters dropped\n");
    assert!(!run(&["dead", "drop"]).status.success(), "naming none is an error");
}
