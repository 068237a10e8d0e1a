//! The matrix instructions of a warp: `mma.sync`, with `ldmatrix` where shared memory is so that it can be used.
//!
//! Every thread of the warp takes part in each of these. The instruction decides which thread holds which element
//! ([`crate::atoms`]), and a kernel need not know: a fragment is loaded, multiplied and stored by the same [`TensorCore`].
//!
//! Source: the matrix instructions of PTX.

use super::device_only;
use super::number::{Element, Integer};
use super::tensor::Tensor;
use super::view::{View, Write};
use std::marker::PhantomData;

/// A matrix instruction of a warp: A and B of type `T`.
///
/// | A and B | sums |
/// |---|---|
/// | `f64` | `f64`: each product is added by one rounding, in an order that is open |
/// | `f32` (TF32), `f16`, `bf16`, `e4m3`, `e5m2` | `f32`: products are exact, a GPU may round the sum more than once |
/// | `f16` | `f16` too, in half the registers; rounded to it at least once an instruction |
/// | `i8`, `u8` | `i32`, exact modulo 2³² |
/// | `e4m3`, `e5m2`, and `u32` of eight e2m1, with block scales: [`mma_scaled`](TensorCore::mma_scaled) | `f32`, likewise |
/// | `u32`, each 32 bits of K | `i32`, the number of bits that both have, modulo 2³² |
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // C = A B of 16 x 8 x 32 bytes.
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn product(
///     a: &LayoutTensor<i8, RowMajor<16, 32>>,
///     b: &LayoutTensor<i8, RowMajor<32, 8>>,
///     c: &mut LayoutTensor<i32, RowMajor<16, 8>>,
/// ) {
///     let mma = mma_atom::<i8>([16, 8, 32]);
///     let mut acc = local::<i32>(row_major([1, 4])).fill(0);
///     mma.mma(&mut acc, &mma.load_a(a), &mma.load_b(b));
///     mma.store_d(&mut c.tile([16, 8], [0, 0]), &acc);
/// }
/// # let device = Device::simulator();
/// let (a, b) = (device.upload(&[-100i8; 512], [16, 32])?, device.upload(&[100i8; 256], [32, 8])?);
/// let mut c = device.zeros::<i32, 2>([16, 8])?;
/// product::launch(&device.stream(), &a, &b, &mut c)?;
/// assert_eq!(c.download()?, [-320_000; 128]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
///
/// How many of 256 bits two rows have in common, each row of 8 words:
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn in_common(
///     a: &LayoutTensor<u32, RowMajor<16, 8>>,
///     b: &LayoutTensor<u32, RowMajor<8, 8>>,
///     c: &mut LayoutTensor<i32, RowMajor<16, 8>>,
/// ) {
///     let mma = mma_atom::<u32>([16, 8, 8]);
///     let mut acc = local::<i32>(row_major([1, 4])).fill(0);
///     mma.mma(&mut acc, &mma.load_a(a), &mma.load_b(&b.transpose()));
///     mma.store_d(&mut c.tile([16, 8], [0, 0]), &acc);
/// }
/// # let device = Device::simulator();
/// let (a, b) = (device.upload(&[0xff00u32; 128], [16, 8])?, device.upload(&[0x0ff0u32; 64], [8, 8])?);
/// let mut c = device.zeros::<i32, 2>([16, 8])?;
/// in_common::launch(&device.stream(), &a, &b, &mut c)?;
/// assert_eq!(c.download()?, [8 * 4; 128]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
///
/// In single precision:
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // One warp, one instruction: C = A B of 16 x 8 x 8.
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn product(
///     a: &LayoutTensor<f32, RowMajor<16, 8>>,
///     b: &LayoutTensor<f32, RowMajor<8, 8>>,
///     c: &mut LayoutTensor<f32, RowMajor<16, 8>>,
/// ) {
///     let mma = mma_atom::<f32>([16, 8, 8]);
///     let mut acc = local::<f32>(row_major([1, 4])).fill(0.0);
///     mma.mma(&mut acc, &mma.load_a(a), &mma.load_b(b));
///     mma.store_d(&mut c.tile([16, 8], [0, 0]), &acc);
/// }
/// # let device = Device::simulator();
/// let a = device.upload(&[2.0f32; 128], [16, 8])?;
/// let b = device.upload(&[3.0f32; 64], [8, 8])?;
/// let mut c = device.zeros::<f32, 2>([16, 8])?;
/// product::launch(&device.stream(), &a, &b, &mut c)?;
/// assert_eq!(c.download()?, [48.0; 128]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TensorCore<T>(PhantomData<T>);

/// The instruction for A (M x K) and B (K x N) of type `T`, by its shape `[M, N, K]`:
///
/// | `T` | shape | |
/// |---|---|---|
/// | `f32` | `[16, 8, 8]` | rounded to TF32, 10 bits of fraction, to nearest |
/// | `f16`, `bf16` | `[16, 8, 16]` | |
/// | `f16` | `[16, 8, 8]` | sm_75 too |
/// | `e4m3`, `e5m2` | `[16, 8, 32]` | sm_89 and later |
/// | `i8`, `u8` | `[16, 8, 32]` | sums in `i32` |
/// | `i8`, `u8` | `[8, 8, 16]` | sums in `i32`; sm_75 too |
/// | `f64` | `[8, 8, 4]` | sums in `f64` |
/// | `f64` | `[16, 8, 4]`, `[16, 8, 8]`, `[16, 8, 16]` | sums in `f64`; sm_90 and later |
/// | `u32` | `[16, 8, 64]` | words of eight e2m1, by `mma_scaled` alone: tiles of 16 x 8 and 8 x 8 words; sm_120f |
/// | `u32` | `[16, 8, 8]` | words of 32 bits; a product counts the bits that both have, in `i32` |
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn product(
///     a: &LayoutTensor<bf16, RowMajor<16, 16>>,
///     b: &LayoutTensor<bf16, RowMajor<16, 8>>,
///     c: &mut LayoutTensor<f32, RowMajor<16, 8>>,
/// ) {
///     let mma = mma_atom::<bf16>([16, 8, 16]);
///     let mut acc = local::<f32>(row_major([1, 4])).fill(0.0);
///     mma.mma(&mut acc, &mma.load_a(a), &mma.load_b(b));
///     mma.store_d(&mut c.tile([16, 8], [0, 0]), &acc);
/// }
/// # let device = Device::simulator();
/// let one = layout_cuda::bf16::from_f32(1.0);
/// let (a, b) = (device.upload(&[one; 256], [16, 16])?, device.upload(&[one; 128], [16, 8])?);
/// let mut c = device.zeros::<f32, 2>([16, 8])?;
/// product::launch(&device.stream(), &a, &b, &mut c)?;
/// assert_eq!(c.download()?, [16.0; 128]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn mma_atom<T: Element>(_shape: [impl Integer; 3]) -> TensorCore<T> {
    device_only()
}

impl<T: Element> TensorCore<T> {
    /// The fragments of a tile of A, in registers: one row of them for each 16 rows.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// // A tile of 32 rows is two rows of fragments, of 4 elements a thread each.
    /// #[tiled_kernel(block = [32], grid = [1])]
    /// fn held(a: &LayoutTensor<f32, RowMajor<32, 8>>, y: &mut LayoutTensor<i32, RowMajor<2>>) {
    ///     let fragments = mma_atom::<f32>([16, 8, 8]).load_a(a);
    ///     if lane_id() == 0 {
    ///         y[[0]] = fragments.dim(0) as i32;
    ///         y[[1]] = fragments.dim(1) as i32;
    ///     }
    /// }
    /// # let device = Device::simulator();
    /// let a = device.zeros::<f32, 2>([32, 8])?;
    /// let mut y = device.zeros::<i32, 1>([2])?;
    /// held::launch(&device.stream(), &a, &mut y)?;
    /// assert_eq!(y.download()?, [2, 4]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn load_a(&self, _tile: impl Tensor<Elem = T>) -> View<T, Write> {
        device_only()
    }

    /// The fragments of a tile of B (K x N), in registers: one row of them for each 8 columns.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// // A tile of 16 columns is two rows of fragments, of 2 elements a thread each.
    /// #[tiled_kernel(block = [32], grid = [1])]
    /// fn held(b: &LayoutTensor<f32, RowMajor<8, 16>>, y: &mut LayoutTensor<i32, RowMajor<2>>) {
    ///     let fragments = mma_atom::<f32>([16, 8, 8]).load_b(b);
    ///     if lane_id() == 0 {
    ///         y[[0]] = fragments.dim(0) as i32;
    ///         y[[1]] = fragments.dim(1) as i32;
    ///     }
    /// }
    /// # let device = Device::simulator();
    /// let b = device.zeros::<f32, 2>([8, 16])?;
    /// let mut y = device.zeros::<i32, 1>([2])?;
    /// held::launch(&device.stream(), &b, &mut y)?;
    /// assert_eq!(y.download()?, [2, 2]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn load_b(&self, _tile: impl Tensor<Elem = T>) -> View<T, Write> {
        device_only()
    }

    /// `acc += a b`. The accumulator of a product of `M` by `N` is `local::<f32>(row_major([M / 16, N / 8 * 4]))`: one row
    /// for each 16 rows, and in it 4 elements for each 8 columns. The same holds for `f16` and `i32`. Of the
    /// instructions of 8 rows it is `row_major([M / 8, N / 8 * 2])`.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// // 32 x 16 x 8: four instructions; k goes on by calling it again.
    /// #[tiled_kernel(block = [32], grid = [1])]
    /// fn product(
    ///     a: &LayoutTensor<f32, RowMajor<32, 16>>,
    ///     b: &LayoutTensor<f32, RowMajor<16, 16>>,
    ///     c: &mut LayoutTensor<f32, RowMajor<32, 16>>,
    /// ) {
    ///     let mma = mma_atom::<f32>([16, 8, 8]);
    ///     let mut acc = local::<f32>(row_major([2, 8])).fill(0.0);
    ///     for k in 0..2 {
    ///         mma.mma(&mut acc, &mma.load_a(&a.tile([32, 8], [0, k])), &mma.load_b(&b.tile([8, 16], [k, 0])));
    ///     }
    ///     mma.store_d(&mut c.tile([32, 16], [0, 0]), &acc);
    /// }
    /// # let device = Device::simulator();
    /// let (a, b) = (device.upload(&[1.0f32; 512], [32, 16])?, device.upload(&[0.5f32; 256], [16, 16])?);
    /// let mut c = device.zeros::<f32, 2>([32, 16])?;
    /// product::launch(&device.stream(), &a, &b, &mut c)?;
    /// assert_eq!(c.download()?, [8.0; 512]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn mma<C: Tensor<Access = Write>>(
        &self,
        _acc: C,
        _a: impl Tensor<Elem = T>,
        _b: impl Tensor<Elem = T>,
    ) {
        device_only()
    }

    /// The scales of a tile of A, in registers: M x blocks of K, a multiple of four blocks.
    ///
    /// | operands | type of a scale | elements of K that share one |
    /// |---|---|---|
    /// | words of e2m1 | `e4m3` without a sign: NVFP4 | 16 |
    /// | words of e2m1 | `u8`, 2^(scale - 127), of 255 NaN: MXFP4 | 32 |
    /// | `e4m3`, `e5m2` | `u8`, likewise: MXFP8 | 32 |
    ///
    /// For sm_120f: sm_120 and sm_121.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// // Four threads hold a row of 16: each has its four scales.
    /// #[tiled_kernel(arch = "sm_120f", block = [32], grid = [1])]
    /// fn held(scales: &LayoutTensor<u8, RowMajor<16, 4>>, y: &mut LayoutTensor<u32, RowMajor<2>>) {
    ///     let held = mma_atom::<u32>([16, 8, 64]).load_a_scales(scales);
    ///     if lane_id() == 5 {
    ///         y[[0]] = held.dim(1) as u32;
    ///         y[[1]] = held[[0, 3]] as u32;
    ///     }
    /// }
    /// # let device = Device::simulator();
    /// let scales: Vec<u8> = (0..64).collect();
    /// let (scales, mut y) = (device.upload(&scales, [16, 4])?, device.zeros::<u32, 1>([2])?);
    /// held::launch(&device.stream(), &scales, &mut y)?;
    /// assert_eq!(y.download()?, [4, 9 * 4 + 3]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn load_a_scales<S: Element>(&self, _tile: impl Tensor<Elem = S>) -> View<S, Write> {
        device_only()
    }

    /// The scales of a tile of B, in registers: blocks of K x N, as [`TensorCore::load_a_scales`].
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(arch = "sm_120f", block = [32], grid = [1])]
    /// fn held(scales: &LayoutTensor<u8, RowMajor<8, 4>>, y: &mut LayoutTensor<u32, RowMajor<1>>) {
    ///     let held = mma_atom::<u32>([16, 8, 64]).load_b_scales(&scales.transpose());
    ///     if lane_id() == 5 {
    ///         y[[0]] = held[[0, 3]] as u32;
    ///     }
    /// }
    /// # let device = Device::simulator();
    /// let scales: Vec<u8> = (0..32).collect();
    /// let (scales, mut y) = (device.upload(&scales, [8, 4])?, device.zeros::<u32, 1>([1])?);
    /// held::launch(&device.stream(), &scales, &mut y)?;
    /// assert_eq!(y.download()?, [4 + 3]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn load_b_scales<S: Element>(&self, _tile: impl Tensor<Elem = S>) -> View<S, Write> {
        device_only()
    }

    /// `acc += a b`, where each block of K of a row of A, and of a column of B, is multiplied by its scale. For sm_120f: sm_120
    /// and sm_121. The accumulator is that of [`TensorCore::mma`]; of e2m1 K counts the numbers, eight in each `u32`.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// // NVFP4: 16 x 8 x 64, where eight numbers of K are a word, and 16 of them have a scale.
    /// #[tiled_kernel(arch = "sm_120f", block = [32], grid = [1])]
    /// fn product(
    ///     a: &LayoutTensor<u32, RowMajor<16, 8>>,
    ///     b: &LayoutTensor<u32, RowMajor<8, 8>>,
    ///     a_scales: &LayoutTensor<e4m3, RowMajor<16, 4>>,
    ///     b_scales: &LayoutTensor<e4m3, RowMajor<8, 4>>,
    ///     c: &mut LayoutTensor<f32, RowMajor<16, 8>>,
    /// ) {
    ///     let mma = mma_atom::<u32>([16, 8, 64]);
    ///     let mut acc = local::<f32>(row_major([1, 4])).fill(0.0);
    ///     let (a, b) = (mma.load_a(a), mma.load_b(&b.transpose()));
    ///     let (x, y) = (mma.load_a_scales(a_scales), mma.load_b_scales(&b_scales.transpose()));
    ///     mma.mma_scaled(&mut acc, &a, &b, &x, &y);
    ///     mma.store_d(&mut c.tile([16, 8], [0, 0]), &acc);
    /// }
    /// # let device = Device::simulator();
    /// # use layout_cuda::E4m3;
    /// // Numbers of 1.5 and 2, scales of 0.5 and 3.
    /// let (a, b) = (device.upload(&[0x3333_3333u32; 128], [16, 8])?, device.upload(&[0x4444_4444u32; 64], [8, 8])?);
    /// let of = |scale: f32, rows| device.upload(&vec![E4m3::from_f32(scale); rows * 4], [rows, 4]);
    /// let (x, y, mut c) = (of(0.5, 16)?, of(3.0, 8)?, device.zeros::<f32, 2>([16, 8])?);
    /// product::launch(&device.stream(), &a, &b, &x, &y, &mut c)?;
    /// assert_eq!(c.download()?, [1.5 * 0.5 * 2.0 * 3.0 * 64.0; 128]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn mma_scaled<C: Tensor<Access = Write>, S: Element>(
        &self,
        _acc: C,
        _a: impl Tensor<Elem = T>,
        _b: impl Tensor<Elem = T>,
        _a_scales: impl Tensor<Elem = S>,
        _b_scales: impl Tensor<Elem = S>,
    ) {
        device_only()
    }

    /// Writes an accumulator to a tile of `M` by `N`.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [32], grid = [1])]
    /// fn fill(c: &mut LayoutTensor<f32, RowMajor<16, 8>>) {
    ///     let acc = local::<f32>(row_major([1, 4])).fill(2.5);
    ///     mma_atom::<f32>([16, 8, 8]).store_d(&mut c.tile([16, 8], [0, 0]), &acc);
    /// }
    /// # let device = Device::simulator();
    /// let mut c = device.zeros::<f32, 2>([16, 8])?;
    /// fill::launch(&device.stream(), &mut c)?;
    /// assert_eq!(c.download()?, [2.5; 128]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn store_d<D: Tensor<Access = Write>>(&self, _tile: D, _acc: impl Tensor<Elem = D::Elem>) {
        device_only()
    }
}
