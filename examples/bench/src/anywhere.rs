//! Rows that begin anywhere, of 4, 2 and 1 bytes an element: a product with a vector, RMS norm, cross entropy and bytes of an image,
//! beside the best device copy of as many bytes.

use super::contest::{Bench, Found, Work};
use super::noise::{fill, noise};
use super::{Result, parallel};
use layout_cuda::{Tensor, bf16};
use layout_kernels::memory;

/// So many rows are checked, evenly spread, and all elements of the vectors that come of them.
const CHECKED: usize = 256;

/// `y = A x`, A by rows.
pub fn product(bench: &mut Bench<'_>, [m, n]: [usize; 2]) -> Result<()> {
    let stream = bench.stream.clone();
    let (mut a, mut x) = (stream.zeros::<f32, 2>([m, n])?, stream.zeros::<f32, 1>([n])?);
    fill(&stream, &mut a, 31)?;
    fill(&stream, &mut x, 32)?;
    let mut y = stream.zeros::<f32, 1>([m])?;
    y.poison()?;
    memory::gemv(&stream, &a, &x, &mut y)?;
    let found = y.download()?;
    let found = of_rows(m, |row, all| {
        let product = |j: usize| f64::from(noise(row * n + j, 31)) * f64::from(noise(j, 32));
        let (wanted, size) = (0..n).map(product).fold((0.0, 0.0), |(sum, size), p| (sum + p, size + p.abs()));
        let units = memory::SUM_UNITS / f64::from(1u32 << 24);
        all.add(row, (f64::from(found[row]) - wanted).abs() / f64::max(size, f64::MIN_POSITIVE), units);
    });
    let work = Work::new("gemv", "f32", &[m, n], 4.0, 2.0);
    bench.beside_copy(&work, found, "gemv", || memory::gemv(&stream, &a, &x, &mut y))
}

/// RMS norm with a residual.
pub fn rms_norm(bench: &mut Bench<'_>, [m, n]: [usize; 2]) -> Result<()> {
    let stream = bench.stream.clone();
    let (x, residual) = (halves(bench, [m, n], 33)?, halves(bench, [m, n], 34)?);
    let scale: Vec<bf16> = (0..n).map(|j| half(j, 35)).collect();
    let scale = bench.device.upload(&scale, [n])?;
    let (mut sums, mut out) = (stream.zeros::<bf16, 2>([m, n])?, stream.zeros::<bf16, 2>([m, n])?);
    sums.poison()?;
    out.poison()?;
    memory::add_rms_norm(&stream, &x, &residual, &scale, &mut sums, &mut out, 1e-5)?;
    let (found_sums, found) = (sums.download()?, out.download()?);
    let found = of_rows(m, |row, all| {
        let sum = |j: usize| bf16::from_f32(half(row * n + j, 33).to_f32() + half(row * n + j, 34).to_f32());
        let mean = (0..n).map(|j| f64::from(sum(j).to_f32()).powi(2)).sum::<f64>() / n as f64;
        let factor = 1.0 / (mean + 1e-5).sqrt();
        for j in 0..n {
            let at = row * n + j;
            let wrong = if found_sums[at] == sum(j) { 0.0 } else { f64::INFINITY };
            let wanted = f64::from(sum(j).to_f32()) * factor * f64::from(half(j, 35).to_f32());
            let error = (f64::from(found[at].to_f32()) - wanted).abs() / f64::max(wanted.abs(), 1e-30);
            // The rounding to bf16.
            all.add(at, error.max(wrong), 0.0040);
        }
    });
    let work = Work::new("rms_norm", "bf16", &[m, n], 8.0, 5.0);
    bench.beside_copy(&work, found, "rms_norm", || {
        memory::add_rms_norm(&stream, &x, &residual, &scale, &mut sums, &mut out, 1e-5)
    })
}

/// Cross entropy in one pass.
pub fn entropy(bench: &mut Bench<'_>, [m, n]: [usize; 2]) -> Result<()> {
    let stream = bench.stream.clone();
    let logits = halves(bench, [m, n], 36)?;
    let targets: Vec<u32> = (0..m).map(|row| (row * 7919 % n) as u32).collect();
    let on_targets = bench.device.upload(&targets, [m])?;
    let mut loss = stream.zeros::<f32, 1>([m])?;
    loss.poison()?;
    memory::cross_entropy(&stream, &logits, &on_targets, &mut loss)?;
    let found = loss.download()?;
    let found = of_rows(m, |row, all| {
        let logit = |j: usize| f64::from(half(row * n + j, 36).to_f32());
        let total: f64 = (0..n).map(|j| logit(j).exp()).sum();
        let wanted = total.ln() - logit(targets[row] as usize);
        all.add(row, (f64::from(found[row]) - wanted).abs() / wanted.abs(), 4e-6);
    });
    let work = Work::new("cross_entropy", "bf16", &[m, n], 2.0, 5.0);
    bench.beside_copy(&work, found, "cross_entropy", || {
        memory::cross_entropy(&stream, &logits, &on_targets, &mut loss)
    })
}

/// Bytes of an image, scaled.
pub fn image(bench: &mut Bench<'_>, [m, n]: [usize; 2]) -> Result<()> {
    const GAIN: u32 = 333;
    let stream = bench.stream.clone();
    let bytes = parallel(m * n, |range| range.map(|i| noise(i, 37).to_bits() as u8).collect::<Vec<_>>());
    let bytes = bytes.concat();
    let x = bench.device.upload(&bytes, [m, n])?;
    let mut out = stream.zeros::<u8, 2>([m, n])?;
    out.poison()?;
    memory::scale_bytes(&stream, &x, &mut out, GAIN)?;
    let found = out.download()?;
    let found = parallel(m * n, |range| {
        let mut all = Found::default();
        for i in range {
            let wanted = ((u32::from(bytes[i]) * GAIN + 128) >> 8).min(255);
            all.add(i, (f64::from(found[i]) - f64::from(wanted)).abs(), 0.0);
        }
        all
    });
    let found = found.into_iter().fold(Found::default(), Found::and);
    let work = Work::new("scale_bytes", "u8", &[m, n], 2.0, 3.0);
    bench.beside_copy(&work, found, "scale_bytes", || memory::scale_bytes(&stream, &x, &mut out, GAIN))
}

/// An element of a tensor of [`halves`].
fn half(i: usize, seed: u32) -> bf16 {
    bf16::from_f32(noise(i, seed))
}

fn halves(bench: &Bench<'_>, [m, n]: [usize; 2], seed: u32) -> Result<Tensor<bf16, 2>> {
    let values = parallel(m * n, |range| range.map(|i| half(i, seed)).collect::<Vec<_>>()).concat();
    Ok(bench.device.upload(&values, [m, n])?)
}

/// What a judge finds in the rows that are checked.
fn of_rows(m: usize, judge: impl Fn(usize, &mut Found) + Sync) -> Found {
    let count = CHECKED.min(m);
    let parts = parallel(count, |range| {
        let mut all = Found::default();
        range.for_each(|at| judge(at * m / count, &mut all));
        all
    });
    parts.into_iter().fold(Found::default(), Found::and)
}
