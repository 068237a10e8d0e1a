//! Functions on the host over the kernels at the speed of memory: they check shapes by launching, and allocate nothing.
//!
//! ```
//! use layout_cuda::Device;
//! use layout_kernels::memory::{PARTS, sum};
//!
//! let device = Device::best();
//! let x = device.upload(&[1.0f32, 2.0, 3.0], [3])?;
//! let (mut parts, mut out) = (device.zeros([PARTS])?, device.zeros([1])?);
//! sum(&device.stream(), &x, &mut parts, &mut out)?;
//! assert_eq!(out.download()?, [6.0]);
//! # Ok::<(), layout_cuda::Error>(())
//! ```

use crate::kernels::memory as kernels;
use crate::{operation, set};
use layout_cuda::{
    Element, Error, LaunchConfig, ParamSet, ParamValue, Stream, Tensor, TensorArg, TensorArgMut, bf16,
};

mod rows;

pub use rows::{group, layer_norm, picked, softmax};

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
    x: &impl TensorArg<f32, 1>,
    parts: &mut impl TensorArgMut<f32, 1>,
    out: &mut impl TensorArgMut<f32, 1>,
) -> Result<(), Error> {
    operation("sum", || {
        let mut parts = parts.view_mut();
        kernels::sum_of_parts::launch(stream, x, &mut parts)?;
        kernels::total_sum::launch(stream, &parts, out)
    })
}

/// `out[0] = sum of x[i] y[i]`. `parts` has [`PARTS`] elements.
///
/// # Errors
/// Those of a launch.
pub fn dot(
    stream: &Stream,
    x: &impl TensorArg<f32, 1>,
    y: &impl TensorArg<f32, 1>,
    parts: &mut impl TensorArgMut<f32, 1>,
    out: &mut impl TensorArgMut<f32, 1>,
) -> Result<(), Error> {
    operation("dot", || {
        let mut parts = parts.view_mut();
        kernels::dot_of_parts::launch(stream, x, y, &mut parts)?;
        kernels::total_sum::launch(stream, &parts, out)
    })
}

/// `out[0] = max of x`; minus infinity of nothing. `parts` has [`PARTS`] elements.
///
/// # Errors
/// Those of a launch.
pub fn max(
    stream: &Stream,
    x: &impl TensorArg<f32, 1>,
    parts: &mut impl TensorArgMut<f32, 1>,
    out: &mut impl TensorArgMut<f32, 1>,
) -> Result<(), Error> {
    operation("max", || {
        let mut parts = parts.view_mut();
        kernels::max_of_parts::launch(stream, x, &mut parts)?;
        kernels::total_max::launch(stream, &parts, out)
    })
}

/// `out[j] = sum of column j of x`. `parts` is [`SPLITS`] rows of as many columns as `x` has.
///
/// # Errors
/// Those of a launch.
pub fn column_sums(
    stream: &Stream,
    x: &impl TensorArg<f32, 2>,
    parts: &mut impl TensorArgMut<f32, 2>,
    out: &mut impl TensorArgMut<f32, 1>,
) -> Result<(), Error> {
    operation("column_sums", || {
        let mut parts = parts.view_mut();
        kernels::column_sums_of_parts::launch(stream, x, &mut parts)?;
        kernels::column_sums::launch(stream, &parts, out)
    })
}

/// The workspace of [`inclusive_scan`] and [`exclusive_scan`] of up to so many elements.
pub struct ScanState {
    sums: Tensor<f64, 1>,
    ticket: Tensor<u32, 1>,
}

/// How far an element of a scan may be from the exact one: units in the last place of the sum of absolute values up to it.
pub const SCAN_UNITS: f64 = 30.0;

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
        let sums = tiles.saturating_add(tiles.div_ceil(128));
        Ok(ScanState { sums: stream.zeros([sums.max(1)])?, ticket: stream.zeros([1])? })
    }
}

/// `out[i] = x[0] + .. + x[i]`
///
/// # Errors
/// Those of a launch.
pub fn inclusive_scan(
    stream: &Stream,
    x: &impl TensorArg<f32, 1>,
    out: &mut impl TensorArgMut<f32, 1>,
    state: &mut ScanState,
) -> Result<(), Error> {
    operation("inclusive_scan", || scan(stream, false, SCAN, false, x, out, state))
}

/// `out[i] = x[0] + .. + x[i - 1]`
///
/// # Errors
/// Those of a launch.
pub fn exclusive_scan(
    stream: &Stream,
    x: &impl TensorArg<f32, 1>,
    out: &mut impl TensorArgMut<f32, 1>,
    state: &mut ScanState,
) -> Result<(), Error> {
    operation("exclusive_scan", || scan(stream, true, SCAN, false, x, out, state))
}

/// Either, as laid out.
pub fn scan(
    stream: &Stream,
    exclusive: bool,
    [threads, rows]: [usize; 2],
    ticket: bool,
    x: &impl TensorArg<f32, 1>,
    out: &mut impl TensorArgMut<f32, 1>,
    state: &mut ScanState,
) -> Result<(), Error> {
    let set = set(&[("THREADS", threads), ("ROWS", rows)])
        .with("EXCLUSIVE", ParamValue::Bool(exclusive))
        .with("TICKET", ParamValue::Bool(ticket));
    let n = x.view().shape()[0];
    let tile = threads.saturating_mul(rows).saturating_mul(4);
    if tile == 0 {
        let values = format!("{threads} threads, {rows} rows");
        return crate::refused("scan", "a tile has threads and rows", values);
    }
    let tiles = n.div_ceil(tile);
    if state.sums.shape()[0] < tiles + tiles.div_ceil(128) {
        let values = format!("x of {n} elements, {} sums", state.sums.shape()[0]);
        return crate::refused(
            "scan",
            &format!("the state is one of `ScanState::new(stream, {n})` or more"),
            values,
        );
    }
    kernels::scan_start::launch(stream, &mut state.sums, &mut state.ticket)?;
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    kernels::scan::launch_with(config, stream, x, out, &mut state.sums, &mut state.ticket)
}

/// `sums[i, j] = x[i, j] + residual[i, j]`, rounded, and `out[i, j] = sums[i, j] * scale[j] / sqrt(mean of sums[i]² + epsilon)`; rows of at
/// most 32761 elements.
///
/// # Errors
/// Those of a launch.
///
/// ```
/// use layout_cuda::bf16;
///
/// let device = layout_cuda::Device::simulator();
/// let of = |value: f32| device.upload(&[bf16::from_f32(value); 8], [1, 8]);
/// let (x, residual, mut sums, mut out) = (of(3.0)?, of(1.0)?, of(0.0)?, of(0.0)?);
/// let scale = device.upload(&[bf16::from_f32(2.0); 8], [8])?;
/// layout_kernels::add_rms_norm(&device.stream(), &x, &residual, &scale, &mut sums, &mut out, 0.0)?;
/// assert_eq!((sums.download()?[0].to_f32(), out.download()?[0].to_f32()), (4.0, 2.0));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn add_rms_norm(
    stream: &Stream,
    x: &impl TensorArg<bf16, 2>,
    residual: &impl TensorArg<bf16, 2>,
    scale: &impl TensorArg<bf16, 1>,
    sums: &mut impl TensorArgMut<bf16, 2>,
    out: &mut impl TensorArgMut<bf16, 2>,
    epsilon: f32,
) -> Result<(), Error> {
    operation("add_rms_norm", || {
        // The vectors of a row begin up to seven elements before it.
        let vectors = (x.view().shape()[1] + 7).div_ceil(8);
        let rounds = vectors.div_ceil(1024).max(1);
        let threads = vectors.div_ceil(rounds).next_multiple_of(32).max(32);
        let set = set(&[("THREADS", threads), ("ROUNDS", rounds), ("ROWS", 16)]);
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        kernels::rms_norm::launch_with(config, stream, x, residual, scale, sums, out, epsilon)
    })
}

/// `y[i] = sum over j of a[i, j] x[j]`.
///
/// # Errors
/// Those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let (a, x) = (device.upload(&[1.0f32, 2.0, 3.0, 4.0], [2, 2])?, device.upload(&[1.0f32, 10.0], [2])?);
/// let mut y = device.zeros([2])?;
/// layout_kernels::gemv(&device.stream(), &a, &x, &mut y)?;
/// assert_eq!(y.download()?, [21.0, 43.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn gemv(
    stream: &Stream,
    a: &impl TensorArg<f32, 2>,
    x: &impl TensorArg<f32, 1>,
    y: &mut impl TensorArgMut<f32, 1>,
) -> Result<(), Error> {
    operation("gemv", || {
        // Of odd rows four at once were 0.98 of a copy on an H200, eight 0.87, sixteen 0.76.
        let set = set(&[("THREADS", 256), ("ROWS", 4)]);
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        kernels::gemv::launch_with(config, stream, a, x, y)
    })
}

/// `loss[i] = log(sum over j of exp(logits[i, j])) - logits[i, targets[i]]`.
///
/// # Errors
/// Those of a launch.
///
/// ```
/// use layout_cuda::bf16;
///
/// let device = layout_cuda::Device::simulator();
/// let logits = device.upload(&[bf16::from_f32(1.0); 4], [1, 4])?;
/// let (targets, mut loss) = (device.upload(&[2u32], [1])?, device.zeros::<f32, 1>([1])?);
/// layout_kernels::cross_entropy(&device.stream(), &logits, &targets, &mut loss)?;
/// assert!((loss.download()?[0] - 4f32.ln()).abs() < 1e-6);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn cross_entropy(
    stream: &Stream,
    logits: &impl TensorArg<bf16, 2>,
    targets: &impl TensorArg<u32, 1>,
    loss: &mut impl TensorArgMut<f32, 1>,
) -> Result<(), Error> {
    operation("cross_entropy", || {
        let set = set(&[("THREADS", 512), ("ROUNDS", 2)]);
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        kernels::cross_entropy::launch_with(config, stream, logits, targets, loss)
    })
}

/// `out[i, j] = min(255, (x[i, j] * gain + 128) / 256)`.
///
/// # Errors
/// Those of a launch.
pub fn scale_bytes(
    stream: &Stream,
    x: &impl TensorArg<u8, 2>,
    out: &mut impl TensorArgMut<u8, 2>,
    gain: u32,
) -> Result<(), Error> {
    operation("scale_bytes", || {
        // One vector of a thread was 0.91 of a copy on an H200, three 0.83.
        let set = set(&[("THREADS", 256), ("ROUNDS", 1)]);
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        kernels::scale_bytes::launch_with(config, stream, x, out, gain)
    })
}

/// `out[0]`: where the first of the largest elements of `x` is; `u32::MAX` where none is above minus infinity. A NaN is left out. `parts` and
/// `places` have [`PARTS`] elements.
///
/// # Errors
/// Those of a launch.
pub fn argmax(
    stream: &Stream,
    x: &impl TensorArg<f32, 1>,
    parts: &mut impl TensorArgMut<f32, 1>,
    places: &mut impl TensorArgMut<u32, 1>,
    out: &mut impl TensorArgMut<u32, 1>,
) -> Result<(), Error> {
    operation("argmax", || {
        let (mut parts, mut places) = (parts.view_mut(), places.view_mut());
        kernels::argmax_of_parts::launch(stream, x, &mut parts, &mut places)?;
        kernels::total_argmax::launch(stream, &parts, &places, out)
    })
}

/// `out[j, i] = x[i, j]`, of f32 or bf16: by 16 bytes where both extents are multiples of that, else by 4.
///
/// # Errors
/// Those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let (x, mut out) = (device.upload(&[1.0f32, 2.0, 3.0], [1, 3])?, device.zeros::<f32, 2>([3, 1])?);
/// layout_kernels::transpose(&device.stream(), &x, &mut out)?;
/// assert_eq!(out.download()?, [1.0, 2.0, 3.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn transpose<T: Element>(
    stream: &Stream,
    x: &impl TensorArg<T, 2>,
    out: &mut impl TensorArgMut<T, 2>,
) -> Result<(), Error> {
    operation("transpose", || {
        let of_vector = 16 / size_of::<T>();
        match (x.view().shape().iter().all(|extent| extent % of_vector == 0), size_of::<T>()) {
            (true, _) => kernels::transpose::launch(stream, x, out),
            (false, 2) => kernels::transpose_by_pairs::launch(stream, x, out),
            (false, _) => kernels::transpose_by_elements::launch(stream, x, out),
        }
    })
}

/// The types of the keys of [`bincount`]: `u32`, `i32`.
pub trait Key: Element {}
impl Key for u32 {}
impl Key for i32 {}

/// `out[k]`: the sum of the weights whose key is `k`. A key that is negative or beyond `out` is left out. Sums are float32 in an order that is
/// open, so that the last bits may differ from run to run, and subnormal numbers may be zeros; a NaN or an infinity is in the sum of its key
/// alone. Up to 8192 sums are made in shared memory first. Asynchronous.
///
/// # Errors
/// Other extents of weights than of keys, more than 2³¹ sums, gaps, and those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let keys = device.upload(&[2, 0, -1, 2], [4])?;
/// let (weights, mut out) = (device.upload(&[1.5f32, 4.0, 8.0, 0.5], [4])?, device.zeros([3])?);
/// layout_kernels::memory::bincount(&device.stream(), &keys, &weights, &mut out)?;
/// assert_eq!(out.download()?, [4.0, 0.0, 2.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn bincount<K: Key>(
    stream: &Stream,
    keys: &impl TensorArg<K, 1>,
    weights: &impl TensorArg<f32, 1>,
    out: &mut impl TensorArgMut<f32, 1>,
) -> Result<(), Error> {
    operation("bincount", || {
        let (keys, weights, mut out) = (keys.view(), weights.view(), out.view_mut());
        crate::same("bincount", "weights", 0, weights.shape()[0], ("the extent", "keys"), keys.shape()[0])?;
        let copies = (8192 / out.shape()[0].max(1)).min(32);
        let set = ParamSet::default().with("SHARED", ParamValue::Bool(copies > 0));
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        out.clear(stream)?;
        kernels::bincount::launch_with(config, stream, &keys, &weights, &mut out, copies)
    })
}
