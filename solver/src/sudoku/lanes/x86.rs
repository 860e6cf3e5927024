//! The vector sets of x86-64. Nothing here checks that the processor has them: `super::widths` does, once.

#![allow(unsafe_code, reason = "vector instructions beyond the baseline are unsafe to call")]

use core::arch::x86_64::*;

use super::vector::Lanes;

/// Calls intrinsics of the set that the surrounding type stands for.
macro_rules! simd {
    ($body:expr) => {
        // SAFETY: the types of this module only ever exist inside a search that `super::widths` started, after it saw
        // that the processor has their instruction set. Pointers in `$body` come from references to arrays at least
        // as long as the vector, and are read and written without regard to alignment.
        unsafe { $body }
    };
}

/// Defines the transposition of bytes with vectors of 16 or twice 16: four steps that interleave the first half of the
/// rows with the second.
macro_rules! transposition {
    ($vector:ty, $load:ident, $store:ident, $low:ident, $high:ident) => {
        #[inline(always)]
        fn transposed(lower: &[&[u8; 16]; 16], upper: &[&[u8; 16]; 16]) -> [[u8; 32]; 16] {
            let mut now: [$vector; 16] = [$load(lower[0], upper[0]); 16];
            for i in 0..16 {
                now[i] = $load(lower[i], upper[i]);
            }
            for _ in 0..4 {
                let before = now;
                for i in 0..8 {
                    now[2 * i] = simd!($low(before[i], before[i + 8]));
                    now[2 * i + 1] = simd!($high(before[i], before[i + 8]));
                }
            }
            let mut out = [[0; 32]; 16];
            for (to, from) in out.iter_mut().zip(now) {
                simd!($store(to.as_mut_ptr().cast(), from));
            }
            out
        }
    };
}

#[inline(always)]
fn lower_bytes(lower: &[u8; 16], _: &[u8; 16]) -> __m128i {
    simd!(_mm_loadu_si128(lower.as_ptr().cast()))
}

/// Straight from both places: a copy to one place first would make the load wait for two stores.
#[inline(always)]
fn both_bytes(lower: &[u8; 16], upper: &[u8; 16]) -> __m256i {
    simd!(_mm256_loadu2_m128i(upper.as_ptr().cast(), lower.as_ptr().cast()))
}

/// Defines the lane views, which are the same for every width.
macro_rules! views {
    ($count:expr) => {
        #[inline(always)]
        fn lanes(&self) -> &[u16] {
            // SAFETY: a vector is `$count` u16 side by side, has no padding, and every bit pattern is a u16.
            unsafe { core::slice::from_raw_parts((&raw const *self).cast(), $count) }
        }
        #[inline(always)]
        fn lanes_mut(&mut self) -> &mut [u16] {
            // SAFETY: as above; and the borrow of `self` makes this the only way to the vector.
            unsafe { core::slice::from_raw_parts_mut((&raw mut *self).cast(), $count) }
        }
    };
}

/// (cell << k) * DE_BRUIJN has a different high nibble for each k: a perfect hash of one-hot words.
const DE_BRUIJN: i16 = 0x09AF;
const HASHED_VALUES: [i8; 16] = {
    let mut values = [0; 16];
    let mut bit = 0;
    while bit < 9 {
        let hash = (((DE_BRUIJN as u16 as u32) << bit) as u16 >> 12) as usize;
        values[hash] = bit + 1;
        bit += 1;
    }
    values
};
const CANDIDATES: [u16; 16] = [511, 1, 2, 4, 8, 16, 32, 64, 128, 256, 0, 0, 0, 0, 0, 0];
const LOW_CANDIDATES: [i8; 16] = [-1, 1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0];
const NIBBLE_ONES: [i8; 16] = [0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4];

const FIVE_BITS_ONES: [i8; 32] = {
    let mut ones = [0; 32];
    let mut i: usize = 0;
    while i < 32 {
        ones[i] = i.count_ones() as i8;
        i += 1;
    }
    ones
};

#[inline(always)]
fn table(bytes: &[i8; 16]) -> __m128i {
    simd!(_mm_loadu_si128(bytes.as_ptr().cast()))
}

/// 32 lanes: AVX-512 F, BW and VL.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Avx512(__m512i);

/// Three-input logic: the constant is the truth table, with `self` = 0xF0, `b` = 0xCC, `c` = 0xAA.
macro_rules! ternary {
    ($name:ident, $table:expr) => {
        #[inline(always)]
        fn $name(self, b: Self, c: Self) -> Self {
            Self(simd!(_mm512_ternarylogic_epi32::<{ $table & 0xFF }>(self.0, b.0, c.0)))
        }
    };
}

impl Lanes for Avx512 {
    const COUNT: usize = 32;
    type Mask = __mmask32;
    type Moves = (__mmask32, __m512i);

    #[inline(always)]
    fn splat(value: u16) -> Self {
        Self(simd!(_mm512_set1_epi16(value.cast_signed())))
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self(simd!(_mm512_and_si512(self.0, other.0)))
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        Self(simd!(_mm512_or_si512(self.0, other.0)))
    }
    #[inline(always)]
    fn and_not(self, other: Self) -> Self {
        Self(simd!(_mm512_andnot_si512(other.0, self.0)))
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(simd!(_mm512_add_epi16(self.0, other.0)))
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self(simd!(_mm512_min_epu16(self.0, other.0)))
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self(simd!(_mm512_max_epu16(self.0, other.0)))
    }
    #[inline(always)]
    fn shift_left<const BITS: u32>(self) -> Self {
        Self(simd!(_mm512_slli_epi16::<BITS>(self.0)))
    }
    #[inline(always)]
    fn sum_bytes(self) -> Self {
        Self(simd!(_mm512_maddubs_epi16(self.0, _mm512_set1_epi8(1))))
    }
    #[inline(always)]
    fn is_zero(self) -> Self {
        Self(simd!(_mm512_movm_epi16(_mm512_testn_epi16_mask(self.0, self.0))))
    }
    #[inline(always)]
    fn lookup(self, table: &[u16; 16]) -> Self {
        simd!({
            let table = _mm512_castsi256_si512(_mm256_loadu_si256(table.as_ptr().cast()));
            Self(_mm512_permutexvar_epi16(self.0, table))
        })
    }
    #[inline(always)]
    fn min_bytes(self, other: Self) -> Self {
        Self(simd!(_mm512_min_epu8(self.0, other.0)))
    }
    #[inline(always)]
    fn add_bytes_where(self, of: Self, bits: Self, more: Self) -> Self {
        Self(simd!(_mm512_mask_add_epi8(self.0, _mm512_test_epi8_mask(of.0, bits.0), self.0, more.0)))
    }
    #[inline(always)]
    fn add_bytes(self, other: Self) -> Self {
        Self(simd!(_mm512_add_epi8(self.0, other.0)))
    }
    #[inline(always)]
    fn sub_bytes(self, other: Self) -> Self {
        Self(simd!(_mm512_sub_epi8(self.0, other.0)))
    }
    #[inline(always)]
    fn single(self) -> Self {
        simd!({
            let rest = _mm512_add_epi16(self.0, _mm512_set1_epi16(-1));
            Self(_mm512_maskz_mov_epi16(_mm512_testn_epi16_mask(self.0, rest), self.0))
        })
    }
    #[inline(always)]
    fn settle(self, wanted: Self, unwanted: Self) -> Self {
        simd!({
            // What depends on the cell comes last: three instructions, the rest once for cells that share it.
            let keep = _mm512_xor_si512(unwanted.0, _mm512_set1_epi16(-1));
            let wanted = _mm512_and_si512(wanted.0, keep);
            let some = _mm512_test_epi16_mask(self.0, wanted);
            Self(_mm512_and_si512(self.0, _mm512_mask_blend_epi16(some, keep, wanted)))
        })
    }
    #[inline(always)]
    fn equal(self, other: Self) -> u32 {
        simd!(_mm512_cmpeq_epi16_mask(self.0, other.0))
    }
    #[inline(always)]
    fn count_ones(self) -> Self {
        simd!({
            // The permutation looks at five bits of its index only.
            let ones = _mm512_cvtepi8_epi16(_mm256_loadu_si256(FIVE_BITS_ONES.as_ptr().cast()));
            let low = _mm512_permutexvar_epi16(self.0, ones);
            Self(_mm512_add_epi16(low, _mm512_permutexvar_epi16(_mm512_srli_epi16::<5>(self.0), ones)))
        })
    }
    #[inline(always)]
    fn mask(bits: u32) -> __mmask32 {
        bits
    }
    #[inline(always)]
    fn blend(self, mask: __mmask32, other: Self) -> Self {
        Self(simd!(_mm512_mask_blend_epi16(mask, self.0, other.0)))
    }
    #[inline(always)]
    fn moves(to: u32, from: &[u8; 32]) -> (__mmask32, __m512i) {
        (to, simd!(_mm512_cvtepu8_epi16(_mm256_loadu_si256(from.as_ptr().cast()))))
    }
    #[inline(always)]
    fn take(self, other: Self, (to, from): (__mmask32, __m512i)) -> Self {
        Self(simd!(_mm512_mask_permutexvar_epi16(self.0, to, from, other.0)))
    }
    #[inline(always)]
    fn from_values(values: &[u8; 32]) -> Self {
        simd!({
            let values = _mm512_cvtepu8_epi16(_mm256_loadu_si256(values.as_ptr().cast()));
            let candidates = _mm512_castsi256_si512(_mm256_loadu_si256(CANDIDATES.as_ptr().cast()));
            Self(_mm512_permutexvar_epi16(values, candidates))
        })
    }
    #[inline(always)]
    fn to_values(self, values: &mut [u8; 32]) {
        simd!({
            let hash = _mm512_srli_epi16::<12>(_mm512_mullo_epi16(self.0, _mm512_set1_epi16(DE_BRUIJN)));
            let found = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table(&HASHED_VALUES)), hash);
            _mm256_storeu_si256(values.as_mut_ptr().cast(), _mm512_cvtepi16_epi8(found));
        })
    }
    views!(32);
    transposition!(__m256i, both_bytes, _mm256_storeu_si256, _mm256_unpacklo_epi8, _mm256_unpackhi_epi8);

    ternary!(or3, 0xF0 | 0xCC | 0xAA);
    ternary!(majority, 0xF0 & 0xCC | (0xF0 | 0xCC) & 0xAA);
    ternary!(and3, 0xF0 & 0xCC & 0xAA);
    ternary!(and_neither, 0xF0 & !(0xCC | 0xAA));
    ternary!(and_not_unless, 0xF0 & !(0xCC & !0xAA));
    ternary!(or_both, 0xF0 | 0xCC & 0xAA);
}

/// 16 lanes: AVX2.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Avx2(__m256i);

impl Lanes for Avx2 {
    const COUNT: usize = 16;
    type Mask = __m256i;
    /// The lanes to replace, and byte shuffles within each half and, for what comes from the other half, across.
    type Moves = (__m256i, __m256i, __m256i);

    #[inline(always)]
    fn splat(value: u16) -> Self {
        Self(simd!(_mm256_set1_epi16(value.cast_signed())))
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self(simd!(_mm256_and_si256(self.0, other.0)))
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        Self(simd!(_mm256_or_si256(self.0, other.0)))
    }
    #[inline(always)]
    fn and_not(self, other: Self) -> Self {
        Self(simd!(_mm256_andnot_si256(other.0, self.0)))
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(simd!(_mm256_add_epi16(self.0, other.0)))
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self(simd!(_mm256_min_epu16(self.0, other.0)))
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self(simd!(_mm256_max_epu16(self.0, other.0)))
    }
    #[inline(always)]
    fn shift_left<const BITS: u32>(self) -> Self {
        Self(simd!(_mm256_sll_epi16(self.0, _mm_cvtsi32_si128(BITS.cast_signed()))))
    }
    #[inline(always)]
    fn sum_bytes(self) -> Self {
        Self(simd!(_mm256_maddubs_epi16(self.0, _mm256_set1_epi8(1))))
    }
    #[inline(always)]
    fn is_zero(self) -> Self {
        Self(simd!(_mm256_cmpeq_epi16(self.0, _mm256_setzero_si256())))
    }
    #[inline(always)]
    fn lookup(self, table: &[u16; 16]) -> Self {
        simd!({
            // From entries to a table of lower and one of upper bytes.
            let (first, rest) =
                (_mm_loadu_si128(table.as_ptr().cast()), _mm_loadu_si128(table[8..].as_ptr().cast()));
            let byte = _mm_set1_epi16(255);
            let low = _mm_packus_epi16(_mm_and_si128(first, byte), _mm_and_si128(rest, byte));
            let high = _mm_packus_epi16(_mm_srli_epi16::<8>(first), _mm_srli_epi16::<8>(rest));
            let low = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(low), self.0);
            let high = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(high), self.0);
            Self(_mm256_or_si256(_mm256_and_si256(low, _mm256_set1_epi16(255)), _mm256_slli_epi16::<8>(high)))
        })
    }
    #[inline(always)]
    fn min_bytes(self, other: Self) -> Self {
        Self(simd!(_mm256_min_epu8(self.0, other.0)))
    }
    #[inline(always)]
    fn add_bytes_where(self, of: Self, bits: Self, more: Self) -> Self {
        simd!({
            let none = _mm256_cmpeq_epi8(_mm256_and_si256(of.0, bits.0), _mm256_setzero_si256());
            Self(_mm256_add_epi8(self.0, _mm256_andnot_si256(none, more.0)))
        })
    }
    #[inline(always)]
    fn add_bytes(self, other: Self) -> Self {
        Self(simd!(_mm256_add_epi8(self.0, other.0)))
    }
    #[inline(always)]
    fn sub_bytes(self, other: Self) -> Self {
        Self(simd!(_mm256_sub_epi8(self.0, other.0)))
    }
    #[inline(always)]
    fn single(self) -> Self {
        simd!({
            let rest = _mm256_add_epi16(self.0, _mm256_set1_epi16(-1));
            let lone = _mm256_cmpeq_epi16(_mm256_and_si256(self.0, rest), _mm256_setzero_si256());
            Self(_mm256_and_si256(self.0, lone))
        })
    }
    #[inline(always)]
    fn settle(self, wanted: Self, unwanted: Self) -> Self {
        simd!({
            let rest = _mm256_andnot_si256(unwanted.0, self.0);
            let none = _mm256_cmpeq_epi16(_mm256_and_si256(rest, wanted.0), _mm256_setzero_si256());
            Self(_mm256_and_si256(rest, _mm256_or_si256(wanted.0, none)))
        })
    }
    #[inline(always)]
    fn equal(self, other: Self) -> u32 {
        simd!({
            let equal = _mm256_cmpeq_epi16(self.0, other.0);
            let bytes = _mm_packs_epi16(_mm256_castsi256_si128(equal), _mm256_extracti128_si256::<1>(equal));
            _mm_movemask_epi8(bytes).cast_unsigned()
        })
    }
    #[inline(always)]
    fn count_ones(self) -> Self {
        simd!({
            let nibble = _mm256_set1_epi8(15);
            let ones = _mm256_broadcastsi128_si256(table(&NIBBLE_ONES));
            let low = _mm256_shuffle_epi8(ones, _mm256_and_si256(self.0, nibble));
            let high = _mm256_shuffle_epi8(ones, _mm256_and_si256(_mm256_srli_epi16::<4>(self.0), nibble));
            Self(_mm256_maddubs_epi16(_mm256_add_epi8(low, high), _mm256_set1_epi8(1)))
        })
    }
    #[inline(always)]
    fn mask(bits: u32) -> __m256i {
        simd!({
            let bit = _mm256_setr_epi16(
                1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, -32768,
            );
            _mm256_cmpeq_epi16(_mm256_and_si256(_mm256_set1_epi16(bits as i16), bit), bit)
        })
    }
    #[inline(always)]
    fn blend(self, mask: __m256i, other: Self) -> Self {
        Self(simd!(_mm256_blendv_epi8(self.0, other.0, mask)))
    }
    #[inline(always)]
    fn moves(to: u32, from: &[u8; 32]) -> (__m256i, __m256i, __m256i) {
        simd!({
            // From lane numbers to pairs of byte numbers; bit 4 of those tells the halves apart.
            let lanes = _mm256_cvtepu8_epi16(_mm_loadu_si128(from.as_ptr().cast()));
            let low = _mm256_add_epi16(lanes, lanes);
            let high = _mm256_slli_epi16::<8>(_mm256_add_epi16(low, _mm256_set1_epi16(1)));
            let bytes = _mm256_or_si256(low, high);
            let half = _mm256_setr_epi64x(0, 0, 0x1010_1010_1010_1010, 0x1010_1010_1010_1010);
            let across = _mm256_cmpeq_epi8(
                _mm256_and_si256(_mm256_xor_si256(bytes, half), _mm256_set1_epi8(16)),
                _mm256_set1_epi8(16),
            );
            // A byte number with its highest bit set gives 0.
            let none = _mm256_set1_epi8(-128);
            let to = Self::mask(to);
            let own = _mm256_blendv_epi8(none, bytes, _mm256_andnot_si256(across, to));
            let other = _mm256_blendv_epi8(none, bytes, _mm256_and_si256(across, to));
            (to, own, other)
        })
    }
    #[inline(always)]
    fn take(self, other: Self, (to, own, across): (__m256i, __m256i, __m256i)) -> Self {
        simd!({
            let swapped = _mm256_permute4x64_epi64::<0x4E>(other.0);
            let moved =
                _mm256_or_si256(_mm256_shuffle_epi8(other.0, own), _mm256_shuffle_epi8(swapped, across));
            Self(_mm256_or_si256(_mm256_andnot_si256(to, self.0), moved))
        })
    }
    #[inline(always)]
    fn from_values(values: &[u8; 32]) -> Self {
        simd!({
            let values = _mm256_cvtepu8_epi16(_mm_loadu_si128(values.as_ptr().cast()));
            let low = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table(&LOW_CANDIDATES)), values);
            let nine = _mm256_cmpeq_epi16(values, _mm256_set1_epi16(9));
            let blank = _mm256_cmpeq_epi16(values, _mm256_setzero_si256());
            let high = _mm256_and_si256(_mm256_or_si256(nine, blank), _mm256_set1_epi16(256));
            Self(_mm256_or_si256(_mm256_and_si256(low, _mm256_set1_epi16(255)), high))
        })
    }
    #[inline(always)]
    fn to_values(self, values: &mut [u8; 32]) {
        simd!({
            let hash = _mm256_srli_epi16::<12>(_mm256_mullo_epi16(self.0, _mm256_set1_epi16(DE_BRUIJN)));
            let found = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table(&HASHED_VALUES)), hash);
            let found = _mm256_and_si256(found, _mm256_set1_epi16(255));
            let bytes = _mm_packus_epi16(_mm256_castsi256_si128(found), _mm256_extracti128_si256::<1>(found));
            _mm_storeu_si128(values.as_mut_ptr().cast(), bytes);
        })
    }
    views!(16);
    transposition!(__m128i, lower_bytes, _mm_storeu_si128, _mm_unpacklo_epi8, _mm_unpackhi_epi8);
}

/// 8 lanes: SSE4.1.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Sse41(__m128i);

impl Lanes for Sse41 {
    const COUNT: usize = 8;
    type Mask = __m128i;
    type Moves = (__m128i, __m128i);

    #[inline(always)]
    fn splat(value: u16) -> Self {
        Self(simd!(_mm_set1_epi16(value.cast_signed())))
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self(simd!(_mm_and_si128(self.0, other.0)))
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        Self(simd!(_mm_or_si128(self.0, other.0)))
    }
    #[inline(always)]
    fn and_not(self, other: Self) -> Self {
        Self(simd!(_mm_andnot_si128(other.0, self.0)))
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(simd!(_mm_add_epi16(self.0, other.0)))
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self(simd!(_mm_min_epu16(self.0, other.0)))
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self(simd!(_mm_max_epu16(self.0, other.0)))
    }
    #[inline(always)]
    fn shift_left<const BITS: u32>(self) -> Self {
        Self(simd!(_mm_sll_epi16(self.0, _mm_cvtsi32_si128(BITS.cast_signed()))))
    }
    #[inline(always)]
    fn sum_bytes(self) -> Self {
        Self(simd!(_mm_maddubs_epi16(self.0, _mm_set1_epi8(1))))
    }
    #[inline(always)]
    fn is_zero(self) -> Self {
        Self(simd!(_mm_cmpeq_epi16(self.0, _mm_setzero_si128())))
    }
    #[inline(always)]
    fn lookup(self, table: &[u16; 16]) -> Self {
        simd!({
            // From entries to a table of lower and one of upper bytes.
            let (first, rest) =
                (_mm_loadu_si128(table.as_ptr().cast()), _mm_loadu_si128(table[8..].as_ptr().cast()));
            let byte = _mm_set1_epi16(255);
            let low = _mm_packus_epi16(_mm_and_si128(first, byte), _mm_and_si128(rest, byte));
            let high = _mm_packus_epi16(_mm_srli_epi16::<8>(first), _mm_srli_epi16::<8>(rest));
            let low = _mm_shuffle_epi8(low, self.0);
            let high = _mm_shuffle_epi8(high, self.0);
            Self(_mm_or_si128(_mm_and_si128(low, _mm_set1_epi16(255)), _mm_slli_epi16::<8>(high)))
        })
    }
    #[inline(always)]
    fn min_bytes(self, other: Self) -> Self {
        Self(simd!(_mm_min_epu8(self.0, other.0)))
    }
    #[inline(always)]
    fn add_bytes_where(self, of: Self, bits: Self, more: Self) -> Self {
        simd!({
            let none = _mm_cmpeq_epi8(_mm_and_si128(of.0, bits.0), _mm_setzero_si128());
            Self(_mm_add_epi8(self.0, _mm_andnot_si128(none, more.0)))
        })
    }
    #[inline(always)]
    fn add_bytes(self, other: Self) -> Self {
        Self(simd!(_mm_add_epi8(self.0, other.0)))
    }
    #[inline(always)]
    fn sub_bytes(self, other: Self) -> Self {
        Self(simd!(_mm_sub_epi8(self.0, other.0)))
    }
    #[inline(always)]
    fn single(self) -> Self {
        simd!({
            let rest = _mm_add_epi16(self.0, _mm_set1_epi16(-1));
            let lone = _mm_cmpeq_epi16(_mm_and_si128(self.0, rest), _mm_setzero_si128());
            Self(_mm_and_si128(self.0, lone))
        })
    }
    #[inline(always)]
    fn settle(self, wanted: Self, unwanted: Self) -> Self {
        simd!({
            let rest = _mm_andnot_si128(unwanted.0, self.0);
            let none = _mm_cmpeq_epi16(_mm_and_si128(rest, wanted.0), _mm_setzero_si128());
            Self(_mm_and_si128(rest, _mm_or_si128(wanted.0, none)))
        })
    }
    #[inline(always)]
    fn equal(self, other: Self) -> u32 {
        simd!({
            let equal = _mm_cmpeq_epi16(self.0, other.0);
            _mm_movemask_epi8(_mm_packs_epi16(equal, _mm_setzero_si128())).cast_unsigned()
        })
    }
    #[inline(always)]
    fn count_ones(self) -> Self {
        simd!({
            let (nibble, ones) = (_mm_set1_epi8(15), table(&NIBBLE_ONES));
            let low = _mm_shuffle_epi8(ones, _mm_and_si128(self.0, nibble));
            let high = _mm_shuffle_epi8(ones, _mm_and_si128(_mm_srli_epi16::<4>(self.0), nibble));
            Self(_mm_maddubs_epi16(_mm_add_epi8(low, high), _mm_set1_epi8(1)))
        })
    }
    #[inline(always)]
    fn mask(bits: u32) -> __m128i {
        simd!({
            let bit = _mm_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128);
            _mm_cmpeq_epi16(_mm_and_si128(_mm_set1_epi16(bits as i16), bit), bit)
        })
    }
    #[inline(always)]
    fn blend(self, mask: __m128i, other: Self) -> Self {
        Self(simd!(_mm_blendv_epi8(self.0, other.0, mask)))
    }
    #[inline(always)]
    fn moves(to: u32, from: &[u8; 32]) -> (__m128i, __m128i) {
        simd!({
            let lanes = _mm_cvtepu8_epi16(_mm_loadl_epi64(from.as_ptr().cast()));
            let low = _mm_add_epi16(lanes, lanes);
            let bytes = _mm_or_si128(low, _mm_slli_epi16::<8>(_mm_add_epi16(low, _mm_set1_epi16(1))));
            // A byte number with its highest bit set gives 0.
            let to = Self::mask(to);
            (to, _mm_blendv_epi8(_mm_set1_epi8(-128), bytes, to))
        })
    }
    #[inline(always)]
    fn take(self, other: Self, (to, from): (__m128i, __m128i)) -> Self {
        simd!(Self(_mm_or_si128(_mm_andnot_si128(to, self.0), _mm_shuffle_epi8(other.0, from))))
    }
    #[inline(always)]
    fn from_values(values: &[u8; 32]) -> Self {
        simd!({
            let values = _mm_cvtepu8_epi16(_mm_loadl_epi64(values.as_ptr().cast()));
            let low = _mm_and_si128(_mm_shuffle_epi8(table(&LOW_CANDIDATES), values), _mm_set1_epi16(255));
            let nine = _mm_cmpeq_epi16(values, _mm_set1_epi16(9));
            let blank = _mm_cmpeq_epi16(values, _mm_setzero_si128());
            Self(_mm_or_si128(low, _mm_and_si128(_mm_or_si128(nine, blank), _mm_set1_epi16(256))))
        })
    }
    #[inline(always)]
    fn to_values(self, values: &mut [u8; 32]) {
        simd!({
            let hash = _mm_srli_epi16::<12>(_mm_mullo_epi16(self.0, _mm_set1_epi16(DE_BRUIJN)));
            let found = _mm_and_si128(_mm_shuffle_epi8(table(&HASHED_VALUES), hash), _mm_set1_epi16(255));
            _mm_storel_epi64(values.as_mut_ptr().cast(), _mm_packus_epi16(found, found));
        })
    }
    views!(8);
    transposition!(__m128i, lower_bytes, _mm_storeu_si128, _mm_unpacklo_epi8, _mm_unpackhi_epi8);
}

/// Rows for columns: three steps of interleaving. SSE2 belongs to the baseline of x86-64.
#[inline(always)]
pub(super) fn transposed_words(words: &[[u16; 8]; 8]) -> [[u16; 8]; 8] {
    let mut now = [simd!(_mm_setzero_si128()); 8];
    for (to, from) in now.iter_mut().zip(words) {
        *to = simd!(_mm_loadu_si128(from.as_ptr().cast()));
    }
    for _ in 0..3 {
        let before = now;
        for i in 0..4 {
            now[2 * i] = simd!(_mm_unpacklo_epi16(before[i], before[i + 4]));
            now[2 * i + 1] = simd!(_mm_unpackhi_epi16(before[i], before[i + 4]));
        }
    }
    let mut out = [[0; 8]; 8];
    for (to, from) in out.iter_mut().zip(now) {
        simd!(_mm_storeu_si128(to.as_mut_ptr().cast(), from));
    }
    out
}
