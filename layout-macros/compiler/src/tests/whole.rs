//! The elementwise functions of integers against their stubs.

use crate::math::Math;
use layout_core::lang::*;

/// Whether the word has its stub here.
pub(super) fn stub(word: Math, n: u32, i: i32) -> bool {
    fn stands<T>(_: impl Fn() -> T) -> bool {
        true
    }
    match word {
        Math::CountOnes => stands(|| n.count_ones()),
        Math::WrappingAbs => stands(|| i.wrapping_abs()),
        Math::LeadingZeros => stands(|| n.leading_zeros()),
        Math::TrailingZeros => stands(|| n.trailing_zeros()),
        Math::RotateLeft => stands(|| n.rotate_left(n)),
        Math::RotateRight => stands(|| n.rotate_right(n)),
        Math::ReverseBits => stands(|| n.reverse_bits()),
        Math::SwapBytes => stands(|| n.swap_bytes()),
        Math::Pow => stands(|| n.pow(n)),
        Math::Ilog2 => stands(|| n.ilog2()),
        Math::IsPowerOfTwo => stands(|| n.is_power_of_two()),
        Math::AbsDiff => stands(|| n.abs_diff(n)),
        Math::SaturatingAdd => stands(|| n.saturating_add(n)),
        Math::SaturatingSub => stands(|| n.saturating_sub(n)),
        Math::SaturatingMul => stands(|| n.saturating_mul(n)),
        Math::BytePerm => stands(|| byte_perm(n, n, n)),
        Math::FunnelShiftLeft => stands(|| funnel_shift_left(n, n, n)),
        Math::FunnelShiftRight => stands(|| funnel_shift_right(n, n, n)),
        Math::Dot4 => stands(|| (dot4(n, n, n), dot4(i, i, i))),
        Math::MinU8x4 => stands(|| min_u8x4(n, n)),
        Math::MinI8x4 => stands(|| min_i8x4(n, n)),
        Math::MinU16x2 => stands(|| min_u16x2(n, n)),
        Math::MinI16x2 => stands(|| min_i16x2(n, n)),
        Math::MaxU8x4 => stands(|| max_u8x4(n, n)),
        Math::MaxI8x4 => stands(|| max_i8x4(n, n)),
        Math::MaxU16x2 => stands(|| max_u16x2(n, n)),
        Math::MaxI16x2 => stands(|| max_i16x2(n, n)),
        Math::AddU8x4 => stands(|| add_u8x4(n, n)),
        Math::AddU16x2 => stands(|| add_u16x2(n, n)),
        Math::SubU8x4 => stands(|| sub_u8x4(n, n)),
        Math::SubU16x2 => stands(|| sub_u16x2(n, n)),
        Math::GtU8x4 => stands(|| gt_u8x4(n, n)),
        Math::GtI8x4 => stands(|| gt_i8x4(n, n)),
        Math::GtU16x2 => stands(|| gt_u16x2(n, n)),
        Math::GtI16x2 => stands(|| gt_i16x2(n, n)),
        Math::EqU8x4 => stands(|| eq_u8x4(n, n)),
        Math::EqU16x2 => stands(|| eq_u16x2(n, n)),
        _ => false,
    }
}
