//! Reading outcomes by job, by range, as a stream; and what stays afterwards.

use puzzled_queue::{Batch, Error, JobId, JobState};
use puzzled_solver::OutcomeKind;

use crate::support::{Bed, chunks, echo, text};

#[tokio::test(flavor = "multi_thread")]
async fn every_job_is_found_in_chunks_of_any_sizes() {
    let bed = Bed::new().await;
    let sizes = [4, 4, 4, 2, 4, 4, 1, 1, 7, 7, 7, 3];
    let total: u32 = sizes.iter().sum();
    let batch = Batch::new(echo());
    bed.queue.create(&batch).await.unwrap();
    // One chunk a call, so that the layout is found out step by step.
    for chunk in chunks(0, 0, &sizes) {
        bed.queue.enqueue(&batch, std::slice::from_ref(&chunk), false).await.unwrap();
    }
    bed.queue.enqueue(&batch, &[], true).await.unwrap();
    for index in 0..u64::from(total) {
        assert_eq!(bed.queue.job(JobId { batch: batch.id, index }).await.unwrap(), JobState::Waiting);
    }
    let mut consumer = bed.consumer("w").await;
    bed.drain(&mut consumer).await;
    for index in 0..u64::from(total) {
        let JobState::Recorded { kind, text: found, facts } =
            bed.queue.job(JobId { batch: batch.id, index }).await.unwrap()
        else {
            panic!("job {index} is not recorded");
        };
        assert_eq!((kind, found), (OutcomeKind::Solved, text(index).into_bytes()));
        assert_eq!(facts.unwrap().worker, "w");
    }
    let beyond = bed.queue.job(JobId { batch: batch.id, index: u64::from(total) }).await;
    assert!(matches!(beyond, Err(Error::NoJob(_))));
    for from in 0..u64::from(total) {
        let mut follow = bed.queue.follow(batch.id, from).await.unwrap();
        let mut next = from;
        while let Some(part) = follow.next().await.unwrap() {
            assert_eq!(part.first, next);
            for outcome in part.outcomes.iter() {
                assert_eq!(outcome.text, text(next).as_bytes());
                next += 1;
            }
        }
        assert_eq!(next, u64::from(total), "from {from}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_keeps_order_while_chunks_finish_in_any_order() {
    let bed = Bed::new().await;
    let batch = bed.submit(&[2; 20]).await;
    let mut consumer = bed.consumer("w").await;
    let mut claimed = bed.claim(&mut consumer, 20).await;
    claimed.reverse();
    let mut follow = bed.queue.follow(batch.id, 0).await.unwrap();
    let reader = tokio::spawn(async move {
        let mut seen = Vec::new();
        while let Some(part) = follow.next().await.unwrap() {
            seen.push(part.chunk);
        }
        seen
    });
    for chunk in claimed {
        bed.complete(&[chunk]).await;
    }
    assert_eq!(reader.await.unwrap(), (0..20).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn collected_outcomes_leave_redis_and_say_so() {
    let bed = Bed::new().await;
    let batch = bed.submit(&[2; 5]).await;
    let mut consumer = bed.consumer("w").await;
    bed.drain(&mut consumer).await;
    let mut follow = bed.queue.follow(batch.id, 0).await.unwrap();
    let part = follow.next().await.unwrap().unwrap();
    follow.put_away(part.chunk);
    follow.flush().await.unwrap();
    let job = |index| JobId { batch: batch.id, index };
    assert_eq!(bed.queue.job(job(0)).await.unwrap(), JobState::Collected);
    assert!(matches!(bed.queue.job(job(9)).await.unwrap(), JobState::Recorded { .. }));
    let mut second = bed.queue.follow(batch.id, 0).await.unwrap();
    assert!(matches!(second.next().await, Err(Error::Collected(_))));
    while let Some(part) = follow.next().await.unwrap() {
        follow.put_away(part.chunk);
    }
    follow.flush().await.unwrap();
    let left: Vec<String> =
        bed.keys().await.into_iter().filter(|key| key.contains(&batch.id.to_string())).collect();
    assert_eq!(left.len(), 1, "only the record stays, for a while: {left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn finished_batches_expire_unless_kept() {
    let bed = Bed::new().await;
    let mut consumer = bed.consumer("w").await;
    let mut raw = bed.raw().await;
    for (keep, expires) in [(false, true), (true, false)] {
        let batch = Batch { keep, ..Batch::new(echo()) };
        bed.queue.create(&batch).await.unwrap();
        bed.queue.enqueue(&batch, &chunks(0, 0, &[2, 1, 5]), true).await.unwrap();
        bed.drain(&mut consumer).await;
        let keys: Vec<String> =
            bed.keys().await.into_iter().filter(|k| k.contains(&batch.id.to_string())).collect();
        assert!(keys.len() >= 2, "{keys:?}");
        for key in keys {
            let ttl: i64 = redis::cmd("TTL").arg(&key).query_async(&mut raw).await.unwrap();
            assert_eq!(ttl > 0, expires, "{key} has a TTL of {ttl}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn recent_batches_come_newest_first() {
    let bed = Bed::new().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(bed.submit(&[1]).await.id);
    }
    ids.reverse();
    let recent: Vec<_> = bed.queue.recent(3).await.unwrap().into_iter().map(|s| s.id).collect();
    assert_eq!(recent, ids[..3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_far_behind_catches_up_without_waiting_for_silence() {
    // More chunks than a listener keeps notices of: all recorded while the reader is away.
    let bed = Bed::new().await;
    let batch = Batch::new(echo());
    bed.queue.create(&batch).await.unwrap();
    let mut follow = bed.queue.follow(batch.id, 0).await.unwrap();
    follow.listen().await.unwrap();
    assert!(follow.next_ready().await.unwrap().is_none());
    let total = 70_000_u64;
    for first in (0..total).step_by(250) {
        bed.queue.enqueue(&batch, &chunks(first, first, &[1; 250]), false).await.unwrap();
    }
    let mut consumer = bed.consumer("w").await;
    let mut done = 0;
    while done < total {
        let claimed = bed.claim(&mut consumer, 250).await;
        done += bed.complete(&claimed).await.counted;
    }
    // The batch stays open, so nothing but notices and looks tells the reader; a silence is a second long.
    let started = std::time::Instant::now();
    let mut silences = 0;
    for chunk in 0..total {
        let before = started.elapsed();
        assert_eq!(follow.next().await.unwrap().unwrap().chunk, chunk);
        silences += u32::from((started.elapsed() - before).as_millis() >= 900);
    }
    assert!(silences <= 2, "{silences} silences");
}
