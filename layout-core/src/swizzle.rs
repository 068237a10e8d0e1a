//! `Swizzle<B,M,S>`: xors B bits of an offset with the B bits that lie S higher.
//!
//! ```text
//! 0bxxxxxxxxxxxxxxxYYYxxxxxxxZZZxxxx
//!                               ^--^ M: bits that stay
//!                  ^-^       ^-^     B: bits in a mask
//!                    ^---------^     S: distance from Z to Y (negative: Y below Z)
//! ```
//! Law: `w(x) == x ^ ((x & YYY) >> S)`, and `w(w(x)) == x`.

use crate::LayoutError;
use std::fmt;

/// A bijection of offsets that spreads rows over memory banks: `x ^ ((x & YYY) >> S)`.
///
/// ```
/// use layout_core::Swizzle;
///
/// let w = Swizzle::new(3, 4, 3)?;
/// assert_eq!((w.apply(128), w.apply(w.apply(128))), (144, 128));
/// assert_eq!(w.to_string(), "Sw<3,4,3>");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Swizzle {
    bits: u32,
    base: u32,
    shift: i32,
}

impl Swizzle {
    /// `bits` bits, `base` bits below them untouched, taken from `shift` higher (or lower, if negative).
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] unless `|shift| >= bits` and the highest bit stays below 63.
    ///
    /// ```
    /// assert!(layout_core::Swizzle::new(3, 4, 2).is_err());
    /// ```
    pub fn new(bits: u32, base: u32, shift: i32) -> Result<Self, LayoutError> {
        let refuse = |detail: String| Err(LayoutError::Unsupported { operation: "swizzle", detail });
        if shift.unsigned_abs() < bits {
            return refuse(format!(
                "a shift of {shift} is less than {bits} bits; the two masks would overlap"
            ));
        }
        let top = u64::from(bits) + u64::from(base) + u64::from(shift.unsigned_abs());
        if top > 62 {
            return refuse(format!("{bits} + {base} + |{shift}| bits pass the 62 of an offset"));
        }
        Ok(Self { bits, base, shift })
    }

    /// The number of bits that are changed.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The number of low bits that stay.
    pub fn base(&self) -> u32 {
        self.base
    }

    /// How much higher the bits lie that are xored in.
    pub fn shift(&self) -> i32 {
        self.shift
    }

    /// The mask YYY of the bits that are read.
    ///
    /// ```
    /// assert_eq!(layout_core::Swizzle::new(2, 1, 3)?.source_mask(), 0b110000);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn source_mask(&self) -> i64 {
        ((1 << self.bits) - 1) << (self.base + self.shift.max(0).unsigned_abs())
    }

    /// The mask ZZZ of the bits that are changed.
    ///
    /// ```
    /// assert_eq!(layout_core::Swizzle::new(2, 1, 3)?.target_mask(), 0b110);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn target_mask(&self) -> i64 {
        ((1 << self.bits) - 1) << (self.base + (-self.shift).max(0).unsigned_abs())
    }

    /// The swizzled offset. A negative offset is treated as its bits in two's complement.
    #[inline]
    pub fn apply(&self, offset: i64) -> i64 {
        let source = offset & self.source_mask();
        if self.shift >= 0 { offset ^ (source >> self.shift) } else { offset ^ (source << -self.shift) }
    }
}

impl fmt::Display for Swizzle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sw<{},{},{}>", self.bits, self.base, self.shift)
    }
}
