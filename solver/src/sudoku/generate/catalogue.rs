//! Every 9x9 grid has a number: a bijection between 0 .. 6,670,903,752,021,072,936,960 and all final grids.
//!
//! # The idea
//!
//! ```text
//!            | 0 1 2 | . . . | . . . |     top band: one of 36,288, up to the order of columns in boxes 2 and 3 and of
//!            | 3 4 5 | . . . | . . . |     these boxes. How many grids complete it depends on which digits share a
//!            | 6 7 8 | . . . | . . . |     column only, and there are 44 kinds of that.
//!            +-------+-------+-------+
//!     middle |{...}  |{...}  |{...}  |     then, for each stack, which of the six other digits of each column go to
//!            +-------+-------+-------+     the middle band: 56 ways, so 56^3 for all three. The bottom band has the
//!     bottom |{...}  |{...}  |{...}  |     rest. Then fillings (`fillings.rs`) for the middle and for the bottom.
//! ```
//!
//! The number of completions is the sum, over these 56^3, of the product of both bands' numbers of fillings. So a
//! number is taken apart like mixed units: names of the digits (9!), orders of columns and rows, kind of top band, top
//! band, ways in stacks 0 and 1 (a table of sums for each kind, searched), way in stack 2 (summed up while walking),
//! fillings. No step is ever taken back, nothing is rejected, and as each number is one grid, uniform numbers are
//! uniform grids.
//!
//! The tables, some 1 MiB, are worked out from the rules in some milliseconds and shared. That their sums give the
//! known number of grids, and that there are 44 kinds, is tested.
//!
//! Credit: the enumeration of all grids by Felgenhauer and Jarvis (2005), who counted completions of top bands, with
//! Russell's 44 kinds; that columns may be treated as sets is theirs. Numbering and sampling by it is ours.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::fillings::{Fillings, ORDERS, PLACE_VALUES, Places};
use crate::sudoku::CELLS;

/// How many final grids there are.
pub const GRIDS: u128 = 6_670_903_752_021_072_936_960;

/// `GRIDS` is the product of these two, which are of like size: a number is a pair of words, and a permutation of
/// all numbers needs no rejection.
pub(super) const HIGHS: u64 = 240_789_749_760;
pub(super) const LOWS: u64 = 27_704_267_971;

/// Ways to name the digits.
const NAMINGS: u64 = 362_880;
/// Of a high word, what is left below the naming.
const HIGHS_PER_NAMING: u64 = HIGHS / NAMINGS;
/// Orders of columns and boxes left open by the list of top bands, and orders of rows left open by fillings.
const ORDERS_LEFT: u64 = 72 * 36;
/// Ways to part a stack between the middle and the bottom band, given its top.
const WAYS: usize = 56;

/// A digit's columns in the three stacks.
type Columns = [u8; 3];

/// Tables for the way from number to grid.
pub struct Catalogue {
    fillings: Fillings,
    kinds: Vec<Kind>,
    /// By kind, how many numbers (without naming and orders) come before it.
    firsts: Vec<u64>,
    /// Top bands, those of a kind together.
    tops: Vec<Top>,
    /// By `3 * (kind's stack) + (kind's column)`, a column of the band.
    transforms: Vec<[u8; 9]>,
    /// Places of the digits in box 2 and box 3, by band.
    boxes: [Vec<[u8; 9]>; 2],
    /// Where columns go, for each of the 72 orders.
    column_orders: Vec<[u8; 9]>,
}

/// Top bands that have the same digits together in columns, but for names and orders.
struct Kind {
    /// Index of the first of its top bands.
    tops_first: usize,
    /// Completions of each, a 36th of all.
    completions: u64,
    /// Columns of the kind's own nine digits.
    digits: [Columns; 9],
    /// What each way makes of each stack.
    ways: [[Way; WAYS]; 3],
    /// By way in stack 0, the completions with those before it.
    sums: [u32; WAYS],
    /// The same by ways in stacks 0 and 1.
    pair_sums: Vec<[u32; WAYS]>,
}

/// A way to part a stack.
#[derive(Clone, Copy, Default)]
struct Way {
    /// Bit by digit: whether it goes two columns on in the middle band, or one (round, from its column in the top).
    bits: u16,
    /// Columns in the middle and in the bottom band, two bits a digit.
    middle: u32,
    bottom: u32,
}

/// One of the 36,288 top bands.
#[derive(Clone, Copy)]
struct Top {
    /// Digit of the band for each digit of the kind, four bits each.
    digits: u64,
    band: u16,
    transform: u16,
}

impl Catalogue {
    /// The tables, worked out at the first call, in some 40 ms.
    pub fn shared() -> &'static Catalogue {
        static SHARED: OnceLock<Catalogue> = OnceLock::new();
        SHARED.get_or_init(Catalogue::new)
    }

    /// The grid of a number below [`GRIDS`]: values 1-9, row by row.
    ///
    /// # Panics
    ///
    /// If the number is not below [`GRIDS`].
    pub fn grid(&self, number: u128) -> [u8; CELLS] {
        assert!(number < GRIDS, "there are {GRIDS} grids, no number {number}");
        self.grid_of((number / u128::from(LOWS)) as u64, (number % u128::from(LOWS)) as u64)
    }

    /// The grid of number `high * LOWS + low`; `high` is below [`HIGHS`], `low` below [`LOWS`].
    #[inline]
    pub(super) fn grid_of(&self, high: u64, low: u64) -> [u8; CELLS] {
        self.named_grid(high % HIGHS_PER_NAMING, low, naming(ALL_DIGITS, high / HIGHS_PER_NAMING))
    }

    /// The same for grids with `corner` (1-9) at the top left, a ninth of all: `high` is below `HIGHS / 9`.
    #[inline]
    pub(super) fn grid_with_corner(&self, high: u64, low: u64, corner: u8) -> [u8; CELLS] {
        let (front, others) = (u64::from(corner), without(ALL_DIGITS, 4 * u64::from(corner - 1)));
        // The eight orders of the others, seen as orders of nine that begin with the corner.
        self.named_grid(
            high % HIGHS_PER_NAMING,
            low,
            naming(front | others << 4, high / HIGHS_PER_NAMING * 9),
        )
    }

    /// The grid whose box 1 reads as the naming does.
    #[inline]
    pub(super) fn named_grid(&self, high: u64, low: u64, naming: [u8; 9]) -> [u8; CELLS] {
        let number = high * LOWS + low;
        let (number, orders) = (number / ORDERS_LEFT, (number % ORDERS_LEFT) as usize);
        let kind = below(&self.firsts, number);
        let (kind, number) = (&self.kinds[kind], number - self.firsts[kind]);
        let top = self.tops[kind.tops_first + (number / kind.completions) as usize];
        let bands = self.complete(kind, (number % kind.completions) as u32);

        let columns = &self.column_orders[orders / 36];
        let mut grid = [0; CELLS];
        let (box_2, box_3) = (&self.boxes[0][usize::from(top.band / 36)], {
            let band = usize::from(top.band);
            &self.boxes[1][band / 1296 * 36 + band % 36]
        });
        for digit in 0..9 {
            let value = naming[digit];
            grid[digit / 3 * 9 + digit % 3] = value;
            for (stack, places) in [(3, box_2), (6, box_3)] {
                let place = usize::from(places[digit]);
                grid[place / 3 * 9 + usize::from(columns[stack + place % 3])] = value;
            }
        }
        let transform = &self.transforms[usize::from(top.transform)];
        let column_of: [usize; 9] = std::array::from_fn(|i| usize::from(columns[usize::from(transform[i])]));
        let row_orders = [ORDERS[orders / 6 % 6], ORDERS[orders % 6]];
        for digit in 0..9 {
            let value = naming[(top.digits >> (4 * digit) & 15) as usize];
            for (band, first_row) in [(0, 3), (1, 6)] {
                let (digits, row_order) = (&bands[band][digit], &row_orders[band]);
                for stack in 0..3 {
                    let (column, row) = digits[stack];
                    let row = first_row + usize::from(row_order[usize::from(row)]);
                    grid[row * 9 + column_of[3 * stack + usize::from(column)]] = value;
                }
            }
        }
        grid
    }

    /// Columns and rows of the kind's digits in the middle and the bottom band, for completion `number`.
    #[inline]
    fn complete(&self, kind: &Kind, number: u32) -> [[[(u8, u8); 3]; 9]; 2] {
        let first = below(&kind.sums, number);
        let sums = &kind.pair_sums[first];
        let second = below(sums, number);
        let ways = [kind.ways[0][first], kind.ways[1][second]];
        let pairing = Pairing::new(&self.fillings, kind, &ways);
        let mut left = number - sums[second];
        let mut third = 0;
        let (partitions, counts) = loop {
            let (partitions, counts) = pairing.look(&self.fillings, kind.ways[2][third].bits);
            let weight = counts[0] * counts[1];
            if left < weight {
                break (partitions, counts);
            }
            left -= weight;
            third += 1;
        };
        let ways = [ways[0], ways[1], kind.ways[2][third]];
        let indices = [left / counts[1], left % counts[1]];
        std::array::from_fn(|band| {
            let places = &pairing.places[band];
            let rows = self.fillings.rows(places.pattern, partitions[band], indices[band] as usize);
            std::array::from_fn(|digit| {
                let rows = &rows[usize::from(places.of[digit])];
                std::array::from_fn(|stack| {
                    let columns = if band == 0 { ways[stack].middle } else { ways[stack].bottom };
                    ((columns >> (2 * digit) & 3) as u8, rows[stack])
                })
            })
        })
    }
}

/// Ways in stacks 0 and 1 chosen, and made ready for looking at all ways in stack 2: its words for both bands are sums
/// over the bits of a way, looked up for the low five and the high four.
struct Pairing {
    /// Of the middle and of the bottom band.
    places: [Places; 2],
    low: [[u16; 32]; 2],
    high: [[u16; 16]; 2],
}

impl Pairing {
    #[inline]
    fn new(fillings: &Fillings, kind: &Kind, ways: &[Way; 2]) -> Self {
        let cells = |zero: u32, one: u32| {
            std::array::from_fn(|digit| (3 * (zero >> (2 * digit) & 3) + (one >> (2 * digit) & 3)) as u8)
        };
        let places = [
            fillings.place(&cells(ways[0].middle, ways[1].middle)),
            fillings.place(&cells(ways[0].bottom, ways[1].bottom)),
        ];
        let (mut low, mut high) = ([[0u16; 32]; 2], [[0u16; 16]; 2]);
        for (band, places) in places.iter().enumerate() {
            // The bottom band has what the middle one leaves: the columns change roles.
            let column =
                |digit: usize, bit: u8| u16::from((kind.digits[digit][2] + 1 + (bit ^ band as u8)) % 3);
            let mut start = 0u16;
            let steps: [u16; 9] = std::array::from_fn(|digit| {
                let value = PLACE_VALUES[usize::from(places.of[digit])];
                start += value * column(digit, 0);
                (value * column(digit, 1)).wrapping_sub(value * column(digit, 0))
            });
            low[band][0] = start;
            for bit in 0..5 {
                for i in 0..1 << bit {
                    low[band][1 << bit | i] = low[band][i].wrapping_add(steps[bit]);
                }
            }
            for bit in 0..4 {
                for i in 0..1 << bit {
                    high[band][1 << bit | i] = high[band][i].wrapping_add(steps[5 + bit]);
                }
            }
        }
        Self { places, low, high }
    }

    /// Partitions and numbers of fillings of both bands for a way in stack 2.
    #[inline]
    fn look(&self, fillings: &Fillings, bits: u16) -> ([usize; 2], [u32; 2]) {
        let (low, high) = (usize::from(bits & 31), usize::from(bits >> 5));
        let partitions: [usize; 2] = std::array::from_fn(|band| {
            fillings.partition(self.low[band][low].wrapping_add(self.high[band][high & 15]))
        });
        let counts = std::array::from_fn(|band| {
            u32::from(fillings.counts(self.places[band].pattern)[partitions[band] & 511])
        });
        (partitions, counts)
    }
}

/// Of sums that begin with 0 and ascend, the index of the last one that `number` reaches. Counting all of them takes no
/// branch, and compilers make vector code of it.
#[inline]
fn below<T: Copy + PartialOrd>(sums: &[T], number: T) -> usize {
    sums.iter().filter(|&&sum| sum <= number).count() - 1
}

/// The digits 1-9, four bits each, the first one lowest.
const ALL_DIGITS: u64 = 0x9_8765_4321;

/// Nine digits taken from `left` in the order of a number below 9!; the remainder by 9 says which comes first.
#[inline]
fn naming(mut left: u64, mut number: u64) -> [u8; 9] {
    let mut digits = [0; 9];
    for (digit, count) in digits.iter_mut().zip((1..=9).rev()) {
        let shift = 4 * (number % count);
        number /= count;
        *digit = (left >> shift & 15) as u8;
        left = without(left, shift);
    }
    digits
}

/// Digits but for the one at a place.
#[inline]
fn without(digits: u64, shift: u64) -> u64 {
    digits & ((1 << shift) - 1) | digits >> (shift + 4) << shift
}

/// Working the tables out.
impl Catalogue {
    fn new() -> Self {
        let fillings = Fillings::new();
        let ways = ways();
        let boxes = boxes(&ways);
        let mut catalogue = Self {
            fillings,
            kinds: Vec::new(),
            firsts: Vec::new(),
            tops: Vec::new(),
            transforms: transforms(),
            boxes,
            column_orders: column_orders(),
        };
        catalogue.sort_tops(&ways);
        catalogue
    }

    /// Finds the kinds, and lists the top bands by them.
    fn sort_tops(&mut self, ways: &[u16; WAYS]) {
        let mut known: HashMap<u64, (usize, u16)> = HashMap::new();
        let mut kinds: Vec<([Columns; 9], Vec<Top>)> = Vec::new();
        for band in 0..28 * 36 * 36 {
            let (box_2, box_3) = (self.boxes[0][band / 36], self.boxes[1][band / 1296 * 36 + band % 36]);
            let columns: [Columns; 9] =
                std::array::from_fn(|digit| [digit as u8 % 3, box_2[digit] % 3, box_3[digit] % 3]);
            let (kind, transform) = *known.entry(sharing(&columns)).or_insert((usize::MAX, 0));
            let (kind, transform) = if kind == usize::MAX {
                let own = sorted(columns).map(|(columns, _)| columns);
                for (transform, to) in (0..).zip(&self.transforms) {
                    known.insert(sharing(&transformed(&own, to)), (kinds.len(), transform));
                }
                kinds.push((own, Vec::new()));
                known[&sharing(&columns)]
            } else {
                (kind, transform)
            };
            let (own, tops) = &mut kinds[kind];
            let there = sorted(transformed(own, &self.transforms[usize::from(transform)]));
            let mut digits = 0;
            for ((_, own), (_, here)) in there.into_iter().zip(sorted(columns)) {
                digits |= (here as u64) << (4 * own);
            }
            tops.push(Top { digits, band: band as u16, transform });
        }
        let mut first = 0;
        for (digits, mut tops) in kinds {
            let kind = Kind::new(&self.fillings, digits, ways, self.tops.len());
            self.firsts.push(first);
            first += kind.completions * tops.len() as u64;
            self.kinds.push(kind);
            self.tops.append(&mut tops);
        }
        assert_eq!(
            u128::from(first) * u128::from(ORDERS_LEFT) * u128::from(NAMINGS),
            GRIDS,
            "the tables count every grid once"
        );
    }
}

impl Kind {
    fn new(fillings: &Fillings, digits: [Columns; 9], ways: &[u16; WAYS], tops_first: usize) -> Self {
        let ways = std::array::from_fn(|stack| {
            let columns: [u8; 9] = std::array::from_fn(|digit| digits[digit][stack]);
            ways.map(|way| Way::new(&columns, way))
        });
        let mut kind =
            Self { tops_first, completions: 0, digits, ways, sums: [0; WAYS], pair_sums: Vec::new() };
        // The middle and the bottom band change places when all ways are turned round, so half the weights tell all.
        let mut weights = [[0; WAYS]; WAYS];
        for (first, second) in (0..WAYS / 2).flat_map(|first| (0..WAYS).map(move |second| (first, second))) {
            let pairing = Pairing::new(fillings, &kind, &[kind.ways[0][first], kind.ways[1][second]]);
            let counts = kind.ways[2].iter().map(|way| pairing.look(fillings, way.bits).1);
            weights[first][second] = counts.map(|[middle, bottom]| middle * bottom).sum();
            weights[WAYS - 1 - first][WAYS - 1 - second] = weights[first][second];
        }
        let mut sum = 0;
        for (first, weights) in weights.into_iter().enumerate() {
            kind.sums[first] = sum;
            kind.pair_sums.push(weights.map(|weight| {
                sum += weight;
                sum - weight
            }));
        }
        kind.completions = u64::from(sum);
        kind
    }
}

impl Way {
    /// `way` has its bits by rank of the digit when sorted by column.
    fn new(columns: &[u8; 9], way: u16) -> Self {
        let mut made = Self::default();
        let mut ranks = [0, 3, 6];
        for (digit, &column) in columns.iter().enumerate() {
            let rank = &mut ranks[usize::from(column)];
            let bit = u32::from(way >> *rank & 1);
            *rank += 1;
            made.bits |= (bit as u16) << digit;
            made.middle |= ((u32::from(column) + 1 + bit) % 3) << (2 * digit);
            made.bottom |= ((u32::from(column) + 2 - bit) % 3) << (2 * digit);
        }
        made
    }
}

/// Nine bits, three for each of three threes, such that as many are set in each.
fn ways() -> [u16; WAYS] {
    let balanced = |bits: &u16| {
        let ones = [0, 3, 6].map(|shift| (bits >> shift & 7).count_ones());
        ones[0] == ones[1] && ones[1] == ones[2]
    };
    let ways: Vec<u16> = (0..512).filter(balanced).collect();
    ways.try_into().expect("1 + 27 + 27 + 1 of them")
}

/// Boxes 2 and 3 of the top bands in the list, as places by digit. Box 1 is 0-8 in order. In each row of another box
/// are three digits, none of that row in box 1, so boxes are parted in rows as stacks are in columns. Left out: bands
/// that differ in the order of columns (first rows ascend) or boxes (digit 3 is in the first row of box 2).
fn boxes(ways: &[u16; WAYS]) -> [Vec<[u8; 9]>; 2] {
    let chosen = ways.iter().filter(|&way| way >> 3 & 1 == 1);
    let mut boxes = [Vec::new(), Vec::new()];
    for way in chosen {
        for (which, places) in boxes.iter_mut().enumerate() {
            for (one, two) in (0..36).map(|i| (ORDERS[i / 6], ORDERS[i % 6])) {
                let mut used = [0; 3];
                places.push(std::array::from_fn(|digit| {
                    let bit = (way >> digit & 1) as usize ^ which;
                    let row = (digit / 3 + 1 + bit) % 3;
                    used[row] += 1;
                    (3 * row) as u8 + [ORDERS[0], one, two][row][used[row] - 1]
                }));
            }
        }
    }
    boxes
}

/// All 6^4 ways to rename the columns within stacks, and the stacks.
fn transforms() -> Vec<[u8; 9]> {
    let mut transforms = Vec::with_capacity(1296);
    for stacks in ORDERS {
        for number in 0..216 {
            let orders = [ORDERS[number / 36], ORDERS[number / 6 % 6], ORDERS[number % 6]];
            transforms.push(std::array::from_fn(|i| 3 * stacks[i / 3] + orders[i / 3][i % 3]));
        }
    }
    transforms
}

fn transformed(digits: &[Columns; 9], to: &[u8; 9]) -> [Columns; 9] {
    digits.map(|columns| {
        let mut moved = [0; 3];
        for (stack, column) in columns.into_iter().enumerate() {
            let column = to[3 * stack + usize::from(column)];
            moved[usize::from(column / 3)] = column % 3;
        }
        moved
    })
}

/// Digits in the order of their columns, each with its number.
fn sorted(digits: [Columns; 9]) -> [(Columns, usize); 9] {
    let mut sorted: [(Columns, usize); 9] = std::array::from_fn(|digit| (digits[digit], digit));
    sorted.sort_unstable();
    sorted
}

/// Which digits share columns, without the digits' names: how many have which three columns, two bits each.
fn sharing(digits: &[Columns; 9]) -> u64 {
    digits.iter().map(|&[a, b, c]| 1 << (2 * (9 * a + 3 * b + c))).sum()
}

/// Where columns go: box 1 stays, the columns of boxes 2 and 3 and these boxes are in any order.
fn column_orders() -> Vec<[u8; 9]> {
    let mut orders = Vec::with_capacity(72);
    for stacks in [[3, 6], [6, 3]] {
        for (two, three) in (0..36).map(|i| (ORDERS[i / 6], ORDERS[i % 6])) {
            orders.push(std::array::from_fn(|column| match column / 3 {
                0 => column as u8,
                1 => stacks[0] + two[column - 3],
                _ => stacks[1] + three[column - 6],
            }));
        }
    }
    orders
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::sudoku::{BAND_CLASSES, band_class, is_solution};

    /// Top bands and completions of the 44 kinds (a 72nd of them), as Ed Russell's program counted them in 2005 by
    /// another way; Frazer Jarvis published the list.
    const KNOWN: [(usize, u64); 44] = [
        (2484, 97961464),
        (2592, 97539392),
        (1296, 98369440),
        (1512, 97910032),
        (2808, 96482296),
        (684, 97549160),
        (1512, 97287008),
        (1944, 97416016),
        (2052, 97477096),
        (288, 96807424),
        (864, 98119872),
        (1188, 98371664),
        (648, 98128064),
        (2592, 98733568),
        (648, 97455648),
        (360, 97372400),
        (3240, 97116296),
        (540, 95596592),
        (756, 97346960),
        (324, 97714592),
        (432, 97992064),
        (756, 98153104),
        (864, 98733184),
        (108, 98048704),
        (756, 96702240),
        (516, 98950072),
        (576, 97685328),
        (432, 98784768),
        (324, 98493856),
        (72, 100231616),
        (216, 99525184),
        (252, 96100688),
        (288, 96631520),
        (864, 97756224),
        (216, 99083712),
        (432, 98875264),
        (216, 102047904),
        (144, 101131392),
        (324, 96380896),
        (108, 102543168),
        (12, 99258880),
        (20, 94888576),
        (24, 97282720),
        (4, 108374976),
    ];

    #[test]
    fn the_tables_count_what_is_known() {
        assert_eq!(u128::from(HIGHS) * u128::from(LOWS), GRIDS);
        let catalogue = Catalogue::shared();
        let ends = catalogue.kinds.iter().skip(1).map(|kind| kind.tops_first).chain([catalogue.tops.len()]);
        let mut kinds: Vec<(usize, u64)> = (catalogue.kinds.iter().zip(ends))
            .map(|(kind, end)| (end - kind.tops_first, kind.completions / 2))
            .collect();
        let mut known = KNOWN.to_vec();
        kinds.sort_unstable();
        known.sort_unstable();
        assert_eq!(kinds, known);
    }

    #[test]
    fn every_number_is_a_grid_of_its_own() {
        let catalogue = Catalogue::shared();
        let (mut seen, mut numbers) = (HashSet::new(), HashSet::new());
        // Neighbours of every distance, at the beginning, at the end and in between.
        for exponent in 0..72 {
            for step in 0..400 {
                let distance = (1u128 << exponent) + step;
                let start = GRIDS / 73 * exponent;
                for number in [start, start + distance, GRIDS - 1 - start, GRIDS - 1 - distance] {
                    let grid = catalogue.grid(number % GRIDS);
                    assert!(is_solution(&[0; CELLS], &grid, 3), "{number}: {grid:?}");
                    assert_eq!(seen.insert(grid), numbers.insert(number % GRIDS), "{number}");
                }
            }
        }
        assert!(seen.len() > 50_000);
    }

    /// The share of all grids whose top band is of each class, from the class of each top band in the list.
    pub(in crate::sudoku::generate) fn class_shares() -> Vec<f64> {
        let catalogue = Catalogue::shared();
        let mut shares = vec![0.0; BAND_CLASSES];
        let mut number = 0;
        for (kind, next) in catalogue.kinds.iter().zip(catalogue.kinds.iter().skip(1).map(Some).chain([None]))
        {
            let end = next.map_or(catalogue.tops.len(), |next| next.tops_first);
            for _ in kind.tops_first..end {
                let grid = catalogue.grid(u128::from(number * ORDERS_LEFT));
                let class = band_class(&std::array::from_fn(|cell| grid[cell]));
                shares[usize::from(class)] +=
                    (kind.completions * ORDERS_LEFT * NAMINGS) as f64 / GRIDS as f64;
                number += kind.completions;
            }
        }
        shares
    }

    #[test]
    fn a_corner_takes_its_ninth_of_all_grids() {
        let catalogue = Catalogue::shared();
        for corner in 1..=9 {
            let mut seen = HashSet::new();
            for step in 0..1000 {
                let (high, low) = (step * (HIGHS / 9000) + step, step * (LOWS / 1000) + step);
                let grid = catalogue.grid_with_corner(high, low, corner);
                assert!(is_solution(&[0; CELLS], &grid, 3));
                assert_eq!(grid[0], corner);
                assert!(seen.insert(grid));
            }
        }
        let namings: HashSet<_> = (0..NAMINGS).map(|number| naming(ALL_DIGITS, number)).collect();
        assert_eq!(namings.len() as u64, NAMINGS);
    }

    #[test]
    fn the_columns_of_the_middle_and_the_bottom_band_are_all_that_are_left() {
        let catalogue = Catalogue::shared();
        for kind in &catalogue.kinds {
            for (stack, ways) in kind.ways.iter().enumerate() {
                for way in ways {
                    let columns = |digit: usize| {
                        let [middle, bottom] = [way.middle, way.bottom].map(|word| word >> (2 * digit) & 3);
                        1 << kind.digits[digit][stack] | 1 << middle | 1 << bottom
                    };
                    assert!((0..9).all(|digit| columns(digit) == 0b111));
                }
            }
        }
    }
}
