//! Chunks are cut by what a job costs, as workers measured it.

use std::fs;
use std::time::Duration;

use puzzled_queue::{BatchId, Config, Queue};
use puzzled_service::Url;
use puzzled_solver::Task;
use tempfile::TempDir;

use crate::servers::{Server, poll};
use crate::support::{LEASE_MS, Ours, connect};

#[tokio::test(flavor = "multi_thread")]
async fn chunks_are_cut_by_what_workers_measured() {
    let redis = Server::start(&["--appendonly", "yes"]);
    let folder = TempDir::new().expect("temporary folder");
    let (folder, url) = (folder.path(), redis.url());
    let queue = connect(&Config { url: Url::new(&url), lease_ms: LEASE_MS, ..Config::default() }).await;
    let task: Task = "sudoku.count:limit=7".parse().expect("a task");
    let input = folder.join("in.txt");
    fs::write(
        &input,
        "1......................................................................67.......\n".repeat(3_000),
    )
    .expect("a file");
    let submit = |settings: &[&str]| -> BatchId {
        let arguments = ["submit", "-q", "--task", "sudoku.count:limit=7", &input.display().to_string()];
        let output = Ours::output(folder, &url, &[&arguments[..], settings].concat());
        String::from_utf8_lossy(&output.stdout).trim().parse().expect("an id")
    };

    // Nobody has measured: cut by what is typical, which is little.
    assert_eq!(queue.cost(&task).await.expect("an answer"), None);
    let typical = submit(&[]);
    assert_eq!(chunks(&queue, typical).await, 3);
    // The tale of a dear task.
    let told = [(task.cost_key(), Duration::from_millis(2))];
    queue.tell_costs(&told).await.expect("told");
    assert_eq!(queue.cost(&task).await.expect("an answer"), Some(Duration::from_millis(2)));
    assert_eq!(chunks(&queue, submit(&[])).await, 300);
    assert_eq!(chunks(&queue, submit(&["--set", "producer.chunk_ms=0"])).await, 3);
    let last = submit(&["--set", "producer.chunk_ms=200"]);
    assert_eq!(chunks(&queue, last).await, 30);

    // A worker knows better.
    let _worker = Ours::worker(folder, &url, 1);
    let cheaper = || {
        let cost =
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(queue.cost(&task)));
        cost.expect("an answer").filter(|cost| *cost < Duration::from_millis(1))
    };
    poll("the true cost", cheaper);
    let status = queue.status(last).await.expect("a status");
    assert_eq!(status.submitted, 3_000);
}

async fn chunks(queue: &Queue, batch: BatchId) -> u64 {
    queue.status(batch).await.expect("a status").chunks
}
