//! What one lane computes: integers of each type, floats, casts.
//!
//! Law: as `program` says. Integers wrap at their width, shifts take their count modulo it, floats are IEEE, casts are
//! Rust's `as`. A division by zero has no value.

use super::bytecode::{FloatOp, IndexOp, LANES};
use super::compile::compare;
use crate::kernel::elem::Elem;
use crate::kernel::ir::BinaryOp;
use crate::kernel::program::Math;

impl IndexOp {
    /// `a op b` modulo 2⁶⁴; `None` for a division by zero.
    pub(super) fn apply(self, a: i64, b: i64) -> Option<i64> {
        Some(match self {
            IndexOp::Add => a.wrapping_add(b),
            IndexOp::Sub => a.wrapping_sub(b),
            IndexOp::Mul => a.wrapping_mul(b),
            IndexOp::Div => return (b != 0).then(|| a.wrapping_div(b)),
            IndexOp::Rem => return (b != 0).then(|| a.wrapping_rem(b)),
            IndexOp::Xor => a ^ b,
            IndexOp::And => a & b,
            IndexOp::Or => a | b,
            IndexOp::Min => a.min(b),
            IndexOp::Max => a.max(b),
            IndexOp::DivNatural => (a as u64).checked_div(b as u64)? as i64,
            IndexOp::RemNatural => (a as u64).checked_rem(b as u64)? as i64,
            IndexOp::MinNatural => (a as u64).min(b as u64) as i64,
            IndexOp::MaxNatural => (a as u64).max(b as u64) as i64,
        })
    }

    /// `a op b` in every lane, and the lanes that divide by zero.
    pub(super) fn lanes(self, a: &[i64; LANES], b: &[i64; LANES]) -> ([i64; LANES], u32) {
        match self {
            IndexOp::Add => (std::array::from_fn(|i| a[i].wrapping_add(b[i])), 0),
            IndexOp::Mul => (std::array::from_fn(|i| a[i].wrapping_mul(b[i])), 0),
            op => checked(a, b, |a, b| op.apply(a, b)),
        }
    }
}

/// A function of two integers in every lane; lanes without a value give 0 and are told.
fn checked(
    a: &[i64; LANES],
    b: &[i64; LANES],
    function: impl Fn(i64, i64) -> Option<i64>,
) -> ([i64; LANES], u32) {
    let (mut out, mut failed) = ([0; LANES], 0);
    for lane in 0..LANES {
        match function(a[lane], b[lane]) {
            Some(value) => out[lane] = value,
            None => failed |= 1 << lane,
        }
    }
    (out, failed)
}

/// A value cut to the width of an integer type, sign- or zero-extended again. Of other types: unchanged.
pub(super) fn wrap(value: i64, elem: Elem) -> i64 {
    match elem {
        Elem::I32 => i64::from(value as i32),
        Elem::U32 => i64::from(value as u32),
        Elem::I8 => i64::from(value as i8),
        Elem::U8 => i64::from(value as u8),
        Elem::Bool => i64::from(value != 0),
        Elem::I64 | Elem::F64 | Elem::F32 | Elem::F16 | Elem::Bf16 | Elem::E4m3 | Elem::E5m2 => value,
    }
}

/// `a op b` of integers of a type, in every lane, and the lanes that divide by zero.
pub(super) fn integers(op: BinaryOp, a: &[i64; LANES], b: &[i64; LANES], elem: Elem) -> ([i64; LANES], u32) {
    match (op, elem) {
        (BinaryOp::Add, Elem::I32) => {
            (std::array::from_fn(|i| i64::from((a[i] as i32).wrapping_add(b[i] as i32))), 0)
        }
        (BinaryOp::Mul, Elem::I32) => {
            (std::array::from_fn(|i| i64::from((a[i] as i32).wrapping_mul(b[i] as i32))), 0)
        }
        _ => checked(a, b, |a, b| integer(op, a, b, elem)),
    }
}

/// `a op b` of integers of a type; `None` for a division by zero.
fn integer(op: BinaryOp, a: i64, b: i64, elem: Elem) -> Option<i64> {
    let count = b as u32 & (8 * elem.bytes() - 1);
    let exact = match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div => return (b != 0).then(|| wrap(a.wrapping_div(b), elem)),
        BinaryOp::Rem => return (b != 0).then(|| wrap(a.wrapping_rem(b), elem)),
        BinaryOp::BitAnd | BinaryOp::And => a & b,
        BinaryOp::BitOr | BinaryOp::Or => a | b,
        BinaryOp::BitXor => a ^ b,
        BinaryOp::Shl => a.wrapping_shl(count),
        // Unsigned values are zero-extended, so the arithmetic shift is the logical one for them.
        BinaryOp::Shr => a.wrapping_shr(count),
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
            i64::from(compare(op, &a, &b))
        }
    };
    Some(wrap(exact, elem))
}

/// A function of integers of a type; those of floats alone leave the value as it is.
pub(super) fn integer_math(op: Math, a: i64, b: i64, c: i64, elem: Elem) -> i64 {
    match op {
        Math::Min => a.min(b),
        Math::Max => a.max(b),
        Math::Abs => wrap(a.wrapping_abs(), elem),
        Math::MulAdd => wrap(a.wrapping_mul(b).wrapping_add(c), elem),
        Math::Sqrt | Math::Exp | Math::Exp2 | Math::Ln | Math::Tanh | Math::RoundTf32 => a,
    }
}

macro_rules! floats {
    ($name:ident, $float:ty) => {
        /// `op` in every lane.
        pub(super) fn $name(
            op: FloatOp,
            a: &[$float; LANES],
            b: &[$float; LANES],
            c: &[$float; LANES],
        ) -> [$float; LANES] {
            let each = |function: fn($float) -> $float| std::array::from_fn(|i| function(a[i]));
            match op {
                FloatOp::Copy => *a,
                FloatOp::Neg => std::array::from_fn(|i| -a[i]),
                FloatOp::Add => std::array::from_fn(|i| a[i] + b[i]),
                FloatOp::Sub => std::array::from_fn(|i| a[i] - b[i]),
                FloatOp::Mul => std::array::from_fn(|i| a[i] * b[i]),
                FloatOp::Div => std::array::from_fn(|i| a[i] / b[i]),
                FloatOp::Rem => std::array::from_fn(|i| a[i] % b[i]),
                FloatOp::MulThenAdd => std::array::from_fn(|i| a[i] * b[i] + c[i]),
                FloatOp::Math(Math::Min) => std::array::from_fn(|i| a[i].min(b[i])),
                FloatOp::Math(Math::Max) => std::array::from_fn(|i| a[i].max(b[i])),
                FloatOp::Math(Math::Abs) => std::array::from_fn(|i| a[i].abs()),
                FloatOp::Math(Math::Sqrt) => std::array::from_fn(|i| a[i].sqrt()),
                FloatOp::Math(Math::Exp) => each(<$float>::exp),
                FloatOp::Math(Math::Exp2) => each(<$float>::exp2),
                FloatOp::Math(Math::Ln) => each(<$float>::ln),
                FloatOp::Math(Math::Tanh) => each(<$float>::tanh),
                FloatOp::Math(Math::RoundTf32) => each(|value| super::mma::round_tf32(value as f32).into()),
                FloatOp::Math(Math::MulAdd) => std::array::from_fn(|i| a[i].mul_add(b[i], c[i])),
            }
        }
    };
}

floats!(floats, f32);
floats!(doubles, f64);

/// A float as an integer of a type: saturated, NaN gives 0. `bool` is whether it is not zero.
pub(super) fn float_to_integer(value: f64, elem: Elem) -> i64 {
    match elem {
        Elem::I32 => i64::from(value as i32),
        Elem::U32 => i64::from(value as u32),
        Elem::I8 => i64::from(value as i8),
        Elem::U8 => i64::from(value as u8),
        Elem::Bool => i64::from(value != 0.0),
        Elem::I64 | Elem::F64 | Elem::F32 | Elem::F16 | Elem::Bf16 | Elem::E4m3 | Elem::E5m2 => value as i64,
    }
}

/// The lanes in which `a op b` holds.
pub(super) fn compared<T: PartialOrd>(op: BinaryOp, a: &[T; LANES], b: &[T; LANES]) -> u32 {
    macro_rules! bits {
        ($operator:tt) => {
            (0..LANES).fold(0, |bits, i| bits | u32::from(a[i] $operator b[i]) << i)
        };
    }
    match op {
        BinaryOp::Lt => bits!(<),
        BinaryOp::Le => bits!(<=),
        BinaryOp::Gt => bits!(>),
        BinaryOp::Ge => bits!(>=),
        BinaryOp::Eq => bits!(==),
        BinaryOp::Ne => bits!(!=),
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::Div
        | BinaryOp::Rem
        | BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::Shl
        | BinaryOp::Shr
        | BinaryOp::And
        | BinaryOp::Or => 0,
    }
}
