//! Element types: what one cell of a tensor, of a shared or local tensor, or a scalar variable holds.

use super::small_float;
use super::wire::wire;
use std::fmt;

wire! {
    /// An element type.
    ///
    /// ```
    /// use layout_core::kernel::Elem;
    /// assert_eq!((Elem::Bf16.to_string(), Elem::Bf16.bytes()), ("bf16".to_string(), 2));
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Elem {
        /// IEEE double precision.
        F64,
        /// IEEE single precision.
        F32,
        /// IEEE half precision.
        F16,
        /// The upper half of an `f32`.
        Bf16,
        /// 8-bit float, 4 exponent bits.
        E4m3,
        /// 8-bit float, 5 exponent bits.
        E5m2,
        /// 64-bit signed integer.
        I64,
        /// 32-bit signed integer.
        I32,
        /// 32-bit unsigned integer.
        U32,
        /// 8-bit signed integer.
        I8,
        /// 8-bit unsigned integer.
        U8,
        /// One byte, 0 or 1.
        Bool,
    }
}

impl Elem {
    /// Every element type.
    ///
    /// ```
    /// use layout_core::kernel::Elem;
    /// assert_eq!(Elem::ALL.iter().filter(|elem| elem.bytes() == 4).count(), 3); // f32 i32 u32
    /// ```
    pub const ALL: [Elem; 12] = [
        Elem::F64,
        Elem::F32,
        Elem::F16,
        Elem::Bf16,
        Elem::E4m3,
        Elem::E5m2,
        Elem::I64,
        Elem::I32,
        Elem::U32,
        Elem::I8,
        Elem::U8,
        Elem::Bool,
    ];

    /// Bytes of one element.
    ///
    /// ```
    /// assert_eq!(layout_core::kernel::Elem::E4m3.bytes(), 1);
    /// ```
    pub const fn bytes(self) -> u32 {
        match self {
            Elem::F64 | Elem::I64 => 8,
            Elem::F32 | Elem::I32 | Elem::U32 => 4,
            Elem::F16 | Elem::Bf16 => 2,
            Elem::E4m3 | Elem::E5m2 | Elem::I8 | Elem::U8 | Elem::Bool => 1,
        }
    }

    /// Whether it is a floating-point type.
    ///
    /// ```
    /// use layout_core::kernel::Elem;
    /// assert!(Elem::E5m2.is_float() && !Elem::I8.is_float());
    /// ```
    pub const fn is_float(self) -> bool {
        matches!(self, Elem::F64 | Elem::F32 | Elem::F16 | Elem::Bf16 | Elem::E4m3 | Elem::E5m2)
    }

    /// Whether it is an integer type (not `bool`).
    ///
    /// ```
    /// use layout_core::kernel::Elem;
    /// assert!(Elem::U8.is_integer() && !Elem::Bool.is_integer());
    /// ```
    pub const fn is_integer(self) -> bool {
        matches!(self, Elem::I64 | Elem::I32 | Elem::U32 | Elem::I8 | Elem::U8)
    }

    /// The name in Rust and in the kernel language.
    ///
    /// ```
    /// assert_eq!(layout_core::kernel::Elem::F16.name(), "f16");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Elem::F64 => "f64",
            Elem::F32 => "f32",
            Elem::F16 => "f16",
            Elem::Bf16 => "bf16",
            Elem::E4m3 => "e4m3",
            Elem::E5m2 => "e5m2",
            Elem::I64 => "i64",
            Elem::I32 => "i32",
            Elem::U32 => "u32",
            Elem::I8 => "i8",
            Elem::U8 => "u8",
            Elem::Bool => "bool",
        }
    }

    /// The type of this name, if there is one.
    ///
    /// ```
    /// use layout_core::kernel::Elem;
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

/// One value of an element type, kept as its bits (little-endian, zero-extended to 64).
///
/// ```
/// use layout_core::kernel::{Constant, Elem};
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
    /// use layout_core::kernel::{Constant, Elem};
    /// assert_eq!(Constant::zero(Elem::F16).as_f64(), 0.0);
    /// ```
    pub const fn zero(elem: Elem) -> Constant {
        Constant { elem, bits: 0 }
    }

    /// A floating-point value rounded to `elem`, to nearest even; `None` where `elem` is no float. What is too large
    /// for an 8-bit float becomes its largest finite value.
    ///
    /// ```
    /// use layout_core::kernel::{Constant, Elem};
    /// let third = Constant::float(Elem::Bf16, 1.0 / 3.0);
    /// assert_eq!(third.map(Constant::as_f64), Some(0.333984375));
    /// assert_eq!(Constant::float(Elem::I32, 1.0), None);
    /// ```
    pub fn float(elem: Elem, value: f64) -> Option<Constant> {
        match elem {
            Elem::F64 => Some(Constant { elem, bits: value.to_bits() }),
            Elem::F32 => Some(Constant { elem, bits: u64::from((value as f32).to_bits()) }),
            Elem::F16 | Elem::Bf16 | Elem::E4m3 | Elem::E5m2 => {
                Some(Constant { elem, bits: u64::from(small_float::encode(to_odd(value), elem)) })
            }
            Elem::I64 | Elem::I32 | Elem::U32 | Elem::I8 | Elem::U8 | Elem::Bool => None,
        }
    }

    /// An integer value, where `elem` is an integer type that holds it.
    ///
    /// ```
    /// use layout_core::kernel::{Constant, Elem};
    /// assert_eq!(Constant::integer(Elem::I8, -1).map(|constant| constant.bits), Some(0xff));
    /// assert_eq!(Constant::integer(Elem::I8, 128), None);
    /// ```
    pub fn integer(elem: Elem, value: i128) -> Option<Constant> {
        let bits = match elem {
            Elem::I64 => i64::try_from(value).ok()? as u64,
            Elem::I32 => i32::try_from(value).ok()? as u32 as u64,
            Elem::U32 => u64::from(u32::try_from(value).ok()?),
            Elem::I8 => i8::try_from(value).ok()? as u8 as u64,
            Elem::U8 => u64::from(u8::try_from(value).ok()?),
            _ => return None,
        };
        Some(Constant { elem, bits })
    }

    /// A truth value.
    ///
    /// ```
    /// assert_eq!(layout_core::kernel::Constant::bool(true).as_i128(), 1);
    /// ```
    pub const fn bool(value: bool) -> Constant {
        Constant { elem: Elem::Bool, bits: value as u64 }
    }

    /// The value as a double, for floats and for integers.
    ///
    /// ```
    /// use layout_core::kernel::{Constant, Elem};
    /// assert_eq!(Constant { elem: Elem::E4m3, bits: 0x7e }.as_f64(), 448.0);
    /// ```
    pub fn as_f64(self) -> f64 {
        match self.elem {
            Elem::F64 => f64::from_bits(self.bits),
            Elem::F32 => f64::from(f32::from_bits(self.bits as u32)),
            Elem::F16 | Elem::Bf16 | Elem::E4m3 | Elem::E5m2 => {
                f64::from(small_float::decode(self.bits as u32, self.elem))
            }
            Elem::I64 => self.bits as i64 as f64,
            Elem::I32 => f64::from(self.bits as u32 as i32),
            Elem::I8 => f64::from(self.bits as u8 as i8),
            _ => self.bits as f64,
        }
    }

    /// The value as an integer, for integer types and `bool`.
    ///
    /// ```
    /// use layout_core::kernel::{Constant, Elem};
    /// assert_eq!(Constant { elem: Elem::I32, bits: 0xffff_fffe }.as_i128(), -2);
    /// ```
    pub fn as_i128(self) -> i128 {
        match self.elem {
            Elem::I64 => i128::from(self.bits as i64),
            Elem::I32 => i128::from(self.bits as u32 as i32),
            Elem::I8 => i128::from(self.bits as u8 as i8),
            _ => i128::from(self.bits),
        }
    }
}

/// A double as an `f32` that rounds to the same smaller float: where it is not exact, its last bit is one, so that it
/// lies on no tie between two of them.
fn to_odd(value: f64) -> f32 {
    let near = value as f32;
    if f64::from(near) == value || !near.is_finite() {
        return near;
    }
    let toward_zero = if f64::from(near).abs() > value.abs() { near.to_bits() - 1 } else { near.to_bits() };
    f32::from_bits(toward_zero | 1)
}

#[cfg(test)]
mod tests {
    use super::{Constant, Elem};

    #[test]
    fn a_double_is_rounded_once() {
        // Between 1 and the next bf16, 1 + 2^-7, a hair above the tie: an `f32` would lie on it.
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
