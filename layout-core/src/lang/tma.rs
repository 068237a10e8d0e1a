//! Hopper's TMA (tensor memory accelerator): it copies boxes of a tensor to and from shared memory while the threads go on.
//!
//! Source: PTX ISA, "cp.async.bulk.tensor".

use super::device_only;
use super::mbarrier::Mbarrier;
use super::tensor::Tensor;
use super::view::Write;

/// One thread starts the copy of a tile of an argument to shared memory; its bytes count at the barrier. Elements beyond
/// the tensor are zeros. Both have the same extents, or the destination has slabs of one mode first: `[cols / 64, rows,
/// 64]`, `[rows / 64, 64, cols]`. Rows are 16 bytes or a multiple, and begin at a multiple of 16 bytes; with a swizzle they are as long as the
/// swizzle.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // Two of four rows are outside the tensor: they are zeros, and their bytes count.
/// #[tiled_kernel(arch = "sm_90a", block = [32], grid = [1])]
/// fn load(x: &LayoutTensor<f32, RowMajor<2, 32>>, y: &mut LayoutTensor<f32, RowMajor<4, 32>>) {
///     let mut tile = shared::<f32>(row_major([4, 32]));
///     let full = mbarriers(1, 1);
///     barrier();
///     if thread_idx.x == 0 {
///         full.at(0).arrive_expect(tile.bytes());
///         tma_load(&mut tile, &x.tile([4, 32], [0, 0]), full.at(0));
///     }
///     full.at(0).wait(0);
///     for i in 0..4 {
///         y[[i, lane_id()]] = tile[[i, lane_id()]];
///     }
/// }
/// # let device = Device::simulator();
/// let x = device.upload(&[1.5f32; 64], [2, 32])?;
/// let mut y = device.upload(&[9.0f32; 128], [4, 32])?;
/// load::launch(&device.stream(), &x, &mut y)?;
/// assert_eq!(y.download()?, [[1.5; 64], [0.0; 64]].concat());
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn tma_load<D: Tensor<Access = Write>>(
    _destination: D,
    _source: impl Tensor<Elem = D::Elem>,
    _barrier: Mbarrier,
) {
    device_only()
}

/// As [`tma_load`], to the blocks of the cluster whose bits are set in the mask (multicast), at the same place in each; the
/// bytes count at each block's own barrier.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // Block 0 loads a tile for both blocks of its cluster.
/// #[tiled_kernel(arch = "sm_90a", block = [32], cluster = [2], grid = [2])]
/// fn load(x: &LayoutTensor<f32, RowMajor<1, 32>>, y: &mut LayoutTensor<f32, RowMajor<2, 32>>) {
///     let mut tile = shared::<f32>(row_major([1, 32]));
///     let full = mbarriers(1, 1);
///     cluster_barrier();
///     if thread_idx.x == 0 {
///         full.at(0).arrive_expect(128);
///     }
///     cluster_barrier();
///     if thread_idx.x == 0 && cluster_rank() == 0 {
///         tma_load_multicast(&mut tile, &x.tile([1, 32], [0, 0]), full.at(0), 0b11);
///     }
///     full.at(0).wait(0);
///     y[[cluster_rank(), lane_id()]] = tile[[0, lane_id()]];
///     cluster_barrier();
/// }
/// # let device = Device::simulator();
/// let x = device.upload(&[2.5f32; 32], [1, 32])?;
/// let mut y = device.zeros::<f32, 2>([2, 32])?;
/// load::launch(&device.stream(), &x, &mut y)?;
/// assert_eq!(y.download()?, [2.5; 64]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn tma_load_multicast<D: Tensor<Access = Write>>(
    _destination: D,
    _source: impl Tensor<Elem = D::Elem>,
    _barrier: Mbarrier,
    _blocks: usize,
) {
    device_only()
}

/// One thread starts the copy of a tile from shared memory, in its bulk group; elements beyond the tensor are dropped.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(arch = "sm_90a", block = [32], grid = [1])]
/// fn store(y: &mut LayoutTensor<f32, RowMajor<1, 32>>) {
///     let mut tile = shared::<f32>(row_major([1, 32]));
///     tile[[0, lane_id()]] = lane_id() as f32;
///     fence_async_proxy();
///     barrier();
///     if thread_idx.x == 0 {
///         tma_store(&mut y.tile([1, 32], [0, 0]), &tile);
///         bulk_commit_group();
///         bulk_wait_group(0);
///     }
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<f32, 2>([1, 32])?;
/// store::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?[29..], [29.0, 30.0, 31.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn tma_store<D: Tensor<Access = Write>>(_destination: D, _source: impl Tensor<Elem = D::Elem>) {
    device_only()
}

/// As [`tma_store`], but each element is added to that of the tensor, atomically. Types: `f32 i32 u32`. The order of several
/// additions to an element is open, so a sum of floats may differ in its last bits from run to run.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // Each block adds its tile to the same one.
/// #[tiled_kernel(arch = "sm_90a", block = [32], grid = [5])]
/// fn sum(y: &mut LayoutTensor<f32, RowMajor<1, 32>>) {
///     let mut tile = shared::<f32>(row_major([1, 32]));
///     tile[[0, lane_id()]] = lane_id() as f32;
///     fence_async_proxy();
///     barrier();
///     if thread_idx.x == 0 {
///         tma_add(&mut y.tile([1, 32], [0, 0]), &tile);
///         bulk_commit_group();
///         bulk_wait_group(0);
///     }
/// }
/// # let device = Device::simulator();
/// let mut y = device.upload(&[0.5f32; 32], [1, 32])?;
/// assert!(sum::simulate(&mut y)?.clean());
/// assert_eq!(y.download()?[29..], [145.5, 150.5, 155.5]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn tma_add<D: Tensor<Access = Write>>(_destination: D, _source: impl Tensor<Elem = D::Elem>) {
    device_only()
}

/// Closes the group of the [`tma_store`]s and [`tma_add`]s that this thread issued since the last one.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // Two stores, a group each.
/// #[tiled_kernel(arch = "sm_90a", block = [32], grid = [1])]
/// fn store(y: &mut LayoutTensor<f32, RowMajor<2, 32>>) {
///     let mut tiles = shared::<f32>(row_major([2, 1, 32]));
///     for i in unroll(0..2) {
///         tiles[[i, 0, lane_id()]] = i as f32;
///         fence_async_proxy();
///         barrier();
///         if thread_idx.x == 0 {
///             tma_store(&mut y.tile([1, 32], [i, 0]), &tiles.slice(i));
///             bulk_commit_group();
///         }
///     }
///     if thread_idx.x == 0 {
///         bulk_wait_group(0);
///     }
/// }
/// # let device = Device::simulator();
/// let mut y = device.upload(&[9.0f32; 64], [2, 32])?;
/// store::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [[0.0; 32], [1.0; 32]].concat());
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn bulk_commit_group() {
    device_only()
}

/// Waits until at most `groups` of this thread's groups are in flight. `groups` is known at compile time.
///
/// ```
/// # use layout_cuda::{Device, FindingKind, LaunchConfig, Options, ParamSet, ParamValue, tiled_kernel};
/// // A block that ends while its store is in flight is found by the simulator.
/// #[tiled_kernel(WAIT = [true, false], arch = "sm_90a", block = [32], grid = [1])]
/// fn store(y: &mut LayoutTensor<f32, RowMajor<1, 32>>) {
///     let mut tile = shared::<f32>(row_major([1, 32])).fill(1.0);
///     fence_async_proxy();
///     barrier();
///     if thread_idx.x == 0 {
///         tma_store(&mut y.tile([1, 32], [0, 0]), &tile);
///         bulk_commit_group();
///         if WAIT {
///             bulk_wait_group(0);
///         }
///     }
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<f32, 2>([1, 32])?;
/// let without = ParamSet::default().with("WAIT", ParamValue::Bool(false));
/// let config = LaunchConfig { set: Some(&without), ..LaunchConfig::default() };
/// let report = store::simulate_with(config, &Options::default(), &mut y)?;
/// assert!(report.find(FindingKind::InFlightAtEnd).is_some());
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn bulk_wait_group(_groups: usize) {
    device_only()
}

/// Waits until at most `groups` of this thread's groups have yet to read shared memory.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // The tile may be written again once the store has read it.
/// #[tiled_kernel(arch = "sm_90a", block = [32], grid = [1])]
/// fn store(y: &mut LayoutTensor<f32, RowMajor<2, 32>>) {
///     let mut tile = shared::<f32>(row_major([1, 32]));
///     for i in 0..2 {
///         tile[[0, lane_id()]] = i as f32;
///         fence_async_proxy();
///         barrier();
///         if thread_idx.x == 0 {
///             tma_store(&mut y.tile([1, 32], [i, 0]), &tile);
///             bulk_commit_group();
///             bulk_wait_group_read(0);
///         }
///         barrier();
///     }
/// }
/// # let device = Device::simulator();
/// let mut y = device.upload(&[9.0f32; 64], [2, 32])?;
/// store::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [[0.0; 32], [1.0; 32]].concat());
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn bulk_wait_group_read(_groups: usize) {
    device_only()
}

/// Orders the thread's accesses to shared memory before it ahead of those of [`tma_store`] and [`wgmma`](super::wgmma())
/// after it: each thread that wrote calls it, then comes a barrier, then the thread that starts the copy goes on.
///
/// A warp that refills by [`tma_load`](super::tma_load()) what it has read itself calls it, too, between its reads and `sync_warp`:
/// neither `sync_warp` nor the order of the program waits until a read has come back, and the copy may overtake it. A barrier of several
/// warps and an arrival at an mbarrier wait for it by themselves.
///
/// ```
/// # use layout_cuda::{Device, FindingKind, LaunchConfig, Options, ParamSet, ParamValue, tiled_kernel};
/// // Without it TMA may not see what the threads wrote; the simulator says so.
/// #[tiled_kernel(FENCE = [true, false], arch = "sm_90a", block = [32], grid = [1])]
/// fn store(y: &mut LayoutTensor<f32, RowMajor<1, 32>>) {
///     let mut tile = shared::<f32>(row_major([1, 32]));
///     tile[[0, lane_id()]] = 1.0;
///     if FENCE {
///         fence_async_proxy();
///     }
///     barrier();
///     if thread_idx.x == 0 {
///         tma_store(&mut y.tile([1, 32], [0, 0]), &tile);
///         bulk_commit_group();
///         bulk_wait_group(0);
///     }
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<f32, 2>([1, 32])?;
/// assert!(store::simulate(&mut y)?.clean());
/// let without = ParamSet::default().with("FENCE", ParamValue::Bool(false));
/// let config = LaunchConfig { set: Some(&without), ..LaunchConfig::default() };
/// let report = store::simulate_with(config, &Options::default(), &mut y)?;
/// assert!(report.find(FindingKind::MissingFence).is_some());
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn fence_async_proxy() {
    device_only()
}

/// Orders the thread's accesses to global memory before it, and those that it knows of, ahead of those of [`tma_load`] and
/// [`tma_store`] after it. Either each thread that wrote calls it before the barrier, or the thread that starts the copy
/// calls it behind the barrier. Writes of an earlier launch need none.
///
/// ```
/// # use layout_cuda::{Device, FindingKind, LaunchConfig, Options, ParamSet, ParamValue, tiled_kernel};
/// // TMA brings back what the threads wrote.
/// #[tiled_kernel(FENCE = [true, false], arch = "sm_90a", block = [32], grid = [1])]
/// fn back(x: &mut LayoutTensor<f32, RowMajor<1, 32>>, y: &mut LayoutTensor<f32, RowMajor<1, 32>>) {
///     let mut tile = shared::<f32>(row_major([1, 32]));
///     let full = mbarriers(1, 1).at(0);
///     x[[0, lane_id()]] = lane_id() as f32;
///     if FENCE {
///         fence_async_proxy_global();
///     }
///     barrier();
///     if thread_idx.x == 0 {
///         full.arrive_expect(tile.bytes());
///         tma_load(&mut tile, &x.tile([1, 32], [0, 0]), full);
///     }
///     full.wait(0);
///     y[[0, lane_id()]] = tile[[0, 31 - lane_id()]];
/// }
/// # let device = Device::simulator();
/// let mut x = device.zeros::<f32, 2>([1, 32])?;
/// let mut y = device.zeros::<f32, 2>([1, 32])?;
/// assert!(back::simulate(&mut x, &mut y)?.clean());
/// assert_eq!(y.download()?[..3], [31.0, 30.0, 29.0]);
/// let without = ParamSet::default().with("FENCE", ParamValue::Bool(false));
/// let config = LaunchConfig { set: Some(&without), ..LaunchConfig::default() };
/// let report = back::simulate_with(config, &Options::default(), &mut x, &mut y)?;
/// assert!(report.find(FindingKind::MissingFence).is_some());
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn fence_async_proxy_global() {
    device_only()
}
