//! Transforms, selections and small matrices, next to the best device copy of as many bytes. Results are checked in float64, evenly spread.
//! `breadth.py transform` is the same by PyTorch.

use super::breadth::{Measured, judge, values};
use super::contest::{Bench, Found, Work};
use super::ledger::Ledger;
use super::noise::noise;
use super::options::Common;
use super::{Result, narrow, parallel};
use layout_cuda::{Device, bf16};
use layout_kernels::linear::{Triangle, cholesky, lu, solve_triangular};
use layout_kernels::selection::{self, Side, searchsorted, select, unique};
use layout_kernels::transforms::{Fft, RealWorkspace, Workspace, hadamard, irfft, rfft};
use std::f64::consts::TAU;

fn fft(bench: &mut Bench<'_>, [m, n]: [usize; 2]) -> Result<()> {
    let (stream, x) = (bench.stream.clone(), values::<f32>(m * n * 2, 1));
    let (on_x, mut out) = (bench.device.upload(&x, [m, n, 2])?, bench.device.zeros::<f32, 3>([m, n, 2])?);
    let (transform, mut workspace) = (Fft::default(), Workspace::default());
    out.poison()?;
    transform.run(&stream, &on_x, &mut out, &mut workspace)?;
    let found = out.download()?;
    // A few of the results: each is a sum of all elements.
    let step = (m * n / 61).max(1);
    let exact = |at: usize| {
        let (row, k, part) = (&x[at / 2 / n * n * 2..][..n * 2], at / 2 % n, at % 2);
        let term = |j: usize| {
            let (sin, cos) = (-TAU * (j * k % n) as f64 / n as f64).sin_cos();
            let (re, im) = (f64::from(row[2 * j]), f64::from(row[2 * j + 1]));
            if part == 0 { re * cos - im * sin } else { re * sin + im * cos }
        };
        let size = (n as f64).sqrt() * 4.0;
        ((0..n).map(term).sum(), 2e-7 * size * (1.0 + (n as f64).log2()))
    };
    let place = |i: usize| (i / 2 * step).min(m * n - 1) * 2 + i % 2;
    let found = judge(2 * (m * n).div_ceil(step), |i| f64::from(found[place(i)]), |i| exact(place(i)));
    let work = Work::new("fft", "f32", &[m, n], 16.0, 5.0 * (n as f64).log2());
    bench.beside_copy(&work, found, "fft", || transform.run(&stream, &on_x, &mut out, &mut workspace))
}

/// Of real rows, and back.
fn of_reals(bench: &mut Bench<'_>, [m, n]: [usize; 2]) -> Result<()> {
    let (stream, x, h) = (bench.stream.clone(), values::<f32>(m * n, 1), n / 2 + 1);
    let (on_x, mut out) = (bench.device.upload(&x, [m, n])?, bench.device.zeros::<f32, 3>([m, h, 2])?);
    let (mut back, mut workspace) = (bench.device.zeros::<f32, 2>([m, n])?, RealWorkspace::default());
    rfft(&stream, 1.0, &on_x, &mut out, &mut workspace)?;
    let (found, step) = (out.download()?, (m * h * 2 / 61).max(1));
    let exact = |at: usize| {
        let (row, k, part) = (&x[at / 2 / h * n..][..n], at / 2 % h, at % 2);
        let term = |j: usize| {
            let (sin, cos) = (-TAU * (j * k % n) as f64 / n as f64).sin_cos();
            f64::from(row[j]) * if part == 0 { cos } else { sin }
        };
        ((0..n).map(term).sum(), 8e-7 * (n as f64).sqrt() * (1.0 + (n as f64).log2()))
    };
    let place = |i: usize| (i * step).min(2 * m * h - 1);
    let found = judge((2 * m * h).div_ceil(step), |i| f64::from(found[place(i)]), |i| exact(place(i)));
    let work = |name| Work::new(name, "f32", &[m, n], 8.0, 2.5 * (n as f64).log2());
    bench.beside_copy(&work("rfft"), found, "fft", || rfft(&stream, 1.0, &on_x, &mut out, &mut workspace))?;
    irfft(&stream, 1.0 / n as f32, &out, &mut back, &mut workspace)?;
    let found = back.download()?;
    let found = judge(m * n, |at| f64::from(found[at]), |at| (f64::from(x[at]), 1e-5));
    bench.beside_copy(&work("irfft"), found, "fft", || {
        irfft(&stream, 1.0 / n as f32, &out, &mut back, &mut workspace)
    })
}

fn signs<T: Measured>(bench: &mut Bench<'_>, [m, n]: [usize; 2]) -> Result<()> {
    let (stream, x, scale) = (bench.stream.clone(), values::<T>(m * n, 2), 1.0 / (n as f32).sqrt());
    let (on_x, mut out) = (bench.device.upload(&x, [m, n])?, bench.device.zeros::<T, 2>([m, n])?);
    out.poison()?;
    hadamard(&stream, scale, &on_x, &mut out)?;
    let found = out.download()?;
    let step = (m * n / 4001).max(1);
    let exact = |at: usize| {
        let row = &x[at / n * n..][..n];
        let term =
            |(k, x): (usize, &T)| if ((at % n) & k).count_ones() % 2 == 1 { -x.wide() } else { x.wide() };
        let sum = f64::from(scale) * row.iter().enumerate().map(term).sum::<f64>();
        (sum, T::ROUNDING * sum.abs() + 1e-5)
    };
    let place = |i: usize| (i * step).min(m * n - 1);
    let found = judge((m * n).div_ceil(step), |i| found[place(i)].wide(), |i| exact(place(i)));
    let work = Work::new("hadamard", T::NAME, &[m, n], 2.0 * size_of::<T>() as f64, (n as f64).log2());
    bench.beside_copy(&work, found, "hadamard", || hadamard(&stream, scale, &on_x, &mut out))
}

fn wrong(wrong: usize) -> Found {
    Found { wrong, ..Found::default() }
}

fn places(bench: &mut Bench<'_>, [n, k]: [usize; 2]) -> Result<()> {
    let stream = bench.stream.clone();
    let (mut sorted, own) = (values::<f32>(n, 3), values::<f32>(k, 4));
    sorted.sort_unstable_by(f32::total_cmp);
    let (on_sorted, on_own) = (bench.device.upload(&sorted, [1, n])?, bench.device.upload(&own, [1, k])?);
    let mut out = bench.device.zeros::<u32, 2>([1, k])?;
    searchsorted(&stream, Side::Left, &on_sorted, &on_own, &mut out)?;
    let found = out.download()?;
    let off = (0..k).filter(|i| found[*i] as usize != sorted.partition_point(|x| *x < own[*i])).count();
    let work = Work::new("searchsorted", "f32", &[n, k], 8.0 / n as f64, 1.0);
    bench.beside_copy(&work, wrong(off), "search", || {
        searchsorted(&stream, Side::Left, &on_sorted, &on_own, &mut out)
    })
}

fn kept(bench: &mut Bench<'_>, n: usize) -> Result<()> {
    let (stream, mut workspace) = (bench.stream.clone(), selection::Workspace::default());
    let x = values::<f32>(n, 5);
    let mask: Vec<u8> =
        parallel(n, |range| range.map(|i| u8::from(noise(i, 6) > 0.0)).collect::<Vec<_>>()).concat();
    let (on_x, on_mask) = (bench.device.upload(&x, [n])?, bench.device.upload(&mask, [n])?);
    let (mut out, mut count) = (bench.device.zeros::<f32, 1>([n])?, bench.device.zeros::<u32, 1>([1])?);
    select(&stream, &on_x, &on_mask, &mut out, &mut count, &mut workspace)?;
    let wanted: Vec<f32> = (0..n).filter(|i| mask[*i] != 0).map(|i| x[i]).collect();
    let (found, counted) = (out.download()?, count.download()?[0] as usize);
    let off = wanted.iter().zip(&found).filter(|(a, b)| a != b).count() + counted.abs_diff(wanted.len());
    // Half of them are kept.
    let work = Work::new("select", "f32", &[n], 7.0, 1.0);
    bench.beside_copy(&work, wrong(off), "keep", || {
        select(&stream, &on_x, &on_mask, &mut out, &mut count, &mut workspace)
    })?;
    // Runs of two in the mean.
    let mut sorted: Vec<i32> =
        parallel(n, |range| range.map(|i| (noise(i, 7) * (n / 4) as f32) as i32).collect::<Vec<_>>())
            .concat();
    sorted.sort_unstable();
    let on_sorted = bench.device.upload(&sorted, [n])?;
    let (mut firsts, mut places) = (bench.device.zeros::<i32, 1>([n])?, bench.device.zeros::<u32, 1>([n])?);
    unique(&stream, &on_sorted, &mut firsts, &mut places, &mut count, &mut workspace)?;
    let (found, counted) = (firsts.download()?, count.download()?[0] as usize);
    sorted.dedup();
    let off = sorted.iter().zip(&found).filter(|(a, b)| a != b).count() + counted.abs_diff(sorted.len());
    let bytes = 4.0 + 8.0 * sorted.len() as f64 / n as f64;
    let work = Work::new("unique", "i32", &[n], bytes, 1.0);
    bench.beside_copy(&work, wrong(off), "keep", || {
        unique(&stream, &on_sorted, &mut firsts, &mut places, &mut count, &mut workspace)
    })
}

fn matrices(bench: &mut Bench<'_>, [m, n]: [usize; 2]) -> Result<()> {
    let (stream, len, shape) = (bench.stream.clone(), m * n * n, [m, n, n]);
    // A diagonal that keeps them positive definite; symmetric.
    let value = |at: usize| {
        let (of, i, j) = (at / (n * n), at / n % n, at % n);
        noise((of * n + i.max(j)) * n + i.min(j), 8) + if i == j { n as f32 } else { 0.0 }
    };
    let a: Vec<f32> = parallel(len, |range| range.map(value).collect::<Vec<_>>()).concat();
    let on_a = bench.device.upload(&a, shape)?;
    let (mut out, mut rows) = (bench.device.zeros::<f32, 3>(shape)?, bench.device.zeros::<u32, 2>([m, n])?);
    let room = 1e-5 * n as f64;
    let residual = |left: &dyn Fn(usize) -> f64, right: &dyn Fn(usize) -> f64, wanted: f32| {
        (0..n).map(|k| left(k) * right(k)).sum::<f64>() - f64::from(wanted)
    };
    lu(&stream, &on_a, &mut out, &mut rows)?;
    let (found, places) = (out.download()?, rows.download()?);
    let factors = judge(
        len,
        |at| {
            let (of, i, j) = (at / (n * n) * n, at / n % n, at % n);
            let l = |k: usize| {
                if k < i { f64::from(found[(of + i) * n + k]) } else { f64::from(u8::from(k == i)) }
            };
            let u = |k: usize| if k <= j { f64::from(found[(of + k) * n + j]) } else { 0.0 };
            residual(&l, &u, a[(of + places[at / n] as usize) * n + j])
        },
        |_| (0.0, room),
    );
    let work = |name, bytes| Work::new(name, "f32", &[m, n, n], bytes, n as f64 * 2.0 / 3.0);
    bench.beside_copy(&work("lu", 8.0), factors, "lu", || lu(&stream, &on_a, &mut out, &mut rows))?;
    cholesky(&stream, &on_a, &mut out)?;
    let found = out.download()?;
    let roots = judge(
        len,
        |at| {
            let (of, i, j) = (at / (n * n) * n, at / n % n, at % n);
            let row = |i: usize| move |k: usize| (of + i) * n + k;
            let (left, right) = (row(i), row(j));
            residual(&|k| f64::from(found[left(k)]), &|k| f64::from(found[right(k)]), a[at])
        },
        |_| (0.0, room),
    );
    bench.beside_copy(&work("cholesky", 8.0), roots, "cholesky", || cholesky(&stream, &on_a, &mut out))?;
    let mut x = bench.device.zeros::<f32, 3>(shape)?;
    solve_triangular(&stream, Triangle::Lower, &out, &on_a, &mut x)?;
    let solution = x.download()?;
    let solved = judge(
        len,
        |at| {
            let (of, i, j) = (at / (n * n) * n, at / n % n, at % n);
            let l = |k: usize| f64::from(found[(of + i) * n + k]);
            residual(&l, &|k| f64::from(solution[(of + k) * n + j]), a[at])
        },
        |_| (0.0, room),
    );
    bench.beside_copy(&work("triangular", 12.0), solved, "triangular", || {
        solve_triangular(&stream, Triangle::Lower, &out, &on_a, &mut x)
    })
}

/// Checks and measures every one.
///
/// # Errors
/// A device without memory, or a failing launch.
pub fn run(ledger: &mut Ledger, device: &Device, common: &Common) -> Result<()> {
    let small = device.is_simulator();
    let (device, stream) = (device.clone(), device.stream());
    let mut bench = Bench { device, stream, samples: common.samples.max(1), ledger };
    bench.ledger.head("GB/s");
    let of = |large: [usize; 2], reduced: [usize; 2]| if small { reduced } else { large };
    for (large, reduced) in [
        ([1 << 20, 64], [40, 64]),
        ([1 << 18, 256], [9, 256]),
        ([1 << 16, 1024], [3, 1024]),
        ([1 << 14, 4096], [1, 4096]),
        ([1 << 10, 1 << 16], [1, 1 << 13]),
        ([64, 1 << 20], [1, 1 << 14]),
    ] {
        fft(&mut bench, of(large, reduced))?;
    }
    for (large, reduced) in
        [([1 << 18, 512], [9, 64]), ([1 << 16, 2048], [3, 512]), ([1 << 7, 1 << 20], [1, 1 << 14])]
    {
        of_reals(&mut bench, of(large, reduced))?;
    }
    for shape in [of([1 << 15, 4096], [3, 4096]), of([1 << 20, 128], [17, 128])] {
        signs::<f32>(&mut bench, shape)?;
        signs::<bf16>(&mut bench, shape)?;
    }
    places(&mut bench, of([1 << 20, 1 << 24], [1000, 3000]))?;
    kept(&mut bench, if small { 10_000 } else { 1 << 26 })?;
    narrow::eight_bits(&mut bench, of([8192, 8192], [130, 264]))?;
    for bins in [10, 1000, 1 << 20] {
        narrow::counted(&mut bench, of([1 << 26, bins], [10_000, bins]))?;
    }
    for shape in [of([1 << 14, 64], [2, 64]), of([1 << 16, 32], [3, 32]), of([1 << 18, 16], [5, 16])] {
        matrices(&mut bench, shape)?;
        narrow::reflections(&mut bench, shape)?;
    }
    bench.ledger.foot();
    Ok(())
}
