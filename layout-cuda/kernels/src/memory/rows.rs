//! Softmax and layer norm: by how long the rows are, threads of a block, a cluster of blocks, or several passes.
//!
//! Law: what [`picked`] lists is what [`softmax`] and [`layer_norm`] launch, but for how many clusters a device holds.

use crate::kernels::memory as kernels;
use crate::{operation, same, set};
use layout_cuda::{
    Arch, Definition, Device, Error, LaunchConfig, ParamSet, ParamValue, Promises, Stream, TensorArg,
    TensorArgMut, TensorView, TensorViewMut,
};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

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

/// The same on a device: without clusters, which Hopper's kernels of long rows are, none.
fn longest(device: &Device) -> usize {
    if device.arch().includes(Arch::SM_90A) { LONGEST } else { 0 }
}

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

/// Elements of a row that a block of these clusters holds.
const PART: usize = 32_768;

/// As many blocks of a cluster as such a row needs; sixteen in place of fourteen or fifteen, with which layer norm lacks registers.
fn parts_of(n: usize) -> (&'static str, usize) {
    let parts = n.div_ceil(PART);
    ("PARTS", if parts > 13 { 16 } else { parts })
}

/// The set for such rows, with as many clusters as the device holds at once, which is asked for once.
fn staged(n: usize, kernel: &'static Definition, device: &Device) -> Result<ParamSet, Error> {
    static KNOWN: Mutex<BTreeMap<[usize; 3], i64>> = Mutex::new(BTreeMap::new());
    let (parts, own) = (parts_of(n).1, set(&[parts_of(n)]));
    let Some(context) = device.context() else { return Ok(own.with("CLUSTERS", ParamValue::Int(1))) };
    let key = [context.ordinal(), std::ptr::from_ref(kernel) as usize, parts];
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let clusters = match known.get(&key) {
        Some(clusters) => *clusters,
        None => {
            let usage = layout_cuda::prepare(kernel, device, Some(&own), Promises::USUAL)?.usage()?;
            let clusters = usage.map_or(1, |usage| i64::from(usage.clusters_at_once.max(1)));
            known.insert(key, clusters);
            clusters
        }
    };
    Ok(own.with("CLUSTERS", ParamValue::Int(clusters)))
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

/// Rows and columns of `x`, which are also those of `out`.
fn shapes(
    of: &str,
    x: &TensorView<'_, f32, 2>,
    out: &TensorViewMut<'_, f32, 2>,
) -> Result<[usize; 2], Error> {
    let ([m, n], [rows, columns]) = (x.shape(), out.shape());
    same(of, "out", 0, rows, ("M", "x"), m)?;
    same(of, "out", 1, columns, ("N", "x"), n)?;
    Ok([m, n])
}

/// Launches as often as offsets of 32 bits ask for, each time for some of the rows.
fn in_steps(
    x: &TensorView<'_, f32, 2>,
    out: &mut TensorViewMut<'_, f32, 2>,
    mut launch: impl FnMut(&TensorView<'_, f32, 2>, &mut TensorViewMut<'_, f32, 2>) -> Result<(), Error>,
) -> Result<(), Error> {
    let [m, n] = x.shape();
    let most = (i32::MAX as usize / n.max(1)).max(1);
    let step = m.div_ceil(m.div_ceil(most).max(1)).max(1);
    for first in (0..m).step_by(step) {
        let (shape, [of_x, of_out]) = ([step.min(m - first), n], [x.strides(), out.strides()]);
        let (from, mut to) =
            (x.part(first * of_x[0], shape, of_x)?, out.part_mut(first * of_out[0], shape, of_out)?);
        launch(&from, &mut to)?;
    }
    Ok(())
}

/// `out[i, j] = exp(x[i, j] - m) / sum over k of exp(x[i, k] - m)`, `m` the largest of row `i`; rows of more than 524288 elements are read
/// twice. Matrices are by rows, without gaps.
///
/// # Errors
/// Shapes that disagree, and those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let (x, mut out) = (device.upload(&[0.0f32, 0.0, 7.0, 7.0], [2, 2])?, device.zeros::<f32, 2>([2, 2])?);
/// layout_kernels::softmax(&device.stream(), &x, &mut out)?;
/// assert_eq!(out.download()?, [0.5; 4]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn softmax(
    stream: &Stream,
    x: &impl TensorArg<f32, 2>,
    out: &mut impl TensorArgMut<f32, 2>,
) -> Result<(), Error> {
    operation("softmax", || {
        let (x, mut out) = (&x.view(), out.view_mut());
        let out = &mut out;
        let [m, n] = shapes("softmax", x, out)?;
        // The vectors of a row begin up to three elements before it.
        let is_odd = !n.is_multiple_of(4);
        let reach = if is_odd { n + 3 } else { n };
        if let Some(set) = softmax_group(reach, is_odd).map(in_group) {
            let set = odd(set, is_odd);
            let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
            return kernels::softmax::launch_with(config, stream, x, out);
        }
        if reach > longest(stream.device()) {
            let set = odd(ParamSet::default(), is_odd);
            let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
            return kernels::softmax_in_passes::launch_with(config, stream, x, out);
        }
        if is_staged(n) {
            let launched = staged(n, &kernels::softmax_staged::DEFINITION, stream.device()).and_then(|set| {
                let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
                in_steps(x, out, |from, to| kernels::softmax_staged::launch_with(config, stream, from, to))
            });
            match launched {
                // Tensors that do not begin at 16 bytes, which TMA and this kernel's registers do not take.
                Err(Error::Launch(_)) => {}
                done => return done,
            }
        }
        let set = odd(in_parts(sharing(m, reach)), is_odd);
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        in_steps(x, out, |from, to| kernels::softmax_in_parts::launch_with(config, stream, from, to))
    })
}

/// `out[i, j] = (x[i, j] - mean) / sqrt(variance + epsilon) * scale[j] + shift[j]`, mean and variance of row `i`; rows of
/// more than 524288 elements are read thrice. Matrices are by rows, without gaps. The mean is rounded to float32: of rows
/// whose mean is `k` times their deviation the result is off by about `k` units in the last place.
///
/// # Errors
/// Shapes that disagree, and those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let (x, mut out) = (device.upload(&[1.0f32, 3.0], [1, 2])?, device.zeros::<f32, 2>([1, 2])?);
/// let (scale, shift) = (device.upload(&[2.0f32; 2], [2])?, device.upload(&[5.0f32; 2], [2])?);
/// layout_kernels::layer_norm(&device.stream(), &x, &scale, &shift, &mut out, 0.0)?;
/// assert_eq!(out.download()?, [3.0, 7.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn layer_norm(
    stream: &Stream,
    x: &impl TensorArg<f32, 2>,
    scale: &impl TensorArg<f32, 1>,
    shift: &impl TensorArg<f32, 1>,
    out: &mut impl TensorArgMut<f32, 2>,
    epsilon: f32,
) -> Result<(), Error> {
    operation("layer_norm", || {
        let (x, mut out) = (&x.view(), out.view_mut());
        let out = &mut out;
        let [m, n] = shapes("layer_norm", x, out)?;
        let is_odd = !n.is_multiple_of(4);
        let reach = if is_odd { n + 3 } else { n };
        if let Some(set) = norm_group(reach).map(in_group) {
            let set = odd(set, is_odd);
            let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
            return kernels::layer_norm::launch_with(config, stream, x, scale, shift, out, epsilon);
        }
        if reach > longest(stream.device()) {
            return kernels::layer_norm_in_passes::launch(stream, x, scale, shift, out, epsilon);
        }
        if is_staged(n) {
            let launched =
                staged(n, &kernels::layer_norm_staged::DEFINITION, stream.device()).and_then(|set| {
                    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
                    in_steps(x, out, |from, to| {
                        kernels::layer_norm_staged::launch_with(
                            config, stream, from, scale, shift, to, epsilon,
                        )
                    })
                });
            match launched {
                Err(Error::Launch(_)) => {}
                done => return done,
            }
        }
        let set = odd(norm_in_parts(m, reach), is_odd);
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        in_steps(x, out, |from, to| {
            kernels::layer_norm_in_parts::launch_with(config, stream, from, scale, shift, to, epsilon)
        })
    })
}
