//! Softmax and layer norm of rows: beside the best device copy of as many bytes.

use super::contest::{Bench, Found, Work};
use super::noise::{fill, noise};
use super::{Result, parallel};
use layout_cuda::Tensor;
use layout_kernels::kernels::memory::copy;
use layout_kernels::memory;

/// About so many elements are checked, in as many stretches of rows, evenly spread.
const CHECKED: usize = 1 << 25;
const STRETCHES: usize = 64;

/// Softmax of an `m` by `n` matrix.
pub fn softmax(bench: &mut Bench<'_>, [m, n]: [usize; 2]) -> Result<()> {
    let stream = bench.stream.clone();
    let mut x = stream.zeros::<f32, 2>([m, n])?;
    fill(&stream, &mut x, 21)?;
    let mut out = stream.zeros::<f32, 2>([m, n])?;
    out.poison()?;
    memory::softmax(&stream, &x, &mut out)?;
    let found = check(&out, |row, found| {
        let x = |j: usize| f64::from(noise(row * n + j, 21));
        let most = (0..n).map(x).fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = (0..n).map(|j| (x(j) - most).exp()).sum();
        let mut all = Found::default();
        for (j, found) in found.iter().enumerate() {
            let wanted = (x(j) - most).exp() / total;
            all.add(row * n + j, (f64::from(*found) - wanted).abs() / wanted, 4e-6);
        }
        all
    })?;
    bench.beside_copy(&work("softmax", [m, n]), found, "softmax", || memory::softmax(&stream, &x, &mut out))
}

/// Layer norm of an `m` by `n` matrix.
pub fn layer_norm(bench: &mut Bench<'_>, [m, n]: [usize; 2]) -> Result<()> {
    let stream = bench.stream.clone();
    let mut x = stream.zeros::<f32, 2>([m, n])?;
    fill(&stream, &mut x, 21)?;
    let (mut scale, mut shift) = (stream.zeros::<f32, 1>([n])?, stream.zeros::<f32, 1>([n])?);
    fill(&stream, &mut scale, 22)?;
    fill(&stream, &mut shift, 23)?;
    let mut out = stream.zeros::<f32, 2>([m, n])?;
    out.poison()?;
    memory::layer_norm(&stream, &x, &scale, &shift, &mut out, 1e-5)?;
    let found = check(&out, |row, found| {
        let x = |j: usize| f64::from(noise(row * n + j, 21));
        let mean = (0..n).map(x).sum::<f64>() / n as f64;
        let variance = (0..n).map(|j| (x(j) - mean).powi(2)).sum::<f64>() / n as f64;
        let factor = 1.0 / (variance + 1e-5).sqrt();
        let mut all = Found::default();
        for (j, found) in found.iter().enumerate() {
            let wanted = (x(j) - mean) * factor * f64::from(noise(j, 22)) + f64::from(noise(j, 23));
            all.add(row * n + j, (f64::from(*found) - wanted).abs(), 4e-6);
        }
        all
    })?;
    bench.beside_copy(&work("layer_norm", [m, n]), found, "layer_norm", || {
        memory::layer_norm(&stream, &x, &scale, &shift, &mut out, 1e-5)
    })
}

/// Each element read and written once. A softmax compares, subtracts, takes a power, adds and multiplies; a layer norm adds, then
/// subtracts, multiplies and adds, then subtracts, multiplies, multiplies and adds.
fn work(workload: &'static str, shape: [usize; 2]) -> Work {
    Work::new(workload, "f32", &shape, 8.0, if workload == "softmax" { 5.0 } else { 8.0 })
}

/// What a judge of one row finds in the rows that are checked.
fn check(out: &Tensor<f32, 2>, judge: impl Fn(usize, &[f32]) -> Found + Sync) -> Result<Found> {
    let [m, n] = out.shape();
    let height = CHECKED.div_ceil(n.max(1) * STRETCHES).min(m);
    let stream = out.device().stream();
    let mut all = Found::default();
    for stretch in 0..STRETCHES {
        let first = (m - height) * stretch / (STRETCHES - 1);
        // A part's download reads to the storage's end: the stretch alone is copied out first.
        let mut kept = stream.zeros::<f32, 1>([height * n])?;
        copy::launch(&stream, &out.part(first * n, [height * n], [1])?, &mut kept)?;
        let found = kept.download()?;
        let parts = parallel(height, |rows| {
            let rows = rows.map(|row| judge(first + row, &found[row * n..(row + 1) * n]));
            rows.fold(Found::default(), Found::and)
        });
        all = parts.into_iter().fold(all, Found::and);
    }
    Ok(all)
}
