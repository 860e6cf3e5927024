//! The vectors of 64-bit ARM. NEON belongs to its baseline. What a sweep does often is an instruction each; the rest
//! goes through arrays.

#![allow(unsafe_code, reason = "vector instructions are unsafe to call")]
#![allow(unused_unsafe, reason = "newer compilers know that NEON is always there")]

use core::arch::aarch64::*;

use super::vector::{Lanes, Plain};

/// 8 lanes.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Neon(uint16x8_t);

macro_rules! simd {
    ($body:expr) => {
        // SAFETY: every aarch64 processor that Rust's standard targets run on has NEON, and no pointer is involved.
        unsafe { $body }
    };
}

impl Neon {
    #[inline(always)]
    fn plain(self) -> Plain<8> {
        // SAFETY: both are eight u16 without padding.
        Plain(unsafe { core::mem::transmute::<uint16x8_t, [u16; 8]>(self.0) })
    }

    #[inline(always)]
    fn from_plain(plain: Plain<8>) -> Self {
        // SAFETY: both are eight u16 without padding.
        Self(unsafe { core::mem::transmute::<[u16; 8], uint16x8_t>(plain.0) })
    }

    #[inline(always)]
    fn bytes(self) -> uint8x16_t {
        simd!(vreinterpretq_u8_u16(self.0))
    }

    #[inline(always)]
    fn from_bytes(bytes: uint8x16_t) -> Self {
        Self(simd!(vreinterpretq_u16_u8(bytes)))
    }
}

impl Lanes for Neon {
    const COUNT: usize = 8;
    type Mask = uint16x8_t;
    type Moves = <Plain<8> as Lanes>::Moves;

    #[inline(always)]
    fn splat(value: u16) -> Self {
        Self(simd!(vdupq_n_u16(value)))
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self(simd!(vandq_u16(self.0, other.0)))
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        Self(simd!(vorrq_u16(self.0, other.0)))
    }
    #[inline(always)]
    fn and_not(self, other: Self) -> Self {
        Self(simd!(vbicq_u16(self.0, other.0)))
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(simd!(vaddq_u16(self.0, other.0)))
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self(simd!(vminq_u16(self.0, other.0)))
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self(simd!(vmaxq_u16(self.0, other.0)))
    }
    #[inline(always)]
    fn shift_left<const BITS: u32>(self) -> Self {
        Self(simd!(vshlq_u16(self.0, vdupq_n_s16(BITS as i16))))
    }
    #[inline(always)]
    fn sum_bytes(self) -> Self {
        Self(simd!(vpaddlq_u8(self.bytes())))
    }
    #[inline(always)]
    fn is_zero(self) -> Self {
        Self(simd!(vceqq_u16(self.0, vdupq_n_u16(0))))
    }
    #[inline(always)]
    fn lookup(self, table: &[u16; 16]) -> Self {
        Self::from_plain(self.plain().lookup(table))
    }
    #[inline(always)]
    fn min_bytes(self, other: Self) -> Self {
        Self::from_bytes(simd!(vminq_u8(self.bytes(), other.bytes())))
    }
    #[inline(always)]
    fn add_bytes_where(self, of: Self, bits: Self, more: Self) -> Self {
        simd!({
            let common = vtstq_u8(of.bytes(), bits.bytes());
            Self::from_bytes(vaddq_u8(self.bytes(), vandq_u8(common, more.bytes())))
        })
    }
    #[inline(always)]
    fn add_bytes(self, other: Self) -> Self {
        Self::from_bytes(simd!(vaddq_u8(self.bytes(), other.bytes())))
    }
    #[inline(always)]
    fn sub_bytes(self, other: Self) -> Self {
        Self::from_bytes(simd!(vsubq_u8(self.bytes(), other.bytes())))
    }
    #[inline(always)]
    fn single(self) -> Self {
        simd!({
            let more = vtstq_u16(self.0, vsubq_u16(self.0, vdupq_n_u16(1)));
            Self(vbicq_u16(self.0, more))
        })
    }
    #[inline(always)]
    fn settle(self, wanted: Self, unwanted: Self) -> Self {
        simd!({
            let rest = vbicq_u16(self.0, unwanted.0);
            let none = vceqzq_u16(vandq_u16(rest, wanted.0));
            Self(vandq_u16(rest, vorrq_u16(wanted.0, none)))
        })
    }
    #[inline(always)]
    fn equal(self, other: Self) -> u32 {
        Self(simd!(vceqq_u16(self.0, other.0))).plain().equal(Plain([u16::MAX; 8]))
    }
    #[inline(always)]
    fn count_ones(self) -> Self {
        Self(simd!(vpaddlq_u8(vcntq_u8(self.bytes()))))
    }
    #[inline(always)]
    fn mask(bits: u32) -> uint16x8_t {
        Self::from_plain(Plain::<8>::mask(bits)).0
    }
    #[inline(always)]
    fn blend(self, mask: uint16x8_t, other: Self) -> Self {
        Self(simd!(vbslq_u16(mask, other.0, self.0)))
    }
    #[inline(always)]
    fn moves(to: u32, from: &[u8; 32]) -> Self::Moves {
        Plain::<8>::moves(to, from)
    }
    #[inline(always)]
    fn take(self, other: Self, moves: Self::Moves) -> Self {
        Self::from_plain(self.plain().take(other.plain(), moves))
    }
    #[inline(always)]
    fn from_values(values: &[u8; 32]) -> Self {
        Self::from_plain(Plain::<8>::from_values(values))
    }
    #[inline(always)]
    fn to_values(self, values: &mut [u8; 32]) {
        self.plain().to_values(values);
    }
    #[inline(always)]
    fn transposed(lower: &[&[u8; 16]; 16], upper: &[&[u8; 16]; 16]) -> [[u8; 32]; 16] {
        Plain::<8>::transposed(lower, upper)
    }
    #[inline(always)]
    fn lanes(&self) -> &[u16] {
        // SAFETY: a vector is eight u16 side by side, has no padding, and every bit pattern is a u16.
        unsafe { core::slice::from_raw_parts((&raw const *self).cast(), 8) }
    }
    #[inline(always)]
    fn lanes_mut(&mut self) -> &mut [u16] {
        // SAFETY: as above; and the borrow of `self` makes this the only way to the vector.
        unsafe { core::slice::from_raw_parts_mut((&raw mut *self).cast(), 8) }
    }
}
