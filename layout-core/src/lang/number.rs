//! Numbers: element types, indices, conversions, and the mark of an unrolled loop.

use super::device_only;

/// An element type: `f64 f32 i64 i32 u32 i8 u8 bool`, and the floats of 16 and 8 bits of [this module](super),
/// `f16 bf16 e4m3 e5m2`.
pub trait Element: Number {}

/// What is written where a value of type `T` is wanted: a `T`; for the floats of 16 and 8 bits, which have no literals
/// of their own, also the literal of an `f32`, which is rounded.
#[diagnostic::on_unimplemented(
    message = "expected a value of type `{T}`, found `{Self}`",
    note = "convert it: `x as f32`, `x.cast::<bf16>()`"
)]
pub trait Literal<T> {}

impl<T: Element> Literal<T> for T {}

/// What an index, an extent or a stride is written as.
pub trait Integer: Copy {}

/// A number or a truth value: an element or an index.
pub trait Number: Copy {
    /// The nearest value of another type, as Rust's `as`: integers wrap, floats saturate to integers.
    fn cast<T: Number>(self) -> T {
        device_only()
    }

    /// The value of lane `lane % 32`. Every thread of the warp takes part, here and below; the block is a multiple of
    /// 32 threads, the number is an `f32 f64 i32 u32 i64`.
    fn shuffle(self, _lane: usize) -> Self {
        device_only()
    }

    /// The value of the lane `count % 32` before this one; the own where there is none.
    fn shuffle_up(self, _count: usize) -> Self {
        device_only()
    }

    /// The value of the lane `count % 32` after this one; the own where there is none.
    fn shuffle_down(self, _count: usize) -> Self {
        device_only()
    }

    /// The value of lane `lane_id() ^ (count % 32)`.
    fn shuffle_xor(self, _count: usize) -> Self {
        device_only()
    }

    /// The sum over the warp, in every lane: five rounds, the same order always.
    fn warp_sum(self) -> Self {
        device_only()
    }

    /// The largest value of the warp, in every lane; of floats NaN counts for nothing.
    fn warp_max(self) -> Self {
        device_only()
    }

    /// The smallest value of the warp, in every lane, likewise.
    fn warp_min(self) -> Self {
        device_only()
    }

    /// The sum over the lanes up to this one, its own value included.
    fn warp_prefix_sum(self) -> Self {
        device_only()
    }

    /// The sum over the block, in every thread: of each warp, then of the warps in order. Every thread of the block takes
    /// part and waits for the others, as at a [`barrier`](super::barrier).
    fn block_sum(self) -> Self {
        device_only()
    }

    /// The largest value of the block, in every thread, likewise.
    fn block_max(self) -> Self {
        device_only()
    }

    /// The smallest value of the block, in every thread, likewise.
    fn block_min(self) -> Self {
        device_only()
    }

    /// The sum over the threads of the block up to this one, its own value included: of its warp, and of the warps before
    /// in order. Every thread of the block takes part and waits for the others.
    fn block_prefix_sum(self) -> Self {
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

/// Marks the range of a `for`, whose ends are known at compile time: every round becomes its own code. Its variable
/// may decide what must be known at compile time: an extent, a `const`, which register `if r % 2 == 0 { k } else { 3 - k }` is.
pub fn unroll<R: Iterator>(range: R) -> R {
    range
}
