//! Matrices of NVFP4: numbers of four bits (e2m1) with a scale of eight bits (ue4m3) for 16 of a row, and one of float32 for all; and of
//! MXFP8: numbers of eight bits with a power of two (ue8m0) for 32 of a row.
//!
//! Law: the number of NVFP4 at (i, j) is `scale * scales[i, j / 16] * e2m1`, the four bits `j % 8` of `words[i, j / 8]`, the first lowest; that of
//! MXFP8 is `2^(scales[i, j / 32] - 127) * bytes[i, j]`, with NaN for a scale of 255. Rows are padded by zeros to a multiple of 128 numbers. Nothing has run where the arguments do not fit.

use crate::kernels::block_scale as kernels;
use crate::{Real, same};
use layout_cuda::{E4m3, E5m2, Element, Error, Stream, Tensor, TensorArg, TensorArgMut};

/// Numbers of a row that are a multiple in memory.
pub const MULTIPLE: usize = 128;

/// A matrix of NVFP4.
#[derive(Debug)]
pub struct Nvfp4 {
    /// Rows of eight numbers a word.
    pub words: Tensor<u32, 2>,
    /// The scales of two words each, none of them negative.
    pub scales: Tensor<E4m3, 2>,
    /// The scale of all.
    pub scale: Tensor<f32, 1>,
    /// The numbers of a row without the padding.
    pub columns: usize,
}

impl Nvfp4 {
    /// Zeros.
    ///
    /// # Errors
    /// A device without memory for it.
    ///
    /// ```
    /// let stream = layout_cuda::Device::simulator().stream();
    /// let x = layout_kernels::block_scale::Nvfp4::zeros(&stream, 3, 130)?;
    /// assert_eq!((x.words.shape(), x.scales.shape()), ([3, 32], [3, 16]));
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn zeros(stream: &Stream, rows: usize, columns: usize) -> Result<Nvfp4, Error> {
        let padded = columns.next_multiple_of(MULTIPLE);
        Ok(Nvfp4 {
            words: stream.zeros([rows, padded / 8])?,
            scales: stream.zeros([rows, padded / 16])?,
            scale: stream.zeros([1])?,
            columns,
        })
    }
}

/// The numbers of `x` in NVFP4: each is within half a step of e2m1 of what it was, where the largest of its block of 16 is 6. For sm_89 and
/// later. Asynchronous.
///
/// # Errors
/// [`BindError::Extent`](layout_cuda::BindError) where `out` has other rows or columns, and those of a launch.
///
/// ```
/// use layout_kernels::block_scale::{Nvfp4, quantize};
///
/// let device = layout_cuda::Device::simulator();
/// let stream = device.stream();
/// let x = device.upload(&[6.0f32, -3.0, 1.0, 0.4], [1, 4])?;
/// let mut out = Nvfp4::zeros(&stream, 1, 4)?;
/// quantize(&stream, &x, &mut out)?;
/// // 6, -3, 1 and 0.5 of a unit of 1.
/// assert_eq!(out.words.download()?[0], 0x12d7);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn quantize<T: Real>(stream: &Stream, x: &impl TensorArg<T, 2>, out: &mut Nvfp4) -> Result<(), Error> {
    let [rows, columns] = x.view().shape();
    same("quantize", "out", 0, out.words.shape()[0], ("M", "x"), rows)?;
    same("quantize", "out", 1, out.columns, ("N", "x"), columns)?;
    let mut bits = stream.zeros::<u32, 1>([1])?;
    kernels::largest::launch(stream, x, &mut bits)?;
    kernels::quantize::launch(stream, x, &bits, &mut out.words, &mut out.scales, &mut out.scale)
}

/// `C = A Bᵀ`: rows of A by rows of B, on the matrix units of sm_120 and sm_121; sums in float32. Not run on hardware: tested on the
/// simulator, and compiled by NVRTC. Asynchronous.
///
/// # Errors
/// [`BindError::Extent`](layout_cuda::BindError) where the rows of A and B differ in length, a device without these matrix units, and those
/// of a launch.
///
/// ```
/// use layout_kernels::block_scale::{Nvfp4, matmul, quantize};
///
/// let device = layout_cuda::Device::simulator();
/// let stream = device.stream();
/// let (mut a, mut b) = (Nvfp4::zeros(&stream, 2, 100)?, Nvfp4::zeros(&stream, 3, 100)?);
/// quantize(&stream, &device.upload(&[1.5f32; 200], [2, 100])?, &mut a)?;
/// quantize(&stream, &device.upload(&[-2.0f32; 300], [3, 100])?, &mut b)?;
/// let mut c = device.zeros::<f32, 2>([2, 3])?;
/// matmul(&stream, &a, &b, &mut c)?;
/// assert!(c.download()?.iter().all(|sum| (sum + 300.0).abs() < 1e-3));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn matmul<T: Real>(
    stream: &Stream,
    a: &Nvfp4,
    b: &Nvfp4,
    c: &mut impl TensorArgMut<T, 2>,
) -> Result<(), Error> {
    same("matmul", "b", 1, b.columns, ("K", "a"), a.columns)?;
    kernels::nvfp4_product::launch(stream, &a.words, &b.words, &a.scales, &b.scales, &a.scale, &b.scale, c)
}

/// A float of eight bits that MXFP8 has.
pub trait Byte: Element {}

impl Byte for E4m3 {}
impl Byte for E5m2 {}

/// A matrix of MXFP8.
#[derive(Debug)]
pub struct Mxfp8<T: Byte> {
    /// Rows of numbers, padded.
    pub bytes: Tensor<T, 2>,
    /// The scales of 32 bytes each: exponents, 127 of 1.
    pub scales: Tensor<u8, 2>,
    /// The numbers of a row without the padding.
    pub columns: usize,
}

impl<T: Byte> Mxfp8<T> {
    /// Zeros.
    ///
    /// # Errors
    /// A device without memory for it.
    ///
    /// ```
    /// use layout_cuda::E5m2;
    /// let stream = layout_cuda::Device::simulator().stream();
    /// let x = layout_kernels::block_scale::Mxfp8::<E5m2>::zeros(&stream, 3, 130)?;
    /// assert_eq!((x.bytes.shape(), x.scales.shape()), ([3, 256], [3, 8]));
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn zeros(stream: &Stream, rows: usize, columns: usize) -> Result<Mxfp8<T>, Error> {
        let padded = columns.next_multiple_of(MULTIPLE);
        Ok(Mxfp8 {
            bytes: stream.zeros([rows, padded])?,
            scales: stream.zeros([rows, padded / 32])?,
            columns,
        })
    }
}

/// The numbers of `x` in MXFP8: of 32 the scale is the least power of two with which none is beyond the type's largest number. A block with a
/// NaN or an infinity is NaN. For sm_89 and later. Asynchronous.
///
/// # Errors
/// As [`quantize`].
///
/// ```
/// use layout_kernels::block_scale::{Mxfp8, quantize_mxfp8};
///
/// let device = layout_cuda::Device::simulator();
/// let stream = device.stream();
/// let x = device.upload(&[896.0f32, -3.0, 1.0, 0.0], [1, 4])?;
/// let mut out = Mxfp8::<layout_cuda::E4m3>::zeros(&stream, 1, 4)?;
/// quantize_mxfp8(&stream, &x, &mut out)?;
/// assert_eq!(out.scales.download()?[0], 128);
/// assert_eq!(out.bytes.download()?[..2].iter().map(|byte| byte.to_f32()).collect::<Vec<_>>(), [448.0, -1.5]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn quantize_mxfp8<T: Real, U: Byte>(
    stream: &Stream,
    x: &impl TensorArg<T, 2>,
    out: &mut Mxfp8<U>,
) -> Result<(), Error> {
    let [rows, columns] = x.view().shape();
    same("quantize_mxfp8", "out", 0, out.bytes.shape()[0], ("M", "x"), rows)?;
    same("quantize_mxfp8", "out", 1, out.columns, ("N", "x"), columns)?;
    kernels::quantize_mxfp8::launch(stream, x, &mut out.bytes, &mut out.scales)
}

/// `C = A Bᵀ` of MXFP8, as [`matmul`]: not run on hardware.
///
/// # Errors
/// As [`matmul`].
///
/// ```
/// use layout_cuda::E4m3;
/// use layout_kernels::block_scale::{Mxfp8, matmul_mxfp8, quantize_mxfp8};
///
/// let device = layout_cuda::Device::simulator();
/// let stream = device.stream();
/// let (mut a, mut b) = (Mxfp8::<E4m3>::zeros(&stream, 2, 100)?, Mxfp8::zeros(&stream, 3, 100)?);
/// quantize_mxfp8(&stream, &device.upload(&[1.5f32; 200], [2, 100])?, &mut a)?;
/// quantize_mxfp8(&stream, &device.upload(&[-2.0f32; 300], [3, 100])?, &mut b)?;
/// let mut c = device.zeros::<f32, 2>([2, 3])?;
/// matmul_mxfp8(&stream, &a, &b, &mut c)?;
/// assert_eq!(c.download()?, [-300.0; 6]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn matmul_mxfp8<T: Byte, U: Real>(
    stream: &Stream,
    a: &Mxfp8<T>,
    b: &Mxfp8<T>,
    c: &mut impl TensorArgMut<U, 2>,
) -> Result<(), Error> {
    same("matmul_mxfp8", "b", 1, b.columns, ("K", "a"), a.columns)?;
    kernels::mxfp8_product::launch(stream, &a.bytes, &b.bytes, &a.scales, &b.scales, c)
}
