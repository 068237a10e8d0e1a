//! Convolutions and poolings with small windows: beside the best device copy of as many bytes.

use super::Result;
use super::contest::{Bench, Work, compare};
use super::noise::{fill, noise};
use layout_cuda::LaunchConfig;
use layout_kernels::kernels::memory as kernels;
use layout_kernels::set;

/// The unit in the last place of an f32 near 1; every sum here is of numbers below 1.
const UNIT: f64 = 1.0 / (1u64 << 24) as f64;
/// The names of the three poolings.
const POOLS: [&str; 3] = ["sum_pool", "average_pool", "max_pool"];

/// Each element read and written once, with so many operations.
fn work(workload: &'static str, shape: &[usize], flops: usize) -> Work {
    Work::new(workload, "f32", shape, 8.0, flops as f64)
}

/// In one dimension: a convolution of 5 taps, and poolings of 3 elements.
pub fn vectors(bench: &mut Bench<'_>, n: usize) -> Result<()> {
    let stream = bench.stream.clone();
    let mut x = stream.zeros::<f32, 1>([n])?;
    fill(&stream, &mut x, 51)?;
    let mut out = stream.zeros::<f32, 1>([n])?;
    let weights = [0.5f32, -0.25, 1.0, 0.125, -0.75];
    let taps = stream.upload(&weights, [5])?;
    let value = |i: isize| usize::try_from(i).ok().filter(|i| *i < n).map(|i| f64::from(noise(i, 51)));
    out.poison()?;
    kernels::conv1d::launch(&stream, &x, &taps, &mut out)?;
    let found = compare(&out.download()?, |i| {
        let sum =
            (0..5).map(|k| f64::from(weights[k]) * value(i as isize + k as isize - 2).unwrap_or(0.0)).sum();
        (sum, 5.0 * 2.7 * UNIT)
    });
    bench.beside_copy(&work("conv1d", &[n], 2 * 5), found, "conv1d", || {
        kernels::conv1d::launch(&stream, &x, &taps, &mut out)
    })?;
    for (kind, name) in POOLS.into_iter().enumerate() {
        let set = set(&[("KIND", kind), ("WINDOW", 3), ("THREADS", 256), ("ROUNDS", 2)]);
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        out.poison()?;
        kernels::pool1d::launch_with(config, &stream, &x, &mut out)?;
        let found = compare(&out.download()?, |i| {
            let all = (0..3).filter_map(|k| value(i as isize - k));
            let wanted = match kind {
                0 => all.sum(),
                1 => all.sum::<f64>() / 3usize.min(i + 1) as f64,
                _ => all.fold(f64::NEG_INFINITY, f64::max),
            };
            (wanted, if kind == 2 { 0.0 } else { 9.0 * UNIT })
        });
        bench.beside_copy(&work(name, &[n], 2), found, "pool1d", || {
            kernels::pool1d::launch_with(config, &stream, &x, &mut out)
        })?;
    }
    Ok(())
}

/// In two dimensions: convolutions of 3 by 3 and 5 by 5, and poolings of 3 by 3.
pub fn matrices(bench: &mut Bench<'_>, [m, n]: [usize; 2]) -> Result<()> {
    let stream = bench.stream.clone();
    let mut x = stream.zeros::<f32, 2>([m, n])?;
    fill(&stream, &mut x, 52)?;
    let mut out = stream.zeros::<f32, 2>([m, n])?;
    let value = |i: isize, j: isize| {
        let (i, j) =
            (usize::try_from(i).ok().filter(|i| *i < m)?, usize::try_from(j).ok().filter(|j| *j < n)?);
        Some(f64::from(noise(i * n + j, 52)))
    };
    for size in [3, 5] {
        let weights: Vec<f32> = (0..size * size).map(|i| noise(i, 53)).collect();
        let on_device = stream.upload(&weights, [size, size])?;
        let set = set(&[("SIZE", size), ("ROWS", 4), ("COLS", 4)]);
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        out.poison()?;
        kernels::conv2d::launch_with(config, &stream, &x, &on_device, &mut out)?;
        let found = compare(&out.download()?, |at| {
            let (i, j) = ((at / n) as isize, (at % n) as isize);
            let reach = (size / 2) as isize;
            let (mut sum, mut magnitude) = (0.0, 0.0);
            for k in 0..size {
                for l in 0..size {
                    let near = value(i + k as isize - reach, j + l as isize - reach).unwrap_or(0.0);
                    let product = f64::from(weights[k * size + l]) * near;
                    sum += product;
                    magnitude += product.abs();
                }
            }
            (sum, (size * size) as f64 * magnitude * UNIT)
        });
        let name = format!("conv2d_{size}x{size}");
        bench.beside_copy(&work("conv2d", &[m, n], 2 * size * size), found, &name, || {
            kernels::conv2d::launch_with(config, &stream, &x, &on_device, &mut out)
        })?;
    }
    for (kind, name) in POOLS.into_iter().enumerate() {
        let set = set(&[("KIND", kind), ("WINDOW", 3), ("ROWS", 4)]);
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        out.poison()?;
        kernels::pool2d::launch_with(config, &stream, &x, &mut out)?;
        let found = compare(&out.download()?, |at| {
            let (i, j) = (at / n, at % n);
            let all = (0..9).filter_map(|k| value(i as isize - k / 3, j as isize - k % 3));
            let wanted = match kind {
                0 => all.sum(),
                1 => all.sum::<f64>() / (3usize.min(i + 1) * 3usize.min(j + 1)) as f64,
                _ => all.fold(f64::NEG_INFINITY, f64::max),
            };
            (wanted, if kind == 2 { 0.0 } else { 81.0 * UNIT })
        });
        bench.beside_copy(&work(name, &[m, n], 8), found, "pool2d", || {
            kernels::pool2d::launch_with(config, &stream, &x, &mut out)
        })?;
    }
    Ok(())
}
