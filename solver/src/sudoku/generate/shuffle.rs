//! A seed's own order of all grids: a keyed permutation of the numbers, so that job `n` gets number `n` of that order.
//!
//! It is a Feistel network on pairs of words whose sizes multiply to exactly the number of grids, so it needs neither
//! memory nor rejection: distinct jobs get distinct grids, and going through all jobs goes through all grids. With
//! one digit fixed in the top left corner, the high word is a ninth as large.
//!
//! Texts that name a seed must mean the same grids for ever. So the functions are spelled out here, and a test holds
//! what they give.

use super::catalogue::{Catalogue, HIGHS, LOWS};
use crate::sudoku::CELLS;

/// Rounds of the network; four would do (Luby and Rackoff), were the round functions random.
const ROUNDS: usize = 6;

/// A step that takes every 64-bit number to another one: the increment of SplitMix64, 2^64 over the golden ratio.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// All final grids in the order of a seed.
///
/// # Examples
///
/// ```
/// use puzzled_solver::sudoku::{Shuffle, is_solution};
///
/// let grids = Shuffle::new(42, 5);
/// let grid = grids.grid(0);
/// assert!(is_solution(&[0; 81], &grid, 3) && grid[0] == 5);
/// assert_ne!(grid, grids.grid(1));
/// ```
pub struct Shuffle {
    catalogue: &'static Catalogue,
    keys: [u64; ROUNDS],
    corner: u8,
}

impl Shuffle {
    /// The order of this seed. `corner` is the digit in the top left corner of every grid; 0: any.
    ///
    /// # Panics
    ///
    /// If `corner` is above 9.
    pub fn new(seed: u64, corner: u8) -> Self {
        assert!(corner <= 9, "a digit or 0, not {corner}");
        let mut random = Random::new(seed);
        Self { catalogue: Catalogue::shared(), keys: std::array::from_fn(|_| random.next()), corner }
    }

    /// How many grids there are: [`GRIDS`](super::GRIDS), or a ninth of it with a corner.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> u128 {
        u128::from(self.highs()) * u128::from(LOWS)
    }

    /// The grid at a place of this order: values 1-9, row by row.
    ///
    /// # Panics
    ///
    /// If `place` is not below [`Shuffle::len`].
    #[inline]
    pub fn grid(&self, place: u128) -> [u8; CELLS] {
        let (high, low) = match u64::try_from(place) {
            Ok(place) => (place / LOWS, place % LOWS),
            Err(_) => ((place / u128::from(LOWS)) as u64, (place % u128::from(LOWS)) as u64),
        };
        assert!(high < self.highs(), "there are {} grids, no place {place}", self.len());
        let (high, low) = self.permuted(high, low);
        match self.corner {
            0 => self.catalogue.grid_of(high, low),
            corner => self.catalogue.grid_with_corner(high, low, corner),
        }
    }

    fn highs(&self) -> u64 {
        if self.corner == 0 { HIGHS } else { HIGHS / 9 }
    }

    /// Each round adds to one word a function of the other, which can be undone; so the whole is a permutation.
    #[inline]
    fn permuted(&self, mut high: u64, mut low: u64) -> (u64, u64) {
        let highs = self.highs();
        for keys in self.keys.chunks_exact(2) {
            high = added(high, below(mixed(low ^ keys[0]), highs), highs);
            low = added(low, below(mixed(high ^ keys[1]), LOWS), LOWS);
        }
        (high, low)
    }
}

#[inline]
fn added(a: u64, b: u64, modulus: u64) -> u64 {
    let sum = a + b;
    if sum < modulus { sum } else { sum - modulus }
}

/// Random numbers that a seed settles: SplitMix64 (Steele, Lea and Flood, 2014). Not for secrets.
#[derive(Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Numbers settled by all of these words.
    pub(super) fn of(words: &[u64]) -> Self {
        Self(words.iter().fold(0, |state, word| mixed(state.wrapping_add(STEP) ^ word)))
    }

    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mixed(self.0)
    }

    /// A number below `bound`; the bias is about `bound` / 2^64.
    #[inline]
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        below(self.next(), bound)
    }
}

/// The finaliser of SplitMix64.
#[inline]
pub(super) fn mixed(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

/// Scales a random word down.
#[inline]
fn below(random: u64, bound: u64) -> u64 {
    ((u128::from(random) * u128::from(bound)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::sudoku::generate::GRIDS;
    use crate::sudoku::generate::catalogue::tests::class_shares;
    use crate::sudoku::{BAND_CLASSES, band_class};

    /// What a seed means must never change: a text with a seed is a promise.
    #[test]
    fn a_seed_means_the_same_for_ever() {
        let check = |seed, corner, place, expected: &str| {
            let grid = Shuffle::new(seed, corner).grid(place).map(|value| b'0' + value);
            assert_eq!(std::str::from_utf8(&grid).expect("digits"), expected, "{seed} {corner} {place}");
        };
        check(0, 0, 0, "637184925491527386285396147758912634324658791169743258843261579512879463976435812");
        check(0, 0, 1, "528964731641387295739215846973542168265198374184673529896721453457839612312456987");
        check(
            42,
            5,
            u128::from(u64::MAX),
            "598713264732546819416289753865194372941372685327658491674921538259837146183465927",
        );
        check(
            42,
            5,
            GRIDS / 9 - 1,
            "517492638364871259298356741186735924973248165452169387825913476731684592649527813",
        );
        check(
            u64::MAX,
            0,
            GRIDS - 1,
            "562719384893245761741386295457623819916578432328491576139854627284967153675132948",
        );
    }

    #[test]
    fn places_are_shuffled_one_to_one() {
        for (seed, corner) in [(1, 0), (2, 3)] {
            let shuffle = Shuffle::new(seed, corner);
            let places = (0..300_000).chain(shuffle.len() - 100_000..shuffle.len());
            let pairs: HashSet<(u64, u64)> = places
                .map(|place| {
                    let (high, low) = ((place / u128::from(LOWS)) as u64, (place % u128::from(LOWS)) as u64);
                    shuffle.permuted(high, low)
                })
                .collect();
            assert_eq!(pairs.len(), 400_000);
            assert!(pairs.iter().all(|&(high, low)| high < shuffle.highs() && low < LOWS));
        }
    }

    /// The chi-square statistic of counts against their expectations, as standard deviations off its mean (by the
    /// approximation of Wilson and Hilferty). Rare cases are counted together.
    fn deviations(counts: &[u64], shares: &[f64]) -> f64 {
        let drawn = counts.iter().sum::<u64>() as f64;
        let (mut rest, mut terms) = ((0.0, 0.0), Vec::new());
        for (&count, share) in counts.iter().zip(shares) {
            let (count, mean) = (count as f64, share * drawn);
            if mean < 20.0 {
                rest = (rest.0 + count, rest.1 + mean);
            } else {
                terms.push((count - mean).powi(2) / mean);
            }
        }
        if rest.1 > 0.0 {
            terms.push((rest.0 - rest.1).powi(2) / rest.1);
        }
        let freedom = (terms.len() - 1) as f64;
        let spread = 2.0 / (9.0 * freedom);
        ((terms.iter().sum::<f64>() / freedom).cbrt() - 1.0 + spread) / spread.sqrt()
    }

    /// Over a million grids, digits by cell, and the 416 classes of bands and of stacks, are as unequal as those of
    /// uniform grids would be, no more and, as of numbers too even to be random, no less.
    #[test]
    fn grids_are_uniform() {
        let shuffle = Shuffle::new(2026, 0);
        let mut digits = [[0u64; 9]; CELLS];
        let mut classes = vec![[0u64; BAND_CLASSES]; 6];
        for place in 0..1_000_000 {
            let grid = shuffle.grid(place);
            for (cell, &value) in grid.iter().enumerate() {
                digits[cell][usize::from(value) - 1] += 1;
            }
            for band in 0..3 {
                let rows = std::array::from_fn(|i| grid[27 * band + i]);
                let columns = std::array::from_fn(|i| grid[i % 9 * 9 + 3 * band + i / 9]);
                classes[band][usize::from(band_class(&rows))] += 1;
                classes[3 + band][usize::from(band_class(&columns))] += 1;
            }
        }
        for (cell, digits) in digits.iter().enumerate() {
            let off = deviations(digits, &[1.0 / 9.0; 9]);
            assert!(off.abs() < 4.0, "cell {cell}: {digits:?} is {off} off");
        }
        let shares = class_shares();
        for (band, counts) in classes.iter().enumerate() {
            let off = deviations(counts, &shares);
            assert!(off.abs() < 4.0, "band or stack {band} is {off} off");
        }
    }
}
