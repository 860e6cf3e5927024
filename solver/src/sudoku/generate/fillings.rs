//! Bands whose columns are settled as sets: how many orders of rows there are, and which is number `i`.
//!
//! ```text
//!          stack 0    stack 1    stack 2
//!   row 0 | . . . |  | . . . |  | . . . |     In each stack a digit has a column and a row. The three columns of a
//!   row 1 | . . . |  | . . . |  | . . . |     digit are given; its three rows are a permutation, and within a column
//!   row 2 | . . . |  | . . . |  | . . . |     they are all different. Such a choice of nine permutations: a filling.
//! ```
//!
//! The number of fillings (72 to 1,728, 200 on average) depends on the columns only as far as digits share them. So
//! digits are sorted by their columns in stacks 0 and 1, after renaming those columns such that one of five *patterns*
//! of a 3x3 table with sums of 3 comes out. What is left of stack 2 is how it parts nine places into three columns:
//! one of 280 *partitions*. Everything about fillings then is in tables of 5 x 280 entries.
//!
//! Fillings come in sixes, by the order of the three rows; here they are counted once, with the rows of the first
//! place in the order 0, 1, 2.

/// How nine places may be parted into three sets of three, the sets not told apart.
pub(super) const PARTITIONS: usize = 280;

/// A word of nine digits 0-2 as a number to the base 3.
const WORDS: usize = 19_683;

/// Powers of 3: what the column of the digit at a place counts in a word.
pub(super) const PLACE_VALUES: [u16; 9] = [1, 3, 9, 27, 81, 243, 729, 2187, 6561];

/// The orders of three things.
pub(super) const ORDERS: [[u8; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// Numbers of fillings by partition. Longer than there are partitions, to be indexed without a check.
pub(super) type Counts = [u16; 512];

/// Rows of the digits by place and stack.
pub(super) type Rows = [[u8; 3]; 9];

/// All fillings of all patterns.
pub(super) struct Fillings {
    /// What digits of a (column in stack 0, column in stack 1) cell become, by the key of [`key_part`].
    placings: Vec<Placing>,
    patterns: Vec<Pattern>,
    /// The partition that a word means. Longer than there are words, to be indexed without a check.
    partitions: Box<[u16; 1 << 15]>,
}

/// How columns of stacks 0 and 1 are renamed to reach a pattern.
#[derive(Clone, Copy)]
struct Placing {
    pattern: u8,
    /// By old cell, the first place of its digits.
    places: [u8; 9],
}

/// What digits share in stacks 0 and 1, and all that follows from it.
struct Pattern {
    /// Fillings that agree with some partition.
    rows: Vec<Rows>,
    /// By partition, where its fillings stand in `order`; one more at the end.
    starts: [u32; PARTITIONS + 1],
    /// Indices into `rows`.
    order: Vec<u16>,
    counts: Counts,
}

/// Where each digit stands, and in which pattern.
pub(super) struct Places {
    pub(super) pattern: usize,
    /// By digit.
    pub(super) of: [u8; 9],
}

impl Fillings {
    pub(super) fn new() -> Self {
        let (partitions, words) = partitions();
        let (placings, tables) = placings();
        let patterns = tables.iter().map(|table| Pattern::new(table, &words)).collect();
        Self { placings, patterns, partitions }
    }

    /// Sorts digits by their cell `3 * (column in stack 0) + column in stack 1`; each column has three digits.
    #[inline]
    pub(super) fn place(&self, cells: &[u8; 9]) -> Places {
        let key = cells.iter().map(|&cell| key_part(cell)).fold(0, u8::wrapping_add);
        let placing = &self.placings[usize::from(key)];
        let mut next = placing.places;
        let of = cells.map(|cell| {
            let place = &mut next[usize::from(cell)];
            *place += 1;
            *place - 1
        });
        Places { pattern: usize::from(placing.pattern), of }
    }

    /// The partition that stack 2 makes of the places; `word` has the columns by place.
    #[inline]
    pub(super) fn partition(&self, word: u16) -> usize {
        usize::from(self.partitions[usize::from(word) & 0x7FFF])
    }

    /// The numbers of fillings, a sixth of all, by partition.
    #[inline]
    pub(super) fn counts(&self, pattern: usize) -> &Counts {
        &self.patterns[pattern].counts
    }

    /// Filling number `index` below the count.
    #[inline]
    pub(super) fn rows(&self, pattern: usize, partition: usize, index: usize) -> &Rows {
        let pattern = &self.patterns[pattern];
        &pattern.rows[usize::from(pattern.order[pattern.starts[partition] as usize + index])]
    }
}

impl Pattern {
    /// `table` has the number of digits by column in stack 0 and column in stack 1.
    fn new(table: &[u8; 9], words: &[[u8; 9]]) -> Self {
        let cells: Vec<u8> =
            (0..9u8).flat_map(|cell| (0..table[usize::from(cell)]).map(move |_| cell)).collect();
        let first: [u8; 9] = std::array::from_fn(|place| cells[place] / 3);
        let second: [u8; 9] = std::array::from_fn(|place| cells[place] % 3);
        let mut rows = Vec::new();
        for zero in arrangements(&first) {
            for one in arrangements(&second) {
                let differ = zero.iter().zip(&one).all(|(a, b)| a != b);
                if differ && (zero[0], one[0]) == (0, 1) {
                    rows.push(std::array::from_fn(|place| {
                        [zero[place], one[place], 3 - zero[place] - one[place]]
                    }));
                }
            }
        }
        let (mut starts, mut order, mut counts) = ([0; PARTITIONS + 1], Vec::new(), [0; 512]);
        for (partition, word) in words.iter().enumerate() {
            let before = order.len();
            order.extend((0u16..).zip(&rows).filter(|(_, rows)| fits(rows, word)).map(|(index, _)| index));
            counts[partition] = (order.len() - before) as u16;
            starts[partition + 1] = order.len() as u32;
        }
        Self { rows, starts, order, counts }
    }
}

/// Whether in each column of stack 2 the rows differ.
fn fits(rows: &Rows, columns: &[u8; 9]) -> bool {
    let mut seen = 0u16;
    for (rows, column) in rows.iter().zip(columns) {
        seen |= 1 << (3 * column + rows[2]);
    }
    seen == 0x1FF
}

/// The 216 ways to give the three digits of each column different rows.
fn arrangements(columns: &[u8; 9]) -> impl Iterator<Item = [u8; 9]> {
    (0..216usize).map(move |number| {
        let orders = [ORDERS[number / 36], ORDERS[number / 6 % 6], ORDERS[number % 6]];
        let mut used = [0; 3];
        columns.map(|column| {
            let column = usize::from(column);
            used[column] += 1;
            orders[column][used[column] - 1]
        })
    })
}

/// The partition of every word, and a word for every partition.
fn partitions() -> (Box<[u16; 1 << 15]>, Vec<[u8; 9]>) {
    let mut partitions = Box::new([0; 1 << 15]);
    let mut words: Vec<[u8; 9]> = Vec::new();
    for (word, partition) in partitions.iter_mut().enumerate().take(WORDS) {
        let letters: [u8; 9] =
            std::array::from_fn(|place| (word / usize::from(PLACE_VALUES[place]) % 3) as u8);
        if (0..3).any(|letter| letters.iter().filter(|&&l| l == letter).count() != 3) {
            continue;
        }
        // Names in the order in which they first come.
        let (mut names, mut named) = ([3; 3], 0);
        let plain = letters.map(|letter| {
            let name = &mut names[usize::from(letter)];
            if *name == 3 {
                *name = named;
                named += 1;
            }
            *name
        });
        let found = words.iter().position(|known| *known == plain);
        *partition = found.unwrap_or(words.len()) as u16;
        if found.is_none() {
            words.push(plain);
        }
    }
    assert_eq!(words.len(), PARTITIONS, "the ways to part nine places into three threes");
    (partitions, words)
}

/// Four counts settle a 3x3 table with sums of 3: this is what a digit in a cell adds to the key made of them.
#[inline]
fn key_part(cell: u8) -> u8 {
    const PARTS: [u8; 9] = [1, 4, 0, 16, 64, 0, 0, 0, 0];
    PARTS[usize::from(cell)]
}

/// How every table becomes one of the five patterns, and their tables.
fn placings() -> (Vec<Placing>, Vec<[u8; 9]>) {
    let mut placings: Vec<Option<Placing>> = vec![None; 256];
    let mut tables: Vec<[u8; 9]> = Vec::new();
    for key in 0..256 {
        let Some(table) = table_of(key) else { continue };
        if placings[key].is_some() {
            continue;
        }
        // The first of its kind is the pattern; the others lead to it.
        let mut starts = [0; 9];
        for cell in 1..9 {
            starts[cell] = starts[cell - 1] + table[cell - 1];
        }
        for zero in ORDERS {
            for one in ORDERS {
                let to = |cell: usize| usize::from(zero[cell / 3] * 3 + one[cell % 3]);
                let other: [u8; 9] = std::array::from_fn(|cell| table[to(cell)]);
                let key = (0..9u8).map(|cell| key_part(cell) * other[usize::from(cell)]).sum::<u8>();
                placings[usize::from(key)].get_or_insert(Placing {
                    pattern: tables.len() as u8,
                    places: std::array::from_fn(|cell| starts[to(cell)]),
                });
            }
        }
        tables.push(table);
    }
    // Keys of no table are never asked for.
    let nothing = Placing { pattern: 0, places: [0; 9] };
    (placings.into_iter().map(|placing| placing.unwrap_or(nothing)).collect(), tables)
}

/// The 3x3 table of this key, if there is one: every row and column sums to 3.
fn table_of(key: usize) -> Option<[u8; 9]> {
    let [a, b, c, d] = [0, 2, 4, 6].map(|shift| (key >> shift & 3) as i8);
    let table = [a, b, 3 - a - b, c, d, 3 - c - d, 3 - a - c, 3 - b - d, a + b + c + d - 3];
    table.iter().all(|count| (0..=3).contains(count)).then(|| table.map(|count| count as u8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_and_bands_are_as_many_as_known() {
        let fillings = Fillings::new();
        assert_eq!(fillings.patterns.len(), 5);
        // Every way to give digits their columns, by table of stacks 0 and 1, times its fillings: the 9! * 56 * 6^6
        // bands there are.
        let mut bands = 0u64;
        for key in 0..256 {
            let Some(table) = table_of(key) else { continue };
            let factorials = table.map(|count| (1..=u64::from(count)).product::<u64>());
            let ways = 362_880 / factorials.iter().product::<u64>();
            let pattern = usize::from(fillings.placings[key].pattern);
            let sum: u64 = fillings.counts(pattern).iter().map(|&count| u64::from(count)).sum();
            bands += ways * sum * 6 * 6;
        }
        assert_eq!(bands, 362_880 * 56 * 46_656);
    }

    #[test]
    fn a_band_of_equal_columns_has_three_latin_squares() {
        let fillings = Fillings::new();
        let columns = [0, 0, 0, 1, 1, 1, 2, 2, 2];
        let places = fillings.place(&columns.map(|column| 4 * column));
        let word =
            (0..9).map(|digit| u16::from(columns[digit]) * PLACE_VALUES[usize::from(places.of[digit])]).sum();
        let partition = fillings.partition(word);
        assert_eq!(fillings.counts(places.pattern)[partition], 12 * 12 * 12 / 6);
    }
}
