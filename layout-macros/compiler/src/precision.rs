//! Error bounds of the elementwise words, on a GPU and on the simulator.
//!
//! There is one table. The docs of [`layout_core::lang`] state its bounds (a test compares them), and a test of the
//! whole vocabulary measures against it. Sources: CUDA C++ Programming Guide 13.0, Tables 17 and 18 (maximum distance
//! in ulps from the correctly rounded result, found by extensive tests, not proved); PTX ISA 9.1, section 9.7.3, for
//! the approximations.
//!
//! Law: each word has a row, so a new word without a bound does not compile. An exact word returns the nearest value
//! of its type.

use super::elem::Elem;
use super::math::{Domain, Math};
use super::small_float;
use std::f64::consts::PI;
use std::fmt;

/// How far a result may be from the exact value.
///
/// ```
/// use layout_compiler::{Elem, math::Math};
/// let sine = Math::Sin.error(Elem::F32);
/// assert_eq!(sine.to_string(), "2 ulp");
/// let exact = 0.5f64.sin();
/// assert!(sine.allows(Elem::F32, &[0.5], exact, f64::from(0.5f32.sin())));
/// assert!(!sine.allows(Elem::F32, &[0.5], exact, exact + 1e-6));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MaxError {
    /// No error: the nearest value of the type.
    Exact,
    /// At most this many values of the type away from the nearest one.
    Ulps(u32),
    /// A product of `n` factors: half an ulp for each, the operand's errors included.
    Powers,
    /// 2 to this power, of the exact value.
    Relative(f64),
    /// 2 to these powers: absolute between 0.5 and 2, relative outside.
    Logarithm(f64, f64),
    /// 2 to these powers: up to one turn (2π) to either side, and up to fifty. Nothing is promised beyond.
    Circular(f64, f64),
    /// At most this many ulps where the divisor is between 2⁻¹²⁶ and 2¹²⁶ in size. Nothing is promised beyond.
    Quotient(u32),
}

use MaxError::{Circular, Exact, Logarithm, Powers, Quotient, Relative, Ulps};

impl Math {
    /// The error that the documentation promises for a first operand of type `elem`. For floats of 16 and 8 bits it is the
    /// error of the `f32` that is rounded to them.
    ///
    /// ```
    /// use layout_compiler::{Elem, math::Math};
    /// assert_eq!(Math::Tan.error(Elem::F32).to_string(), "4 ulp");
    /// assert_eq!(Math::Tan.error(Elem::F64).to_string(), "2 ulp");
    /// assert_eq!(Math::Floor.error(Elem::F32).to_string(), "correctly rounded");
    /// ```
    pub const fn error(self, elem: Elem) -> MaxError {
        // As `f32`, as `f64`.
        let (single, double) = match self {
            Math::Sin | Math::Cos | Math::Asin | Math::Acos | Math::Atan => (Ulps(2), Ulps(2)),
            Math::Tan | Math::Powf => (Ulps(4), Ulps(2)),
            Math::Atan2 | Math::Sinh | Math::Hypot => (Ulps(3), Ulps(2)),
            Math::Erf => (Ulps(2), Ulps(2)),
            Math::Cosh | Math::Tanh | Math::Exp | Math::Exp2 | Math::Log10 | Math::Rsqrt => {
                (Ulps(2), Ulps(1))
            }
            Math::ExpM1 | Math::Ln | Math::Ln1p | Math::Log2 | Math::Cbrt => (Ulps(1), Ulps(1)),
            Math::Powi => (Powers, Powers),
            Math::Exp2Approx => (Ulps(2), Ulps(2)),
            Math::Log2Approx => (Logarithm(-22.0, -22.0), Logarithm(-22.0, -22.0)),
            // PTX ISA 9.1 says 2^-20.5; an H200 was seen at 2^-20.44, at -4.779.
            Math::SinApprox | Math::CosApprox => (Circular(-20.4, -14.7), Circular(-20.4, -14.7)),
            Math::TanhApprox => (Relative(-11.0), Relative(-11.0)),
            Math::RsqrtApprox => (Relative(-22.9), Relative(-22.9)),
            Math::SqrtApprox => (Relative(-23.0), Relative(-23.0)),
            Math::RecipApprox => (Ulps(1), Ulps(1)),
            Math::DivApprox => (Quotient(2), Quotient(2)),
            // Named, so that a new word says its error.
            Math::Min
            | Math::Max
            | Math::Clamp
            | Math::Abs
            | Math::WrappingAbs
            | Math::Signum
            | Math::Copysign
            | Math::IsNan
            | Math::IsFinite
            | Math::IsInfinite
            | Math::ToBits
            | Math::FromBits
            | Math::MulAdd
            | Math::Floor
            | Math::Ceil
            | Math::Round
            | Math::RoundTiesEven
            | Math::Trunc
            | Math::Fract
            | Math::Sqrt
            | Math::Recip
            | Math::RoundTf32
            | Math::CountOnes
            | Math::LeadingZeros
            | Math::TrailingZeros
            | Math::RotateLeft
            | Math::RotateRight
            | Math::ReverseBits
            | Math::SwapBytes
            | Math::Pow
            | Math::Ilog2
            | Math::IsPowerOfTwo
            | Math::AbsDiff
            | Math::SaturatingAdd
            | Math::SaturatingSub
            | Math::SaturatingMul
            | Math::BytePerm
            | Math::FunnelShiftLeft
            | Math::FunnelShiftRight
            | Math::Dot4
            | Math::MinU8x4
            | Math::MinI8x4
            | Math::MinU16x2
            | Math::MinI16x2
            | Math::MaxU8x4
            | Math::MaxI8x4
            | Math::MaxU16x2
            | Math::MaxI16x2
            | Math::AddU8x4
            | Math::AddU16x2
            | Math::SubU8x4
            | Math::SubU16x2
            | Math::GtU8x4
            | Math::GtI8x4
            | Math::GtU16x2
            | Math::GtI16x2
            | Math::EqU8x4
            | Math::EqU16x2 => (Exact, Exact),
        };
        if matches!(elem, Elem::F64) { double } else { single }
    }

    /// Whether numbers below 2⁻¹²⁶ may count as zero, operands and results.
    ///
    /// ```
    /// use layout_compiler::math::Math;
    /// assert!(Math::Exp2Approx.flushes() && !Math::Exp2.flushes() && !Math::TanhApprox.flushes());
    /// ```
    pub fn flushes(self) -> bool {
        self.domain() == Domain::Single && !matches!(self, Math::TanhApprox | Math::RoundTf32)
    }
}

/// The distance of neighbouring values of a type at a value, not below that of the least normal one.
fn ulp(elem: Elem, value: f64) -> f64 {
    let (fraction, least) = match elem {
        Elem::F64 => (52, -1022),
        Elem::F16 => (10, -14),
        Elem::Bf16 => (7, -126),
        _ => (23, -126),
    };
    let exponent = (value.abs().to_bits() >> 52) as i32 - 1023;
    2f64.powi(exponent.max(least) - fraction)
}

/// How many values of a type are from one to another.
fn distance(elem: Elem, a: f64, b: f64) -> u64 {
    let place = |value: f64| -> i64 {
        let (size, negative) = match elem {
            Elem::F64 => (value.abs().to_bits() as i64, value.is_sign_negative()),
            Elem::F32 => (i64::from((value as f32).abs().to_bits()), value.is_sign_negative()),
            _ => {
                let single = small_float::to_odd(value);
                (i64::from(small_float::encode(single.abs(), elem)), value.is_sign_negative())
            }
        };
        if negative { -size } else { size }
    };
    place(a).abs_diff(place(b))
}

impl MaxError {
    /// Whether `found`, a value of type `elem`, is as near to the exact value as promised; `operands` are the word's. NaN
    /// is near to NaN alone, and where nothing is promised everything is near.
    ///
    /// ```
    /// use layout_compiler::{Elem, math::Math};
    /// let cosine = Math::CosApprox.error(Elem::F32);
    /// assert!(cosine.allows(Elem::F32, &[1.0], 1f64.cos(), 1f64.cos() + 5e-7));
    /// assert!(!cosine.allows(Elem::F32, &[1.0], 1f64.cos(), 1f64.cos() + 1e-6));
    /// assert!(cosine.allows(Elem::F32, &[1e6], 1e6f64.cos(), 0.0)); // far beyond fifty turns
    /// ```
    pub fn allows(self, elem: Elem, operands: &[f64], exact: f64, found: f64) -> bool {
        let first = operands.first().copied().unwrap_or_default();
        let second = operands.get(1).copied().unwrap_or_default();
        let room = match self {
            Circular(_, far) if first.abs() > 100.0 * PI || far.is_nan() => return true,
            Quotient(_) if !(2f64.powi(-126)..=2f64.powi(126)).contains(&second.abs()) => return true,
            _ if exact.is_nan() || found.is_nan() => return exact.is_nan() && found.is_nan(),
            _ if exact.is_infinite() => return exact == found,
            Exact => return distance(elem, exact, found) == 0,
            // The type's own distance where the word computes in it.
            Ulps(count) | Quotient(count) if matches!(elem, Elem::F32 | Elem::F64) => {
                return distance(elem, exact, found) <= u64::from(count);
            }
            Ulps(count) | Quotient(count) => (f64::from(count) + 0.5) * ulp(Elem::F32, exact),
            Powers => second.abs() * ulp(if elem == Elem::F64 { elem } else { Elem::F32 }, exact),
            Relative(power) => power.exp2() * exact.abs(),
            Logarithm(near, _) if (0.5..2.0).contains(&first) => near.exp2(),
            Logarithm(_, far) => far.exp2() * exact.abs(),
            Circular(near, _) if first.abs() <= 2.0 * PI => near.exp2(),
            Circular(_, far) => far.exp2(),
        };
        // Once more, to the type, where it is narrower.
        let rounding = match elem {
            Elem::F64 | Elem::F32 => 0.0,
            _ => 0.5 * ulp(elem, exact) * (1.0 + 1e-6),
        };
        distance(elem, exact, found) == 0 || (found - exact).abs() <= room + rounding
    }
}

impl fmt::Display for MaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exact => write!(f, "correctly rounded"),
            Ulps(count) => write!(f, "{count} ulp"),
            Powers => write!(f, "`|n|` ulp"),
            Relative(power) => write!(f, "2{} relative", superscript(*power)),
            Logarithm(near, far) if near == far => {
                write!(f, "2{} between 0.5 and 2, relative outside", superscript(*near))
            }
            Logarithm(near, far) => {
                write!(
                    f,
                    "2{} between 0.5 and 2, 2{} relative outside",
                    superscript(*near),
                    superscript(*far)
                )
            }
            Circular(near, far) => write!(
                f,
                "2{} between -2π and 2π, 2{} between -100π and 100π",
                superscript(*near),
                superscript(*far)
            ),
            Quotient(count) => write!(f, "{count} ulp where `other` is between 2⁻¹²⁶ and 2¹²⁶ in size"),
        }
    }
}

/// A power as it is written above the line.
fn superscript(power: f64) -> String {
    let raised = |c| match c {
        '-' => '⁻',
        '.' => '·',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        digit => char::from_u32('⁰' as u32 + digit as u32 - '0' as u32).unwrap_or(digit),
    };
    power.to_string().chars().map(raised).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_is_kept_and_broken() {
        let of = |word: Math, elem| word.error(elem);
        let next = |value: f32, steps: i32| f32::from_bits(value.to_bits().wrapping_add_signed(steps));
        let exact = 0.3f64.exp();
        for (steps, near) in [(0, true), (2, true), (-2, true), (3, false), (-3, false)] {
            let found = f64::from(next(exact as f32, steps));
            assert_eq!(of(Math::Exp, Elem::F32).allows(Elem::F32, &[0.3], exact, found), near, "{steps}");
        }
        // Infinity is the value after the largest one; NaN is near to nothing else.
        assert!(of(Math::Exp, Elem::F32).allows(Elem::F32, &[88.7], 3.4028236e38, f32::MAX.into()));
        assert!(!of(Math::Exp, Elem::F32).allows(Elem::F32, &[1.0], 1.0, f64::NAN));
        assert!(of(Math::Ln, Elem::F64).allows(Elem::F64, &[-1.0], f64::NAN, f64::NAN));
        assert!(!of(Math::Ln, Elem::F64).allows(Elem::F64, &[0.0], f64::NEG_INFINITY, f64::MIN));
        // Of 16 bits: the nearest, or its neighbour where the exact value is near the middle.
        let sine = of(Math::Sin, Elem::F16);
        assert!(sine.allows(Elem::F16, &[0.5], 1.0 + 2f64.powi(-11), 1.0));
        assert!(sine.allows(Elem::F16, &[0.5], 1.0 + 2f64.powi(-11), 1.0 + 2f64.powi(-10)));
        assert!(!sine.allows(Elem::F16, &[0.5], 1.0 + 2f64.powi(-12), 1.0 + 2f64.powi(-10)));
        assert!(of(Math::Powi, Elem::F32).allows(Elem::F32, &[1.1, 9.0], 2.357947691, 2.3579485));
    }

    #[test]
    fn powers_are_written_above_the_line() {
        assert_eq!(
            Math::SinApprox.error(Elem::F32).to_string(),
            "2⁻²⁰·⁴ between -2π and 2π, 2⁻¹⁴·⁷ between -100π and 100π"
        );
        assert_eq!(Math::RsqrtApprox.error(Elem::F32).to_string(), "2⁻²²·⁹ relative");
    }
}
