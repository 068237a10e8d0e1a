//! Transforms along one mode whose extent is a power of two: Fourier's, of complex numbers and of real rows, and Hadamard's.
//!
//! Law: tensors have no gaps; sums are float32. A complex number is two elements, its real and its imaginary part, in the last mode. Nothing
//! has run where the arguments do not fit.
//!
//! Fourier transforms of up to 4096 elements read and write each element once, longer ones twice, by way of a workspace.

use crate::compact::{compact, compact_mut};
use crate::kernels::transforms as kernels;
use crate::{Real, kept, same, set};
use layout_cuda::{
    Definition, Error, LaunchConfig, ParamSet, ParamValue, Stream, Tensor, TensorArg, TensorArgMut,
    TensorView, TensorViewMut,
};

/// The most elements of a transform by one block.
const SHORT: usize = 4096;
/// Elements of a block that has several columns.
const OF_BLOCK: usize = 8192;
/// The longest transform of rows.
const LONG: usize = 1 << 24;

/// The numbers between the two passes of long transforms; kept from call to call.
#[derive(Debug, Default)]
pub struct Workspace(Option<Tensor<f32, 1>>);

/// A Fourier transform but for its tensors: element k is the sum over j of `scale x[j] e^(-2πi j k / N)`.
#[derive(Clone, Copy, Debug)]
pub struct Fft {
    /// The mode of the transform; the last one before that of real and imaginary parts where it is `None`.
    pub axis: Option<usize>,
    /// Whether the angles are positive.
    pub inverse: bool,
    /// What each result is times.
    pub scale: f32,
}

impl Default for Fft {
    fn default() -> Fft {
        Fft { axis: None, inverse: false, scale: 1.0 }
    }
}

impl Fft {
    /// `out`, of the shape of `x`: the transforms of `x`. Asynchronous.
    ///
    /// The error is about 1e-7 log N of the root of the mean square of the results.
    ///
    /// # Errors
    /// No such mode, a last mode that is not of two, an extent that is no power of two, or above 2²⁴, or above 4096 where the mode is
    /// not the last but one, extents that disagree, gaps, 2³⁰ complex numbers or more, a device without memory for the workspace, and those
    /// of a launch.
    ///
    /// ```
    /// use layout_kernels::transforms::{Fft, Workspace};
    ///
    /// let device = layout_cuda::Device::simulator();
    /// // The columns of 1, 2 and 3, 4.
    /// let x = device.upload(&[1.0f32, 0.0, 2.0, 0.0, 3.0, 0.0, 4.0, 0.0], [2, 2, 2])?;
    /// let mut out = device.zeros([2, 2, 2])?;
    /// let of_columns = Fft { axis: Some(0), ..Fft::default() };
    /// of_columns.run(&device.stream(), &x, &mut out, &mut Workspace::default())?;
    /// assert_eq!(out.download()?, [4.0, 0.0, 6.0, 0.0, -2.0, 0.0, -2.0, 0.0]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn run<const R: usize>(
        &self,
        stream: &Stream,
        x: &impl TensorArg<f32, R>,
        out: &mut impl TensorArgMut<f32, R>,
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        let (x, mut out, pair) = (x.view(), out.view_mut(), R.wrapping_sub(1));
        let axis = self.axis.unwrap_or(pair.wrapping_sub(1));
        if axis >= pair || R == 0 {
            let values = format!("`x` has {R} modes, axis {axis}");
            return crate::refused("fft", "x has the axis, and a last mode of 2, real and imaginary", values);
        }
        let shape = x.shape();
        same("fft", "x", pair, shape[pair], ("a complex number", "x"), 2)?;
        let (a, n, b) = around(shape, axis);
        let longest = if b == 1 { LONG } else { SHORT };
        power("fft", axis, n, [1, longest])?;
        let (x, mut out) = (compact("fft", "x", &x, shape)?, compact_mut("fft", "out", &mut out, shape)?);
        if a * b == 0 {
            return Ok(());
        }
        let pass = |of: Pass, x: &TensorView<'_, f32, 1>, out: &mut TensorViewMut<'_, f32, 1>| {
            of.launch(self.inverse, stream, x, out)
        };
        if n <= SHORT {
            // Rows of one matrix; of columns a matrix for each `a`.
            let [a, s] = if b == 1 { [1, a * n] } else { [a, n * b] };
            return pass(
                Pass { n, of_rows: b == 1, to_rows: b == 1, roots: false, scale: self.scale, shape: [a, s] },
                &x,
                &mut out,
            );
        }
        let columns = 1 << n.ilog2().div_ceil(2);
        let mut between = kept(stream, 2 * a * n, &mut workspace.0)?;
        let mut between = between.part_mut(0, [2 * a * n], [1])?;
        let first =
            Pass { n: columns, of_rows: false, to_rows: false, roots: true, scale: 1.0, shape: [a, n] };
        pass(first, &x, &mut between)?;
        let second = Pass {
            n: n / columns,
            of_rows: true,
            to_rows: false,
            roots: false,
            scale: self.scale,
            shape: [a, n],
        };
        pass(second, &between.view(), &mut out)
    }
}

/// What [`rfft`] and [`irfft`] have between their launches; kept from call to call.
#[derive(Debug, Default)]
pub struct RealWorkspace {
    halves: Option<Tensor<f32, 1>>,
    of_halves: Workspace,
}

/// `out[i, k]`: `scale` times the sum over j of `x[i, j] e^(-2πi j k / N)`, for k up to N / 2; the others are their conjugates. A transform of
/// N / 2 complex numbers and a pass. The error is that of [`Fft::run`]. Asynchronous.
///
/// # Errors
/// Rows whose length is no power of two from 2 to 2²⁵, extents that disagree, gaps, 2³⁰ complex numbers or more, a device without memory for
/// the workspace, and those of a launch.
///
/// ```
/// use layout_kernels::transforms::{RealWorkspace, rfft};
///
/// let device = layout_cuda::Device::simulator();
/// let (x, mut out) = (device.upload(&[1.0f32, 2.0, 3.0, 5.0], [1, 4])?, device.zeros([1, 3, 2])?);
/// rfft(&device.stream(), 1.0, &x, &mut out, &mut RealWorkspace::default())?;
/// assert_eq!(out.download()?, [11.0, 0.0, -2.0, 3.0, -3.0, 0.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn rfft(
    stream: &Stream,
    scale: f32,
    x: &impl TensorArg<f32, 2>,
    out: &mut impl TensorArgMut<f32, 3>,
    workspace: &mut RealWorkspace,
) -> Result<(), Error> {
    let (x, mut out) = (x.view(), out.view_mut());
    let [m, n] = x.shape();
    power("rfft", 1, n, [2, 2 * LONG])?;
    let (h, x) = (n / 2, compact("rfft", "x", &x, [m, n])?);
    let mut out = compact_mut("rfft", "out", &mut out, [m, h + 1, 2])?;
    let mut halves = kept(stream, m * n, &mut workspace.halves)?;
    let mut halves = halves.part_mut(0, [m, h, 2], [n, 2, 1])?;
    let fft = Fft { scale: 0.5 * scale, ..Fft::default() };
    fft.run(stream, &x.part(0, [m, h, 2], [n, 2, 1])?, &mut halves, &mut workspace.of_halves)?;
    let mut out = out.part_mut(0, [m, h + 1, 2], [n + 2, 2, 1])?;
    kernels::real_halves::launch(stream, &halves.view(), &mut out)
}

/// `out[i, j]`: `scale` times the sum over all k of `x[i, k] e^(2πi j k / N)`, where `x` has those up to N / 2 and the others are their
/// conjugates; the imaginary parts of the first and the last number do not count. A `scale` of 1 / N makes it the inverse of [`rfft`].
/// Asynchronous.
///
/// # Errors
/// As [`rfft`], of rows of `out`.
///
/// ```
/// use layout_kernels::transforms::{RealWorkspace, irfft};
///
/// let device = layout_cuda::Device::simulator();
/// let x = device.upload(&[11.0f32, 0.0, -2.0, 3.0, -3.0, 0.0], [1, 3, 2])?;
/// let mut out = device.zeros([1, 4])?;
/// irfft(&device.stream(), 0.25, &x, &mut out, &mut RealWorkspace::default())?;
/// assert_eq!(out.download()?, [1.0, 2.0, 3.0, 5.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn irfft(
    stream: &Stream,
    scale: f32,
    x: &impl TensorArg<f32, 3>,
    out: &mut impl TensorArgMut<f32, 2>,
    workspace: &mut RealWorkspace,
) -> Result<(), Error> {
    let (x, mut out) = (x.view(), out.view_mut());
    let [m, n] = out.shape();
    let nearest = n.clamp(2, 2 * LONG).next_power_of_two();
    same("irfft", "out", 1, n, ("the nearest length of a transform", "out"), nearest)?;
    let (h, x) = (n / 2, compact("irfft", "x", &x, [m, n / 2 + 1, 2])?);
    let mut out = compact_mut("irfft", "out", &mut out, [m, n])?;
    let mut halves = kept(stream, m * n, &mut workspace.halves)?;
    let mut halves = halves.part_mut(0, [m, h, 2], [n, 2, 1])?;
    let set = ParamSet::default().with("INVERSE", ParamValue::Bool(true));
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    kernels::real_halves::launch_with(
        config,
        stream,
        &x.part(0, [m, h + 1, 2], [n + 2, 2, 1])?,
        &mut halves,
    )?;
    let fft = Fft { inverse: true, scale, ..Fft::default() };
    fft.run(stream, &halves.view(), &mut out.part_mut(0, [m, h, 2], [n, 2, 1])?, &mut workspace.of_halves)
}

/// The sets of the longest transforms.
#[doc(hidden)]
pub fn picked() -> Vec<(&'static Definition, ParamSet)> {
    let of = |n, [of_rows, to_rows, roots]: [bool; 3]| {
        let pass = Pass { n, of_rows, to_rows, roots, scale: 1.0, shape: [1, 1 << 24] };
        (&kernels::fft::DEFINITION, pass.set(false))
    };
    let hadamard = (&kernels::hadamard::DEFINITION, set(&[("N", OF_BLOCK)]));
    let columns = [512, 1024, SHORT].map(|n| of(n, [false, false, true]));
    let rows = [512, 1024, SHORT].map(|n| of(n, [true, false, false]));
    let short = [64, 1024, SHORT].map(|n| of(n, [true, true, false]));
    [columns, rows, short].concat().into_iter().chain([hadamard]).collect()
}

/// A launch over `A` matrices of `S` complex numbers.
struct Pass {
    n: usize,
    of_rows: bool,
    to_rows: bool,
    roots: bool,
    scale: f32,
    shape: [usize; 2],
}

impl Pass {
    fn set(&self, inverse: bool) -> ParamSet {
        let ([_, s], most) = (self.shape, if self.of_rows && self.to_rows { 1024 } else { OF_BLOCK });
        let together = (most / self.n).clamp(1, 128).min((s / self.n).next_power_of_two());
        let set = set(&[("N", self.n), ("C", together)]);
        let flags = [
            ("OF_ROWS", self.of_rows),
            ("TO_ROWS", self.to_rows),
            ("ROOTS", self.roots),
            ("INVERSE", inverse),
        ];
        flags.into_iter().fold(set, |set, (name, is)| set.with(name, ParamValue::Bool(is)))
    }

    fn launch(
        &self,
        inverse: bool,
        stream: &Stream,
        x: &TensorView<'_, f32, 1>,
        out: &mut TensorViewMut<'_, f32, 1>,
    ) -> Result<(), Error> {
        let ([a, s], set) = (self.shape, self.set(inverse));
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        let (shape, strides) = ([a, s, 2], [2 * s, 2, 1]);
        let mut out = out.part_mut(0, shape, strides)?;
        kernels::fft::launch_with(config, stream, &x.part(0, shape, strides)?, &mut out, self.scale)
    }
}

/// `out[.., j]`: `scale` times the sum over k of `x[.., k]`, negative where `j & k` has an odd number of bits: Hadamard's matrix in
/// Sylvester's order. A `scale` of one over the root of the extent makes it its own inverse. Each result is rounded once. Asynchronous.
///
/// # Errors
/// A last extent that is no power of two from 8 to 8192, extents that disagree, gaps, and those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let x = device.upload(&[1.0f32, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [1, 8])?;
/// let mut out = device.zeros([1, 8])?;
/// layout_kernels::transforms::hadamard(&device.stream(), 0.5, &x, &mut out)?;
/// assert_eq!(out.download()?, [1.5, -0.5, 1.5, -0.5, 1.5, -0.5, 1.5, -0.5]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn hadamard<T: Real, const R: usize>(
    stream: &Stream,
    scale: f32,
    x: &impl TensorArg<T, R>,
    out: &mut impl TensorArgMut<T, R>,
) -> Result<(), Error> {
    const { assert!(R > 0, "there are rows where there is a mode") };
    let (x, mut out) = (x.view(), out.view_mut());
    let shape = x.shape();
    let (m, n, _) = around(shape, R - 1);
    // What is longer does not fit in the registers of a block.
    power("hadamard", R - 1, n, [8, OF_BLOCK])?;
    let (x, mut out) =
        (compact("hadamard", "x", &x, shape)?, compact_mut("hadamard", "out", &mut out, shape)?);
    let set = set(&[("N", n)]);
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    let mut out = out.part_mut(0, [m, n], [n, 1])?;
    kernels::hadamard::launch_with(config, stream, &x.part(0, [m, n], [n, 1])?, &mut out, scale)
}

/// Elements before a mode, in it, and behind it; of complex numbers, one that the last mode has is one.
fn around<const R: usize>(shape: [usize; R], axis: usize) -> (usize, usize, usize) {
    let behind = shape.get(axis + 1..R.saturating_sub(1)).unwrap_or(&[]);
    (shape[..axis].iter().product(), shape[axis], behind.iter().product())
}

/// An extent that is a power of two in a range.
fn power(of: &str, mode: usize, n: usize, [least, most]: [usize; 2]) -> Result<(), Error> {
    let nearest = n.clamp(least, most).next_power_of_two();
    same(of, "x", mode, n, ("the nearest length of a transform", "x"), nearest)
}
