//! Element types on the host side: which Rust type holds which [`Elem`] of the kernel language.
//!
//! Law: `from_bytes(to_bytes(values)) == values` bit for bit, and `to_bytes` is what the device's memory holds.

use std::fmt::Debug;

use half::{bf16, f16};
use layout_compiler::{Constant, Elem};

/// A Rust type that can be an element of a device tensor.
///
/// A type of the user's own can be one where its bytes are those of an element type, such as a 16-bit float of
/// another crate.
///
/// # Safety
/// - The type is `Elem::bytes()` long, has no padding, and its bytes are the element's, in the machine's byte order.
/// - A value whose bytes are zero is one.
/// - Where [`Element::ANY_BITS`] is true, every pattern of bits is a value of the type.
pub unsafe trait Element: Copy + Debug + Send + Sync + 'static {
    /// The element type in the kernel language.
    const ELEM: Elem;
    /// Whether every pattern of bits is a value. It is false for `bool`, whose bytes are read as "not zero". Memory that a kernel
    /// may have written is not lent as typed memory of cudarc's then: that does not compile. It is downloaded, or is of `u8`.
    const ANY_BITS: bool = true;
    /// The value's bits, zero-extended.
    fn to_bits(self) -> u64;
    /// The value of these bits; the upper ones are passed over.
    fn from_bits(bits: u64) -> Self;

    /// The value as a constant of the kernel language.
    fn constant(self) -> Constant {
        Constant { elem: Self::ELEM, bits: self.to_bits() }
    }
}

macro_rules! elements {
    ($($type:ty, $elem:ident, $to:expr, $from:expr;)*) => {$(
        // SAFETY: the type is a number of as many bytes as the element type has, and has a value for every pattern.
        unsafe impl Element for $type {
            const ELEM: Elem = Elem::$elem;
            fn to_bits(self) -> u64 {
                let to: fn($type) -> u64 = $to;
                to(self)
            }
            fn from_bits(bits: u64) -> Self {
                let from: fn(u64) -> $type = $from;
                from(bits)
            }
        }
    )*};
}

elements! {
    f64, F64, |value| value.to_bits(), f64::from_bits;
    f32, F32, |value| u64::from(value.to_bits()), |bits| f32::from_bits(bits as u32);
    i64, I64, |value| value as u64, |bits| bits as i64;
    i32, I32, |value| u64::from(value as u32), |bits| bits as i32;
    u64, U64, |value| value, |bits| bits;
    u32, U32, u64::from, |bits| bits as u32;
    i16, I16, |value| u64::from(value as u16), |bits| bits as i16;
    i8, I8, |value| u64::from(value as u8), |bits| bits as i8;
    u16, U16, u64::from, |bits| bits as u16;
    u8, U8, u64::from, |bits| bits as u8;
    f16, F16, |value| u64::from(value.to_bits()), |bits| f16::from_bits(bits as u16);
    bf16, Bf16, |value| u64::from(value.to_bits()), |bits| bf16::from_bits(bits as u16);
}

// SAFETY: a `bool` is one byte; not every byte is a `bool`, and `ANY_BITS` says so.
unsafe impl Element for bool {
    const ELEM: Elem = Elem::Bool;
    const ANY_BITS: bool = false;
    fn to_bits(self) -> u64 {
        u64::from(self)
    }
    fn from_bits(bits: u64) -> Self {
        bits & 0xff != 0
    }
}

/// The bytes of one element type's values.
pub(crate) fn to_bytes<T: Element>(values: &[T]) -> Vec<u8> {
    let size = T::ELEM.bytes() as usize;
    let mut bytes = Vec::with_capacity(values.len() * size);
    for value in values {
        bytes.extend_from_slice(&value.to_bits().to_le_bytes()[..size]);
    }
    bytes
}

/// The values that these bytes hold; bytes at the end that make no whole element are passed over.
pub(crate) fn from_bytes<T: Element>(bytes: &[u8]) -> Vec<T> {
    let size = T::ELEM.bytes() as usize;
    let value = |chunk: &[u8]| {
        let mut bits = [0; 8];
        bits[..size].copy_from_slice(chunk);
        T::from_bits(u64::from_le_bytes(bits))
    };
    bytes.chunks_exact(size).map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Element + PartialEq>(values: &[T], first: &[u8]) {
        let bytes = to_bytes(values);
        assert_eq!(bytes.len(), size_of_val(values));
        assert_eq!(size_of::<T>(), T::ELEM.bytes() as usize);
        assert_eq!(&bytes[..first.len()], first);
        assert_eq!(from_bytes::<T>(&bytes), values);
        assert_eq!(from_bytes::<T>(&[bytes.as_slice(), &[1]].concat()[..bytes.len()]), values);
    }

    #[test]
    fn every_type_there_and_back() {
        check(&[1.5f64, -0.0, f64::MIN_POSITIVE], &1.5f64.to_le_bytes());
        check(&[1.5f32, -2.0, f32::INFINITY], &1.5f32.to_le_bytes());
        check(&[i64::MIN, -1, 7], &i64::MIN.to_le_bytes());
        check(&[i32::MIN, -1, 7], &i32::MIN.to_le_bytes());
        check(&[u32::MAX, 7], &[255; 4]);
        check(&[u64::MAX, 1 << 63], &[255; 8]);
        check(&[i16::MIN, -1], &[0, 128, 255, 255]);
        check(&[u16::MAX, 1], &[255, 255, 1, 0]);
        check(&[i8::MIN, -1], &[128, 255]);
        check(&[255u8, 0], &[255, 0]);
        check(&[f16::from_f32(1.5), f16::NEG_INFINITY], &0x3e00u16.to_le_bytes());
        check(&[bf16::from_f32(1.5), bf16::MIN_POSITIVE], &0x3fc0u16.to_le_bytes());
        check(&[crate::E4m3::from_f32(448.0)], &[0x7e]);
        check(&[crate::E5m2::from_f32(-0.0)], &[0x80]);
        check(&[true, false], &[1, 0]);
        assert_eq!(from_bytes::<bool>(&[0, 2, 255]), [false, true, true]);
        assert_eq!((-1i8).constant(), Constant { elem: Elem::I8, bits: 255 });
    }
}
