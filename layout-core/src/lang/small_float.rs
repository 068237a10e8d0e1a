//! The floats that Rust does not have: of 16 bits `f16` and `bf16`, of 8 bits `e4m3` and `e5m2`.
//!
//! Arithmetic on `f16` and `bf16` is done in `f32` and rounded once for each operator, to nearest even: sums belong in
//! an `f32`. The 8-bit ones are for storage. Literals and conversions are written as of Rust's own floats: `x * 2.0`,
//! `0.5bf16`, `x as f32`, `1.0 as f16`; [`Number::cast`] converts too.
//!
//! Source: IEEE 754-2019 (binary16); Open Compute Project, 8-bit Floating Point Specification, revision 1.0.

use super::device_only;
use super::number::{Constants, Element, Literal, Number};
use std::fmt;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign};

/// The documentation's example of a constant or a method: a kernel that puts it into an `f32`.
macro_rules! example {
    ($name:ident, $value:expr, $expected:literal) => {
        concat!(
            "```\n# use layout_cuda::{Device, tiled_kernel};\n",
            "#[tiled_kernel(block = [1], grid = [1])]\n",
            "fn value(y: &mut LayoutTensor<f32, RowMajor<1>>) {\n    y[[0]] = (",
            stringify!($name),
            $value,
            ").cast::<f32>();\n}\n# let device = Device::simulator();\n",
            "let mut y = device.zeros::<f32, 1>([1])?;\nvalue::launch(&device.stream(), &mut y)?;\n",
            "assert_eq!(y.download()?[0].to_string(), \"",
            $expected,
            "\");\n# Ok::<(), layout_cuda::Error>(())\n```"
        )
    };
}

macro_rules! number {
    ($name:ident, $most:literal, $least:literal) => {
        impl Number for $name {}
        impl Element for $name {}
        impl Literal<$name> for f32 {}
        impl fmt::Display for $name {
            fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
                device_only()
            }
        }
        impl fmt::LowerExp for $name {
            fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
                device_only()
            }
        }
        impl fmt::UpperExp for $name {
            fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
                device_only()
            }
        }
        impl Constants for $name {
            const ZERO: $name = $name(0);
            const ONE: $name = $name(0);
            const MIN: $name = $name(0);
            const MAX: $name = $name(0);
        }

        impl $name {
            /// Zero.
            ///
            #[doc = example!($name, "::ZERO", "0")]
            pub const ZERO: $name = $name(0);
            /// One.
            ///
            #[doc = example!($name, "::ONE", "1")]
            pub const ONE: $name = $name(0);
            /// The largest finite value.
            ///
            #[doc = example!($name, "::MAX", $most)]
            pub const MAX: $name = $name(0);
            /// The least finite value.
            ///
            #[doc = example!($name, "::MIN", $least)]
            pub const MIN: $name = $name(0);
        }
    };
}

/// IEEE half precision: 5 bits of exponent, 10 of fraction.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [1], grid = [1])]
/// fn third(y: &mut LayoutTensor<f16, RowMajor<1>>) {
///     y[[0]] = (1.0f32 / 3.0).cast::<f16>();
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<layout_cuda::f16, 1>([1])?;
/// third::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?[0].to_f32(), 0.33325195);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[allow(non_camel_case_types, reason = "the name is the language's")]
#[derive(Clone, Copy, Debug)]
pub struct f16(
    // As large as on the device: a `const` may ask `size_of`.
    #[expect(dead_code, reason = "there is no value")] u16,
);
number!(f16, "65504", "-65504");

/// The upper half of an `f32`: 8 bits of exponent, 7 of fraction.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [1], grid = [1])]
/// fn third(y: &mut LayoutTensor<bf16, RowMajor<1>>) {
///     y[[0]] = (1.0f32 / 3.0).cast::<bf16>();
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<layout_cuda::bf16, 1>([1])?;
/// third::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?[0].to_f32(), 0.33398438);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[allow(non_camel_case_types, reason = "the name is the language's")]
#[derive(Clone, Copy, Debug)]
pub struct bf16(
    // As large as on the device: a `const` may ask `size_of`.
    #[expect(dead_code, reason = "there is no value")] u16,
);
number!(bf16, "338953140000000000000000000000000000000", "-338953140000000000000000000000000000000");

/// 8 bits: 4 of exponent, 3 of fraction; no infinity, at most 448.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [1], grid = [1])]
/// fn third(y: &mut LayoutTensor<e4m3, RowMajor<1>>) {
///     y[[0]] = (1.0f32 / 3.0).cast::<e4m3>();
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<layout_cuda::E4m3, 1>([1])?;
/// third::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?[0].to_f32(), 0.34375);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[allow(non_camel_case_types, reason = "the name is the language's")]
#[derive(Clone, Copy, Debug)]
pub struct e4m3(
    // As large as on the device: a `const` may ask `size_of`.
    #[expect(dead_code, reason = "there is no value")] u8,
);
number!(e4m3, "448", "-448");

/// 8 bits: 5 of exponent, 2 of fraction; at most 57344.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [1], grid = [1])]
/// fn third(y: &mut LayoutTensor<e5m2, RowMajor<1>>) {
///     y[[0]] = (1.0f32 / 3.0).cast::<e5m2>();
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<layout_cuda::E5m2, 1>([1])?;
/// third::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?[0].to_f32(), 0.3125);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[allow(non_camel_case_types, reason = "the name is the language's")]
#[derive(Clone, Copy, Debug)]
pub struct e5m2(
    // As large as on the device: a `const` may ask `size_of`.
    #[expect(dead_code, reason = "there is no value")] u8,
);
number!(e5m2, "57344", "-57344");

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
            Rem rem RemAssign rem_assign,
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
            ///
            #[doc = example!($name, "::INFINITY", "inf")]
            pub const INFINITY: $name = $name(0);
            /// Minus infinity.
            ///
            #[doc = example!($name, "::NEG_INFINITY", "-inf")]
            pub const NEG_INFINITY: $name = $name(0);
            /// Not a number.
            ///
            #[doc = example!($name, "::NAN", "NaN")]
            pub const NAN: $name = $name(0);
        }
    )*};
}

arithmetic!(f16, bf16);
