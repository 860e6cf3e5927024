//! Time limits: what a job costs that takes too long, and one that does not even look at the clock.

use std::fs;
use std::path::Path;

use puzzled_queue::{BatchId, Config};
use puzzled_service::Url;
use tempfile::TempDir;

use crate::servers::Server;
use crate::support::{LEASE_MS, Ours, connect};

fn worker(folder: &Path, url: &str, threads: &str) -> Ours {
    let arguments = ["worker", "--threads", threads, "--listen", "", "--kinds", "echo"];
    Ours::start(folder, url, &arguments)
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_out_of_time_end_as_such_and_a_worker_full_of_stuck_threads_ends_itself() {
    let redis = Server::start(&["--appendonly", "yes"]);
    let folder = TempDir::new().expect("temporary folder");
    let (folder, url) = (folder.path(), redis.url());
    let config = Config { url: Url::new(&url), lease_ms: LEASE_MS, ..Config::default() };
    let queue = connect(&config).await;
    let words = ["a", "slow", "b", "hang", "c"];
    let expected = "a\nTimedOut\nb\nTimedOut\nc\n";
    let input = folder.join("jobs.txt");
    fs::write(&input, words.join("\n")).expect("a file");
    let submit = || {
        let arguments = ["submit", "-q", "--task", "echo.fault:time_ms=100", &input.display().to_string()];
        let output = Ours::output(folder, &url, &arguments);
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    let results = |batch: &str| {
        let output = Ours::output(folder, &url, &["results", "--follow", batch]);
        String::from_utf8_lossy(&output.stdout).into_owned()
    };

    // Each batch leaves one thread behind: time was up among the others before it came to the job that hangs.
    let mut ours = worker(folder, &url, "2");
    let first = submit();
    assert_eq!(results(&first), expected);
    assert!(ours.0.try_wait().expect("its state").is_none(), "one core is left");
    let second = submit();
    assert_eq!(results(&second), expected);
    assert_eq!(ours.ended(), Some(70), "no core is left: it must not go on");

    // What it had taken was handed back, so that the next one goes on at once.
    let _ours = worker(folder, &url, "2");
    assert_eq!(results(&submit()), expected);
    for batch in [first, second] {
        let batch: BatchId = batch.parse().expect("an id");
        let status = queue.status(batch).await.expect("a status");
        assert_eq!((status.done(), status.submitted), (5, 5), "{status:?}");
    }
}
