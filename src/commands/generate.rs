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

/// Heading of the flags that only puzzles know.
const PUZZLES: &str = "Choice of puzzles";

/// Flags of `puzzled generate`.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct GenerateArgs {
    /// What to generate.
    #[arg(value_enum, default_value_t = What::Grids)]
    what: What,
    /// How many.
    #[arg(short, long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    count: u64,
    /// Which of all orders: the same seed gives the same sudokus, on any machine [default: random, and printed].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Index of the first one in the seed's order, to go on where another run ended.
    #[arg(long, value_name = "INDEX", default_value_t = 0)]
    from: u64,
    /// Digit in the top left corner of every grid or solution.
    #[arg(long, value_name = "DIGIT", value_parser = clap::value_parser!(u8).range(1..=9))]
    corner: Option<u8>,
    /// Number of clues, as N or MIN..=MAX, such as 24 or 24..=28.
    #[arg(long, value_name = "RANGE", value_parser = clues, help_heading = PUZZLES)]
    clues: Option<Bounds>,
    /// Symmetry of where the clues are: none, half-turn, quarter-turn, horizontal, vertical, orthogonal, diagonal,
    /// anti-diagonal, diagonals or full.
    #[arg(long, value_name = "NAME", help_heading = PUZZLES)]
    symmetry: Option<String>,
    /// Rating on the scale of `sudoku.rate`, as N or MIN..=MAX, such as 3.0..=5.0.
    #[arg(long, value_name = "RANGE", value_parser = difficulty, help_heading = PUZZLES)]
    difficulty: Option<Bounds>,
    /// Puzzles to dig for each number before giving up with the nearest [default: 10000].
    #[arg(long, value_name = "N", help_heading = PUZZLES)]
    tries: Option<u64>,
    #[command(flatten)]
    run: RunArgs,
}

/// What to generate.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    /// Final grids.
    Grids,
    /// Puzzles with one solution.
    Puzzles,
    /// Puzzles of which no clue can go.
    Minimal,
}

const HELP: &str = "\
Final grids are drawn uniformly from all 6,670,903,752,021,072,936,960 of them. A seed stands for an order of all \
grids, and a run gives those from --from on: within a seed no grid comes twice, and runs that share a seed but no \
index share no grid. Puzzles are dug from such grids, so the same holds for them.

A number for which no puzzle fits within --tries is printed as TimedOut with the nearest one, and the exit code is 1.

Symmetries: half-turn and quarter-turn; mirrored at the horizontal or vertical axis, or at both (orthogonal); at the \
diagonal from the top left or the anti-diagonal, or at both (diagonals); full is all of these.

Examples:
  puzzled generate -c 1000000 -o grids.txt
  puzzled generate -c 1000 --seed 42 --corner 5
  puzzled generate -c 1000 --seed 42 --corner 5 --from 1000   # the next thousand
  puzzled generate minimal -c 1000
  puzzled generate puzzles -c 100 --clues 24..=28 --symmetry half-turn --difficulty 3.0..=5.0";

/// Runs to the last one, or to SIGINT.
pub(crate) async fn run(settings: &Settings, args: &GenerateArgs) -> Result<(), Failure> {
    let usage = |message: String| Failure::new(Exit::Usage, message);
    settings.producer.validate()?;
    if args.what == What::Grids && args.chooses() {
        return Err(usage(
            "--clues, --symmetry, --difficulty and --tries are for puzzles: \
             puzzled generate puzzles, or puzzled generate minimal"
                .to_owned(),
        ));
    }
    let seed = args.seed.unwrap_or_else(some_seed);
    let task: Task = args.task(seed).parse().map_err(|error| usage(format!("{error}")))?;
    let input = Input::numbers(args.from, args.count).ok_or_else(|| {
        usage(format!("indices end at {}: from {} there are fewer than {}", u64::MAX, args.from, args.count))
    })?;
    if args.seed.is_none() && !args.run.quiet {
        terminal::say(&format!("puzzled: to repeat this: --seed {seed}"));
    }
    let resume = |written| format!("; to go on: --seed {seed} --from {}", args.from + written);
    let ended = submit_and_print(settings, &args.run, input, |_| Ok(task), resume).await;
    if args.chooses() && !args.run.quiet && ended.as_ref().is_err_and(|end| end.exit == Exit::SomeJobsBad) {
        terminal::say(
            "puzzled: TimedOut: nothing fit within --tries, and the nearest is printed; more --tries may find one, \
             wider --clues or --difficulty sooner",
        );
    }
    ended
}

impl GenerateArgs {
    /// Whether not every puzzle will do.
    fn chooses(&self) -> bool {
        self.clues.is_some() || self.symmetry.is_some() || self.difficulty.is_some() || self.tries.is_some()
    }

    /// The text of the task.
    fn task(&self, seed: u64) -> String {
        let what = match self.what {
            What::Grids => "grid",
            What::Puzzles => "puzzle",
            What::Minimal => "minimal",
        };
        let mut text = format!("sudoku.generate:what={what},seed={seed},corner={}", self.corner.unwrap_or(0));
        let mut bound = |name: &str, value: Option<u64>| {
            if let Some(value) = value {
                text += &format!(",{name}={value}");
            }
        };
        if let Some(clues) = &self.clues {
            bound("clues_min", clues.least);
            bound("clues_max", clues.most);
        }
        if let Some(difficulty) = &self.difficulty {
            bound("difficulty_min", difficulty.least);
            bound("difficulty_max", difficulty.most);
        }
        bound("tries", self.tries);
        text + &self.symmetry.as_ref().map_or(String::new(), |name| format!(",symmetry={name}"))
    }
}

/// A range whose ends may be open.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Bounds {
    least: Option<u64>,
    most: Option<u64>,
}

fn clues(text: &str) -> Result<Bounds, String> {
    bounds(text, |number| number.parse().ok().filter(|clues| (17..=81).contains(clues)))
        .ok_or_else(|| "expected N or MIN..=MAX from 17 to 81, such as 24 or 24..=28".to_owned())
}

/// In tenths.
fn difficulty(text: &str) -> Result<Bounds, String> {
    let tenths = |number: &str| {
        let (whole, tenth) = number.split_once('.').unwrap_or((number, "0"));
        let tenth = tenth.parse().ok().filter(|&digit: &u64| digit < 10 && tenth.len() == 1)?;
        let tenths = whole.parse::<u64>().ok()?.checked_mul(10)?.checked_add(tenth)?;
        (10..=120).contains(&tenths).then_some(tenths)
    };
    bounds(text, tenths)
        .ok_or_else(|| "expected N or MIN..=MAX from 1.0 to 12.0, such as 2.0 or 3.0..=5.0".to_owned())
}

/// Reads `N`, `MIN..=MAX`, `MIN..` or `..=MAX`.
fn bounds(text: &str, number: impl Fn(&str) -> Option<u64>) -> Option<Bounds> {
    let end = |text: &str| if text.is_empty() { Some(None) } else { number(text).map(Some) };
    let (least, most) = match text.split_once("..") {
        None => (number(text).map(Some)?, number(text).map(Some)?),
        Some((least, "")) => (end(least)?, None),
        Some((least, most)) => (end(least)?, Some(number(most.strip_prefix('=')?)?)),
    };
    (least.is_some() || most.is_some()).then_some(Bounds { least, most })
}

/// A seed that differs from run to run, short enough to type.
fn some_seed() -> u64 {
    // The keys of the standard library's hash maps are random, and it has no other door to the system's source.
    RandomState::new().build_hasher().finish() >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        let check = |found: Result<Bounds, String>, expected: Option<(Option<u64>, Option<u64>)>| {
            assert_eq!(found.ok().map(|bounds| (bounds.least, bounds.most)), expected);
        };
        check(clues("24"), Some((Some(24), Some(24))));
        check(clues("24..=28"), Some((Some(24), Some(28))));
        check(clues("24.."), Some((Some(24), None)));
        check(clues("..=28"), Some((None, Some(28))));
        for wrong in ["", "..", "..=", "16", "82", "24..28", "x", "24-28", "24..=", "2.5"] {
            check(clues(wrong), None);
        }
        check(difficulty("3.0..=5.5"), Some((Some(30), Some(55))));
        check(difficulty("2"), Some((Some(20), Some(20))));
        check(difficulty("..=1.5"), Some((None, Some(15))));
        for wrong in ["0.9", "12.1", "3.05", "3.", ".5", "-1", "3.0..5.0", "a"] {
            check(difficulty(wrong), None);
        }
    }
}
