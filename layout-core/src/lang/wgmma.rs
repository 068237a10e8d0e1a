//! Hopper's matrix products of a warpgroup: asynchronous, in flight until they are waited for.
//!
//! Source: PTX ISA, "wgmma".

use super::device_only;
use super::number::{Element, Integer};
use super::tensor::Tensor;
use super::view::{View, Write};

/// The registers of a warpgroup's product of extents `[64, n]`: a view of extents `[2, n / 8]` of vectors `[1, 2]`. Vector
/// `[h, j]` of thread `t` is row `16 * (t / 32) + t % 32 / 4 + 8 * h`, columns `8 * j + 2 * (t % 4)` and the next.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // Which element of a 64 x 8 product is which thread's: vector [1, 0] of thread 5 is row 9, columns 2 and 3.
/// #[tiled_kernel(arch = "sm_90a", block = [128], grid = [1])]
/// fn held(y: &mut LayoutTensor<i32, RowMajor<2>>) {
///     let acc = accumulator([64, 8]);
///     if thread_idx.x == 0 {
///         y[[0]] = acc.dim(0) as i32;
///         y[[1]] = acc.dim(1) as i32;
///     }
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 1>([2])?;
/// held::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [2, 1]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn accumulator<I: Integer>(_extents: [I; 2]) -> View<f32, Write> {
    device_only()
}

/// The same registers of another type: `i32` for products of `i8` and of `u8`, `f32` for the others.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // C = A Bᵀ of 64 x 16 x 32 bytes, the operands put into shared memory by the threads.
/// #[tiled_kernel(arch = "sm_90a", block = [128], grid = [1])]
/// fn product(
///     a: &LayoutTensor<i8, RowMajor<64, 32>>,
///     b: &LayoutTensor<i8, RowMajor<16, 32>>,
///     c: &mut LayoutTensor<i32, RowMajor<64, 16>>,
/// ) {
///     let mut left = shared::<i8>(row_major([64, 32]).swizzle_bytes(32));
///     let mut right = shared::<i8>(row_major([16, 32]).swizzle_bytes(32));
///     for i in 0..16 {
///         left[[4 * i + warp_id(), lane_id()]] = a[[4 * i + warp_id(), lane_id()]];
///     }
///     for i in 0..4 {
///         right[[4 * i + warp_id(), lane_id()]] = b[[4 * i + warp_id(), lane_id()]];
///     }
///     fence_async_proxy();
///     barrier();
///     let mut acc = accumulator_of::<i32>([64, 16]);
///     wgmma(&mut acc, &left, &right.transpose(), false);
///     wgmma_commit_group();
///     wgmma_wait_group(0);
///     let (row, column) = (16 * warp_id() + lane_id() / 4, 2 * (lane_id() % 4));
///     for h in unroll(0..2) {
///         for j in unroll(0..2) {
///             c.tile([1, 2], [row + 8 * h, column / 2 + 4 * j]).vectorize([1, 2]).copy_from(&acc.tile([1, 1], [h, j]));
///         }
///     }
/// }
/// # let device = Device::simulator();
/// let (a, b) = (device.upload(&[-128i8; 2048], [64, 32])?, device.upload(&[-128i8; 512], [16, 32])?);
/// let mut c = device.zeros::<i32, 2>([64, 16])?;
/// product::launch(&device.stream(), &a, &b, &mut c)?;
/// assert_eq!(c.download()?, [32 * 128 * 128; 1024]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn accumulator_of<T: Element>(_extents: [impl Integer; 2]) -> View<T, Write> {
    device_only()
}

/// `acc = a b`, or `acc += a b` where `accumulate` holds, by the four warps of a warpgroup. `a` has extents `[64, k]`, `b`
/// `[k, n]` or slabs `[n / 64, k, 64]`, with either mode contiguous; both are in shared memory, swizzled. `a` may be in
/// registers instead: each warp's `rows.tile([16, k], [warp, 0]).vectorize([1, p]).distribute(row_major([8, 4]),
/// lane).to_local()`, where `p` elements are 4 bytes. The product is in flight until [`wgmma_wait_group`]: neither the
/// accumulator nor the operands may be touched before. Operands are f16, bf16, f32 (read as tf32), e4m3 or e5m2; or `i8`
/// and `u8` with sums of `i32` ([`accumulator_of`]), both in shared memory with `k` contiguous, exact modulo 2³². A GPU
/// adds products of 8-bit floats with fewer bits than f32 has; the simulator adds them in f32.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // C = A B of 64 x 64 x 64 by one warpgroup.
/// #[tiled_kernel(arch = "sm_90a", block = [128], grid = [1])]
/// fn product(
///     a: &LayoutTensor<bf16, RowMajor<64, 64>>,
///     b: &LayoutTensor<bf16, RowMajor<64, 64>>,
///     c: &mut LayoutTensor<f32, RowMajor<64, 64>>,
/// ) {
///     let mut left = shared::<bf16>(row_major([64, 64]).swizzle_bytes(128));
///     let mut right = shared::<bf16>(row_major([64, 64]).swizzle_bytes(128));
///     let full = mbarriers(1, 1);
///     barrier();
///     if thread_idx.x == 0 {
///         full.at(0).arrive_expect(left.bytes() + right.bytes());
///         tma_load(&mut left, &a.tile([64, 64], [0, 0]), full.at(0));
///         tma_load(&mut right, &b.tile([64, 64], [0, 0]), full.at(0));
///     }
///     full.at(0).wait(0);
///     let mut acc = accumulator([64, 64]).fill(0.0);
///     wgmma(&mut acc, &left, &right, false);
///     wgmma_commit_group();
///     wgmma_wait_group(0);
///     let (row, column) = (16 * warp_id() + lane_id() / 4, 2 * (lane_id() % 4));
///     for h in unroll(0..2) {
///         for j in unroll(0..8) {
///             c.tile([1, 2], [row + 8 * h, column / 2 + 4 * j]).vectorize([1, 2]).copy_from(&acc.tile([1, 1], [h, j]));
///         }
///     }
/// }
/// # let device = Device::simulator();
/// let one = layout_cuda::bf16::from_f32(1.0);
/// let (a, b) = (device.upload(&[one; 4096], [64, 64])?, device.upload(&[one; 4096], [64, 64])?);
/// let mut c = device.zeros::<f32, 2>([64, 64])?;
/// product::launch(&device.stream(), &a, &b, &mut c)?;
/// assert_eq!(c.download()?, [64.0; 4096]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn wgmma<T: Element, C: Element>(
    _acc: impl Tensor<Elem = C, Access = Write>,
    _a: impl Tensor<Elem = T>,
    _b: impl Tensor<Elem = T>,
    _accumulate: bool,
) {
    device_only()
}

/// Closes the group of the warpgroup's products since the last group.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // Two groups: the first may be used while the second is in flight.
/// #[tiled_kernel(arch = "sm_90a", block = [128], grid = [1])]
/// fn products(y: &mut LayoutTensor<f32, RowMajor<2>>) {
///     let ones = shared::<bf16>(row_major([64, 64]).swizzle_bytes(128));
///     for i in 0..32 {
///         let mut own = ones.tile([2, 64], [i, 0]);
///         own[[thread_idx.x / 64, thread_idx.x % 64]] = bf16::ONE;
///     }
///     fence_async_proxy();
///     barrier();
///     let (mut first, mut second) = (accumulator([64, 64]), accumulator([64, 64]));
///     wgmma(&mut first, &ones, &ones, false);
///     wgmma_commit_group();
///     wgmma(&mut second, &ones, &ones, false);
///     wgmma_commit_group();
///     wgmma_wait_group(1);
///     if thread_idx.x == 0 {
///         y.tile([2], [0]).vectorize([2]).copy_from(&first.tile([1, 1], [0, 0]).slice(0));
///     }
///     wgmma_wait_group(0);
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<f32, 1>([2])?;
/// products::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [64.0; 2]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn wgmma_commit_group() {
    device_only()
}

/// Waits until at most `groups` of the warpgroup's groups are in flight. `groups` is known at compile time.
///
/// ```
/// # use layout_cuda::{Device, LaunchConfig, Options, ParamSet, ParamValue, tiled_kernel};
/// // An operand changed before the wait is found by the simulator.
/// #[tiled_kernel(WAIT = [true, false], arch = "sm_90a", block = [128], grid = [1])]
/// fn product(y: &mut LayoutTensor<i32, RowMajor<1>>) {
///     let mut ones = shared::<bf16>(row_major([64, 64]).swizzle_bytes(128));
///     for i in 0..32 {
///         ones[[2 * i + thread_idx.x / 64, thread_idx.x % 64]] = bf16::ONE;
///     }
///     fence_async_proxy();
///     barrier();
///     let mut acc = accumulator([64, 64]);
///     wgmma(&mut acc, &ones, &ones, false);
///     wgmma_commit_group();
///     if WAIT {
///         wgmma_wait_group(0);
///     }
///     barrier();
///     if thread_idx.x < 64 {
///         ones[[thread_idx.x, 0]] = bf16::ZERO;
///     }
///     wgmma_wait_group(0);
///     if thread_idx.x == 0 {
///         y[[0]] = 1;
///     }
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 1>([1])?;
/// assert!(product::simulate(&mut y)?.clean());
/// let without = ParamSet::default().with("WAIT", ParamValue::Bool(false));
/// let config = LaunchConfig { set: Some(&without), ..LaunchConfig::default() };
/// assert!(!product::simulate_with(config, &Options::default(), &mut y)?.clean());
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn wgmma_wait_group(_groups: usize) {
    device_only()
}

/// The warpgroup stores an accumulator, or tiles of its vectors, to a shared tensor of f16 or bf16, rounded to nearest
/// even, or of f32: of extents `[64, n]`, or slabs of columns `[n / w, 64, w]`.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(arch = "sm_90a", block = [128], grid = [1])]
/// fn store(c: &mut LayoutTensor<bf16, RowMajor<64, 64>>) {
///     let mut acc = accumulator([64, 64]).fill(1.5);
///     let mut staged = shared::<bf16>(row_major([64, 64]).swizzle_bytes(128));
///     store_matrix(&mut staged, &acc);
///     fence_async_proxy();
///     barrier();
///     if thread_idx.x == 0 {
///         tma_store(&mut c.tile([64, 64], [0, 0]), &staged);
///         bulk_commit_group();
///         bulk_wait_group(0);
///     }
/// }
/// # let device = Device::simulator();
/// let mut c = device.zeros::<layout_cuda::bf16, 2>([64, 64])?;
/// store::launch(&device.stream(), &mut c)?;
/// assert!(c.download()?.iter().all(|x| x.to_f32() == 1.5));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn store_matrix<T: Element>(
    _destination: impl Tensor<Elem = T, Access = Write>,
    _acc: impl Tensor<Elem = f32>,
) {
    device_only()
}
