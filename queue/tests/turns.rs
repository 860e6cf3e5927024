//! Batches of one priority take turns: what a batch may have waiting in the stream, and its backlog.

use puzzled_queue::{Batch, NewChunk};

use crate::support::{Bed, chunks, echo};

/// Puts `count` chunks of one job each onto the queue.
async fn submit(bed: &Bed, count: u64, ahead_jobs: u32) -> Batch {
    let batch = Batch { chunk_jobs: 1, ahead_jobs, ..Batch::new(echo()) };
    bed.queue.create(&batch).await.unwrap();
    let chunks: Vec<NewChunk> = chunks(0, 0, &vec![1; count as usize]);
    for (i, part) in chunks.chunks(100).enumerate() {
        let is_last = (i + 1) * 100 >= chunks.len();
        bed.queue.enqueue(&batch, part, is_last).await.unwrap();
    }
    batch
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_batch_is_not_behind_all_of_a_huge_one() {
    let bed = Bed::new().await;
    let huge = submit(&bed, 1_000, 32).await;
    assert_eq!(bed.unfinished_chunks().await, 32, "the rest waits in the backlog");
    assert_eq!(bed.depth().await, (1_000, 0), "and counts as waiting all the same");
    let small = submit(&bed, 40, 32).await;
    let mut consumer = bed.consumer("w").await;
    let (mut claims, mut of_small, mut numbers) = (0_u32, 0, Vec::new());
    while of_small < 40 {
        for chunk in bed.claim(&mut consumer, 1).await {
            claims += 1;
            if chunk.chunk.batch == small.id {
                of_small += 1;
            } else {
                numbers.push(chunk.chunk.number);
            }
            assert_eq!(bed.complete(&[chunk]).await.counted, 1);
        }
        bed.check_identity(huge.id).await;
    }
    // 32 of the huge one were there before; from then on they alternate.
    assert!(claims <= 32 + 2 * 40, "{claims} claims until the small batch was done");
    assert!(numbers.is_sorted(), "chunks of a batch come in its order");
    bed.drain(&mut consumer).await;
    let status = bed.queue.status(huge.id).await.unwrap();
    assert!(status.finished() && status.recorded == 1_000, "{status:?}");
    assert!(!bed.keys().await.iter().any(|key| key.contains("backlog")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_waits_since_it_was_accepted_and_not_since_its_turn() {
    let bed = Bed::new().await;
    submit(&bed, 3, 1).await;
    let mut consumer = bed.consumer("w").await;
    let first = bed.claim(&mut consumer, 1).await;
    assert_eq!(first[0].since_ms, first[0].entry.ms);
    let moved_up = first[0].entry.ms + 20;
    while bed.queue.server_ms().await.unwrap() <= moved_up {
        tokio::task::yield_now().await;
    }
    bed.complete(&first).await;
    let second = bed.claim(&mut consumer, 1).await;
    assert!(second[0].since_ms < moved_up && second[0].entry.ms >= moved_up, "{second:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_dies_before_it_says_what_it_has_does_not_strand_the_backlog() {
    let bed = Bed::with(|config| config.lease_ms = 100).await;
    let batch = submit(&bed, 10, 2).await;
    let mut dead = bed.consumer("dead").await;
    // Both chunks of the stream are delivered, and nobody ever fetches them.
    let taken = bed.claim(&mut dead, 10).await;
    assert_eq!(taken.len(), 2);
    let mut done = 0;
    let mut alive = bed.consumer("alive").await;
    while done < 10 {
        let mut claimed = bed.queue.reclaim(taken[0].stream, "alive", 10).await.unwrap().claimed;
        if claimed.is_empty() && done > 0 {
            claimed = bed.claim(&mut alive, 10).await;
        }
        if !claimed.is_empty() {
            done += bed.complete(&claimed).await.counted;
        }
    }
    assert!(bed.queue.status(batch.id).await.unwrap().finished());
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_drops_the_backlog_too() {
    let bed = Bed::new().await;
    let batch = submit(&bed, 100, 4).await;
    assert_eq!(bed.queue.cancel(batch.id).await.unwrap(), 100);
    assert!(!bed.keys().await.iter().any(|key| key.contains("backlog")));
    assert_eq!(bed.depth().await, (0, 0));
    // Sent again, as by a producer that missed the answer: nothing comes back to life.
    assert!(bed.queue.enqueue(&batch, &chunks(100, 100, &[1]), false).await.is_err());
    let mut consumer = bed.consumer("w").await;
    for chunk in bed.claim(&mut consumer, 10).await {
        bed.complete(&[chunk]).await;
    }
    assert_eq!(bed.unfinished_chunks().await, 0);
    bed.check_identity(batch.id).await;
}
