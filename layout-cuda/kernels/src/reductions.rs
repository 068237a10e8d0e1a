//! Reductions of one mode of a tensor of any rank: sums, means, variances, extremes and where they are, tests, powers, products.
//!
//! Law: elements are `f32`, `bf16` or `f16`, reduced in float32; the result has an extent of 1 in the mode. The order is fixed by the shape,
//! so that a result does not depend on the run. A NaN makes a result NaN. Rows without gaps are read by 16 bytes wherever they begin.
//!
//! A block takes a row, or 32 neighbouring columns: [`memory::sum`](crate::memory::sum) and its like take one long vector by all blocks.

use crate::kernels::reductions as kernels;
use crate::three::Three;
use crate::{Real, set};
use layout_cuda::{Element, Error, LaunchConfig, Stream, TensorArg, TensorArgMut};

/// What becomes of some elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reduction {
    /// The sum; 0 of nothing.
    Sum,
    /// The mean; NaN of nothing.
    Mean,
    /// The sum of squares around the mean, by the number of elements less this: 1 for a sample, 0 for all there is; NaN of no more elements than this.
    /// The mean is rounded to float32: where it is `k` times the deviation the relative error is up to `(k / 2²⁴)²`.
    Variance(f32),
    /// The largest; minus infinity of nothing.
    Max,
    /// The smallest; infinity of nothing.
    Min,
    /// `log(sum of eˣ)`; minus infinity of nothing.
    LogSumExp,
    /// The product; 1 of nothing.
    Product,
}

/// What is the index of some elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    /// Of the first of the largest, or of the first NaN; `u32::MAX` of nothing.
    Max,
    /// Of the first of the smallest, or of the first NaN; `u32::MAX` of nothing.
    Min,
}

/// What is tested of some elements; a NaN is not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// Whether one is not 0; false of nothing.
    Any,
    /// Whether none is 0; true of nothing.
    All,
}

/// `out`: mode `axis` of `x` reduced. `out` has the extents of `x`, but 1 in that mode. Asynchronous.
///
/// # Errors
/// No such mode, extents that disagree, modes before or behind `axis` that are not one without gaps, and those of a launch.
///
/// ```
/// use layout_kernels::reductions::{Reduction, reduce};
///
/// let device = layout_cuda::Device::simulator();
/// let x = device.upload(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3])?;
/// let (mut of_rows, mut of_columns) = (device.zeros::<f32, 2>([2, 1])?, device.zeros::<f32, 2>([1, 3])?);
/// reduce(&device.stream(), Reduction::Mean, 1, &x, &mut of_rows)?;
/// reduce(&device.stream(), Reduction::Max, 0, &x, &mut of_columns)?;
/// assert_eq!((of_rows.download()?, of_columns.download()?), (vec![2.0, 5.0], vec![4.0, 5.0, 6.0]));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn reduce<T: Real, U: Real, const R: usize>(
    stream: &Stream,
    reduction: Reduction,
    axis: usize,
    x: &impl TensorArg<T, R>,
    out: &mut impl TensorArgMut<U, R>,
) -> Result<(), Error> {
    let (op, correction) = match reduction {
        Reduction::Sum => (kernels::SUM, 0.0),
        Reduction::Mean => (kernels::MEAN, 0.0),
        Reduction::Variance(correction) => (kernels::VARIANCE, correction),
        Reduction::Max => (kernels::MAX, 0.0),
        Reduction::Min => (kernels::MIN, 0.0),
        Reduction::LogSumExp => (kernels::LOGSUMEXP, 0.0),
        Reduction::Product => (kernels::PRODUCT, 0.0),
    };
    launch(stream, op, correction, axis, x, out)
}

/// `out`: the index in mode `axis` of an extreme element of `x`, as [`reduce`]. Asynchronous.
///
/// # Errors
/// As [`reduce`].
///
/// ```
/// use layout_kernels::reductions::{Extreme, index_of};
///
/// let device = layout_cuda::Device::simulator();
/// let (x, mut out) = (device.upload(&[1.0f32, 7.0, 7.0], [1, 3])?, device.zeros([1, 1])?);
/// index_of(&device.stream(), Extreme::Max, 1, &x, &mut out)?;
/// assert_eq!(out.download()?, [1]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn index_of<T: Real, const R: usize>(
    stream: &Stream,
    extreme: Extreme,
    axis: usize,
    x: &impl TensorArg<T, R>,
    out: &mut impl TensorArgMut<u32, R>,
) -> Result<(), Error> {
    let op = if extreme == Extreme::Max { kernels::ARGMAX } else { kernels::ARGMIN };
    launch(stream, op, 0.0, axis, x, out)
}

/// `out`: 1 where the test holds of mode `axis` of `x`, else 0, as [`reduce`]. Asynchronous.
///
/// # Errors
/// As [`reduce`].
///
/// ```
/// use layout_kernels::reductions::{Test, test};
///
/// let device = layout_cuda::Device::simulator();
/// let (x, mut out) = (device.upload(&[0.0f32, 7.0, 1.0, 7.0], [2, 2])?, device.zeros([2, 1])?);
/// test(&device.stream(), Test::All, 1, &x, &mut out)?;
/// assert_eq!(out.download()?, [0, 1]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn test<T: Real, const R: usize>(
    stream: &Stream,
    test: Test,
    axis: usize,
    x: &impl TensorArg<T, R>,
    out: &mut impl TensorArgMut<u8, R>,
) -> Result<(), Error> {
    launch(stream, if test == Test::Any { kernels::ANY } else { kernels::ALL }, 0.0, axis, x, out)
}

fn launch<T: Real, U: Element, const R: usize>(
    stream: &Stream,
    op: usize,
    correction: f32,
    axis: usize,
    x: &impl TensorArg<T, R>,
    out: &mut impl TensorArgMut<U, R>,
) -> Result<(), Error> {
    let (x, mut out) = (x.view(), out.view_mut());
    let mut reduced = x.shape();
    reduced.get_mut(axis).into_iter().for_each(|extent| *extent = 1);
    let from = Three::new("reduce", "x", axis, x.shape(), x.strides(), x.shape())?;
    let to = Three::new("reduce", "out", axis, out.shape(), out.strides(), reduced)?;
    let [m, n, k] = from.shape;
    if k == 1 && from.strides[1] == 1 && (from.strides[0] == n || m == 1) && (to.strides[0] == 1 || m == 1) {
        let group = if n > 4096 { 256 } else { n.div_ceil(8).next_power_of_two().clamp(1, 32) };
        let set = set(&[("OP", op), ("GROUP", group)]);
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        let (x, mut out) = (x.part(0, [m, n], [n, 1])?, out.part_mut(0, [m], [1])?);
        return kernels::reduce_rows::launch_with(config, stream, &x, &mut out, correction);
    }
    let set = set(&[("OP", op), ("COLS", k.next_power_of_two().clamp(1, 32))]);
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    let x = x.part(0, from.shape, from.strides)?;
    let mut out = out.part_mut(0, [m, k], [to.strides[0], to.strides[2]])?;
    kernels::reduce_axis::launch_with(config, stream, &x, &mut out, correction)
}
