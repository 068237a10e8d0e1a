//! What an operation of the algebra refuses: the operation, the mode, the numbers and a way out.

use std::fmt;

/// Why an operation on layouts was refused. The text of each names the operation, the numbers and, where there is
/// one, a way out.
///
/// ```
/// use layout_core::{Layout, LayoutError};
///
/// let error = Layout::new((4, 8), 1).unwrap_err();
/// assert_eq!(error, LayoutError::NotCongruent { shape: "(4,8)".into(), stride: "1".into() });
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutError {
    /// Shape and stride nest differently.
    NotCongruent {
        /// The shape, as text.
        shape: String,
        /// The stride, as text.
        stride: String,
    },
    /// An extent below zero.
    NegativeExtent {
        /// The operation that met it.
        operation: &'static str,
        /// The extent.
        extent: i64,
    },
    /// A number beyond 64 bits.
    Overflow {
        /// The operation that met it.
        operation: &'static str,
        /// What was being computed.
        detail: String,
    },
    /// A different number of modes than the operation needs.
    Rank {
        /// The operation that met it.
        operation: &'static str,
        /// What has this rank.
        what: &'static str,
        /// The number of modes it needs, at most or exactly.
        expected: usize,
        /// The number of modes it was given.
        found: usize,
    },
    /// Two tuples that nest differently where the operation needs one nesting.
    Profile {
        /// The operation that met it.
        operation: &'static str,
        /// The first tuple, as text.
        left: String,
        /// The second tuple, as text.
        right: String,
    },
    /// A coordinate outside its mode.
    Coordinate {
        /// Which leaf mode, counted from the left.
        mode: usize,
        /// The coordinate.
        coordinate: i64,
        /// The mode's extent: coordinates are `0..extent`.
        extent: i64,
    },
    /// An extent or a stride that does not divide where the result would need it.
    NotDivisible {
        /// The operation that met it.
        operation: &'static str,
        /// Which leaf mode of the right-hand operand, counted from the left.
        mode: usize,
        /// The number to be divided.
        value: i64,
        /// The divisor.
        divisor: i64,
        /// What it means here, and a way out.
        help: String,
    },
    /// Two modes whose sum runs over the end of one mode of the left-hand layout.
    Carry {
        /// The operation that met it.
        operation: &'static str,
        /// The size of the leading modes of the left-hand layout whose border is crossed.
        border: i64,
        /// The largest sum of remainders, which must stay below `border`.
        reach: i64,
        /// A way out.
        help: String,
    },
    /// A layout that the operation needs injective.
    NotInjective {
        /// The operation that met it.
        operation: &'static str,
        /// The layout, as text.
        layout: String,
        /// Which mode is over another, in numbers.
        detail: String,
    },
    /// A value that the operation has no meaning for.
    Unsupported {
        /// The operation that met it.
        operation: &'static str,
        /// What, and a way out.
        detail: String,
    },
    /// Text that is not a layout.
    Parse {
        /// Byte offset in the text.
        at: usize,
        /// What was expected there.
        expected: &'static str,
    },
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotCongruent { shape, stride } => {
                write!(
                    f,
                    "shape {shape} and stride {stride} nest differently; give one stride for each extent"
                )
            }
            Self::NegativeExtent { operation, extent } => {
                write!(f, "{operation}: extent {extent} is negative; an extent is 0 or more")
            }
            Self::Overflow { operation, detail } => {
                write!(f, "{operation}: {detail} does not fit 64 bits")
            }
            Self::Rank { operation, what, expected, found } => {
                write!(f, "{operation}: {what} has {found} modes where {expected} are needed")
            }
            Self::Profile { operation, left, right } => {
                write!(f, "{operation}: {left} does not nest like {right}")
            }
            Self::Coordinate { mode, coordinate, extent } => {
                write!(f, "coordinate {coordinate} is outside mode {mode}, whose extent is {extent}")
            }
            Self::NotDivisible { operation, mode, value, divisor, help } => {
                write!(f, "{operation}: mode {mode}: {value} is not divisible by {divisor}; {help}")
            }
            Self::Carry { operation, border, reach, help } => {
                write!(f, "{operation}: modes together reach {reach}, over the border at {border}; {help}")
            }
            Self::NotInjective { operation, layout, detail } => {
                write!(f, "{operation}: {layout} is not injective here: {detail}")
            }
            Self::Unsupported { operation, detail } => write!(f, "{operation}: {detail}"),
            Self::Parse { at, expected } => write!(f, "expected {expected} at byte {at}"),
        }
    }
}

impl fmt::Debug for LayoutError {
    /// The words of `Display`: what `fn main() -> Result<..>` and `unwrap` print.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for LayoutError {}
