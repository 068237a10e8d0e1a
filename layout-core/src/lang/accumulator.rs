//! Which element of a product a register of its accumulator is, for the instructions of 16 rows and for those of a warpgroup.
//!
//! These are functions of the kernel language, written in it. A kernel that calls one gets its text in front of its body
//! (see `kernel::library`).
//!
//! Law: a thread's row `r` and the number `i` of its elements give each element of a product to one thread, where
//! [`store_d`](super::TensorCore::store_d) puts it. A row is shared by four neighbouring lanes: `group_max(x, 4)` and `group_sum(x, 4)`
//! go over it.
//!
//! | accumulator | rows of a thread | element `i` of row `r` |
//! |---|---|---|
//! | of [`mma_atom`](super::mma_atom): `local::<f32>(row_major([M / 16, N / 8 * 4]))` | `M / 8` | `acc[[r / 2, 4 * (i / 2) + 2 * (r % 2) + i % 2]]` |
//! | of [`wgmma`](super::wgmma): [`accumulator([64, N])`](super::accumulator) | 2 | `acc[[r, i]]` |
//!
//! Source: PTX ISA 9.0, "Matrix fragments for mma.m16n8k16", "Register fragments for wgmma.mma_async".

use super::lane_id;

/// The row of a thread's row `r`, from the first of its warp's rows: of the 16 a warp has in a product of [`wgmma`](super::wgmma).
///
/// ```
/// # use layout_cuda::{Device, bf16, tiled_kernel};
/// // The largest element of each row of a 16 x 8 product.
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn largest(
///     a: &LayoutTensor<bf16, RowMajor<16, 16>>,
///     b: &LayoutTensor<bf16, RowMajor<16, 8>>,
///     most: &mut LayoutTensor<f32, RowMajor<16>>,
/// ) {
///     let mma = mma_atom::<bf16>([16, 8, 16]);
///     let mut acc = local::<f32>(row_major([1, 4])).fill(0.0);
///     mma.mma(&mut acc, &mma.load_a(&a.tile([16, 16], [0, 0])), &mma.load_b(&b.tile([16, 8], [0, 0])));
///     for r in unroll(0..2) {
///         let largest = group_max(acc[[0, 2 * r]].max(acc[[0, 2 * r + 1]]), 4);
///         if lane_id() % 4 == 0 {
///             most[[accumulator_row(r)]] = largest;
///         }
///     }
/// }
/// # let device = Device::simulator();
/// let a: Vec<bf16> = (0..256).map(|i| bf16::from_f32((i / 16) as f32)).collect();
/// let b: Vec<bf16> = (0..128).map(|i| bf16::from_f32((i % 8) as f32)).collect();
/// let mut most = device.zeros::<f32, 1>([16])?;
/// largest::launch(&device.stream(), &device.upload(&a, [16, 16])?, &device.upload(&b, [16, 8])?, &mut most)?;
/// assert_eq!(most.download()?[..3], [0.0, 112.0, 224.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn accumulator_row(r: usize) -> usize {
    lane_id() / 4 + 8 * r
}

/// The column of element `i` of each row of a thread.
///
/// ```
/// # use layout_cuda::{Device, bf16, tiled_kernel};
/// // A product whose element (i, j) is 0 where j > i.
/// #[tiled_kernel(arch = "sm_90a", block = [128], grid = [1])]
/// fn lower(
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
///     let mut acc = accumulator([64, 64]);
///     wgmma(&mut acc, &left, &right, false);
///     wgmma_commit_group();
///     wgmma_wait_group(0);
///     for r in unroll(0..2) {
///         for i in unroll(0..16) {
///             let (row, column) = (16 * warp_id() + accumulator_row(r), accumulator_column(i));
///             c[[row, column]] = if column > row { 0.0 } else { acc[[r, i]] };
///         }
///     }
/// }
/// # let device = Device::simulator();
/// # let ones = device.upload(&[bf16::from_f32(1.0); 4096], [64, 64])?;
/// let mut c = device.zeros::<f32, 2>([64, 64])?;
/// lower::launch(&device.stream(), &ones, &ones, &mut c)?;
/// assert!(c.download()?.iter().enumerate().all(|(at, x)| *x == if at % 64 > at / 64 { 0.0 } else { 64.0 }));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn accumulator_column(i: usize) -> usize {
    2 * (lane_id() % 4) + 8 * (i / 2) + i % 2
}
