//! Pausing a kind: nothing of it is started, the others go on.

use std::fs;

use puzzled_queue::{BatchId, BatchStatus, Config, Presence, Queue};
use puzzled_service::Url;
use puzzled_solver::OutcomeKind;
use tempfile::TempDir;

use crate::servers::Server;
use crate::support::{LEASE_MS, Ours, connect};

const SUDOKU: &str = "000000010400000000020000000000050407008000300001090000300400200050100000000806000";

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_kind_waits_and_the_others_go_on() {
    let redis = Server::start(&["--appendonly", "yes"]);
    let folder = TempDir::new().expect("temporary folder");
    let (folder, url) = (folder.path(), redis.url());
    let queue = connect(&Config { url: Url::new(&url), lease_ms: LEASE_MS, ..Config::default() }).await;
    let run = |arguments: &[&str]| {
        let output = Ours::output(folder, &url, arguments);
        let code = output.status.code();
        (
            code,
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let (sudoku, slide) = (folder.join("sudoku.txt"), folder.join("slide.txt"));
    fs::write(&sudoku, format!("{SUDOKU}\n").repeat(300)).expect("a file");
    fs::write(&slide, "23415x768\n".repeat(300)).expect("a file");
    let submit = |file: &std::path::Path| -> (BatchId, String) {
        let (code, out, err) = run(&["submit", &file.display().to_string()]);
        assert_eq!(code, Some(0), "{err}");
        (out.trim().parse().expect("an id"), err)
    };

    // An idle worker, which reads all streams at this moment, hears of it.
    let mut first = Ours::worker(folder, &url, 1);
    while queue.workers().await.expect("workers").is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let (code, out, err) = run(&["pause", "sudoku"]);
    let said = "sudoku is paused (every worker has heard); go on with: puzzled resume sudoku\n";
    assert_eq!((code, &out[..]), (Some(0), said), "{err}");
    let (held, err) = submit(&sudoku);
    assert!(err.contains("sudoku is paused"), "{err}");
    let (free, err) = submit(&slide);
    assert!(!err.contains("paused"), "{err}");
    finished(&queue, free).await;
    // A worker that starts now finds it paused; the first one's deliveries, if it took any, do not tempt it.
    first.kill();
    let _second = Ours::worker(folder, &url, 1);
    let (free, _) = submit(&slide);
    finished(&queue, free).await;
    tokio::time::sleep(std::time::Duration::from_millis(2 * LEASE_MS)).await;
    let status = queue.status(held).await.expect("a status");
    assert_eq!((status.waiting(), status.recorded), (300, 0), "{status:?}");

    let (code, out, _) = run(&["resume", "sudoku"]);
    assert_eq!((code, &out[..]), (Some(0), "sudoku goes on\n"));
    let status = finished(&queue, held).await;
    assert_eq!((status.done(), status.submitted), (300, 300), "{status:?}");
    assert_eq!(run(&["resume", "sudoku"]).1, "sudoku was not paused\n");

    // The second worker says what it has done, and of what kinds.
    let said = poll_word(&queue, 600).await;
    assert_eq!(said.kinds, ["sudoku", "slide"]);
    let sum = |task: &str| said.done[task].iter().sum::<u64>();
    assert_eq!((sum("slide.solve"), sum("sudoku.solve"), said.done.len()), (300, 300, 2), "{said:?}");
    let solved = OutcomeKind::Solved.index();
    assert_eq!((said.done["sudoku.solve"][solved], said.paused.len()), (300, 0), "{said:?}");
    assert_eq!(run(&["pause", "chess"]).0, Some(2));
}

/// The word of the worker that has finished so many jobs.
async fn poll_word(queue: &Queue, jobs: u64) -> Presence {
    loop {
        let workers = queue.workers().await.expect("workers");
        if let Some(found) = workers.into_iter().find(|worker| worker.jobs == jobs) {
            return found;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

async fn finished(queue: &Queue, batch: BatchId) -> BatchStatus {
    loop {
        let status = queue.status(batch).await.expect("a status");
        if status.finished() {
            return status;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}
