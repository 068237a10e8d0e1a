//! Rows and random numbers of layout-kernels, each kernel by itself.

use crate::support::case::{Case, Outcome, Run, around};
use crate::support::data::floats;
use crate::support::special::Float;
use layout_bench::operations::{log_parts, philox, through_norm};
use layout_compiler::Elem;
use layout_cuda::{Error, ParamValue, bf16, f16};
use layout_kernels::kernels::random::{dropout, random, sample};
use layout_kernels::kernels::rows::{
    entropy, entropy_backward, log_softmax, norm_backward, norm_columns, softmax_backward, sum_columns,
};

/// Small numbers of a type, and the same as doubles.
fn some<T: Float>(n: usize, seed: u64) -> (Vec<T>, Vec<f64>) {
    let values: Vec<T> = floats(n, seed).into_iter().map(|x| T::rounded(f64::from(x))).collect();
    let wide = values.iter().map(|x| x.wide()).collect();
    (values, wide)
}

/// Calls a function in the type of `T`.
macro_rules! typed {
    ($run:ident, $function:ident) => {
        match $run.set.get("T") {
            Some(ParamValue::Type(Elem::F32)) => $function::<f32>($run),
            Some(ParamValue::Type(Elem::Bf16)) => $function::<bf16>($run),
            _ => $function::<f16>($run),
        }
    };
}

/// Results that may be near 0, held against what they are to be on a ground of 1000: within so much, of `T` within its rounding too.
fn beside<T: Float>(room: f64, found: Vec<T>, wanted: impl IntoIterator<Item = f64>) -> Outcome {
    let found = found.into_iter().map(|x| x.wide() + 1000.0).collect::<Vec<f64>>();
    let room = room + 16.0 * 2f64.powi(-T::DIGITS);
    Outcome::within(room / 900.0, found, wanted.into_iter().map(|x| x + 1000.0))
}

fn logs<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, n, ..] = run.size;
    let (x, wide) = some::<T>(m * n, 1);
    let (on_x, mut out) = (run.tensor(&x, [m, n])?, run.output::<T, 2>([m, n])?);
    log_softmax::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut out.view_mut()?)?;
    let parts = |at: usize| log_parts(&wide[at / n * n..(at / n + 1) * n]);
    let log = |at: usize| (wide[at] - parts(at).0) - parts(at).1;
    Ok(beside(1e-5, out.read()?, (0..m * n).map(log)))
}

fn soft_back<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, n, ..] = run.size;
    let ((y, wide), (dy, slopes)) = (some::<T>(m * n, 1), some::<T>(m * n, 2));
    let (on_y, on_dy, mut out) =
        (run.tensor(&y, [m, n])?, run.tensor(&dy, [m, n])?, run.output::<T, 2>([m, n])?);
    softmax_backward::launch_with(
        run.config(),
        &run.stream(),
        &on_y.view()?,
        &on_dy.view()?,
        &mut out.view_mut()?,
    )?;
    let sum = |row: usize| (row * n..(row + 1) * n).map(|at| wide[at] * slopes[at]).sum::<f64>();
    // Sums of small multiples of a sixteenth: exact, and rounded once.
    Ok(Outcome::exact(out.read()?, (0..m * n).map(|at| T::rounded(wide[at] * (slopes[at] - sum(at / n))))))
}

/// Labels, of which every third is none.
fn labels(m: usize, n: usize) -> Vec<u32> {
    (0..m).map(|row| if row % 3 == 2 { n as u32 } else { (row * 7 % n.max(1)) as u32 }).collect()
}

fn losses<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, n, ..] = run.size;
    let ((x, wide), targets) = (some::<T>(m * n, 1), labels(m, n));
    let (on_x, on_targets, mut out) =
        (run.tensor(&x, [m, n])?, run.tensor(&targets, [m])?, run.output::<f32, 1>([m])?);
    entropy::launch_with(
        run.config(),
        &run.stream(),
        &on_x.view()?,
        &on_targets.view()?,
        &mut out.view_mut()?,
    )?;
    let loss = |row: usize| match targets[row] as usize {
        target if target < n => {
            let (most, log) = log_parts(&wide[row * n..(row + 1) * n]);
            (most - wide[row * n + target]) + log
        }
        _ => 0.0,
    };
    Ok(beside(1e-5, out.read()?, (0..m).map(loss)))
}

fn losses_back<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, n, ..] = run.size;
    let ((x, wide), targets, factors) = (some::<T>(m * n, 1), labels(m, n), floats(m, 3));
    let (on_x, on_targets, on_factors) =
        (run.tensor(&x, [m, n])?, run.tensor(&targets, [m])?, run.tensor(&factors, [m])?);
    let mut out = run.output::<T, 2>([m, n])?;
    let (config, stream, mut on_out) = (run.config(), run.stream(), out.view_mut()?);
    let (logits, labels) = (on_x.view()?, on_targets.view()?);
    entropy_backward::launch_with(config, &stream, &logits, &labels, &on_factors.view()?, &mut on_out)?;
    let slope = |at: usize| {
        let (row, target) = (at / n, targets[at / n] as usize);
        let (most, log) = log_parts(&wide[row * n..(row + 1) * n]);
        let part = ((wide[at] - most) - log).exp();
        let part = part - f64::from(u8::from(at % n == target));
        if target < n { part * f64::from(factors[row]) } else { 0.0 }
    };
    Ok(beside(1e-5, out.read()?, (0..m * n).map(slope)))
}

fn norms_back<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, n, ..] = run.size;
    let is_rms = run.set.get("RMS") == Some(ParamValue::Bool(true));
    let ((x, wide), (scale, factors), (dy, slopes)) =
        (some::<T>(m * n, 1), some::<T>(n, 2), some::<T>(m * n, 3));
    let (on_x, on_scale, on_dy) =
        (run.tensor(&x, [m, n])?, run.tensor(&scale, [n])?, run.tensor(&dy, [m, n])?);
    let (mut dx, mut stats) = (run.output::<T, 2>([m, n])?, run.output::<f32, 2>([m, 2])?);
    norm_backward::launch_with(
        run.config(),
        &run.stream(),
        &on_x.view()?,
        &on_scale.view()?,
        &on_dy.view()?,
        &mut dx.view_mut()?,
        &mut stats.view_mut()?,
        0.25,
    )?;
    let line = |of: &[f64], row: usize| of[row * n..(row + 1) * n].to_vec();
    let of = |row: usize| through_norm(is_rms, 0.25, [&line(&wide, row), &factors, &line(&slopes, row)]);
    let (rows, of_rows): (Vec<_>, Vec<_>) = (0..m).map(of).unzip();
    let found = beside(2e-5, dx.read()?, rows.concat());
    Ok(if n == 0 { found } else { found.and(beside(2e-5, stats.read()?, of_rows.concat())) })
}

fn columns<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, n, s] = run.size;
    let ((x, wide), (dy, slopes), stats) = (some::<T>(m * n, 1), some::<T>(m * n, 2), floats(2 * m, 3));
    let (on_x, on_dy, on_stats) =
        (run.tensor(&x, [m, n])?, run.tensor(&dy, [m, n])?, run.tensor(&stats, [m, 2])?);
    let mut parts = run.output::<f32, 3>([s, 2, n])?;
    let (config, stream, mut on_parts) = (run.config(), run.stream(), parts.view_mut()?);
    norm_columns::launch_with(
        config,
        &stream,
        &on_x.view()?,
        &on_dy.view()?,
        &on_stats.view()?,
        &mut on_parts,
    )?;
    let sum = |at: usize| {
        let (part, is_shift, column) = (at / n / 2, at / n % 2 == 1, at % n);
        let term = |row: usize| {
            let normal = (wide[row * n + column] - f64::from(stats[2 * row])) * f64::from(stats[2 * row + 1]);
            slopes[row * n + column] * if is_shift { 1.0 } else { normal }
        };
        (part..m).step_by(s).map(term).sum::<f64>() as f32
    };
    Ok(Outcome::exact(parts.read()?, (0..2 * s * n).map(sum)))
}

/// Uniform number `i`.
fn unit(i: usize) -> f64 {
    f64::from(philox([(i / 4) as u32, 0, 5, 0], [7, 0])[i % 4] >> 8) / f64::from(1 << 24)
}

fn numbers<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [n, ..] = run.size;
    let mut out = run.output::<T, 1>([n])?;
    random::launch_with(run.config(), &run.stream(), &mut out.view_mut()?, 7, 5, 0.5, 2.0)?;
    let exact = |i: usize| match run.set.get("F") {
        Some(ParamValue::Function("uniform")) => 0.5 + 2.0 * unit(i),
        _ => {
            let (first, angle) = (i / 2 * 2, unit(i / 2 * 2 + 1) * 2.0 * std::f64::consts::PI);
            let radius = 2.0 * (-2.0 * (1.0 - unit(first)).ln()).sqrt();
            0.5 + radius * if i == first { angle.cos() } else { angle.sin() }
        }
    };
    Ok(beside(2e-5, out.read()?, (0..n).map(exact)))
}

fn dropped<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [n, ..] = run.size;
    let (x, wide) = some::<T>(n, 1);
    let (on_x, mut out) = (run.tensor(&x, [n])?, run.output::<T, 1>([n])?);
    dropout::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut out.view_mut()?, 7, 5, 0.5)?;
    let kept = |i: usize| T::rounded(if unit(i) >= 0.5 { 2.0 * wide[i] } else { 0.0 });
    Ok(Outcome::exact(out.read()?, (0..n).map(kept)))
}

/// A number in the middle of the weight of a column is to draw it.
fn drawn<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, n, ..] = run.size;
    let (x, wide) = some::<T>(m * n, 1);
    let weight = |at: usize| (wide[at] / 0.75).exp();
    let wanted: Vec<u32> = (0..m).map(|row| (row * 37 % n) as u32).collect();
    let number = |row: usize| {
        let column = row * n + wanted[row] as usize;
        let before: f64 = (row * n..column).map(weight).sum();
        let all: f64 = (row * n..(row + 1) * n).map(weight).sum();
        ((before + 0.5 * weight(column)) / all) as f32
    };
    let numbers: Vec<f32> = (0..m).map(number).collect();
    let (on_x, on_numbers, mut out) =
        (run.tensor(&x, [m, n])?, run.tensor(&numbers, [m])?, run.output::<u32, 1>([m])?);
    let (config, stream, mut on_out) = (run.config(), run.stream(), out.view_mut()?);
    sample::launch_with(
        config,
        &stream,
        &on_x.view()?,
        &on_numbers.view()?,
        &mut on_out,
        0.75,
        u32::MAX,
        1.0,
    )?;
    Ok(Outcome::exact(out.read()?, wanted))
}

/// The cases of this file.
pub fn cases() -> Vec<Case> {
    let rows = || vec![[0, 7, 1], [1, 1, 1], [5, 67, 1], [3, 64, 1], [2, 2053, 1]];
    vec![
        Case::new(&log_softmax::DEFINITION, rows(), |run| typed!(run, logs)),
        Case::new(&softmax_backward::DEFINITION, rows(), |run| typed!(run, soft_back)),
        Case::new(&entropy::DEFINITION, rows(), |run| typed!(run, losses)),
        Case::new(&entropy_backward::DEFINITION, rows(), |run| typed!(run, losses_back)),
        Case::new(&norm_backward::DEFINITION, rows(), |run| typed!(run, norms_back)),
        Case::new(&norm_columns::DEFINITION, vec![[0, 3, 2], [1, 1, 1], [37, 257, 4]], |run| {
            typed!(run, columns)
        }),
        Case::new(&sum_columns::DEFINITION, vec![[0, 1, 1], [1, 1, 1], [257, 5, 1]], |run| {
            let [n, s, ..] = run.size;
            let parts = floats(2 * s * n, 1);
            let on_parts = run.tensor(&parts, [s, 2, n])?;
            let (mut scale, mut shift) = (run.output::<f32, 1>([n])?, run.output::<f32, 1>([n])?);
            let (mut on_scale, mut on_shift) = (scale.view_mut()?, shift.view_mut()?);
            sum_columns::launch_with(
                run.config(),
                &run.stream(),
                &on_parts.view()?,
                &mut on_scale,
                &mut on_shift,
            )?;
            let sum =
                |which: usize, j: usize| (0..s).map(|part| parts[(2 * part + which) * n + j]).sum::<f32>();
            let of_scale = Outcome::exact(scale.read()?, (0..n).map(|j| sum(0, j)));
            Ok(of_scale.and(Outcome::exact(shift.read()?, (0..n).map(|j| sum(1, j)))))
        }),
        Case::new(&random::DEFINITION, around(1024), |run| typed!(run, numbers)),
        Case::new(&dropout::DEFINITION, around(1024), |run| typed!(run, dropped)),
        Case::new(&sample::DEFINITION, vec![[0, 5, 1], [1, 1, 1], [4, 67, 1], [3, 257, 1]], |run| {
            typed!(run, drawn)
        }),
    ]
}
