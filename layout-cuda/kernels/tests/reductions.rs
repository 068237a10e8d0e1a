//! Reductions against plain Rust in float64, on the simulator: edges of vectors and blocks, any mode, strides, what is not finite.
//!
//! Law: every operation, type and way of walking is run here over every kind of row.

mod support;

use layout_cuda::{Device, Error, LaunchError, bf16, f16};
use layout_kernels::reductions::{Extreme, Reduction, Test, index_of, reduce, test};
use support::Wide;

const REDUCTIONS: [Reduction; 8] = [
    Reduction::Sum,
    Reduction::Mean,
    Reduction::Variance(0.0),
    Reduction::Variance(1.0),
    Reduction::Max,
    Reduction::Min,
    Reduction::LogSumExp,
    Reduction::Product,
];

/// Row `row` of `n` elements: every eighth one ordinary, the others with something at one place, or of one number.
fn row<T: Wide>(row: usize, n: usize) -> Vec<T> {
    let of = |i: usize| {
        let plain = ((i * 7 + row * 5) % 23) as f64 * 0.25 - 2.5;
        match row % 8 {
            1 if i == n / 2 => f64::NAN,
            2 if i == n / 3 => f64::INFINITY,
            3 if i + 1 == n => f64::NEG_INFINITY,
            4 => f64::NEG_INFINITY,
            5 => 3e4 + plain,
            6 => 0.0,
            7 if i == 0 => 6e4,
            _ => plain,
        }
    };
    (0..n).map(|i| T::near(of(i))).collect()
}

/// The exact result, and how far off it a result in float32 may be.
fn exact(reduction: Reduction, x: &[f64]) -> (f64, f64) {
    let n = x.len() as f64;
    let size: f64 = x.iter().map(|x| x.abs()).sum();
    let sum: f64 = x.iter().sum();
    match reduction {
        Reduction::Sum => (sum, 40.0 * 6e-8 * size),
        Reduction::Mean => (sum / n, 40.0 * 6e-8 * size / n),
        Reduction::Variance(correction) if n <= f64::from(correction) => (f64::NAN, 0.0),
        Reduction::Variance(correction) => {
            let (mean, count) = (sum / n, n - f64::from(correction));
            let squares: f64 = x.iter().map(|x| (x - mean) * (x - mean)).sum();
            // Means are rounded: of 30000 by 2e-3.
            (squares / count, 4e-6 * squares / count + (size / n * 1e-6).powi(2) * n / count)
        }
        Reduction::Max if x.iter().any(|x| x.is_nan()) => (f64::NAN, 0.0),
        Reduction::Max => (x.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b)), 0.0),
        Reduction::Min if x.iter().any(|x| x.is_nan()) => (f64::NAN, 0.0),
        Reduction::Min => (x.iter().fold(f64::INFINITY, |a, b| a.min(*b)), 0.0),
        Reduction::LogSumExp => {
            let most = x.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
            let weight = |x: &f64| if *x == most { 1.0 } else { (x - most).exp() };
            let exact = most + x.iter().map(weight).sum::<f64>().ln();
            (exact, 2e-5 + 1.2e-7 * exact.abs())
        }
        Reduction::Product => {
            let product: f64 = x.iter().product();
            (product, product.abs() * n * 6e-8)
        }
    }
}

fn check<T: Wide>(what: &str, found: T, (exact, room): (f64, f64)) {
    let (found, nearest) = (found.wide(), T::near(exact).wide());
    let right = match nearest.is_finite() {
        // A product may leave float32 on the way and come back.
        true => (found - exact).abs() <= room + T::ROUNDING * exact.abs() + 1e-7 || exact.abs() > 1e30,
        false => found == nearest || found.is_nan() && exact.is_nan(),
    };
    assert!(right, "{what}: {found:e}, not {exact:e} within {room:e}");
}

/// Every reduction of the middle mode of `[m, n, k]` as it is in memory with these strides.
fn every<T: Wide>([m, n, k]: [usize; 3], strides: [usize; 3]) -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    let length = (m.max(1) - 1) * strides[0] + (n.max(1) - 1) * strides[1] + (k.max(1) - 1) * strides[2] + 1;
    let mut memory = vec![T::near(99.0); length];
    let columns: Vec<Vec<T>> = (0..m * k).map(|at| row(at, n)).collect();
    for (at, column) in columns.iter().enumerate() {
        for (j, x) in column.iter().enumerate() {
            memory[at / k * strides[0] + j * strides[1] + at % k * strides[2]] = *x;
        }
    }
    let memory = device.upload(&memory, [length])?;
    let x = memory.part(0, [m, n, k], strides)?;
    for reduction in REDUCTIONS {
        let mut out = device.upload(&vec![7.0f32; m * k], [m, 1, k])?;
        reduce(&stream, reduction, 1, &x, &mut out)?;
        for (at, found) in out.download()?.into_iter().enumerate() {
            let column: Vec<f64> = columns[at].iter().map(|x| x.wide()).collect();
            check(&format!("{reduction:?} of {at} of {m} x {n} x {k}"), found, exact(reduction, &column));
        }
    }
    for (extreme, sign) in [(Extreme::Max, 1.0), (Extreme::Min, -1.0)] {
        let mut out = device.upload(&vec![7u32; m * k], [m, 1, k])?;
        index_of(&stream, extreme, 1, &x, &mut out)?;
        for (at, found) in out.download()?.into_iter().enumerate() {
            let column: Vec<f64> = columns[at].iter().map(|x| sign * x.wide()).collect();
            let most = column.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
            let nan = column.iter().position(|x| x.is_nan());
            let first = nan.or_else(|| column.iter().position(|x| *x == most));
            assert_eq!(
                found,
                first.map_or(u32::MAX, |first| first as u32),
                "{extreme:?} of {at} of {m} x {n} x {k}"
            );
        }
    }
    for kind in [Test::Any, Test::All] {
        let mut out = device.upload(&vec![7u8; m * k], [m, 1, k])?;
        test(&stream, kind, 1, &x, &mut out)?;
        for (at, found) in out.download()?.into_iter().enumerate() {
            let mut bits = columns[at].iter().map(|x| x.wide() != 0.0);
            let wanted = if kind == Test::Any { bits.any(|bit| bit) } else { bits.all(|bit| bit) };
            assert_eq!(found, u8::from(wanted), "{kind:?} of {at} of {m} x {n} x {k}");
        }
    }
    Ok(())
}

#[test]
fn rows_of_any_length() -> Result<(), Error> {
    for n in [0, 1, 7, 8, 9, 127, 128, 129, 300] {
        every::<f32>([9, n, 1], [n, 1, 1])?;
        every::<bf16>([9, n, 1], [n, 1, 1])?;
    }
    every::<f32>([0, 5, 1], [5, 1, 1])?;
    every::<f16>([8, 257, 1], [257, 1, 1])?;
    every::<f32>([8, 4099, 1], [4099, 1, 1])?;
    every::<bf16>([8, 4104, 1], [4104, 1, 1])
}

#[test]
fn any_mode_and_any_strides() -> Result<(), Error> {
    for [m, n, k] in [[2, 5, 4], [1, 64, 33], [3, 9, 8], [1, 0, 8], [2, 2049, 3], [0, 3, 5]] {
        every::<f32>([m, n, k], [n * k, k, 1])?;
        every::<f16>([m, n, k], [n * k, k, 1])?;
        // By columns, and with gaps.
        every::<bf16>([m, n, k], [1, m * k, m])?;
    }
    // Rows with gaps.
    every::<f32>([9, 33, 1], [40, 1, 1])?;
    every::<bf16>([8, 2050, 1], [2051, 1, 1])
}

#[test]
fn large_numbers() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    let (x, mut out) = (device.upload(&[1e30f32; 700], [1, 700])?, device.zeros::<f32, 2>([1, 1])?);
    reduce(&stream, Reduction::Variance(0.0), 1, &x, &mut out)?;
    assert_eq!(out.download()?, [0.0]);
    reduce(&stream, Reduction::LogSumExp, 1, &device.upload(&[f32::MIN; 700], [1, 700])?, &mut out)?;
    assert_eq!(out.download()?, [f32::MIN]);
    // Sums of more than float32 counts by ones.
    let (x, mut out) =
        (device.upload(&vec![1.25f32; 1 << 17], [1 << 17, 1])?, device.zeros::<f32, 2>([1, 1])?);
    reduce(&stream, Reduction::Sum, 0, &x, &mut out)?;
    assert_eq!(out.download()?, [163_840.0]);
    Ok(())
}

#[test]
fn shapes_that_disagree_are_refused() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    let is_refused =
        |outcome: Result<(), Error>| matches!(outcome, Err(Error::Launch(LaunchError::Arguments { .. })));
    let x = device.zeros::<f32, 3>([2, 3, 4])?;
    let sum = |axis: usize, shape: [usize; 3]| -> Result<bool, Error> {
        Ok(is_refused(reduce(&stream, Reduction::Sum, axis, &x, &mut device.zeros::<f32, 3>(shape)?)))
    };
    assert!(!sum(1, [2, 1, 4])?);
    assert!(sum(1, [2, 3, 4])? && sum(1, [2, 1, 3])? && sum(3, [2, 3, 1])?);
    // Modes before the axis that are not one.
    let gaps = x.part(0, [2, 2, 3], [12, 4, 1])?;
    assert!(is_refused(reduce(&stream, Reduction::Sum, 2, &gaps, &mut device.zeros::<f32, 3>([2, 2, 1])?)));
    Ok(())
}
