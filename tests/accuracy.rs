//! The bounds and the order that the kernels at the speed of memory promise, on random numbers, in float64.
//!
//! Law: an error is at most as many units in the last place as the function says, however long the vector is, and a second
//! run gives the same bits. Where there is a GPU it is asked, too, with vectors a hundred times as long.

use layout_bench::noise::{fill, noise};
use layout_cuda::{Device, Error};
use layout_kernels::memory::{self, PARTS, SCAN_UNITS, SPLITS, SUM_UNITS, ScanState};
use layout_tests::support::gpu::gpu;

/// The unit in the last place of a number near 1.
const UNIT: f64 = 1.0 / (1u64 << 24) as f64;

/// The devices, and how long their vectors are.
fn devices() -> Vec<(Device, Vec<usize>)> {
    let primes = [1, 31, 33, 4099, 131_071];
    let mut all = vec![(Device::simulator(), primes.to_vec())];
    all.extend(gpu().map(|gpu| (gpu, [&primes[..], &[13_107_197]].concat())));
    all
}

fn near(found: f32, exact: f64, size: f64, units: f64, what: &str) {
    let error = (f64::from(found) - exact).abs();
    assert!(error <= units * UNIT * size, "{what}: {found} for {exact}, {} units", error / size / UNIT);
}

#[test]
fn sums_keep_their_bound_and_their_bits() -> Result<(), Error> {
    for (device, lengths) in devices() {
        let stream = device.stream();
        let (mut parts, mut out) = (device.zeros([PARTS])?, device.zeros([1])?);
        for n in lengths {
            let (mut x, mut y) = (device.zeros::<f32, 1>([n])?, device.zeros::<f32, 1>([n])?);
            fill(&stream, &mut x, 1)?;
            fill(&stream, &mut y, 2)?;
            let (a, b) = (|i| f64::from(noise(i, 1)), |i| f64::from(noise(i, 2)));
            let (sum, size) = (0..n).fold((0.0, 0.0), |(s, t), i| (s + a(i), t + a(i).abs()));
            let mut last = None;
            for _ in 0..2 {
                memory::sum(&stream, &x, &mut parts, &mut out)?;
                let found = out.download()?[0];
                near(found, sum, size, SUM_UNITS, &format!("the sum of {n}"));
                assert_eq!(*last.get_or_insert(found.to_bits()), found.to_bits());
            }
            let products = (0..n).map(|i| a(i) * b(i));
            let (sum, size) = products.fold((0.0, 0.0), |(s, t), p| (s + p, t + p.abs()));
            memory::dot(&stream, &x, &y, &mut parts, &mut out)?;
            near(out.download()?[0], sum, size, SUM_UNITS, &format!("the dot product of {n}"));
        }
    }
    Ok(())
}

#[test]
fn sums_of_columns_keep_their_bound() -> Result<(), Error> {
    for (device, lengths) in devices() {
        let stream = device.stream();
        let (m, n) = (lengths.last().copied().unwrap_or(1) / 131, 131);
        let mut x = device.zeros::<f32, 2>([m, n])?;
        fill(&stream, &mut x, 3)?;
        let (mut parts, mut out) = (device.zeros([SPLITS, n])?, device.zeros([n])?);
        memory::column_sums(&stream, &x, &mut parts, &mut out)?;
        for (j, found) in out.download()?.into_iter().enumerate() {
            let column = (0..m).map(|i| f64::from(noise(i * n + j, 3)));
            let (sum, size) = column.fold((0.0, 0.0), |(s, t), x| (s + x, t + x.abs()));
            near(found, sum, size, SUM_UNITS, &format!("column {j} of {m} rows"));
        }
    }
    Ok(())
}

#[test]
fn scans_keep_their_bound_and_their_bits() -> Result<(), Error> {
    for (device, lengths) in devices() {
        let stream = device.stream();
        for n in lengths {
            let mut x = device.zeros::<f32, 1>([n])?;
            fill(&stream, &mut x, 4)?;
            let (mut out, mut state) = (device.zeros::<f32, 1>([n])?, ScanState::new(&stream, n)?);
            let mut last = None;
            for _ in 0..2 {
                memory::inclusive_scan(&stream, &x, &mut out, &mut state)?;
                let found = out.download()?;
                let (mut sum, mut size) = (0.0, 0.0);
                for (i, found) in found.iter().enumerate() {
                    sum += f64::from(noise(i, 4));
                    size += f64::from(noise(i, 4)).abs();
                    near(*found, sum, size, SCAN_UNITS, &format!("the sum up to {i} of {n}"));
                }
                let bits: Vec<u32> = found.into_iter().map(f32::to_bits).collect();
                assert_eq!(*last.get_or_insert_with(|| bits.clone()), bits);
            }
        }
    }
    Ok(())
}

#[test]
fn long_rows_are_those_of_float64_and_the_same_twice() -> Result<(), Error> {
    for (device, _) in devices() {
        let stream = device.stream();
        for [m, n] in [[3, 16], [2, 16_385], [5, 40_003], [1, 131_072], [1, 140_001], [1, 270_001]] {
            let (mut x, mut out) = (device.zeros::<f32, 2>([m, n])?, device.zeros::<f32, 2>([m, n])?);
            fill(&stream, &mut x, 5)?;
            let mut last = None;
            for _ in 0..2 {
                memory::softmax(&stream, &x, &mut out)?;
                let found = out.download()?;
                for (row, found) in found.chunks(n).enumerate() {
                    let x = |j: usize| f64::from(noise(row * n + j, 5));
                    let most = (0..n).map(x).fold(f64::NEG_INFINITY, f64::max);
                    let total: f64 = (0..n).map(|j| (x(j) - most).exp()).sum();
                    for (j, found) in found.iter().enumerate() {
                        let wanted = (x(j) - most).exp() / total;
                        near(*found, wanted, wanted, 64.0, &format!("({row}, {j}) of {m} by {n}"));
                    }
                }
                let bits: Vec<u32> = found.into_iter().map(f32::to_bits).collect();
                assert_eq!(*last.get_or_insert_with(|| bits.clone()), bits);
            }
        }
    }
    Ok(())
}
