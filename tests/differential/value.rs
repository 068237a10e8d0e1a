//! Values and what operators do with them, by plain Rust's rules: integers wrap, floats are IEEE, casts are `as`.
//!
//! An index is a number of 64 bits with a sign. What leaves them has no value that the language promises: the result is
//! still exact here, and [`leaves_64_bits`] says, so that nobody compares it.

use crate::tree::{BinaryOp, Math, UnaryOp};
use crate::types::{Kind, Type};
use half::{bf16, f16};
use std::fmt;

/// A value; its type is known where it is used. A float of any width is as the `f64` that equals it.
#[derive(Clone, Copy)]
pub enum Value {
    Float(f64),
    Int(i128),
    Bool(bool),
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Float(value) => write!(f, "{value:?}"),
            Value::Int(value) => write!(f, "{value}"),
            Value::Bool(value) => write!(f, "{value}"),
        }
    }
}

use Value::{Bool, Float, Int};

impl Value {
    pub fn int(self) -> i128 {
        match self {
            Int(value) => value,
            Bool(value) => value.into(),
            Float(value) => value as i128,
        }
    }

    pub fn float(self) -> f64 {
        match self {
            Float(value) => value,
            Int(value) => value as f64,
            Bool(value) => f64::from(u8::from(value)),
        }
    }

    pub fn truth(self) -> bool {
        match self {
            Bool(value) => value,
            Int(value) => value != 0,
            Float(value) => value != 0.0,
        }
    }

    /// The bytes of an element.
    pub fn bytes(self, ty: Type) -> Vec<u8> {
        match ty {
            Type::F64 => self.float().to_le_bytes().to_vec(),
            Type::F32 => (self.float() as f32).to_le_bytes().to_vec(),
            Type::F16 => f16::from_f64(self.float()).to_le_bytes().to_vec(),
            Type::Bf16 => bf16::from_f64(self.float()).to_le_bytes().to_vec(),
            _ => (self.int() as i64).to_le_bytes()[..ty.bytes()].to_vec(),
        }
    }

    /// The element that bytes are.
    pub fn of_bytes(ty: Type, bytes: &[u8]) -> Value {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        let bits = u64::from_le_bytes(word);
        match ty.kind() {
            Kind::Float(_) => Float(match ty {
                Type::F64 => f64::from_bits(bits),
                Type::F32 => f32::from_bits(bits as u32).into(),
                Type::F16 => f16::from_bits(bits as u16).to_f64(),
                _ => bf16::from_bits(bits as u16).to_f64(),
            }),
            Kind::Bool => Bool(bits != 0),
            Kind::Integer(..) | Kind::Index => Int(wrap(bits.into(), ty)),
        }
    }

    /// Bit for bit, but for what NaN holds.
    pub fn same(self, other: Value) -> bool {
        match (self, other) {
            (Float(a), Float(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
            (Int(a), Int(b)) => a == b,
            (Bool(a), Bool(b)) => a == b,
            _ => false,
        }
    }
}

pub fn zero(ty: Type) -> Value {
    match ty.kind() {
        Kind::Float(_) => Float(0.0),
        Kind::Bool => Bool(false),
        Kind::Integer(..) | Kind::Index => Int(0),
    }
}

/// Whether an index has left 64 bits.
pub fn leaves_64_bits(ty: Type, value: Value) -> bool {
    ty == Type::Index && i64::try_from(value.int()).is_err()
}

/// An integer at the width of its type. An index stays whole.
pub fn wrap(value: i128, ty: Type) -> i128 {
    match ty.kind() {
        Kind::Integer(bits, signed) => {
            let low = value & ((1 << bits) - 1);
            if signed && low >> (bits - 1) != 0 { low - (1 << bits) } else { low }
        }
        Kind::Index | Kind::Bool | Kind::Float(_) => value,
    }
}

/// A result of f64 or f32 arithmetic, rounded to the type.
pub fn rounded(ty: Type, wide: f64, single: f32) -> Value {
    Float(match ty {
        Type::F64 => wide,
        Type::F32 => single.into(),
        Type::F16 => f16::from_f32(single).to_f64(),
        _ => bf16::from_f32(single).to_f64(),
    })
}

pub fn unary(op: UnaryOp, ty: Type, value: Value) -> Value {
    match (op, value) {
        (UnaryOp::Neg, Float(value)) => Float(-value),
        (UnaryOp::Neg, value) => Int(wrap(value.int().saturating_neg(), ty)),
        (UnaryOp::Not, Bool(value)) => Bool(!value),
        (UnaryOp::Not, value) => Int(wrap(!value.int(), ty)),
    }
}

/// `a op b` of two values of a type; `None` for a division by zero.
pub fn binary(op: BinaryOp, ty: Type, a: Value, b: Value) -> Option<Value> {
    use BinaryOp as B;
    if op.compares() {
        return Some(Bool(match (a, b) {
            (Float(a), Float(b)) => compare(op, &a, &b),
            _ => compare(op, &a.int(), &b.int()),
        }));
    }
    if ty.is_float() {
        let (a, b) = (a.float(), b.float());
        let (x, y) = (a as f32, b as f32);
        return Some(match op {
            B::Add => rounded(ty, a + b, x + y),
            B::Sub => rounded(ty, a - b, x - y),
            B::Mul => rounded(ty, a * b, x * y),
            B::Div => rounded(ty, a / b, x / y),
            B::Rem => rounded(ty, a % b, x % y),
            _ => return None,
        });
    }
    let (x, y) = (a.int(), b.int());
    let count = (y & i128::from(8 * ty.bytes() as u32 - 1)) as u32;
    let exact = match op {
        B::Add => x.saturating_add(y),
        B::Sub => x.saturating_sub(y),
        // An index that has left 64 bits may leave these, too.
        B::Mul if ty == Type::Index => x.saturating_mul(y),
        B::Mul => x.wrapping_mul(y),
        B::Div => x.checked_div(y)?,
        B::Rem => x.checked_rem(y)?,
        B::And | B::BitAnd => x & y,
        B::Or | B::BitOr => x | y,
        B::Xor => x ^ y,
        // An index may have left any width.
        B::Shl => x.checked_mul(1 << count).unwrap_or(i128::MAX),
        B::Shr => x >> count,
        B::Eq | B::Ne | B::Lt | B::Le | B::Gt | B::Ge => return None,
    };
    Some(if ty == Type::Bool { Bool(exact != 0) } else { Int(wrap(exact, ty)) })
}

fn compare<T: PartialOrd>(op: BinaryOp, a: &T, b: &T) -> bool {
    match op {
        BinaryOp::Eq => a == b,
        BinaryOp::Ne => a != b,
        BinaryOp::Lt => a < b,
        BinaryOp::Le => a <= b,
        BinaryOp::Gt => a > b,
        _ => a >= b,
    }
}

pub fn math(function: Math, ty: Type, values: &[Value]) -> Value {
    let at = |number: usize| values.get(number).copied().unwrap_or(Int(0));
    if ty.is_float() {
        let [a, b, c] = [at(0).float(), at(1).float(), at(2).float()];
        let [x, y, z] = [a as f32, b as f32, c as f32];
        return match function {
            Math::Min => rounded(ty, smaller(a, b), smaller(a, b) as f32),
            Math::Max => rounded(ty, -smaller(-a, -b), -smaller(-a, -b) as f32),
            Math::Abs => rounded(ty, a.abs(), x.abs()),
            Math::Sqrt => rounded(ty, a.sqrt(), x.sqrt()),
            Math::MulAdd => rounded(ty, a.mul_add(b, c), x.mul_add(y, z)),
            Math::DivCeil => Float(0.0),
        };
    }
    let (a, b) = (at(0).int(), at(1).int());
    Int(match function {
        Math::Min => a.min(b),
        Math::Max => a.max(b),
        Math::Abs => wrap(a.saturating_abs(), ty),
        Math::MulAdd => wrap(a.saturating_mul(b).saturating_add(at(2).int()), ty),
        Math::DivCeil => a.saturating_add(b - 1).checked_div(b).unwrap_or(0),
        Math::Sqrt => a,
    })
}

/// PTX's `min`: the number where the other is NaN, and -0 is below 0.
fn smaller(a: f64, b: f64) -> f64 {
    if a < b || (a == b && a.is_sign_negative()) || b.is_nan() { a } else { b }
}

/// `value as to`.
pub fn cast(from: Type, to: Type, value: Value) -> Value {
    match (to.kind(), from.kind()) {
        (Kind::Float(_), Kind::Float(_)) => Float(narrowed(to, value.float())),
        (Kind::Float(_), _) => {
            let whole = value.int();
            Float(match to {
                Type::F64 => whole as f64,
                Type::F32 => (whole as f32).into(),
                _ => narrowed(to, odd(whole)),
            })
        }
        (Kind::Integer(..), Kind::Float(_)) => {
            let (least, most) = to.limits();
            // `as` saturates, and so does this: every limit is an i128, and NaN gives 0.
            Int((value.float() as i128).clamp(least, most))
        }
        (Kind::Bool, _) => Bool(value.truth()),
        (Kind::Index, _) if from == Type::U64 => Int(i128::from(value.int() as i64)),
        _ => Int(wrap(value.int(), to)),
    }
}

/// The nearest float of a type, of an exact f64.
fn narrowed(to: Type, value: f64) -> f64 {
    match to {
        Type::F64 => value,
        Type::F32 => (value as f32).into(),
        Type::F16 => f16::from_f32(single(value)).to_f64(),
        _ => bf16::from_f32(single(value)).to_f64(),
    }
}

/// An f64 as an f32, rounded to odd: a float of 16 bits of it is rounded once.
fn single(value: f64) -> f32 {
    let near = value as f32;
    if f64::from(near) == value || !near.is_finite() {
        return near;
    }
    let beyond = f64::from(near).abs() > value.abs();
    f32::from_bits((near.to_bits() - u32::from(beyond)) | 1)
}

/// An integer of at most 65 bits as an f64, rounded to odd: a narrower float of it is rounded once.
fn odd(value: i128) -> f64 {
    let size = value.unsigned_abs();
    let shift = 128u32.saturating_sub(size.leading_zeros()).saturating_sub(53);
    let sticky = u128::from(size & ((1 << shift) - 1) != 0);
    let kept = ((size >> shift) | sticky) << shift;
    let magnitude = kept as f64;
    if value < 0 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    //! Every operator and cast against what rustc makes of it.

    use super::*;
    use crate::tree::BinaryOp as B;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn check(what: &str, ty: Type, left: i128, right: i128, found: Option<Value>, wanted: i128) {
        let found = found.map(Value::int);
        assert_eq!(found, Some(wanted), "{left} {what} {right} of {}", ty.name());
    }

    macro_rules! integers {
        ($random:ident: $($type:ident $ty:ident,)*) => {$(
            let (a, b) = ($random.random::<$type>() >> $random.random_range(0..8), $random.random::<$type>() | 1);
            let (x, y) = (i128::from(a), i128::from(b));
            let ty = Type::$ty;
            let of = |op| binary(op, ty, Int(x), Int(y));
            check("+", ty, x, y, of(B::Add), a.wrapping_add(b).into());
            check("-", ty, x, y, of(B::Sub), a.wrapping_sub(b).into());
            check("*", ty, x, y, of(B::Mul), a.wrapping_mul(b).into());
            check("/", ty, x, y, of(B::Div), a.wrapping_div(b).into());
            check("%", ty, x, y, of(B::Rem), a.wrapping_rem(b).into());
            check("&", ty, x, y, of(B::BitAnd), (a & b).into());
            check("|", ty, x, y, of(B::BitOr), (a | b).into());
            check("^", ty, x, y, of(B::Xor), (a ^ b).into());
            check("<<", ty, x, y, of(B::Shl), a.wrapping_shl(b as u32).into());
            check(">>", ty, x, y, of(B::Shr), a.wrapping_shr(b as u32).into());
            check("<", ty, x, y, of(B::Lt), (a < b).into());
            check(">=", ty, x, y, of(B::Ge), (a >= b).into());
            check("min", ty, x, y, Some(math(Math::Min, ty, &[Int(x), Int(y)])), a.min(b).into());
            check("!", ty, x, 0, Some(unary(UnaryOp::Not, ty, Int(x))), (!a).into());
            check("neg", ty, x, 0, Some(unary(UnaryOp::Neg, ty, Int(x))), a.wrapping_neg().into());
            let to = |to| Some(cast(ty, to, Int(x)));
            check("as i8", ty, x, 0, to(Type::I8), (a as i8).into());
            check("as u8", ty, x, 0, to(Type::U8), (a as u8).into());
            check("as i16", ty, x, 0, to(Type::I16), (a as i16).into());
            check("as u32", ty, x, 0, to(Type::U32), (a as u32).into());
            check("as i64", ty, x, 0, to(Type::I64), (a as i64).into());
            check("as u64", ty, x, 0, to(Type::U64), (a as u64).into());
            check("as isize", ty, x, 0, to(Type::Index), (a as i64).into());
            assert!(cast(ty, Type::F32, Int(x)).same(Float((a as f32).into())), "{a} as f32");
            assert!(cast(ty, Type::F64, Int(x)).same(Float(a as f64)), "{a} as f64");
            let real = f64::from_bits($random.random());
            let real = if $random.random() { real } else { $random.random_range(-1e6..1e6) };
            check("from f64", ty, 0, 0, Some(cast(Type::F64, ty, Float(real))), (real as $type).into());
            let single = real as f32;
            check("from f32", ty, 0, 0, Some(cast(Type::F32, ty, Float(single.into()))), (single as $type).into());
        )*};
    }

    #[test]
    fn integers_are_those_of_rustc() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..2000 {
            integers!(random: i8 I8, u8 U8, i16 I16, u16 U16, i32 I32, u32 U32, i64 I64, u64 U64,);
        }
    }

    #[test]
    fn floats_are_those_of_rustc() {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        for _ in 0..5000 {
            let [a, b, c]: [f32; 3] = std::array::from_fn(|_| f32::from_bits(random.random()));
            let of = |op, ty| binary(op, ty, Float(a.into()), Float(b.into())).expect("a float");
            for (op, single, wide) in [
                (B::Add, a + b, f64::from(a) + f64::from(b)),
                (B::Sub, a - b, f64::from(a) - f64::from(b)),
                (B::Mul, a * b, f64::from(a) * f64::from(b)),
                (B::Div, a / b, f64::from(a) / f64::from(b)),
            ] {
                assert!(of(op, Type::F32).same(Float(single.into())), "{a} {op:?} {b}");
                assert!(of(op, Type::F64).same(Float(wide)), "{a} {op:?} {b}");
            }
            let fused = math(Math::MulAdd, Type::F32, &[a, b, c].map(|value| Float(value.into())));
            assert!(fused.same(Float(a.mul_add(b, c).into())), "{a} * {b} + {c}");
            let root = math(Math::Sqrt, Type::F32, &[Float(a.into())]);
            assert!(root.same(Float(a.sqrt().into())), "sqrt {a}");
        }
        // An integer becomes a bf16 in one rounding: by way of an f32 this one would be 2^24.
        let tie = (1 << 24) + (1 << 16) + 1;
        assert_eq!(cast(Type::I32, Type::Bf16, Int(tie)).float(), 16_908_288.0);
    }
}
