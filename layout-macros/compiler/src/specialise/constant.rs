//! Constant expressions. A number that must be known at compile time may be an expression: `const THIRD: f32 = 1.0 /
//! 3.0;`.
//!
//! Law: the number equals the expression's value in the kernel: each operation rounds to its type, integers wrap.

use crate::elem::{Constant, Elem};
use crate::ir::{BinaryOp, UnaryOp};
use crate::program::Value;

/// How deep nested operations are looked into.
const DEPTH: u32 = 64;

/// The number that a value always is, where it is computed from numbers by `+ - * / %`, shifts, bits and signs.
pub(super) fn known<A>(value: &Value<A>) -> Option<Constant> {
    folded(value, DEPTH)
}

fn folded<A>(value: &Value<A>, depth: u32) -> Option<Constant> {
    let depth = depth.checked_sub(1)?;
    match value {
        Value::Constant(constant) => Some(*constant),
        Value::Unary(op, operand) => unary(*op, folded(operand, depth)?),
        Value::Binary(op, left, right) => binary(*op, folded(left, depth)?, folded(right, depth)?),
        _ => None,
    }
}

fn unary(op: UnaryOp, operand: Constant) -> Option<Constant> {
    let elem = operand.elem;
    match op {
        UnaryOp::Neg if elem.is_float() => float(elem, -operand.as_f64()),
        UnaryOp::Neg => whole(elem, -operand.as_i128()),
        UnaryOp::Not if elem == Elem::Bool => Some(Constant::bool(operand.bits == 0)),
        UnaryOp::Not => whole(elem, !operand.as_i128()),
    }
}

/// A result of `f64` arithmetic as one of the type: that of a narrow one is an `f32`'s, rounded once more.
fn float(elem: Elem, exact: f64) -> Option<Constant> {
    Constant::float(elem, if elem == Elem::F64 { exact } else { f64::from(exact as f32) })
}

/// An integer at the width of its type.
fn whole(elem: Elem, exact: i128) -> Option<Constant> {
    if !elem.is_integer() {
        return None;
    }
    let low = exact & ((1 << elem.bits()) - 1);
    let (_, most) = elem.limits();
    Constant::integer(elem, if low > most { low - (1 << elem.bits()) } else { low })
}

fn binary(op: BinaryOp, left: Constant, right: Constant) -> Option<Constant> {
    let elem = left.elem;
    if right.elem != elem {
        return None;
    }
    if elem.is_float() {
        // A sum, a product or a quotient of two `f32` in `f64`, rounded to `f32`, is the one of `f32`.
        let (a, b) = (left.as_f64(), right.as_f64());
        return match op {
            BinaryOp::Add => float(elem, a + b),
            BinaryOp::Sub => float(elem, a - b),
            BinaryOp::Mul => float(elem, a * b),
            BinaryOp::Div => float(elem, a / b),
            BinaryOp::Rem => float(elem, a % b),
            _ => None,
        };
    }
    let (a, b) = (left.as_i128(), right.as_i128());
    let count = u32::try_from(b & i128::from(elem.bits() - 1)).ok()?;
    match op {
        BinaryOp::Add => whole(elem, a + b),
        BinaryOp::Sub => whole(elem, a - b),
        BinaryOp::Mul => whole(elem, a.wrapping_mul(b)),
        BinaryOp::Div => whole(elem, a.checked_div(b)?),
        BinaryOp::Rem => whole(elem, a.checked_rem(b)?),
        BinaryOp::BitAnd => whole(elem, a & b),
        BinaryOp::BitOr => whole(elem, a | b),
        BinaryOp::BitXor => whole(elem, a ^ b),
        BinaryOp::Shl => whole(elem, a << count),
        BinaryOp::Shr => whole(elem, a >> count),
        _ => None,
    }
}
