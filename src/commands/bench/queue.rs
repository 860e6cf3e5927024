//! `puzzled bench queue`: echo jobs through Redis and one worker by chunk size, and the raw limit in the same run.

use std::io::Write as _;
use std::time::{Duration, Instant};

use clap::Args;
use puzzled_queue::raw_rate;
use puzzled_service::Exit;
use serde::Serialize;

use super::process::{Rig, cpu_of_ended_children, cpu_of_self, ourselves};
use crate::failure::Failure;

/// Length of a sudoku line.
const LINE_BYTES: usize = 81;

/// Flags of `puzzled bench queue`.
#[derive(Args, Debug)]
pub(crate) struct QueueArgs {
    /// Jobs in a chunk, comma-separated.
    #[arg(long, value_delimiter = ',', default_value = "1,16,256,1024,4096")]
    sizes: Vec<u64>,
    /// Jobs a round at 256 or more in a chunk; smaller chunks get proportionally fewer.
    #[arg(long, default_value_t = 2_000_000)]
    jobs: u64,
    /// Rounds; the median of each figure is printed.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

/// Medians for one chunk size. Rates in puzzles a second, CPU in microseconds a puzzle.
#[derive(Serialize, Debug)]
struct Row {
    chunk_jobs: u64,
    rate: f64,
    raw_rate: f64,
    redis_us: f64,
    worker_us: f64,
    producer_us: f64,
    total_us: f64,
    raw_redis_us: f64,
    raw_total_us: f64,
}

pub(crate) async fn run(args: &QueueArgs, json: bool) -> Result<(), Failure> {
    let rig = Rig::start("echo").await?;
    let internal = |e: std::io::Error| Failure::new(Exit::Internal, format!("cannot write the input: {e}"));
    let input = tempfile::NamedTempFile::new().map_err(internal)?;
    if !json {
        println!(
            "chunk      puzzles/s    raw limit  ratio   CPU us a puzzle: redis  worker  producer   total     raw"
        );
    }
    for &size in &args.sizes {
        let jobs = jobs_at(size, args.jobs);
        write_input(input.path(), jobs).map_err(internal)?;
        let mut rounds = Vec::new();
        for _ in 0..args.rounds.max(1) {
            let raw = raw(&rig, size, jobs).await?;
            rounds.push(through(&rig, input.path(), size, jobs, raw).await?);
        }
        let row = median(size, &rounds);
        if json {
            println!(
                "{}",
                serde_json::to_string(&row).map_err(|e| Failure::new(Exit::Internal, e.to_string()))?
            );
        } else {
            println!(
                "{:>5} {:>14.0} {:>12.0} {:>6.2} {:>23.3} {:>7.3} {:>9.3} {:>7.3} {:>7.3}",
                row.chunk_jobs,
                row.rate,
                row.raw_rate,
                row.rate / row.raw_rate,
                row.redis_us,
                row.worker_us,
                row.producer_us,
                row.total_us,
                row.raw_total_us
            );
        }
    }
    Ok(())
}

fn jobs_at(size: u64, jobs: u64) -> u64 {
    // Small chunks cost some ten times as much a job.
    match size {
        0..16 => jobs / 10,
        16..256 => jobs / 2,
        _ => jobs,
    }
    .max(size)
}

fn write_input(path: &std::path::Path, jobs: u64) -> std::io::Result<()> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    for i in 0..jobs {
        writeln!(file, "{i:0>LINE_BYTES$}")?;
    }
    file.flush()
}

async fn raw(rig: &Rig, size: u64, jobs: u64) -> Result<Row, Failure> {
    let (redis, own) = (rig.cpu().0, cpu_of_self());
    let raw = raw_rate(&rig.queue, jobs, size, LINE_BYTES + 1).await?;
    let us = |cpu: Duration| cpu.as_secs_f64() * 1e6 / raw.jobs as f64;
    let (redis, own) = (us(rig.cpu().0 - redis), us(cpu_of_self() - own));
    let rate = raw.jobs as f64 / raw.elapsed.as_secs_f64();
    Ok(Row {
        chunk_jobs: size,
        rate: 0.0,
        raw_rate: rate,
        redis_us: 0.0,
        worker_us: 0.0,
        producer_us: 0.0,
        total_us: 0.0,
        raw_redis_us: redis,
        raw_total_us: redis + own,
    })
}

async fn through(rig: &Rig, input: &std::path::Path, size: u64, jobs: u64, raw: Row) -> Result<Row, Failure> {
    let (redis, worker) = rig.cpu();
    let producer = cpu_of_ended_children();
    let started = Instant::now();
    let status = ourselves(
        rig.server.url(),
        &["solve", &input.display().to_string(), "-o", "/dev/null", "--task", "echo", "--quiet"],
    )?
    .arg("--set")
    .arg(format!("producer.chunk_jobs={size}"))
    .status()
    .await
    .map_err(|e| Failure::new(Exit::Internal, format!("cannot start a producer: {e}")))?;
    let elapsed = started.elapsed();
    if !status.success() {
        return Err(Failure::new(Exit::Internal, format!("the producer ended with {status}")));
    }
    let us = |cpu: Duration| cpu.as_secs_f64() * 1e6 / jobs as f64;
    let (redis_after, worker_after) = rig.cpu();
    let (redis, worker) = (us(redis_after - redis), us(worker_after - worker));
    let producer = us(cpu_of_ended_children() - producer);
    let total_us = redis + worker + producer;
    let rate = jobs as f64 / elapsed.as_secs_f64();
    Ok(Row { rate, redis_us: redis, worker_us: worker, producer_us: producer, total_us, ..raw })
}

fn median(chunk_jobs: u64, rounds: &[Row]) -> Row {
    let of = |value: fn(&Row) -> f64| {
        let mut values: Vec<f64> = rounds.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(0.0)
    };
    Row {
        chunk_jobs,
        rate: of(|r| r.rate),
        raw_rate: of(|r| r.raw_rate),
        redis_us: of(|r| r.redis_us),
        worker_us: of(|r| r.worker_us),
        producer_us: of(|r| r.producer_us),
        total_us: of(|r| r.total_us),
        raw_redis_us: of(|r| r.raw_redis_us),
        raw_total_us: of(|r| r.raw_total_us),
    }
}
