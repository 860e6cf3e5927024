//! What the streams hold, and who works, as those see it who only look.

use std::collections::BTreeMap;

use puzzled_queue::{Batch, DeadLetter, JobId, Presence, Priority, Queue, StreamId, StreamState, Verdict};
use puzzled_solver::Kind;

use crate::support::{Bed, chunks, echo};

/// How often each command was called so far.
async fn calls(bed: &Bed) -> BTreeMap<String, u64> {
    let info: String =
        redis::cmd("INFO").arg("commandstats").query_async(&mut bed.raw().await).await.unwrap();
    let line = |line: &str| {
        let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        Some((name.to_owned(), rest.split(',').next()?.parse().ok()?))
    };
    info.lines().filter_map(line).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_look_at_all_streams_costs_few_commands() {
    let bed = Bed::new().await;
    for (priority, sizes) in [(Priority::High, &[3, 4, 5][..]), (Priority::Low, &[7])] {
        let batch = Batch { priority, ..Batch::new(echo()) };
        bed.queue.create(&batch).await.unwrap();
        bed.queue.enqueue(&batch, &chunks(0, 0, sizes), true).await.unwrap();
    }
    let mut consumer = bed.consumer("w").await;
    let taken = bed.claim(&mut consumer, 1).await;
    assert!(taken.iter().any(|chunk| chunk.stream.priority == Priority::High), "{taken:?}");
    for chunk in &taken {
        bed.queue.fetch(chunk.stream, std::slice::from_ref(chunk)).await.unwrap();
    }
    let took = |priority| taken.iter().filter(move |chunk| chunk.stream.priority == priority);

    let before = calls(&bed).await;
    let found = bed.queue.streams(&Kind::ALL).await.unwrap();
    let after = calls(&bed).await;
    let expected: Vec<StreamState> = Kind::ALL
        .iter()
        .flat_map(|&kind| Priority::ALL.map(|priority| StreamId { shard: 0, kind, priority }))
        .zip(&found)
        .map(|(stream, found)| {
            let (jobs, chunks) = match (stream.kind, stream.priority) {
                (Kind::Echo, Priority::High) => (12, 3),
                (Kind::Echo, Priority::Low) => (7, 1),
                _ => (0, 0),
            };
            let of_kind = stream.kind == Kind::Echo;
            let running: u64 = took(stream.priority).map(|chunk| u64::from(chunk.chunk.jobs)).sum();
            let running = if of_kind { running } else { 0 };
            let pending = if of_kind { took(stream.priority).count() as u64 } else { 0 };
            // Its age is what it is, but only where something waits.
            let oldest_waiting_ms = if chunks > pending { found.oldest_waiting_ms } else { 0 };
            StreamState { stream, waiting: jobs - running, running, chunks, pending, oldest_waiting_ms }
        })
        .collect();
    assert_eq!(found, expected);

    let streams = (Kind::ALL.len() * Priority::ALL.len()) as u64;
    let asked = |name: &str| after.get(name).copied().unwrap_or(0) - before.get(name).copied().unwrap_or(0);
    let each = ["hmget", "xlen", "xinfo|groups", "time", "xrange"].map(asked);
    assert_eq!(each, [1, streams, 2, 1, 2]);
    assert!(bed.queue.streams(&[]).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn vitals_tell_the_living_the_silent_and_the_recent() {
    let bed = Bed::with(|config| config.shards = 3).await;
    let now = bed.queue.server_ms().await.unwrap();
    let presence = |worker: &str, seen_ms| Presence {
        worker: worker.to_owned(),
        host: "h".to_owned(),
        version: "1.0.0".to_owned(),
        threads: 1,
        seen_ms,
        ..Presence::default()
    };
    bed.queue.announce(&presence("alive", 0)).await.unwrap();
    // What others said some time ago; a row that nobody can read is passed over.
    let say = async |worker: &str, text: String| {
        let key = "{puzzled:0}:workers";
        let _: () = redis::cmd("HSET")
            .arg(key)
            .arg(worker)
            .arg(text)
            .query_async(&mut bed.raw().await)
            .await
            .unwrap();
    };
    for (worker, silent_ms) in [("silent", 20_000), ("forgotten", 70_000)] {
        say(worker, serde_json::to_string(&presence(worker, now - silent_ms)).unwrap()).await;
    }
    say("strange", "{}".to_owned()).await;
    // Letters on whatever shards, the last of them old.
    for at_ms in [now, now - 590_000, now - 610_000] {
        let batch = bed.submit(&[2]).await;
        let job = JobId { batch: batch.id, index: 0 };
        let (task, puzzle, reason) = ("echo".to_owned(), "x".to_owned(), "y".to_owned());
        bed.queue
            .bury(&[DeadLetter { job, task, puzzle, reason, history: Vec::new(), at_ms }])
            .await
            .unwrap();
    }
    bed.queue.pause(Kind::Slide).await.unwrap();

    let vitals = bed.queue.vitals().await.unwrap();
    let names = |workers: Vec<&Presence>| -> Vec<String> {
        workers.iter().map(|worker| worker.worker.clone()).collect()
    };
    assert_eq!(names(vitals.workers.iter().collect()), ["alive", "silent"]);
    assert_eq!(names(vitals.alive().collect()), ["alive"]);
    assert_eq!(names(vitals.silent().collect()), ["silent"]);
    assert_eq!((vitals.dead_letters, vitals.dead_letters_recent), (3, 2));
    assert_eq!(vitals.streams.len(), 3 * Kind::ALL.len() * Priority::ALL.len());
    assert_eq!(vitals.streams.iter().map(|state| state.waiting).sum::<u64>(), 6);
    assert_eq!(vitals.paused.iter().map(|paused| paused.kind).collect::<Vec<_>>(), [Kind::Slide]);
    assert!(vitals.time_ms >= now);
}

#[tokio::test(flavor = "multi_thread")]
async fn vitals_of_a_redis_that_nobody_used_change_nothing() {
    let bed = Bed::new().await;
    let _: () = redis::cmd("FLUSHALL").query_async(&mut bed.raw().await).await.unwrap();
    let visitor = Queue::visit(&bed.config).await.unwrap();
    let vitals = visitor.vitals().await.unwrap();
    let findings = vitals.findings(60_000, "1.0.0");
    let heads: Vec<_> = findings.iter().map(|finding| (finding.subject, finding.verdict)).collect();
    assert_eq!(heads, [("workers", Verdict::Warning), ("dead letters", Verdict::Good)]);
    assert_eq!(bed.keys().await, [""; 0]);
}
