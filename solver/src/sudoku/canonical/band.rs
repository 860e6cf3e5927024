//! Complete bands: their minimal forms, and the 416 classes they fall into. Knows nothing of whole boards.
//!
//! A *band* is three rows of nine digits, by the rules of sudoku. Permuting its rows, its boxes, the columns within a
//! box, and the digits makes other bands of it, of the same *class*. There are 416 classes (Felgenhauer & Jarvis,
//! "Mathematics of Sudoku", 2006, count them); this file finds them, so no list of them is kept.

use std::sync::OnceLock;

/// Number of classes of complete bands under all symmetries of a band and relabelling.
pub const BAND_CLASSES: usize = 416;

/// The class of a complete band, 0 to 415: the place of its smallest equivalent text among those of all classes, which
/// is the usual number of the band less one. The band is 27 digits 1-9, row by row.
///
/// The first call builds the table of classes in some milliseconds; after that, one takes some 30 ns.
///
/// # Panics
///
/// If a row or a box of the band lacks a digit.
///
/// # Examples
///
/// ```
/// use puzzled_solver::sudoku::band_class;
///
/// let band = *b"987654321654321987321987654";
/// assert_eq!(band_class(&band.map(|byte| byte - b'0')), 0);
/// ```
pub fn band_class(band: &[u8; 27]) -> u16 {
    assert!(is_complete(band), "a row or a box of the band lacks a digit: {band:?}");
    static TABLE: OnceLock<Vec<u16>> = OnceLock::new();
    TABLE.get_or_init(build_table)[place(band)]
}

/// The six orders of three things.
pub(crate) const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// Whether each row and each box has all of the digits 1-9.
pub(crate) fn is_complete(band: &[u8; 27]) -> bool {
    let (mut rows, mut boxes) = ([0u32; 3], [0u32; 3]);
    for (cell, &digit) in band.iter().enumerate() {
        let bit = if digit <= 9 { 1 << digit } else { 0 };
        rows[cell / 9] |= bit;
        boxes[cell % 9 / 3] |= bit;
    }
    rows.iter().chain(&boxes).all(|&digits| digits == 0b11_1111_1110)
}

/// Which rows and columns of a band stand where in its minimal form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BandMorph {
    /// The band's row (0-2) at each place.
    pub(crate) rows: [usize; 3],
    /// The band's column (0-8) at each place.
    pub(crate) columns: [usize; 9],
}

/// The second and third row of a minimal form, a digit in four bits, less one. The first row is always 1 to 9.
pub(crate) type BandForm = [u64; 2];

/// Finds the minimal form of a complete band, and gives every morph that leads there to `morphs`, in place of what
/// that had; there are as many as the band has automorphisms.
///
/// The first row reads 1 to 9 whatever is done, so what counts is how the second one reads then. Once the rows are in
/// order (6 ways), and a box is the first with its columns in order (18 ways), the rest is forced.
pub(crate) fn minimal_form(band: &[u8; 27], morphs: &mut Vec<BandMorph>) -> BandForm {
    let mut best = [u64::MAX; 2];
    let digit = |row: usize, column: usize| usize::from(band[row * 9 + column]);
    for rows in ORDERS {
        let mut column_of = [0; 10];
        for column in 0..9 {
            column_of[digit(rows[0], column)] = column;
        }
        let second: [usize; 9] = std::array::from_fn(|column| column_of[digit(rows[1], column)]);
        for way in 0..18 {
            let Some(columns) = forced_columns(&second, way / 6, ORDERS[way % 6]) else { continue };
            let mut place_of = [0; 9];
            for (place, &column) in columns.iter().enumerate() {
                place_of[column] = place as u64;
            }
            let second = columns.iter().fold(0, |text, &column| text << 4 | place_of[second[column]]);
            if second > best[0] {
                continue;
            }
            let third = columns
                .iter()
                .fold(0, |text, &column| text << 4 | place_of[column_of[digit(rows[2], column)]]);
            if [second, third] < best {
                best = [second, third];
                morphs.clear();
            }
            if [second, third] == best {
                morphs.push(BandMorph { rows, columns });
            }
        }
    }
    best
}

/// The order of columns that makes the second row smallest, when `stack` comes first with its columns in `order`.
/// `second[c]` is the column in which the first row has the digit of the second row's column `c`. `None` if another
/// order of the same three columns is sure to be better.
fn forced_columns(second: &[usize; 9], stack: usize, order: [usize; 3]) -> Option<[usize; 9]> {
    let mut columns = [0; 9];
    for (column, place) in columns.iter_mut().zip(order) {
        *column = stack * 3 + place;
    }
    // The first row gets 1, 2, 3 here, so the second gets a 4 first of all: its column comes next. Then a 5, if
    // another digit of these three stands in the same box of the first row, as two of three must.
    let below = [second[columns[0]], second[columns[1]], second[columns[2]]];
    let next = below[0] / 3;
    let last = 3 - stack - next;
    if below[1] / 3 != next {
        return None;
    }
    columns[3] = below[0];
    columns[4] = below[1];
    // Columns of a stack add up to 9 times the stack and 3.
    columns[5] = 9 * next + 3 - below[0] - below[1];
    if below[2] / 3 == next {
        // All three: the second row's next three digits are those of the last box, and make 789.
        for place in 3..6 {
            columns[place + 3] = second[columns[place]];
        }
    } else {
        // 457: below the second box stands at least one digit of the two columns not placed yet, and makes an 8.
        columns[6] = below[2];
        let mut beneath = columns[3..6].iter().map(|&column| second[column]);
        columns[7] = beneath.find(|&c| c / 3 == last && c != below[2]).expect("6 and two of 789 are left");
        columns[8] = 9 * last + 3 - columns[6] - columns[7];
    }
    Some(columns)
}

// The table. A band is *plain* when its first box reads 1 to 9 and the first rows of its two other boxes ascend:
// relabelling and sorting columns makes any band plain. Few numbers tell a plain band, and their product is its place
// in the table:
//
//   1 2 3 | s < s < s | . < . < .    which digits the second box has in its first and in its second row: 56 ways;
//   4 5 6 | t   t   t | .   .   .        they tell those of its third row and of the third box
//   7 8 9 | .   .   . | .   .   .    how the second and the third row of both boxes are ordered: 6 ways each
const PLAIN_BANDS: usize = WAYS.len() * ORDERS.len().pow(4);

/// The class of each plain band.
fn build_table() -> Vec<u16> {
    const UNSEEN: u16 = u16::MAX;
    let mut table = vec![UNSEEN; PLAIN_BANDS];
    let (mut forms, mut morphs) = (Vec::new(), Vec::new());
    for start in 0..PLAIN_BANDS {
        if table[start] == UNSEEN {
            let band = plain_band(start);
            let class = forms.len() as u16;
            forms.push((minimal_form(&band, &mut morphs), class));
            images(&band).for_each(|image| table[place(&image)] = class);
        }
    }
    assert_eq!(forms.len(), BAND_CLASSES);
    forms.sort_unstable();
    let mut number = [0; BAND_CLASSES];
    for (sorted, &(_, class)) in (0..).zip(&forms) {
        number[usize::from(class)] = sorted;
    }
    table.iter_mut().for_each(|class| *class = number[usize::from(*class)]);
    table
}

/// The band with its rows, its boxes and the columns of its first box in all orders: among these is one for every plain
/// band of its class.
fn images(band: &[u8; 27]) -> impl Iterator<Item = [u8; 27]> {
    (0..216).map(|way| {
        let (rows, boxes, columns) = (ORDERS[way / 36], ORDERS[way / 6 % 6], ORDERS[way % 6]);
        std::array::from_fn(|cell| {
            let (row, stack, column) = (cell / 9, cell % 9 / 3, cell % 3);
            let column = if stack == 0 { columns[column] } else { column };
            band[rows[row] * 9 + boxes[stack] * 3 + column]
        })
    })
}

/// The place of a complete band in the table.
fn place(band: &[u8; 27]) -> usize {
    // Digits as bits, by their place in the first box: what ascends there ascends as numbers too.
    let mut bit = [0u16; 10];
    for cell in 0..9 {
        bit[usize::from(band[cell / 3 * 9 + cell % 3])] = 1 << cell;
    }
    let part = |row: usize, stack: usize| -> [u16; 3] {
        std::array::from_fn(|column| bit[usize::from(band[row * 9 + stack * 3 + column])])
    };
    let set = |row| part(row, 1).iter().sum::<u16>();
    let mut place = usize::from(WAY_NUMBERS[way_index([set(0), set(1)])]);
    for stack in [1, 2] {
        let columns = ORDERS[inverse(order_of(part(0, stack)))];
        for row in [1, 2] {
            let digits = part(row, stack);
            place = place * 6 + order_of(columns.map(|column| digits[column]));
        }
    }
    place
}

/// The plain band of this place in the table.
fn plain_band(place: usize) -> [u8; 27] {
    let [first, second] = WAYS[place / 1296];
    let box_rows = [0b111, 0b111 << 3, 0b111 << 6];
    let second_box = [first, second, 0o777 & !first & !second];
    let orders = [[0, place / 216 % 6, place / 36 % 6], [0, place / 6 % 6, place % 6]];
    std::array::from_fn(|cell| {
        let (row, stack, column) = (cell / 9, cell % 9 / 3, cell % 3);
        let set = match stack {
            0 => box_rows[row],
            1 => second_box[row],
            _ => 0o777 & !box_rows[row] & !second_box[row],
        };
        let rank = if stack == 0 { column } else { ORDERS[orders[stack - 1][row]][column] };
        let mut digits = (0..9u8).filter(|digit| set >> digit & 1 == 1);
        digits.nth(rank).expect("three digits in each set") + 1
    })
}

/// The sets of digits, bit 0 for the digit 1, that the second box of a plain band can have in its first and in its
/// second row.
const WAYS: [[u16; 2]; 56] = ways();

/// The place in [`WAYS`] for each [`way_index`] there is.
const WAY_NUMBERS: [u8; 64 * 64] = {
    let mut numbers = [u8::MAX; 64 * 64];
    let mut way = 0;
    while way < WAYS.len() {
        numbers[way_index(WAYS[way])] = way as u8;
        way += 1;
    }
    numbers
};

const fn ways() -> [[u16; 2]; 56] {
    let mut ways = [[0; 2]; 56];
    let (mut count, mut index) = (0, 0u16);
    while index < 64 * 64 {
        // The first row's three come from 4-9. The second row's come from 1-3 and 7-9, other than those, and must
        // take what the first left of 7-9: the third row of the first box has these.
        let sets = [index >> 6 << 3, index & 7 | (index & 0o70) << 3];
        let [first, second] = sets;
        if first.count_ones() == 3
            && second.count_ones() == 3
            && first & second == 0
            && (first | second) >> 6 == 0b111
        {
            ways[count] = sets;
            count += 1;
        }
        index += 1;
    }
    assert!(count == ways.len());
    ways
}

/// Twelve bits: six for the first set, of 4-9, and six for the second, of 1-3 and 7-9.
const fn way_index([first, second]: [u16; 2]) -> usize {
    (first >> 3 << 6 | second & 7 | second >> 3 & 0o70) as usize
}

/// The order of three different things, as an index into [`ORDERS`].
fn order_of<T: PartialOrd>([a, b, c]: [T; 3]) -> usize {
    2 * (usize::from(a > b) + usize::from(a > c)) + usize::from(b > c)
}

/// The order that undoes an order, both as indices into [`ORDERS`].
fn inverse(order: usize) -> usize {
    [0, 1, 2, 4, 3, 5][order]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digits(text: &str) -> [u8; 27] {
        let bytes: Vec<_> = text.bytes().map(|byte| byte - b'0').collect();
        bytes.try_into().expect("27 digits")
    }

    /// The smallest form by trying all 7,776 ways to order rows, boxes and columns.
    fn slow_form(band: &[u8; 27]) -> ([u8; 27], usize) {
        let mut best = ([9; 27], 0);
        for way in 0..6usize.pow(5) {
            let order = |place: u32| ORDERS[way / 6usize.pow(place) % 6];
            let (rows, boxes) = (order(0), order(1));
            let mut labels = [0; 10];
            let mut image = [0; 27];
            for (cell, digit) in image.iter_mut().enumerate() {
                let stack = boxes[cell % 9 / 3];
                *digit = band[rows[cell / 9] * 9 + stack * 3 + order(2 + stack as u32)[cell % 3]];
                if cell < 9 {
                    labels[usize::from(*digit)] = cell as u8 + 1;
                }
                *digit = labels[usize::from(*digit)];
            }
            if image < best.0 {
                best = (image, 0);
            }
            best.1 += usize::from(image == best.0);
        }
        best
    }

    fn unpack(form: BandForm) -> [u8; 27] {
        std::array::from_fn(|cell| match cell / 9 {
            0 => cell as u8 + 1,
            row => (form[row - 1] >> (4 * (8 - cell % 9)) & 15) as u8 + 1,
        })
    }

    #[test]
    fn every_plain_band_has_its_own_place() {
        for start in 0..PLAIN_BANDS {
            let band = plain_band(start);
            assert!(is_complete(&band));
            assert_eq!(place(&band), start);
        }
    }

    #[test]
    fn classes_are_numbered_by_their_smallest_forms() {
        let mut forms = std::collections::BTreeMap::new();
        let mut morphs = Vec::new();
        for start in (0..PLAIN_BANDS).rev() {
            let band = plain_band(start);
            forms.entry(minimal_form(&band, &mut morphs)).or_insert((band, morphs.len()));
        }
        assert_eq!(forms.len(), BAND_CLASSES);
        // A class has 6^5 bands but for relabelling, less what automorphisms make the same; of these, 36 at a time
        // differ in the order of the columns of two boxes, and one of them is plain.
        let plain_bands: usize =
            forms.values().map(|&(_, automorphisms)| 6usize.pow(5) / automorphisms / 36).sum();
        assert_eq!(plain_bands, PLAIN_BANDS);
        for (class, (&form, (band, automorphisms))) in forms.iter().enumerate() {
            assert_eq!((unpack(form), *automorphisms), slow_form(band), "{band:?}");
            assert_eq!(usize::from(band_class(band)), class);
            assert_eq!(usize::from(band_class(&unpack(form))), class);
        }
        let first = unpack(*forms.first_key_value().expect("416 of them").0);
        let last = unpack(*forms.last_key_value().expect("416 of them").0);
        assert_eq!(first, digits("123456789456789123789123456"));
        assert_eq!(last, digits("123456789457893612986217354"));
    }

    #[test]
    fn morphs_lead_to_the_form() {
        let mut morphs = Vec::new();
        for start in (0..PLAIN_BANDS).step_by(97) {
            let band = plain_band(start);
            let form = unpack(minimal_form(&band, &mut morphs));
            for BandMorph { rows, columns } in &morphs {
                let mut labels = [0; 10];
                for (label, &column) in (1..).zip(columns) {
                    labels[usize::from(band[rows[0] * 9 + column])] = label;
                }
                let image: [u8; 27] = std::array::from_fn(|cell| {
                    labels[usize::from(band[rows[cell / 9] * 9 + columns[cell % 9]])]
                });
                assert_eq!(image, form);
            }
        }
    }

    #[test]
    fn the_class_is_that_of_every_image() {
        for start in (0..PLAIN_BANDS).step_by(1009) {
            let band = plain_band(start);
            let class = band_class(&band);
            let shifted = images(&band).map(|image| image.map(|digit| digit % 9 + 1));
            assert!(shifted.zip(0..).all(|(mut image, i)| {
                // Columns of the other boxes too.
                (0..3).for_each(|row| image[row * 9 + 3..row * 9 + 9].rotate_left(3));
                (0..3).for_each(|row| image[row * 9 + 6..row * 9 + 9].rotate_left(i % 3));
                band_class(&image) == class
            }));
        }
    }

    #[test]
    fn what_is_no_complete_band() {
        let good = digits("123456789457893612986217354");
        assert!(is_complete(&good));
        for cell in 0..27 {
            for wrong in [0, 1, 5, 10, 255] {
                let mut bad = good;
                bad[cell] = wrong;
                assert_eq!(is_complete(&bad), bad == good);
            }
        }
        // Rows hold and boxes do not.
        assert!(!is_complete(&digits("123456789234567891345678912")));
    }
}
