//! Arithmetic of one lane: integers of each type, floats, casts.
//!
//! Law: integers wrap at their width, shift counts are modulo it, floats are IEEE, casts are Rust's `as`. A division by
//! zero has no defined value.

use crate::bytecode::{FloatOp, IndexOp, LANES};
use layout_compiler::elem::Elem;
use layout_compiler::ir::BinaryOp;

impl IndexOp {
    /// `a op b` modulo 2⁶⁴; `None` for a division by zero.
    pub(crate) fn apply(self, a: i64, b: i64) -> Option<i64> {
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
    pub(crate) fn lanes(self, a: &[i64; LANES], b: &[i64; LANES]) -> ([i64; LANES], u32) {
        match self {
            IndexOp::Add => (std::array::from_fn(|i| a[i].wrapping_add(b[i])), 0),
            IndexOp::Mul => (std::array::from_fn(|i| a[i].wrapping_mul(b[i])), 0),
            op => checked(a, b, |a, b| op.apply(a, b)),
        }
    }
}

/// A function in every lane; lanes without a value get 0 and are returned.
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

/// Binds a binary operation, known to the compiler, around an expression.
macro_rules! each_op {
    ($op:expr, |$bound:ident| $body:expr) => {
        each_op!(@ $op, $bound, $body, Add Sub Mul Div Rem BitAnd BitOr BitXor And Or Shl Shr Eq Ne Lt Le Gt Ge)
    };
    (@ $op:expr, $bound:ident, $body:expr, $($name:ident)*) => {
        match $op {
            $(BinaryOp::$name => {
                let $bound = BinaryOp::$name;
                $body
            })*
        }
    };
}

/// `a op b` of integers of a type, in every lane, and the lanes that divide by zero.
pub(crate) fn integers(op: BinaryOp, a: &[i64; LANES], b: &[i64; LANES], elem: Elem) -> ([i64; LANES], u32) {
    match (op, elem) {
        (BinaryOp::Add, Elem::I32) => {
            (std::array::from_fn(|i| i64::from((a[i] as i32).wrapping_add(b[i] as i32))), 0)
        }
        (BinaryOp::Mul, Elem::I32) => {
            (std::array::from_fn(|i| i64::from((a[i] as i32).wrapping_mul(b[i] as i32))), 0)
        }
        // A loop of its own for each operation, so that the lanes do not choose one each.
        _ => each_op!(op, |op| checked(a, b, |a, b| integer(op, a, b, elem))),
    }
}

/// `a op b` of integers of a type; `None` for a division by zero.
#[inline(always)]
fn integer(op: BinaryOp, a: i64, b: i64, elem: Elem) -> Option<i64> {
    let count = b as u32 & (elem.bits() - 1);
    let natural = elem == Elem::U64;
    let exact = match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div | BinaryOp::Rem if b == 0 => return None,
        BinaryOp::Div if natural => (a as u64 / b as u64) as i64,
        BinaryOp::Rem if natural => (a as u64 % b as u64) as i64,
        BinaryOp::Div => a.wrapping_div(b),
        BinaryOp::Rem => a.wrapping_rem(b),
        BinaryOp::BitAnd | BinaryOp::And => a & b,
        BinaryOp::BitOr | BinaryOp::Or => a | b,
        BinaryOp::BitXor => a ^ b,
        BinaryOp::Shl => a.wrapping_shl(count),
        // Narrower unsigned values are zero-extended, so the arithmetic shift is the logical one.
        BinaryOp::Shr if natural => (a as u64).wrapping_shr(count) as i64,
        BinaryOp::Shr => a.wrapping_shr(count),
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
            i64::from(op.compare(&ordered(a, elem), &ordered(b, elem)))
        }
    };
    Some(elem.wrap(exact))
}

/// Maps the order of a type to the order of `i64`: a `u64` is stored as its bits.
pub(crate) fn ordered(value: i64, elem: Elem) -> i64 {
    if elem == Elem::U64 { value ^ i64::MIN } else { value }
}

pub(crate) fn smaller(a: i64, b: i64, elem: Elem) -> i64 {
    if ordered(a, elem) <= ordered(b, elem) { a } else { b }
}

pub(crate) fn larger(a: i64, b: i64, elem: Elem) -> i64 {
    if ordered(a, elem) >= ordered(b, elem) { a } else { b }
}

macro_rules! floats {
    ($name:ident, $float:ty) => {
        pub(crate) fn $name(
            op: FloatOp,
            a: &[$float; LANES],
            b: &[$float; LANES],
            c: &[$float; LANES],
        ) -> [$float; LANES] {
            match op {
                FloatOp::Copy => *a,
                FloatOp::Neg => std::array::from_fn(|i| -a[i]),
                FloatOp::Add => std::array::from_fn(|i| a[i] + b[i]),
                FloatOp::Sub => std::array::from_fn(|i| a[i] - b[i]),
                FloatOp::Mul => std::array::from_fn(|i| a[i] * b[i]),
                FloatOp::Div => std::array::from_fn(|i| a[i] / b[i]),
                FloatOp::Rem => std::array::from_fn(|i| a[i] % b[i]),
                FloatOp::MulThenAdd => std::array::from_fn(|i| a[i] * b[i] + c[i]),
            }
        }
    };
}

floats!(floats, f32);
floats!(doubles, f64);

/// A float as an integer of a type: saturating, NaN gives 0; `bool` is `value != 0`.
pub(crate) fn float_to_integer(value: f64, elem: Elem) -> i64 {
    match elem {
        Elem::U64 => value as u64 as i64,
        Elem::Bool => i64::from(value != 0.0),
        narrower => {
            let (least, most) = narrower.limits();
            (value as i64).clamp(least as i64, most as i64)
        }
    }
}

/// The lanes in which `a op b` holds.
pub(crate) fn compared<T: PartialOrd>(op: BinaryOp, a: &[T; LANES], b: &[T; LANES]) -> u32 {
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
