//! Functions on the host over the kernels at the speed of memory: they check shapes by launching, and allocate nothing.
//!
//! ```
//! use layout_cuda::Device;
//! use layout_examples::host::memory::{PARTS, sum};
//!
//! let device = Device::best();
//! let x = device.upload(&[1.0f32, 2.0, 3.0], [3])?;
//! let (mut parts, mut out) = (device.zeros([PARTS])?, device.zeros([1])?);
//! sum(&device.stream(), &x, &mut parts, &mut out)?;
//! assert_eq!(out.download()?, [6.0]);
//! # Ok::<(), layout_cuda::Error>(())
//! ```

use crate::kernels::memory as kernels;
use layout_cuda::{
    Definition, Device, Element, Error, LaunchConfig, ParamSet, ParamValue, Promises, Stream, Tensor, bf16,
};

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
    scan(stream, false, SCAN, false, x, out, state)
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
    scan(stream, true, SCAN, false, x, out, state)
}

/// Either, as laid out.
pub fn scan(
    stream: &Stream,
    exclusive: bool,
    [threads, rows]: [usize; 2],
    ticket: bool,
    x: &Tensor<f32, 1>,
    out: &mut Tensor<f32, 1>,
    state: &mut ScanState,
) -> Result<(), Error> {
    let set = set(&[("THREADS", threads), ("ROWS", rows)])
        .with("EXCLUSIVE", ParamValue::Bool(exclusive))
        .with("TICKET", ParamValue::Bool(ticket));
    kernels::scan_start::launch(stream, &mut state.sums, &mut state.ticket)?;
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    kernels::scan::launch_with(config, stream, x, out, &mut state.sums, &mut state.ticket)
}

/// Threads of a row, and vectors of four elements of a thread, for rows of `n` elements that registers hold; `None` of
/// longer ones.
pub fn group(n: usize) -> Option<[usize; 2]> {
    let groups = [(48, 4), (96, 8), (192, 16), (1024, 32), (8192, 256), (16_384, 512), (32_768, 1024)];
    let (_, threads) = groups.into_iter().find(|(most, _)| n <= *most)?;
    Some([threads, n.div_ceil(4 * threads).max(1)])
}

/// The same for layer norm, which keeps more than the row, and for rows that begin anywhere, whose ends need registers: of a block of 1024
/// threads they would not be enough.
fn norm_group(n: usize) -> Option<[usize; 2]> {
    group(n).filter(|[threads, _]| *threads <= 512)
}

/// That of softmax.
fn softmax_group(n: usize, is_odd: bool) -> Option<[usize; 2]> {
    if is_odd { norm_group(n) } else { group(n) }
}

/// Elements of a row at most that the registers of a cluster hold.
const LONGEST: usize = 524_288;

/// How clusters share `m` rows of `n` elements that the registers of one block do not hold: the blocks of a cluster, vectors
/// of four elements of a thread, rows of a cluster.
fn sharing(m: usize, n: usize) -> [usize; 3] {
    // Sixteen blocks are more than every device promises to run as a cluster: for rows that eight do not hold.
    let most = if n > 262_144 { 16 } else { 8 };
    let blocks = n.div_ceil(16_384).next_power_of_two().clamp(2, most);
    let rounds = n.div_ceil(blocks * 2048).max(1);
    // More rows make up for a cluster's beginning, more clusters for its end; the longest rows fill the registers.
    let rows = if rounds > 8 { 1 } else { (m * blocks / 2048).clamp(1, 16) };
    [blocks, rounds, rows]
}

/// The set, for rows that begin anywhere.
fn odd(set: ParamSet, is_odd: bool) -> ParamSet {
    set.with("ODD", ParamValue::Bool(is_odd))
}

/// The set for a group of threads.
fn in_group([threads, rounds]: [usize; 2]) -> ParamSet {
    set(&[("GROUP", threads), ("ROUNDS", rounds)])
}

/// The set of softmax for clusters.
fn in_parts([blocks, rounds, rows]: [usize; 3]) -> ParamSet {
    set(&[("PARTS", blocks), ("THREADS", 512), ("ROUNDS", rounds), ("ROWS", rows)])
}

/// That of layer norm, for `m` rows of `n` elements. In place of four blocks eight of half the threads, of which a multiprocessor has
/// three at once: 1.07 x as fast on an H200.
fn norm_in_parts(m: usize, n: usize) -> ParamSet {
    let [blocks, rounds, rows] = sharing(m, n);
    let set = match blocks {
        4 => set(&[
            ("PARTS", 2 * blocks),
            ("THREADS", 256),
            ("ROUNDS", rounds),
            ("ROWS", (m * blocks / 1024).clamp(1, 16)),
        ]),
        _ => in_parts([blocks, rounds, rows]),
    };
    set.with("KEPT", ParamValue::Bool(rounds <= 8))
}

/// Whether a row of `n` elements is more than half of what clusters of sixteen blocks hold, and begins at 16 bytes: then the next one is
/// loaded into their shared memory.
fn is_staged(n: usize) -> bool {
    n > LONGEST / 2 && n <= LONGEST && n.is_multiple_of(4)
}

/// As many blocks of a cluster as such a row needs.
fn parts_of(n: usize) -> (&'static str, usize) {
    ("PARTS", n.div_ceil(32_768))
}

/// The set for such rows, with as many clusters as the device holds at once.
fn staged(n: usize, kernel: &'static Definition, device: &Device) -> Result<ParamSet, Error> {
    let own = set(&[parts_of(n)]);
    let usage = layout_cuda::prepare(kernel, device, Some(&own), Promises::USUAL)?.usage()?;
    let clusters = usage.map_or(1, |usage| i64::from(usage.clusters_at_once.max(1)));
    Ok(own.with("CLUSTERS", ParamValue::Int(clusters)))
}

/// Softmax of such rows, so many in a launch.
fn softmax_staged(
    stream: &Stream,
    x: &Tensor<f32, 2>,
    out: &mut Tensor<f32, 2>,
    step: usize,
) -> Result<(), Error> {
    let [m, n] = x.shape();
    let set = staged(n, &kernels::softmax_staged::DEFINITION, stream.device())?;
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    for first in (0..m).step_by(step) {
        let shape = [step.min(m - first), n];
        let (from, mut to) = (x.part(first * n, shape, [n, 1])?, out.part_mut(first * n, shape, [n, 1])?);
        kernels::softmax_staged::launch_with(config, stream, &from, &mut to)?;
    }
    Ok(())
}

/// Layer norm of such rows.
fn layer_norm_staged(
    stream: &Stream,
    x: &Tensor<f32, 2>,
    [scale, shift]: [&Tensor<f32, 1>; 2],
    out: &mut Tensor<f32, 2>,
    epsilon: f32,
    step: usize,
) -> Result<(), Error> {
    let [m, n] = x.shape();
    let set = staged(n, &kernels::layer_norm_staged::DEFINITION, stream.device())?;
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    for first in (0..m).step_by(step) {
        let shape = [step.min(m - first), n];
        let (from, mut to) = (x.part(first * n, shape, [n, 1])?, out.part_mut(first * n, shape, [n, 1])?);
        kernels::layer_norm_staged::launch_with(config, stream, &from, scale, shift, &mut to, epsilon)?;
    }
    Ok(())
}

/// The kernels that [`softmax`] and [`layer_norm`] pick for `m` rows of `n` elements, and their sets.
pub fn picked(m: usize, n: usize) -> Vec<(&'static Definition, ParamSet)> {
    let mut list = Vec::new();
    let parts = (n <= LONGEST).then(|| sharing(m, n));
    for is_odd in [false, true] {
        match (softmax_group(n, is_odd), parts) {
            (Some(threads), _) => list.push((&kernels::softmax::DEFINITION, odd(in_group(threads), is_odd))),
            (None, Some(_)) if !is_odd && is_staged(n) => {
                list.push((&kernels::softmax_staged::DEFINITION, set(&[parts_of(n)])));
            }
            (None, Some(parts)) => {
                list.push((&kernels::softmax_in_parts::DEFINITION, odd(in_parts(parts), is_odd)));
            }
            (None, None) => {}
        }
    }
    for is_odd in [false, true] {
        match (norm_group(n), parts) {
            (Some(threads), _) => {
                list.push((&kernels::layer_norm::DEFINITION, odd(in_group(threads), is_odd)));
            }
            (None, Some(_)) if !is_odd && is_staged(n) => {
                list.push((&kernels::layer_norm_staged::DEFINITION, set(&[parts_of(n)])));
            }
            (None, Some(_)) => {
                list.push((&kernels::layer_norm_in_parts::DEFINITION, odd(norm_in_parts(m, n), is_odd)));
            }
            (None, None) => {}
        }
    }
    list
}

/// The rows of `m` rows of `n` elements that one launch takes: offsets in them have 32 bits.
fn at_once(m: usize, n: usize) -> usize {
    let most = (i32::MAX as usize / n.max(1)).max(1);
    m.div_ceil(m.div_ceil(most).max(1)).max(1)
}

/// `out[i, j] = exp(x[i, j] - m) / sum over k of exp(x[i, k] - m)`, `m` the largest of row `i`; rows of more than 524288 elements are read
/// twice.
///
/// # Errors
/// Those of a launch.
pub fn softmax(stream: &Stream, x: &Tensor<f32, 2>, out: &mut Tensor<f32, 2>) -> Result<(), Error> {
    let [m, n] = x.shape();
    // The vectors of a row begin up to three elements before it.
    let is_odd = !n.is_multiple_of(4);
    let reach = if is_odd { n + 3 } else { n };
    if let Some(set) = softmax_group(reach, is_odd).map(in_group) {
        let set = odd(set, is_odd);
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        return kernels::softmax::launch_with(config, stream, x, out);
    }
    if reach > LONGEST {
        let set = odd(ParamSet::default(), is_odd);
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        return kernels::softmax_in_passes::launch_with(config, stream, x, out);
    }
    let step = at_once(m, n);
    if is_staged(n) {
        match softmax_staged(stream, x, out, step) {
            // What TMA cannot address, and a device without clusters of so many blocks.
            Err(Error::Launch(_)) => {}
            done => return done,
        }
    }
    let set = odd(in_parts(sharing(m, reach)), is_odd);
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    for first in (0..m).step_by(step) {
        let shape = [step.min(m - first), n];
        let (from, mut to) = (x.part(first * n, shape, [n, 1])?, out.part_mut(first * n, shape, [n, 1])?);
        kernels::softmax_in_parts::launch_with(config, stream, &from, &mut to)?;
    }
    Ok(())
}

/// `out[i, j] = (x[i, j] - mean) / sqrt(variance + epsilon) * scale[j] + shift[j]`, mean and variance of row `i`; rows of
/// more than 524288 elements are read thrice.
///
/// # Errors
/// Those of a launch.
pub fn layer_norm(
    stream: &Stream,
    x: &Tensor<f32, 2>,
    [scale, shift]: [&Tensor<f32, 1>; 2],
    out: &mut Tensor<f32, 2>,
    epsilon: f32,
) -> Result<(), Error> {
    let [m, n] = x.shape();
    let is_odd = !n.is_multiple_of(4);
    let reach = if is_odd { n + 3 } else { n };
    if let Some(set) = norm_group(reach).map(in_group) {
        let set = odd(set, is_odd);
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        return kernels::layer_norm::launch_with(config, stream, x, scale, shift, out, epsilon);
    }
    if reach > LONGEST {
        return kernels::layer_norm_in_passes::launch(stream, x, scale, shift, out, epsilon);
    }
    let step = at_once(m, n);
    if is_staged(n) {
        match layer_norm_staged(stream, x, [scale, shift], out, epsilon, step) {
            Err(Error::Launch(_)) => {}
            done => return done,
        }
    }
    let set = odd(norm_in_parts(m, reach), is_odd);
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    for first in (0..m).step_by(step) {
        let shape = [step.min(m - first), n];
        let (from, mut to) = (x.part(first * n, shape, [n, 1])?, out.part_mut(first * n, shape, [n, 1])?);
        kernels::layer_norm_in_parts::launch_with(config, stream, &from, scale, shift, &mut to, epsilon)?;
    }
    Ok(())
}

/// `sums[i, j] = x[i, j] + residual[i, j]`, rounded, and `out[i, j] = sums[i, j] * scale[j] / sqrt(mean of sums[i]² + epsilon)`; rows of at
/// most 32761 elements.
///
/// # Errors
/// Those of a launch.
pub fn rms_norm(
    stream: &Stream,
    [x, residual]: [&Tensor<bf16, 2>; 2],
    scale: &Tensor<bf16, 1>,
    [sums, out]: [&mut Tensor<bf16, 2>; 2],
    epsilon: f32,
) -> Result<(), Error> {
    // The vectors of a row begin up to seven elements before it.
    let vectors = (x.shape()[1] + 7).div_ceil(8);
    let rounds = vectors.div_ceil(1024).max(1);
    let threads = vectors.div_ceil(rounds).next_multiple_of(32).max(32);
    let set = set(&[("THREADS", threads), ("ROUNDS", rounds), ("ROWS", 16)]);
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    kernels::rms_norm::launch_with(config, stream, x, residual, scale, sums, out, epsilon)
}

/// `y[i] = sum over j of a[i, j] x[j]`.
///
/// # Errors
/// Those of a launch.
pub fn gemv(
    stream: &Stream,
    a: &Tensor<f32, 2>,
    x: &Tensor<f32, 1>,
    y: &mut Tensor<f32, 1>,
) -> Result<(), Error> {
    // Of odd rows four at once were 0.98 of a copy on an H200, eight 0.87, sixteen 0.76.
    let set = set(&[("THREADS", 256), ("ROWS", 4)]);
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    kernels::gemv::launch_with(config, stream, a, x, y)
}

/// `loss[i] = log(sum over j of exp(logits[i, j])) - logits[i, targets[i]]`.
///
/// # Errors
/// Those of a launch.
pub fn cross_entropy(
    stream: &Stream,
    logits: &Tensor<bf16, 2>,
    targets: &Tensor<u32, 1>,
    loss: &mut Tensor<f32, 1>,
) -> Result<(), Error> {
    let set = set(&[("THREADS", 512), ("ROUNDS", 2)]);
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    kernels::cross_entropy::launch_with(config, stream, logits, targets, loss)
}

/// `out[i, j] = min(255, (x[i, j] * gain + 128) / 256)`.
///
/// # Errors
/// Those of a launch.
pub fn scale_bytes(
    stream: &Stream,
    x: &Tensor<u8, 2>,
    out: &mut Tensor<u8, 2>,
    gain: u32,
) -> Result<(), Error> {
    // One vector of a thread was 0.91 of a copy on an H200, three 0.83.
    let set = set(&[("THREADS", 256), ("ROUNDS", 1)]);
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    kernels::scale_bytes::launch_with(config, stream, x, out, gain)
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

/// `out[j, i] = x[i, j]`, of f32 or bf16: by 16 bytes where both extents are multiples of that, else by 4.
///
/// # Errors
/// Those of a launch.
pub fn transpose<T: Element>(stream: &Stream, x: &Tensor<T, 2>, out: &mut Tensor<T, 2>) -> Result<(), Error> {
    let of_vector = 16 / size_of::<T>();
    match (x.shape().iter().all(|extent| extent % of_vector == 0), size_of::<T>()) {
        (true, _) => kernels::transpose::launch(stream, x, out),
        (false, 2) => kernels::transpose_by_pairs::launch(stream, x, out),
        (false, _) => kernels::transpose_by_elements::launch(stream, x, out),
    }
}
