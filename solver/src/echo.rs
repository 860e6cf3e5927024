//! The pass-through kind: each puzzle is its own answer. It measures the road without the engine and solves nothing.
//!
//! `echo.fault` does the same, except that some words do what they say: it is how one shows what a poison job costs. No
//! worker serves this kind unless its settings name it.

use std::time::Duration;

use crate::engine::{Budget, Engine, rejection};
use crate::outcome::{OutcomeKind, OutcomeRef, Outcomes, has_control};
use crate::parse_error::{ParseError, shown};
use crate::task::{Door, NO_CONFLICT, Operation, Values};

pub(crate) static DOOR: Door = Door {
    name: "echo",
    operations: &[
        Operation {
            name: "",
            about: "each puzzle is its own answer (to measure throughput)",
            options: &[],
            conflict: NO_CONFLICT,
            canonical,
            verify,
            engine: |_| Box::new(Echo),
            typical: |_| Duration::from_nanos(10),
        },
        Operation {
            name: "fault",
            about: "the words panic, overflow, hang, wrong and slow do as they say (to try faults out)",
            options: &[],
            conflict: NO_CONFLICT,
            canonical,
            verify,
            engine: |_| Box::new(Fault),
            typical: |_| Duration::from_micros(1),
        },
    ],
    fits: |_| false,
    begins_grid: |_| false,
    grid_is_complete: |_| true,
    random: |number| number.to_string(),
};

struct Echo;

impl Engine for Echo {
    fn solve(&mut self, puzzles: &[&[u8]], budget: &Budget<'_>, outcomes: &mut Outcomes) {
        for puzzle in puzzles {
            if budget.stopped() {
                outcomes.push(budget.unfinished(), b"");
            } else if let Some(reason) = rejection(puzzle) {
                outcomes.push(OutcomeKind::Invalid, reason);
            } else if has_control(puzzle) {
                outcomes.push(OutcomeKind::Invalid, b"a control character");
            } else {
                outcomes.push(OutcomeKind::Solved, puzzle);
            }
        }
    }
}

/// Misbehaves where it is told to.
struct Fault;

impl Engine for Fault {
    fn solve(&mut self, puzzles: &[&[u8]], budget: &Budget<'_>, outcomes: &mut Outcomes) {
        for puzzle in puzzles {
            match *puzzle {
                _ if budget.stopped() => {}
                b"panic" => panic!("told to"),
                // Ends the whole process, as any overflow of the stack does.
                b"overflow" => outcomes.push(OutcomeKind::Failed, &[overflow(0)]),
                b"hang" => loop {
                    std::hint::spin_loop();
                },
                b"slow" => {
                    while !budget.stopped() {
                        std::hint::spin_loop();
                    }
                }
                b"wrong" => {
                    outcomes.push(OutcomeKind::Solved, b"right");
                    continue;
                }
                _ => {}
            }
            Echo.solve(&[puzzle], budget, outcomes);
        }
    }
}

fn overflow(depth: u64) -> u8 {
    let room = std::hint::black_box([depth; 512]);
    // Nothing tells the compiler that this never holds.
    if std::hint::black_box(depth) == u64::MAX {
        return 0;
    }
    overflow(depth + 1).wrapping_add(room[0] as u8)
}

/// Any line of printable bytes that does not look like a producer's rejection.
fn canonical(line: &[u8], out: &mut Vec<u8>) -> Result<(), ParseError> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if rejection(line).is_some() {
        return Err(ParseError::at(1, "expected anything but '!' as the first character"));
    }
    // The plain check runs over many bytes at once; only a bad line is searched for the place.
    if has_control(line)
        && let Some(index) = line.iter().position(u8::is_ascii_control)
    {
        return Err(ParseError::at(
            index + 1,
            format!("expected printable text, found {}", shown(line, index)),
        ));
    }
    out.extend_from_slice(line);
    Ok(())
}

fn verify(_: &Values, puzzle: &[u8], outcome: OutcomeRef<'_>) -> bool {
    match outcome.kind {
        OutcomeKind::Solved => puzzle == outcome.text,
        OutcomeKind::Invalid => rejection(puzzle).is_some() || has_control(puzzle),
        OutcomeKind::Cancelled | OutcomeKind::Failed => true,
        OutcomeKind::TimedOut => outcome.text.is_empty(),
        OutcomeKind::NoSolution | OutcomeKind::Multiple => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_through() {
        let puzzles: [&[u8]; 4] = [b"abc", b"", b"!column 1: no", b"a\nb"];
        let mut outcomes = Outcomes::new();
        Echo.solve(&puzzles, &Budget::unlimited(), &mut outcomes);
        assert_eq!(outcomes.records(0..4), b"=abc\n=\n!column 1: no\n!a control character\n");
        for (puzzle, outcome) in puzzles.iter().zip(outcomes.iter()) {
            assert!(verify(&Values::default(), puzzle, outcome));
        }
        assert!(!verify(&Values::default(), b"abc", OutcomeRef { kind: OutcomeKind::Solved, text: b"abd" }));
    }

    #[test]
    fn canonical_refuses_what_would_break_a_line() {
        let mut out = b"kept".to_vec();
        for bad in [&b"!x"[..], b"a\nb", b"\0", b"a\rb"] {
            assert!(canonical(bad, &mut out).is_err(), "{bad:?}");
        }
        assert_eq!(out, b"kept");
        canonical(b"a b\r", &mut out).expect("a plain line");
        assert_eq!(out, b"kepta b");
    }
}
