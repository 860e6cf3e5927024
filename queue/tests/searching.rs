//! Finding batches by name.

use std::time::Instant;

use puzzled_queue::{Batch, BatchId, Error, JobId, JobState};

use crate::support::{Bed, chunks, echo};

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_found_by_the_beginning_of_its_id_or_label() {
    let bed = Bed::new().await;
    let id = |text: &str| -> BatchId { text.parse().unwrap() };
    let (a, b) = ("01997e60-5bd0-7cc1-8d1e-3b1f0a2c4d5e", "01997e60-5bd1-7cc1-8d1e-3b1f0a2c4d5e");
    for (text, label) in
        [(a, "Nightly 7"), (b, "nightly 8 \u{1f9e9}"), ("abcd7e60-5bd0-7cc1-8d1e-3b1f0a2c4d5e", "")]
    {
        let batch = Batch { id: id(text), label: label.to_owned(), ..Batch::new(echo()) };
        bed.queue.create(&batch).await.unwrap();
        // A repetition enters nothing twice.
        bed.queue.create(&batch).await.unwrap();
        bed.queue.enqueue(&batch, &chunks(0, 0, &[1]), true).await.unwrap();
    }
    let search = async |text: &str| -> Vec<BatchId> {
        let mut found: Vec<_> = bed.queue.search(text, 10).await.unwrap().iter().map(|s| s.id).collect();
        found.sort_unstable();
        found
    };
    assert_eq!(search("nIghtly").await, [id(a), id(b)]);
    assert_eq!(search("nightly 8 \u{1f9e9}").await, [id(b)]);
    assert_eq!(search("01997e60-5BD1").await, [id(b)]);
    assert_eq!(search("abcd").await, [id("abcd7e60-5bd0-7cc1-8d1e-3b1f0a2c4d5e")]);
    assert_eq!(search("ightly").await, []);
    let find = async |text: &str| bed.queue.find(&text.parse().unwrap()).await;
    assert_eq!(find("01997e60-5bd1").await.unwrap(), id(b));
    assert_eq!(find(a).await.unwrap(), id(a));
    assert!(matches!(find("01997e60").await, Err(Error::Ambiguous { ids, .. }) if ids == [id(a), id(b)]));
    assert!(matches!(find("ffff").await, Err(Error::NoName(_))));

    // With its record, a batch's names go.
    let mut consumer = bed.consumer("w").await;
    bed.drain(&mut consumer).await;
    let mut raw = bed.raw().await;
    for id in [a, b] {
        let _: i64 =
            redis::cmd("DEL").arg(format!("{{puzzled:0}}:batch:{id}")).query_async(&mut raw).await.unwrap();
    }
    bed.queue.sweep(&[]).await.unwrap();
    assert_eq!(search("").await.len(), 1);
    let names: i64 = redis::cmd("ZCARD").arg("{puzzled:0}:names").query_async(&mut raw).await.unwrap();
    assert_eq!(names, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_found_among_a_million_jobs() {
    let bed = Bed::new().await;
    let mut ids = Vec::new();
    for number in 0..10_000 {
        let batch = Batch { label: format!("run {number:05}"), ..Batch::new(echo()) };
        bed.queue.submit(&batch, &chunks(0, 0, &[100])).await.unwrap();
        ids.push(batch.id);
    }
    let started = Instant::now();
    let found = bed.queue.search("Run 07777", 10).await.unwrap();
    let by_label = started.elapsed();
    assert_eq!(found.iter().map(|status| status.id).collect::<Vec<_>>(), [ids[7777]]);
    let id = ids[1234].to_string();
    let name = id[..34].parse().unwrap();
    let started = Instant::now();
    assert_eq!(bed.queue.find(&name).await.unwrap(), ids[1234]);
    let by_id = started.elapsed();
    let started = Instant::now();
    let state = bed.queue.job(JobId { batch: ids[9999], index: 99 }).await.unwrap();
    assert_eq!(state, JobState::Waiting);
    println!("by label {by_label:?}, by id {by_id:?}, a job {:?}", started.elapsed());
    assert_eq!(bed.queue.search("run 0", 25).await.unwrap().len(), 25);
}
