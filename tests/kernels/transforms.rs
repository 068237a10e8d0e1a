//! Transforms by each way of reading and writing, against sums in float64.

use crate::support::case::{Case, Outcome, Run};
use crate::support::data::doubles;
use crate::support::special::Float;
use layout_compiler::{Elem, ParamValue};
use layout_cuda::{Error, bf16, f16};
use layout_kernels::kernels::transforms::{fft, hadamard, real_halves};
use std::f64::consts::TAU;

/// Matrices, and transforms of one: none, fewer than a block has, more.
const FOURIER: [[usize; 3]; 6] = [[0, 1, 0], [2, 0, 0], [1, 1, 0], [3, 5, 0], [2, 9, 0], [1, 130, 0]];

/// Rows.
const ROWS: [[usize; 3]; 4] = [[0; 3], [1, 0, 0], [3, 0, 0], [130, 0, 0]];

/// The cases of this file, one for each type.
pub fn cases() -> Vec<Case> {
    let of = |elem, run| Case::new(&hadamard::DEFINITION, ROWS.to_vec(), run).of(elem);
    vec![
        Case::new(&fft::DEFINITION, FOURIER.to_vec(), sums),
        Case::new(
            &real_halves::DEFINITION,
            vec![[0, 4, 0], [1, 1, 0], [3, 2, 0], [2, 256, 0], [5, 127, 0]],
            of_reals,
        ),
        of(Elem::F32, signs::<f32>),
        of(Elem::Bf16, signs::<bf16>),
        of(Elem::F16, signs::<f16>),
    ]
}

fn sums(run: &Run<'_>) -> Result<Outcome, Error> {
    let ([a, count, _], n) = (run.size, run.number("N"));
    let is = |name| run.set.get(name) == Some(ParamValue::Bool(true));
    let (s, x) = (n * count, doubles(a * n * count * 2, 1));
    let floats: Vec<f32> = x.iter().map(|x| *x as f32).collect();
    let (on_x, mut out) = (run.tensor(&floats, [a, s, 2])?, run.output::<f32, 3>([a, s, 2])?);
    fft::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut out.view_mut()?, 0.5)?;
    let place = |of_rows, a: usize, b: usize, n_at: usize| {
        2 * (a * s + if of_rows { b * n + n_at } else { n_at * count + b })
    };
    let sign = if is("INVERSE") { TAU } else { -TAU };
    let turned = |[re, im]: [f64; 2], fraction: f64| {
        let (sin, cos) = (sign * fraction).sin_cos();
        [re * cos - im * sin, re * sin + im * cos]
    };
    // Errors are relative to the root of the mean square.
    let (mut wanted, room) = (vec![0.0; a * s * 2], (n as f64).sqrt());
    for (i, b, k) in (0..a * s).map(|at| (at / s, at % s / n, at % n)) {
        let term = |j: usize| {
            let at = place(is("OF_ROWS"), i, b, j);
            turned([x[at], x[at + 1]], (j * k % n) as f64 / n as f64)
        };
        let sum = (0..n).map(term).fold([0.0; 2], |sum, term| [sum[0] + term[0], sum[1] + term[1]]);
        let factor = if is("ROOTS") { (k * b) as f64 / s as f64 } else { 0.0 };
        let (to, sum) = (place(is("TO_ROWS"), i, b, k), turned(sum, factor));
        wanted[to..to + 2].copy_from_slice(&sum.map(|part| 16.0 + 0.5 * part / room));
    }
    let found = out.read()?.into_iter().map(|part| 16.0 + f64::from(part) / room).collect::<Vec<_>>();
    Ok(Outcome::within(1e-6, found, wanted))
}

/// Each element from its own sum: E - i w O, or E + i w O with w's conjugate, where the imaginary parts of the ends do not count.
fn of_reals(run: &Run<'_>) -> Result<Outcome, Error> {
    let ([m, h, _], inverse) = (run.size, run.set.get("INVERSE") == Some(ParamValue::Bool(true)));
    let (from, to) = if inverse { (h + 1, h) } else { (h, h + 1) };
    let x = doubles(m * from * 2, 1);
    let floats: Vec<f32> = x.iter().map(|x| *x as f32).collect();
    let (on_x, mut out) = (run.tensor(&floats, [m, from, 2])?, run.output::<f32, 3>([m, to, 2])?);
    real_halves::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut out.view_mut()?)?;
    let wanted = (0..m * to).flat_map(|at| {
        let (row, k) = (at / to, at % to);
        let number = |k: usize| {
            let (k, is_real) = if inverse { (k, k.is_multiple_of(h)) } else { (k % h, false) };
            let at = 2 * (row * from + k);
            [x[at], if is_real { 0.0 } else { x[at + 1] }]
        };
        let ([a, b], [c, d]) = (number(k), number(h - k));
        let (sin, cos) = (TAU * k as f64 / (2 * h) as f64).sin_cos();
        let (re, im) = if inverse { (-sin, cos) } else { (-sin, -cos) };
        let (o, p) = (a - c, b + d);
        [a + c + re * o - im * p, b - d + re * p + im * o].map(|part| 16.0 + part)
    });
    let found = out.read()?.into_iter().map(|part| 16.0 + f64::from(part)).collect::<Vec<_>>();
    Ok(Outcome::within(1e-6, found, wanted.collect::<Vec<_>>()))
}

fn signs<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let ([m, ..], n) = (run.size, run.number("N"));
    let x: Vec<T> = doubles(m * n, 2).into_iter().map(T::rounded).collect();
    let (on_x, mut out) = (run.tensor(&x, [m, n])?, run.output::<T, 2>([m, n])?);
    hadamard::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut out.view_mut()?, 0.25)?;
    let x: Vec<f64> = x.iter().map(|x| x.wide()).collect();
    let wanted = (0..m * n).map(|at| {
        let (row, j) = (&x[at / n * n..][..n], at % n);
        let term = |(k, x): (usize, &f64)| if (j & k).count_ones() % 2 == 1 { -x } else { *x };
        // Multiples of 1/16 that float32 holds.
        T::rounded(0.25 * row.iter().enumerate().map(term).sum::<f64>())
    });
    Ok(Outcome::exact(out.read()?, wanted.collect::<Vec<_>>()))
}
