//! A submission that is killed and goes on: the same input under one id is one batch, another input is refused.

use std::fs;
use std::time::Duration;

use puzzled_queue::{BatchId, BatchStatus, Config, Error, Queue};
use puzzled_service::Url;
use tempfile::TempDir;

use crate::servers::Server;
use crate::support::{LEASE_MS, Ours, connect};

const LINES: usize = 20_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_submit_that_is_killed_goes_on_and_another_input_is_refused() {
    let redis = Server::start(&["--appendonly", "yes"]);
    let folder = TempDir::new().expect("temporary folder");
    let (folder, url) = (folder.path(), redis.url());
    let queue = connect(&Config { url: Url::new(&url), lease_ms: LEASE_MS, ..Config::default() }).await;
    let puzzles = fs::read_to_string("tests/data/sudoku17.txt").expect("the puzzles");
    let puzzles: Vec<&str> = puzzles.lines().take(LINES).collect();
    assert_eq!(puzzles.len(), LINES);
    let write = |name: &str, lines: &[&str]| {
        fs::write(folder.join(name), lines.join("\n") + "\n").expect("a file");
    };
    write("all.txt", &puzzles);
    let id = BatchId::new().to_string();

    // Killed while the queue is full, twice, at other places of the input, with other sizes of chunks in the settings.
    let limits = [("5000", "100"), ("12000", "1024")];
    for (round, (limit, chunk_jobs)) in limits.iter().enumerate() {
        let (limit, chunk_jobs) =
            (format!("redis.depth_jobs_max={limit}"), format!("producer.chunk_jobs={chunk_jobs}"));
        let first = ["submit", "--id", &id, "all.txt", "--set", &limit, "--set", &chunk_jobs];
        let again = ["submit", "--resume", &id, "all.txt", "--set", &limit, "--set", &chunk_jobs];
        let mut submit = Ours::start(folder, &url, if round == 0 { &first } else { &again });
        let least = [5_000, 12_000][round];
        let full = |status: &BatchStatus| status.submitted >= least;
        wait(&queue, &id, full).await;
        submit.kill();
        let status = status(&queue, &id).await.expect("a status");
        assert!(!status.closed && (status.submitted as usize) < LINES, "{status:?}");
    }

    // What is not the same input adds nothing, wherever it differs.
    let held = status(&queue, &id).await.expect("a status").submitted;
    let mut other = puzzles.clone();
    other[7] = puzzles[8];
    write("early.txt", &other);
    write("shorter.txt", &puzzles[..3_000]);
    let run = |arguments: &[&str]| {
        let output = Ours::output(folder, &url, arguments);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    for (file, said) in [
        ("early.txt", format!("its {held} jobs are not the first ones here")),
        ("shorter.txt", format!("it has {held} jobs, there are only 3000 here")),
    ] {
        let (code, _, err) = run(&["submit", "--resume", &id, file]);
        assert!(code == Some(2) && err.contains(&said), "{code:?} {err}");
        let now = status(&queue, &id).await.expect("a status");
        assert!(now.submitted == held && !now.closed, "{now:?}");
    }

    // It goes on while workers are at it, and is whole, in order, each puzzle once.
    let _worker = Ours::worker(folder, &url, 1);
    let (code, out, err) = run(&["submit", "--resume", &id, "all.txt"]);
    assert_eq!((code, out.trim()), (Some(0), &id[..]), "{err}");
    assert!(err.contains(&format!("{LINES} jobs submitted, {held} of them before")), "{err}");
    wait(&queue, &id, BatchStatus::finished).await;
    let now = status(&queue, &id).await.expect("a status");
    assert_eq!((now.submitted as usize, now.recorded as usize), (LINES, LINES), "{now:?}");
    let (code, out, err) = run(&["results", &id]);
    assert_eq!((code, out.lines().count()), (Some(0), LINES), "{err}");
    for (puzzle, answer) in puzzles.iter().zip(out.lines()) {
        let fits = puzzle.bytes().zip(answer.bytes()).all(|(given, digit)| given == digit || given == b'0');
        assert!(fits && answer.len() == 81, "{puzzle} {answer}");
    }

    // The same again is the same batch, one that is longer is another.
    let (code, out, err) = run(&["submit", "--id", &id, "all.txt"]);
    assert_eq!((code, out.trim()), (Some(0), &id[..]), "{err}");
    assert!(err.contains(&format!("{LINES} jobs submitted, {LINES} of them before")), "{err}");
    write("longer.txt", &[&puzzles[..], &puzzles[..1]].concat());
    let (code, _, err) = run(&["submit", "--id", &id, "longer.txt"]);
    assert!(code == Some(2) && err.contains(&format!("it is complete with {LINES} jobs")), "{code:?} {err}");
    let (code, _, err) = run(&["submit", "--resume", &BatchId::new().to_string(), "all.txt"]);
    assert!(code == Some(7) && err.contains("no batch"), "{code:?} {err}");
}

async fn status(queue: &Queue, id: &str) -> Result<BatchStatus, Error> {
    queue.status(id.parse().expect("an id")).await
}

async fn wait(queue: &Queue, id: &str, is_so: impl Fn(&BatchStatus) -> bool) {
    let until = tokio::time::Instant::now() + Duration::from_secs(60);
    loop {
        let status = status(queue, id).await;
        if status.as_ref().is_ok_and(&is_so) {
            return;
        }
        assert!(tokio::time::Instant::now() < until, "{status:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
