//! The elementwise words whose result is exact, and what Rust's standard library makes of them.
//!
//! Law: the meaning of a word of Rust is a call of Rust's own function on Rust's own type; nothing of the compiler is asked.

use crate::plain::packed::packed;
use crate::types::{Kind, Type};
use crate::value::{Value, rounded, wrap};

/// Which types a word applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Domain {
    Float,
    Integer,
    Signed,
    Natural,
    /// `u32`
    Word,
    /// `i32` and `u32`
    Bytes,
}

impl Domain {
    fn holds(self, ty: Type) -> bool {
        match (self, ty.kind()) {
            (Domain::Float, Kind::Float(_)) | (Domain::Integer, Kind::Integer(..)) => true,
            (Domain::Signed, Kind::Integer(_, signed)) => signed,
            (Domain::Natural, Kind::Integer(_, signed)) => !signed,
            (Domain::Word, _) => ty == Type::U32,
            (Domain::Bytes, _) => matches!(ty, Type::I32 | Type::U32),
            _ => false,
        }
    }
}

/// The type of an operand or of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    Same,
    /// Of the first operand's type, and not 0.
    Divisor,
    Unsigned,
    U32,
    Bool,
}

impl Slot {
    pub fn of(self, ty: Type) -> Type {
        match self {
            Slot::Same | Slot::Divisor => ty,
            Slot::Unsigned => ty.unsigned(),
            Slot::U32 => Type::U32,
            Slot::Bool => Type::Bool,
        }
    }
}

/// How a word is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `a.name(b)`
    Method,
    /// `name(a, b)`
    Function,
    /// `T::name(a)`
    Associated,
}

/// A word: how it is said, of what, and what it gives.
#[derive(Debug)]
pub struct Word {
    pub name: &'static str,
    pub form: Form,
    domain: Domain,
    pub operands: &'static [Slot],
    pub result: Slot,
}

use Domain::{Bytes, Float, Integer, Natural, Signed};
use Form::{Associated, Function, Method};
use Slot::{Bool, Divisor, Same, U32, Unsigned};

/// The words. The first operand is of the type that the word is of, but for `from_bits`.
pub static WORDS: [Word; 62] = {
    const fn row(
        name: &'static str,
        form: Form,
        domain: Domain,
        operands: &'static [Slot],
        result: Slot,
    ) -> Word {
        Word { name, form, domain, operands, result }
    }
    [
        row("count_ones", Method, Integer, &[Same], U32),
        row("leading_zeros", Method, Integer, &[Same], U32),
        row("trailing_zeros", Method, Integer, &[Same], U32),
        row("rotate_left", Method, Integer, &[Same, U32], Same),
        row("rotate_right", Method, Integer, &[Same, U32], Same),
        row("reverse_bits", Method, Integer, &[Same], Same),
        row("swap_bytes", Method, Integer, &[Same], Same),
        row("wrapping_add", Method, Integer, &[Same, Same], Same),
        row("wrapping_sub", Method, Integer, &[Same, Same], Same),
        row("wrapping_mul", Method, Integer, &[Same, Same], Same),
        row("wrapping_neg", Method, Integer, &[Same], Same),
        row("saturating_add", Method, Integer, &[Same, Same], Same),
        row("saturating_sub", Method, Integer, &[Same, Same], Same),
        row("saturating_mul", Method, Integer, &[Same, Same], Same),
        row("pow", Method, Integer, &[Same, U32], Same),
        row("abs_diff", Method, Integer, &[Same, Same], Unsigned),
        row("div_euclid", Method, Integer, &[Same, Divisor], Same),
        row("rem_euclid", Method, Integer, &[Same, Divisor], Same),
        row("clamp", Method, Integer, &[Same, Same, Same], Same),
        row("signum", Method, Signed, &[Same], Same),
        row("is_power_of_two", Method, Natural, &[Same], Bool),
        // Of 0 it is a mistake.
        row("ilog2", Method, Natural, &[Divisor], U32),
        row("byte_perm", Function, Domain::Word, &[Same, Same, Same], Same),
        row("funnel_shift_left", Function, Domain::Word, &[Same, Same, U32], Same),
        row("funnel_shift_right", Function, Domain::Word, &[Same, Same, U32], Same),
        row("dot4", Function, Bytes, &[Same, Same, Same], Same),
        row("min_u8x4", Function, Domain::Word, &[Same, Same], Same),
        row("min_i8x4", Function, Domain::Word, &[Same, Same], Same),
        row("min_u16x2", Function, Domain::Word, &[Same, Same], Same),
        row("min_i16x2", Function, Domain::Word, &[Same, Same], Same),
        row("max_u8x4", Function, Domain::Word, &[Same, Same], Same),
        row("max_i8x4", Function, Domain::Word, &[Same, Same], Same),
        row("max_u16x2", Function, Domain::Word, &[Same, Same], Same),
        row("max_i16x2", Function, Domain::Word, &[Same, Same], Same),
        row("add_u8x4", Function, Domain::Word, &[Same, Same], Same),
        row("add_u16x2", Function, Domain::Word, &[Same, Same], Same),
        row("sub_u8x4", Function, Domain::Word, &[Same, Same], Same),
        row("sub_u16x2", Function, Domain::Word, &[Same, Same], Same),
        row("gt_u8x4", Function, Domain::Word, &[Same, Same], Same),
        row("gt_i8x4", Function, Domain::Word, &[Same, Same], Same),
        row("gt_u16x2", Function, Domain::Word, &[Same, Same], Same),
        row("gt_i16x2", Function, Domain::Word, &[Same, Same], Same),
        row("eq_u8x4", Function, Domain::Word, &[Same, Same], Same),
        row("eq_u16x2", Function, Domain::Word, &[Same, Same], Same),
        row("floor", Method, Float, &[Same], Same),
        row("ceil", Method, Float, &[Same], Same),
        row("round", Method, Float, &[Same], Same),
        row("round_ties_even", Method, Float, &[Same], Same),
        row("trunc", Method, Float, &[Same], Same),
        row("fract", Method, Float, &[Same], Same),
        row("abs", Method, Float, &[Same], Same),
        row("signum", Method, Float, &[Same], Same),
        row("copysign", Method, Float, &[Same, Same], Same),
        row("recip", Method, Float, &[Same], Same),
        row("sqrt", Method, Float, &[Same], Same),
        row("min", Method, Float, &[Same, Same], Same),
        row("max", Method, Float, &[Same, Same], Same),
        row("mul_add", Method, Float, &[Same, Same, Same], Same),
        row("is_nan", Method, Float, &[Same], Bool),
        row("is_finite", Method, Float, &[Same], Bool),
        row("is_infinite", Method, Float, &[Same], Bool),
        row("from_bits", Associated, Float, &[Unsigned], Same),
    ]
};

impl Word {
    /// The numbers of the words of a type that give one of `result`.
    pub fn giving(result: Type, types: &[Type]) -> Vec<(usize, Type)> {
        let fits =
            |number: usize, ty: Type| WORDS[number].domain.holds(ty) && WORDS[number].result.of(ty) == result;
        let all = (0..WORDS.len()).flat_map(|number| types.iter().map(move |ty| (number, *ty)));
        all.filter(|(number, ty)| fits(*number, *ty)).collect()
    }

    /// What it gives of a type's values.
    pub fn apply(&self, ty: Type, values: &[Value]) -> Value {
        if ty.is_float() {
            return self.of_floats(ty, values);
        }
        let at = |number: usize| values.get(number).map_or(0, |value| value.int());
        let whole = self.of_integers(ty, [at(0), at(1), at(2)]);
        if self.result == Bool { Value::Bool(whole != 0) } else { Value::Int(whole) }
    }

    fn of_floats(&self, ty: Type, values: &[Value]) -> Value {
        if self.form == Associated {
            let bits = wrap(values[0].int(), ty.unsigned()) as u64;
            return Value::of_bytes(ty, &bits.to_le_bytes()[..ty.bytes()]);
        }
        let at = |number: usize| values.get(number).map_or(0.0, |value| value.float());
        let [a, b, c] = [at(0), at(1), at(2)];
        let [x, y, z] = [a as f32, b as f32, c as f32];
        macro_rules! both {
            ($($name:literal => $wide:expr, $single:expr;)*) => {
                match self.name {
                    "is_nan" => Value::Bool(a.is_nan()),
                    "is_finite" => Value::Bool(a.is_finite()),
                    "is_infinite" => Value::Bool(a.is_infinite()),
                    $($name => rounded(ty, $wide, $single),)*
                    other => unreachable!("no meaning of {other}"),
                }
            };
        }
        both! {
            "floor" => a.floor(), x.floor();
            "ceil" => a.ceil(), x.ceil();
            "round" => a.round(), x.round();
            "round_ties_even" => a.round_ties_even(), x.round_ties_even();
            "trunc" => a.trunc(), x.trunc();
            "fract" => a.fract(), x.fract();
            "abs" => a.abs(), x.abs();
            "signum" => a.signum(), x.signum();
            "copysign" => a.copysign(b), x.copysign(y);
            "recip" => a.recip(), x.recip();
            "sqrt" => a.sqrt(), x.sqrt();
            // PTX's: the number where the other is NaN, and -0 is below 0.
            "min" => smaller(a, b), smaller(a, b) as f32;
            "max" => -smaller(-a, -b), -smaller(-a, -b) as f32;
            "mul_add" => a.mul_add(b, c), x.mul_add(y, z);
        }
    }

    fn of_integers(&self, ty: Type, values: [i128; 3]) -> i128 {
        let words = values.map(|value| value as u32);
        if let Some(word) = packed(self.name) {
            return word(words[0], words[1]).into();
        }
        match self.name {
            "byte_perm" => byte_perm(words).into(),
            "funnel_shift_left" => {
                let wide = (u64::from(words[0]) << 32 | u64::from(words[1])) << (words[2] % 32);
                (wide >> 32).into()
            }
            "funnel_shift_right" => {
                let wide = (u64::from(words[0]) << 32 | u64::from(words[1])) >> (words[2] % 32);
                i128::from(wide as u32)
            }
            "dot4" => {
                let bytes = |word: u32| word.to_le_bytes();
                let pairs = bytes(words[0]).into_iter().zip(bytes(words[1]));
                let sum: i128 = match ty {
                    Type::I32 => pairs.map(|(a, b)| i128::from(a as i8) * i128::from(b as i8)).sum(),
                    _ => pairs.map(|(a, b)| i128::from(a) * i128::from(b)).sum(),
                };
                wrap(sum + values[2], ty)
            }
            _ => match ty {
                Type::I8 => signed::i8(self.name, values),
                Type::I16 => signed::i16(self.name, values),
                Type::I32 => signed::i32(self.name, values),
                Type::I64 => signed::i64(self.name, values),
                Type::U8 => natural::u8(self.name, values),
                Type::U16 => natural::u16(self.name, values),
                Type::U32 => natural::u32(self.name, values),
                _ => natural::u64(self.name, values),
            },
        }
    }
}

fn smaller(a: f64, b: f64) -> f64 {
    if a < b || (a == b && a.is_sign_negative()) || b.is_nan() { a } else { b }
}

/// PTX's `prmt`, without the replication of signs.
fn byte_perm([a, b, selector]: [u32; 3]) -> u32 {
    let eight = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
    u32::from_le_bytes(std::array::from_fn(|byte| eight[(selector >> (4 * byte) & 7) as usize]))
}

/// A function for each type of Rust, named as the type.
macro_rules! rust {
    ($room:ident, $($own:ident)*; |$x:ident, $name:ident| $more:expr) => {
        mod $room {$(
            pub fn $own(name: &str, [a, b, c]: [i128; 3]) -> i128 {
                let (x, y, z, n) = (a as $own, b as $own, c as $own, b as u32);
                match name {
                    "count_ones" => x.count_ones().into(),
                    "leading_zeros" => x.leading_zeros().into(),
                    "trailing_zeros" => x.trailing_zeros().into(),
                    "rotate_left" => x.rotate_left(n).into(),
                    "rotate_right" => x.rotate_right(n).into(),
                    "reverse_bits" => x.reverse_bits().into(),
                    "swap_bytes" => x.swap_bytes().into(),
                    "wrapping_add" => x.wrapping_add(y).into(),
                    "wrapping_sub" => x.wrapping_sub(y).into(),
                    "wrapping_mul" => x.wrapping_mul(y).into(),
                    "wrapping_neg" => x.wrapping_neg().into(),
                    "saturating_add" => x.saturating_add(y).into(),
                    "saturating_sub" => x.saturating_sub(y).into(),
                    "saturating_mul" => x.saturating_mul(y).into(),
                    "pow" => x.wrapping_pow(n).into(),
                    "abs_diff" => x.abs_diff(y).into(),
                    "div_euclid" => x.wrapping_div_euclid(y).into(),
                    "rem_euclid" => x.wrapping_rem_euclid(y).into(),
                    // The generator puts the bounds in order.
                    "clamp" => x.clamp(y, z).into(),
                    _ => {
                        let ($x, $name) = (x, name);
                        $more
                    }
                }
            }
        )*}
    };
}

rust!(signed, i8 i16 i32 i64; |x, name| match name {
    "signum" => x.signum().into(),
    other => unreachable!("no meaning of {other}"),
});
rust!(natural, u8 u16 u32 u64; |x, name| match name {
    "is_power_of_two" => x.is_power_of_two().into(),
    "ilog2" => x.ilog2().into(),
    other => unreachable!("no meaning of {other}"),
});

#[cfg(test)]
mod tests {
    use super::*;
    use layout_compiler::math::Math;

    /// Words whose results are rounded otherwise on the simulator and on a GPU, or that other words are for.
    const INEXACT: &[&str] = &[
        "rsqrt",
        "cbrt",
        "hypot",
        "exp",
        "exp2",
        "exp_m1",
        "ln",
        "ln_1p",
        "log2",
        "log10",
        "powf",
        "powi",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "atan2",
        "sinh",
        "cosh",
        "tanh",
        "erf",
        "exp2_approx",
        "log2_approx",
        "sin_approx",
        "cos_approx",
        "tanh_approx",
        "rsqrt_approx",
        "sqrt_approx",
        "recip_approx",
        "div_approx",
        "round_tf32",
        "wrapping_abs",
        "to_bits",
    ];

    #[test]
    fn every_exact_word_of_the_language_is_here() {
        for word in Math::ALL {
            let known = WORDS.iter().any(|own| own.name == word.name());
            assert!(known || INEXACT.contains(&word.name()), "{}: a row in words.rs", word.name());
        }
    }

    #[test]
    fn every_row_has_a_meaning() {
        for word in &WORDS {
            for ty in Type::elements().into_iter().filter(|ty| word.domain.holds(*ty)) {
                let one =
                    if ty.is_float() && word.form == Method { Value::Float(1.0) } else { Value::Int(1) };
                word.apply(ty, &[one; 3]);
            }
        }
    }
}
