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
    /// Which lane each lane takes its value from, in the form `permute` likes.
    type Order: Copy;

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
    /// `self & wanted` where that is not 0, else `self`.
    fn prefer(self, wanted: Self) -> Self;
    /// The lanes that are equal, lowest lane in the lowest bit.
    fn equal(self, other: Self) -> u32;
    /// The number of bits set in each lane, none above the ninth.
    fn count_ones(self) -> Self;
    /// The lanes named by these bits.
    fn mask(bits: u32) -> Self::Mask;
    /// `other` in the lanes of the mask, else `self`.
    fn blend(self, mask: Self::Mask, other: Self) -> Self;
    /// Lane `i` of a permuted vector is lane `order[i]` of the old one; entries from `COUNT` on count for nothing.
    fn order(order: &[u8; 32]) -> Self::Order;
    fn permute(self, order: Self::Order) -> Self;
    /// Candidates of cells from their values, the first `COUNT` bytes: 0 is all nine.
    fn from_values(values: &[u8; 32]) -> Self;
    /// The value of each lane that has one bit set, as the first `COUNT` bytes; other lanes give anything.
    fn to_values(self, values: &mut [u8; 32]);
    /// Rows for columns within the lower and within the upper 16 bytes; the upper ones only where a vector has more
    /// than 16 lanes.
    fn transposed(bytes: &[[u8; 32]; 16]) -> [[u8; 32]; 16];
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
    type Order = [u8; N];

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
    fn prefer(self, wanted: Self) -> Self {
        self.zip(wanted, |a, b| a & (b | all_if(a & b == 0)))
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
    fn order(order: &[u8; 32]) -> [u8; N] {
        let mut out = [0; N];
        for (to, from) in out.iter_mut().zip(order) {
            *to = from % N as u8;
        }
        out
    }
    #[inline(always)]
    fn permute(self, order: [u8; N]) -> Self {
        let mut out = [0; N];
        for (lane, from) in out.iter_mut().zip(order) {
            *lane = self.0[usize::from(from) % N];
        }
        Self(out)
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
    fn transposed(bytes: &[[u8; 32]; 16]) -> [[u8; 32]; 16] {
        let mut out = [[0; 32]; 16];
        for (i, row) in bytes.iter().enumerate() {
            for (j, &byte) in row[..16].iter().enumerate() {
                out[j][i] = byte;
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
