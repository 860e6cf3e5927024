//! `puzzled bench latency`: one puzzle at a time through an idle system.

use std::time::{Duration, Instant};

use clap::Args;
use puzzled_queue::wire::{Encoding, PayloadWriter};
use puzzled_queue::{Batch, NewChunk, Priority};
use puzzled_service::Exit;
use puzzled_solver::Task;
use serde::Serialize;

use super::process::Rig;
use crate::failure::Failure;

const PUZZLE: &[u8] = b"000000010400000000020000000000050407008000300001090000300400200050100000000806000";

/// Flags of `puzzled bench latency`.
#[derive(Args, Debug)]
pub(crate) struct LatencyArgs {
    /// Puzzles to send, one after the other.
    #[arg(long, default_value_t = 1_000)]
    count: usize,
    /// Pause between two puzzles, in ms.
    #[arg(long, default_value_t = 0)]
    pause_ms: u64,
}

#[derive(Serialize, Debug)]
struct Row {
    way: &'static str,
    count: usize,
    p50_us: u128,
    p99_us: u128,
    max_us: u128,
}

pub(crate) async fn run(args: &LatencyArgs, json: bool) -> Result<(), Failure> {
    let rig = Rig::start("sudoku", 1).await?;
    for row in [session(&rig, args).await?, fresh(&rig, args).await?] {
        if json {
            println!(
                "{}",
                serde_json::to_string(&row).map_err(|e| Failure::new(Exit::Internal, e.to_string()))?
            );
        } else {
            println!(
                "{:<40} p50 {:>5} us   p99 {:>5} us   max {:>6} us",
                row.way, row.p50_us, row.p99_us, row.max_us
            );
        }
    }
    Ok(())
}

/// Chunks of one puzzle added to a batch that stays open, as a gateway does.
async fn session(rig: &Rig, args: &LatencyArgs) -> Result<Row, Failure> {
    let batch = Batch { priority: Priority::High, ..Batch::new(task()?) };
    rig.queue.create(&batch).await?;
    let mut follow = rig.queue.follow(batch.id, 0).await?;
    let mut times = Vec::new();
    for number in 0..args.count as u64 {
        let payload = payload(&batch.task);
        let started = Instant::now();
        rig.queue.enqueue(&batch, &[NewChunk { number, payload, before: None }], false).await?;
        let part =
            follow.next().await?.ok_or_else(|| Failure::new(Exit::Internal, "the batch ended early"))?;
        times.push(started.elapsed());
        follow.put_away(part.chunk);
        follow.flush().await?;
        pause(args.pause_ms).await;
    }
    Ok(row("one more puzzle in an open batch", times))
}

/// A batch for each puzzle, as `POST /v1/solve` does.
async fn fresh(rig: &Rig, args: &LatencyArgs) -> Result<Row, Failure> {
    let mut times = Vec::new();
    for _ in 0..args.count {
        let batch = Batch { priority: Priority::High, ..Batch::new(task()?) };
        let payload = payload(&batch.task);
        let started = Instant::now();
        let mut follow = rig.queue.follow(batch.id, 0).await?;
        let chunks = [NewChunk { number: 0, payload, before: None }];
        tokio::try_join!(follow.listen(), rig.queue.submit(&batch, &chunks))?;
        follow.next().await?.ok_or_else(|| Failure::new(Exit::Internal, "the batch ended early"))?;
        times.push(started.elapsed());
        pause(args.pause_ms).await;
    }
    Ok(row("a batch of its own for each puzzle", times))
}

/// A timer of zero would still sleep until the next tick.
async fn pause(ms: u64) {
    if ms > 0 {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
}

fn task() -> Result<Task, Failure> {
    "sudoku.solve".parse().map_err(|e: puzzled_solver::TaskError| Failure::new(Exit::Internal, e.to_string()))
}

fn payload(task: &Task) -> puzzled_queue::wire::Payload {
    let mut writer = PayloadWriter::new(task, Encoding::default());
    writer.push(|out| out.extend_from_slice(PUZZLE));
    writer.take()
}

fn row(way: &'static str, mut times: Vec<Duration>) -> Row {
    times.sort_unstable();
    let at =
        |share: usize| times.get(times.len() * share / 100).or(times.last()).map_or(0, Duration::as_micros);
    Row { way, count: times.len(), p50_us: at(50), p99_us: at(99), max_us: at(100) }
}
