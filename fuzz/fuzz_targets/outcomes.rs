//! Any bytes as outcome records: never a panic, and what is accepted is given back byte for byte.
#![no_main]

use libfuzzer_sys::fuzz_target;
use puzzled_solver::Outcomes;

fuzz_target!(|input: (u8, &[u8])| {
    let (expected_len, bytes) = (usize::from(input.0), input.1);
    if let Ok(outcomes) = Outcomes::parse(bytes, expected_len) {
        assert_eq!(outcomes.records(0..expected_len), bytes);
        assert_eq!(outcomes.counts().iter().sum::<u32>() as usize, expected_len);
        let mut copy = Outcomes::new();
        outcomes.iter().for_each(|outcome| copy.push(outcome.kind, outcome.text));
        assert_eq!(copy, outcomes);
    }
});
