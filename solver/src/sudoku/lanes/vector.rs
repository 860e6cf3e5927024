//! What the lane engine asks of a vector of 16-bit lanes, and the plain arrays that answer it everywhere.
//!
//! Three-input operations are named by what they mean, so that AVX-512 does each in one instruction and every other
//! set gets the two or three it needs by default.

/// A vector of [`Lanes::COUNT`] unsigned 16-bit lanes.
///
/// Every method is `inline(always)`: the whole engine must end up inside one function compiled for the right
/// instruction set (`super::widths`). A call left over would still be right, only slow.
pub(super) trait Lanes: Copy {
    /// Lanes in a vector; at most 32, so that a set of lanes is a `u32`.
    const COUNT: usize;
    /// Some lanes of a vector, in the form `blend` likes.
    type Mask: Copy;
    /// Which lanes take their value from which, in the form `take` likes.
    type Moves: Copy;

    fn splat(value: u16) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    /// `self & !other`.
    fn and_not(self, other: Self) -> Self;
    /// Wraps around.
    fn add(self, other: Self) -> Self;
    fn min(self, other: Self) -> Self;
    fn max(self, other: Self) -> Self;
    fn shift_left<const BITS: u32>(self) -> Self;
    /// The two bytes of each lane added up.
    fn sum_bytes(self) -> Self;
    /// All ones where the lane is 0, else 0.
    fn is_zero(self) -> Self;
    /// The entry of a table for each lane, all of which are below 16.
    fn lookup(self, table: &[u16; 16]) -> Self;
    /// Byte by byte.
    fn min_bytes(self, other: Self) -> Self;
    /// Adds `more`, wrapping around, in the bytes where `of` has a bit in common with `bits`.
    fn add_bytes_where(self, of: Self, bits: Self, more: Self) -> Self;
    /// Byte by byte, wrapping around.
    fn add_bytes(self, other: Self) -> Self;
    /// Byte by byte, wrapping around.
    fn sub_bytes(self, other: Self) -> Self;
    /// The value where it has at most one bit set, else 0.
    fn single(self) -> Self;
    /// `self & !unwanted`, and `wanted` of that where it has any.
    fn settle(self, wanted: Self, unwanted: Self) -> Self;
    /// The lanes that are equal, lowest lane in the lowest bit.
    fn equal(self, other: Self) -> u32;
    /// The number of bits set in each lane, none above the ninth.
    fn count_ones(self) -> Self;
    /// The lanes named by these bits.
    fn mask(bits: u32) -> Self::Mask;
    /// `other` in the lanes of the mask, else `self`.
    fn blend(self, mask: Self::Mask, other: Self) -> Self;
    /// Each lane `i` of those named by the bits of `to` is to take lane `from[i]`, which is below `COUNT`.
    fn moves(to: u32, from: &[u8; 32]) -> Self::Moves;
    /// `other` moved into some lanes, `self` in the rest.
    fn take(self, other: Self, moves: Self::Moves) -> Self;
    /// Candidates of cells from their values, the first `COUNT` bytes: 0 is all nine.
    fn from_values(values: &[u8; 32]) -> Self;
    /// The value of each lane that has one bit set, as the first `COUNT` bytes; other lanes give anything.
    fn to_values(self, values: &mut [u8; 32]);
    /// Rows for columns, of two squares beside each other; the upper one only where a vector has more than 16 lanes.
    fn transposed(lower: &[&[u8; 16]; 16], upper: &[&[u8; 16]; 16]) -> [[u8; 32]; 16];
    fn lanes(&self) -> &[u16];
    fn lanes_mut(&mut self) -> &mut [u16];

    #[inline(always)]
    fn or3(self, b: Self, c: Self) -> Self {
        self.or(b).or(c)
    }
    /// Bits set in at least two of three.
    #[inline(always)]
    fn majority(self, b: Self, c: Self) -> Self {
        self.and(b).or(self.or(b).and(c))
    }
    #[inline(always)]
    fn and3(self, b: Self, c: Self) -> Self {
        self.and(b).and(c)
    }
    /// `self & !(b | c)`.
    #[inline(always)]
    fn and_neither(self, b: Self, c: Self) -> Self {
        self.and_not(b.or(c))
    }
    /// `self & !(b & !c)`.
    #[inline(always)]
    fn and_not_unless(self, b: Self, c: Self) -> Self {
        self.and_not(b.and_not(c))
    }
    /// `self | (b & c)`.
    #[inline(always)]
    fn or_both(self, b: Self, c: Self) -> Self {
        self.or(b.and(c))
    }
}

/// Lanes in an array: the twin that every other width is tested against, and the last resort. Loops over the
/// whole array are what compilers vectorise best.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(super) struct Plain<const N: usize>(pub(super) [u16; N]);

impl<const N: usize> Plain<N> {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(u16, u16) -> u16) -> Self {
        let mut out = [0; N];
        for i in 0..N {
            out[i] = f(self.0[i], other.0[i]);
        }
        Self(out)
    }

    #[inline(always)]
    fn map(self, f: impl Fn(u16) -> u16) -> Self {
        let mut out = [0; N];
        for i in 0..N {
            out[i] = f(self.0[i]);
        }
        Self(out)
    }
}

const fn all_if(condition: bool) -> u16 {
    if condition { u16::MAX } else { 0 }
}

impl<const N: usize> Lanes for Plain<N> {
    const COUNT: usize = N;
    type Mask = Plain<N>;
    type Moves = (Plain<N>, [u8; N]);

    #[inline(always)]
    fn splat(value: u16) -> Self {
        Self([value; N])
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self.zip(other, |a, b| a & b)
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        self.zip(other, |a, b| a | b)
    }
    #[inline(always)]
    fn and_not(self, other: Self) -> Self {
        self.zip(other, |a, b| a & !b)
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, u16::wrapping_add)
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.zip(other, u16::min)
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.zip(other, u16::max)
    }
    #[inline(always)]
    fn shift_left<const BITS: u32>(self) -> Self {
        self.map(|a| a << BITS)
    }
    #[inline(always)]
    fn sum_bytes(self) -> Self {
        self.map(|a| (a & 0xFF) + (a >> 8))
    }
    #[inline(always)]
    fn is_zero(self) -> Self {
        self.map(|a| all_if(a == 0))
    }
    #[inline(always)]
    fn lookup(self, table: &[u16; 16]) -> Self {
        self.map(|a| table[usize::from(a % 16)])
    }
    #[inline(always)]
    fn min_bytes(self, other: Self) -> Self {
        self.zip(other, |a, b| (a & 0xFF).min(b & 0xFF) | (a & 0xFF00).min(b & 0xFF00))
    }
    #[inline(always)]
    fn add_bytes_where(self, of: Self, bits: Self, more: Self) -> Self {
        let common = of.and(bits);
        let more = more.zip(common, |a, b| a & (all_if(b & 0xFF != 0) & 0xFF | all_if(b >> 8 != 0) << 8));
        self.add_bytes(more)
    }
    #[inline(always)]
    fn add_bytes(self, other: Self) -> Self {
        self.zip(other, |a, b| a.wrapping_add(b) & 0xFF | (a & 0xFF00).wrapping_add(b & 0xFF00))
    }
    #[inline(always)]
    fn sub_bytes(self, other: Self) -> Self {
        self.zip(other, |a, b| a.wrapping_sub(b) & 0xFF | (a & 0xFF00).wrapping_sub(b & 0xFF00))
    }
    #[inline(always)]
    fn single(self) -> Self {
        self.map(|a| a & all_if(a & a.wrapping_sub(1) == 0))
    }
    #[inline(always)]
    fn settle(self, wanted: Self, unwanted: Self) -> Self {
        let rest = self.and_not(unwanted);
        let both = rest.and(wanted);
        both.or(rest.and(both.is_zero()))
    }
    #[inline(always)]
    fn equal(self, other: Self) -> u32 {
        let mut bits = 0;
        for (i, (a, b)) in self.0.iter().zip(other.0).enumerate() {
            bits |= u32::from(*a == b) << i;
        }
        bits
    }
    #[inline(always)]
    fn count_ones(self) -> Self {
        self.map(|a| a.count_ones() as u16)
    }
    #[inline(always)]
    fn mask(bits: u32) -> Plain<N> {
        let mut out = [0; N];
        for (i, lane) in out.iter_mut().enumerate() {
            *lane = all_if(bits >> i & 1 == 1);
        }
        Self(out)
    }
    #[inline(always)]
    fn blend(self, mask: Plain<N>, other: Self) -> Self {
        self.and_not(mask).or(other.and(mask))
    }
    #[inline(always)]
    fn moves(to: u32, from: &[u8; 32]) -> (Plain<N>, [u8; N]) {
        let mut order = [0; N];
        for (to, from) in order.iter_mut().zip(from) {
            *to = from % N as u8;
        }
        (Self::mask(to), order)
    }
    #[inline(always)]
    fn take(self, other: Self, (mask, order): (Plain<N>, [u8; N])) -> Self {
        let mut out = [0; N];
        for (lane, from) in out.iter_mut().zip(order) {
            *lane = other.0[usize::from(from) % N];
        }
        self.blend(mask, Self(out))
    }
    #[inline(always)]
    fn from_values(values: &[u8; 32]) -> Self {
        const CANDIDATES: [u16; 16] = [511, 1, 2, 4, 8, 16, 32, 64, 128, 256, 0, 0, 0, 0, 0, 0];
        let mut out = [0; N];
        for (lane, value) in out.iter_mut().zip(values) {
            *lane = CANDIDATES[usize::from(value % 16)];
        }
        Self(out)
    }
    #[inline(always)]
    fn to_values(self, values: &mut [u8; 32]) {
        for (value, lane) in values.iter_mut().zip(self.0) {
            *value = 16 - lane.leading_zeros() as u8;
        }
    }
    #[inline(always)]
    fn transposed(lower: &[&[u8; 16]; 16], upper: &[&[u8; 16]; 16]) -> [[u8; 32]; 16] {
        let mut out = [[0; 32]; 16];
        for i in 0..16 {
            for j in 0..16 {
                out[j][i] = lower[i][j];
                if N > 16 {
                    out[j][16 + i] = upper[i][j];
                }
            }
        }
        out
    }
    #[inline(always)]
    fn lanes(&self) -> &[u16] {
        &self.0
    }
    #[inline(always)]
    fn lanes_mut(&mut self) -> &mut [u16] {
        &mut self.0
    }
}

/// Rows for columns.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline(always)]
pub(super) fn transposed_words(words: &[[u16; 8]; 8]) -> [[u16; 8]; 8] {
    let mut out = [[0; 8]; 8];
    for (i, row) in words.iter().enumerate() {
        for (j, &word) in row.iter().enumerate() {
            out[j][i] = word;
        }
    }
    out
}

/// Holds every operation of a width against plain arrays of as many lanes.
#[cfg(test)]
mod tests {
    use super::*;

    /// A fixed sequence without structure.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u16 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 48) as u16
        }

        /// Candidates of all sorts: none, one, few, many.
        fn candidates(&mut self) -> u16 {
            let kind = self.next() % 4;
            match kind {
                0 => 1 << (self.next() % 9),
                1 => self.next() & self.next() & 511,
                2 => 0,
                _ => self.next() & 511,
            }
        }
    }

    fn filled<L: Lanes>(values: &[u16; 32]) -> L {
        let mut vector = L::splat(0);
        vector.lanes_mut().copy_from_slice(&values[..L::COUNT]);
        vector
    }

    fn check<L: Lanes, const N: usize>() {
        assert_eq!(L::COUNT, N);
        let mut random = Random(7);
        for _ in 0..2000 {
            let inputs: [[u16; 32]; 3] =
                std::array::from_fn(|_| std::array::from_fn(|_| random.candidates()));
            let [a, b, c] = inputs.map(|values| filled::<L>(&values));
            let [x, y, z] = inputs.map(|values| filled::<Plain<N>>(&values));
            let words: [u16; 32] = std::array::from_fn(|_| random.next());
            let (w, v) = (filled::<L>(&words), filled::<Plain<N>>(&words));
            let same = |name: &str, found: L, expected: Plain<N>| {
                assert_eq!(found.lanes(), expected.lanes(), "{name} of {inputs:?}");
            };
            same("splat", L::splat(words[0]), Plain::splat(words[0]));
            same("and", a.and(b), x.and(y));
            same("or", a.or(b), x.or(y));
            same("and_not", a.and_not(b), x.and_not(y));
            same("add", w.add(a), v.add(x));
            same("min", w.min(a), v.min(x));
            same("max", w.max(a), v.max(x));
            same("shift_left", a.shift_left::<6>(), x.shift_left::<6>());
            same("sum_bytes", a.sum_bytes(), x.sum_bytes());
            same("is_zero", a.is_zero(), x.is_zero());
            same("min_bytes", w.min_bytes(a), v.min_bytes(x));
            same("add_bytes", w.add_bytes(a), v.add_bytes(x));
            same("sub_bytes", w.sub_bytes(a), v.sub_bytes(x));
            let bits = 0x0801;
            let found = w.add_bytes_where(a, L::splat(bits), b);
            same("add_bytes_where", found, v.add_bytes_where(x, Plain::splat(bits), y));
            same("single", a.single(), x.single());
            same("settle", a.settle(b, c), x.settle(y, z));
            same("count_ones", a.count_ones(), x.count_ones());
            let table = std::array::from_fn(|i| words[i]);
            same("lookup", a.count_ones().lookup(&table), x.count_ones().lookup(&table));
            same("or3", a.or3(b, c), x.or3(y, z));
            same("majority", a.majority(b, c), x.majority(y, z));
            same("and3", a.and3(b, c), x.and3(y, z));
            same("and_neither", a.and_neither(b, c), x.and_neither(y, z));
            same("and_not_unless", a.and_not_unless(b, c), x.and_not_unless(y, z));
            same("or_both", a.or_both(b, c), x.or_both(y, z));
            assert_eq!(a.equal(b), x.equal(y));
            let lanes = u32::from(words[0]) << 16 | u32::from(words[1]);
            same("blend", a.blend(L::mask(lanes), b), x.blend(Plain::<N>::mask(lanes), y));
            let order = words.map(|word| (word % N as u16) as u8);
            same("take", a.take(w, L::moves(lanes, &order)), x.take(v, Plain::<N>::moves(lanes, &order)));
            let values = words.map(|word| (word % 10) as u8);
            same("from_values", L::from_values(&values), Plain::from_values(&values));
            let [mut found, mut expected] = [[0; 32]; 2];
            let one = words.map(|word| 1 << (word % 9));
            filled::<L>(&one).to_values(&mut found);
            filled::<Plain<N>>(&one).to_values(&mut expected);
            assert_eq!(found[..N], expected[..N]);
            let bytes: [[[u8; 16]; 16]; 2] = std::array::from_fn(|_| {
                std::array::from_fn(|_| std::array::from_fn(|_| random.next() as u8))
            });
            let [lower, upper] = bytes.each_ref().map(|square| square.each_ref());
            let (found, expected) = (L::transposed(&lower, &upper), Plain::<N>::transposed(&lower, &upper));
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found[..N.max(16)], expected[..N.max(16)]);
            }
        }
    }

    #[test]
    fn vectors_do_as_plain_arrays_do() {
        use crate::sudoku::Width;
        for width in Width::available() {
            match width {
                #[cfg(target_arch = "x86_64")]
                Width::Avx512 => check::<super::super::x86::Avx512, 32>(),
                #[cfg(target_arch = "x86_64")]
                Width::Avx2 => check::<super::super::x86::Avx2, 16>(),
                #[cfg(target_arch = "x86_64")]
                Width::Sse41 => check::<super::super::x86::Sse41, 8>(),
                #[cfg(target_arch = "aarch64")]
                Width::Neon => check::<super::super::neon::Neon, 8>(),
                _ => check::<Plain<16>, 16>(),
            }
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn words_are_transposed_alike() {
        let mut random = Random(1);
        let words = std::array::from_fn(|_| std::array::from_fn(|_| random.next()));
        assert_eq!(super::super::x86::transposed_words(&words), transposed_words(&words));
    }
}
