//! Redis behind Sentinels and Redis Cluster, set up as an operator would: real processes solve a file while masters
//! die and slots move. Nothing that a producer was promised is lost.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use puzzled_queue::{BatchStatus, Config, Finding, Queue, Verdict};
use puzzled_service::Url;
use puzzled_solver::OutcomeKind;
use tempfile::TempDir;

use crate::faults::expected;
use crate::servers::{Cluster, Server, Watched, poll};
use crate::support::Ours;

/// A file of puzzles and what solving it prints.
struct Work {
    folder: TempDir,
    lines: u64,
    answers: Vec<u8>,
}

impl Work {
    fn new(lines: usize) -> Self {
        let folder = TempDir::new().expect("temporary folder");
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sudoku17.txt");
        let all = fs::read_to_string(file).expect("shipped data");
        let puzzles: String = all.lines().cycle().take(lines).flat_map(|line| [line, "\n"]).collect();
        fs::write(folder.path().join("puzzles.txt"), &puzzles).expect("input");
        Self { answers: expected(&puzzles), folder, lines: lines as u64 }
    }

    fn solve(&self, url: &str, shards: u16, output: &str) -> Ours {
        let shards = format!("redis.shards={shards}");
        let arguments = ["solve", "puzzles.txt", "-o", output, "--quiet", "--set", &shards];
        Ours::start(self.folder.path(), url, &arguments)
    }

    fn check(&self, output: &str) {
        let answers = fs::read(self.folder.path().join(output)).expect("output");
        assert_eq!(answers.len(), self.answers.len());
        assert!(answers == self.answers, "{output} differs from a run without faults");
    }
}

fn check_identity(s: &BatchStatus) {
    let apart = s.outcome(OutcomeKind::Failed) + s.outcome(OutcomeKind::Cancelled);
    assert_eq!(s.outcomes.iter().sum::<u64>(), s.recorded, "{s:?}");
    assert_eq!(s.submitted, s.done() + apart + s.waiting() + s.running(), "{s:?}");
}

/// Asks until there is an answer: a failover may be under way.
async fn wait_for<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn examine(config: &Config) -> Vec<Finding> {
    let queue = Queue::visit(config).await.expect("a connection");
    queue.examine(puzzled_queue::Rights::Operator).await.expect("findings")
}

fn verdict(findings: &[Finding], subject: &str) -> Option<Verdict> {
    findings.iter().filter(|found| found.subject == subject).map(|found| found.verdict).max()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_survives_the_death_of_its_master_behind_sentinels() {
    let mut redis = Watched::start();
    let config = Config { url: Url::new(redis.url()), connect_timeout_ms: 1_000, ..Config::default() };
    let findings = examine(&config).await;
    assert_eq!(verdict(&findings, "topology"), Some(Verdict::Good), "{findings:#?}");
    assert_eq!(verdict(&findings, "replicas"), None, "{findings:#?}");
    assert_eq!(verdict(&findings, "isolation"), Some(Verdict::Warning), "{findings:#?}");

    let work = Work::new(100_000);
    let queue = Queue::connect(&config).await.expect("a connection");
    let url = redis.url();
    let _workers = [(); 2].map(|()| Ours::worker(work.folder.path(), &url, 1));
    let mut solve = work.solve(&url, 1, "answers.txt");
    let before = wait_for("a fifth of the batch", async || {
        let status = queue.recent(1).await.expect("an answer").pop()?;
        (status.recorded * 5 >= work.lines).then_some(status)
    })
    .await;
    assert!(!before.finished(), "too fast for a fault in the middle: {before:?}");
    let old = redis.master();
    redis.servers[old].kill();
    assert_eq!(solve.ended(), Some(0));
    work.check("answers.txt");
    assert_eq!(redis.master(), 1 - old);
    let after = queue.status(before.id).await.expect("an answer");
    check_identity(&after);
    assert!(after.finished());

    let findings = examine(&config).await;
    assert_eq!(verdict(&findings, "replicas"), Some(Verdict::Warning), "{findings:#?}");
    // The old master comes back and becomes a replica: nobody reads from it, though it answers.
    redis.servers[old].start_again();
    poll("the old master to follow", || {
        let told = redis.servers[old].text(&["INFO", "replication"]);
        told.contains("master_link_status:up").then_some(())
    });
    let replica =
        Config { url: Url::new(format!("redis://{}", redis.servers[old].address())), ..Config::default() };
    let error = Queue::connect(&replica).await.err().expect("a replica is refused");
    assert_eq!(error.code(), "redis_read_only", "{error}");
    assert_eq!(verdict(&examine(&replica).await, "role"), Some(Verdict::Bad));
    assert_eq!(queue.status(before.id).await.expect("an answer"), after);

    // A name that no Sentinel knows is told as such, and so is a Sentinel that is away.
    let unknown = Config { url: Url::new(url.replace(Watched::MASTER, "others")), ..Config::default() };
    let error = Queue::connect(&unknown).await.err().expect("an error");
    assert!(error.to_string().contains("knows no master 'others'") && !error.is_transient(), "{error}");
    redis.sentinels[0].kill();
    assert_eq!(verdict(&examine(&config).await, "sentinel"), Some(Verdict::Warning));
    Queue::connect(&config).await.expect("two Sentinels are enough to ask");
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_on_a_cluster_survive_a_moved_slot_and_a_dead_master() {
    const SHARDS: u16 = 6;
    const BATCHES: usize = 3;
    let mut redis = Cluster::start(true);
    let url = redis.url();
    let config =
        Config { url: Url::new(&url), shards: SHARDS, connect_timeout_ms: 1_000, ..Config::default() };
    let alone = Config { url: Url::new(format!("redis://{}", redis.nodes[0].address())), ..config.clone() };
    assert_eq!(verdict(&examine(&alone).await, "topology"), Some(Verdict::Bad));

    let work = Work::new(50_000);
    let queue = Queue::connect(&config).await.expect("a connection");
    let _workers = [(); 2].map(|()| Ours::worker(work.folder.path(), &url, SHARDS));
    let outputs: Vec<String> = (0..BATCHES).map(|i| format!("answers-{i}.txt")).collect();
    let mut producers: Vec<Ours> = outputs.iter().map(|output| work.solve(&url, SHARDS, output)).collect();
    let unfinished = async |least: u64| {
        wait_for("a batch under way", async || {
            let all = queue.recent(BATCHES).await.ok()?;
            assert!(
                all.len() < BATCHES || !all.iter().all(BatchStatus::finished),
                "too fast for faults: {all:?}"
            );
            all.into_iter().find(|status| status.recorded >= least && !status.finished())
        })
        .await
    };
    let slot_of = |redis: &Cluster, batch: &BatchStatus| {
        redis.slot(&format!("{{puzzled:{}}}:depth", batch.id.shard(SHARDS)))
    };
    // One batch's slot moves key by key, with every client in the middle of it.
    let moving = unfinished(1).await;
    let slot = slot_of(&redis, &moving);
    let from = redis.master_of(slot, 0);
    redis.move_slot(slot, from, (from + 1) % 3);
    // The master of another, or of the same if the others have ended, dies.
    let orphan = unfinished(1).await;
    let slot = slot_of(&redis, &orphan);
    let master = redis.master_of(slot, (from + 1) % 3);
    redis.nodes[master].kill();
    for producer in &mut producers {
        assert_eq!(producer.ended(), Some(0));
    }
    for output in &outputs {
        work.check(output);
    }
    for status in queue.recent(BATCHES).await.expect("an answer") {
        check_identity(&status);
        assert!(status.finished() && status.submitted == work.lines, "{status:?}");
    }
    let streams = queue.streams(puzzled_solver::Kind::PUBLIC).await.expect("streams");
    assert!(streams.iter().all(|s| s.waiting == 0 && s.running == 0 && s.chunks == 0), "{streams:?}");
    let findings = examine(&config).await;
    assert_eq!(verdict(&findings, "topology"), Some(Verdict::Good), "{findings:#?}");
    assert_eq!(verdict(&findings, "replicas"), Some(Verdict::Warning), "{findings:#?}");

    // One server is no cluster.
    let alone = Server::start(&[]);
    let wrong = Config { url: Url::new(format!("redis+cluster://{}", alone.address())), ..Config::default() };
    let error = Queue::connect(&wrong).await.err().expect("an error");
    assert!(error.to_string().contains("belongs to no cluster"), "{error}");
}
