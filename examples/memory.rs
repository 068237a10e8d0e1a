//! Functions on the host over the kernels at the speed of memory: they check shapes by launching, and allocate nothing.
//!
//! ```
//! use layout_cuda::Device;
//! use layout_examples::memory::{PARTS, sum};
//!
//! let device = Device::best();
//! let x = device.upload(&[1.0f32, 2.0, 3.0], [3])?;
//! let (mut parts, mut out) = (device.zeros([PARTS])?, device.zeros([1])?);
//! sum(&device.stream(), &x, &mut parts, &mut out)?;
//! assert_eq!(out.download()?, [6.0]);
//! # Ok::<(), layout_cuda::Error>(())
//! ```

use crate::kernels::memory as kernels;
use layout_cuda::{Error, Stream, Tensor};

/// Elements of the workspace of [`sum`], [`dot`] and [`max`].
pub const PARTS: usize = 1056;

/// Rows of the workspace of [`column_sums`].
pub const SPLITS: usize = 16;

/// How far a sum may be from the exact one: units in the last place of the sum of absolute values.
pub const SUM_UNITS: f64 = 40.0;

/// `out[0] = sum of x`; 0 of nothing. `parts` has [`PARTS`] elements.
///
/// # Errors
/// Those of a launch.
pub fn sum(
    stream: &Stream,
    x: &Tensor<f32, 1>,
    parts: &mut Tensor<f32, 1>,
    out: &mut Tensor<f32, 1>,
) -> Result<(), Error> {
    kernels::sum_of_parts::launch(stream, x, &mut *parts)?;
    kernels::total_sum::launch(stream, &*parts, out)
}

/// `out[0] = sum of x[i] y[i]`. `parts` has [`PARTS`] elements.
///
/// # Errors
/// Those of a launch.
pub fn dot(
    stream: &Stream,
    x: &Tensor<f32, 1>,
    y: &Tensor<f32, 1>,
    parts: &mut Tensor<f32, 1>,
    out: &mut Tensor<f32, 1>,
) -> Result<(), Error> {
    kernels::dot_of_parts::launch(stream, x, y, &mut *parts)?;
    kernels::total_sum::launch(stream, &*parts, out)
}

/// `out[0] = max of x`; minus infinity of nothing. `parts` has [`PARTS`] elements.
///
/// # Errors
/// Those of a launch.
pub fn max(
    stream: &Stream,
    x: &Tensor<f32, 1>,
    parts: &mut Tensor<f32, 1>,
    out: &mut Tensor<f32, 1>,
) -> Result<(), Error> {
    kernels::max_of_parts::launch(stream, x, &mut *parts)?;
    kernels::total_max::launch(stream, &*parts, out)
}

/// `out[j] = sum of column j of x`. `parts` is [`SPLITS`] rows of as many columns as `x` has.
///
/// # Errors
/// Those of a launch.
pub fn column_sums(
    stream: &Stream,
    x: &Tensor<f32, 2>,
    parts: &mut Tensor<f32, 2>,
    out: &mut Tensor<f32, 1>,
) -> Result<(), Error> {
    kernels::column_sums_of_parts::launch(stream, x, &mut *parts)?;
    kernels::column_sums::launch(stream, &*parts, out)
}
