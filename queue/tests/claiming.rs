//! Leases: who may work on what, and what happens when somebody falls silent.

use std::collections::HashMap;

use puzzled_queue::{Batch, Hold, Leases, Priority};
use puzzled_solver::OutcomeKind;

use crate::support::{Bed, chunks, echo, solved, stream_key};

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_lease_is_taken_over_and_the_late_owner_counts_nothing_twice() {
    let bed = Bed::with(|config| config.lease_ms = 100).await;
    let batch = bed.submit(&[6]).await;
    let mut dead = bed.consumer("dead").await;
    let claimed = bed.claim(&mut dead, 1).await;
    let fetched = bed.queue.fetch(claimed[0].stream, &claimed).await.unwrap();
    let puzzled_queue::Content::Payload(payload) = &fetched[0].content else { panic!() };
    let late = solved(&claimed[0], payload, "dead");

    let taken = loop {
        let taken = bed.queue.reclaim(claimed[0].stream, "alive", 10).await.unwrap();
        if !taken.claimed.is_empty() {
            break taken.claimed;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(taken[0].chunk, claimed[0].chunk);
    assert_eq!(bed.complete(&taken).await.counted, 1);
    let recorded = bed.queue.complete(claimed[0].stream, batch.id, &[late]).await.unwrap();
    assert_eq!((recorded.counted, recorded.repeated), (0, 1));
    let status = bed.queue.status(batch.id).await.unwrap();
    assert_eq!(status.outcome(OutcomeKind::Solved), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_owner_leaves_nothing_behind_after_its_chunk_was_collected() {
    let bed = Bed::with(|config| config.lease_ms = 100).await;
    // The batch stays open, so that its keys do not expire by themselves.
    let batch = Batch::new(echo());
    bed.queue.create(&batch).await.unwrap();
    bed.queue.enqueue(&batch, &chunks(0, 0, &[6]), false).await.unwrap();
    let mut consumer = bed.consumer("w").await;
    let claimed = bed.claim(&mut consumer, 1).await;
    let fetched = bed.queue.fetch(claimed[0].stream, &claimed).await.unwrap();
    let puzzled_queue::Content::Payload(payload) = &fetched[0].content else { panic!() };
    let done = solved(&claimed[0], payload, "w");
    bed.queue.complete(claimed[0].stream, batch.id, std::slice::from_ref(&done)).await.unwrap();
    let mut follow = bed.queue.follow(batch.id, 0).await.unwrap();
    let part = follow.next().await.unwrap().unwrap();
    follow.put_away(part.chunk);
    follow.flush().await.unwrap();
    assert!(!bed.keys().await.iter().any(|key| key.contains(":result:")));
    let again = bed.queue.complete(claimed[0].stream, batch.id, &[done]).await.unwrap();
    assert_eq!((again.counted, again.repeated), (0, 1));
    assert!(!bed.keys().await.iter().any(|key| key.contains(":result:")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_lease_is_not_taken_and_a_lost_one_is_noticed() {
    let bed = Bed::with(|config| config.lease_ms = 150).await;
    bed.submit(&[1, 1]).await;
    let mut consumer = bed.consumer("w").await;
    let claimed = bed.claim(&mut consumer, 2).await;
    let leases = Leases::open(&bed.queue, "w").await.unwrap();
    leases.add(&claimed);
    let mut renewed = 0;
    // Three leases long, somebody tries to take them while they are renewed.
    let start = std::time::Instant::now();
    while start.elapsed().as_millis() < 450 {
        renewed += leases.renew().await.unwrap().renewed;
        let taken = bed.queue.reclaim(claimed[0].stream, "thief", 10).await.unwrap();
        // Renewal may itself be late on a busy machine: what is taken then must be noticed below.
        if !taken.claimed.is_empty() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert!(renewed > 0);
    // Now the thief comes for real.
    let mut raw = bed.raw().await;
    let key = stream_key(claimed[0].stream);
    let _: redis::Value = redis::cmd("XCLAIM")
        .arg(&key)
        .arg("workers")
        .arg("thief")
        .arg(0)
        .arg(claimed[0].entry.to_string())
        .query_async(&mut raw)
        .await
        .unwrap();
    let lost = loop {
        let round = leases.renew().await.unwrap();
        if round.lost > 0 {
            break round.lost;
        }
        tokio::task::yield_now().await;
    };
    assert!(lost >= 1);
    assert_eq!(leases.hold(&claimed[0]), Hold::Lost);
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_batches_are_noticed_by_their_holder() {
    let bed = Bed::new().await;
    let batch = bed.submit(&[1, 1]).await;
    let kept = bed.submit(&[1]).await;
    let mut consumer = bed.consumer("w").await;
    let claimed = bed.claim(&mut consumer, 3).await;
    assert_eq!(claimed.len(), 3);
    let leases = Leases::open(&bed.queue, "w").await.unwrap();
    let interest = leases.add(&claimed[..2]);
    let other = leases.add(&claimed[2..]);
    leases.check().await.unwrap();
    assert!(claimed.iter().all(|chunk| leases.hold(chunk) == Hold::Wanted));
    bed.queue.cancel(batch.id).await.unwrap();
    leases.check().await.unwrap();
    assert_eq!(leases.hold(&claimed[0]), Hold::Cancelled);
    assert!(interest.stop().load(std::sync::atomic::Ordering::Relaxed));
    assert_eq!(leases.hold(&claimed[2]), Hold::Wanted);
    assert!(!other.stop().load(std::sync::atomic::Ordering::Relaxed));
    assert_eq!(claimed[2].chunk.batch, kept.id);
}

#[tokio::test(flavor = "multi_thread")]
async fn handing_back_spends_no_attempt_and_forgets_the_name() {
    let bed = Bed::new().await;
    bed.submit(&[2, 2, 2]).await;
    let mut leaver = bed.consumer("leaver").await;
    let claimed = bed.claim(&mut leaver, 3).await;
    let streams: Vec<_> = leaver.streams().collect();
    assert_eq!(bed.queue.release_all("leaver", &streams).await.unwrap(), 3);
    let mut raw = bed.raw().await;
    let key = stream_key(claimed[0].stream);
    let pending: Vec<(String, String, u64, u64)> = redis::cmd("XPENDING")
        .arg(&key)
        .arg("workers")
        .arg("-")
        .arg("+")
        .arg(10)
        .query_async(&mut raw)
        .await
        .unwrap();
    assert!(
        pending.iter().all(|(_, owner, _, deliveries)| owner == "released" && *deliveries == 0),
        "{pending:?}"
    );
    let info: redis::Value =
        redis::cmd("XINFO").arg("CONSUMERS").arg(&key).arg("workers").query_async(&mut raw).await.unwrap();
    assert!(!format!("{info:?}").contains("leaver"));
    // Whoever looks next has them at once, though no lease has run out.
    let taken = bed.queue.reclaim(claimed[0].stream, "next", 10).await.unwrap();
    assert_eq!(taken.claimed.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn reclaim_follows_the_cursor_through_a_long_pending_list() {
    let bed = Bed::with(|config| config.lease_ms = 100).await;
    bed.submit(&[1; 400]).await;
    let mut busy = bed.consumer("busy").await;
    let claimed = bed.claim(&mut busy, 400).await;
    assert_eq!(claimed.len(), 400);
    // Only the last one expires; 399 fresh ones stand before it in the list.
    let mut raw = bed.raw().await;
    let key = stream_key(claimed[0].stream);
    let last = claimed[399].entry.to_string();
    let _: redis::Value = redis::cmd("XCLAIM")
        .arg(&key)
        .arg("workers")
        .arg("busy")
        .arg(0)
        .arg(&last)
        .arg("IDLE")
        .arg(3_600_000)
        .query_async(&mut raw)
        .await
        .unwrap();
    let taken = bed.queue.reclaim(claimed[0].stream, "other", 1).await.unwrap();
    assert_eq!(taken.claimed.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_lost_with_a_connection_are_found_again() {
    let bed = Bed::new().await;
    bed.submit(&[1, 1, 1]).await;
    let mut consumer = bed.consumer("w").await;
    let held = bed.claim(&mut consumer, 1).await;
    // Redis delivers under our name, and the answer never reaches us.
    let mut raw = bed.raw().await;
    let _: redis::Value = redis::cmd("XREADGROUP")
        .arg(&["GROUP", "workers", "w", "COUNT", "2", "STREAMS", &stream_key(held[0].stream), ">"])
        .query_async(&mut raw)
        .await
        .unwrap();
    // Our own connection breaks: the next claim must look for them.
    let _: i64 =
        redis::cmd("CLIENT").arg(&["KILL", "TYPE", "normal"]).query_async(&mut raw).await.unwrap_or(0);
    let mine = held[0].entry;
    let found = loop {
        match consumer.claim(|_| 1, |_, entry| entry == mine).await {
            Ok(found) => break found,
            Err(error) => assert!(error.is_transient(), "{error}"),
        }
    };
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|chunk| chunk.entry != mine));
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_follow_the_weights_and_nobody_starves() {
    let bed = Bed::new().await;
    for priority in Priority::ALL {
        let batch = Batch { priority, ..Batch::new(echo()) };
        bed.queue.create(&batch).await.unwrap();
        bed.queue.enqueue(&batch, &chunks(0, 0, &[1; 300]), true).await.unwrap();
    }
    let mut consumer = bed.consumer("w").await;
    let mut share: HashMap<Priority, u32> = HashMap::new();
    // The first claim finds all three awake; then each claim is one chunk, by weight.
    bed.claim(&mut consumer, 1).await;
    for _ in 0..210 {
        for chunk in bed.claim(&mut consumer, 1).await {
            *share.entry(chunk.stream.priority).or_default() += 1;
        }
    }
    let of = |priority| share.get(&priority).copied().unwrap_or(0);
    assert_eq!((of(Priority::High), of(Priority::Normal), of(Priority::Low)), (160, 40, 10));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_urgent_chunk_is_seen_at_the_next_claim() {
    let bed = Bed::new().await;
    bed.submit(&[1; 50]).await;
    let mut consumer = bed.consumer("w").await;
    bed.claim(&mut consumer, 1).await;
    bed.claim(&mut consumer, 1).await;
    let urgent = Batch { priority: Priority::High, ..Batch::new(echo()) };
    bed.queue.create(&urgent).await.unwrap();
    bed.queue.enqueue(&urgent, &chunks(0, 0, &[1]), true).await.unwrap();
    let claimed = bed.claim(&mut consumer, 1).await;
    assert!(claimed.iter().any(|chunk| chunk.chunk.batch == urgent.id), "{claimed:?}");
}
