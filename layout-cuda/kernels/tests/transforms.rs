//! Transforms against sums in float64, on the simulator: each stage's radix, columns, two passes, lengths of one.
//!
//! Law: both directions; what goes there and back is what it was.

use layout_cuda::{Device, Error, bf16};
use layout_kernels::Real;
use layout_kernels::transforms::{Fft, RealWorkspace, Workspace, hadamard, irfft, rfft};
use std::f64::consts::TAU;

/// Numbers of both signs, of a few bits.
fn value(at: usize) -> f64 {
    ((at.wrapping_mul(0x9e37_79b9) >> 7) % 257) as f64 / 64.0 - 2.0
}

/// Element k of the transform of `n` numbers.
fn sum(n: usize, k: usize, sign: f64, x: impl Fn(usize) -> [f64; 2]) -> [f64; 2] {
    (0..n).fold([0.0; 2], |[re, im], j| {
        let ([a, b], (sin, cos)) = (x(j), (sign * TAU * (j * k % n) as f64 / n as f64).sin_cos());
        [re + a * cos - b * sin, im + a * sin + b * cos]
    })
}

/// Transforms along the middle of three modes: some of the results, all that come back.
fn fft([a, n, b]: [usize; 3]) -> Result<(), Error> {
    let (device, len) = (Device::simulator(), a * n * b * 2);
    let x: Vec<f32> = (0..len).map(|at| value(at) as f32).collect();
    let on_x = device.upload(&x, [a, n, b, 2])?;
    let (mut out, mut back) = (device.zeros::<f32, 4>([a, n, b, 2])?, device.zeros::<f32, 4>([a, n, b, 2])?);
    let (stream, mut workspace) = (device.stream(), Workspace::default());
    let axis = Some(1);
    for inverse in [false, true] {
        out.poison()?;
        Fft { axis, inverse, scale: 0.5 }.run(&stream, &on_x, &mut out, &mut workspace)?;
        let (found, sign) = (out.download()?, if inverse { 1.0 } else { -1.0 });
        let number = |i: usize, j: usize, l: usize| ((i * n + j) * b + l) * 2;
        for at in (0..a * n * b).step_by((a * n * b / 97).max(1)) {
            let (i, k, l) = (at / (n * b), at / b % n, at % b);
            let wanted = sum(n, k, sign, |j| [0, 1].map(|part| value(number(i, j, l) + part)));
            for part in 0..2 {
                let (found, wanted) = (f64::from(found[number(i, k, l) + part]), 0.5 * wanted[part]);
                let room = 1e-6 * (n as f64).sqrt() * (1.0 + (n as f64).log2());
                assert!(
                    (found - wanted).abs() <= room,
                    "{a} x {n} x {b}: {found} at {i}, {k}, {l}, not {wanted}"
                );
            }
        }
        back.poison()?;
        let scale = 2.0 / n as f32;
        Fft { axis, inverse: !inverse, scale }.run(&stream, &out, &mut back, &mut workspace)?;
        let back = back.download()?;
        for (at, (back, x)) in back.iter().zip(&x).enumerate() {
            assert!((back - x).abs() < 4e-6, "{a} x {n} x {b}: {back} at {at}, not {x}");
        }
    }
    Ok(())
}

#[test]
fn fourier_transforms_there_and_back() -> Result<(), Error> {
    for bits in 0..=13 {
        fft([if bits < 10 { 3 } else { 1 }, 1 << bits, 1])?;
    }
    for shape in [
        [1, 1 << 14, 1],
        [2, 2, 3],
        [1, 8, 130],
        [3, 16, 5],
        [2, 64, 17],
        [1, 512, 3],
        [1, 2048, 2],
        [0, 8, 1],
        [2, 8, 0],
    ] {
        fft(shape)?;
    }
    Ok(())
}

fn of_reals(m: usize, n: usize) -> Result<(), Error> {
    let (device, h) = (Device::simulator(), n / 2);
    let x: Vec<f32> = (0..m * n).map(|at| value(at) as f32).collect();
    let (on_x, stream, mut workspace) =
        (device.upload(&x, [m, n])?, device.stream(), RealWorkspace::default());
    let mut out = device.zeros::<f32, 3>([m, h + 1, 2])?;
    out.poison()?;
    rfft(&stream, 0.5, &on_x, &mut out, &mut workspace)?;
    let found = out.download()?;
    let room = 1e-6 * (n as f64).sqrt() * (1.0 + (n as f64).log2());
    let near = |found: f32, wanted: f64, at: usize| {
        assert!((f64::from(found) - wanted).abs() <= room, "{m} x {n}: {found} at {at}, not {wanted}");
    };
    for at in (0..m * (h + 1)).step_by((m * (h + 1) / 101).max(1)) {
        let (i, k) = (at / (h + 1), at % (h + 1));
        let wanted = sum(n, k, -1.0, |j| [value(i * n + j), 0.0]);
        (0..2).for_each(|part| near(found[2 * at + part], 0.5 * wanted[part], at));
    }
    // The last ones of each row, whatever was left out; imaginary parts that do not count.
    let mut changed = found.clone();
    for i in 0..m {
        (changed[i * (n + 2) + 1], changed[(i + 1) * (n + 2) - 1]) = (7.0, f32::NAN);
    }
    let mut back = device.zeros::<f32, 2>([m, n])?;
    back.poison()?;
    irfft(&stream, 2.0 / n as f32, &device.upload(&changed, [m, h + 1, 2])?, &mut back, &mut workspace)?;
    for (at, (back, x)) in back.download()?.iter().zip(&x).enumerate() {
        assert!((back - x).abs() < 4e-6, "{m} x {n}: {back} at {at}, not {x}");
    }
    Ok(())
}

#[test]
fn transforms_of_real_rows() -> Result<(), Error> {
    for bits in 1..=13 {
        of_reals(if bits < 9 { 5 } else { 1 }, 1 << bits)?;
    }
    of_reals(0, 8)?;
    let device = Device::simulator();
    let (x, mut out) = (device.zeros::<f32, 2>([3, 12])?, device.zeros::<f32, 3>([3, 7, 2])?);
    let refused = rfft(&device.stream(), 1.0, &x, &mut out, &mut RealWorkspace::default());
    assert!(refused.is_err_and(|error| error.to_string().contains("`x` has extent 12 in mode 1")));
    let (x, mut out) = (device.zeros::<f32, 2>([3, 8])?, device.zeros::<f32, 3>([3, 4, 2])?);
    let refused = rfft(&device.stream(), 1.0, &x, &mut out, &mut RealWorkspace::default());
    assert!(refused.is_err_and(|error| error.to_string().contains("`out` has extent 4 in mode 1")));
    let (x, mut out) = (device.zeros::<f32, 3>([3, 5, 2])?, device.zeros::<f32, 2>([3, 9])?);
    let refused = irfft(&device.stream(), 1.0, &x, &mut out, &mut RealWorkspace::default());
    assert!(refused.is_err_and(|error| error.to_string().contains("`out` has extent 9 in mode 1")));
    Ok(())
}

#[test]
fn what_is_no_transform_is_refused() -> Result<(), Error> {
    let device = Device::simulator();
    let message = |shape: [usize; 3], fft: Fft| -> Result<String, Error> {
        let (x, mut out) = (device.zeros::<f32, 3>(shape)?, device.zeros::<f32, 3>(shape)?);
        let refused = fft.run(&device.stream(), &x, &mut out, &mut Workspace::default());
        Ok(refused.err().map_or_else(|| "no error".to_owned(), |error| error.to_string()))
    };
    let of = |axis| Fft { axis, ..Fft::default() };
    for (shape, axis, wanted) in [
        ([3, 12, 2], None, "has extent 12 in mode 1"),
        ([3, 8, 3], None, "has extent 3 in mode 2"),
        ([8192, 2, 2], Some(0), "has extent 8192 in mode 0"),
        ([3, 8, 2], Some(2), "`x` has 3 modes, axis 2"),
        ([3, 0, 2], None, "has extent 0 in mode 1"),
    ] {
        let found = message(shape, of(axis))?;
        assert!(found.contains(wanted), "{found}");
    }
    let (x, mut out) = (device.zeros::<f32, 2>([8, 2])?, device.zeros::<f32, 2>([4, 2])?);
    let refused = Fft::default().run(&device.stream(), &x, &mut out, &mut Workspace::default());
    assert!(refused.is_err_and(|error| error.to_string().contains("`out`")));
    Ok(())
}

fn signs<T: Real + Into<f64>>(m: usize, n: usize, unit: f64, near: fn(f64) -> T) -> Result<(), Error> {
    let (device, wide) = (Device::simulator(), |x: T| -> f64 { x.into() });
    let x: Vec<T> = (0..m * n).map(|at| near(value(at))).collect();
    let (on_x, mut out) = (device.upload(&x, [m, n])?, device.zeros::<T, 2>([m, n])?);
    out.poison()?;
    hadamard(&device.stream(), 0.25, &on_x, &mut out)?;
    let found = out.download()?;
    for at in (0..m * n).step_by((m * n / 300).max(1)) {
        let (i, j) = (at / n, at % n);
        let term =
            |k: usize| if (j & k).count_ones() % 2 == 1 { -wide(x[i * n + k]) } else { wide(x[i * n + k]) };
        let (wanted, found) = (0.25 * (0..n).map(term).sum::<f64>(), wide(found[at]));
        let room = unit * wanted.abs() + 2e-7 * n as f64;
        assert!((found - wanted).abs() <= room, "{m} x {n}: {found} at {i}, {j}, not {wanted}");
    }
    Ok(())
}

#[test]
fn hadamard_transforms() -> Result<(), Error> {
    for bits in 3..=13 {
        signs(3, 1 << bits, 1e-6, |x| x as f32)?;
        signs(2, 1 << bits, 4e-3, bf16::from_f64)?;
    }
    signs(0, 8, 0.0, |x| x as f32)?;
    signs(300, 8, 1e-6, |x| x as f32)
}
