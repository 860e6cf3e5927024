//! The raw limit: the same traffic without any of our promises, by the barest client. `puzzled bench` measures
//! the queue against it in the same run.

use std::time::{Duration, Instant};

use redis::Value;

use crate::Error;
use crate::connection::{Operation, Queue};

/// Connections at work at once: enough to keep Redis's one thread busy.
const LANES: u64 = 3;

/// What the bare client managed.
#[derive(Clone, Copy, Debug)]
pub struct RawRate {
    /// Puzzles that went through.
    pub jobs: u64,
    /// Time it took.
    pub elapsed: Duration,
}

/// Sends about `jobs` lines of `line_bytes` bytes, `per_entry` to an entry, through a stream of its own: produce,
/// claim, store, acknowledge, delete, fetch. No scripts, no counters, nothing is checked.
///
/// # Errors
/// What Redis said.
pub async fn raw_rate(queue: &Queue, jobs: u64, per_entry: u64, line_bytes: usize) -> Result<RawRate, Error> {
    let payload = vec![b'7'; line_bytes * usize::try_from(per_entry).unwrap_or(1)];
    let in_flight = (16_384 / per_entry).clamp(2, 256);
    let rounds = (jobs / LANES / in_flight / per_entry).max(1);
    let started = Instant::now();
    let mut lanes = tokio::task::JoinSet::new();
    for lane in 0..LANES {
        let (queue, payload) = (queue.clone(), payload.clone());
        lanes.spawn(async move { raw_lane(&queue, lane, rounds, in_flight, &payload).await });
    }
    while let Some(lane) = lanes.join_next().await {
        lane.map_err(|e| Error::Malformed(e.to_string()))??;
    }
    Ok(RawRate { jobs: LANES * rounds * in_flight * per_entry, elapsed: started.elapsed() })
}

async fn raw_lane(
    queue: &Queue,
    lane: u64,
    rounds: u64,
    in_flight: u64,
    payload: &[u8],
) -> Result<(), Error> {
    let links = queue.open_links().await?;
    let link = links.to(0);
    let (stream, store) = (queue.keys().yardstick("stream", lane), queue.keys().yardstick("store", lane));
    queue.create_group(0, &stream).await?;
    for _ in 0..rounds {
        link.run::<()>(Operation::Other, |_| {
            let mut pipe = redis::pipe();
            for _ in 0..in_flight {
                pipe.cmd("XADD").arg(&stream).arg("*").arg("p").arg(payload).ignore();
            }
            pipe
        })
        .await?;
        let (answer,): (Value,) = link
            .run(Operation::Other, |_| {
                let mut pipe = redis::pipe();
                pipe.cmd("XREADGROUP")
                    .arg("GROUP")
                    .arg(crate::keys::GROUP)
                    .arg("raw")
                    .arg("COUNT")
                    .arg(in_flight);
                pipe.arg("STREAMS").arg(&stream).arg(">");
                pipe
            })
            .await?;
        let entries =
            crate::reply::pairs(answer).pop().map(|(_, rows)| crate::reply::items(rows)).unwrap_or_default();
        let ids: Vec<String> = entries
            .into_iter()
            .filter_map(|row| crate::reply::items(row).first().map(crate::reply::text))
            .collect();
        link.run::<()>(Operation::Other, |_| {
            let mut pipe = redis::pipe();
            for (i, id) in ids.iter().enumerate() {
                pipe.cmd("HSET").arg(&store).arg(i).arg(payload).ignore();
                pipe.cmd("XACK").arg(&stream).arg(crate::keys::GROUP).arg(id).ignore();
                pipe.cmd("XDEL").arg(&stream).arg(id).ignore();
            }
            pipe
        })
        .await?;
        let (fetched,): (Vec<Value>,) = link
            .run(Operation::Other, |_| {
                let mut pipe = redis::pipe();
                pipe.cmd("HMGET").arg(&store).arg((0..ids.len()).collect::<Vec<_>>());
                pipe.cmd("UNLINK").arg(&store).ignore();
                pipe
            })
            .await?;
        debug_assert_eq!(fetched.len(), ids.len());
    }
    link.run::<()>(Operation::Other, |_| {
        let mut pipe = redis::pipe();
        pipe.cmd("UNLINK").arg(&stream).arg(&store).ignore();
        pipe
    })
    .await
}
