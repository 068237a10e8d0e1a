//! Compile-time parameters: the values in the attribute, and the sets that a kernel is specialised for.

use super::elem::Elem;
use super::wire::wire;
use std::fmt;

wire! {
    /// The value of a compile-time parameter.
    ///
    /// ```
    /// use layout_compiler::{Elem, ParamValue};
    /// let values = [ParamValue::Int(64), ParamValue::Bool(true), ParamValue::Type(Elem::Bf16)];
    /// assert_eq!(values.map(|value| value.to_string()), ["64", "true", "bf16"]);
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum ParamValue {
        /// An integer: `BM = 64`.
        Int(value: i64),
        /// A truth value: `STAGED = true`.
        Bool(value: bool),
        /// An element type: `T = f32`.
        Type(elem: Elem),
        /// A function of the kernel, by name: `EPILOGUE = gelu`.
        Function(name: &'static str),
    }
}

macro_rules! integers {
    ($($ty:ty)*) => {$(
        impl From<$ty> for ParamValue {
            fn from(value: $ty) -> ParamValue {
                ParamValue::Int(value.into())
            }
        }
    )*};
}
integers!(i32 u32 i64);

impl From<bool> for ParamValue {
    fn from(value: bool) -> ParamValue {
        ParamValue::Bool(value)
    }
}

impl From<Elem> for ParamValue {
    fn from(elem: Elem) -> ParamValue {
        ParamValue::Type(elem)
    }
}

impl fmt::Display for ParamValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamValue::Int(value) => write!(f, "{value}"),
            ParamValue::Bool(value) => write!(f, "{value}"),
            ParamValue::Type(elem) => write!(f, "{elem}"),
            ParamValue::Function(name) => f.write_str(name),
        }
    }
}

/// One value for each parameter of a kernel, in the attribute's order.
///
/// ```
/// use layout_compiler::{ParamSet, ParamValue};
/// let set = ParamSet(vec![("BM".into(), ParamValue::Int(64)), ("BN".into(), ParamValue::Int(32))]);
/// assert_eq!(set.key(), "BM64_BN32");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct ParamSet(pub Vec<(String, ParamValue)>);

impl ParamSet {
    /// The value bound to `name`.
    ///
    /// ```
    /// use layout_compiler::{ParamSet, ParamValue};
    /// let set = ParamSet::default().with("BM", ParamValue::Int(64));
    /// assert_eq!((set.get("BM"), set.get("BN")), (Some(ParamValue::Int(64)), None));
    /// ```
    pub fn get(&self, name: &str) -> Option<ParamValue> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// The set with `name` bound to `value` instead.
    ///
    /// ```
    /// use layout_compiler::{ParamSet, ParamValue};
    /// let set = ParamSet::default().with("BM", ParamValue::Int(64)).with("BM", ParamValue::Int(128));
    /// assert_eq!(set.key(), "BM128");
    /// ```
    pub fn with(mut self, name: &str, value: ParamValue) -> ParamSet {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some(slot) => slot.1 = value,
            None => self.0.push((name.to_owned(), value)),
        }
        self
    }

    /// The text that names the set in identifiers and files: `BM64_BN64`, a negative value as `BMm1`.
    ///
    /// ```
    /// use layout_compiler::{ParamSet, ParamValue};
    /// assert_eq!(ParamSet::default().with("SHIFT", ParamValue::Int(-1)).key(), "SHIFTm1");
    /// ```
    pub fn key(&self) -> String {
        let parts: Vec<String> =
            self.0.iter().map(|(name, value)| format!("{name}{value}").replace('-', "m")).collect();
        parts.join("_")
    }
}

/// What a variant may rely on beyond the kernel's own text; a launch picks a variant by the promises that its tensors keep.
///
/// The variant without any promise (`wide`, not `aligned`, no `variant_if`) is right for every input.
///
/// ```
/// # use layout_compiler::{ParamSet, ParamValue, Promises, compile, emit};
/// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/double.rs.in")); } use shared::double;
/// # let set = ParamSet(vec![("B".into(), ParamValue::Int(16))]);
/// // Without promises the kernel is right for every input: 64-bit offsets, no vectors.
/// let none = Promises::default();
/// let text = emit(&compile(&double::DEFINITION.kernel()?, &set, none)?).text;
/// assert!(text.contains("long long"), "{text}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Promises {
    /// Every dimension and every tensor's span is at most [`NARROW_LIMIT`]: offsets fit 32 bits.
    pub narrow: bool,
    /// Every tensor's first element is at a multiple of 16 bytes, and so do the rows of `Pitched`
    /// and `Contiguous` ones.
    pub aligned: bool,
    /// The conditions of the attribute's `variant_if` entry of this number hold.
    pub variant_if: Option<u32>,
}

/// The largest dimension and span (elements) of a narrow variant: a tile's tail past it still fits `i32`.
///
/// ```
/// use layout_compiler::NARROW_LIMIT;
/// assert!(NARROW_LIMIT + 1024 * 1024 <= i64::from(i32::MAX) + 1);
/// ```
pub const NARROW_LIMIT: i64 = (1 << 31) - (1 << 20);

/// The largest dimension and span of any tensor: 2⁴⁸ elements.
///
/// ```
/// assert_eq!(layout_compiler::WIDE_LIMIT, 281_474_976_710_656);
/// ```
pub const WIDE_LIMIT: i64 = 1 << 48;

impl Promises {
    /// What the variants of the macro rely on: 32-bit offsets, 16-byte aligned tensors.
    ///
    /// ```
    /// use layout_compiler::Promises;
    /// assert!(Promises::USUAL.narrow && Promises::USUAL.aligned && Promises::USUAL.variant_if.is_none());
    /// ```
    pub const USUAL: Promises = Promises { narrow: true, aligned: true, variant_if: None };

    /// The end of a variant's key: empty for [`Promises::USUAL`], `_if0`, `_wide`, `_unaligned` else.
    ///
    /// ```
    /// use layout_compiler::Promises;
    /// assert_eq!(Promises::USUAL.suffix(), "");
    /// assert_eq!(Promises { narrow: false, variant_if: Some(0), ..Promises::USUAL }.suffix(), "_if0_wide");
    /// ```
    pub fn suffix(self) -> String {
        let mut out = String::new();
        if let Some(number) = self.variant_if {
            out.push_str(&format!("_if{number}"));
        }
        if !self.narrow {
            out.push_str("_wide");
        }
        if !self.aligned {
            out.push_str("_unaligned");
        }
        out
    }
}
