//! Rows and sampling by their host functions.

use super::bench::{Bench, Want};
use super::{Covered, Entry};
use layout_bench::operations::{log_parts, through_norm};
use layout_cuda::{Elem, Error, bf16, f16};
use layout_kernels::Real;
use layout_kernels::kernels::random::{dropout, sample};
use layout_kernels::kernels::rows::*;
use layout_kernels::random::{Sampling, Source};
use layout_kernels::rows::{Norm, cross_entropy, cross_entropy_backward};
use layout_tests::support::special::{Float, Rows};

pub fn entries() -> Vec<Entry> {
    let types = [Elem::F32, Elem::Bf16, Elem::F16];
    let covered = |kernel| types.map(|elem| Covered::of(kernel, elem));
    let all = [
        covered(&log_softmax::DEFINITION),
        covered(&softmax_backward::DEFINITION),
        covered(&entropy::DEFINITION),
        covered(&entropy_backward::DEFINITION),
        covered(&norm_backward::DEFINITION),
        covered(&norm_columns::DEFINITION),
        covered(&dropout::DEFINITION),
        covered(&sample::DEFINITION),
    ];
    let all = [all.concat(), vec![Covered::plain(&sum_columns::DEFINITION)]].concat();
    vec![Entry::new(&all, |bench| {
        of_rows::<f32>(bench)?;
        of_rows::<bf16>(bench)?;
        of_rows::<f16>(bench)
    })]
}

/// Half a unit in the last place of a value, and of what is below the type.
fn rounding<T: Float>(exact: f64) -> f64 {
    2f64.powi(-T::DIGITS) * exact.abs() + T::TINY + 1e-37
}

fn of_rows<T: Float + Real>(bench: &Bench<'_>) -> Result<(), Error> {
    for n in [1, 6, 33, 301] {
        let x = bench.rows::<T>(n);
        logits(bench, &x)?;
        norms(bench, &x)?;
        draws(bench, &x)?;
    }
    Ok(())
}

fn logits<T: Float + Real>(bench: &Bench<'_>, x: &Rows<T>) -> Result<(), Error> {
    let (stream, [m, n]) = (bench.stream(), [x.m, x.n]);
    let logs: Vec<(f64, f64)> = (0..m).map(|row| log_parts(&x.row(row))).collect();
    let (on_x, mut out) = (bench.tensor(&x.values, [m, n])?, bench.output::<T, 2>([m, n])?);
    let name = |at: usize| Rows::<T>::name(at / n);
    layout_kernels::rows::log_softmax(&stream, &on_x.view()?, &mut out.view_mut()?)?;
    let wanted = (0..m * n).map(|at| {
        let exact = (x.values[at].wide() - logs[at / n].0) - logs[at / n].1;
        Want::Near(exact, 2e-5 + 3e-7 * exact.abs() + rounding::<T>(exact))
    });
    bench.check("log_softmax", &out.read()?, wanted, name);
    let targets: Vec<u32> = (0..m).map(|row| [row % n, n][usize::from(row % 4 == 3)] as u32).collect();
    let (on_targets, mut loss) = (bench.device.upload(&targets, [m])?, bench.output::<f32, 1>([m])?);
    cross_entropy(&stream, &on_x.view()?, &on_targets, &mut loss.view_mut()?)?;
    let wanted = (0..m).map(|row| match x.row(row).get(targets[row] as usize) {
        Some(own) => {
            let exact = (logs[row].0 - own) + logs[row].1;
            Want::Near(exact, 2e-5 + 3e-7 * exact.abs())
        }
        None => Want::exact(0.0),
    });
    bench.check("entropy", &loss.read()?, wanted, Rows::<T>::name);
    let factors = bench.device.upload(&vec![0.5f32; m], [m])?;
    cross_entropy_backward(&stream, &on_x.view()?, &on_targets, &factors, &mut out.view_mut()?)?;
    let wanted = (0..m * n).map(|at| {
        let target = targets[at / n] as usize;
        let part = ((x.values[at].wide() - logs[at / n].0) - logs[at / n].1).exp();
        let exact = if target < n { 0.5 * (part - f64::from(u8::from(at % n == target))) } else { 0.0 };
        Want::Near(exact, 2e-5 + rounding::<T>(exact))
    });
    bench.check("entropy_backward", &out.read()?, wanted, name);
    // The weights of every kind, the slopes ordinary.
    let dy: Vec<T> = (0..m * n).map(|at| T::rounded([0.5, -1.0, 2.0][at % 3])).collect();
    let on_dy = bench.tensor(&dy, [m, n])?;
    layout_kernels::rows::softmax_backward(&stream, &on_x.view()?, &on_dy.view()?, &mut out.view_mut()?)?;
    let wanted = (0..m * n).map(|at| {
        let (row, own) = (x.row(at / n), x.values[at].wide());
        let terms: Vec<f64> = row.iter().zip(&dy[at / n * n..]).map(|(y, dy)| y * dy.wide()).collect();
        let size: f64 = terms.iter().filter(|x| x.is_finite()).map(|x| x.abs()).sum();
        let exact = own * (dy[at].wide() - terms.iter().sum::<f64>());
        let reach = size * own.abs().max(1.0);
        Want::of(exact, if reach.is_finite() { reach } else { f64::MAX }, 3e-6 * reach + rounding::<T>(exact))
    });
    bench.check("softmax_backward", &out.read()?, wanted, name);
    Ok(())
}

fn norms<T: Float + Real>(bench: &Bench<'_>, x: &Rows<T>) -> Result<(), Error> {
    let (stream, [m, n]) = (bench.stream(), [x.m, x.n]);
    let dy: Vec<T> = (0..m * n).map(|at| T::rounded([0.5, -1.0, 2.0][at % 3])).collect();
    let scale: Vec<T> = (0..n).map(|at| T::rounded([1.5, -0.5][at % 2])).collect();
    let wide = |of: &[T]| of.iter().map(|x| x.wide()).collect::<Vec<f64>>();
    let (on_x, on_dy, on_scale) =
        (bench.tensor(&x.values, [m, n])?, bench.tensor(&dy, [m, n])?, bench.tensor(&scale, [n])?);
    for (norm, is_rms) in [(Norm::Layer, false), (Norm::Rms, true)] {
        let mut dx = bench.output::<T, 2>([m, n])?;
        let (mut of_scale, mut of_shift) = (bench.output::<f32, 1>([n])?, bench.output::<f32, 1>([n])?);
        layout_kernels::rows::norm_backward(
            &stream,
            norm,
            &on_x.view()?,
            &on_scale.view()?,
            &on_dy.view()?,
            &mut dx.view_mut()?,
            &mut of_scale.view_mut()?,
            &mut of_shift.view_mut()?,
            0.25,
        )?;
        let mut wanted = Vec::new();
        for row in 0..m {
            let own = x.row(row);
            let (exact, [mean, factor]) =
                through_norm(is_rms, 0.25, [&own, &wide(&scale), &wide(&dy[row * n..(row + 1) * n])]);
            let size: f64 = own.iter().map(|x| x.abs()).sum();
            let squares: f64 = own.iter().map(|x| 8.0 * x * x).sum();
            // How far the mean may be off, in deviations: what it is of is as far off.
            let off = 1e-6 * (size / n as f64 + mean.abs()) * factor * f64::from(u8::from(!is_rms));
            wanted.extend(exact.into_iter().map(|exact| match squares <= f64::from(f32::MAX) {
                true => {
                    Want::Near(exact, (3e-5 + 20.0 * off) * factor.max(1e-30) * 8.0 + rounding::<T>(exact))
                }
                false if own.iter().all(|x| x.is_finite()) => Want::Loose(exact, 1e-4 * exact.abs() + 1e-4),
                false => Want::Near(f64::NAN, 0.0),
            }));
        }
        bench.check(&format!("norm_backward of {n}, {norm:?}"), &dx.read()?, wanted, |at| {
            Rows::<T>::name(at / n)
        });
        let shifts = (0..n).map(|j| Want::sum((0..m).map(|row| dy[row * n + j].wide()), 40.0));
        bench.check("sum_columns", &of_shift.read()?, shifts, |_| "every row".to_owned());
        // Rows that are NaN are in every column.
        bench.check("norm_columns", &of_scale.read()?, vec![Want::NotFinite; n], |_| "every row".to_owned());
    }
    Ok(())
}

fn draws<T: Float + Real>(bench: &Bench<'_>, x: &Rows<T>) -> Result<(), Error> {
    let (stream, [m, n]) = (bench.stream(), [x.m, x.n]);
    let (on_x, numbers) = (bench.tensor(&x.values, [m, n])?, bench.device.upload(&vec![0.0f32; m], [m])?);
    let mut drawn = bench.device.zeros::<u32, 1>([m])?;
    let most = Sampling { k: 1, ..Sampling::default() };
    layout_kernels::random::sample(&stream, most, &on_x.view()?, &numbers, &mut drawn)?;
    for (row, found) in drawn.download()?.into_iter().enumerate() {
        let own = x.row(row);
        let most = own.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
        let first = own.iter().position(|x| *x == most && *x > f64::NEG_INFINITY);
        // The weight of an infinity is no number.
        let is_right = most == f64::INFINITY || found as usize == first.unwrap_or(0);
        bench.check_that(is_right && (found as usize) < n, || {
            format!("sample, {} of {n}: {found}, not {first:?}", Rows::<T>::name(row))
        });
    }
    let flat = bench.tensor(&x.values, [m * n])?;
    let mut out = bench.output::<T, 1>([m * n])?;
    layout_kernels::random::dropout(&stream, Source::default(), 0.0, &flat.view()?, &mut out.view_mut()?)?;
    let wanted = x.values.iter().map(|x| Want::exact(x.wide()));
    bench.check("dropout of nothing", &out.read()?, wanted, |at| Rows::<T>::name(at / n));
    Ok(())
}
