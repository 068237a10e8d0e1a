//! What threads share element by element: atomic operations, flags between blocks, and their scopes.

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
    /// Adds to an element with no access of another thread in between; gives what was there before. Of `i32 u32 i64 u64 f32
    /// f64`, in a global or a shared tensor. The order of several threads' atomics is open, so a sum of floats may differ
    /// in its last bits from run to run. It orders no other access.
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

    /// Puts the larger of an element and `value` there, likewise. Of `i32 u32 i64 u64 f32`; of floats the number where the other
    /// is NaN.
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

    /// Puts the smaller of an element and `value` there, likewise.
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

    /// Reads an element as it is in memory now, undivided, and orders nothing: for values that say themselves whether
    /// they are there. Of `i32 u32 f32 i64 u64 f64`, in a global or a shared tensor that is written, by any block.
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

    /// Reads an element likewise. Where it reads what a [`store_release`](Atomic::store_release) of any block wrote, this
    /// thread sees from here on all that the other did before.
    ///
    /// `while flags.load_acquire([i]) == 0 {}` waits for another block. The GPU starts blocks in no promised order and
    /// runs only some at once: a block may wait for one that has drawn an earlier ticket (`atomic_add`), not for others.
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

    /// Writes an element, undivided, and orders nothing.
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

    /// Writes an element likewise, after all that this thread did before; what other threads of the block did is
    /// before it where a [`barrier`](super::barrier) stands between.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// // Block 1 waits for the sum of block 0, the tickets telling which block came first.
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

    /// The view whose atomic operations, flags included, are between the threads of the block: undivided and ordering for
    /// them alone, and cheaper. Without a word they are between the threads of the device. The last word before the
    /// operation: `flags.block_scope().store_release([i], 1)`.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [64], grid = [1])]
    /// fn told(flags: &mut LayoutTensor<i32, RowMajor<1>>, y: &mut LayoutTensor<i32, RowMajor<2>>) {
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
    /// told::launch(&device.stream(), &mut flags, &mut y)?;
    /// assert_eq!(y.download()?, [5, 6]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn block_scope(&self) -> View<Self::Elem, Write>
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// The view whose atomic operations are between all threads of the system: other devices' and the host's, too.
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
