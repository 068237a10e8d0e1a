//! Copies by the whole block, stores to other blocks, and the waits that complete them.
//!
//! Source: the copies and groups are those of PTX's `cp.async`, the stores its `st.async`.

use super::device_only;
use super::layout::Layout;
use super::mbarrier::Mbarrier;
use super::tensor::Tensor;
use super::view::Write;

/// The block copies `source` (global memory) to `destination` (shared memory). Each thread copies the elements that the
/// layout `threads` gives it, in rounds where there are more elements than threads.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn turn(x: &LayoutTensor<f32, RowMajor<8, 8>>, y: &mut LayoutTensor<f32, RowMajor<8, 8>>) {
///     let mut tile = shared::<f32>(row_major([8, 8]));
///     copy_dram_to_sram(&mut tile, &x.tile([8, 8], [0, 0]), row_major([4, 8])); // in two rounds
///     barrier();
///     y.distribute(row_major([4, 8]), thread_idx.x)
///         .copy_from(&tile.transpose().distribute(row_major([4, 8]), thread_idx.x));
/// }
/// # let device = Device::simulator();
/// let x = device.upload(&(0..64).map(|i| i as f32).collect::<Vec<_>>(), [8, 8])?;
/// let mut y = device.zeros::<f32, 2>([8, 8])?;
/// turn::launch(&device.stream(), &x, &mut y)?;
/// assert_eq!(y.download()?[..3], [0.0, 8.0, 16.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn copy_dram_to_sram<D: Tensor<Access = Write>>(
    _destination: D,
    _source: impl Tensor<Elem = D::Elem>,
    _threads: Layout,
) {
    device_only()
}

/// As [`copy_dram_to_sram`], but asynchronous: the copy may land at any time up to the wait that completes it (`cp.async`).
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn reverse(x: &mut LayoutTensor<f32, RowMajor<32>>) {
///     let mut tile = shared::<f32>(row_major([32]));
///     copy_dram_to_sram_async(&mut tile, &x.tile([32], [0]), row_major([32]));
///     async_copy_wait_all();
///     barrier();
///     x[[thread_idx.x]] = tile[[31 - thread_idx.x]];
/// }
/// # let device = Device::simulator();
/// let mut x = device.upload(&(0..32).map(|i| i as f32).collect::<Vec<_>>(), [32])?;
/// reverse::launch(&device.stream(), &mut x)?;
/// assert_eq!(x.download()?[..3], [31.0, 30.0, 29.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn copy_dram_to_sram_async<D: Tensor<Access = Write>>(
    _destination: D,
    _source: impl Tensor<Elem = D::Elem>,
    _threads: Layout,
) {
    device_only()
}

/// Closes the group of the asynchronous copies that this thread has issued since the last group.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // Two tiles on their way; the first is used while the second may still be in flight.
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn sums(x: &LayoutTensor<f32, RowMajor<64>>, y: &mut LayoutTensor<f32, RowMajor<32>>) {
///     let mut tiles = shared::<f32>(row_major([2, 32]));
///     for i in unroll(0..2) {
///         copy_dram_to_sram_async(&mut tiles.slice(i), &x.tile([32], [i]), row_major([32]));
///         async_copy_commit_group();
///     }
///     async_copy_wait_group(1);
///     barrier();
///     let first = tiles[[0, 31 - thread_idx.x]];
///     async_copy_wait_group(0);
///     barrier();
///     y[[thread_idx.x]] = first + tiles[[1, thread_idx.x]];
/// }
/// # let device = Device::simulator();
/// let x = device.upload(&(0..64).map(|i| i as f32).collect::<Vec<_>>(), [64])?;
/// let mut y = device.zeros::<f32, 1>([32])?;
/// sums::launch(&device.stream(), &x, &mut y)?;
/// assert_eq!(y.download()?, [63.0; 32]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn async_copy_commit_group() {
    device_only()
}

/// Waits until at most `groups` groups of this thread are in flight. `groups` is known at compile time.
///
/// ```
/// # use layout_cuda::{Device, FindingKind, LaunchConfig, Options, ParamSet, ParamValue, tiled_kernel};
/// // Without the wait the simulator finds that the copy may still be in flight.
/// #[tiled_kernel(WAIT = [true, false], block = [32], grid = [1])]
/// fn reverse(x: &mut LayoutTensor<f32, RowMajor<32>>) {
///     let mut tile = shared::<f32>(row_major([32]));
///     copy_dram_to_sram_async(&mut tile, &x.tile([32], [0]), row_major([32]));
///     async_copy_commit_group();
///     if WAIT {
///         async_copy_wait_group(0);
///     }
///     barrier();
///     x[[thread_idx.x]] = tile[[31 - thread_idx.x]];
/// }
/// # let device = Device::simulator();
/// let mut x = device.zeros::<f32, 1>([32])?;
/// assert!(reverse::simulate(&mut x)?.clean());
/// let without = ParamSet::default().with("WAIT", ParamValue::Bool(false));
/// let config = LaunchConfig { set: Some(&without), ..LaunchConfig::default() };
/// let report = reverse::simulate_with(config, &Options::default(), &mut x)?;
/// assert!(report.find(FindingKind::MissingWait).is_some());
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn async_copy_wait_group(_groups: usize) {
    device_only()
}

/// Waits for every asynchronous copy of this thread. Other threads see what landed after a [`barrier`](super::barrier).
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn shift(x: &mut LayoutTensor<f32, RowMajor<32>>) {
///     let mut tile = shared::<f32>(row_major([32]));
///     copy_dram_to_sram_async(&mut tile, &x.tile([32], [0]), row_major([32]));
///     async_copy_wait_all();
///     barrier();
///     x[[thread_idx.x]] = tile[[(thread_idx.x + 1) % 32]];
/// }
/// # let device = Device::simulator();
/// let mut x = device.upload(&(0..32).map(|i| i as f32).collect::<Vec<_>>(), [32])?;
/// shift::launch(&device.stream(), &mut x)?;
/// assert_eq!(x.download()?[30..], [31.0, 0.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn async_copy_wait_all() {
    device_only()
}

/// `acc[i, j] += a[i] * b[j]`, for register tiles of shapes `(m, n)`, `m` elements and `n` elements.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [1], grid = [1])]
/// fn outer(
///     a: &LayoutTensor<f32, RowMajor<2>>,
///     b: &LayoutTensor<f32, RowMajor<3>>,
///     c: &mut LayoutTensor<f32, RowMajor<2, 3>>,
/// ) {
///     let mut acc = local::<f32>(row_major([2, 3])).fill(0.0);
///     outer_product_acc(&mut acc, &a.to_local(), &b.to_local());
///     c.copy_from(&acc);
/// }
/// # let device = Device::simulator();
/// let a = device.upload(&[1.0f32, 2.0], [2])?;
/// let b = device.upload(&[3.0f32, 4.0, 5.0], [3])?;
/// let mut c = device.zeros::<f32, 2>([2, 3])?;
/// outer::launch(&device.stream(), &a, &b, &mut c)?;
/// assert_eq!(c.download()?, [3.0, 4.0, 5.0, 6.0, 8.0, 10.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn outer_product_acc<C: Tensor<Access = Write>>(
    _acc: C,
    _a: impl Tensor<Elem = C::Elem>,
    _b: impl Tensor<Elem = C::Elem>,
) {
    device_only()
}

/// Each thread stores registers, elements of 4 bytes, to a view of another block's shared memory
/// ([`map_shared_rank`](Tensor::map_shared_rank)) of the same extents. The bytes count at the barrier that is at the same
/// place in that block. Who waits there sees them; no other barrier or fence is needed. That block must have begun and
/// initialised its barriers. `st.async`.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(arch = "sm_90a", block = [1], cluster = [2], grid = [2])]
/// fn exchange(y: &mut LayoutTensor<i32, RowMajor<2>>) {
///     let other = shared::<i32>(row_major([1]));
///     let arrived = mbarriers(1, 1);
///     cluster_barrier();
///     arrived.at(0).arrive_expect(4);
///     let own = local::<i32>(row_major([1])).fill(cluster_rank() as i32 + 5);
///     store_async(&mut other.map_shared_rank(1 - cluster_rank()), &own, arrived.at(0));
///     arrived.at(0).wait(0);
///     y[[cluster_rank()]] = other[[0]];
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 1>([2])?;
/// exchange::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [6, 5]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn store_async<D: Tensor<Access = Write>>(
    _destination: D,
    _registers: impl Tensor<Elem = D::Elem>,
    _barrier: Mbarrier,
) {
    device_only()
}
