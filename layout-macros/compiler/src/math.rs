//! The elementwise words: functions of one thread's values. One table holds everything about a word except its
//! meaning.
//!
//! | column | content |
//! |---|---|
//! | name, form | the call: `x.sin()`, `byte_perm(a, b, selector)`, `f32::from_bits(x)` |
//! | domain | the types of the first operand |
//! | operands | the types of the others |
//! | result | its type |
//! | of floats, of integers | the spelling in CUDA C |
//! | feature | the required feature, where some architecture lacks it |
//!
//! Law: `meaning.rs` has a meaning for each word, which the simulator and compile time share. A new word takes a row
//! here, a line there, a stub in `lang`, and a function in `emit/device` where CUDA has none.

use super::arch::Feature;
use super::elem::{Elem, Format};
use super::intrinsic::Form;
use super::wire::wire;

/// Which types a word applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Every float; those of 16 and 8 bits are computed as `f32` and rounded.
    Float,
    /// `f32`, and by way of it the floats of 16 bits: the hardware's approximations.
    Single,
    /// Every integer.
    Integer,
    /// Unsigned integers.
    Natural,
    /// Floats and signed integers.
    Signed,
    /// Floats and integers.
    Number,
    /// `u32`.
    Word,
    /// `i32` and `u32`.
    Bytes,
}

impl Domain {
    /// Whether it has the type.
    pub fn holds(self, elem: Elem) -> bool {
        match self {
            Domain::Float => elem.is_float(),
            Domain::Single => elem == Elem::F32 || elem.is_small_float() && elem.bits() == 16,
            Domain::Integer => elem.is_integer(),
            Domain::Natural => elem.format() == Format::Unsigned,
            Domain::Signed => elem.is_signed(),
            Domain::Number => elem.is_float() || elem.is_integer(),
            Domain::Word => elem == Elem::U32,
            Domain::Bytes => matches!(elem, Elem::I32 | Elem::U32),
        }
    }
}

/// The type of an operand, or of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// The first operand's.
    Same,
    /// The unsigned integer of as many bits.
    Unsigned,
    /// `u32`.
    U32,
    /// `i32`.
    I32,
    /// `bool`.
    Bool,
}

impl Type {
    /// The type, where the first operand is of type `elem`.
    pub fn of(self, elem: Elem) -> Elem {
        match self {
            Type::Same => elem,
            Type::Unsigned => elem.unsigned(),
            Type::U32 => Elem::U32,
            Type::I32 => Elem::I32,
            Type::Bool => Elem::Bool,
        }
    }
}

/// How CUDA C says a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// Not of such types.
    None,
    /// A function of CUDA, with an `f` at its end of `float`.
    Libm(&'static str),
    /// A function of CUDA of this name for every type.
    Cuda(&'static str),
    /// A function of `device/`, one for each type.
    Device(&'static str),
    /// A template of `device/` of the type.
    Template(&'static str),
    /// A template of `device/` of the unsigned type of as many bits.
    Bits(&'static str),
    /// The bits of a float.
    ToBits,
    /// The float of the bits that are the second operand; the first one only says the type.
    FromBits,
}

macro_rules! words {
    ($($(#[doc = $doc:literal])* $variant:ident = $name:literal, $form:ident, $domain:ident [$($operand:ident)*] $result:ident,
        $floats:expr, $integers:expr, $arch:expr;)+) => {
        wire! {
            /// An elementwise word.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
            pub enum Math { $($(#[doc = $doc])* $variant,)+ }
        }

        impl Math {
            /// Every word.
            pub const ALL: [Math; [$($name),+].len()] = [$(Math::$variant),+];

            /// The name in Rust.
            pub const fn name(self) -> &'static str {
                match self { $(Math::$variant => $name,)+ }
            }

            /// What it gives, in a sentence.
            pub fn summary(self) -> &'static str {
                match self { $(Math::$variant => concat!($($doc),*).trim(),)+ }
            }

            /// How it is called.
            pub const fn form(self) -> Form {
                match self { $(Math::$variant => Form::$form,)+ }
            }

            /// How many operands it has, the receiver included.
            pub const fn arity(self) -> usize {
                self.operands().len() + 1
            }

            /// Which operands behind the first one have its type, and whether the result has it.
            pub fn follow_the_first(self) -> (Vec<bool>, bool) {
                let same = |ty: &Type| *ty == Type::Same;
                (self.operands().iter().map(same).collect(), same(&self.result()))
            }

            /// The type of the result, as far as it follows from that of the first operand.
            pub fn result_of(self, first: Option<Elem>) -> Option<Elem> {
                match (self.result(), first) {
                    (Type::Same | Type::Unsigned, None) => None,
                    (result, first) => Some(result.of(first.unwrap_or(Elem::Bool))),
                }
            }

            /// The types of the operands behind the first one.
            pub const fn operands(self) -> &'static [Type] {
                match self { $(Math::$variant => &[$(Type::$operand),*],)+ }
            }

            /// Whether a result beyond the ends of the type becomes the end.
            pub fn saturates(self) -> bool {
                matches!(self, Math::SaturatingAdd | Math::SaturatingSub | Math::SaturatingMul)
            }

            /// The types of the first operand.
            pub const fn domain(self) -> Domain {
                match self { $(Math::$variant => Domain::$domain,)+ }
            }

            /// The type of the result.
            pub const fn result(self) -> Type {
                match self { $(Math::$variant => Type::$result,)+ }
            }

            /// How CUDA C says it of floats, and of integers.
            pub const fn spelling(self) -> (Spelling, Spelling) {
                match self { $(Math::$variant => ($floats, $integers),)+ }
            }

            /// The feature that it needs, where some architecture lacks it.
            pub const fn needs(self) -> Option<Feature> {
                match self { $(Math::$variant => $arch,)+ }
            }
        }
    };
}

use Spelling::{Bits, Cuda, Device, FromBits, Libm, None as No, Template, ToBits};

words! {
    /// The smaller; of floats the number where the other is NaN, and -0 is below 0.
    Min = "min", Method, Number [Same] Same, Libm("fmin"), Cuda("min"), None;
    /// The larger, likewise.
    Max = "max", Method, Number [Same] Same, Libm("fmax"), Cuda("max"), None;
    /// Between two bounds; NaN stays NaN.
    Clamp = "clamp", Method, Number [Same Same] Same, Template("clamp"), Template("clamp"), None;
    /// The absolute value; of the least integer itself.
    Abs = "abs", Method, Signed [] Same, Libm("fabs"), Device("wrapping_abs"), None;
    /// The absolute value; of the least integer itself.
    WrappingAbs = "wrapping_abs", Method, Signed [] Same, No, Device("wrapping_abs"), None;
    /// -1, 0 or 1; of floats that of the sign, NaN of NaN.
    Signum = "signum", Method, Signed [] Same, Device("signum"), Template("signum_of_integer"), None;
    /// The first with the sign of the second.
    Copysign = "copysign", Method, Float [Same] Same, Libm("copysign"), No, None;
    /// Whether it is NaN.
    IsNan = "is_nan", Method, Float [] Bool, Device("is_nan"), No, None;
    /// Whether it is neither NaN nor infinite.
    IsFinite = "is_finite", Method, Float [] Bool, Device("is_finite"), No, None;
    /// Whether it is infinite.
    IsInfinite = "is_infinite", Method, Float [] Bool, Device("is_infinite"), No, None;
    /// The bits.
    ToBits = "to_bits", Method, Float [] Unsigned, ToBits, No, None;
    /// The float of the bits: `f32::from_bits(x)`; the first operand only says the type.
    FromBits = "from_bits", Associated, Float [Unsigned] Same, FromBits, No, None;
    /// `a * b + c`, rounded once; of 16-bit floats once more.
    MulAdd = "mul_add", Method, Float [Same Same] Same, Libm("fma"), No, None;
    /// The largest integer that is not above.
    Floor = "floor", Method, Float [] Same, Libm("floor"), No, None;
    /// The least integer that is not below.
    Ceil = "ceil", Method, Float [] Same, Libm("ceil"), No, None;
    /// The nearest integer, halves away from zero.
    Round = "round", Method, Float [] Same, Libm("round"), No, None;
    /// The nearest integer, halves to the even one.
    RoundTiesEven = "round_ties_even", Method, Float [] Same, Libm("rint"), No, None;
    /// The integer toward zero.
    Trunc = "trunc", Method, Float [] Same, Libm("trunc"), No, None;
    /// What `trunc` leaves.
    Fract = "fract", Method, Float [] Same, Device("fract"), No, None;
    /// Square root, correctly rounded.
    Sqrt = "sqrt", Method, Float [] Same, Libm("sqrt"), No, None;
    /// 1 / √x
    Rsqrt = "rsqrt", Method, Float [] Same, Libm("rsqrt"), No, None;
    /// 1 / x, correctly rounded.
    Recip = "recip", Method, Float [] Same, Device("recip"), No, None;
    /// Cube root.
    Cbrt = "cbrt", Method, Float [] Same, Libm("cbrt"), No, None;
    /// √(x² + y²)
    Hypot = "hypot", Method, Float [Same] Same, Libm("hypot"), No, None;
    /// eˣ
    Exp = "exp", Method, Float [] Same, Libm("exp"), No, None;
    /// 2ˣ
    Exp2 = "exp2", Method, Float [] Same, Libm("exp2"), No, None;
    /// eˣ - 1
    ExpM1 = "exp_m1", Method, Float [] Same, Libm("expm1"), No, None;
    /// Natural logarithm.
    Ln = "ln", Method, Float [] Same, Libm("log"), No, None;
    /// ln(1 + x)
    Ln1p = "ln_1p", Method, Float [] Same, Libm("log1p"), No, None;
    /// Logarithm to base 2.
    Log2 = "log2", Method, Float [] Same, Libm("log2"), No, None;
    /// Logarithm to base 10.
    Log10 = "log10", Method, Float [] Same, Libm("log10"), No, None;
    /// xʸ
    Powf = "powf", Method, Float [Same] Same, Libm("pow"), No, None;
    /// xⁿ by products of squares.
    Powi = "powi", Method, Float [I32] Same, Device("powi"), No, None;
    /// Sine.
    Sin = "sin", Method, Float [] Same, Libm("sin"), No, None;
    /// Cosine.
    Cos = "cos", Method, Float [] Same, Libm("cos"), No, None;
    /// Tangent.
    Tan = "tan", Method, Float [] Same, Libm("tan"), No, None;
    /// Arcsine.
    Asin = "asin", Method, Float [] Same, Libm("asin"), No, None;
    /// Arccosine.
    Acos = "acos", Method, Float [] Same, Libm("acos"), No, None;
    /// Arctangent.
    Atan = "atan", Method, Float [] Same, Libm("atan"), No, None;
    /// The angle of the point (x, y): `y.atan2(x)`.
    Atan2 = "atan2", Method, Float [Same] Same, Libm("atan2"), No, None;
    /// Hyperbolic sine.
    Sinh = "sinh", Method, Float [] Same, Libm("sinh"), No, None;
    /// Hyperbolic cosine.
    Cosh = "cosh", Method, Float [] Same, Libm("cosh"), No, None;
    /// Hyperbolic tangent.
    Tanh = "tanh", Method, Float [] Same, Libm("tanh"), No, None;
    /// The error function.
    Erf = "erf", Method, Float [] Same, Libm("erf"), No, None;
    /// 2ˣ by one instruction, `ex2.approx.ftz.f32`.
    Exp2Approx = "exp2_approx", Method, Single [] Same, Device("exp2_approx"), No, None;
    /// Logarithm to base 2, `lg2.approx.ftz.f32`.
    Log2Approx = "log2_approx", Method, Single [] Same, Device("log2_approx"), No, None;
    /// Sine, `sin.approx.ftz.f32`.
    SinApprox = "sin_approx", Method, Single [] Same, Device("sin_approx"), No, None;
    /// Cosine, `cos.approx.ftz.f32`.
    CosApprox = "cos_approx", Method, Single [] Same, Device("cos_approx"), No, None;
    /// Hyperbolic tangent, `tanh.approx.f32`.
    TanhApprox = "tanh_approx", Method, Single [] Same, Device("tanh_approx"), No, None;
    /// 1 / √x, `rsqrt.approx.ftz.f32`.
    RsqrtApprox = "rsqrt_approx", Method, Single [] Same, Device("rsqrt_approx"), No, None;
    /// Square root, `sqrt.approx.ftz.f32`.
    SqrtApprox = "sqrt_approx", Method, Single [] Same, Device("sqrt_approx"), No, None;
    /// 1 / x, `rcp.approx.ftz.f32`.
    RecipApprox = "recip_approx", Method, Single [] Same, Device("recip_approx"), No, None;
    /// x / y, `div.approx.ftz.f32`.
    DivApprox = "div_approx", Method, Single [Same] Same, Device("div_approx"), No, None;
    /// The nearest `f32` with 10 bits of fraction, ties to even (before sm_90 away from zero).
    RoundTf32 = "round_tf32", Internal, Single [] Same, Device("round_tf32"), No, None;
    /// The bits that are one.
    CountOnes = "count_ones", Method, Integer [] U32, No, Bits("count_ones"), None;
    /// The zeros above the highest one.
    LeadingZeros = "leading_zeros", Method, Integer [] U32, No, Bits("leading_zeros"), None;
    /// The zeros below the lowest one.
    TrailingZeros = "trailing_zeros", Method, Integer [] U32, No, Bits("trailing_zeros"), None;
    /// The bits, moved up in a circle.
    RotateLeft = "rotate_left", Method, Integer [U32] Same, No, Bits("rotate_left"), None;
    /// The bits, moved down in a circle.
    RotateRight = "rotate_right", Method, Integer [U32] Same, No, Bits("rotate_right"), None;
    /// The bits in the other order.
    ReverseBits = "reverse_bits", Method, Integer [] Same, No, Bits("reverse_bits"), None;
    /// The bytes in the other order.
    SwapBytes = "swap_bytes", Method, Integer [] Same, No, Bits("swap_bytes"), None;
    /// aⁿ modulo the type's width.
    Pow = "pow", Method, Integer [U32] Same, No, Bits("power"), None;
    /// The place of the highest one; of 0 it is 2³² - 1.
    Ilog2 = "ilog2", Method, Integer [] U32, No, Bits("integer_log2"), None;
    /// Whether exactly one bit is one.
    IsPowerOfTwo = "is_power_of_two", Method, Natural [] Bool, No, Template("is_power_of_two"), None;
    /// |a - b|
    AbsDiff = "abs_diff", Method, Integer [Same] Unsigned, No, Template("abs_diff"), None;
    /// a + b, cut at the ends of the type.
    SaturatingAdd = "saturating_add", Method, Integer [Same] Same, No, Template("saturating_add"), None;
    /// a - b, cut at the ends of the type.
    SaturatingSub = "saturating_sub", Method, Integer [Same] Same, No, Template("saturating_sub"), None;
    /// a * b, cut at the ends of the type.
    SaturatingMul = "saturating_mul", Method, Integer [Same] Same, No, Template("saturating_mul"), None;
    /// Four of the eight bytes of b and a, picked by the four lower digits of the selector.
    BytePerm = "byte_perm", Function, Word [Same Same] Same, No, Cuda("__byte_perm"), None;
    /// The upper 32 of the 64 bits high:low, moved up by n modulo 32.
    FunnelShiftLeft = "funnel_shift_left", Function, Word [Same U32] Same, No, Device("funnel_shift_left"), None;
    /// The lower 32 of the 64 bits high:low, moved down by n modulo 32.
    FunnelShiftRight = "funnel_shift_right", Function, Word [Same U32] Same, No, Device("funnel_shift_right"), None;
    /// The products of the four bytes of a and b, added to c.
    Dot4 = "dot4", Function, Bytes [Same Same] Same, No, Cuda("__dp4a"), None;
    /// The smaller of each two unsigned bytes.
    MinU8x4 = "min_u8x4", Function, Word [Same] Same, No, Cuda("__vminu4"), None;
    /// The smaller of each two signed bytes.
    MinI8x4 = "min_i8x4", Function, Word [Same] Same, No, Cuda("__vmins4"), None;
    /// The smaller of each two unsigned 16-bit halves.
    MinU16x2 = "min_u16x2", Function, Word [Same] Same, No, Cuda("__vminu2"), None;
    /// The smaller of each two signed 16-bit halves.
    MinI16x2 = "min_i16x2", Function, Word [Same] Same, No, Cuda("__vmins2"), None;
    /// The larger of each two unsigned bytes.
    MaxU8x4 = "max_u8x4", Function, Word [Same] Same, No, Cuda("__vmaxu4"), None;
    /// The larger of each two signed bytes.
    MaxI8x4 = "max_i8x4", Function, Word [Same] Same, No, Cuda("__vmaxs4"), None;
    /// The larger of each two unsigned 16-bit halves.
    MaxU16x2 = "max_u16x2", Function, Word [Same] Same, No, Cuda("__vmaxu2"), None;
    /// The larger of each two signed 16-bit halves.
    MaxI16x2 = "max_i16x2", Function, Word [Same] Same, No, Cuda("__vmaxs2"), None;
    /// The sum of each two bytes, modulo 2⁸.
    AddU8x4 = "add_u8x4", Function, Word [Same] Same, No, Cuda("__vadd4"), None;
    /// The sum of each two 16-bit halves, modulo 2¹⁶.
    AddU16x2 = "add_u16x2", Function, Word [Same] Same, No, Cuda("__vadd2"), None;
    /// The difference of each two bytes, modulo 2⁸.
    SubU8x4 = "sub_u8x4", Function, Word [Same] Same, No, Cuda("__vsub4"), None;
    /// The difference of each two 16-bit halves, modulo 2¹⁶.
    SubU16x2 = "sub_u16x2", Function, Word [Same] Same, No, Cuda("__vsub2"), None;
    /// 0xff in each byte where the first one is greater, unsigned; else 0.
    GtU8x4 = "gt_u8x4", Function, Word [Same] Same, No, Cuda("__vcmpgtu4"), None;
    /// 0xff in each byte where the first one is greater, signed; else 0.
    GtI8x4 = "gt_i8x4", Function, Word [Same] Same, No, Cuda("__vcmpgts4"), None;
    /// 0xffff in each 16-bit half where the first one is greater, unsigned; else 0.
    GtU16x2 = "gt_u16x2", Function, Word [Same] Same, No, Cuda("__vcmpgtu2"), None;
    /// 0xffff in each 16-bit half where the first one is greater, signed; else 0.
    GtI16x2 = "gt_i16x2", Function, Word [Same] Same, No, Cuda("__vcmpgts2"), None;
    /// 0xff in each byte where both are equal; else 0.
    EqU8x4 = "eq_u8x4", Function, Word [Same] Same, No, Cuda("__vcmpeq4"), None;
    /// 0xffff in each 16-bit half where both are equal; else 0.
    EqU16x2 = "eq_u16x2", Function, Word [Same] Same, No, Cuda("__vcmpeq2"), None;
}

impl Math {
    /// Whether it is a word of a first operand of this type.
    pub fn applies_to(self, elem: Elem) -> bool {
        let (floats, integers) = self.spelling();
        let spelling = if elem.is_float() { floats } else { integers };
        self.domain().holds(elem) && spelling != Spelling::None
    }

    /// Floating-point operations of one lane, for the counters.
    pub fn flops(self) -> u64 {
        match self.domain() {
            _ if self == Math::MulAdd => 2,
            _ if self.result() != Type::Same || self == Math::RoundTf32 || self == Math::FromBits => 0,
            Domain::Float | Domain::Single | Domain::Signed | Domain::Number => 1,
            Domain::Integer | Domain::Natural | Domain::Word | Domain::Bytes => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Domain, Math, Spelling};
    use crate::elem::Elem;

    #[test]
    fn a_word_is_spelled_for_the_types_that_it_applies_to() {
        for word in Math::ALL {
            let (floats, integers) = word.spelling();
            for elem in Elem::ALL {
                let spelling = if elem.is_float() { floats } else { integers };
                let none = word == Math::WrappingAbs && elem.is_float();
                assert!(
                    !word.domain().holds(elem) || none || spelling != Spelling::None,
                    "{word:?} of {elem}"
                );
            }
            assert!(word.arity() <= 3, "{word:?}: the simulator's instruction has three operands");
        }
        assert!(Domain::Single.holds(Elem::F16) && !Domain::Single.holds(Elem::F64));
    }
}
