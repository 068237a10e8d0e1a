//! Floats of 8 bits on the host: [`E4m3`] and [`E5m2`], each a byte.
//!
//! Laws: `T::from_f32(x.to_f32()) == x` for every `x` that is no NaN and no infinity; `from_f32` rounds to nearest,
//! ties to even, and gives the largest finite value for what is larger, as the device's conversions do.
//!
//! Source: Open Compute Project, 8-bit Floating Point Specification, revision 1.0.

use std::fmt;

use cudarc::driver::{DeviceRepr, ValidAsZeroBits};
use layout_compiler::{Constant, Elem};

use crate::element::Element;

macro_rules! float8 {
    ($($(#[$doc:meta])* $name:ident, $elem:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
            /// The value of these bits.
            pub const fn from_bits(bits: u8) -> $name {
                $name(bits)
            }

            /// The bits.
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// The nearest value.
            pub fn from_f32(value: f32) -> $name {
                $name(Constant::float(Elem::$elem, f64::from(value)).map_or(0, |constant| constant.bits as u8))
            }

            /// The value, exactly.
            pub fn to_f32(self) -> f32 {
                self.constant().as_f64() as f32
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.to_f32().fmt(f)
            }
        }

        // SAFETY: the type is one byte without padding.
        unsafe impl DeviceRepr for $name {}
        // SAFETY: the bits 0 are the value zero.
        unsafe impl ValidAsZeroBits for $name {}
        // SAFETY: the type is one byte, as the element type, and every pattern of it is a value.
        unsafe impl Element for $name {
            const ELEM: Elem = Elem::$elem;
            fn to_bits(self) -> u64 {
                u64::from(self.0)
            }
            fn from_bits(bits: u64) -> Self {
                $name(bits as u8)
            }
        }
    )*};
}

float8! {
    /// 8 bits: 4 of exponent, 3 of fraction; no infinity.
    ///
    /// ```
    /// use layout_cuda::E4m3;
    /// assert_eq!(E4m3::from_f32(1.06).to_f32(), 1.0);
    /// assert_eq!(E4m3::from_f32(1e6).to_f32(), 448.0);
    /// ```
    E4m3, E4m3;
    /// 8 bits: 5 of exponent, 2 of fraction.
    ///
    /// ```
    /// use layout_cuda::E5m2;
    /// assert_eq!(E5m2::from_f32(-3.4).to_f32(), -3.5);
    /// assert_eq!(E5m2::from_f32(1e6).to_f32(), 57344.0);
    /// ```
    E5m2, E5m2;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finite_value_comes_back() {
        for bits in 0..=255 {
            let (e4m3, e5m2) = (E4m3::from_bits(bits), E5m2::from_bits(bits));
            assert!(e4m3.to_f32().is_nan() || E4m3::from_f32(e4m3.to_f32()) == e4m3);
            assert!(!e5m2.to_f32().is_finite() || E5m2::from_f32(e5m2.to_f32()) == e5m2);
        }
    }
}
