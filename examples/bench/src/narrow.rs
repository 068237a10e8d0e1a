//! What `bench -- transforms` measures next to transforms: numbers of eight bits with scales, weights by key, QR; next to the best device copy.

use super::breadth::{Measured, judge, values};
use super::contest::{Bench, Work};
use super::noise::noise;
use super::{Result, parallel};
use layout_cuda::{E4m3, bf16};
use layout_kernels::absmax::{Group, dequantize, quantize};
use layout_kernels::linear::qr;
use layout_kernels::memory::bincount;

/// To e4m3 and back, by each group: within half a step of the group's largest.
pub(super) fn eight_bits(bench: &mut Bench<'_>, shape @ [m, n]: [usize; 2]) -> Result<()> {
    let (stream, x) = (bench.stream.clone(), values::<bf16>(m * n, 11));
    let (on_x, mut out) = (bench.device.upload(&x, shape)?, bench.device.zeros::<E4m3, 2>(shape)?);
    let mut back = bench.device.zeros::<bf16, 2>(shape)?;
    for (names, group) in [
        (["quantize, tensor", "dequantize, tensor"], Group::Tensor),
        (["quantize, rows", "dequantize, rows"], Group::Row),
        (["quantize, 1 x 128", "dequantize, 1 x 128"], Group::Columns),
        (["quantize, 128 x 128", "dequantize, 128 x 128"], Group::Block),
    ] {
        let mut scales = bench.device.zeros::<f32, 2>(group.scales(shape))?;
        quantize(&stream, group, &on_x, &mut out, &mut scales)?;
        dequantize(&stream, group, &out, &scales, &mut back)?;
        let found = back.download()?;
        let near = |at: usize| (x[at].wide(), x[at].wide().abs() * 0.067 + 4.0 / 448.0 / 1000.0);
        let found = judge(m * n, |at| found[at].wide(), near);
        let work = |name| Work::new(name, "e4m3", &shape, 3.0, 1.0);
        bench.beside_copy(&work(names[0]), found, "quantize", || {
            quantize(&stream, group, &on_x, &mut out, &mut scales)
        })?;
        bench.beside_copy(&work(names[1]), found, "dequantize", || {
            dequantize(&stream, group, &out, &scales, &mut back)
        })?;
    }
    Ok(())
}

/// Weights by key; the reference sums in float64.
pub(super) fn counted(bench: &mut Bench<'_>, [n, bins]: [usize; 2]) -> Result<()> {
    let (stream, weights) = (bench.stream.clone(), values::<f32>(n, 9));
    let keys: Vec<u32> = (0..n).map(|i| (noise(i, 10).abs() * bins as f32) as u32).collect();
    let (on_keys, on_weights) = (bench.device.upload(&keys, [n])?, bench.device.upload(&weights, [n])?);
    let mut out = bench.device.zeros::<f32, 1>([bins])?;
    bincount(&stream, &on_keys, &on_weights, &mut out)?;
    let (found, mut sums) = (out.download()?, vec![(0.0, 0.0); bins]);
    for (key, weight) in keys.iter().zip(&weights).filter(|(key, _)| (**key as usize) < bins) {
        let (sum, size) = &mut sums[*key as usize];
        (*sum, *size) = (*sum + f64::from(*weight), *size + f64::from(weight.abs()));
    }
    let found = judge(bins, |at| f64::from(found[at]), |at| (sums[at].0, sums[at].1 * 1e-5));
    let work = Work::new("bincount", "f32", &[n, bins], 8.0 / bins as f64, 1.0 / bins as f64);
    bench.beside_copy(&work, found, "bincount", || bincount(&stream, &on_keys, &on_weights, &mut out))
}

/// The factors of small matrices, and their product.
pub(super) fn reflections(bench: &mut Bench<'_>, [m, n]: [usize; 2]) -> Result<()> {
    let (stream, len, shape) = (bench.stream.clone(), m * n * n, [m, n, n]);
    let a: Vec<f32> = parallel(len, |range| range.map(|at| noise(at, 12)).collect::<Vec<_>>()).concat();
    let on_a = bench.device.upload(&a, shape)?;
    let (mut q, mut r) = (bench.device.zeros::<f32, 3>(shape)?, bench.device.zeros::<f32, 3>(shape)?);
    qr(&stream, &on_a, &mut q, &mut r)?;
    let (left, right) = (q.download()?, r.download()?);
    let product = |at: usize| {
        let (of, i, j) = (at / (n * n) * n, at / n % n, at % n);
        let q = |k: usize| f64::from(left[(of + i) * n + k]);
        let length: f64 = (0..n).map(|k| q(k) * q(k)).sum();
        // Rows of one factor have length 1, the other one is triangular.
        if j < i && right[at] != 0.0 || (length - 1.0).abs() > 1e-5 * n as f64 {
            return f64::NAN;
        }
        (0..n).map(|k| q(k) * f64::from(right[(of + k) * n + j])).sum()
    };
    let found = judge(len, product, |at| (f64::from(a[at]), 1e-5 * n as f64));
    let work = Work::new("qr", "f32", &shape, 12.0, n as f64 * 8.0 / 3.0);
    bench.beside_copy(&work, found, "qr", || qr(&stream, &on_a, &mut q, &mut r))
}
