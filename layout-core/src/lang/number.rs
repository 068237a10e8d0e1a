//! Numbers: element types, indices, conversions, and the mark of an unrolled loop.

use super::device_only;

/// An element type: `f64 f32 i64 i32 i16 i8 u64 u32 u16 u8 bool`, and the floats of 16 and 8 bits of [this module](super),
/// `f16 bf16 e4m3 e5m2`.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // A kernel's type parameters are element types.
/// #[tiled_kernel(T = [f32, i32], block = [4], grid = [1])]
/// fn twice<T>(x: &mut LayoutTensor<T, RowMajor<4>>) {
///     x[[thread_idx.x]] = x[[thread_idx.x]] + x[[thread_idx.x]];
/// }
/// # let device = Device::simulator();
/// let mut x = device.upload(&[1, 2, 3, 4], [4])?;
/// twice::launch(&device.stream(), &mut x)?;
/// assert_eq!(x.download()?, [2, 4, 6, 8]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub trait Element: Number {}

#[diagnostic::on_unimplemented(
    message = "expected a value of type `{T}`, found `{Self}`",
    note = "convert it: `x as f32`, `x.cast::<bf16>()`"
)]
/// What is written where a value of type `T` is wanted: a `T`; for the floats of 16 and 8 bits, which have no literals
/// of their own, also the literal of an `f32`, which is rounded.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [1], grid = [1])]
/// fn literals(x: &mut LayoutTensor<f16, RowMajor<4>>) {
///     x.fill(0.1); // a literal, rounded to f16
/// }
/// # let device = Device::simulator();
/// let mut x = device.zeros::<layout_cuda::f16, 1>([4])?;
/// literals::launch(&device.stream(), &mut x)?;
/// assert_eq!(x.download()?[3].to_f32(), 0.099975586);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub trait Literal<T> {}

impl<T: Element> Literal<T> for T {}

/// What an index, an extent or a stride is written as.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [1], grid = [1])]
/// fn indices(y: &mut LayoutTensor<i32, RowMajor<4>>, first: usize, shift: isize) {
///     y[[first]] = 1; // a usize
///     y[[first.cast::<isize>() + shift]] = 2; // an isize
///     y[[3]] = 3; // a literal
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 1>([4])?;
/// indices::launch(&device.stream(), &mut y, 2, -1)?;
/// assert_eq!(y.download()?, [0, 2, 1, 3]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub trait Integer: Copy {}

/// What names an element of a view: a coordinate for each mode, or the index alone where there is one mode.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [4], grid = [1])]
/// fn diagonal(x: &LayoutTensor<f32, RowMajor<4, 4>>, y: &mut LayoutTensor<f32, RowMajor<4>>) {
///     let i = thread_idx.x;
///     y[i] = x[[i, i]]; // y[[i]] is the same
/// }
/// # let device = Device::simulator();
/// let x = device.upload(&(0..16).map(|i| i as f32).collect::<Vec<_>>(), [4, 4])?;
/// let mut y = device.zeros::<f32, 1>([4])?;
/// diagonal::launch(&device.stream(), &x, &mut y)?;
/// assert_eq!(y.download()?, [0.0, 5.0, 10.0, 15.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub trait Coordinates {}

impl<I: Integer, const R: usize> Coordinates for [I; R] {}
impl<I: Integer> Coordinates for I {}

/// A number or a truth value: an element or an index.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn mean(x: &mut LayoutTensor<f32, RowMajor<32>>) {
///     x[[lane_id()]] = x[[lane_id()]].warp_sum() / 32usize.cast::<f32>();
/// }
/// # let device = Device::simulator();
/// let mut x = device.upload(&(0..32).map(|i| i as f32).collect::<Vec<_>>(), [32])?;
/// mean::launch(&device.stream(), &mut x)?;
/// assert_eq!(x.download()?, [15.5; 32]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub trait Number: Copy + std::fmt::Display + std::fmt::Debug {
    /// The nearest value of another type, as Rust's `as`: integers wrap, floats saturate to integers.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [3], grid = [1])]
    /// fn bytes(x: &LayoutTensor<f32, RowMajor<3>>, y: &mut LayoutTensor<u8, RowMajor<3>>) {
    ///     y[[thread_idx.x]] = x[[thread_idx.x]].cast::<u8>();
    /// }
    /// # let device = Device::simulator();
    /// let x = device.upload(&[-3.0f32, 2.75, 1000.0], [3])?;
    /// let mut y = device.zeros::<u8, 1>([3])?;
    /// bytes::launch(&device.stream(), &x, &mut y)?;
    /// assert_eq!(y.download()?, [0, 2, 255]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn cast<T: Number>(self) -> T {
        device_only()
    }

    /// The value of lane `lane % 32`. Every thread of the warp takes part, here and below; the block is a multiple of
    /// 32 threads. A shuffle takes every element type, the sums and extremes every integer, `f32` and `f64`.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [32], grid = [1])]
    /// fn first(x: &mut LayoutTensor<i32, RowMajor<32>>) {
    ///     x[[lane_id()]] = x[[lane_id()]].shuffle(0);
    /// }
    /// # let device = Device::simulator();
    /// let mut x = device.upload(&(7..39).collect::<Vec<i32>>(), [32])?;
    /// first::launch(&device.stream(), &mut x)?;
    /// assert_eq!(x.download()?, [7; 32]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn shuffle(self, _lane: usize) -> Self {
        device_only()
    }

    /// The value of the lane `count % 32` before this one; its own where there is none.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [32], grid = [1])]
    /// fn before(x: &mut LayoutTensor<i32, RowMajor<32>>) {
    ///     x[[lane_id()]] = x[[lane_id()]].shuffle_up(2);
    /// }
    /// # let device = Device::simulator();
    /// let mut x = device.upload(&(0..32).collect::<Vec<i32>>(), [32])?;
    /// before::launch(&device.stream(), &mut x)?;
    /// assert_eq!(x.download()?[..5], [0, 1, 0, 1, 2]); // lanes 0 and 1 keep their own
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn shuffle_up(self, _count: usize) -> Self {
        device_only()
    }

    /// The value of the lane `count % 32` after this one; its own where there is none.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [32], grid = [1])]
    /// fn after(x: &mut LayoutTensor<i32, RowMajor<32>>) {
    ///     x[[lane_id()]] = x[[lane_id()]].shuffle_down(2);
    /// }
    /// # let device = Device::simulator();
    /// let mut x = device.upload(&(0..32).collect::<Vec<i32>>(), [32])?;
    /// after::launch(&device.stream(), &mut x)?;
    /// assert_eq!(x.download()?[27..], [29, 30, 31, 30, 31]); // lanes 30 and 31 keep their own
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn shuffle_down(self, _count: usize) -> Self {
        device_only()
    }

    /// The value of lane `lane_id() ^ (count % 32)`.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [32], grid = [1])]
    /// fn pairs(x: &mut LayoutTensor<i32, RowMajor<32>>) {
    ///     x[[lane_id()]] = x[[lane_id()]].shuffle_xor(1);
    /// }
    /// # let device = Device::simulator();
    /// let mut x = device.upload(&(0..32).collect::<Vec<i32>>(), [32])?;
    /// pairs::launch(&device.stream(), &mut x)?;
    /// assert_eq!(x.download()?[..4], [1, 0, 3, 2]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn shuffle_xor(self, _count: usize) -> Self {
        device_only()
    }

    /// The sum over the warp, in every lane; `warp_sum(x)` is the same. Floats take five rounds: each lane adds the sum of
    /// lane `lane_id() ^ d` for `d` = 16, 8, 4, 2, 1. So the order is always the same, and so are the bits, in every lane
    /// and on the simulator. Integers of up to 32 bits take one instruction (`redux.sync`, sm_80 and later).
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [32], grid = [1])]
    /// fn sum(x: &mut LayoutTensor<i32, RowMajor<32>>) {
    ///     x[[lane_id()]] = x[[lane_id()]].warp_sum();
    /// }
    /// # let device = Device::simulator();
    /// let mut x = device.upload(&(0..32).collect::<Vec<i32>>(), [32])?;
    /// sum::launch(&device.stream(), &mut x)?;
    /// assert_eq!(x.download()?, [496; 32]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn warp_sum(self) -> Self {
        device_only()
    }

    /// The largest value of the warp, in every lane; a NaN is ignored.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [32], grid = [1])]
    /// fn most(x: &mut LayoutTensor<f32, RowMajor<32>>) {
    ///     x[[lane_id()]] = x[[lane_id()]].warp_max();
    /// }
    /// # let device = Device::simulator();
    /// let mut values = vec![1.5; 32];
    /// values[3] = f32::NAN;
    /// let mut x = device.upload(&values, [32])?;
    /// most::launch(&device.stream(), &mut x)?;
    /// assert_eq!(x.download()?, [1.5; 32]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn warp_max(self) -> Self {
        device_only()
    }

    /// The smallest value of the warp, in every lane, likewise.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [32], grid = [1])]
    /// fn least(x: &mut LayoutTensor<i32, RowMajor<32>>) {
    ///     x[[lane_id()]] = x[[lane_id()]].warp_min();
    /// }
    /// # let device = Device::simulator();
    /// let mut x = device.upload(&(-4..28).collect::<Vec<i32>>(), [32])?;
    /// least::launch(&device.stream(), &mut x)?;
    /// assert_eq!(x.download()?, [-4; 32]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn warp_min(self) -> Self {
        device_only()
    }

    /// The bits that are one in every lane of the warp, in every lane: of integers, one instruction up to 32 bits.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [32], grid = [1])]
    /// fn common(x: &mut LayoutTensor<u32, RowMajor<32>>) {
    ///     x[[lane_id()]] = x[[lane_id()]].warp_and();
    /// }
    /// # let device = Device::simulator();
    /// let mut x = device.upload(&(0..32).map(|i| 0xff00 | i).collect::<Vec<u32>>(), [32])?;
    /// common::launch(&device.stream(), &mut x)?;
    /// assert_eq!(x.download()?, [0xff00; 32]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn warp_and(self) -> Self {
        device_only()
    }

    /// The bits that are one in some lane of the warp, in every lane.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [32], grid = [1])]
    /// fn some(x: &mut LayoutTensor<u64, RowMajor<32>>) {
    ///     x[[lane_id()]] = x[[lane_id()]].warp_or();
    /// }
    /// # let device = Device::simulator();
    /// let mut x = device.upload(&(0..32).map(|i| 1u64 << (2 * i)).collect::<Vec<u64>>(), [32])?;
    /// some::launch(&device.stream(), &mut x)?;
    /// assert_eq!(x.download()?, [0x5555_5555_5555_5555; 32]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn warp_or(self) -> Self {
        device_only()
    }

    /// The bits that are one in an odd number of the warp's lanes, in every lane.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [32], grid = [1])]
    /// fn parity(x: &mut LayoutTensor<u8, RowMajor<32>>) {
    ///     x[[lane_id()]] = x[[lane_id()]].warp_xor();
    /// }
    /// # let device = Device::simulator();
    /// let mut x = device.upload(&[[7u8; 1].as_slice(), &[2; 31]].concat(), [32])?;
    /// parity::launch(&device.stream(), &mut x)?;
    /// assert_eq!(x.download()?, [5; 32]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn warp_xor(self) -> Self {
        device_only()
    }

    /// The sum over the lanes up to this one, its own value included.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [32], grid = [1])]
    /// fn upto(x: &mut LayoutTensor<i32, RowMajor<32>>) {
    ///     x[[lane_id()]] = x[[lane_id()]].warp_prefix_sum();
    /// }
    /// # let device = Device::simulator();
    /// let mut x = device.upload(&(1..33).collect::<Vec<i32>>(), [32])?;
    /// upto::launch(&device.stream(), &mut x)?;
    /// assert_eq!(x.download()?[..4], [1, 3, 6, 10]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn warp_prefix_sum(self) -> Self {
        device_only()
    }

    /// The sum over the block, in every thread: of each warp, then of the warps in order. Every thread of the block takes
    /// part and waits for the others, as at a [`barrier`](super::barrier).
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [64], grid = [1])]
    /// fn sum(x: &mut LayoutTensor<i32, RowMajor<64>>) {
    ///     x[[thread_idx.x]] = x[[thread_idx.x]].block_sum();
    /// }
    /// # let device = Device::simulator();
    /// let mut x = device.upload(&(0..64).collect::<Vec<i32>>(), [64])?;
    /// sum::launch(&device.stream(), &mut x)?;
    /// assert_eq!(x.download()?, [2016; 64]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn block_sum(self) -> Self {
        device_only()
    }

    /// The largest value of the block, in every thread, likewise.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [64], grid = [1])]
    /// fn most(x: &mut LayoutTensor<i32, RowMajor<64>>) {
    ///     x[[thread_idx.x]] = x[[thread_idx.x]].block_max();
    /// }
    /// # let device = Device::simulator();
    /// let mut x = device.upload(&(0..64).collect::<Vec<i32>>(), [64])?;
    /// most::launch(&device.stream(), &mut x)?;
    /// assert_eq!(x.download()?, [63; 64]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn block_max(self) -> Self {
        device_only()
    }

    /// The smallest value of the block, in every thread, likewise.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [64], grid = [1])]
    /// fn least(x: &mut LayoutTensor<i32, RowMajor<64>>) {
    ///     x[[thread_idx.x]] = x[[thread_idx.x]].block_min();
    /// }
    /// # let device = Device::simulator();
    /// let mut x = device.upload(&(5..69).collect::<Vec<i32>>(), [64])?;
    /// least::launch(&device.stream(), &mut x)?;
    /// assert_eq!(x.download()?, [5; 64]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn block_min(self) -> Self {
        device_only()
    }

    /// The sum over the threads of the block up to this one, its own value included: of its warp, and of the warps before
    /// it in order. Every thread of the block takes part and waits for the others.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [64], grid = [1])]
    /// fn upto(x: &mut LayoutTensor<i32, RowMajor<64>>) {
    ///     x[[thread_idx.x]] = x[[thread_idx.x]].block_prefix_sum();
    /// }
    /// # let device = Device::simulator();
    /// let mut x = device.upload(&[1; 64], [64])?;
    /// upto::launch(&device.stream(), &mut x)?;
    /// assert_eq!(x.download()?[30..34], [31, 32, 33, 34]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn block_prefix_sum(self) -> Self {
        device_only()
    }
}

macro_rules! implement {
    ($kind:ident: $($ty:ty),*) => { $(impl $kind for $ty {})* };
}
implement!(Number: f64, f32, i64, i32, i16, i8, u64, u32, u16, u8, bool, usize, isize);
implement!(Element: f64, f32, i64, i32, i16, i8, u64, u32, u16, u8, bool);

/// The constants of every element type but `bool`; Rust's own types have `MIN` and `MAX` by themselves.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(T = [f32, u16], block = [1], grid = [1])]
/// fn ends<T>(y: &mut LayoutTensor<T, RowMajor<4>>) {
///     y[[0]] = T::ZERO;
///     y[[1]] = T::ONE;
///     y[[2]] = T::MIN;
///     y[[3]] = T::MAX;
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<u16, 1>([4])?;
/// ends::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [0, 1, 0, 65535]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub trait Constants: Element {
    /// 0
    const ZERO: Self;
    /// 1
    const ONE: Self;
    /// The least finite value.
    const MIN: Self;
    /// The largest finite value.
    const MAX: Self;
}

macro_rules! constants {
    ($($ty:ident: $zero:literal $one:literal,)*) => {$(
        impl Constants for $ty {
            const ZERO: $ty = $zero;
            const ONE: $ty = $one;
            const MIN: $ty = $ty::MIN;
            const MAX: $ty = $ty::MAX;
        }
    )*};
}
constants! {
    f64: 0.0 1.0, f32: 0.0 1.0,
    i64: 0 1, i32: 0 1, i16: 0 1, i8: 0 1,
    u64: 0 1, u32: 0 1, u16: 0 1, u8: 0 1,
}

// `i32` is the type of a literal that nothing else decides.
implement!(Integer: usize, isize, i32);

/// `a` where the condition holds, else `b`; both are evaluated.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [4], grid = [1])]
/// fn relu(x: &mut LayoutTensor<f32, RowMajor<4>>) {
///     let own = x[[thread_idx.x]];
///     x[[thread_idx.x]] = select(own > 0.0, own, 0.0);
/// }
/// # let device = Device::simulator();
/// let mut x = device.upload(&[-1.0f32, 2.0, -3.0, 4.0], [4])?;
/// relu::launch(&device.stream(), &mut x)?;
/// assert_eq!(x.download()?, [0.0, 2.0, 0.0, 4.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn select<T: Number>(_condition: bool, _a: T, _b: T) -> T {
    device_only()
}

/// Promises that a condition holds where a thread comes to this statement. The compiler builds on it to the end of the block, as
/// within `if condition { .. }`: an access that it proves has no mask, and an integer of 64 bits that it keeps within 32
/// becomes one of 32 bits. What is compared is named by a `let` first; of an element that is loaded again nothing is known.
/// CUDA's `__builtin_assume`.
///
/// The simulator reports a condition that is false ("false assumption"). On a GPU nothing tests it: what follows is then
/// undefined, accesses outside of the tensor included. A condition with an effect is refused.
///
/// ```
/// # use layout_cuda::{Device, FindingKind, tiled_kernel};
/// #[tiled_kernel(block = [4], grid = [1], deny(masked))]
/// fn pick(keys: &LayoutTensor<u32, RowMajor<4>>, x: &LayoutTensor<f32, RowMajor<8>>, y: &mut LayoutTensor<f32, RowMajor<4>>) {
///     let key = keys[[thread_idx.x]];
///     assume(key < 8);
///     y[[thread_idx.x]] = x[[key as usize]];
/// }
/// # let device = Device::simulator();
/// let x = device.upload(&[0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [8])?;
/// let (keys, mut y) = (device.upload(&[7u32, 1, 0, 3], [4])?, device.zeros::<f32, 1>([4])?);
/// pick::launch(&device.stream(), &keys, &x, &mut y)?;
/// assert_eq!(y.download()?, [7.0, 1.0, 0.0, 3.0]);
/// let wrong = device.upload(&[7u32, 1, 9, 3], [4])?;
/// assert_eq!(pick::simulate(&wrong, &x, &mut y)?.findings[0].kind, FindingKind::FalseAssumption);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn assume(_condition: bool) {
    device_only()
}

/// Marks the range of a `for`, whose ends are known at compile time: every round becomes code of its own. Its variable may
/// decide what must be known at compile time: an extent, a `const`, which register `if r % 2 == 0 { k } else { 3 - k }` is.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // The indices of a tensor in registers are numbers once its loop is unrolled.
/// #[tiled_kernel(block = [1], grid = [1])]
/// fn tens(y: &mut LayoutTensor<i32, RowMajor<4>>) {
///     let mut held = local::<i32>(row_major([4]));
///     for i in unroll(0..4) {
///         held[[i]] = (10 * i) as i32;
///     }
///     for i in unroll(0..4) {
///         y[[i]] = held[[3 - i]];
///     }
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 1>([4])?;
/// tens::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [30, 20, 10, 0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn unroll<R: Iterator>(range: R) -> R {
    range
}
