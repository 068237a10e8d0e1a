//! `Swizzle<B,M,S>`: xors B bits of an offset with the B bits that are S higher.
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
    ///
    /// ```
    /// assert_eq!(layout_core::Swizzle::new(3, 4, 5)?.bits(), 3);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The number of low bits that stay.
    ///
    /// ```
    /// assert_eq!(layout_core::Swizzle::new(3, 4, 5)?.base(), 4);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn base(&self) -> u32 {
        self.base
    }

    /// How much higher the bits are that are xored in.
    ///
    /// ```
    /// assert_eq!(layout_core::Swizzle::new(3, 4, 5)?.shift(), 5);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
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
    ///
    /// ```
    /// assert_eq!(layout_core::Swizzle::new(1, 0, 2)?.apply(0b101), 0b100);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    #[inline]
    pub fn apply(&self, offset: i64) -> i64 {
        let source = offset & self.source_mask();
        if self.shift >= 0 { offset ^ (source >> self.shift) } else { offset ^ (source << -self.shift) }
    }

    /// The swizzle that xors the bits of `source` into those of `target`: CuTe's `make_swizzle`.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] unless both masks are one run of as many bits, apart from each other.
    ///
    /// ```
    /// # use layout_core::Swizzle;
    /// assert_eq!(Swizzle::of_masks(0b110000, 0b110)?, Swizzle::new(2, 1, 3)?);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn of_masks(source: i64, target: i64) -> Result<Self, LayoutError> {
        if (source, target) == (0, 0) {
            return Self::new(0, 0, 0);
        }
        let (low_source, low_target) = (source.trailing_zeros(), target.trailing_zeros());
        // Both are at most 64.
        let shift = low_source as i32 - low_target as i32;
        let swizzle = Self::new(source.count_ones(), low_source.min(low_target), shift)?;
        if (swizzle.source_mask(), swizzle.target_mask()) == (source, target) {
            return Ok(swizzle);
        }
        let detail =
            format!("masks {source:#b} and {target:#b} are not two runs of as many bits; use two swizzles");
        Err(LayoutError::Unsupported { operation: "swizzle", detail })
    }

    /// The swizzle that is `self` after `inner`.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] for different shifts, or where no swizzle is that function.
    ///
    /// Source: CuTe's `composition` of two swizzles.
    ///
    /// ```
    /// # use layout_core::Swizzle;
    /// let (outer, inner) = (Swizzle::new(1, 4, 3)?, Swizzle::new(1, 3, 3)?);
    /// assert_eq!(outer.compose(&inner)?, Swizzle::new(2, 3, 3)?);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn compose(&self, inner: &Self) -> Result<Self, LayoutError> {
        let refuse = |detail: String| Err(LayoutError::Unsupported { operation: "swizzle", detail });
        match (self.bits, inner.bits) {
            (_, 0) => return Ok(*self),
            (0, _) => return Ok(*inner),
            _ if self.shift != inner.shift => {
                return refuse(format!("{self} and {inner} differ in their shift"));
            }
            _ => {}
        }
        if inner.target_mask() & self.source_mask() != 0 {
            return refuse(format!("{inner} changes bits that {self} reads; apply one after the other"));
        }
        Self::of_masks(self.source_mask() ^ inner.source_mask(), self.target_mask() ^ inner.target_mask())
    }

    /// The swizzle of offsets in units of `count` elements, `count` a power of two; bits below the unit fall off.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] for another `count`.
    ///
    /// ```
    /// # use layout_core::Swizzle;
    /// // The 128-byte swizzle of bytes, for elements of two bytes.
    /// assert_eq!(Swizzle::new(3, 4, 3)?.upcast(2)?, Swizzle::new(3, 3, 3)?);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn upcast(&self, count: i64) -> Result<Self, LayoutError> {
        let log = log2(count)?;
        match self.base.checked_sub(log) {
            Some(base) => Self::new(self.bits, base, self.shift),
            None => Self::new(self.bits.saturating_sub(log - self.base), 0, self.shift),
        }
    }

    /// The swizzle of offsets in units of a `count`-th of an element, `count` a power of two.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] for another `count`, or if the bits pass an offset's.
    ///
    /// ```
    /// # use layout_core::Swizzle;
    /// assert_eq!(Swizzle::new(3, 3, 3)?.downcast(2)?, Swizzle::new(3, 4, 3)?);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn downcast(&self, count: i64) -> Result<Self, LayoutError> {
        Self::new(self.bits, self.base + log2(count)?, self.shift)
    }

    /// The least number of offsets that this permutes among themselves: it leaves every aligned block of this size
    /// to itself.
    ///
    /// ```
    /// assert_eq!(layout_core::Swizzle::new(3, 4, 3)?.period(), 1024);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn period(&self) -> i64 {
        1 << (self.bits + self.base + self.shift.unsigned_abs())
    }
}

fn log2(count: i64) -> Result<u32, LayoutError> {
    if count > 0 && count.count_ones() == 1 {
        return Ok(count.trailing_zeros());
    }
    let detail = format!("a factor of {count}; swizzles are recast by powers of two");
    Err(LayoutError::Unsupported { operation: "swizzle", detail })
}

impl fmt::Display for Swizzle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sw<{},{},{}>", self.bits, self.base, self.shift)
    }
}

/// A swizzle of byte offsets, as PTX and the tensor-map encoding count them: not to be mixed up with a [`Swizzle`],
/// which counts elements.
///
/// ```
/// use layout_core::{ByteSwizzle, Swizzle};
///
/// let bytes = ByteSwizzle::B128;
/// assert_eq!(bytes.to_string(), "128B: Sw<3,4,3> of bytes");
/// assert_eq!(bytes.of_elements(16)?, Swizzle::new(3, 3, 3)?);
/// assert_eq!(ByteSwizzle::of_swizzle(&Swizzle::new(3, 3, 3)?, 16)?, bytes);
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ByteSwizzle(Swizzle);

impl ByteSwizzle {
    /// No swizzle (interleaved 16-byte units stay in order).
    ///
    /// ```
    /// assert_eq!(layout_core::ByteSwizzle::NONE.apply(1000), 1000);
    /// ```
    pub const NONE: Self = Self(Swizzle { bits: 0, base: 4, shift: 3 });
    /// The 32-byte mode: `Sw<1,4,3>`.
    ///
    /// ```
    /// assert_eq!(layout_core::ByteSwizzle::B32.span(), Some(32));
    /// ```
    pub const B32: Self = Self(Swizzle { bits: 1, base: 4, shift: 3 });
    /// The 64-byte mode: `Sw<2,4,3>`.
    ///
    /// ```
    /// assert_eq!(layout_core::ByteSwizzle::B64.span(), Some(64));
    /// ```
    pub const B64: Self = Self(Swizzle { bits: 2, base: 4, shift: 3 });
    /// The 128-byte mode: `Sw<3,4,3>`.
    ///
    /// ```
    /// assert_eq!(layout_core::ByteSwizzle::B128.span(), Some(128));
    /// ```
    pub const B128: Self = Self(Swizzle { bits: 3, base: 4, shift: 3 });

    /// The swizzle of elements of `bits` bits as one of bytes.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] unless `bits` is a power of two.
    ///
    /// ```
    /// # use layout_core::{ByteSwizzle, Swizzle};
    /// assert_eq!(ByteSwizzle::of_swizzle(&Swizzle::new(3, 2, 3)?, 32)?, ByteSwizzle::B128);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn of_swizzle(swizzle: &Swizzle, bits: i64) -> Result<Self, LayoutError> {
        log2(bits)?;
        Ok(Self(if bits >= 8 { swizzle.downcast(bits / 8)? } else { swizzle.upcast(8 / bits)? }))
    }

    /// This swizzle for offsets of elements of `bits` bits.
    ///
    /// # Errors
    /// As [`ByteSwizzle::of_swizzle`].
    ///
    /// ```
    /// # use layout_core::{ByteSwizzle, Swizzle};
    /// assert_eq!(ByteSwizzle::B64.of_elements(32)?, Swizzle::new(2, 2, 3)?);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn of_elements(&self, bits: i64) -> Result<Swizzle, LayoutError> {
        log2(bits)?;
        if bits >= 8 { self.0.upcast(bits / 8) } else { self.0.downcast(8 / bits) }
    }

    /// The width of the rows that are swizzled, in bytes: 32, 64 or 128 for the hardware's modes, 16 for none; nothing
    /// for a swizzle that the hardware does not have.
    ///
    /// ```
    /// # use layout_core::ByteSwizzle;
    /// assert_eq!(ByteSwizzle::B128.span(), Some(128));
    /// ```
    pub fn span(&self) -> Option<i64> {
        (self.0.bits <= 3 && (self.0.bits == 0 || (self.0.base, self.0.shift) == (4, 3)))
            .then(|| 16 << self.0.bits)
    }

    /// The swizzled byte offset.
    ///
    /// ```
    /// # use layout_core::ByteSwizzle;
    /// assert_eq!(ByteSwizzle::B128.apply(128), 144);
    /// ```
    pub fn apply(&self, bytes: i64) -> i64 {
        self.0.apply(bytes)
    }
}

impl fmt::Display for ByteSwizzle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.span() {
            Some(span) => write!(f, "{span}B: {} of bytes", self.0),
            None => write!(f, "{} of bytes", self.0),
        }
    }
}
