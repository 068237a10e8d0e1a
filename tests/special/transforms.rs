//! Fourier's and Hadamard's transforms, by their host functions. Of a row that is not finite no complex number is, in one of its parts at
//! least.

use super::bench::{Bench, Want};
use super::{Covered, Entry};
use layout_cuda::{Elem, Error, bf16, f16};
use layout_kernels::Real;
use layout_kernels::kernels::transforms as kernels;
use layout_kernels::transforms::{Fft, RealWorkspace, Workspace, hadamard, irfft, rfft};
use layout_tests::support::special::{Float, Rows};
use std::f64::consts::TAU;

pub fn entries() -> Vec<Entry> {
    let of = |elem| Covered::of(&kernels::hadamard::DEFINITION, elem);
    vec![
        Entry::new(&[Covered::plain(&kernels::fft::DEFINITION)], transformed),
        Entry::new(&[Covered::plain(&kernels::real_halves::DEFINITION)], of_reals),
        Entry::new(&[Elem::F32, Elem::Bf16, Elem::F16].map(of), |bench| {
            signs::<f32>(bench)?;
            signs::<bf16>(bench)?;
            signs::<f16>(bench)
        }),
    ]
}

fn transformed(bench: &Bench<'_>) -> Result<(), Error> {
    for n in [4, 8, 64] {
        let x = bench.rows::<f32>(2 * n);
        let (on_x, mut out) = (bench.tensor(&x.values, [x.m, n, 2])?, bench.output::<f32, 3>([x.m, n, 2])?);
        let (mut workspace, mut to) = (Workspace::default(), out.view_mut()?);
        Fft::default().run(&bench.stream(), &on_x.view()?, &mut to, &mut workspace)?;
        let (found, name) = (out.read()?, format!("fft of {n}"));
        for i in 0..x.m {
            let (row, found) = (x.row(i), &found[i * 2 * n..][..2 * n]);
            if row.iter().any(|x| !x.is_finite()) {
                let is_finite = |pair: &[f32]| pair.iter().all(|part| part.is_finite());
                bench.check_that(!found.chunks(2).any(is_finite), || {
                    format!("{name}, {}: finite", Rows::<f32>::name(i))
                });
                continue;
            }
            let size: f64 = row.iter().map(|x| x.abs()).sum();
            let wanted = (0..2 * n).map(|at| {
                let term = |j: usize| {
                    let (sin, cos) = (-TAU * (j * (at / 2) % n) as f64 / n as f64).sin_cos();
                    let (re, im) = (row[2 * j], row[2 * j + 1]);
                    if at % 2 == 0 { re * cos - im * sin } else { re * sin + im * cos }
                };
                Want::of((0..n).map(term).sum(), 2.0 * size, 8.0 * size * 2f64.powi(-24) + 1e-43)
            });
            bench.check(&name, found, wanted, |_| Rows::<f32>::name(i));
        }
    }
    Ok(())
}

/// There and back, where large finite numbers leave float32 on the way.
fn of_reals(bench: &Bench<'_>) -> Result<(), Error> {
    let n = 64;
    let (x, stream, mut workspace) = (bench.rows::<f32>(n), bench.stream(), RealWorkspace::default());
    let on_x = bench.tensor(&x.values, [x.m, n])?;
    let (mut out, mut back) =
        (bench.output::<f32, 3>([x.m, n / 2 + 1, 2])?, bench.output::<f32, 2>([x.m, n])?);
    rfft(&stream, 1.0 / 64.0, &on_x.view()?, &mut out.view_mut()?, &mut workspace)?;
    irfft(&stream, 1.0, &out.view()?, &mut back.view_mut()?, &mut workspace)?;
    let (found, back) = (out.read()?, back.read()?);
    for i in 0..x.m {
        let (row, back) = (x.row(i), &back[i * n..][..n]);
        let (size, name) = (row.iter().map(|x| x.abs()).sum::<f64>(), || Rows::<f32>::name(i));
        let is_finite = |pair: &[f32]| pair.iter().all(|part| part.is_finite());
        let of_row = &found[i * (n + 2)..][..n + 2];
        bench.check_that(size.is_finite() || !of_row.chunks(2).any(is_finite), || {
            format!("rfft, {}: finite", name())
        });
        if size.is_finite() {
            let wanted = row.iter().map(|x| Want::of(*x, 64.0 * size, 16.0 * size * 2f64.powi(-24) + 1e-42));
            bench.check("irfft", back, wanted, |_| name());
        }
    }
    Ok(())
}

fn signs<T: Float + Real>(bench: &Bench<'_>) -> Result<(), Error> {
    for n in [8, 64] {
        let x = bench.rows::<T>(n);
        let (on_x, mut out) = (bench.tensor(&x.values, [x.m, n])?, bench.output::<T, 2>([x.m, n])?);
        hadamard(&bench.stream(), 0.5, &on_x.view()?, &mut out.view_mut()?)?;
        let wanted = (0..x.m * n).map(|at| {
            let (row, j) = (x.row(at / n), at % n);
            let size: f64 = row.iter().filter(|x| x.is_finite()).map(|x| x.abs()).sum();
            let term = |(k, x): (usize, &f64)| if (j & k).count_ones() % 2 == 1 { -x } else { *x };
            let sum = 0.5 * row.iter().enumerate().map(term).sum::<f64>();
            let room = sum.abs() * 2f64.powi(-T::DIGITS) + 4.0 * size * 2f64.powi(-24) + 8.0 * T::TINY;
            Want::of(sum, size, room)
        });
        bench.check(&format!("hadamard of {n} of {:?}", T::ELEM), &out.read()?, wanted, |at| {
            Rows::<T>::name(at / n)
        });
    }
    Ok(())
}
