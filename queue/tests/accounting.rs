//! Submission and recording: everything once, whatever is repeated.

use puzzled_queue::{Batch, Digest, Error, NewChunk, Opened, Priority};
use puzzled_solver::OutcomeKind;

use crate::support::{Bed, chunks, echo};

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_goes_through() {
    let bed = Bed::new().await;
    let batch = bed.submit(&[3, 3, 2]).await;
    assert_eq!(bed.depth().await, (8, 0));
    bed.check_identity(batch.id).await;
    let mut consumer = bed.consumer("w").await;
    let claimed = bed.claim(&mut consumer, 2).await;
    assert_eq!(claimed.len(), 2);
    let fetched = bed.queue.fetch(claimed[0].stream, &claimed).await.unwrap();
    assert_eq!(fetched.len(), 2);
    assert_eq!(bed.depth().await, (2, 6));
    let status = bed.queue.status(batch.id).await.unwrap();
    assert_eq!((status.waiting(), status.running(), status.recorded, status.state()), (2, 6, 0, "running"));
    assert_eq!(bed.complete(&claimed).await.counted, 2);
    bed.check_identity(batch.id).await;
    bed.drain(&mut consumer).await;
    let status = bed.queue.status(batch.id).await.unwrap();
    assert_eq!((status.outcome(OutcomeKind::Solved), status.state()), (8, "finished"));
    assert_eq!(bed.depth().await, (0, 0));
    bed.check_identity(batch.id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn submitting_again_doubles_nothing_and_gaps_are_refused() {
    let bed = Bed::new().await;
    let batch = Batch::new(echo());
    assert_eq!(bed.queue.create(&batch).await.unwrap(), Opened::New);
    assert!(matches!(bed.queue.create(&batch).await.unwrap(), Opened::Existing(there) if there.chunks == 0));
    let other = Batch { priority: Priority::Low, ..batch.clone() };
    assert!(matches!(bed.queue.create(&other).await, Err(Error::Taken { .. })));

    let all = chunks(0, 0, &[4, 4, 4, 1]);
    assert_eq!(bed.queue.enqueue(&batch, &all[..2], false).await.unwrap(), 2);
    // The reply was lost: the same chunks come again, with a new one behind them.
    assert_eq!(bed.queue.enqueue(&batch, &all[..3], false).await.unwrap(), 3);
    let late = chunks(9, 0, &[4]);
    assert!(matches!(bed.queue.enqueue(&batch, &late, false).await, Err(Error::Gap { expected: 3, .. })));
    // Another input under the same id, alone, behind what is there, and together with it.
    let other = chunks(0, 100, &[4, 4, 4, 1]);
    for part in [&other[..1], &other[2..3], &other[3..], &other[2..], &other[..]] {
        let refused = bed.queue.enqueue(&batch, part, true).await;
        assert!(matches!(refused, Err(Error::Differs { chunks: 3, .. })), "{refused:?}");
    }
    assert_eq!(bed.queue.enqueue(&batch, &all[3..], true).await.unwrap(), 4);
    assert_eq!(bed.queue.enqueue(&batch, &all[2..], true).await.unwrap(), 4);
    let more: Vec<NewChunk> = chunks(4, 13, &[1]);
    assert!(matches!(bed.queue.enqueue(&batch, &more, false).await, Err(Error::Closed(_))));

    let mut consumer = bed.consumer("w").await;
    assert_eq!(bed.drain(&mut consumer).await, 4);
    let status = bed.queue.status(batch.id).await.unwrap();
    assert_eq!((status.submitted, status.recorded, status.chunks), (13, 13, 4));
    let Opened::Existing(there) = bed.queue.create(&batch).await.unwrap() else { panic!("it is there") };
    let digest = all.iter().fold(Digest::default(), |digest, chunk| digest.then(&chunk.payload));
    assert_eq!((there.chunks, there.jobs, there.digest, there.closed), (4, 13, Some(digest), true));
    // Again after everything is done: no payload may stay behind.
    assert_eq!(bed.queue.enqueue(&batch, &all, true).await.unwrap(), 4);
    assert_eq!(bed.depth().await, (0, 0));
    assert!(!bed.keys().await.iter().any(|key| key.contains(":payload:")), "{:?}", bed.keys().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_depth_limit_holds_submits_back_and_loses_nothing() {
    let bed = Bed::with(|config| config.depth_jobs_max = 10).await;
    let batch = Batch::new(echo());
    bed.queue.create(&batch).await.unwrap();
    let all = chunks(0, 0, &[6, 6, 6]);
    assert_eq!(bed.queue.enqueue(&batch, &all[..2], false).await.unwrap(), 2);
    let full = bed.queue.enqueue(&batch, &all[2..], true).await;
    assert!(matches!(full, Err(Error::Full { unfinished: 12, limit: 10 })), "{full:?}");
    assert!(!bed.queue.status(batch.id).await.unwrap().closed);
    let mut consumer = bed.consumer("w").await;
    let claimed = bed.claim(&mut consumer, 1).await;
    bed.complete(&claimed).await;
    assert_eq!(bed.queue.enqueue(&batch, &all[2..], true).await.unwrap(), 3);
    bed.drain(&mut consumer).await;
    assert_eq!(bed.queue.status(batch.id).await.unwrap().recorded, 18);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_batch_finishes_when_it_is_closed() {
    let bed = Bed::new().await;
    let batch = Batch::new(echo());
    bed.queue.create(&batch).await.unwrap();
    bed.queue.enqueue(&batch, &[], true).await.unwrap();
    assert!(bed.queue.status(batch.id).await.unwrap().finished());
    let mut follow = bed.queue.follow(batch.id, 0).await.unwrap();
    assert!(follow.next().await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn completing_twice_counts_once() {
    let bed = Bed::new().await;
    let batch = bed.submit(&[5, 5]).await;
    let mut consumer = bed.consumer("w").await;
    let claimed = bed.claim(&mut consumer, 2).await;
    let payloads = bed.queue.fetch(claimed[0].stream, &claimed).await.unwrap();
    let done: Vec<_> = payloads
        .iter()
        .map(|f| match &f.content {
            puzzled_queue::Content::Payload(p) => crate::support::solved(&f.claimed, p, "w"),
            other => panic!("{other:?}"),
        })
        .collect();
    let first = bed.queue.complete(claimed[0].stream, batch.id, &done[..1]).await.unwrap();
    assert_eq!((first.counted, first.repeated), (1, 0));
    // The reply was lost, and a second chunk is ready by now.
    let second = bed.queue.complete(claimed[0].stream, batch.id, &done).await.unwrap();
    assert_eq!((second.counted, second.repeated, second.conflicts), (1, 1, 0));
    let status = bed.queue.status(batch.id).await.unwrap();
    assert_eq!((status.recorded, status.outcome(OutcomeKind::Solved)), (10, 10));
    assert_eq!(bed.depth().await, (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_is_at_once_and_whoever_is_late_changes_nothing() {
    let bed = Bed::new().await;
    let batch = bed.submit(&[4, 4, 4]).await;
    let mut consumer = bed.consumer("w").await;
    let claimed = bed.claim(&mut consumer, 2).await;
    bed.complete(&claimed[..1]).await;
    let running = bed.queue.fetch(claimed[1].stream, &claimed[1..]).await.unwrap();
    let puzzled_queue::Content::Payload(payload) = &running[0].content else { panic!("{running:?}") };
    let late = crate::support::solved(&claimed[1], payload, "w");

    assert_eq!(bed.queue.cancel(batch.id).await.unwrap(), 8);
    assert_eq!(bed.queue.cancel(batch.id).await.unwrap(), 0);
    assert_eq!(bed.depth().await, (0, 0));
    bed.check_identity(batch.id).await;
    // And again, after a lost answer.
    for _ in 0..2 {
        let recorded =
            bed.queue.complete(claimed[1].stream, batch.id, std::slice::from_ref(&late)).await.unwrap();
        assert_eq!((recorded.counted, recorded.dropped), (0, 1));
    }
    // The chunk still in the stream is met and dropped.
    bed.drain(&mut consumer).await;
    assert_eq!(bed.depth().await, (0, 0));
    let status = bed.queue.status(batch.id).await.unwrap();
    assert_eq!((status.outcome(OutcomeKind::Solved), status.outcome(OutcomeKind::Cancelled)), (4, 8));
    assert_eq!(status.state(), "cancelled");
    let more = bed.queue.enqueue(&batch, &chunks(3, 12, &[1]), false).await;
    assert!(matches!(more, Err(Error::Cancelled(_))));

    let mut follow = bed.queue.follow(batch.id, 0).await.unwrap();
    let mut kinds = Vec::new();
    while let Some(part) = follow.next().await.unwrap() {
        kinds.extend(part.outcomes.iter().map(|o| o.kind));
    }
    assert_eq!(kinds[..4], [OutcomeKind::Solved; 4]);
    assert_eq!(kinds[4..], [OutcomeKind::Cancelled; 8]);
    assert!(!bed.keys().await.iter().any(|key| key.contains(":payload:")));
}
