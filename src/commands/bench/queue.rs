//! `puzzled bench queue`: jobs through Redis and workers by chunk size and encoding, and the raw limit in the same run.

use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use puzzled_producer::Input;
use puzzled_queue::raw_rate;
use puzzled_queue::wire::Encoding;
use puzzled_service::Exit;
use puzzled_solver::Task;
use serde::Serialize;

use super::process::{Rig, cpu_of_ended_children, cpu_of_self, ourselves};
use crate::failure::Failure;

/// Length of a sudoku line.
const LINE_BYTES: usize = 81;

/// Flags of `puzzled bench queue`.
#[derive(Args, Debug)]
#[command(after_help = "Without FILE the jobs are echoes of 81 digits, which measure the road alone.\n\n\
                        Example:\n  puzzled bench queue --sizes 1024 --encoding text,packed --workers 2 \
                        --puzzles tests/data/sudoku17.txt")]
pub(crate) struct QueueArgs {
    /// Jobs in a chunk, comma-separated.
    #[arg(long, value_delimiter = ',', default_value = "1,16,256,1024,4096")]
    sizes: Vec<u64>,
    /// How chunks are written, comma-separated; measured in turns.
    #[arg(long, value_delimiter = ',', default_value = "packed")]
    encoding: Vec<Encoding>,
    /// Echo jobs a round at 256 or more in a chunk; smaller chunks get proportionally fewer.
    #[arg(long, default_value_t = 2_000_000)]
    jobs: u64,
    /// Solve the puzzles of this file instead.
    #[arg(long, value_name = "FILE")]
    puzzles: Option<PathBuf>,
    /// How often the file is solved in a round.
    #[arg(long, default_value_t = 20, requires = "puzzles")]
    repeat: usize,
    /// Workers, which share the cores.
    #[arg(long, default_value_t = 1)]
    workers: usize,
    /// Rounds; the median of each figure is printed.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

/// Medians for one chunk size and encoding. Rates in puzzles a second, CPU in microseconds a puzzle.
#[derive(Clone, Serialize, Debug)]
struct Row {
    chunk_jobs: u64,
    encoding: Encoding,
    rate: f64,
    redis_us: f64,
    worker_us: f64,
    producer_us: f64,
    total_us: f64,
    #[serde(flatten)]
    raw: Raw,
}

/// What the bare client managed with lines of text.
#[derive(Clone, Copy, Serialize, Debug)]
struct Raw {
    raw_rate: f64,
    raw_redis_us: f64,
    raw_total_us: f64,
}

/// What a producer is given.
struct Work {
    file: tempfile::NamedTempFile,
    task: Task,
    jobs: u64,
}

pub(crate) async fn run(args: &QueueArgs, json: bool) -> Result<(), Failure> {
    let puzzles = args.puzzles.as_deref().map(Puzzles::read).transpose()?;
    let kind = puzzles.as_ref().map_or("echo", |puzzles| puzzles.task.kind().name());
    let rig = Rig::start(kind, args.workers).await?;
    if !json {
        println!(
            "chunk  encoding     puzzles/s    raw limit  ratio   CPU us a puzzle: redis  worker  producer   total     raw"
        );
    }
    for &size in &args.sizes {
        let work = match &puzzles {
            Some(puzzles) => puzzles.work(args.repeat)?,
            None => echoes(jobs_at(size, args.jobs))?,
        };
        let mut rounds = Vec::new();
        for _ in 0..args.rounds.max(1) {
            let raw = raw(&rig, size, work.jobs).await?;
            for &encoding in &args.encoding {
                rounds.push(through(&rig, &work, size, encoding, raw).await?);
            }
        }
        for &encoding in &args.encoding {
            print(&median(rounds.iter().filter(|row| row.encoding == encoding)), json)?;
        }
    }
    Ok(())
}

fn print(row: &Row, json: bool) -> Result<(), Failure> {
    if json {
        let text = serde_json::to_string(row).map_err(|e| Failure::new(Exit::Internal, e.to_string()))?;
        println!("{text}");
        return Ok(());
    }
    println!(
        "{:>5}  {:<8} {:>13.0} {:>12.0} {:>6.2} {:>23.3} {:>7.3} {:>9.3} {:>7.3} {:>7.3}",
        row.chunk_jobs,
        row.encoding,
        row.rate,
        row.raw.raw_rate,
        row.rate / row.raw.raw_rate,
        row.redis_us,
        row.worker_us,
        row.producer_us,
        row.total_us,
        row.raw.raw_total_us
    );
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

/// A file of puzzles.
struct Puzzles {
    text: Vec<u8>,
    task: Task,
}

impl Puzzles {
    fn read(path: &Path) -> Result<Self, Failure> {
        let mut input = Input::open(path)?;
        let task = crate::commands::task(None, &mut input)?;
        let mut text = std::fs::read(path)
            .map_err(|e| Failure::new(Exit::Input, format!("cannot read {}: {e}", path.display())))?;
        if text.last() != Some(&b'\n') {
            text.push(b'\n');
        }
        Ok(Self { text, task })
    }

    fn work(&self, repeat: usize) -> Result<Work, Failure> {
        let lines = self.text.iter().filter(|&&byte| byte == b'\n').count();
        let jobs = (lines * repeat) as u64;
        Work::write(self.task.clone(), jobs, |file| (0..repeat).try_for_each(|_| file.write_all(&self.text)))
    }
}

/// Lines of digits, each its own answer.
fn echoes(jobs: u64) -> Result<Work, Failure> {
    let task = "echo".parse::<Task>().map_err(|e| Failure::new(Exit::Internal, e.to_string()))?;
    Work::write(task, jobs, |file| (0..jobs).try_for_each(|i| writeln!(file, "{i:0>LINE_BYTES$}")))
}

impl Work {
    fn write(
        task: Task,
        jobs: u64,
        write: impl Fn(&mut BufWriter<&std::fs::File>) -> std::io::Result<()>,
    ) -> Result<Self, Failure> {
        let written = || {
            let file = tempfile::NamedTempFile::new()?;
            let mut buffered = BufWriter::new(file.as_file());
            write(&mut buffered)?;
            buffered.flush()?;
            drop(buffered);
            Ok(file)
        };
        let failed = |e: std::io::Error| Failure::new(Exit::Internal, format!("cannot write the input: {e}"));
        Ok(Self { file: written().map_err(failed)?, task, jobs })
    }
}

async fn raw(rig: &Rig, size: u64, jobs: u64) -> Result<Raw, Failure> {
    let (redis, own) = (rig.cpu().0, cpu_of_self());
    let raw = raw_rate(&rig.queue, jobs, size, LINE_BYTES + 1).await?;
    let us = |cpu: Duration| cpu.as_secs_f64() * 1e6 / raw.jobs as f64;
    let (redis, own) = (us(rig.cpu().0 - redis), us(cpu_of_self() - own));
    let rate = raw.jobs as f64 / raw.elapsed.as_secs_f64();
    Ok(Raw { raw_rate: rate, raw_redis_us: redis, raw_total_us: redis + own })
}

async fn through(rig: &Rig, work: &Work, size: u64, encoding: Encoding, raw: Raw) -> Result<Row, Failure> {
    let (redis, worker) = rig.cpu();
    let producer = cpu_of_ended_children();
    let started = Instant::now();
    let (path, task) = (work.file.path().display().to_string(), work.task.to_string());
    let status =
        ourselves(rig.server.url(), &["solve", &path, "-o", "/dev/null", "--task", &task, "--quiet"])?
            .arg("--set")
            .arg(format!("producer.chunk_jobs={size}"))
            .arg("--set")
            .arg(format!("producer.encoding={encoding}"))
            .status()
            .await
            .map_err(|e| Failure::new(Exit::Internal, format!("cannot start a producer: {e}")))?;
    let elapsed = started.elapsed();
    if !status.success() {
        return Err(Failure::new(Exit::Internal, format!("the producer ended with {status}")));
    }
    let us = |cpu: Duration| cpu.as_secs_f64() * 1e6 / work.jobs as f64;
    let (redis_after, worker_after) = rig.cpu();
    let (redis_us, worker_us) = (us(redis_after - redis), us(worker_after - worker));
    let producer_us = us(cpu_of_ended_children() - producer);
    let total_us = redis_us + worker_us + producer_us;
    let rate = work.jobs as f64 / elapsed.as_secs_f64();
    Ok(Row { chunk_jobs: size, encoding, rate, redis_us, worker_us, producer_us, total_us, raw })
}

/// The median of each figure. At least one round.
fn median<'a>(rounds: impl Iterator<Item = &'a Row>) -> Row {
    let rounds: Vec<&Row> = rounds.collect();
    let of = |value: fn(&Row) -> f64| {
        let mut values: Vec<f64> = rounds.iter().map(|row| value(row)).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(0.0)
    };
    Row {
        rate: of(|r| r.rate),
        redis_us: of(|r| r.redis_us),
        worker_us: of(|r| r.worker_us),
        producer_us: of(|r| r.producer_us),
        total_us: of(|r| r.total_us),
        raw: Raw {
            raw_rate: of(|r| r.raw.raw_rate),
            raw_redis_us: of(|r| r.raw.raw_redis_us),
            raw_total_us: of(|r| r.raw.raw_total_us),
        },
        ..rounds[0].clone()
    }
}
