//! `puzzled generate`: sudokus by number, as many as asked for. It runs as `puzzled solve` does; the input is a
//! sequence of numbers.

use std::hash::{BuildHasher, Hasher, RandomState};

use clap::Args;
use puzzled_producer::Input;
use puzzled_service::Exit;
use puzzled_solver::Task;

use super::solve::{RunArgs, submit_and_print};
use crate::failure::Failure;
use crate::settings::Settings;
use crate::terminal;

/// Flags of `puzzled generate`.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct GenerateArgs {
    /// How many.
    #[arg(short, long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    count: u64,
    /// Which of all orders: the same seed gives the same sudokus, on any machine [default: random, and printed].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Index of the first one in the seed's order, to go on where another run ended.
    #[arg(long, value_name = "INDEX", default_value_t = 0)]
    from: u64,
    /// Digit in the top left corner of every one.
    #[arg(long, value_name = "DIGIT", value_parser = clap::value_parser!(u8).range(1..=9))]
    corner: Option<u8>,
    #[command(flatten)]
    run: RunArgs,
}

const HELP: &str = "\
Every line is a final grid, drawn uniformly from all 6,670,903,752,021,072,936,960 of them. A seed stands for an order \
of all grids, and a run gives those from --from on: within a seed no grid comes twice, and runs that share a seed but \
no index share no grid.

Examples:
  puzzled generate -c 1000000 -o grids.txt
  puzzled generate -c 1000 --seed 42 --corner 5
  puzzled generate -c 1000 --seed 42 --corner 5 --from 1000   # the next thousand";

/// Runs to the last one, or to SIGINT.
pub(crate) async fn run(settings: &Settings, args: &GenerateArgs) -> Result<(), Failure> {
    settings.producer.validate()?;
    let seed = args.seed.unwrap_or_else(some_seed);
    let corner = args.corner.unwrap_or(0);
    let task: Task = format!("sudoku.generate:seed={seed},corner={corner}")
        .parse()
        .map_err(|error| Failure::new(Exit::Usage, format!("{error}")))?;
    let input = Input::numbers(args.from, args.count).ok_or_else(|| {
        let message =
            format!("indices end at {}: from {} there are fewer than {}", u64::MAX, args.from, args.count);
        Failure::new(Exit::Usage, message)
    })?;
    if args.seed.is_none() && !args.run.quiet {
        terminal::say(&format!("puzzled: to repeat this: --seed {seed}"));
    }
    let resume = |written| format!("; to go on: --seed {seed} --from {}", args.from + written);
    submit_and_print(settings, &args.run, input, |_| Ok(task), resume).await
}

/// A seed that differs from run to run, short enough to type.
fn some_seed() -> u64 {
    // The keys of the standard library's hash maps are random, and it has no other door to the system's source.
    RandomState::new().build_hasher().finish() >> 32
}
