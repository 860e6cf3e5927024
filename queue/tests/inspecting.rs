//! What the streams hold, and who works, as those see it who only look.

use std::collections::BTreeMap;

use puzzled_queue::{Batch, Priority, StreamId, StreamState};
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
