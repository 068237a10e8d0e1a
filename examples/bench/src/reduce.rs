//! Sum, dot product, maximum, sums of rows and of columns, histogram: beside cuBLAS's dot product.

use super::contest::{Bench, Found, Work};
use super::noise::{fill, noise};
use super::{Result, parallel};
use layout_kernels::kernels::memory as kernels;
use layout_kernels::memory::{self, PARTS, SPLITS};

/// The unit in the last place of an f32 near 1.
const UNIT: f64 = 1.0 / (1u64 << 24) as f64;

/// Sums, products and maxima of vectors.
pub fn vectors(bench: &mut Bench<'_>, n: usize, peer: usize) -> Result<()> {
    let stream = bench.stream.clone();
    let (mut x, mut y) = (stream.zeros::<f32, 1>([n])?, stream.zeros::<f32, 1>([n])?);
    fill(&stream, &mut x, 11)?;
    fill(&stream, &mut y, 12)?;
    let (mut parts, mut out) = (stream.zeros::<f32, 1>([PARTS])?, stream.zeros::<f32, 1>([1])?);
    // Sums of x, |x|, x y and |x y|, and the maximum.
    let exact = parallel(n, |range| {
        let mut all = [0.0, 0.0, 0.0, 0.0, f64::NEG_INFINITY];
        for i in range {
            let (x, y) = (f64::from(noise(i, 11)), f64::from(noise(i, 12)));
            all[0] += x;
            all[1] += x.abs();
            all[2] += x * y;
            all[3] += (x * y).abs();
            all[4] = all[4].max(x);
        }
        all
    });
    let add = |at: usize| exact.iter().map(|part| part[at]).sum::<f64>();
    let most = exact.iter().fold(f64::NEG_INFINITY, |most, part| most.max(part[4]));
    let judge = |found: f32, wanted: f64, size: f64, units: f64| {
        let mut result = Found::default();
        result.add(0, (f64::from(found) - wanted).abs() / size.max(f64::MIN_POSITIVE), units * UNIT);
        result
    };
    // Each element of one vector, or of both, is read once.
    let work = |workload, vectors: f64| Work::new(workload, "f32", &[n], 4.0 * vectors, vectors);
    memory::sum(&stream, &x, &mut parts, &mut out)?;
    let found = judge(out.download()?[0], add(0), add(1), memory::SUM_UNITS);
    bench.beside_dot(&work("sum", 1.0), found, peer, "sum", || {
        memory::sum(&stream, &x, &mut parts, &mut out)
    })?;
    memory::dot(&stream, &x, &y, &mut parts, &mut out)?;
    let found = judge(out.download()?[0], add(2), add(3), memory::SUM_UNITS);
    bench.beside_dot(&work("dot", 2.0), found, peer, "dot", || {
        memory::dot(&stream, &x, &y, &mut parts, &mut out)
    })?;
    let (mut places, mut place) = (stream.zeros::<u32, 1>([PARTS])?, stream.zeros::<u32, 1>([1])?);
    memory::argmax(&stream, &x, &mut parts, &mut places, &mut place)?;
    let first = parallel(n, |range| range.clone().find(|i| f64::from(noise(*i, 11)) == most));
    let first = first.into_iter().flatten().next().unwrap_or(n);
    let mut found = Found::default();
    found.add(0, (place.download()?[0] as f64 - first as f64).abs(), 0.0);
    bench.beside_dot(&work("argmax", 1.0), found, peer, "argmax", || {
        memory::argmax(&stream, &x, &mut parts, &mut places, &mut place)
    })?;
    memory::max(&stream, &x, &mut parts, &mut out)?;
    let found = judge(out.download()?[0], most, 1.0, 0.0);
    bench.beside_dot(&work("max", 1.0), found, peer, "max", || memory::max(&stream, &x, &mut parts, &mut out))
}

/// Sums of the rows and of the columns of a matrix.
pub fn axes(bench: &mut Bench<'_>, [m, n]: [usize; 2], peer: usize) -> Result<()> {
    let stream = bench.stream.clone();
    let mut x = stream.zeros::<f32, 2>([m, n])?;
    fill(&stream, &mut x, 13)?;
    let (mut rows, mut columns) = (stream.zeros::<f32, 1>([m])?, stream.zeros::<f32, 1>([n])?);
    let mut parts = stream.zeros::<f32, 2>([SPLITS, n])?;
    let work = |workload| Work::new(workload, "f32", &[m, n], 4.0, 1.0);
    let check = |found: &[f32], inner: usize, at: &(dyn Fn(usize, usize) -> usize + Sync)| {
        let all = parallel(found.len(), |range| {
            let mut result = Found::default();
            for i in range {
                let (mut sum, mut size) = (0.0, f64::MIN_POSITIVE);
                for j in 0..inner {
                    let x = f64::from(noise(at(i, j), 13));
                    sum += x;
                    size += x.abs();
                }
                let error = (f64::from(found[i]) - sum).abs() / size;
                result.add(i, error, memory::SUM_UNITS * UNIT);
            }
            result
        });
        all.into_iter().fold(Found::default(), Found::and)
    };
    rows.poison()?;
    kernels::row_sums::launch(&stream, &x, &mut rows)?;
    let found = check(&rows.download()?, n, &|i, j| i * n + j);
    bench.beside_dot(&work("row_sums"), found, peer, "row_sums", || {
        kernels::row_sums::launch(&stream, &x, &mut rows)
    })?;
    columns.poison()?;
    memory::column_sums(&stream, &x, &mut parts, &mut columns)?;
    let found = check(&columns.download()?, m, &|i, j| j * n + i);
    bench.beside_dot(&work("column_sums"), found, peer, "column_sums", || {
        memory::column_sums(&stream, &x, &mut parts, &mut columns)
    })
}

/// The histogram of random and of constant bytes; the peer is the dot product, the fastest reader there is.
pub fn histogram(bench: &mut Bench<'_>, n: usize, peer: usize) -> Result<()> {
    let stream = bench.stream.clone();
    let random: Vec<u8> =
        parallel(n, |range| range.map(|i| noise(i, 14).to_bits() as u8).collect::<Vec<_>>()).concat();
    for (name, values) in [("random", random), ("constant", vec![77; n])] {
        let x = stream.upload(&values, [n])?;
        let mut counts = stream.zeros::<u32, 1>([256])?;
        kernels::histogram::launch(&stream, &x, &mut counts)?;
        let wanted = parallel(n, |range| {
            let mut counts = [0u32; 256];
            values[range].iter().for_each(|value| counts[usize::from(*value)] += 1);
            counts
        });
        let mut found = Found::default();
        for (bin, count) in counts.download()?.into_iter().enumerate() {
            let wanted: u32 = wanted.iter().map(|part| part[bin]).sum();
            found.add(bin, (f64::from(count) - f64::from(wanted)).abs(), 0.0);
        }
        let work = Work::new("histogram", "u8", &[n], 1.0, 1.0);
        let name = format!("histogram_{name}");
        bench
            .beside_dot(&work, found, peer, &name, || kernels::histogram::launch(&stream, &x, &mut counts))?;
    }
    Ok(())
}
