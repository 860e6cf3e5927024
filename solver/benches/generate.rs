//! Generation against the `sudoku` crate, alternating rounds in one run: `cargo bench -p puzzled-solver --bench generate`.
//! Prints the median of each, in microseconds, and of the ratios; one thread.

use std::hint::black_box;
use std::time::Instant;

use puzzled_solver::{Budget, Outcomes, Task};
use sudoku::{Sudoku, Symmetry};

const ROUNDS: usize = 9;

fn main() {
    compare("final grids", "sudoku.generate", 100_000, 2_000, || Sudoku::generate_solved().to_bytes()[0]);
    // The crate's own choice is clues symmetric under a half turn, minimal but for that: none of its pairs can go.
    compare("minimal, to its generate()", "sudoku.generate:what=minimal", 4_096, 200, || {
        Sudoku::generate().to_bytes()[0]
    });
    compare("minimal, to its minimal", "sudoku.generate:what=minimal", 4_096, 200, || {
        Sudoku::generate_with_symmetry(Symmetry::None).to_bytes()[0]
    });
    compare(
        "half-turn, to its half-turn",
        "sudoku.generate:what=puzzle,symmetry=half-turn",
        4_096,
        200,
        || Sudoku::generate().to_bytes()[0],
    );
}

/// `ours` and `theirs`: how many a round.
fn compare(name: &str, task: &str, ours: usize, theirs: usize, peer: impl Fn() -> u8) {
    let task: Task = task.parse().expect("a task of the table");
    let mut engine = task.engine();
    let lines: Vec<String> = (0..ours).map(|number| number.to_string()).collect();
    let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
    let mut outcomes = Outcomes::new();
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        outcomes.clear();
        let started = Instant::now();
        engine.solve(black_box(&lines), &Budget::unlimited(), &mut outcomes);
        let own = started.elapsed().as_secs_f64() / ours as f64;
        let started = Instant::now();
        (0..theirs).for_each(|_| {
            black_box(peer());
        });
        rounds.push((own * 1e6, started.elapsed().as_secs_f64() / theirs as f64 * 1e6));
    }
    let median = |of: fn(&(f64, f64)) -> f64| {
        let mut values: Vec<f64> = rounds.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[ROUNDS / 2]
    };
    let (own, peer, ratio) =
        (median(|round| round.0), median(|round| round.1), median(|round| round.1 / round.0));
    println!("{name:<28} {own:>8.2} us   crate {peer:>8.2} us   ratio {ratio:.1}");
}
