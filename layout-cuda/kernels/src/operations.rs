//! Operations by their usual names, with the library's own workspaces: a function, its tensors or views, and nothing else to choose.
//!
//! Law: each gives what the function behind it gives with default options and a new workspace, which it names.

use layout_cuda::{Element, Error, Stream, TensorArg, TensorArgMut};

/// `c = a b` of M x K, K x N and M x N. Asynchronous.
///
/// A and B are by rows or by columns, C by rows. Operands are `bf16` or `f16` with a C of the same type, `f32`, `f64`, `e4m3` with a C of
/// `bf16` or `f32`, and `i8` with a C of `i32`. Sums are float32, of `f64` float64; each is rounded once. Those of `i8` are exact modulo 2³². An empty K gives zeros.
///
/// [`product::multiply`](crate::product::multiply) is the same with options (TF32, a kernel, its parameters) and a workspace of one's own.
///
/// # Errors
/// Shapes that disagree, a matrix that is otherwise, a device that has no kernel for these types, a device without memory for operands
/// that have to be moved, and those of a launch. Nothing has run where the arguments do not fit.
///
/// ```
/// use layout_cuda::{Device, bf16};
///
/// let device = Device::simulator();
/// let a = device.upload(&[bf16::from_f32(2.0); 15], [3, 5])?;
/// let b = device.upload(&[bf16::from_f32(0.5); 35], [5, 7])?;
/// let mut c = device.zeros::<bf16, 2>([3, 7])?;
/// layout_kernels::matmul(&device.stream(), &a, &b, &mut c)?;
/// assert!(c.download()?.iter().all(|sum| sum.to_f32() == 5.0));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[cfg(feature = "matmul")]
pub fn matmul<T: Element, U: Element>(
    stream: &Stream,
    a: &impl TensorArg<T, 2>,
    b: &impl TensorArg<T, 2>,
    c: &mut impl TensorArgMut<U, 2>,
) -> Result<(), Error> {
    use crate::product::{Options, Workspace, multiply};
    multiply(stream, Options::default(), &mut Workspace::default(), a, b, c)
}

/// `c = a b` of `e4m3` with scales of 1 x 128 of A and 128 x 128 of B, C of `bf16` or `f16`; on Hopper. Asynchronous.
///
/// [`product::multiply_block_scaled`](crate::product::multiply_block_scaled) says more, and takes a workspace of one's own.
///
/// # Errors
/// As [`product::multiply_block_scaled`](crate::product::multiply_block_scaled).
///
/// ```
/// use layout_cuda::{Device, E4m3, bf16};
/// use layout_kernels::product::Scaled;
///
/// let (device, one) = (Device::simulator(), E4m3::from_f32(1.0));
/// let (a, b) = (device.upload(&[one; 2 * 256], [2, 256])?, device.upload_strided(&[one; 256 * 3], [256, 3], [1, 256])?);
/// let a_scales = device.upload(&[1.0f32, 3.0, 2.0, 6.0], [2, 2])?;
/// let b_scales = device.upload(&[0.5f32, 0.25], [2, 1])?;
/// let mut c = device.zeros::<bf16, 2>([2, 3])?;
/// let (a, b) = (Scaled { matrix: &a, scales: &a_scales }, Scaled { matrix: &b, scales: &b_scales });
/// layout_kernels::matmul_block_scaled(&device.stream(), a, b, &mut c)?;
/// assert_eq!(c.download()?.iter().map(|sum| sum.to_f32()).collect::<Vec<_>>(), [160.0, 160.0, 160.0, 320.0, 320.0, 320.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[cfg(feature = "matmul")]
pub fn matmul_block_scaled<U: crate::Real>(
    stream: &Stream,
    a: crate::product::Scaled<&impl TensorArg<layout_cuda::E4m3, 2>, &impl TensorArg<f32, 2>>,
    b: crate::product::Scaled<&impl TensorArg<layout_cuda::E4m3, 2>, &impl TensorArg<f32, 2>>,
    c: &mut impl TensorArgMut<U, 2>,
) -> Result<(), Error> {
    crate::product::multiply_block_scaled(stream, &mut crate::product::Workspace::default(), a, b, c)
}

/// `c = a b` of `bf16` or `f16`, where B has 4 or 8 bits an element, a scale and a zero for each group of `k` of a column; up to
/// 64 rows B is read as it is. A and C are by rows. Sums are float32, rounded once. Asynchronous.
///
/// Above 64 rows B is rounded to the type of A first, into a workspace. [`quantized::multiply`](crate::quantized::multiply) takes one of
/// one's own. An infinity in A gives NaN.
///
/// # Errors
/// Shapes that disagree, a matrix by columns, another type, a device without memory for the workspace, and those of a launch.
///
/// ```
/// use layout_cuda::{Device, bf16};
/// use layout_kernels::quantized::{Format, QuantizedMatrix};
///
/// let (device, half) = (Device::simulator(), bf16::from_f32(0.5));
/// let stream = device.stream();
/// let a = device.upload(&[half; 3 * 32], [3, 32])?;
/// let b = QuantizedMatrix::round(&stream, Format::INT4, &device.upload(&[half; 32 * 5], [32, 5])?)?;
/// let mut c = device.zeros::<bf16, 2>([3, 5])?;
/// layout_kernels::matmul_quantized(&stream, &a, &b, &mut c)?;
/// assert!(c.download()?.iter().all(|sum| sum.to_f32() == 8.0));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[cfg(feature = "quantized")]
pub fn matmul_quantized<T: Element>(
    stream: &Stream,
    a: &impl TensorArg<T, 2>,
    b: &crate::quantized::QuantizedMatrix,
    c: &mut impl TensorArgMut<T, 2>,
) -> Result<(), Error> {
    crate::quantized::multiply(stream, &mut crate::quantized::Workspace::default(), a, b, c)
}

/// The cross-correlation of `x` `[N, H, W, C]` with `filters` `[K, R, S, C]`: `out` `[N, H - R + 1, W - S + 1, K]`. Asynchronous.
///
/// Elements are `bf16` or `f16`; sums are float32, rounded once. Strides of the tensors may be any. One mode is two with an extent of 1.
/// [`Convolution`](crate::convolution::Convolution) has strides, dilation, padding, groups, a bias and an activation.
///
/// # Errors
/// As [`Convolution::run`](crate::convolution::Convolution::run).
///
/// ```
/// use layout_cuda::{Device, bf16};
///
/// let device = Device::simulator();
/// let of = |value: f32, len: usize| vec![bf16::from_f32(value); len];
/// let x = device.upload(&of(0.5, 4 * 5 * 8), [1, 4, 5, 8])?;
/// let filters = device.upload(&of(2.0, 3 * 9 * 8), [3, 3, 3, 8])?;
/// let mut out = device.zeros::<bf16, 4>([1, 2, 3, 3])?;
/// layout_kernels::convolution(&device.stream(), &x, &filters, &mut out)?;
/// assert!(out.download()?.iter().all(|sum| sum.to_f32() == 72.0));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[cfg(feature = "convolution")]
pub fn convolution<T: Element>(
    stream: &Stream,
    x: &impl TensorArg<T, 4>,
    filters: &impl TensorArg<T, 4>,
    out: &mut impl TensorArgMut<T, 4>,
) -> Result<(), Error> {
    crate::convolution::Convolution::default().run(stream, x, filters, out)
}

/// A mixture of experts: `out[i]` is the sum of `w (silu(x[i] g) * (x[i] u)) d` over the `k` experts of token `i` with the largest
/// logits, `w` their softmax, `[g u]` `gate_up[e]` of D x 2 H and `d` `down[e]` of H x D. Asynchronous.
///
/// Elements are `bf16` or `f16`; sums are float32, rounded once for each product. [`Mixture`](crate::experts::Mixture) has other scores, and
/// takes a workspace of one's own.
///
/// # Errors
/// As [`Mixture::run`](crate::experts::Mixture::run).
///
/// ```
/// use layout_cuda::{Device, bf16};
///
/// let (device, of) = (Device::simulator(), |value: f32, len: usize| vec![bf16::from_f32(value); len]);
/// let (x, logits) = (device.upload(&of(1.0, 3 * 8), [3, 8])?, device.upload(&[0.5f32; 3 * 4], [3, 4])?);
/// let (gate_up, down) = (device.upload(&of(8.0, 4 * 8 * 16), [4, 8, 16])?, device.upload(&of(0.25, 4 * 8 * 8), [4, 8, 8])?);
/// let mut out = device.zeros::<bf16, 2>([3, 8])?;
/// layout_kernels::mixture_of_experts(&device.stream(), 2, &x, &logits, &gate_up, &down, &mut out)?;
/// // silu(64) 64, eight times a quarter of it.
/// assert!(out.download()?.iter().all(|sum| sum.to_f32() == 8192.0));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[cfg(feature = "experts")]
pub fn mixture_of_experts<T: crate::Real, L: crate::Real>(
    stream: &Stream,
    k: usize,
    x: &impl TensorArg<T, 2>,
    logits: &impl TensorArg<L, 2>,
    gate_up: &impl TensorArg<T, 3>,
    down: &impl TensorArg<T, 3>,
    out: &mut impl TensorArgMut<T, 2>,
) -> Result<(), Error> {
    use crate::experts::{Mixture, Workspace};
    Mixture::new(k, gate_up, down).run(stream, &mut Workspace::default(), x, logits, out)
}

/// `o = softmax(q kᵀ / sqrt(D)) v` for each head. The modes of the tensors are batch, head, place, element; heads of Q are a multiple of
/// those of K and V; in memory they may be in any order, the elements of a head contiguous. Asynchronous.
///
/// Elements are `bf16` or `f16`; scores and sums are float32. [`Attention`](crate::attention::Attention) has masks, scores, a scale, packed
/// sequences, functions of one's own, and gives the logarithms that the backward takes.
///
/// # Errors
/// As [`Attention::run`](crate::attention::Attention::run).
///
/// ```
/// use layout_cuda::{Device, bf16};
///
/// let device = Device::simulator();
/// let of = |value: f32| device.upload(&[bf16::from_f32(value); 2 * 10 * 64], [1, 2, 10, 64]);
/// let (q, k, v, mut o) = (of(1.0)?, of(1.0)?, of(3.0)?, of(0.0)?);
/// layout_kernels::attention(&device.stream(), &q, &k, &v, &mut o)?;
/// assert!(o.download()?.iter().all(|mean| mean.to_f32() == 3.0));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[cfg(feature = "attention")]
pub fn attention<T: Element>(
    stream: &Stream,
    q: &impl TensorArg<T, 4>,
    k: &impl TensorArg<T, 4>,
    v: &impl TensorArg<T, 4>,
    o: &mut impl TensorArgMut<T, 4>,
) -> Result<(), Error> {
    let [batches, heads, queries, _] = q.view().shape();
    let mut logs = stream.zeros([batches, heads, queries])?;
    crate::attention::Attention::default().run(stream, q, k, v, o, &mut logs)
}

/// `out[0] = sum of x`, 0 of nothing: within [`SUM_UNITS`](crate::memory::SUM_UNITS) of the exact sum, the same bits in each run.
/// [`memory::sum`](crate::memory::sum) takes a workspace of one's own.
///
/// # Errors
/// A device without memory for the workspace, and those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let (x, mut out) = (device.upload(&[1.0f32, 2.0, 3.0], [3])?, device.zeros([1])?);
/// layout_kernels::sum(&device.stream(), &x, &mut out)?;
/// assert_eq!(out.download()?, [6.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[cfg(feature = "memory")]
pub fn sum(
    stream: &Stream,
    x: &impl TensorArg<f32, 1>,
    out: &mut impl TensorArgMut<f32, 1>,
) -> Result<(), Error> {
    crate::memory::sum(stream, x, &mut stream.zeros([crate::memory::PARTS])?, out)
}

/// `out[0] = sum of x[i] y[i]`, as [`sum`]. [`memory::dot`](crate::memory::dot) takes a workspace of one's own.
///
/// # Errors
/// A device without memory for the workspace, and those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let (x, mut out) = (device.upload(&[1.0f32, 2.0, 3.0], [3])?, device.zeros([1])?);
/// layout_kernels::dot(&device.stream(), &x, &x, &mut out)?;
/// assert_eq!(out.download()?, [14.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[cfg(feature = "memory")]
pub fn dot(
    stream: &Stream,
    x: &impl TensorArg<f32, 1>,
    y: &impl TensorArg<f32, 1>,
    out: &mut impl TensorArgMut<f32, 1>,
) -> Result<(), Error> {
    crate::memory::dot(stream, x, y, &mut stream.zeros([crate::memory::PARTS])?, out)
}

/// `out[0]`: the largest of `x`, minus infinity of nothing. [`memory::max`](crate::memory::max) takes a workspace of one's own.
///
/// # Errors
/// A device without memory for the workspace, and those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let (x, mut out) = (device.upload(&[1.0f32, 3.0, 2.0], [3])?, device.zeros([1])?);
/// layout_kernels::max(&device.stream(), &x, &mut out)?;
/// assert_eq!(out.download()?, [3.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[cfg(feature = "memory")]
pub fn max(
    stream: &Stream,
    x: &impl TensorArg<f32, 1>,
    out: &mut impl TensorArgMut<f32, 1>,
) -> Result<(), Error> {
    crate::memory::max(stream, x, &mut stream.zeros([crate::memory::PARTS])?, out)
}

/// `out[0]`: where the first of the largest elements of `x` is. [`memory::argmax`](crate::memory::argmax) takes a workspace of one's own.
///
/// # Errors
/// A device without memory for the workspace, and those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let (x, mut out) = (device.upload(&[1.0f32, 3.0, 2.0], [3])?, device.zeros([1])?);
/// layout_kernels::argmax(&device.stream(), &x, &mut out)?;
/// assert_eq!(out.download()?, [1]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[cfg(feature = "memory")]
pub fn argmax(
    stream: &Stream,
    x: &impl TensorArg<f32, 1>,
    out: &mut impl TensorArgMut<u32, 1>,
) -> Result<(), Error> {
    let parts = [crate::memory::PARTS];
    crate::memory::argmax(stream, x, &mut stream.zeros(parts)?, &mut stream.zeros(parts)?, out)
}

/// `out[j] = sum of column j of x`. [`memory::column_sums`](crate::memory::column_sums) takes a workspace of one's own.
///
/// # Errors
/// A device without memory for the workspace, and those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let (x, mut out) = (device.upload(&[1.0f32, 2.0, 3.0, 4.0], [2, 2])?, device.zeros([2])?);
/// layout_kernels::column_sums(&device.stream(), &x, &mut out)?;
/// assert_eq!(out.download()?, [4.0, 6.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[cfg(feature = "memory")]
pub fn column_sums(
    stream: &Stream,
    x: &impl TensorArg<f32, 2>,
    out: &mut impl TensorArgMut<f32, 1>,
) -> Result<(), Error> {
    let columns = x.view().shape()[1];
    crate::memory::column_sums(stream, x, &mut stream.zeros([crate::memory::SPLITS, columns])?, out)
}

/// `out[i] = x[0] + .. + x[i]`, within [`SCAN_UNITS`](crate::memory::SCAN_UNITS) of the exact sum.
/// [`memory::inclusive_scan`](crate::memory::inclusive_scan) takes a workspace of one's own.
///
/// # Errors
/// A device without memory for the workspace, and those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let (x, mut out) = (device.upload(&[1.0f32, 2.0, 3.0], [3])?, device.zeros([3])?);
/// layout_kernels::inclusive_scan(&device.stream(), &x, &mut out)?;
/// assert_eq!(out.download()?, [1.0, 3.0, 6.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[cfg(feature = "memory")]
pub fn inclusive_scan(
    stream: &Stream,
    x: &impl TensorArg<f32, 1>,
    out: &mut impl TensorArgMut<f32, 1>,
) -> Result<(), Error> {
    let mut state = crate::memory::ScanState::new(stream, x.view().shape()[0])?;
    crate::memory::inclusive_scan(stream, x, out, &mut state)
}

/// `out[i] = x[0] + .. + x[i - 1]`, as [`inclusive_scan`].
/// [`memory::exclusive_scan`](crate::memory::exclusive_scan) takes a workspace of one's own.
///
/// # Errors
/// A device without memory for the workspace, and those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let (x, mut out) = (device.upload(&[1.0f32, 2.0, 3.0], [3])?, device.zeros([3])?);
/// layout_kernels::exclusive_scan(&device.stream(), &x, &mut out)?;
/// assert_eq!(out.download()?, [0.0, 1.0, 3.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[cfg(feature = "memory")]
pub fn exclusive_scan(
    stream: &Stream,
    x: &impl TensorArg<f32, 1>,
    out: &mut impl TensorArgMut<f32, 1>,
) -> Result<(), Error> {
    let mut state = crate::memory::ScanState::new(stream, x.view().shape()[0])?;
    crate::memory::exclusive_scan(stream, x, out, &mut state)
}
