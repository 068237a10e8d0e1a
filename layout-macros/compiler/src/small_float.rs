//! Floats of 16 and 8 bits. Each is held as an `f32`, which represents it exactly, and rounded after each operation.
//!
//! Laws: `held(decode(bits)) == bits` for every bit pattern, and `encode(decode(bits)) == bits` for every finite one.
//! `encode` rounds to nearest, ties to even. A value that is too large becomes infinity in `f16` and `bf16`, and the
//! largest finite value in `e4m3` and `e5m2` (as CUDA's conversions with `satfinite` do).
//!
//! Source: IEEE 754-2019 (binary16); Open Compute Project, 8-bit Floating Point Specification, revision 1.0.

use super::elem::{Elem, Format, SmallFloat};

/// How the type is made, and the bit of its sign; of others nothing.
#[inline]
fn format(elem: Elem) -> Option<(SmallFloat, u32)> {
    match elem.format() {
        Format::SmallFloat(format) => Some((format, 1 << (elem.bits() - 1))),
        Format::Float | Format::Signed | Format::Unsigned | Format::Truth => None,
    }
}

/// The value of the bits; of `f32`, and of what is no float, the bits as an `f32`'s.
#[inline]
pub fn decode(bits: u32, elem: Elem) -> f32 {
    let Some((format, sign_bit)) = format(elem) else { return f32::from_bits(bits) };
    let magnitude = bits & (sign_bit - 1);
    let value = if elem == Elem::Bf16 {
        f32::from_bits(magnitude << 16)
    } else if magnitude > format.largest {
        // Beyond the largest finite value are infinity, where the type has one, and NaNs, whose fraction stays.
        let fraction = magnitude & ((1 << format.fraction) - 1);
        f32::from_bits(f32::INFINITY.to_bits() | fraction << (f32::MANTISSA_DIGITS - 1 - format.fraction))
    } else {
        let exponent = (magnitude >> format.fraction) as i32;
        let fraction = magnitude & ((1 << format.fraction) - 1);
        let implicit = if exponent == 0 { 0 } else { 1 << format.fraction };
        (implicit | fraction) as f32 * power(exponent.max(1) - format.bias - format.fraction as i32)
    };
    if bits & sign_bit != 0 { -value } else { value }
}

/// The bits of the nearest value; of `f32`, and of what is no float, the bits as they are.
#[inline]
pub fn encode(value: f32, elem: Elem) -> u32 {
    let Some((format, sign_bit)) = format(elem) else { return value.to_bits() };
    if value.is_nan() {
        return format.nan;
    }
    let sign = if value.is_sign_negative() { sign_bit } else { 0 };
    let magnitude = value.abs();
    // floor(log2) from the exponent field; a subnormal `f32` counts as 2^-127.
    let exponent = (magnitude.to_bits() >> 23) as i32 - 127;
    let exponent = exponent.max(1 - format.bias);
    // Exact: a double holds the quotient by a power of two. Added to 2^52 it has no fraction: the sum is rounded, ties to even.
    let unit = (f64::MAX_EXP - 1 - exponent + format.fraction as i32) as u64;
    let quotient = f64::from(magnitude) * f64::from_bits(unit << (f64::MANTISSA_DIGITS - 1));
    const WHOLE: f64 = (1u64 << (f64::MANTISSA_DIGITS - 1)) as f64;
    let rounded = quotient + WHOLE - WHOLE;
    if rounded >= f64::from(1u32 << (format.fraction + 1)) * 2.0 {
        return sign | format.overflow;
    }
    // A fraction that rounds up to the next power of two carries into the exponent.
    let bits = (((exponent + format.bias - 1) as u32) << format.fraction) + rounded as u32;
    sign | if bits > format.largest { format.overflow } else { bits }
}

/// The bits of a value that is one of the type. It moves as it is: a NaN keeps its fraction and an infinity stays one, where a
/// conversion makes the type's one NaN and its largest number.
pub fn held(value: f32, elem: Elem) -> u32 {
    let Some((format, sign_bit)) = format(elem) else { return value.to_bits() };
    let fraction = (value.to_bits() & 0x7f_ffff) >> (f32::MANTISSA_DIGITS - 1 - format.fraction);
    let sign = if value.is_sign_negative() { sign_bit } else { 0 };
    // It has two NaNs, which differ by their sign, and no infinity.
    if elem == Elem::E4m3 && value.is_nan() {
        return sign | format.nan;
    }
    if value.is_finite() || elem == Elem::E4m3 || value.is_nan() && fraction == 0 {
        return encode(value, elem);
    }
    let exponent = (sign_bit - 1) & !((1 << format.fraction) - 1);
    sign | exponent | fraction
}

/// The nearest value of the type.
#[inline]
pub fn round(value: f32, elem: Elem) -> f32 {
    decode(encode(value, elem), elem)
}

/// A double as an `f32` that rounds to the same smaller float: where it is not exact, its last bit is one, so that it
/// is on no tie between two of them.
pub fn to_odd(value: f64) -> f32 {
    let near = value as f32;
    if f64::from(near) == value || value.is_nan() {
        return near;
    }
    let toward_zero = if f64::from(near).abs() > value.abs() { near.to_bits() - 1 } else { near.to_bits() };
    f32::from_bits(toward_zero | 1)
}

/// An integer as an `f32`, likewise.
pub fn integer_to_odd(value: i128) -> f32 {
    let magnitude = value.unsigned_abs();
    let cut = (u128::BITS - magnitude.leading_zeros()).saturating_sub(f32::MANTISSA_DIGITS);
    let rest = magnitude & ((1 << cut) - 1);
    let odd = ((magnitude >> cut) | u128::from(rest != 0)) << cut;
    if value < 0 { -(odd as f32) } else { odd as f32 }
}

/// 2 to a power that `f32` has as a normal number.
#[inline]
fn power(exponent: i32) -> f32 {
    f32::from_bits(((exponent + 127).clamp(1, 254) as u32) << 23)
}

#[cfg(test)]
mod tests {
    use super::{decode, encode, held, integer_to_odd, to_odd};
    use crate::elem::Elem;

    const SMALL: [(Elem, u32); 4] =
        [(Elem::F16, 1 << 16), (Elem::Bf16, 1 << 16), (Elem::E4m3, 1 << 8), (Elem::E5m2, 1 << 8)];

    #[test]
    fn every_bit_pattern_comes_back() {
        for (elem, count) in SMALL {
            for bits in 0..count {
                let value = decode(bits, elem);
                assert_eq!(held(value, elem), bits, "{elem} {bits:#x} {value}");
                let saturated = value.is_infinite() && elem == Elem::E5m2;
                if !value.is_nan() && !saturated {
                    assert_eq!(encode(value, elem), bits, "{elem} {bits:#x} {value}");
                }
            }
        }
    }

    #[test]
    fn rounds_to_the_nearest_ties_to_even() {
        for (elem, count) in SMALL {
            let largest =
                (0..count / 2).rev().find(|bits| decode(*bits, elem).is_finite()).unwrap_or_default();
            for bits in 0..largest {
                let (low, high) = (decode(bits, elem), decode(bits + 1, elem));
                let middle = f64::midpoint(f64::from(low), f64::from(high)) as f32;
                let even = if bits % 2 == 0 { bits } else { bits + 1 };
                if f64::from(middle) == f64::midpoint(f64::from(low), f64::from(high)) {
                    assert_eq!(encode(middle, elem), even, "{elem} between {low} and {high}");
                    assert_eq!(encode(middle.next_up(), elem), bits + 1, "{elem} above {middle}");
                    assert_eq!(
                        encode(-middle.next_down(), elem),
                        bits | (count / 2),
                        "{elem} below {middle}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_wider_than_an_f32_is_rounded_once() {
        // Beside a tie of each type, so near that an `f32` would be on it.
        let tie = |elem| f64::midpoint(1.0, f64::from(decode(encode(1.0, elem) + 1, elem)));
        for (elem, _) in SMALL {
            let one = encode(1.0, elem);
            assert_eq!(encode(to_odd(tie(elem)), elem), one + one % 2);
            assert_eq!(encode(to_odd(tie(elem) + 2f64.powi(-40)), elem), one + 1, "{elem}");
            assert_eq!(encode(to_odd(tie(elem) - 2f64.powi(-40)), elem), one, "{elem}");
        }
        // Of the small floats bf16 alone has integers that an `f32` has not.
        for (near, wanted) in [(-1, 1.0), (0, 1.0), (1, 1.0 + 2f32.powi(-7))] {
            let number = (tie(Elem::Bf16) * 2f64.powi(60)) as i128 + near;
            for (number, wanted) in [(number, wanted), (-number, -wanted)] {
                let once = decode(encode(integer_to_odd(number), Elem::Bf16), Elem::Bf16);
                assert_eq!(once, wanted * 2f32.powi(60), "{number}");
            }
        }
        assert_eq!(to_odd(1e300), f32::MAX);
        assert_eq!(to_odd(f64::NEG_INFINITY), f32::NEG_INFINITY);
        assert!(to_odd(f64::NAN).is_nan());
    }

    #[test]
    fn known_values() {
        assert_eq!(encode(1.0, Elem::F16), 0x3c00);
        assert_eq!(encode(65504.0, Elem::F16), 0x7bff);
        assert_eq!(encode(65520.0, Elem::F16), 0x7c00);
        assert_eq!(encode(f32::INFINITY, Elem::F16), 0x7c00);
        assert_eq!(encode(1e-10, Elem::F16), 0);
        assert_eq!(encode(-1.0, Elem::Bf16), 0xbf80);
        assert_eq!(encode(f32::MAX, Elem::Bf16), 0x7f80);
        assert_eq!(encode(448.0, Elem::E4m3), 0x7e);
        assert_eq!(encode(1e9, Elem::E4m3), 0x7e);
        assert_eq!(encode(f32::NAN, Elem::E4m3), 0x7f);
        assert_eq!(encode(f32::INFINITY, Elem::E5m2), 0x7b);
        assert_eq!(decode(0x7c, Elem::E5m2), f32::INFINITY);
        assert_eq!(decode(0x01, Elem::E5m2), 2f32.powi(-16));
    }
}
