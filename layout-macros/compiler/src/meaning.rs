//! The meaning of the elementwise words, as functions of Rust. The simulator and compile-time evaluation use it.
//!
//! Law: each word of the table has a meaning for each type that it applies to, and for no other. A function of floats
//! is that of Rust's standard library, with these exceptions: `min` and `max` follow PTX (-0 is below 0; of a NaN and
//! a number the result is the number); `powi` is a product of squares in the same order everywhere; the
//! approximations flush subnormal numbers to zero and are exact otherwise. Floats of 16 and 8 bits are computed as
//! `f32`; the caller rounds.

use super::elem::Elem;
use super::math::Math;
use std::f64::consts::FRAC_2_SQRT_PI;

/// The functions of one float type.
pub trait Float: Copy + PartialOrd {
    /// `function(a, b, c)` of a word whose result is of the operands' type; `n` is the exponent of `powi`.
    fn apply(function: Math, a: Self, b: Self, c: Self, n: i32) -> Option<Self>;
    /// A word whose result is a truth value.
    fn test(function: Math, a: Self) -> bool;
    /// The smaller, as PTX's `min`.
    fn smaller(a: Self, b: Self) -> Self;
    /// The larger, as PTX's `max`.
    fn larger(a: Self, b: Self) -> Self;
}

/// The error function, within 2 ulp: Rust's library has none. Its Taylor series below 1, above it the continued fraction of
/// the complement.
pub fn erf(x: f64) -> f64 {
    let a = x.abs();
    if a < 1.0 {
        // (-1)ⁿ x²ⁿ⁺¹ / n!; what is behind the 21st term is below half an ulp. The smallest are added first.
        let mut power = x;
        let terms: [f64; 21] = std::array::from_fn(|n| {
            power *= if n == 0 { 1.0 } else { -x * x / n as f64 };
            power / (2 * n + 1) as f64
        });
        return (FRAC_2_SQRT_PI * terms.iter().rev().sum::<f64>()).copysign(x);
    }
    match a < 6.0 {
        true => {
            let fraction = (1..=240).rev().fold(a, |rest, k| a + 0.5 * f64::from(k) / rest);
            (1.0 - 0.5 * FRAC_2_SQRT_PI * (-a * a).exp() / fraction).copysign(x)
        }
        false if x.is_nan() => x,
        false => 1f64.copysign(x),
    }
}

macro_rules! float {
    ($float:ident) => {
        impl Float for $float {
            fn smaller(a: $float, b: $float) -> $float {
                if a < b || (a == b && a.is_sign_negative()) || b.is_nan() { a } else { b }
            }

            fn larger(a: $float, b: $float) -> $float {
                if a > b || (a == b && a.is_sign_positive()) || b.is_nan() { a } else { b }
            }

            fn apply(function: Math, a: $float, b: $float, c: $float, n: i32) -> Option<$float> {
                Some(match function {
                    Math::Min => Self::smaller(a, b),
                    Math::Max => Self::larger(a, b),
                    // Not Rust's own, which panics where the bounds are in the wrong order.
                    Math::Clamp if a < b => b,
                    Math::Clamp if a > c => c,
                    Math::Clamp | Math::FromBits => a,
                    Math::Abs => a.abs(),
                    Math::Signum => a.signum(),
                    Math::Copysign => a.copysign(b),
                    Math::MulAdd => a.mul_add(b, c),
                    Math::Floor => a.floor(),
                    Math::Ceil => a.ceil(),
                    Math::Round => a.round(),
                    Math::RoundTiesEven => a.round_ties_even(),
                    Math::Trunc => a.trunc(),
                    Math::Fract => a.fract(),
                    Math::Sqrt => a.sqrt(),
                    Math::Rsqrt => (1.0 / f64::from(a).sqrt()) as $float,
                    Math::Recip => a.recip(),
                    Math::Cbrt => a.cbrt(),
                    // Of a signalling NaN, which a 16-bit float may be, the host's functions make a NaN; CUDA's make a number.
                    Math::Hypot if a.is_infinite() || b.is_infinite() => $float::INFINITY,
                    Math::Hypot => a.hypot(b),
                    Math::Exp => a.exp(),
                    Math::Exp2 => a.exp2(),
                    Math::ExpM1 => a.exp_m1(),
                    Math::Ln => a.ln(),
                    Math::Ln1p => a.ln_1p(),
                    Math::Log2 => a.log2(),
                    Math::Log10 => a.log10(),
                    Math::Powf if b == 0.0 || a == 1.0 => 1.0,
                    Math::Powf => a.powf(b),
                    Math::Powi => {
                        let (mut result, mut square, mut left) = (1.0, a, n.unsigned_abs());
                        while left != 0 {
                            if left % 2 == 1 {
                                result *= square;
                            }
                            left /= 2;
                            square *= square;
                        }
                        if n < 0 { 1.0 / result } else { result }
                    }
                    Math::Sin => a.sin(),
                    Math::Cos => a.cos(),
                    Math::Tan => a.tan(),
                    Math::Asin => a.asin(),
                    Math::Acos => a.acos(),
                    Math::Atan => a.atan(),
                    Math::Atan2 => a.atan2(b),
                    Math::Sinh => a.sinh(),
                    Math::Cosh => a.cosh(),
                    Math::Tanh => a.tanh(),
                    Math::Erf => erf(f64::from(a)) as $float,
                    Math::Exp2Approx => flushed(flushed(a as f32).exp2()) as $float,
                    Math::Log2Approx => flushed(flushed(a as f32).log2()) as $float,
                    Math::SinApprox => flushed(flushed(a as f32).sin()) as $float,
                    Math::CosApprox => flushed(flushed(a as f32).cos()) as $float,
                    Math::TanhApprox => (a as f32).tanh() as $float,
                    Math::RsqrtApprox => {
                        flushed((1.0 / f64::from(flushed(a as f32)).sqrt()) as f32) as $float
                    }
                    Math::SqrtApprox => flushed(flushed(a as f32).sqrt()) as $float,
                    Math::RecipApprox => flushed(flushed(a as f32).recip()) as $float,
                    Math::DivApprox => flushed(flushed(a as f32) / flushed(b as f32)) as $float,
                    Math::RoundTf32 => round_tf32(a as f32) as $float,
                    // Of integers, or with a result of another type.
                    _ => return None,
                })
            }

            fn test(function: Math, a: $float) -> bool {
                match function {
                    Math::IsFinite => a.is_finite(),
                    Math::IsInfinite => a.is_infinite(),
                    _ => a.is_nan(),
                }
            }
        }
    };
}

float!(f32);
float!(f64);

/// A subnormal number as zero, with its sign.
fn flushed(value: f32) -> f32 {
    if value.is_subnormal() { 0f32.copysign(value) } else { value }
}

/// The nearest `f32` with 10 bits of fraction, ties to even.
pub fn round_tf32(value: f32) -> f32 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0xfff + (bits >> 13 & 1));
    if value.is_nan() { value } else { f32::from_bits(rounded & !0x1fff) }
}

/// A word of integers of a type, each sign- or zero-extended to 64 bits, and so is the result; truth values are 0 and 1.
pub fn integer(function: Math, elem: Elem, [a, b, c]: [i64; 3]) -> Option<i64> {
    macro_rules! typed {
        ($ty:ident) => {{
            let (x, y, z) = (a as $ty, b as $ty, c as $ty);
            let n = b as u32;
            Some(match function {
                Math::Min => x.min(y) as i64,
                Math::Max => x.max(y) as i64,
                Math::Clamp => (if x < y { y } else { x.min(z) }) as i64,
                Math::Abs | Math::WrappingAbs => elem.wrap(a.wrapping_abs()),
                Math::Signum => i64::from(x > 0) - i64::from(a < 0),
                Math::MulAdd => x.wrapping_mul(y).wrapping_add(z) as i64,
                Math::CountOnes => x.count_ones().into(),
                Math::LeadingZeros => x.leading_zeros().into(),
                Math::TrailingZeros => x.trailing_zeros().into(),
                Math::RotateLeft => x.rotate_left(n) as i64,
                Math::RotateRight => x.rotate_right(n) as i64,
                Math::ReverseBits => x.reverse_bits() as i64,
                Math::SwapBytes => x.swap_bytes() as i64,
                Math::Pow => x.wrapping_pow(n) as i64,
                Math::Ilog2 => ($ty::BITS - 1).wrapping_sub(x.leading_zeros()).into(),
                Math::IsPowerOfTwo => i64::from(x.count_ones() == 1),
                Math::AbsDiff => x.abs_diff(y) as i64,
                Math::SaturatingAdd => x.saturating_add(y) as i64,
                Math::SaturatingSub => x.saturating_sub(y) as i64,
                Math::SaturatingMul => x.saturating_mul(y) as i64,
                Math::BytePerm => {
                    let bytes = (b as u32 as u64) << 32 | a as u32 as u64;
                    let byte = |place: u32| {
                        // Of each digit CUDA reads three bits.
                        let digit = c as u32 >> (4 * place) & 7;
                        (bytes >> (8 * digit) & 0xff) << (8 * place)
                    };
                    (byte(0) | byte(1) | byte(2) | byte(3)) as i64
                }
                Math::FunnelShiftLeft => {
                    let bits = (a as u32 as u64) << 32 | b as u32 as u64;
                    (bits << (c as u32 & 31) >> 32) as i64
                }
                Math::FunnelShiftRight => {
                    let bits = (a as u32 as u64) << 32 | b as u32 as u64;
                    i64::from((bits >> (c as u32 & 31)) as u32)
                }
                Math::Dot4 => {
                    let byte = |value: i64, place: u32| {
                        let byte = (value >> (8 * place)) as u8;
                        if elem == Elem::I32 { i64::from(byte as i8) } else { i64::from(byte) }
                    };
                    let sum = (0..4).map(|place| byte(a, place) * byte(b, place)).sum::<i64>();
                    elem.wrap(sum.wrapping_add(c))
                }
                // Of packed words, and of floats.
                _ => packed(function, a as u32, b as u32)?.into(),
            })
        }};
    }
    match elem {
        Elem::I64 => typed!(i64),
        Elem::I32 => typed!(i32),
        Elem::I16 => typed!(i16),
        Elem::I8 => typed!(i8),
        Elem::U32 => typed!(u32),
        Elem::U16 => typed!(u16),
        Elem::U8 => typed!(u8),
        // A `u64`, and what is no integer.
        _ => typed!(u64),
    }
}

/// A word of each two bytes, or 16-bit halves, of two words.
fn packed(function: Math, a: u32, b: u32) -> Option<u32> {
    macro_rules! lanes {
        ($ty:ident, |$x:ident, $y:ident| $value:expr) => {{
            let lanes = (0..u32::BITS).step_by($ty::BITS as usize).map(|at| {
                let ($x, $y) = ((a >> at) as $ty, (b >> at) as $ty);
                ($value as u32 & u32::MAX >> (u32::BITS - $ty::BITS)) << at
            });
            Some(lanes.sum())
        }};
    }
    match function {
        Math::MinU8x4 => lanes!(u8, |x, y| x.min(y)),
        Math::MinI8x4 => lanes!(i8, |x, y| x.min(y)),
        Math::MinU16x2 => lanes!(u16, |x, y| x.min(y)),
        Math::MinI16x2 => lanes!(i16, |x, y| x.min(y)),
        Math::MaxU8x4 => lanes!(u8, |x, y| x.max(y)),
        Math::MaxI8x4 => lanes!(i8, |x, y| x.max(y)),
        Math::MaxU16x2 => lanes!(u16, |x, y| x.max(y)),
        Math::MaxI16x2 => lanes!(i16, |x, y| x.max(y)),
        Math::AddU8x4 => lanes!(u8, |x, y| x.wrapping_add(y)),
        Math::AddU16x2 => lanes!(u16, |x, y| x.wrapping_add(y)),
        Math::SubU8x4 => lanes!(u8, |x, y| x.wrapping_sub(y)),
        Math::SubU16x2 => lanes!(u16, |x, y| x.wrapping_sub(y)),
        Math::GtU8x4 => lanes!(u8, |x, y| -i32::from(x > y)),
        Math::GtI8x4 => lanes!(i8, |x, y| -i32::from(x > y)),
        Math::GtU16x2 => lanes!(u16, |x, y| -i32::from(x > y)),
        Math::GtI16x2 => lanes!(i16, |x, y| -i32::from(x > y)),
        Math::EqU8x4 => lanes!(u8, |x, y| -i32::from(x == y)),
        Math::EqU16x2 => lanes!(u16, |x, y| -i32::from(x == y)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Float, erf, integer};
    use crate::elem::Elem;
    use crate::math::{Math, Type};

    #[test]
    fn every_word_has_a_meaning_for_the_types_that_it_applies_to() {
        for word in Math::ALL {
            let domain = word.domain();
            for elem in Elem::ALL.into_iter().filter(|elem| elem.is_integer()) {
                let known = integer(word, elem, [1, 1, 1]).is_some();
                assert!(known || !domain.holds(elem), "{word:?} of {elem}");
            }
            if domain.holds(Elem::F32) && word.result() == Type::Same && word != Math::WrappingAbs {
                assert!(f32::apply(word, 1.0, 1.0, 1.0, 1).is_some(), "{word:?}");
                assert!(f64::apply(word, 1.0, 1.0, 1.0, 1).is_some(), "{word:?}");
            }
        }
    }

    #[test]
    fn the_smaller_and_the_larger_follow_ptx() {
        let values = [f32::NAN, -0.0, 0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY];
        // PTX ISA 9.0, `min`: the number where one is NaN, and -0 below 0.
        for a in values {
            for b in values {
                let order = |v: f32| (v, if v == 0.0 && v.is_sign_negative() { 0 } else { 1 });
                let (small, large) = (f32::smaller(a, b), f32::larger(a, b));
                if a.is_nan() || b.is_nan() {
                    let other = if a.is_nan() { b } else { a };
                    assert_eq!((small.to_bits(), large.to_bits()), (other.to_bits(), other.to_bits()));
                } else {
                    let (low, high) = if order(a) <= order(b) { (a, b) } else { (b, a) };
                    assert_eq!(
                        (small.to_bits(), large.to_bits()),
                        (low.to_bits(), high.to_bits()),
                        "{a} {b}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_error_function_has_its_values() {
        // From a table of 15 digits.
        for (x, wanted) in [
            (1e-8, 1.128_379_167_095_51e-8),
            (0.1, 0.112_462_916_018_285),
            (0.5, 0.520_499_877_813_047),
            (0.999, 0.842_285_270_206_497),
            (1.0, 0.842_700_792_949_715),
            (2.0, 0.995_322_265_018_953),
            (3.0, 0.999_977_909_503_001),
            (7.0, 1.0),
            (f64::INFINITY, 1.0),
        ] {
            assert!((erf(x) / wanted - 1.0).abs() < 1e-14, "{x}: {}", erf(x));
            assert_eq!(erf(-x), -erf(x));
        }
        assert!(erf(f64::NAN).is_nan() && erf(-0.0).is_sign_negative());
    }

    #[test]
    fn words_of_bytes_and_pairs() {
        let word = |function, a: u32, b: u32, c: u32| integer(function, Elem::U32, [a, b, c].map(i64::from));
        // CUDA Math API: the bytes of b:a are numbered 0 to 7 from the lowest.
        assert_eq!(word(Math::BytePerm, 0x33221100, 0x77665544, 0x7531), Some(0x77553311));
        assert_eq!(word(Math::BytePerm, 0x80, 0, 0x0008), Some(0x80808080));
        assert_eq!(word(Math::FunnelShiftLeft, 0x12345678, 0x9abcdef0, 8), Some(0x3456789a));
        assert_eq!(word(Math::FunnelShiftLeft, 0x12345678, 0x9abcdef0, 32), Some(0x12345678));
        assert_eq!(word(Math::FunnelShiftRight, 0x12345678, 0x9abcdef0, 8), Some(0x789abcde));
        assert_eq!(word(Math::Dot4, 0xff01, 0x0203, 7), Some(0xff * 2 + 3 + 7));
        let signed = integer(Math::Dot4, Elem::I32, [0xff01, 0x0203, 7]);
        assert_eq!(signed, Some(-2 + 3 + 7));
    }
}
