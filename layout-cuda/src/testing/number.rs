//! Numbers for arguments: what a strategy draws, and the element that it becomes.
//!
//! Law: a number that is no value of an element type is an error that names both, never another number; a float is
//! rounded to its type.

use std::fmt;

use layout_compiler::{Constant, Elem};
use proptest::strategy::{BoxedStrategy, Strategy};

/// A number that a strategy gives to [`Test::values`](super::Test::values), of any of Rust's numbers or `bool`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// For tensors and scalars of floats.
    Float(f64),
    /// For those of integers, truth values and indices; floats take it too.
    Whole(i128),
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Float(value) => write!(f, "{value}"),
            Number::Whole(value) => write!(f, "{value}"),
        }
    }
}

macro_rules! numbers {
    ($($kind:ident: $($type:ty)*;)*) => {$($(
        impl From<$type> for Number {
            fn from(value: $type) -> Number {
                Number::$kind(value.into())
            }
        }
    )*)*};
}
numbers! {
    Float: f32 f64;
    Whole: i8 i16 i32 i64 i128 u8 u16 u32 u64 bool;
}

impl From<usize> for Number {
    fn from(value: usize) -> Number {
        Number::Whole(value as i128)
    }
}

/// Where the values of an argument come from.
pub(super) type Source = BoxedStrategy<Number>;

/// The source of an argument that the test says nothing about; an index where there is no element type.
///
/// Floats are multiples of a quarter up to 2: their products and sums are exact in every type up to a large depth, so
/// that a wrong element is not taken for a rounded one.
pub(super) fn usual(elem: Option<Elem>) -> Source {
    match elem {
        None => (0i128..4).prop_map(Number::Whole).boxed(),
        Some(Elem::Bool) => (0i128..2).prop_map(Number::Whole).boxed(),
        Some(elem) if elem.is_float() => {
            (-8i32..=8).prop_map(|quarters| Number::Float(f64::from(quarters) / 4.0)).boxed()
        }
        Some(elem) if elem.is_signed() => (-8i128..=8).prop_map(Number::Whole).boxed(),
        Some(_) => (0i128..=16).prop_map(Number::Whole).boxed(),
    }
}

/// The element that a number is.
///
/// # Errors
/// The number and the type, where it is none.
pub(super) fn element(elem: Elem, number: Number) -> Result<Constant, String> {
    let constant = match number {
        Number::Float(value) => Constant::float(elem, value),
        Number::Whole(value @ (0 | 1)) if elem == Elem::Bool => Some(Constant::bool(value == 1)),
        Number::Whole(value) if elem.is_float() => Constant::float(elem, value as f64),
        Number::Whole(value) => Constant::integer(elem, value),
    };
    constant.ok_or_else(|| format!("{number} is no value of {elem}"))
}

/// What an element is, as the numbers of a reference are.
pub(super) fn number(constant: Constant) -> Number {
    if constant.elem.is_float() {
        Number::Float(constant.as_f64())
    } else {
        Number::Whole(constant.as_i128())
    }
}
