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
use layout_cuda::{Error, LaunchConfig, ParamSet, ParamValue, Stream, Tensor};

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

/// A parameter set.
pub fn set(parameters: &[(&str, usize)]) -> ParamSet {
    ParamSet(
        parameters.iter().map(|(name, value)| ((*name).to_owned(), ParamValue::Int(*value as i64))).collect(),
    )
}

/// The workspace of [`inclusive_scan`] and [`exclusive_scan`] of up to so many elements.
pub struct ScanState {
    sums: Tensor<f64, 1>,
    ticket: Tensor<u32, 1>,
}

/// How the scans are laid out: threads of a block, and rows of four elements of a thread.
const SCAN: [usize; 2] = [512, 8];

impl ScanState {
    /// For vectors of up to `n` elements.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and the driver's.
    pub fn new(stream: &Stream, n: usize) -> Result<ScanState, Error> {
        let [threads, rows] = SCAN;
        ScanState::tiled(stream, n.div_ceil(threads * rows * 4))
    }

    /// For vectors of up to so many tiles.
    ///
    /// # Errors
    /// As [`ScanState::new`].
    pub fn tiled(stream: &Stream, tiles: usize) -> Result<ScanState, Error> {
        let sums = tiles + tiles.div_ceil(128);
        Ok(ScanState { sums: stream.zeros([sums.max(1)])?, ticket: stream.zeros([1])? })
    }
}

/// `out[i] = x[0] + .. + x[i]`
///
/// # Errors
/// Those of a launch.
pub fn inclusive_scan(
    stream: &Stream,
    x: &Tensor<f32, 1>,
    out: &mut Tensor<f32, 1>,
    state: &mut ScanState,
) -> Result<(), Error> {
    let [threads, rows] = SCAN;
    scan(stream, false, [threads, rows, 264], x, out, state)
}

/// `out[i] = x[0] + .. + x[i - 1]`
///
/// # Errors
/// Those of a launch.
pub fn exclusive_scan(
    stream: &Stream,
    x: &Tensor<f32, 1>,
    out: &mut Tensor<f32, 1>,
    state: &mut ScanState,
) -> Result<(), Error> {
    let [threads, rows] = SCAN;
    scan(stream, true, [threads, rows, 264], x, out, state)
}

/// Either, as laid out.
pub fn scan(
    stream: &Stream,
    exclusive: bool,
    [threads, rows, blocks]: [usize; 3],
    x: &Tensor<f32, 1>,
    out: &mut Tensor<f32, 1>,
    state: &mut ScanState,
) -> Result<(), Error> {
    let set = set(&[("THREADS", threads), ("ROWS", rows), ("P", blocks)])
        .with("EXCLUSIVE", ParamValue::Bool(exclusive));
    kernels::scan_start::launch(stream, &mut state.sums, &mut state.ticket)?;
    let config = LaunchConfig { set: Some(&set), grid: None };
    kernels::scan::launch_with(config, stream, x, out, &mut state.sums, &mut state.ticket)
}

/// The workspace of rows that several blocks share.
pub struct Meeting {
    parts: Tensor<f32, 2>,
    counter: Tensor<u32, 1>,
}

impl Meeting {
    /// For `rows` rows of `parts` parts each.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and the driver's.
    pub fn new(stream: &Stream, rows: usize, parts: usize) -> Result<Meeting, Error> {
        Ok(Meeting { parts: stream.zeros([2, (rows * parts).max(1)])?, counter: stream.zeros([1])? })
    }
}

/// Softmax in parts, as laid out.
pub fn softmax_in_parts(
    stream: &Stream,
    [parts, threads, rounds, at_once]: [usize; 4],
    x: &Tensor<f32, 2>,
    out: &mut Tensor<f32, 2>,
    meeting: &mut Meeting,
) -> Result<(), Error> {
    kernels::softmax_start::launch(stream, &mut meeting.parts, &mut meeting.counter)?;
    let set = set(&[("PARTS", parts), ("THREADS", threads), ("ROUNDS", rounds), ("ROWS", at_once)]);
    let config = LaunchConfig { set: Some(&set), grid: None };
    kernels::softmax_in_parts::launch_with(config, stream, x, out, &mut meeting.parts, &mut meeting.counter)
}

/// Softmax by groups of threads, as laid out.
pub fn softmax_by_groups(
    stream: &Stream,
    [group, rounds]: [usize; 2],
    x: &Tensor<f32, 2>,
    out: &mut Tensor<f32, 2>,
) -> Result<(), Error> {
    let set = set(&[("GROUP", group), ("ROUNDS", rounds)]);
    kernels::softmax::launch_with(LaunchConfig { set: Some(&set), grid: None }, stream, x, out)
}

/// Layer norm by groups of threads, as laid out.
pub fn layer_norm_by_groups(
    stream: &Stream,
    [group, rounds]: [usize; 2],
    x: &Tensor<f32, 2>,
    [scale, shift]: [&Tensor<f32, 1>; 2],
    out: &mut Tensor<f32, 2>,
    epsilon: f32,
) -> Result<(), Error> {
    let set = set(&[("GROUP", group), ("ROUNDS", rounds)]);
    let config = LaunchConfig { set: Some(&set), grid: None };
    kernels::layer_norm::launch_with(config, stream, x, scale, shift, out, epsilon)
}

/// Layer norm in parts, as laid out.
pub fn layer_norm_in_parts(
    stream: &Stream,
    [parts, threads, rounds, at_once]: [usize; 4],
    x: &Tensor<f32, 2>,
    [scale, shift]: [&Tensor<f32, 1>; 2],
    out: &mut Tensor<f32, 2>,
    (meeting, epsilon): (&mut Meeting, f32),
) -> Result<(), Error> {
    kernels::softmax_start::launch(stream, &mut meeting.parts, &mut meeting.counter)?;
    let set = set(&[("PARTS", parts), ("THREADS", threads), ("ROUNDS", rounds), ("ROWS", at_once)]);
    let config = LaunchConfig { set: Some(&set), grid: None };
    let (words, counter) = (&mut meeting.parts, &mut meeting.counter);
    kernels::layer_norm_in_parts::launch_with(config, stream, x, scale, shift, out, words, counter, epsilon)
}

/// `out[0]`: where the first of the largest elements of `x` is. `parts` and `places` have [`PARTS`] elements.
///
/// # Errors
/// Those of a launch.
pub fn argmax(
    stream: &Stream,
    x: &Tensor<f32, 1>,
    parts: &mut Tensor<f32, 1>,
    places: &mut Tensor<u32, 1>,
    out: &mut Tensor<u32, 1>,
) -> Result<(), Error> {
    kernels::argmax_of_parts::launch(stream, x, &mut *parts, &mut *places)?;
    kernels::total_argmax::launch(stream, &*parts, &*places, out)
}
