//! Numbers: element types, indices, conversions, and the mark of an unrolled loop.

use super::device_only;

/// An element type that Rust has: `f64 f32 i64 i32 u32 i8 u8 bool`.
pub trait Element: Number {}

/// What an index, an extent or a stride is written as.
pub trait Integer: Copy {}

/// A number or a truth value: an element or an index.
pub trait Number: Copy {
    /// The nearest value of another type, as Rust's `as`: integers wrap, floats saturate to integers.
    fn cast<T: Number>(self) -> T {
        device_only()
    }
}

macro_rules! implement {
    ($kind:ident: $($ty:ty),*) => { $(impl $kind for $ty {})* };
}
implement!(Number: f64, f32, i64, i32, u32, i8, u8, bool, usize, isize);
implement!(Element: f64, f32, i64, i32, u32, i8, u8, bool);
// `i32` is the type of a literal that nothing else decides.
implement!(Integer: usize, isize, i32);

/// `a` where the condition holds, else `b`; both are evaluated.
pub fn select<T: Number>(_condition: bool, _a: T, _b: T) -> T {
    device_only()
}

/// Marks the range of a `for`, whose ends are known at compile time: every round becomes its own code.
pub fn unroll<R: Iterator>(range: R) -> R {
    range
}
