//! Operations of rows against plain Rust in float64, on the simulator: odd lengths, every alignment, what is not finite.
//!
//! Law: every operation and type is run here, the backward ones against the definition's slopes.

mod support;

use layout_cuda::{Device, Error, LaunchError, bf16, f16};
use layout_kernels::rows::{
    Norm, cross_entropy, cross_entropy_backward, log_softmax, norm_backward, softmax_backward,
};
use support::Wide;

/// Ordinary rows.
fn values<T: Wide>(n: usize, seed: usize) -> Vec<T> {
    (0..n).map(|i| T::near(((i * 7 + seed * 5) % 31) as f64 * 0.25 - 3.5)).collect()
}

fn check<T: Wide>(what: &str, found: &[T], exact: &[f64], room: f64) {
    assert_eq!(found.len(), exact.len(), "{what}");
    for (i, (found, exact)) in found.iter().zip(exact).enumerate() {
        let found = found.wide();
        let is_right = match T::near(*exact).wide().is_finite() {
            true => (found - exact).abs() <= room * (1.0 + exact.abs()) + T::ROUNDING * exact.abs(),
            false => found == *exact || found.is_nan() && exact.is_nan(),
        };
        assert!(is_right, "{what}: element {i} is {found:e}, not {exact:e}");
    }
}

/// The logarithm of a row's sum of powers.
fn log_of(row: &[f64]) -> f64 {
    let most = row.iter().fold(f64::MIN, |a, b| a.max(*b));
    most + row.iter().map(|x| (x - most).exp()).sum::<f64>().ln()
}

fn doubled<T: Wide>(x: &[T]) -> Vec<f64> {
    x.iter().map(|x| x.wide()).collect()
}

fn of_logits<T: Wide>([m, n]: [usize; 2]) -> Result<(), Error> {
    let (device, what) = (Device::simulator(), format!("{m} x {n}"));
    let stream = device.stream();
    let mut x = values::<T>(m * n, 1);
    // Rows that are not ordinary: a mask, large numbers, an infinity, a NaN.
    for (row, line) in x.chunks_mut(n.max(1)).enumerate() {
        match row {
            1 if n > 1 => line[..n / 2].fill(T::near(f64::NEG_INFINITY)),
            2 => line.iter_mut().for_each(|x| *x = T::near(x.wide() + 3e4)),
            3 => line[n / 3] = T::near(f64::INFINITY),
            4 => line[n - 1] = T::near(f64::NAN),
            _ => {}
        }
    }
    let wide = doubled(&x);
    let logs: Vec<f64> = (0..m).map(|row| log_of(&wide[row * n..(row + 1) * n])).collect();
    let on_x = device.upload(&x, [m, n])?;
    let mut out = device.zeros::<T, 2>([m, n])?;
    log_softmax(&stream, &on_x, &mut out)?;
    let wanted: Vec<f64> = (0..m * n).map(|at| wide[at] - logs[at / n]).collect();
    check(&format!("log_softmax of {what}"), &out.download()?, &wanted, 1e-5);
    // Every third label is ignored.
    let targets: Vec<u32> = (0..m)
        .map(|row| if row % 3 == 2 { [n as u32, u32::MAX][row % 2] } else { (row * 7 % n.max(1)) as u32 })
        .collect();
    let is_counted = |row: usize| (targets[row] as usize) < n;
    let (on_targets, mut loss) = (device.upload(&targets, [m])?, device.zeros::<f32, 1>([m])?);
    cross_entropy(&stream, &on_x, &on_targets, &mut loss)?;
    let own =
        |row: usize| if is_counted(row) { logs[row] - wide[row * n + targets[row] as usize] } else { 0.0 };
    check(&format!("cross entropy of {what}"), &loss.download()?, &(0..m).map(own).collect::<Vec<_>>(), 1e-5);
    let factors: Vec<f32> = (0..m).map(|row| 0.5 + row as f32).collect();
    cross_entropy_backward(&stream, &on_x, &on_targets, &device.upload(&factors, [m])?, &mut out)?;
    let slope = |at: usize| {
        let (row, is_target) = (at / n, at % n == targets[at / n] as usize);
        let part = (wide[at] - logs[row]).exp() - f64::from(u8::from(is_target));
        if is_counted(row) { f64::from(factors[row]) * part } else { 0.0 }
    };
    let wanted: Vec<f64> = (0..m * n).map(slope).collect();
    check(&format!("cross entropy's backward of {what}"), &out.download()?, &wanted, 1e-5 * m as f64);
    let (y, dy) = (values::<T>(m * n, 3), values::<T>(m * n, 4));
    softmax_backward(&stream, &device.upload(&y, [m, n])?, &device.upload(&dy, [m, n])?, &mut out)?;
    let (y, dy) = (doubled(&y), doubled(&dy));
    let sum = |row: usize| (row * n..(row + 1) * n).map(|at| y[at] * dy[at]).sum::<f64>();
    let sums: Vec<f64> = (0..m).map(sum).collect();
    let wanted: Vec<f64> = (0..m * n).map(|at| y[at] * (dy[at] - sums[at / n])).collect();
    check(&format!("softmax's backward of {what}"), &out.download()?, &wanted, 1e-5);
    Ok(())
}

const SHAPES: [[usize; 2]; 9] =
    [[0, 5], [1, 1], [6, 7], [7, 8], [9, 33], [5, 256], [3, 2049], [6, 4100], [19, 129]];

#[test]
fn logits() -> Result<(), Error> {
    for shape in SHAPES {
        of_logits::<f32>(shape)?;
        of_logits::<bf16>(shape)?;
        of_logits::<f16>(shape)?;
    }
    Ok(())
}

fn through_a_norm<T: Wide>(norm: Norm, [m, n]: [usize; 2]) -> Result<(), Error> {
    let (device, what) = (Device::simulator(), format!("{norm:?} of {m} x {n}"));
    let (x, scale, dy) = (values::<T>(m * n, 1), values::<T>(n, 2), values::<T>(m * n, 3));
    let mut dx = device.zeros::<T, 2>([m, n])?;
    let (mut of_scale, mut of_shift) = (device.zeros::<f32, 1>([n])?, device.zeros::<f32, 1>([n])?);
    norm_backward(
        &device.stream(),
        norm,
        &device.upload(&x, [m, n])?,
        &device.upload(&scale, [n])?,
        &device.upload(&dy, [m, n])?,
        &mut dx,
        &mut of_scale,
        &mut of_shift,
        0.125,
    )?;
    let (x, scale, dy) = (doubled(&x), doubled(&scale), doubled(&dy));
    let (mut slopes, mut scales, mut shifts) = (vec![], vec![0.0; n], vec![0.0; n]);
    for row in 0..m {
        let (x, dy) = (&x[row * n..(row + 1) * n], &dy[row * n..(row + 1) * n]);
        let mean = if norm == Norm::Rms { 0.0 } else { x.iter().sum::<f64>() / n as f64 };
        let factor = 1.0 / (x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n as f64 + 0.125).sqrt();
        let normal: Vec<f64> = x.iter().map(|x| (x - mean) * factor).collect();
        let slope: Vec<f64> = dy.iter().zip(&scale).map(|(dy, scale)| dy * scale).collect();
        let level = if norm == Norm::Rms { 0.0 } else { slope.iter().sum::<f64>() / n as f64 };
        let along = slope.iter().zip(&normal).map(|(a, b)| a * b).sum::<f64>() / n as f64;
        slopes.extend(
            slope.iter().zip(&normal).map(|(slope, normal)| factor * (slope - level - normal * along)),
        );
        for j in 0..n {
            scales[j] += dy[j] * normal[j];
            shifts[j] += dy[j];
        }
    }
    check(&format!("dx through {what}"), &dx.download()?, &slopes, 2e-5);
    check(&format!("the scale through {what}"), &of_scale.download()?, &scales, 2e-5);
    check(&format!("the shift through {what}"), &of_shift.download()?, &shifts, 2e-5);
    Ok(())
}

#[test]
fn norms() -> Result<(), Error> {
    for norm in [Norm::Layer, Norm::Rms] {
        for shape in SHAPES {
            through_a_norm::<f32>(norm, shape)?;
            through_a_norm::<bf16>(norm, shape)?;
        }
        through_a_norm::<f16>(norm, [40, 30])?;
    }
    Ok(())
}

#[test]
fn shapes_that_disagree_are_refused() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    let is_refused =
        |outcome: Result<(), Error>| matches!(outcome, Err(Error::Launch(LaunchError::Arguments { .. })));
    let (x, mut other) = (device.zeros::<f32, 2>([2, 3])?, device.zeros::<f32, 2>([3, 2])?);
    assert!(is_refused(log_softmax(&stream, &x, &mut other)));
    assert!(is_refused(softmax_backward(&stream, &x, &x, &mut other)));
    let targets = device.zeros::<u32, 1>([3])?;
    assert!(is_refused(cross_entropy(&stream, &x, &targets, &mut device.zeros([3])?)));
    let gaps = device.zeros::<f32, 1>([9])?;
    assert!(is_refused(log_softmax(&stream, &gaps.part(0, [2, 3], [4, 1])?, &mut device.zeros([2, 3])?)));
    Ok(())
}
