//! Blackwell's tensor memory and the matrix products of one thread: asynchronous, complete when an mbarrier says so.
//!
//! Source: PTX ISA, "tcgen05".

use super::device_only;
use super::mbarrier::Mbarrier;
use super::number::{Element, Integer};
use super::tensor::Tensor;
use super::view::{View, Write};

/// `m` rows (64 or 128) of `n` columns of tensor memory: a view of extents `[4, m / 4, n]`, whose element `[w, i, j]` is row
/// `m / 4 * w + i`, column `j`. The warps `w`, `w + 4`, … of the block reach the rows of `d.slice(w)` and no other. All
/// allocations of a kernel together have at most 512 columns; they are allocated before its first statement and freed after
/// its last one. A column has 32 bits: of sums one, which are f32 or i32; of a left operand of [`tcgen05_mma`] as many elements as fit.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // Each warp puts a number into its rows of tensor memory, and takes it from there.
/// #[tiled_kernel(arch = "sm_100f", block = [128], grid = [1])]
/// fn there_and_back(y: &mut LayoutTensor<f32, RowMajor<128>>) {
///     let mut d = tensor_memory::<f32>([128, 32]);
///     let mut own = local::<f32>(row_major([32])).fill(2.0);
///     tcgen05_store(&mut d.slice(warp_id()), &own);
///     tcgen05_wait_store();
///     let mut back = local::<f32>(row_major([32]));
///     tcgen05_load(&mut back, &d.slice(warp_id()));
///     tcgen05_wait_load();
///     y[[thread_idx.x]] = back[[31]];
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<f32, 1>([128])?;
/// there_and_back::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [2.0; 128]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn tensor_memory<T: Element>(_extents: [impl Integer; 2]) -> View<T, Write> {
    device_only()
}

/// `d = a b`, or `d += a b` where `accumulate` holds, by one thread. `d` is [`tensor_memory`], or a tile of its columns; `a`
/// has extents `[m, k]`, `b` `[k, n]`, both in shared memory, swizzled, as for [`wgmma`](super::wgmma); or `a` is tensor memory
/// of 128 rows that threads have stored, `tensor_memory::<bf16>([128, k])`. Operands are f16, bf16, f32 (read as tf32), e4m3 or e5m2, with sums of f32; or i8 or
/// u8, with sums of i32 that wrap, on sm_100a and sm_110a. The product is in flight until an mbarrier has the arrival of [`tcgen05_commit`]:
/// neither `d` nor the operands may be touched before. Products of one thread into the same columns are in order.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // C = A B of 128 x 64 x 64 by one block.
/// #[tiled_kernel(arch = "sm_100f", block = [128], grid = [1])]
/// fn product(
///     a: &LayoutTensor<bf16, RowMajor<128, 64>>,
///     b: &LayoutTensor<bf16, RowMajor<64, 64>>,
///     c: &mut LayoutTensor<f32, RowMajor<128, 64>>,
/// ) {
///     let mut left = shared::<bf16>(row_major([128, 64]).swizzle_bytes(128));
///     let mut right = shared::<bf16>(row_major([64, 64]).swizzle_bytes(128));
///     let mut d = tensor_memory::<f32>([128, 64]);
///     let (full, done) = (mbarriers(1, 1), mbarriers(1, 1));
///     barrier();
///     if thread_idx.x == 0 {
///         full.at(0).arrive_expect(left.bytes() + right.bytes());
///         tma_load(&mut left, &a.tile([128, 64], [0, 0]), full.at(0));
///         tma_load(&mut right, &b.tile([64, 64], [0, 0]), full.at(0));
///         full.at(0).wait(0);
///         tcgen05_mma(&mut d, &left, &right, false);
///         tcgen05_commit(done.at(0));
///     }
///     done.at(0).wait(0);
///     tcgen05_fence_after_thread_sync();
///     let mut row = local::<f32>(row_major([64]));
///     tcgen05_load(&mut row, &d.slice(warp_id()));
///     tcgen05_wait_load();
///     c.tile([1, 64], [thread_idx.x, 0]).squeeze(0).copy_from(&row);
/// }
/// # let device = Device::simulator();
/// let one = layout_cuda::bf16::from_f32(1.0);
/// let (a, b) = (device.upload(&[one; 8192], [128, 64])?, device.upload(&[one; 4096], [64, 64])?);
/// let mut c = device.zeros::<f32, 2>([128, 64])?;
/// product::launch(&device.stream(), &a, &b, &mut c)?;
/// assert_eq!(c.download()?, [64.0; 8192]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn tcgen05_mma<T: Element, C: Element>(
    _d: impl Tensor<Elem = C, Access = Write>,
    _a: impl Tensor<Elem = T>,
    _b: impl Tensor<Elem = T>,
    _accumulate: bool,
) {
    device_only()
}

/// An arrival at an mbarrier, without bytes, when every product that this thread issued before is complete. See
/// [`tcgen05_mma`]. It implies [`tcgen05_fence_before_thread_sync`].
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(arch = "sm_100f", block = [128], grid = [1])]
/// fn twice(y: &mut LayoutTensor<f32, RowMajor<128>>) {
///     let mut ones = shared::<bf16>(row_major([128, 64]).swizzle_bytes(128));
///     ones.distribute(row_major([2, 64]), thread_idx.x).fill(bf16::ONE);
///     let mut d = tensor_memory::<f32>([128, 128]);
///     let done = mbarriers(1, 1);
///     fence_async_proxy();
///     barrier();
///     if thread_idx.x == 0 {
///         tcgen05_mma(&mut d, &ones, &ones.transpose(), false);
///         tcgen05_mma(&mut d, &ones, &ones.transpose(), true); // in order after the first
///         tcgen05_commit(done.at(0)); // for both
///     }
///     done.at(0).wait(0);
///     tcgen05_fence_after_thread_sync();
///     let mut row = local::<f32>(row_major([128]));
///     tcgen05_load(&mut row, &d.slice(warp_id()));
///     tcgen05_wait_load();
///     y[[thread_idx.x]] = row[[127]];
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<f32, 1>([128])?;
/// twice::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [128.0; 128]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn tcgen05_commit(_barrier: Mbarrier) {
    device_only()
}

/// A warp loads its rows of tensor memory: thread `lane_id()` gets row `lane_id()` of them. In flight until
/// [`tcgen05_wait_load`]. See [`tcgen05_mma`]; of 64 rows a warp has 16, and its other threads get nothing.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(arch = "sm_100f", block = [128], grid = [1])]
/// fn loaded(y: &mut LayoutTensor<f32, RowMajor<128>>) {
///     let d = tensor_memory::<f32>([128, 64]);
///     let own = d.slice(warp_id());
///     let mut four = local::<f32>(row_major([4])).fill(3.0);
///     tcgen05_store(&mut own.tile([32, 4], [0, 5]), &four);
///     tcgen05_wait_store();
///     four.fill(0.0);
///     tcgen05_load(&mut four, &own.tile([32, 4], [0, 5])); // columns 20 to 23
///     tcgen05_wait_load();
///     y[[thread_idx.x]] = four[[3]];
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<f32, 1>([128])?;
/// loaded::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [3.0; 128]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn tcgen05_load<T: Element>(
    _registers: impl Tensor<Elem = T, Access = Write>,
    _rows: impl Tensor<Elem = T>,
) {
    device_only()
}

/// A warp stores to its rows of tensor memory, each thread to one. In flight until [`tcgen05_wait_store`]. See
/// [`tensor_memory`].
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(arch = "sm_100f", block = [128], grid = [1])]
/// fn stored(y: &mut LayoutTensor<f32, RowMajor<128>>) {
///     let d = tensor_memory::<f32>([128, 64]);
///     let own = d.slice(warp_id());
///     let mut four = local::<f32>(row_major([4])).fill(3.0);
///     tcgen05_store(&mut own.tile([32, 4], [0, 5]), &four);
///     tcgen05_wait_store();
///     four.fill(0.0);
///     tcgen05_load(&mut four, &own.tile([32, 4], [0, 5])); // columns 20 to 23
///     tcgen05_wait_load();
///     y[[thread_idx.x]] = four[[3]];
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<f32, 1>([128])?;
/// stored::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [3.0; 128]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn tcgen05_store<T: Element>(
    _rows: impl Tensor<Elem = T, Access = Write>,
    _registers: impl Tensor<Elem = T>,
) {
    device_only()
}

/// Waits until the warp's [`tcgen05_load`]s have read tensor memory and the registers hold it.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(arch = "sm_100f", block = [128], grid = [1])]
/// fn waited(y: &mut LayoutTensor<f32, RowMajor<128>>) {
///     let d = tensor_memory::<f32>([128, 64]);
///     let own = d.slice(warp_id());
///     let mut four = local::<f32>(row_major([4])).fill(3.0);
///     tcgen05_store(&mut own.tile([32, 4], [0, 5]), &four);
///     tcgen05_wait_store();
///     four.fill(0.0);
///     tcgen05_load(&mut four, &own.tile([32, 4], [0, 5])); // columns 20 to 23
///     tcgen05_wait_load();
///     y[[thread_idx.x]] = four[[3]];
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<f32, 1>([128])?;
/// waited::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [3.0; 128]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn tcgen05_wait_load() {
    device_only()
}

/// Waits until the warp's [`tcgen05_store`]s have written tensor memory.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(arch = "sm_100f", block = [128], grid = [1])]
/// fn written(y: &mut LayoutTensor<f32, RowMajor<128>>) {
///     let d = tensor_memory::<f32>([128, 64]);
///     let own = d.slice(warp_id());
///     let mut four = local::<f32>(row_major([4])).fill(3.0);
///     tcgen05_store(&mut own.tile([32, 4], [0, 5]), &four);
///     tcgen05_wait_store();
///     four.fill(0.0);
///     tcgen05_load(&mut four, &own.tile([32, 4], [0, 5])); // columns 20 to 23
///     tcgen05_wait_load();
///     y[[thread_idx.x]] = four[[3]];
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<f32, 1>([128])?;
/// written::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [3.0; 128]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn tcgen05_wait_store() {
    device_only()
}

/// Between this thread's use of tensor memory, after its wait, and the arrival or the barrier that another thread waits for.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(arch = "sm_100f", block = [128], grid = [1])]
/// fn released(y: &mut LayoutTensor<f32, RowMajor<128>>) {
///     let mut ones = shared::<bf16>(row_major([128, 64]).swizzle_bytes(128));
///     ones.distribute(row_major([2, 64]), thread_idx.x).fill(bf16::ONE);
///     let mut d = tensor_memory::<f32>([128, 128]);
///     let done = mbarriers(1, 1);
///     fence_async_proxy();
///     barrier();
///     if thread_idx.x == 0 {
///         tcgen05_mma(&mut d, &ones, &ones.transpose(), false);
///         tcgen05_commit(done.at(0));
///     }
///     done.at(0).wait(0);
///     tcgen05_fence_after_thread_sync(); // the product is before
///     let mut row = local::<f32>(row_major([128]));
///     tcgen05_load(&mut row, &d.slice(warp_id()));
///     tcgen05_wait_load();
///     tcgen05_fence_before_thread_sync(); // the loads are before the barrier
///     barrier();
///     if thread_idx.x == 0 {
///         tcgen05_fence_after_thread_sync();
///         tcgen05_mma(&mut d, &ones, &ones.transpose(), true);
///         tcgen05_commit(done.at(0));
///     }
///     done.at(0).wait(1);
///     y[[thread_idx.x]] = row[[0]];
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<f32, 1>([128])?;
/// released::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [64.0; 128]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn tcgen05_fence_before_thread_sync() {
    device_only()
}

/// Between a wait for an mbarrier or a barrier and this thread's use of tensor memory that another thread has used before.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(arch = "sm_100f", block = [128], grid = [1])]
/// fn acquired(y: &mut LayoutTensor<f32, RowMajor<128>>) {
///     let mut ones = shared::<bf16>(row_major([128, 64]).swizzle_bytes(128));
///     ones.distribute(row_major([2, 64]), thread_idx.x).fill(bf16::ONE);
///     let mut d = tensor_memory::<f32>([128, 128]);
///     let done = mbarriers(1, 1);
///     fence_async_proxy();
///     barrier();
///     if thread_idx.x == 0 {
///         tcgen05_mma(&mut d, &ones, &ones.transpose(), false);
///         tcgen05_commit(done.at(0));
///     }
///     done.at(0).wait(0);
///     tcgen05_fence_after_thread_sync(); // the product is before
///     let mut row = local::<f32>(row_major([128]));
///     tcgen05_load(&mut row, &d.slice(warp_id()));
///     tcgen05_wait_load();
///     tcgen05_fence_before_thread_sync(); // the loads are before the barrier
///     barrier();
///     if thread_idx.x == 0 {
///         tcgen05_fence_after_thread_sync();
///         tcgen05_mma(&mut d, &ones, &ones.transpose(), true);
///         tcgen05_commit(done.at(0));
///     }
///     done.at(0).wait(1);
///     y[[thread_idx.x]] = row[[0]];
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<f32, 1>([128])?;
/// acquired::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [64.0; 128]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn tcgen05_fence_after_thread_sync() {
    device_only()
}
