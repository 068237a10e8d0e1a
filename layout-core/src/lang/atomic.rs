//! Memory that threads share element by element: atomic operations, flags between blocks, and their scopes.

use super::device_only;
use super::number::Integer;
use super::tensor::Tensor;
use super::view::{View, Write};

/// Atomic operations on the elements of every tensor and view.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [32], grid = [3])]
/// fn count(y: &mut LayoutTensor<u32, RowMajor<1>>) {
///     y.atomic_add([0], 1);
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<u32, 1>([1])?;
/// count::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [96]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub trait Atomic: Tensor {
    /// Adds to an element atomically; gives its old value. Types: `i32 u32 i64 u64 f32 f64`, in a global or a shared
    /// tensor. The order of several threads' atomics is open, so a sum of floats may differ in its last bits from run to
    /// run. A subnormal `f32` in a global tensor, added or as the sum, is zero. It orders no other access.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [32], grid = [2])]
    /// fn count(x: &LayoutTensor<i32, RowMajor<64>>, bins: &mut LayoutTensor<i32, RowMajor<2>>) {
    ///     let own = x[[32 * block_idx.x + thread_idx.x]];
    ///     bins.atomic_add([own as usize % 2], 1);
    /// }
    /// # let device = Device::simulator();
    /// let x = device.upload(&(0..64).map(|i| i / 3).collect::<Vec<i32>>(), [64])?;
    /// let mut bins = device.zeros::<i32, 1>([2])?;
    /// count::launch(&device.stream(), &x, &mut bins)?;
    /// assert_eq!(bins.download()?, [33, 31]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn atomic_add<I: Integer, const R: usize>(&self, _coordinate: [I; R], _value: Self::Elem) -> Self::Elem
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// Puts the larger of an element and `value` there, atomically; gives the old value. Types: `i32 u32 i64 u64 f32`;
    /// where one of two floats is NaN, the other one counts.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [32], grid = [2])]
    /// fn most(x: &LayoutTensor<i32, RowMajor<64>>, y: &mut LayoutTensor<i32, RowMajor<1>>) {
    ///     y.atomic_max([0], x[[32 * block_idx.x + thread_idx.x]]);
    /// }
    /// # let device = Device::simulator();
    /// let x = device.upload(&(0..64).map(|i| i * 37 % 101).collect::<Vec<i32>>(), [64])?;
    /// let mut y = device.zeros::<i32, 1>([1])?;
    /// most::launch(&device.stream(), &x, &mut y)?;
    /// assert_eq!(y.download()?, [100]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn atomic_max<I: Integer, const R: usize>(&self, _coordinate: [I; R], _value: Self::Elem) -> Self::Elem
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// Puts the smaller of an element and `value` there; otherwise as [`atomic_max`](Atomic::atomic_max).
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [32], grid = [2])]
    /// fn least(x: &LayoutTensor<i32, RowMajor<64>>, y: &mut LayoutTensor<i32, RowMajor<1>>) {
    ///     y.atomic_min([0], x[[32 * block_idx.x + thread_idx.x]]);
    /// }
    /// # let device = Device::simulator();
    /// let x = device.upload(&(0..64).map(|i| i - 40).collect::<Vec<i32>>(), [64])?;
    /// let mut y = device.zeros::<i32, 1>([1])?;
    /// least::launch(&device.stream(), &x, &mut y)?;
    /// assert_eq!(y.download()?, [-40]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn atomic_min<I: Integer, const R: usize>(&self, _coordinate: [I; R], _value: Self::Elem) -> Self::Elem
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// Keeps the bits of an element that `value` has too, atomically; gives the old value. Types: `i32 u32 i64 u64`, in a global
    /// or a shared tensor. It orders no other access.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [32], grid = [2])]
    /// fn common(x: &LayoutTensor<u32, RowMajor<64>>, y: &mut LayoutTensor<u32, RowMajor<1>>) {
    ///     y.atomic_and([0], x[[32 * block_idx.x + thread_idx.x]]);
    /// }
    /// # let device = Device::simulator();
    /// let x = device.upload(&(0..64).map(|i| !(1 << i % 4)).collect::<Vec<u32>>(), [64])?;
    /// let mut y = device.upload(&[0xffu32], [1])?;
    /// common::launch(&device.stream(), &x, &mut y)?;
    /// assert_eq!(y.download()?, [0xf0]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn atomic_and<I: Integer, const R: usize>(&self, _coordinate: [I; R], _value: Self::Elem) -> Self::Elem
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// Sets the bits of `value` in an element; otherwise as [`atomic_and`](Atomic::atomic_and).
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [32], grid = [2])]
    /// fn seen(x: &LayoutTensor<u32, RowMajor<64>>, y: &mut LayoutTensor<u32, RowMajor<1>>) {
    ///     y.atomic_or([0], x[[32 * block_idx.x + thread_idx.x]]);
    /// }
    /// # let device = Device::simulator();
    /// let x = device.upload(&(0..64).map(|i| 1 << i % 6).collect::<Vec<u32>>(), [64])?;
    /// let mut y = device.upload(&[0u32], [1])?;
    /// seen::launch(&device.stream(), &x, &mut y)?;
    /// assert_eq!(y.download()?, [0x3f]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn atomic_or<I: Integer, const R: usize>(&self, _coordinate: [I; R], _value: Self::Elem) -> Self::Elem
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// Flips the bits of `value` in an element; otherwise as [`atomic_and`](Atomic::atomic_and).
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [32], grid = [2])]
    /// fn parity(x: &LayoutTensor<u32, RowMajor<64>>, y: &mut LayoutTensor<u32, RowMajor<1>>) {
    ///     y.atomic_xor([0], x[[32 * block_idx.x + thread_idx.x]]);
    /// }
    /// # let device = Device::simulator();
    /// let x = device.upload(&(1..65).collect::<Vec<u32>>(), [64])?;
    /// let mut y = device.upload(&[0u32], [1])?;
    /// parity::launch(&device.stream(), &x, &mut y)?;
    /// assert_eq!(y.download()?, [64]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn atomic_xor<I: Integer, const R: usize>(&self, _coordinate: [I; R], _value: Self::Elem) -> Self::Elem
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// Replaces an element by a value, atomically; gives the old value. Types: `i32 u32 f32 i64 u64 f64`, in a global or a
    /// shared tensor. It orders no other access: a lock takes a fence after it ([`fence_device`](super::fence_device)).
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// // Who comes first finds the tensor's own value, and the others those of the threads before.
    /// #[tiled_kernel(block = [32], grid = [2])]
    /// fn chain(last: &mut LayoutTensor<i32, RowMajor<1>>, before: &mut LayoutTensor<i32, RowMajor<64>>) {
    ///     let own = 32 * block_idx.x + thread_idx.x;
    ///     before[[own]] = last.atomic_exchange([0], own as i32);
    /// }
    /// # let device = Device::simulator();
    /// let (mut last, mut before) = (device.upload(&[-1], [1])?, device.zeros::<i32, 1>([64])?);
    /// chain::launch(&device.stream(), &mut last, &mut before)?;
    /// let mut all = [before.download()?, last.download()?].concat();
    /// all.sort();
    /// assert_eq!(all, (-1..64).collect::<Vec<i32>>());
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn atomic_exchange<I: Integer, const R: usize>(
        &self,
        _coordinate: [I; R],
        _value: Self::Elem,
    ) -> Self::Elem
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// Replaces an element by `value` where it has the bits of `expected`, atomically; gives the old value. The replacement
    /// was done where that is `expected` (`atomicCAS`). Every type of 2, 4 and 8 bytes, in a global or a shared tensor. It
    /// orders no other access.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// // A product that no single operation makes: again until nobody came between.
    /// #[tiled_kernel(block = [8], grid = [1])]
    /// fn product(y: &mut LayoutTensor<f32, RowMajor<1>>) {
    ///     let mut seen = y.load_relaxed([0]);
    ///     loop {
    ///         let found = y.atomic_compare_exchange([0], seen, seen * 2.0);
    ///         if found == seen {
    ///             break;
    ///         }
    ///         seen = found;
    ///     }
    /// }
    /// # let device = Device::simulator();
    /// let mut y = device.upload(&[1.0f32], [1])?;
    /// product::launch(&device.stream(), &mut y)?;
    /// assert_eq!(y.download()?, [256.0]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn atomic_compare_exchange<I: Integer, const R: usize>(
        &self,
        _coordinate: [I; R],
        _expected: Self::Elem,
        _value: Self::Elem,
    ) -> Self::Elem
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// Loads an element atomically, as it is in memory now (`ld.relaxed`), and orders nothing: for values that say
    /// themselves whether they are there. Types: `i32 u32 f32 i64 u64 f64`, in a global or a shared tensor that some block
    /// writes.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// // Every thread reads one counter while others add to it.
    /// #[tiled_kernel(block = [32], grid = [1])]
    /// fn some(x: &mut LayoutTensor<i32, RowMajor<1>>, y: &mut LayoutTensor<bool, RowMajor<32>>) {
    ///     x.atomic_add([0], 1);
    ///     y[[thread_idx.x]] = x.load_relaxed([0]) > 0;
    /// }
    /// # let device = Device::simulator();
    /// let mut x = device.zeros::<i32, 1>([1])?;
    /// let mut y = device.zeros::<bool, 1>([32])?;
    /// some::launch(&device.stream(), &mut x, &mut y)?;
    /// assert_eq!(y.download()?, [true; 32]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn load_relaxed<I: Integer, const R: usize>(&self, _coordinate: [I; R]) -> Self::Elem
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// Loads an element with acquire order (`ld.acquire`). Where it reads what a [`store_release`](Atomic::store_release) of any
    /// block wrote, this thread sees from here on all that the other thread did before it.
    ///
    /// `while flags.load_acquire([i]) == 0 {}` waits for another block. The GPU starts blocks in no promised order and runs
    /// only some at once. So a block may wait only for one that has drawn an earlier ticket (`atomic_add`).
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// // Warp 1 waits for warp 0's flag and then sees its value.
    /// #[tiled_kernel(block = [64], grid = [1])]
    /// fn hand_over(flag: &mut LayoutTensor<i32, RowMajor<1>>, y: &mut LayoutTensor<i32, RowMajor<2>>) {
    ///     if thread_idx.x == 0 {
    ///         y[[0]] = 7;
    ///         flag.store_release([0], 1);
    ///     }
    ///     if thread_idx.x == 32 {
    ///         while flag.load_acquire([0]) == 0 {}
    ///         y[[1]] = y[[0]];
    ///     }
    /// }
    /// # let device = Device::simulator();
    /// let mut flag = device.zeros::<i32, 1>([1])?;
    /// let mut y = device.zeros::<i32, 1>([2])?;
    /// hand_over::launch(&device.stream(), &mut flag, &mut y)?;
    /// assert_eq!(y.download()?, [7, 7]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn load_acquire<I: Integer, const R: usize>(&self, _coordinate: [I; R]) -> Self::Elem
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// Stores an element atomically (`st.relaxed`), and orders nothing.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// // Every thread says the same; plain writes would be a race.
    /// #[tiled_kernel(block = [32], grid = [1])]
    /// fn found(x: &LayoutTensor<i32, RowMajor<32>>, y: &mut LayoutTensor<i32, RowMajor<1>>) {
    ///     if x[[thread_idx.x]] % 5 == 0 {
    ///         y.store_relaxed([0], 1);
    ///     }
    /// }
    /// # let device = Device::simulator();
    /// let x = device.upload(&(0..32).collect::<Vec<i32>>(), [32])?;
    /// let mut y = device.zeros::<i32, 1>([1])?;
    /// found::launch(&device.stream(), &x, &mut y)?;
    /// assert_eq!(y.download()?, [1]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn store_relaxed<I: Integer, const R: usize>(&self, _coordinate: [I; R], _value: Self::Elem)
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// Stores an element with release order (`st.release`): after all that this thread did before. What other threads of the
    /// block did happens before it where a [`barrier`](super::barrier) separates them.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// // The second block waits for the value of the first; a ticket says which block is first.
    /// #[tiled_kernel(block = [1], grid = [2])]
    /// fn chain(flags: &mut LayoutTensor<i32, RowMajor<3>>, y: &mut LayoutTensor<i32, RowMajor<2>>) {
    ///     let ticket = flags.atomic_add([2], 1) as usize;
    ///     if ticket == 0 {
    ///         y[[0]] = 5;
    ///         flags.store_release([0], 1);
    ///     } else {
    ///         while flags.load_acquire([0]) == 0 {}
    ///         y[[1]] = y[[0]] + 1;
    ///     }
    /// }
    /// # let device = Device::simulator();
    /// let mut flags = device.zeros::<i32, 1>([3])?;
    /// let mut y = device.zeros::<i32, 1>([2])?;
    /// chain::launch(&device.stream(), &mut flags, &mut y)?;
    /// assert_eq!(y.download()?, [5, 6]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn store_release<I: Integer, const R: usize>(&self, _coordinate: [I; R], _value: Self::Elem)
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// The view whose atomic operations, flags included, have the block's scope: they are atomic and ordering for the
    /// block's threads alone, and cheaper. Without it the scope is the device. It is the last word before the operation:
    /// `flags.block_scope().store_release([i], 1)`.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [64], grid = [1])]
    /// fn signal(flags: &mut LayoutTensor<i32, RowMajor<1>>, y: &mut LayoutTensor<i32, RowMajor<2>>) {
    ///     if thread_idx.x == 0 {
    ///         y[[0]] = 5;
    ///         flags.block_scope().store_release([0], 1);
    ///     }
    ///     if thread_idx.x == 32 {
    ///         while flags.block_scope().load_acquire([0]) == 0 {}
    ///         y[[1]] = y[[0]] + 1;
    ///     }
    /// }
    /// # let device = Device::simulator();
    /// let (mut flags, mut y) = (device.zeros::<i32, 1>([1])?, device.zeros::<i32, 1>([2])?);
    /// signal::launch(&device.stream(), &mut flags, &mut y)?;
    /// assert_eq!(y.download()?, [5, 6]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn block_scope(&self) -> View<Self::Elem, Write>
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// The view whose atomic operations have the system's scope: threads of other devices and of the host included.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [32], grid = [2])]
    /// fn count(y: &mut LayoutTensor<u32, RowMajor<1>>) {
    ///     y.system_scope().atomic_add([0], 1);
    /// }
    /// # let device = Device::simulator();
    /// let mut y = device.zeros::<u32, 1>([1])?;
    /// count::launch(&device.stream(), &mut y)?;
    /// assert_eq!(y.download()?, [64]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn system_scope(&self) -> View<Self::Elem, Write>
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }
}

impl<V: Tensor> Atomic for V {}

/// Orders this thread's accesses to memory before it and after it, for the threads of its block (`__threadfence_block`).
/// What it wrote before the fence happens before what another thread of the block does after its own fence, if that thread
/// has read, by an atomic operation, what this one wrote by an atomic operation after its fence.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // The first warp hands an element to the second.
/// #[tiled_kernel(block = [64], grid = [1])]
/// fn pass(y: &mut LayoutTensor<i32, RowMajor<1>>) {
///     let mut held = shared::<i32>(row_major([2]));
///     if thread_idx.x == 0 {
///         held.block_scope().store_relaxed([1], 0);
///     }
///     barrier();
///     if thread_idx.x == 0 {
///         held[[0]] = 7;
///         fence_block();
///         held.block_scope().store_relaxed([1], 1);
///     } else if thread_idx.x == 32 {
///         while held.block_scope().load_relaxed([1]) == 0 {}
///         fence_block();
///         y[[0]] = held[[0]];
///     }
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 1>([1])?;
/// pass::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [7]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn fence_block() {
    device_only()
}

/// The same for the threads of the device (`__threadfence`).
///
/// ```
/// # use layout_cuda::{Device, LaunchConfig, ParamSet, ParamValue, tiled_kernel};
/// // The block that draws the last number adds up what all have written. Without the fences the simulator finds a race.
/// #[tiled_kernel(FENCED = [true, false], block = [1], grid = [8])]
/// fn total(
///     parts: &mut LayoutTensor<i32, RowMajor<8>>,
///     drawn: &mut LayoutTensor<u32, RowMajor<1>>,
///     y: &mut LayoutTensor<i32, RowMajor<1>>,
/// ) {
///     parts[[block_idx.x]] = 1 + block_idx.x as i32;
///     if FENCED {
///         fence_device();
///     }
///     if drawn.atomic_add([0], 1) == 7 {
///         if FENCED {
///             fence_device();
///         }
///         let mut sum = 0;
///         for block in 0..8 {
///             sum += parts[[block]];
///         }
///         y[[0]] = sum;
///     }
/// }
/// # let device = Device::simulator();
/// let (mut parts, mut drawn) = (device.zeros::<i32, 1>([8])?, device.zeros::<u32, 1>([1])?);
/// let mut y = device.zeros::<i32, 1>([1])?;
/// total::launch(&device.stream(), &mut parts, &mut drawn, &mut y)?;
/// assert_eq!(y.download()?, [36]);
/// let mut drawn = device.zeros::<u32, 1>([1])?;
/// let without = ParamSet::default().with("FENCED", ParamValue::Bool(false));
/// let config = LaunchConfig { set: Some(&without), ..LaunchConfig::default() };
/// assert!(total::launch_with(config, &device.stream(), &mut parts, &mut drawn, &mut y).is_err());
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn fence_device() {
    device_only()
}

/// The same for all threads of the system, the host's and those of other devices too (`__threadfence_system`).
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // A flag for the host: the result before it.
/// #[tiled_kernel(block = [1], grid = [1])]
/// fn answer(y: &mut LayoutTensor<i32, RowMajor<1>>, ready: &mut LayoutTensor<u32, RowMajor<1>>) {
///     y[[0]] = 42;
///     fence_system();
///     ready.system_scope().store_relaxed([0], 1);
/// }
/// # let device = Device::simulator();
/// let (mut y, mut ready) = (device.zeros::<i32, 1>([1])?, device.zeros::<u32, 1>([1])?);
/// answer::launch(&device.stream(), &mut y, &mut ready)?;
/// assert_eq!((y.download()?[0], ready.download()?[0]), (42, 1));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn fence_system() {
    device_only()
}
