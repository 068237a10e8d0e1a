//! Element types: the type of an element of a tensor, of a shared or local tensor, or of a scalar variable.
//!
//! One table lists the number formats. Code that depends on a format reads its bits, sign and kind from the table and
//! names no type.

use super::small_float;
use super::wire::wire;
use std::fmt;

/// What the bits of a number mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A float that Rust and C have.
    Float,
    /// A float that Rust has not: the simulator keeps it as the `f32` of its value, C as its bits.
    SmallFloat(SmallFloat),
    /// Two's complement.
    Signed,
    /// A natural number.
    Unsigned,
    /// 0 or 1.
    Truth,
}

/// How a small float is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmallFloat {
    /// Bits of the fraction.
    pub fraction: u32,
    /// What is added to the exponent.
    pub bias: i32,
    /// The bits of the largest finite value.
    pub largest: u32,
    /// The bits of what is too large.
    pub overflow: u32,
    /// The bits of a NaN.
    pub nan: u32,
    /// The C type of its bits.
    pub bits: &'static str,
}

/// The table of number formats: the name in Rust, the bits of one, what they mean, and the type in CUDA C.
macro_rules! formats {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $bits:literal, $c:literal, $format:expr;)+) => {
        wire! {
            /// An element type.
            ///
            /// ```
            /// use layout_compiler::Elem;
            /// assert_eq!((Elem::Bf16.to_string(), Elem::Bf16.bytes()), ("bf16".to_string(), 2));
            /// ```
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
            pub enum Elem { $($(#[$doc])* $variant,)+ }
        }

        impl Elem {
            /// Every element type.
            ///
            /// ```
            /// use layout_compiler::Elem;
            /// assert_eq!(Elem::ALL.iter().filter(|elem| elem.bytes() == 4).count(), 3); // f32 i32 u32
            /// ```
            pub const ALL: [Elem; [$($name),+].len()] = [$(Elem::$variant),+];

            /// Bits of one element.
            ///
            /// ```
            /// assert_eq!(layout_compiler::Elem::Bf16.bits(), 16);
            /// ```
            #[inline]
            pub const fn bits(self) -> u32 {
                match self { $(Elem::$variant => $bits,)+ }
            }

            /// The name in Rust and in the kernel language.
            ///
            /// ```
            /// assert_eq!(layout_compiler::Elem::F16.name(), "f16");
            /// ```
            pub const fn name(self) -> &'static str {
                match self { $(Elem::$variant => $name,)+ }
            }

            /// The type in CUDA C.
            pub const fn c_name(self) -> &'static str {
                match self { $(Elem::$variant => $c,)+ }
            }

            /// What the bits mean.
            #[inline]
            pub const fn format(self) -> Format {
                match self { $(Elem::$variant => $format,)+ }
            }
        }
    };
}

const fn small(
    fraction: u32,
    bias: i32,
    largest: u32,
    overflow: u32,
    nan: u32,
    bits: &'static str,
) -> Format {
    Format::SmallFloat(SmallFloat { fraction, bias, largest, overflow, nan, bits })
}

formats! {
    /// IEEE double precision.
    F64 = "f64", 64, "double", Format::Float;
    /// IEEE single precision.
    F32 = "f32", 32, "float", Format::Float;
    /// IEEE half precision.
    F16 = "f16", 16, "f16", small(10, 15, 0x7bff, 0x7c00, 0x7fff, "unsigned short");
    /// The upper half of an `f32`.
    Bf16 = "bf16", 16, "bf16", small(7, 127, 0x7f7f, 0x7f80, 0x7fff, "unsigned short");
    /// 8-bit float, 4 exponent bits.
    E4m3 = "e4m3", 8, "e4m3", small(3, 7, 0x7e, 0x7e, 0x7f, "unsigned char");
    /// 8-bit float, 5 exponent bits.
    E5m2 = "e5m2", 8, "e5m2", small(2, 15, 0x7b, 0x7b, 0x7f, "unsigned char");
    /// 64-bit signed integer.
    I64 = "i64", 64, "long long", Format::Signed;
    /// 32-bit signed integer.
    I32 = "i32", 32, "int", Format::Signed;
    /// 16-bit signed integer.
    I16 = "i16", 16, "short", Format::Signed;
    /// 8-bit signed integer.
    I8 = "i8", 8, "signed char", Format::Signed;
    /// 64-bit unsigned integer.
    U64 = "u64", 64, "unsigned long long", Format::Unsigned;
    /// 32-bit unsigned integer.
    U32 = "u32", 32, "unsigned int", Format::Unsigned;
    /// 16-bit unsigned integer.
    U16 = "u16", 16, "unsigned short", Format::Unsigned;
    /// 8-bit unsigned integer.
    U8 = "u8", 8, "unsigned char", Format::Unsigned;
    /// One byte, 0 or 1.
    Bool = "bool", 8, "bool", Format::Truth;
}

impl Elem {
    /// Bytes of one element.
    ///
    /// ```
    /// assert_eq!(layout_compiler::Elem::E4m3.bytes(), 1);
    /// ```
    #[inline]
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Whether it is a floating-point type.
    ///
    /// ```
    /// use layout_compiler::Elem;
    /// assert!(Elem::E5m2.is_float() && !Elem::I8.is_float());
    /// ```
    pub const fn is_float(self) -> bool {
        matches!(self.format(), Format::Float | Format::SmallFloat(_))
    }

    /// Whether it is an integer type (not `bool`).
    ///
    /// ```
    /// use layout_compiler::Elem;
    /// assert!(Elem::U8.is_integer() && !Elem::Bool.is_integer());
    /// ```
    pub const fn is_integer(self) -> bool {
        matches!(self.format(), Format::Signed | Format::Unsigned)
    }

    /// Whether it has a sign: floats have one.
    ///
    /// ```
    /// use layout_compiler::Elem;
    /// assert!(Elem::I8.is_signed() && Elem::F16.is_signed() && !Elem::U8.is_signed());
    /// ```
    pub const fn is_signed(self) -> bool {
        matches!(self.format(), Format::Float | Format::SmallFloat(_) | Format::Signed)
    }

    /// Whether it is a float that C has not: computed with in `float`, and rounded.
    pub const fn is_small_float(self) -> bool {
        matches!(self.format(), Format::SmallFloat(_))
    }

    /// The unsigned integer of as many bits.
    pub const fn unsigned(self) -> Elem {
        match self.bits() {
            64 => Elem::U64,
            32 => Elem::U32,
            16 => Elem::U16,
            _ => Elem::U8,
        }
    }

    /// The least and the largest value of an integer type; of others 0 and 1.
    pub const fn limits(self) -> (i128, i128) {
        match self.format() {
            Format::Signed => (-(1 << (self.bits() - 1)), (1 << (self.bits() - 1)) - 1),
            Format::Unsigned => (0, (1 << self.bits()) - 1),
            Format::Float | Format::SmallFloat(_) | Format::Truth => (0, 1),
        }
    }

    /// An integer's bits, cut to the width and sign- or zero-extended again. Of other types: unchanged.
    #[inline]
    pub const fn wrap(self, value: i64) -> i64 {
        let unused = 64 - self.bits();
        match self.format() {
            Format::Signed => value << unused >> unused,
            Format::Unsigned => (((value as u64) << unused) >> unused) as i64,
            Format::Truth => (value != 0) as i64,
            Format::Float | Format::SmallFloat(_) => value,
        }
    }

    /// The type of this name, if there is one.
    ///
    /// ```
    /// use layout_compiler::Elem;
    /// assert_eq!((Elem::from_name("f64"), Elem::from_name("float")), (Some(Elem::F64), None));
    /// ```
    pub fn from_name(name: &str) -> Option<Elem> {
        Elem::ALL.into_iter().find(|elem| elem.name() == name)
    }
}

impl fmt::Display for Elem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

wire! {
    /// A constant that belongs to a type: `T::MAX`.
    ///
    /// ```
    /// use layout_compiler::{Constant, Elem, Known};
    /// assert_eq!(Constant::known(Elem::I16, Known::Max).map(Constant::as_i128), Some(32767));
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Known {
        /// 0
        Zero,
        /// 1
        One,
        /// The least finite value.
        Min,
        /// The largest finite value.
        Max,
        /// Infinity, of floats of 16 bits and more; also below.
        Infinity,
        /// Minus infinity.
        NegInfinity,
        /// Not a number.
        Nan,
        /// The distance from 1 to the next value, of `f32` and `f64`.
        Epsilon,
        /// The least positive normal value, of `f32` and `f64`.
        MinPositive,
        /// The bits of an integer type, as a `u32`.
        Bits,
    }
}

impl Known {
    /// Every constant.
    pub const ALL: [Known; 10] = [
        Known::Zero,
        Known::One,
        Known::Min,
        Known::Max,
        Known::Infinity,
        Known::NegInfinity,
        Known::Nan,
        Known::Epsilon,
        Known::MinPositive,
        Known::Bits,
    ];

    /// The name in Rust.
    ///
    /// ```
    /// assert_eq!(layout_compiler::Known::NegInfinity.name(), "NEG_INFINITY");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Known::Zero => "ZERO",
            Known::One => "ONE",
            Known::Min => "MIN",
            Known::Max => "MAX",
            Known::Infinity => "INFINITY",
            Known::NegInfinity => "NEG_INFINITY",
            Known::Nan => "NAN",
            Known::Epsilon => "EPSILON",
            Known::MinPositive => "MIN_POSITIVE",
            Known::Bits => "BITS",
        }
    }

    /// The constant of this name.
    ///
    /// ```
    /// use layout_compiler::Known;
    /// assert_eq!((Known::from_name("ZERO"), Known::from_name("zero")), (Some(Known::Zero), None));
    /// ```
    pub fn from_name(name: &str) -> Option<Known> {
        Known::ALL.into_iter().find(|known| known.name() == name)
    }
}

/// One value of an element type, kept as its bits (little-endian, zero-extended to 64).
///
/// ```
/// use layout_compiler::{Constant, Elem};
/// let one = Constant { elem: Elem::F32, bits: 0x3f80_0000 };
/// assert_eq!(one.as_f64(), 1.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Constant {
    /// The type.
    pub elem: Elem,
    /// The bits of the value.
    pub bits: u64,
}

impl Constant {
    /// The zero of a type (`false` for `bool`).
    ///
    /// ```
    /// use layout_compiler::{Constant, Elem};
    /// assert_eq!(Constant::zero(Elem::F16).as_f64(), 0.0);
    /// ```
    pub const fn zero(elem: Elem) -> Constant {
        Constant { elem, bits: 0 }
    }

    /// A floating-point value rounded to `elem`, to nearest even; `None` where `elem` is no float. What is too large
    /// for an 8-bit float becomes its largest finite value.
    ///
    /// ```
    /// use layout_compiler::{Constant, Elem};
    /// let third = Constant::float(Elem::Bf16, 1.0 / 3.0);
    /// assert_eq!(third.map(Constant::as_f64), Some(0.333984375));
    /// assert_eq!(Constant::float(Elem::I32, 1.0), None);
    /// ```
    pub fn float(elem: Elem, value: f64) -> Option<Constant> {
        let bits = match elem.format() {
            Format::Float if elem == Elem::F64 => value.to_bits(),
            Format::Float => u64::from((value as f32).to_bits()),
            Format::SmallFloat(_) => u64::from(small_float::encode(small_float::to_odd(value), elem)),
            Format::Signed | Format::Unsigned | Format::Truth => return None,
        };
        Some(Constant { elem, bits })
    }

    /// The same value in another type of floats, where that type has it; an infinity is no large number.
    ///
    /// ```
    /// use layout_compiler::{Constant, Elem, Known};
    /// let infinity = Constant::known(Elem::F32, Known::Infinity).expect("a float");
    /// assert_eq!(infinity.exactly(Elem::E5m2).map(|own| own.bits), Some(0x7c));
    /// assert_eq!(infinity.exactly(Elem::E4m3), None);
    /// ```
    pub fn exactly(self, elem: Elem) -> Option<Constant> {
        let value = self.as_f64();
        let own = match elem.format() {
            Format::SmallFloat(_) => {
                let bits = small_float::held(small_float::to_odd(value), elem);
                Constant { elem, bits: bits.into() }
            }
            _ => Constant::float(elem, value)?,
        };
        let found = own.as_f64();
        (found == value || found.is_nan() && value.is_nan()).then_some(own)
    }

    /// An integer value, where `elem` is an integer type that holds it.
    ///
    /// ```
    /// use layout_compiler::{Constant, Elem};
    /// assert_eq!(Constant::integer(Elem::I8, -1).map(|constant| constant.bits), Some(0xff));
    /// assert_eq!(Constant::integer(Elem::I8, 128), None);
    /// ```
    pub fn integer(elem: Elem, value: i128) -> Option<Constant> {
        let (least, most) = elem.limits();
        if !elem.is_integer() || value < least || value > most {
            return None;
        }
        // Of the bits above the width nothing is kept.
        Some(Constant { elem, bits: value as u64 & (u64::MAX >> (64 - elem.bits())) })
    }

    /// The value of a number type that is nearest to an integer, where an integer type holds it.
    pub fn nearest(elem: Elem, value: i128) -> Option<Constant> {
        let bits = match elem.format() {
            Format::Float if elem == Elem::F64 => (value as f64).to_bits(),
            Format::Float => u64::from((value as f32).to_bits()),
            Format::SmallFloat(_) => u64::from(small_float::encode(small_float::integer_to_odd(value), elem)),
            Format::Signed | Format::Unsigned | Format::Truth => return Constant::integer(elem, value),
        };
        Some(Constant { elem, bits })
    }

    /// The constant of this name, where the type has it.
    ///
    /// ```
    /// use layout_compiler::{Constant, Elem, Known};
    /// assert_eq!(Constant::known(Elem::F16, Known::Max).map(Constant::as_f64), Some(65504.0));
    /// assert_eq!(Constant::known(Elem::Bool, Known::Max), None);
    /// ```
    pub fn known(elem: Elem, known: Known) -> Option<Constant> {
        let float = |value: f64| Constant::float(elem, value);
        let infinite = elem.bits() >= 16;
        let plain = elem.format() == Format::Float;
        let most = match (elem, elem.format()) {
            (_, Format::SmallFloat(small)) => f64::from(small_float::decode(small.largest, elem)),
            (Elem::F32, _) => f64::from(f32::MAX),
            _ => f64::MAX,
        };
        let (least, largest) = elem.limits();
        match known {
            Known::Zero if elem == Elem::Bool => Some(Constant::bool(false)),
            Known::Zero => Constant::integer(elem, 0).or(float(0.0)),
            Known::One => Constant::integer(elem, 1).or(float(1.0)),
            Known::Min => Constant::integer(elem, least).or(float(-most)),
            Known::Max => Constant::integer(elem, largest).or(float(most)),
            Known::Infinity => float(f64::INFINITY).filter(|_| infinite),
            Known::NegInfinity => float(f64::NEG_INFINITY).filter(|_| infinite),
            Known::Nan => float(f64::NAN).filter(|_| infinite),
            Known::Epsilon if elem == Elem::F32 => float(f32::EPSILON.into()),
            Known::Epsilon => float(f64::EPSILON).filter(|_| plain),
            Known::MinPositive if elem == Elem::F32 => float(f32::MIN_POSITIVE.into()),
            Known::MinPositive => float(f64::MIN_POSITIVE).filter(|_| plain),
            Known::Bits => Constant::integer(Elem::U32, elem.bits().into()).filter(|_| elem.is_integer()),
        }
    }

    /// A truth value.
    ///
    /// ```
    /// assert_eq!(layout_compiler::Constant::bool(true).as_i128(), 1);
    /// ```
    pub const fn bool(value: bool) -> Constant {
        Constant { elem: Elem::Bool, bits: value as u64 }
    }

    /// The value as a double, for floats and for integers.
    ///
    /// ```
    /// use layout_compiler::{Constant, Elem};
    /// assert_eq!(Constant { elem: Elem::E4m3, bits: 0x7e }.as_f64(), 448.0);
    /// ```
    pub fn as_f64(self) -> f64 {
        match self.elem.format() {
            Format::Float if self.elem == Elem::F64 => f64::from_bits(self.bits),
            Format::Float => f64::from(f32::from_bits(self.bits as u32)),
            Format::SmallFloat(_) => f64::from(small_float::decode(self.bits as u32, self.elem)),
            Format::Signed | Format::Unsigned | Format::Truth => self.as_i128() as f64,
        }
    }

    /// The value as an integer, for integer types and `bool`.
    ///
    /// ```
    /// use layout_compiler::{Constant, Elem};
    /// assert_eq!(Constant { elem: Elem::I32, bits: 0xffff_fffe }.as_i128(), -2);
    /// ```
    pub fn as_i128(self) -> i128 {
        match self.elem.format() {
            Format::Signed => i128::from(self.elem.wrap(self.bits as i64)),
            Format::Unsigned | Format::Truth | Format::Float | Format::SmallFloat(_) => i128::from(self.bits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Constant, Elem};

    #[test]
    fn a_double_is_rounded_once() {
        // Between 1 and the next bf16, 1 + 2^-7, a hair above the tie: an `f32` would be on it.
        let above = 1.0 + 2f64.powi(-8) + 2f64.powi(-40);
        assert_eq!(Constant::float(Elem::Bf16, above).map(Constant::as_f64), Some(1.0 + 2f64.powi(-7)));
        let below = 1.0 + 2f64.powi(-7) + 2f64.powi(-8) - 2f64.powi(-40);
        assert_eq!(Constant::float(Elem::Bf16, below).map(Constant::as_f64), Some(1.0 + 2f64.powi(-7)));
        assert_eq!(Constant::float(Elem::F16, -1.5).map(Constant::as_f64), Some(-1.5));
        assert_eq!(Constant::float(Elem::E4m3, 1e300).map(Constant::as_f64), Some(448.0));
        assert_eq!(
            Constant::float(Elem::F16, f64::NEG_INFINITY).map(Constant::as_f64),
            Some(f64::NEG_INFINITY)
        );
    }
}
