//! quick
use std::time::Instant;
use puzzled_solver::Budget;
use puzzled_solver::sudoku::{Bitmask, Board, LaneEngine, Verdict, Width};

fn main() {
    let folder = std::env::args().nth(1).expect("folder");
    for set in ["easy34_20k", "sudoku17", "magictour_top1465", "serg_benchmark", "hardest11_sample"] {
        let text = std::fs::read(format!("{folder}/{set}.txt")).expect("file");
        let mut boards: Vec<Board> = text.split(|&b| b == b'\n').filter_map(Board::from_line).collect();
        boards.truncate(8192);
        let mut verdicts: Vec<Verdict> = Vec::new();
        let mut expected: Vec<Verdict> = Vec::new();
        let mut bitmask = Bitmask::new();
        let mut best = f64::MAX;
        for _ in 0..3 {
            expected.clear();
            let start = Instant::now();
            bitmask.solve_many(&boards, 2, &Budget::unlimited(), &mut expected);
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!("{set} bitmask {:.1} ns", best * 1e9 / boards.len() as f64);
        for width in Width::available() {
            let mut engine = LaneEngine::with_width(width).expect("available");
            let mut best = f64::MAX;
            let mut work = (0, 0, 0);
            for _ in 0..5 {
                let before = engine.work();
                let start = Instant::now();
                verdicts.clear();
                for slice in boards.chunks(1024) {
                    engine.solve_many(slice, 2, &Budget::unlimited(), &mut verdicts);
                }
                best = best.min(start.elapsed().as_secs_f64());
                let after = engine.work();
                work = (after.0 - before.0, after.1 - before.1, after.2 - before.2);
            }
            let wrong = verdicts.iter().zip(&expected).filter(|(a, b)| (a.solutions, a.end) != (b.solutions, b.end)).count();
            let n = boards.len() as f64;
            println!("  {width:?}: {:.1} ns, wrong {wrong}, lane-sweeps {:.2}, branches {:.2}, ns/lane-sweep {:.1}, busy {:.2}", best * 1e9 / n, work.1 as f64 / n, work.2 as f64 / n, best * 1e9 / work.1 as f64, work.1 as f64 / work.0 as f64);
        }
    }
}
