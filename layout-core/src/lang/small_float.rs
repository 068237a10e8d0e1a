//! The floats that Rust does not have: of 16 bits `f16` and `bf16`, of 8 bits `e4m3` and `e5m2`.
//!
//! Arithmetic on `f16` and `bf16` is done in `f32` and rounded once for each operator, to nearest even: sums belong in
//! an `f32`. The 8-bit ones are for storage: [`Number::cast`] converts them. `fill` and `pad` take a plain literal; elsewhere
//! there are the constants, and `0.5f32.cast::<bf16>()`.
//!
//! Source: IEEE 754-2019 (binary16); Open Compute Project, 8-bit Floating Point Specification, revision 1.0.

use super::device_only;
use super::number::{Element, Literal, Number};
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

macro_rules! types {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[allow(non_camel_case_types, reason = "the name is the language's")]
        #[derive(Clone, Copy, Debug)]
        pub struct $name(());

        impl Number for $name {}
        impl Element for $name {}
        impl Literal<$name> for f32 {}

        impl $name {
            /// Zero.
            pub const ZERO: $name = $name(());
            /// One.
            pub const ONE: $name = $name(());
            /// The largest finite value.
            pub const MAX: $name = $name(());
            /// The least finite value.
            pub const MIN: $name = $name(());
        }
    )*};
}

types! {
    /// IEEE half precision: 5 bits of exponent, 10 of fraction.
    f16;
    /// The upper half of an `f32`: 8 bits of exponent, 7 of fraction.
    bf16;
    /// 8 bits: 4 of exponent, 3 of fraction; no infinity, at most 448.
    e4m3;
    /// 8 bits: 5 of exponent, 2 of fraction; at most 57344.
    e5m2;
}

macro_rules! operators {
    ($name:ident: $($operator:ident $function:ident $assign:ident $assign_function:ident,)*) => {$(
        impl $operator for $name {
            type Output = $name;
            fn $function(self, _other: $name) -> $name {
                device_only()
            }
        }
        impl $assign for $name {
            fn $assign_function(&mut self, _other: $name) {
                device_only()
            }
        }
    )*};
}

macro_rules! arithmetic {
    ($($name:ident),*) => {$(
        operators! {
            $name:
            Add add AddAssign add_assign,
            Sub sub SubAssign sub_assign,
            Mul mul MulAssign mul_assign,
            Div div DivAssign div_assign,
        }

        impl Neg for $name {
            type Output = $name;
            fn neg(self) -> $name {
                device_only()
            }
        }

        impl PartialEq for $name {
            fn eq(&self, _other: &$name) -> bool {
                device_only()
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, _other: &$name) -> Option<std::cmp::Ordering> {
                device_only()
            }
        }

        impl $name {
            /// Infinity.
            pub const INFINITY: $name = $name(());
            /// Minus infinity.
            pub const NEG_INFINITY: $name = $name(());
            /// Not a number.
            pub const NAN: $name = $name(());

            /// The smaller; the number where the other is NaN.
            pub fn min(self, _other: $name) -> $name {
                device_only()
            }
            /// The larger; the number where the other is NaN.
            pub fn max(self, _other: $name) -> $name {
                device_only()
            }
            /// The absolute value.
            pub fn abs(self) -> $name {
                device_only()
            }
        }
    )*};
}

arithmetic!(f16, bf16);
