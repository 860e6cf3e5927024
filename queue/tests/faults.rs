//! Redis misbehaves, disappears, was set up by somebody else; dead things are swept.

use std::time::Duration;

use puzzled_queue::{Batch, Config, Error, Queue, Swept, Verdict};
use puzzled_service::Url;

use crate::support::{Bed, chunks, echo, stream_key};

async fn set(bed: &Bed, name: &str, value: &str) {
    let _: () =
        redis::cmd("CONFIG").arg("SET").arg(name).arg(value).query_async(&mut bed.raw().await).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_that_vanish_are_made_again_from_the_beginning() {
    let bed = Bed::new().await;
    let mut consumer = bed.consumer("w").await;
    let first = bed.submit(&[1, 1]).await;
    bed.drain(&mut consumer).await;
    let _: () = redis::cmd("FLUSHALL").query_async(&mut bed.raw().await).await.unwrap();
    assert!(matches!(bed.queue.status(first.id).await, Err(Error::NoBatch(_))));
    // Submitted before the group is back: `$` would lose it.
    let second = bed.submit(&[3]).await;
    assert_eq!(bed.drain(&mut consumer).await, 1);
    assert_eq!(bed.queue.status(second.id).await.unwrap().recorded, 3);
    // And the reclaimer alone copes as well.
    let stream = consumer.streams().next().unwrap();
    let _: () = redis::cmd("FLUSHALL").query_async(&mut bed.raw().await).await.unwrap();
    assert!(bed.queue.reclaim(stream, "w", 10).await.unwrap().claimed.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn out_of_memory_refuses_a_submit_whole_and_it_can_be_repeated() {
    let bed = Bed::new().await;
    let batch = Batch::new(echo());
    bed.queue.create(&batch).await.unwrap();
    set(&bed, "maxmemory", "1").await;
    let all = chunks(0, 0, &[2, 2]);
    let refused = bed.queue.enqueue(&batch, &all, true).await;
    assert!(matches!(refused, Err(Error::OutOfMemory(_))), "{refused:?}");
    assert!(matches!(bed.queue.create(&Batch::new(echo())).await, Err(Error::OutOfMemory(_))));
    set(&bed, "maxmemory", "0").await;
    assert_eq!(bed.queue.status(batch.id).await.unwrap().submitted, 0);
    bed.queue.enqueue(&batch, &all, true).await.unwrap();
    // Completing under the same pressure fails whole as well, and works later.
    let mut consumer = bed.consumer("w").await;
    let claimed = bed.claim(&mut consumer, 2).await;
    let fetched = bed.queue.fetch(claimed[0].stream, &claimed[..1]).await.unwrap();
    let puzzled_queue::Content::Payload(payload) = &fetched[0].content else { panic!() };
    let done = crate::support::solved(&claimed[0], payload, "w");
    set(&bed, "maxmemory", "1").await;
    let refused = bed.queue.complete(claimed[0].stream, batch.id, std::slice::from_ref(&done)).await;
    assert!(matches!(refused, Err(Error::OutOfMemory(_))), "{refused:?}");
    set(&bed, "maxmemory", "0").await;
    assert_eq!(bed.queue.status(batch.id).await.unwrap().recorded, 0);
    assert_eq!(bed.queue.complete(claimed[0].stream, batch.id, &[done]).await.unwrap().counted, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_server_says_so() {
    let bed = Bed::new().await;
    let _: () =
        redis::cmd("REPLICAOF").arg("127.0.0.1").arg("1").query_async(&mut bed.raw().await).await.unwrap();
    let refused = bed.queue.create(&Batch::new(echo())).await;
    assert!(matches!(refused, Err(Error::ReadOnly(_))), "{refused:?}");
    let findings = bed.queue.examine(puzzled_queue::Rights::Operator).await.unwrap();
    assert!(findings.iter().any(|f| f.subject == "role" && f.verdict == Verdict::Bad));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_a_dead_address_and_a_bad_url_are_told_apart() {
    let bed = Bed::new().await;
    set(&bed, "requirepass", "sesame").await;
    let refused = Queue::connect(&bed.config).await.err();
    assert!(matches!(refused, Some(Error::Refused { .. })), "{refused:?}");
    let url = bed.server.url().to_owned() + "?pass=wrong-secret";
    let refused = Queue::connect(&Config { url: Url::new(url), ..Config::default() }).await.err().unwrap();
    assert!(matches!(refused, Error::Refused { .. }), "{refused:?}");
    assert!(!format!("{refused} {refused:?}").contains("wrong-secret"));
    let url = bed.server.url().to_owned() + "?pass=sesame";
    Queue::connect(&Config { url: Url::new(url), ..Config::default() }).await.unwrap();
    let nobody = Config { url: Url::new("redis://127.0.0.1:1"), ..Config::default() };
    assert!(matches!(Queue::connect(&nobody).await.err(), Some(Error::Unreachable { .. })));
    for bad in ["", "localhost", "http://127.0.0.1", "redis://"] {
        let config = Config { url: Url::new(bad), ..Config::default() };
        let error = Queue::connect(&config).await.err();
        assert!(
            matches!(error, Some(Error::Setting { key: "redis.url", .. } | Error::Unreachable { .. })),
            "{bad}: {error:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_of_other_shards_or_a_newer_protocol_is_refused() {
    let bed = Bed::new().await;
    let other = Config { shards: 3, ..bed.config.clone() };
    assert!(matches!(Queue::connect(&other).await.err(), Some(Error::Incompatible(_))));
    let elsewhere = Config { shards: 3, prefix: "other".to_owned(), ..bed.config.clone() };
    let sharded = Queue::connect(&elsewhere).await.unwrap();
    for _ in 0..8 {
        sharded.create(&Batch::new(echo())).await.unwrap();
    }
    assert_eq!(sharded.recent(100).await.unwrap().len(), 8);
    let _: () = redis::cmd("HSET")
        .arg("{puzzled:0}:meta")
        .arg("protocol")
        .arg(2)
        .query_async(&mut bed.raw().await)
        .await
        .unwrap();
    let error = Queue::connect(&bed.config).await.err().unwrap();
    assert!(matches!(&error, Error::Incompatible(text) if text.contains("protocol 2")), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_that_are_no_chunks_are_dropped_and_do_no_harm() {
    let bed = Bed::new().await;
    let mut consumer = bed.consumer("w").await;
    let stream = consumer.streams().nth(1).unwrap();
    let mut raw = bed.raw().await;
    for fields in [&["x", "y"][..], &["b", "no-uuid", "n", "0", "f", "0", "j", "1"], &["b", "1"]] {
        let _: String = redis::cmd("XADD")
            .arg(stream_key(stream))
            .arg("*")
            .arg(fields)
            .query_async(&mut raw)
            .await
            .unwrap();
    }
    let batch = bed.submit(&[2]).await;
    assert_eq!(bed.drain(&mut consumer).await, 1);
    assert_eq!(bed.queue.status(batch.id).await.unwrap().recorded, 2);
    assert_eq!(bed.unfinished_chunks().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payload_deleted_by_hand_is_reported_not_dropped() {
    let bed = Bed::new().await;
    let batch = bed.submit(&[2]).await;
    let key = format!("{{puzzled:0}}:payload:{}", batch.id);
    let _: i64 = redis::cmd("DEL").arg(key).query_async(&mut bed.raw().await).await.unwrap();
    let mut consumer = bed.consumer("w").await;
    let claimed = bed.claim(&mut consumer, 1).await;
    let fetched = bed.queue.fetch(claimed[0].stream, &claimed).await.unwrap();
    assert!(matches!(fetched[0].content, puzzled_queue::Content::Missing));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sweeper_takes_the_dead_and_spares_the_living() {
    let bed = Bed::with(|config| {
        config.lease_ms = 100;
        config.retention_s = 1;
    })
    .await;
    let abandoned = Batch::new(echo());
    bed.queue.create(&abandoned).await.unwrap();
    let mut dead = bed.consumer("dead").await;
    let mut owner = bed.consumer("owner").await;
    let done = bed.submit(&[1]).await;
    let claimed = bed.claim(&mut dead, 1).await;
    bed.complete(&claimed).await;
    bed.submit(&[1]).await;
    let held = bed.claim(&mut owner, 1).await;
    drop(dead);
    drop(owner);
    let streams = [held[0].stream];
    // Silent for ten leases and open for a whole retention time: both a second here.
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    let mut total = Swept::default();
    while total.consumers < 1 || total.closed < 1 || total.expired < 1 {
        assert!(std::time::Instant::now() < deadline, "{total:?}");
        let swept = bed.queue.sweep(&streams).await.unwrap();
        total.consumers += swept.consumers;
        total.closed += swept.closed;
        total.expired += swept.expired;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(matches!(bed.queue.status(done.id).await, Err(Error::NoBatch(_))));
    let info: redis::Value = redis::cmd("XINFO")
        .arg("CONSUMERS")
        .arg(stream_key(held[0].stream))
        .arg("workers")
        .query_async(&mut bed.raw().await)
        .await
        .unwrap();
    let text = format!("{info:?}");
    let bytes = |name: &str| format!("{:?}", redis::Value::BulkString(name.as_bytes().to_vec()));
    assert!(!text.contains(&bytes("dead")), "{text}");
    assert!(text.contains(&bytes("owner")), "a name with pending chunks must stay: {text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_record_does_not_touch_a_chunk_that_was_sent_again() {
    let bed = Bed::new().await;
    let batch = bed.submit(&[4, 1]).await;
    let mut stale = bed.consumer("stale").await;
    let claimed = bed.claim(&mut stale, 2).await;
    let fetched = bed.queue.fetch(claimed[0].stream, &claimed).await.unwrap();
    let done: Vec<_> = fetched
        .iter()
        .map(|f| match &f.content {
            puzzled_queue::Content::Payload(payload) => crate::support::solved(&f.claimed, payload, "stale"),
            other => panic!("{other:?}"),
        })
        .collect();
    // Redis loses everything, and the producer submits under the same id, cut differently.
    let _: () = redis::cmd("FLUSHALL").query_async(&mut bed.raw().await).await.unwrap();
    // In the same millisecond the new entries would have the ids of the old ones.
    while bed.queue.server_ms().await.unwrap() <= claimed[1].entry.ms {}
    bed.queue.create(&batch).await.unwrap();
    bed.queue.enqueue(&batch, &chunks(0, 0, &[3, 2]), true).await.unwrap();
    let recorded = bed.queue.complete(claimed[0].stream, batch.id, &done).await.unwrap();
    assert_eq!((recorded.counted, recorded.repeated), (0, 2));
    let status = bed.queue.status(batch.id).await.unwrap();
    assert_eq!((status.recorded, status.waiting()), (0, 5));
    let mut fresh = bed.consumer("fresh").await;
    assert_eq!(bed.drain(&mut fresh).await, 2);
    let mut follow = bed.queue.follow(batch.id, 0).await.unwrap();
    let mut sizes = Vec::new();
    while let Some(part) = follow.next().await.unwrap() {
        assert_eq!(part.facts.unwrap().worker, "w");
        sizes.push(part.outcomes.len());
    }
    assert_eq!(sizes, [3, 2]);
    bed.check_identity(batch.id).await;
    assert_eq!(bed.depth().await, (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_server_can_still_be_read() {
    let bed = Bed::new().await;
    let batch = bed.submit(&[2]).await;
    bed.drain(&mut bed.consumer("w").await).await;
    set(&bed, "maxmemory", "1").await;
    let visitor = Queue::connect(&bed.config).await.unwrap();
    assert!(visitor.status(batch.id).await.unwrap().finished());
    let mut follow = visitor.follow(batch.id, 0).await.unwrap();
    assert_eq!(follow.next().await.unwrap().unwrap().outcomes.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn outcomes_deleted_by_hand_are_reported_not_waited_for() {
    let bed = Bed::new().await;
    let batch = bed.submit(&[2, 2, 2]).await;
    bed.drain(&mut bed.consumer("w").await).await;
    let key = format!("{{puzzled:0}}:result:{}", batch.id);
    let _: i64 = redis::cmd("HDEL").arg(key).arg(1).query_async(&mut bed.raw().await).await.unwrap();
    let mut follow = bed.queue.follow(batch.id, 0).await.unwrap();
    assert!(follow.next().await.unwrap().is_some());
    assert!(matches!(follow.next().await, Err(Error::Missing(job)) if job.index == 2));
    let job = puzzled_queue::JobId { batch: batch.id, index: 3 };
    assert!(matches!(bed.queue.job(job).await, Err(Error::Missing(_))));
}
