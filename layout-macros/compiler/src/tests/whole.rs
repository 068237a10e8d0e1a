//! The elementwise functions of integers against their stubs.

use crate::math::Math;
use layout_core::lang::*;

/// Whether the word has its stub here.
pub(super) fn stub(word: Math, n: u32, i: i32) -> bool {
    fn exists<T>(_: impl Fn() -> T) -> bool {
        true
    }
    match word {
        Math::CountOnes => exists(|| n.count_ones()),
        Math::WrappingAbs => exists(|| i.wrapping_abs()),
        Math::LeadingZeros => exists(|| n.leading_zeros()),
        Math::TrailingZeros => exists(|| n.trailing_zeros()),
        Math::RotateLeft => exists(|| n.rotate_left(n)),
        Math::RotateRight => exists(|| n.rotate_right(n)),
        Math::ReverseBits => exists(|| n.reverse_bits()),
        Math::SwapBytes => exists(|| n.swap_bytes()),
        Math::Pow => exists(|| n.pow(n)),
        Math::Ilog2 => exists(|| n.ilog2()),
        Math::IsPowerOfTwo => exists(|| n.is_power_of_two()),
        Math::AbsDiff => exists(|| n.abs_diff(n)),
        Math::SaturatingAdd => exists(|| n.saturating_add(n)),
        Math::SaturatingSub => exists(|| n.saturating_sub(n)),
        Math::SaturatingMul => exists(|| n.saturating_mul(n)),
        Math::BytePerm => exists(|| byte_perm(n, n, n)),
        Math::FunnelShiftLeft => exists(|| funnel_shift_left(n, n, n)),
        Math::FunnelShiftRight => exists(|| funnel_shift_right(n, n, n)),
        Math::Dot4 => exists(|| (dot4(n, n, n), dot4(i, i, i))),
        Math::MinU8x4 => exists(|| min_u8x4(n, n)),
        Math::MinI8x4 => exists(|| min_i8x4(n, n)),
        Math::MinU16x2 => exists(|| min_u16x2(n, n)),
        Math::MinI16x2 => exists(|| min_i16x2(n, n)),
        Math::MaxU8x4 => exists(|| max_u8x4(n, n)),
        Math::MaxI8x4 => exists(|| max_i8x4(n, n)),
        Math::MaxU16x2 => exists(|| max_u16x2(n, n)),
        Math::MaxI16x2 => exists(|| max_i16x2(n, n)),
        Math::AddU8x4 => exists(|| add_u8x4(n, n)),
        Math::AddU16x2 => exists(|| add_u16x2(n, n)),
        Math::SubU8x4 => exists(|| sub_u8x4(n, n)),
        Math::SubU16x2 => exists(|| sub_u16x2(n, n)),
        Math::GtU8x4 => exists(|| gt_u8x4(n, n)),
        Math::GtI8x4 => exists(|| gt_i8x4(n, n)),
        Math::GtU16x2 => exists(|| gt_u16x2(n, n)),
        Math::GtI16x2 => exists(|| gt_i16x2(n, n)),
        Math::EqU8x4 => exists(|| eq_u8x4(n, n)),
        Math::EqU16x2 => exists(|| eq_u16x2(n, n)),
        _ => false,
    }
}
