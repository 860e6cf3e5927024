//! The main job under faults: workers killed, Redis killed and started again, while a file of puzzles goes through.
//!
//! Short in `make test`; `make soak` runs the same over a million puzzles (`SOAK_PUZZLES`).

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use puzzled_queue::{BatchStatus, Config};
use puzzled_service::Url;
use puzzled_solver::{Budget, OutcomeKind, Outcomes, Task};
use tempfile::TempDir;

use crate::servers::Server;
use crate::support::{LEASE_MS, Ours, connect};

const DEADLINE: Duration = Duration::from_secs(600);

fn puzzles() -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/sudoku17.txt");
    let file = fs::read_to_string(path).expect("shipped data");
    let count = std::env::var("SOAK_PUZZLES").ok().and_then(|n| n.parse().ok()).unwrap_or(100_000);
    file.lines().cycle().take(count).flat_map(|line| [line, "\n"]).collect()
}

/// What a run without faults prints: the engine asked directly.
pub(crate) fn expected(puzzles: &str) -> Vec<u8> {
    let task: Task = "sudoku.solve".parse().expect("a task");
    let mut engine = task.engine();
    let mut text = Vec::new();
    let lines: Vec<&[u8]> = puzzles.lines().map(str::as_bytes).collect();
    for chunk in lines.chunks(1_024) {
        let mut outcomes = Outcomes::new();
        engine.solve(chunk, &Budget::unlimited(), &mut outcomes);
        for outcome in outcomes.iter() {
            assert_eq!(outcome.kind, OutcomeKind::Solved);
            outcome.write_text(&mut text);
            text.push(b'\n');
        }
    }
    text
}

fn check_identity(s: &BatchStatus) {
    let (failed, cancelled) = (s.outcome(OutcomeKind::Failed), s.outcome(OutcomeKind::Cancelled));
    assert!(s.recorded <= s.claimed && s.claimed <= s.submitted, "{s:?}");
    assert_eq!(s.outcomes.iter().sum::<u64>(), s.recorded, "{s:?}");
    assert_eq!(s.submitted, s.done() + failed + cancelled + s.waiting() + s.running(), "{s:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_workers_and_a_killed_redis_lose_and_double_nothing() {
    // Without fsync: it is the process that dies, not the machine. While a slow disk holds up an fsync of every second, Redis puts
    // off its writes and answers all the same, and such a death then loses them.
    let mut redis = Server::start(&["--appendonly", "yes", "--appendfsync", "no"]);
    let folder = TempDir::new().expect("temporary folder");
    let (folder, url) = (folder.path(), redis.url());
    let puzzles = puzzles();
    let total = puzzles.lines().count() as u64;
    let input = folder.join("puzzles.txt");
    let output = folder.join("answers.txt");
    fs::write(&input, &puzzles).expect("input");

    let config = Config { url: Url::new(&url), lease_ms: LEASE_MS, ..Config::default() };
    let queue = connect(&config).await;
    let mut workers = [Ours::worker(folder, &url, 1), Ours::worker(folder, &url, 1)];
    let (from, to) = (input.display().to_string(), output.display().to_string());
    let mut producer = Ours::start(folder, &url, &["solve", &from, "-o", &to, "--quiet"]);

    let started = Instant::now();
    let (mut samples, mut step, mut recorded) = (0_u64, 0, 0);
    let mut rss: Vec<(u64, u64, u64)> = Vec::new();
    let exit = loop {
        if let Some(exit) = producer.0.try_wait().expect("wait") {
            break exit;
        }
        assert!(started.elapsed() < DEADLINE, "recorded {recorded} of {total} after {DEADLINE:?}");
        // Redis may be away; what it says when it is there must add up.
        if let Ok(recent) = queue.recent(1).await
            && let Some(status) = recent.first()
        {
            check_identity(status);
            assert!(status.recorded >= recorded, "went back from {recorded}: {status:?}");
            recorded = status.recorded;
            samples += 1;
            rss.push((recorded, producer.rss_kb(), workers.iter().map(Ours::rss_kb).max().unwrap_or(0)));
        }
        if recorded * 5 >= total * (step + 1) && step < 3 {
            match step {
                0 => workers[0].kill(),
                1 => {
                    redis.kill();
                    redis.start_again();
                }
                _ => workers[1].kill(),
            }
            if step != 1 {
                let place = usize::from(step == 2);
                workers[place] = Ours::worker(folder, &url, 1);
            }
            step += 1;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert_eq!(step, 3, "all faults happened");
    assert_eq!(exit.code(), Some(0));

    let status = queue.recent(1).await.expect("status").remove(0);
    check_identity(&status);
    assert_eq!((status.submitted, status.outcome(OutcomeKind::Solved)), (total, total));
    assert!(status.finished());
    let answers = fs::read(&output).expect("output");
    let expected = expected(&puzzles);
    assert_eq!(answers.len(), expected.len());
    assert!(answers == expected, "output differs from a run without faults");

    let streams = queue.streams(puzzled_solver::Kind::PUBLIC).await.expect("streams");
    assert!(streams.iter().all(|s| s.waiting == 0 && s.running == 0 && s.chunks == 0), "{streams:?}");

    // The last samples may meet a producer that has just ended.
    let most = |at: fn(&(u64, u64, u64)) -> u64, from: u64, to: u64| {
        rss.iter().filter(|sample| (from..to).contains(&sample.0)).map(at).max().unwrap_or(0)
    };
    let (half, end) = (total / 2, u64::MAX);
    println!(
        "{total} puzzles, {samples} samples, {:.1} s; most resident kB in the first / second half: \
         producer {} / {}, worker {} / {}",
        started.elapsed().as_secs_f64(),
        most(|s| s.1, 0, half),
        most(|s| s.1, half, end),
        most(|s| s.2, 0, half),
        most(|s| s.2, half, end),
    );
    // Flat: neither may grow with the number of puzzles. Generous, since allocators breathe.
    let limit_kb = 128 * 1024;
    assert!(rss.iter().all(|(_, producer, worker)| *producer < limit_kb && *worker < limit_kb), "{rss:?}");
}
