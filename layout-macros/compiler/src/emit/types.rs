//! Element types and their constants in CUDA C.
//!
//! | Rust | C | | Rust | C |
//! |---|---|---|---|---|
//! | `f64` | `double` | | `i64`, `u64` | `long long`, `unsigned long long` |
//! | `f32` | `float` | | `i32`, `u32` | `int`, `unsigned int` |
//! | `f16`, `bf16` | the same, of `unsigned short` | | `i16`, `u16` | `short`, `unsigned short` |
//! | `e4m3`, `e5m2` | the same, of `unsigned char` | | `i8`, `u8` | `signed char`, `unsigned char` |
//!
//! The floats that C does not have are names for their bits: a text that uses one opens with its `typedef`.
//!
//! Law: a constant's literal is exactly its value.

use super::expression::Expression;
use crate::elem::{Constant, Elem, Format};
use std::collections::BTreeSet;

/// The type of an element.
pub(super) fn scalar(elem: Elem) -> &'static str {
    elem.c_name()
}

/// The `typedef`s of the types that a text names, and an empty line.
pub(super) fn typedefs(text: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let words: BTreeSet<&str> = text.split(|c| !is_word(c)).collect();
    let named = small_floats().filter(|(name, _)| words.contains(name));
    let lines: String = named.map(|(name, bits)| format!("typedef {bits} {name};  // its bits\n")).collect();
    if lines.is_empty() { lines } else { lines + "\n" }
}

/// The names that [`typedefs`] defines, and what of.
pub(super) fn small_floats() -> impl Iterator<Item = (&'static str, &'static str)> {
    Elem::ALL.into_iter().filter_map(|elem| match elem.format() {
        Format::SmallFloat(format) => Some((elem.c_name(), format.bits)),
        Format::Float | Format::Signed | Format::Unsigned | Format::Truth => None,
    })
}

/// The type that moves `width` elements at once, 2 to 16 bytes.
pub(super) fn vector(elem: Elem, width: u32) -> &'static str {
    match (elem, width * elem.bytes()) {
        (Elem::F32, 8) => "float2",
        (Elem::F32, 16) => "float4",
        (Elem::F64, 16) => "double2",
        (Elem::I32, 8) => "int2",
        (Elem::I32, 16) => "int4",
        (Elem::I64, 16) => "longlong2",
        (_, 2) => "unsigned short",
        (_, 4) => "unsigned int",
        (_, 8) => "uint2",
        (_, 16) => "uint4",
        _ => scalar(elem),
    }
}

/// The literal of a constant.
pub(super) fn literal(constant: Constant) -> Expression {
    let elem = constant.elem;
    match elem.format() {
        Format::Float if elem == Elem::F64 => float64(f64::from_bits(constant.bits)),
        Format::Float => float32(f32::from_bits(constant.bits as u32)),
        Format::SmallFloat(_) => {
            let digits = elem.bits().div_ceil(4) as usize;
            Expression::leaf(format!("0x{:0digits$x}", constant.bits))
        }
        Format::Signed if elem == Elem::I64 => integer64(constant.bits as i64),
        Format::Unsigned if elem == Elem::U64 => Expression::leaf(format!("{}ULL", constant.bits)),
        Format::Unsigned if elem == Elem::U32 => Expression::leaf(format!("{}u", constant.bits)),
        // Narrower than `int`, C computes in `int`.
        Format::Signed | Format::Unsigned => integer(constant.as_i128() as i64),
        Format::Truth => Expression::leaf(if constant.bits == 0 { "false" } else { "true" }),
    }
}

/// A natural number of a type, or 1 where it is 0.
pub(super) fn not_zero(elem: Elem, natural: Expression) -> Expression {
    let one = match elem {
        Elem::U32 => "1u",
        Elem::I64 => "1LL",
        Elem::U64 => "1ULL",
        _ => "1",
    };
    Expression::call("max", vec![natural, Expression::leaf(one)])
}

/// The literal of an integer: `int` where that holds it, else `long long`.
pub(super) fn integer(value: i64) -> Expression {
    match i32::try_from(value) {
        // 2147483648 is no `int`, and so neither is its negative.
        Ok(i32::MIN) => Expression::infix(
            crate::ir::BinaryOp::Sub,
            Expression::prefix("-", Expression::leaf("2147483647")),
            Expression::leaf("1"),
        ),
        Ok(value) => signed(value < 0, Expression::leaf(value.unsigned_abs().to_string())),
        Err(_) => integer64(value),
    }
}

/// The literal of an integer of type `long long`.
pub(super) fn integer64(value: i64) -> Expression {
    if value == i64::MIN {
        return Expression::infix(
            crate::ir::BinaryOp::Sub,
            Expression::prefix("-", Expression::leaf("9223372036854775807LL")),
            Expression::leaf("1"),
        );
    }
    signed(value < 0, Expression::leaf(format!("{}LL", value.unsigned_abs())))
}

fn signed(negative: bool, literal: Expression) -> Expression {
    if negative { Expression::prefix("-", literal) } else { literal }
}

fn float32(value: f32) -> Expression {
    if !value.is_finite() {
        return Expression::call(
            "__int_as_float",
            vec![Expression::leaf(format!("0x{:08x}", value.to_bits()))],
        );
    }
    let magnitude = value.abs();
    let decimal = format!("{magnitude:?}");
    // The shortest decimal, unless a compiler that reads it as a double first would round it twice to another value.
    let twice = decimal.parse::<f64>().map(|double| double as f32);
    let text = if twice == Ok(magnitude) { decimal } else { hexadecimal(f64::from(magnitude)) };
    signed(value.is_sign_negative(), Expression::leaf(format!("{text}f")))
}

fn float64(value: f64) -> Expression {
    if !value.is_finite() {
        let bits = Expression::leaf(format!("0x{:016x}LL", value.to_bits()));
        return Expression::call("__longlong_as_double", vec![bits]);
    }
    signed(value.is_sign_negative(), Expression::leaf(format!("{:?}", value.abs())))
}

/// `0x1.8p+3` of a positive normal double.
fn hexadecimal(value: f64) -> String {
    let bits = value.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i32 - 1023;
    let digits = format!("{:013x}", bits & ((1 << 52) - 1));
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("0x1{point}{digits}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_exact() {
        let f32s: [(f32, &str); 10] = [
            (0.0, "0.0f"),
            (-0.0, "-0.0f"),
            (1.5, "1.5f"),
            (-0.1, "-0.1f"),
            (1e-7, "1e-7f"),
            (16777216.0, "16777216.0f"),
            (f32::MAX, "3.4028235e38f"),
            (f32::INFINITY, "__int_as_float(0x7f800000)"),
            (f32::NEG_INFINITY, "__int_as_float(0xff800000)"),
            (f32::from_bits(0x7fc0_0000), "__int_as_float(0x7fc00000)"),
        ];
        for (value, text) in f32s {
            let constant = Constant { elem: Elem::F32, bits: u64::from(value.to_bits()) };
            assert_eq!(literal(constant).to_string(), text);
        }
        let others = [
            (Elem::F64, 1e300f64.to_bits(), "1e300"),
            (Elem::F64, f64::INFINITY.to_bits(), "__longlong_as_double(0x7ff0000000000000LL)"),
            (Elem::I32, u64::from(i32::MIN as u32), "-2147483647 - 1"),
            (Elem::I64, -3i64 as u64, "-3LL"),
            (Elem::I64, i64::MIN as u64, "-9223372036854775807LL - 1"),
            (Elem::U64, u64::MAX, "18446744073709551615ULL"),
            (Elem::U32, 7, "7u"),
            (Elem::I16, 0x8000, "-32768"),
            (Elem::U16, 65535, "65535"),
            (Elem::I8, 0x80, "-128"),
            (Elem::U8, 200, "200"),
            (Elem::Bool, 1, "true"),
            (Elem::Bf16, 0x3f80, "0x3f80"),
        ];
        for (elem, bits, text) in others {
            assert_eq!(literal(Constant { elem, bits }).to_string(), text);
        }
    }

    #[test]
    fn a_decimal_that_rounds_twice_is_written_in_hexadecimal() {
        assert_eq!(hexadecimal(1.0), "0x1p+0");
        assert_eq!(hexadecimal(0.1f32.into()), "0x1.99999ap-4");
        assert_eq!(hexadecimal(24.0), "0x1.8p+4");
        // Every shortest decimal that is written reads as itself, as a float and by way of a double.
        for bits in (1..0x7f80_0000u32).step_by(99_991) {
            let value = f32::from_bits(bits);
            let text = float32(value).to_string();
            if let Some(decimal) = text.strip_suffix('f').filter(|text| !text.starts_with("0x")) {
                assert_eq!(decimal.parse::<f32>(), Ok(value));
                assert_eq!(decimal.parse::<f64>().map(|double| double as f32), Ok(value));
            }
        }
    }

    #[test]
    fn vectors_have_the_bytes_of_their_elements() {
        let rows = [
            (Elem::F32, 4, "float4"),
            (Elem::F32, 2, "float2"),
            (Elem::F64, 2, "double2"),
            (Elem::F16, 8, "uint4"),
            (Elem::Bf16, 2, "unsigned int"),
            (Elem::I8, 2, "unsigned short"),
            (Elem::U32, 4, "uint4"),
            (Elem::I32, 4, "int4"),
            (Elem::F32, 1, "unsigned int"),
        ];
        for (elem, width, text) in rows {
            assert_eq!(vector(elem, width), text, "{elem} {width}");
        }
    }
}
