//! Operations of rows, and what goes back through them: log-softmax, softmax, cross entropy with ignored labels, layer norm, RMS norm.
//!
//! Law: matrices are by rows, without gaps, of `f32`, `bf16` or `f16`; sums are float32 and each result is rounded once. Rows begin at any
//! address and may be of any length. Nothing has run where the arguments do not fit.

use crate::Real;
use crate::kernels::rows as kernels;
use crate::set;
use layout_cuda::{Error, LaunchConfig, ParamValue, Stream, TensorArg, TensorArgMut};

/// Rows of the workspace of [`norm_backward`]'s sums of columns.
pub const PARTS: usize = 64;

/// `out[i, j] = x[i, j] - log(sum over k of e^x[i, k])`. Asynchronous.
///
/// # Errors
/// Those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let (x, mut out) = (device.upload(&[7.0f32; 4], [1, 4])?, device.zeros::<f32, 2>([1, 4])?);
/// layout_kernels::rows::log_softmax(&device.stream(), &x, &mut out)?;
/// assert!((out.download()?[0] + 4f32.ln()).abs() < 1e-6);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn log_softmax<T: Real>(
    stream: &Stream,
    x: &impl TensorArg<T, 2>,
    out: &mut impl TensorArgMut<T, 2>,
) -> Result<(), Error> {
    kernels::log_softmax::launch(stream, x, out)
}

/// What goes back through a softmax: `dx[i, j] = y[i, j] (dy[i, j] - sum over k of y[i, k] dy[i, k])`, `y` what it gave. Asynchronous.
///
/// # Errors
/// Those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let (y, dy) = (device.upload(&[0.5f32; 2], [1, 2])?, device.upload(&[1.0f32, 3.0], [1, 2])?);
/// let mut dx = device.zeros::<f32, 2>([1, 2])?;
/// layout_kernels::rows::softmax_backward(&device.stream(), &y, &dy, &mut dx)?;
/// assert_eq!(dx.download()?, [-0.5, 0.5]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn softmax_backward<T: Real>(
    stream: &Stream,
    y: &impl TensorArg<T, 2>,
    dy: &impl TensorArg<T, 2>,
    dx: &mut impl TensorArgMut<T, 2>,
) -> Result<(), Error> {
    kernels::softmax_backward::launch(stream, y, dy, dx)
}

/// `loss[i] = log(sum over j of e^logits[i, j]) - logits[i, targets[i]]`; 0 where the target is no column, as a label that is to be ignored
/// is. Asynchronous.
///
/// # Errors
/// Those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let logits = device.upload(&[1.0f32; 8], [2, 4])?;
/// let (targets, mut loss) = (device.upload(&[2, u32::MAX], [2])?, device.zeros::<f32, 1>([2])?);
/// layout_kernels::rows::cross_entropy(&device.stream(), &logits, &targets, &mut loss)?;
/// let loss = loss.download()?;
/// assert!((loss[0] - 4f32.ln()).abs() < 1e-6 && loss[1] == 0.0);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn cross_entropy<T: Real>(
    stream: &Stream,
    logits: &impl TensorArg<T, 2>,
    targets: &impl TensorArg<u32, 1>,
    loss: &mut impl TensorArgMut<f32, 1>,
) -> Result<(), Error> {
    kernels::entropy::launch(stream, logits, targets, loss)
}

/// What goes back through [`cross_entropy`] to the logits, `factors[i]` what comes back to `loss[i]`: for a mean one over the number of
/// labels that count. Asynchronous.
///
/// # Errors
/// Those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let logits = device.upload(&[1.0f32; 4], [1, 4])?;
/// let (targets, factors) = (device.upload(&[2u32], [1])?, device.upload(&[4.0f32], [1])?);
/// let mut dx = device.zeros::<f32, 2>([1, 4])?;
/// layout_kernels::rows::cross_entropy_backward(&device.stream(), &logits, &targets, &factors, &mut dx)?;
/// assert_eq!(dx.download()?, [1.0, 1.0, -3.0, 1.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn cross_entropy_backward<T: Real>(
    stream: &Stream,
    logits: &impl TensorArg<T, 2>,
    targets: &impl TensorArg<u32, 1>,
    factors: &impl TensorArg<f32, 1>,
    dx: &mut impl TensorArgMut<T, 2>,
) -> Result<(), Error> {
    kernels::entropy_backward::launch(stream, logits, targets, factors, dx)
}

/// Which norm [`norm_backward`] goes back through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    /// `(x - mean) / sqrt(variance + epsilon) * scale + shift`
    Layer,
    /// `x / sqrt(mean of x² + epsilon) * scale`
    Rms,
}

/// What goes back through a norm of the rows of `x`: to `x`, and summed over the rows to the scale and to a shift; for the RMS norm, which
/// has none, the last are the sums of `dy`. Allocates [`PARTS`] rows of two sums for each column. Asynchronous.
///
/// # Errors
/// A device without memory for the workspace, and those of a launch.
///
/// ```
/// use layout_kernels::rows::{Norm, norm_backward};
///
/// let device = layout_cuda::Device::simulator();
/// let (x, dy) = (device.upload(&[3.0f32, 3.0], [1, 2])?, device.upload(&[1.0f32, 0.0], [1, 2])?);
/// let scale = device.upload(&[6.0f32; 2], [2])?;
/// let (mut dx, mut of_scale, mut of_shift) = (device.zeros::<f32, 2>([1, 2])?, device.zeros([2])?, device.zeros([2])?);
/// norm_backward(&device.stream(), Norm::Rms, &x, &scale, &dy, &mut dx, &mut of_scale, &mut of_shift, 0.0)?;
/// assert_eq!((dx.download()?, of_scale.download()?), (vec![1.0, -1.0], vec![1.0, 0.0]));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[allow(clippy::too_many_arguments, reason = "three tensors in, three out")]
pub fn norm_backward<T: Real>(
    stream: &Stream,
    norm: Norm,
    x: &impl TensorArg<T, 2>,
    scale: &impl TensorArg<T, 1>,
    dy: &impl TensorArg<T, 2>,
    dx: &mut impl TensorArgMut<T, 2>,
    of_scale: &mut impl TensorArgMut<f32, 1>,
    of_shift: &mut impl TensorArgMut<f32, 1>,
    epsilon: f32,
) -> Result<(), Error> {
    let [m, n] = x.view().shape();
    let parts = m.div_ceil(16).clamp(1, PARTS);
    let (mut stats, mut sums) = (stream.zeros([m, 2])?, stream.zeros([parts, 2, n])?);
    let set = set(&[]).with("RMS", ParamValue::Bool(norm == Norm::Rms));
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    kernels::norm_backward::launch_with(config, stream, x, scale, dy, dx, &mut stats, epsilon)?;
    kernels::norm_columns::launch(stream, x, dy, &stats, &mut sums)?;
    kernels::sum_columns::launch(stream, &sums, of_scale, of_shift)
}
