//! Hints to the caches. They change how fast a kernel is, never what it computes: the simulator does not look at them.
//!
//! Source: PTX ISA, "cache eviction priority hints", "createpolicy".

use super::device_only;
use super::number::Integer;
use super::tensor::Tensor;
use super::view::View;

/// Hints on how the caches should treat the elements of an argument, or of a part of it. Every movement of the view's
/// elements reads its hint: `view[[i, j]]`, copies by threads, [`tma_load`](super::tma_load) and
/// [`tma_store`](super::tma_store). Asynchronous copies by threads and atomic operations take none, which is an error. A
/// view has one hint, the last; tiles of it have it, too; its copy in registers has none.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // What is read once leaves room in L2 for what is read again.
/// #[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
/// fn scale<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, by: &LayoutTensor<f32, RowMajor<4>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
///     let (x, by) = (x.evict_first(), by.evict_last());
///     let i = block_idx.x * 32 + thread_idx.x;
///     if i < N {
///         y.evict_first()[[i]] = x[[i]] * by[[i % 4]];
///     }
/// }
/// # let device = Device::simulator();
/// let (x, by) = (device.upload(&[1.0f32; 6], [6])?, device.upload(&[1.0f32, 2.0, 3.0, 4.0], [4])?);
/// let mut y = device.zeros::<f32, 1>([6])?;
/// scale::launch(&device.stream(), &x, &by, &mut y)?;
/// assert_eq!(y.download()?, [1.0, 2.0, 3.0, 4.0, 1.0, 2.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub trait Hinted: Tensor {
    /// L2 evicts these elements before others: they are moved once.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [32], grid = [1])]
    /// fn copy(x: &LayoutTensor<f32, RowMajor<128>>, y: &mut LayoutTensor<f32, RowMajor<128>>) {
    ///     let own = x.evict_first().vectorize([4]).distribute(row_major([32]), thread_idx.x);
    ///     y.evict_first().vectorize([4]).distribute(row_major([32]), thread_idx.x).copy_from(&own);
    /// }
    /// # let device = Device::simulator();
    /// let x = device.upload(&(0..128).map(|i| i as f32).collect::<Vec<_>>(), [128])?;
    /// let mut y = device.zeros::<f32, 1>([128])?;
    /// copy::launch(&device.stream(), &x, &mut y)?;
    /// assert_eq!(y.download()?, x.download()?);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn evict_first(&self) -> View<Self::Elem, Self::Access> {
        device_only()
    }

    /// L2 evicts these elements after others: they are read again soon, by other blocks.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(arch = "sm_90a", block = [32], grid = [2])]
    /// fn load(x: &LayoutTensor<f32, RowMajor<1, 32>>, y: &mut LayoutTensor<f32, RowMajor<2, 32>>) {
    ///     let mut tile = shared::<f32>(row_major([1, 32]));
    ///     let full = mbarriers(1, 1).at(0);
    ///     barrier();
    ///     if thread_idx.x == 0 {
    ///         full.arrive_expect(tile.bytes());
    ///         tma_load(&mut tile, &x.evict_last().tile([1, 32], [0, 0]), full); // both blocks read it
    ///     }
    ///     full.wait(0);
    ///     y[[block_idx.x, lane_id()]] = tile[[0, lane_id()]];
    /// }
    /// # let device = Device::simulator();
    /// let x = device.upload(&[2.5f32; 32], [1, 32])?;
    /// let mut y = device.zeros::<f32, 2>([2, 32])?;
    /// load::launch(&device.stream(), &x, &mut y)?;
    /// assert_eq!(y.download()?, [2.5; 64]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn evict_last(&self) -> View<Self::Elem, Self::Access> {
        device_only()
    }

    /// These elements are not kept in L1: no other thread of the multiprocessor reads them. TMA bypasses L1 in any case
    /// and refuses this hint.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [32], grid = [1])]
    /// fn sum(x: &LayoutTensor<i32, RowMajor<32>>, y: &mut LayoutTensor<i32, RowMajor<1>>) {
    ///     let all = x.no_allocate()[[lane_id()]].warp_sum();
    ///     if lane_id() == 0 {
    ///         y[[0]] = all;
    ///     }
    /// }
    /// # let device = Device::simulator();
    /// let x = device.upload(&[3; 32], [32])?;
    /// let mut y = device.zeros::<i32, 1>([1])?;
    /// sum::launch(&device.stream(), &x, &mut y)?;
    /// assert_eq!(y.download()?, [96]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn no_allocate(&self) -> View<Self::Elem, Self::Access> {
        device_only()
    }

    /// L2 fetches the line of an element of an argument; nothing is read and nothing waits. It may come before
    /// [`grid_dependency_wait`](super::grid_dependency_wait): what the kernel reads after the launches ahead have ended is in L2 by then. An element
    /// outside of the tensor is none. `prefetch.global.L2` of the PTX ISA.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [32], grid = [1])]
    /// fn scaled(weights: &LayoutTensor<f32, RowMajor<32>>, y: &mut LayoutTensor<f32, RowMajor<32>>) {
    ///     weights.prefetch([thread_idx.x]);
    ///     grid_dependency_wait();
    ///     y[[thread_idx.x]] *= weights[[thread_idx.x]];
    /// }
    /// # let device = Device::simulator();
    /// let weights = device.upload(&[0.5f32; 32], [32])?;
    /// let mut y = device.upload(&[4.0f32; 32], [32])?;
    /// scaled::launch(&device.stream(), &weights, &mut y)?;
    /// assert_eq!(y.download()?, [2.0; 32]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn prefetch<I: Integer, const R: usize>(&self, _coordinate: [I; R]) {
        device_only()
    }
}

impl<V: Tensor> Hinted for V {}
