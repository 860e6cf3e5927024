//! `puzzled bench`: measures this system on this machine, against a private Redis. The load goes to loopback only and
//! ends by itself.

mod latency;
mod process;
mod queue;
mod sudoku;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Flags of `puzzled bench`.
#[derive(Args, Debug)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    what: What,
    /// Print one JSON object a line instead of a table.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand, Debug)]
enum What {
    /// Pass-through throughput and CPU time by chunk size, beside the raw limit of a bare client.
    Queue(queue::QueueArgs),
    /// Time from submit to result of a single puzzle on an idle system.
    Latency(latency::LatencyArgs),
    /// Sudoku engines against each other, and against a peer if built with one.
    Sudoku(sudoku::SudokuArgs),
}

/// Measures and prints.
pub(crate) async fn run(args: &BenchArgs) -> Result<(), Failure> {
    match &args.what {
        What::Queue(what) => queue::run(what, args.json).await,
        What::Latency(what) => latency::run(what, args.json).await,
        What::Sudoku(what) => sudoku::run(what, args.json),
    }
}
