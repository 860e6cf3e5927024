//! quick
use std::time::Instant;
use puzzled_solver::Budget;
use puzzled_solver::sudoku::{Bitmask, Board, LaneEngine, Verdict, Width};

fn main() {
    let folder = std::env::args().nth(1).expect("folder");
    let only = std::env::args().nth(2).unwrap_or_default();
    for (set, rounds) in [("easy34_20k", 20), ("sudoku17", 12), ("magictour_top1465", 8), ("serg_benchmark", 8), ("hardest11_sample",4)] {
        let text = std::fs::read(format!("{folder}/{set}.txt")).expect("file");
        let mut boards: Vec<Board> = text.split(|&b| b == b'\n').filter_map(Board::from_line).collect();
        boards.truncate(4096);
        let mut expected: Vec<Verdict> = Vec::new();
        Bitmask::new().solve_many(&boards, 2, &Budget::unlimited(), &mut expected);
        for width in Width::available() {
            if !only.is_empty() && !only.contains(&format!("{width:?}")) { continue }
            let mut engine = LaneEngine::with_width(width).expect("available");
            let (mut ns, mut wrong) = (0.0, 0); let before = engine.work();
            let mut verdicts: Vec<Verdict> = Vec::new();
            for (slice, expected) in boards.chunks(1024).zip(expected.chunks(1024)) {
                let mut best = f64::MAX;
                for _ in 0..rounds {
                    verdicts.clear();
                    let start = Instant::now();
                    engine.solve_many(slice, 2, &Budget::unlimited(), &mut verdicts);
                    best = best.min(start.elapsed().as_secs_f64());
                }
                ns += best * 1e9;
                wrong += verdicts.iter().zip(expected).filter(|(a, b)| (a.solutions, a.end) != (b.solutions, b.end)).count();
            }
            let after = engine.work();
            let n = boards.len() as f64;
            let work = [after.0 - before.0, after.1 - before.1, after.2 - before.2].map(|w| w as f64 / rounds as f64);
            println!("{set:20} {width:?}: {:.1} ns, wrong {wrong}, lane-sweeps {:.2}, branches {:.2}, ns/lane-sweep {:.1}, busy {:.2}", ns / n, work[1] / n, work[2] / n, ns / work[1], work[1] / work[0]);
        }
    }
}
