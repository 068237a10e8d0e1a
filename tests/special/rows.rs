//! Kernels of rows: softmax, layer norm, RMS norm, cross entropy, each in every form.

use super::bench::{Bench, Want, set_of, with};
use super::{Covered, Entry};
use layout_cuda::{Error, ParamValue, bf16};
use layout_kernels::kernels::memory::*;
use layout_tests::support::special::{Float, Rows};

const EPSILON: f64 = 0.25;

pub fn entries() -> Vec<Entry> {
    vec![
        Entry::new(&[Covered::plain(&softmax::DEFINITION)], |bench| {
            for (odd, group, sizes) in [
                (false, 4, [1, 4, 31, 128]),
                (true, 4, [1, 4, 31, 125]),
                (true, 512, [513, 1000, 2045, 2046]),
            ] {
                let set = set_of(
                    &softmax::DEFINITION,
                    &[("GROUP", group), ("ROUNDS", if group == 4 { 8 } else { 1 })],
                    &[("ODD", ParamValue::Bool(odd))],
                );
                for n in sizes.into_iter().filter(|n| n + 3 <= 2048) {
                    let x = bench.rows::<f32>(n);
                    let (on_x, mut out) = (bench.tensor(&x.values, [x.m, n])?, bench.output([x.m, n])?);
                    softmax::launch_with(with(&set), &bench.stream(), &on_x.view()?, &mut out.view_mut()?)?;
                    soft(bench, "softmax", &x, &out.read()?);
                }
            }
            Ok(())
        }),
        Entry::new(&[Covered::plain(&softmax_in_parts::DEFINITION)], |bench| {
            for (odd, n) in [(false, 5), (false, 1000), (true, 7), (true, 1003)] {
                let small = [("PARTS", 2), ("THREADS", 64), ("ROUNDS", 2), ("ROWS", 2)];
                let set = set_of(&softmax_in_parts::DEFINITION, &small, &[("ODD", ParamValue::Bool(odd))]);
                let x = bench.rows::<f32>(n);
                let (on_x, mut out) = (bench.tensor(&x.values, [x.m, n])?, bench.output([x.m, n])?);
                softmax_in_parts::launch_with(
                    with(&set),
                    &bench.stream(),
                    &on_x.view()?,
                    &mut out.view_mut()?,
                )?;
                soft(bench, "softmax_in_parts", &x, &out.read()?);
            }
            Ok(())
        }),
        Entry::new(&[Covered::plain(&softmax_in_passes::DEFINITION)], |bench| {
            for (odd, n) in [(false, 5), (false, 600), (true, 601)] {
                let set = set_of(
                    &softmax_in_passes::DEFINITION,
                    &[("THREADS", 64)],
                    &[("ODD", ParamValue::Bool(odd))],
                );
                let x = bench.rows::<f32>(n);
                let (on_x, mut out) = (bench.tensor(&x.values, [x.m, n])?, bench.output([x.m, n])?);
                softmax_in_passes::launch_with(
                    with(&set),
                    &bench.stream(),
                    &on_x.view()?,
                    &mut out.view_mut()?,
                )?;
                soft(bench, "softmax_in_passes", &x, &out.read()?);
            }
            Ok(())
        }),
        Entry::new(&[Covered::plain(&softmax_staged::DEFINITION)], |bench| {
            let set = set_of(&softmax_staged::DEFINITION, &STAGED, &[]);
            for n in [4, 1500] {
                let x = bench.rows::<f32>(n);
                let (on_x, mut out) = (bench.tensor(&x.values, [x.m, n])?, bench.output([x.m, n])?);
                softmax_staged::launch_with(
                    with(&set),
                    &bench.stream(),
                    &on_x.view()?,
                    &mut out.view_mut()?,
                )?;
                soft(bench, "softmax_staged", &x, &out.read()?);
            }
            Ok(())
        }),
        layer_norms(),
        Entry::new(&[Covered::plain(&rms_norm::DEFINITION)], root_mean_square),
        Entry::new(&[Covered::plain(&cross_entropy::DEFINITION)], entropy),
    ]
}

/// Fewer blocks, and more rows than clusters.
const STAGED: [(&str, usize); 5] =
    [("PARTS", 2), ("THREADS", 64), ("CLUSTERS", 1), ("TURNS", 2), ("ROUNDS", 8)];

/// As its definition has it: a row that has a NaN, infinity, or nothing above minus infinity, is NaN.
fn soft(bench: &Bench<'_>, kernel: &str, x: &Rows<f32>, found: &[f32]) {
    let mut wanted = Vec::new();
    for row in 0..x.m {
        let row = x.row(row);
        let most = row.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
        let total: f64 = row.iter().map(|x| (x - most).exp()).sum();
        wanted.extend(row.iter().map(|x| {
            let exact = (x - most).exp() / total;
            // A difference is rounded once, or twice by way of a part's largest; below the least normal number nothing is promised.
            Want::Near(exact, exact * (4e-6 + 2e-7 * (most - x).min(200.0)) + 2e-38)
        }));
    }
    bench.check(&format!("{kernel} of {}", x.n), found, wanted, |at| Rows::<f32>::name(at / x.n));
}

/// One of the kernels of layer norm.
macro_rules! layer_norm_entry {
    ($bench:ident, $kernel:ident, $set:expr, $sizes:expr) => {
        for n in $sizes {
            let set = $set;
            let x = $bench.rows::<f32>(n);
            let (scale, shift): (Vec<f32>, Vec<f32>) =
                (0..n).map(|j| (1.0 + (j % 3) as f32, (j % 5) as f32 - 2.0)).unzip();
            let (on_x, mut out) = ($bench.tensor(&x.values, [x.m, n])?, $bench.output([x.m, n])?);
            let (on_scale, on_shift) = ($bench.tensor(&scale, [n])?, $bench.tensor(&shift, [n])?);
            let (stream, mut on_out) = ($bench.stream(), out.view_mut()?);
            let (x_view, scales, shifts) = (on_x.view()?, on_scale.view()?, on_shift.view()?);
            $kernel::launch_with(
                with(&set),
                &stream,
                &x_view,
                &scales,
                &shifts,
                &mut on_out,
                EPSILON as f32,
            )?;
            normal($bench, stringify!($kernel), &x, (&scale, &shift), &out.read()?);
        }
    };
}

fn layer_norms() -> Entry {
    let all = [
        &layer_norm::DEFINITION,
        &layer_norm_in_parts::DEFINITION,
        &layer_norm_in_passes::DEFINITION,
        &layer_norm_staged::DEFINITION,
    ];
    Entry::new(&all.map(Covered::plain), |bench| {
        for odd in [false, true] {
            let other = [("ODD", ParamValue::Bool(odd))];
            let of = |group, rounds| {
                set_of(&layer_norm::DEFINITION, &[("GROUP", group), ("ROUNDS", rounds)], &other)
            };
            layer_norm_entry!(bench, layer_norm, of(4, 8), [1, 4, 31, 125]);
            layer_norm_entry!(bench, layer_norm, of(512, 1), [513, 1000, 2045]);
            let small = [("PARTS", 2), ("THREADS", 64), ("ROUNDS", 2), ("ROWS", 2)];
            layer_norm_entry!(
                bench,
                layer_norm_in_parts,
                set_of(&layer_norm_in_parts::DEFINITION, &small, &other),
                [5, 1003 - 3 * usize::from(!odd)]
            );
        }
        layer_norm_entry!(
            bench,
            layer_norm_in_passes,
            set_of(&layer_norm_in_passes::DEFINITION, &[("THREADS", 64)], &[]),
            [5, 601]
        );
        layer_norm_entry!(
            bench,
            layer_norm_staged,
            set_of(&layer_norm_staged::DEFINITION, &STAGED, &[]),
            [4, 1500]
        );
        Ok(())
    })
}

/// As its definition has it; NaN where the sum of a row's sizes or the sum of its squares around the mean is beyond float32.
fn normal(bench: &Bench<'_>, kernel: &str, x: &Rows<f32>, (scale, shift): (&[f32], &[f32]), found: &[f32]) {
    let (mut wanted, n) = (Vec::new(), x.n as f64);
    for row in 0..x.m {
        let row = x.row(row);
        let size = row.iter().map(|x| x.abs()).sum::<f64>();
        let mean = row.iter().sum::<f64>() / n;
        let squares = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
        let beyond = squares.max(size) > f64::from(f32::MAX);
        let factor = if beyond { f64::NAN } else { 1.0 / (squares / n + EPSILON).sqrt() };
        for (j, x) in row.iter().enumerate() {
            let scale = f64::from(scale[j]);
            let part = (x - mean) * factor * scale;
            let exact = part + f64::from(shift[j]);
            // The mean is within 40 units of the mean of sizes; the rest are roundings of the terms.
            let off = 40.0 * 2f64.powi(-24) * size / n * factor * scale;
            wanted.push(Want::Near(exact, off + 4e-6 * part.abs() * (1.0 + off) + 1e-6));
        }
    }
    bench.check(&format!("{kernel} of {}", x.n), found, wanted, |at| Rows::<f32>::name(at / x.n));
}

fn root_mean_square(bench: &Bench<'_>) -> Result<(), Error> {
    let set = set_of(&rms_norm::DEFINITION, &[("THREADS", 64), ("ROWS", 2)], &[]);
    for n in [1, 7, 200, 505] {
        let x = bench.rows::<bf16>(n);
        let residual = vec![bf16::ZERO; x.values.len()];
        let scale: Vec<bf16> = (0..n).map(|j| bf16::from_f64(1.0 + (j % 3) as f64)).collect();
        let shape = [x.m, n];
        let (on_x, on_residual, on_scale) =
            (bench.tensor(&x.values, shape)?, bench.tensor(&residual, shape)?, bench.tensor(&scale, [n])?);
        let (mut sums, mut out) = (bench.output::<bf16, 2>(shape)?, bench.output::<bf16, 2>(shape)?);
        rms_norm::launch_with(
            with(&set),
            &bench.stream(),
            &on_x.view()?,
            &on_residual.view()?,
            &on_scale.view()?,
            &mut sums.view_mut()?,
            &mut out.view_mut()?,
            EPSILON as f32,
        )?;
        let name = |at: usize| Rows::<bf16>::name(at / n);
        bench.check(
            "the sums of rms_norm",
            &sums.read()?,
            x.values.iter().map(|x| Want::exact(x.wide())),
            name,
        );
        let wanted = by_root(&x, EPSILON).into_iter().enumerate().map(|(at, exact)| {
            let exact = exact * scale[at % n].wide();
            Want::Near(exact, exact.abs() * 0.008 + 1e-38)
        });
        bench.check(&format!("rms_norm of {n}"), &out.read()?, wanted, name);
    }
    Ok(())
}

/// Each element by the root of its row's mean square; NaN where the sum of squares is beyond float32.
pub fn by_root<T: Float>(x: &Rows<T>, epsilon: f64) -> Vec<f64> {
    let mut all = Vec::new();
    for row in 0..x.m {
        let row = x.row(row);
        let squares = row.iter().map(|x| x * x).sum::<f64>();
        let factor = if squares > f64::from(f32::MAX) {
            f64::NAN
        } else {
            1.0 / (squares / x.n as f64 + epsilon).sqrt()
        };
        all.extend(row.iter().map(|x| x * factor));
    }
    all
}

fn entropy(bench: &Bench<'_>) -> Result<(), Error> {
    for (threads, n) in [(64, 1), (64, 7), (64, 600), (64, 1100), (512, 600)] {
        let set = set_of(&cross_entropy::DEFINITION, &[("THREADS", threads), ("ROUNDS", 1)], &[]);
        let logits = bench.rows::<bf16>(n);
        // The middle one, the first, the last, and one beyond.
        for target in [n.saturating_sub(1) / 2, 0, n - 1, n] {
            let targets = vec![target as u32; logits.m];
            let (on_logits, mut loss) =
                (bench.tensor(&logits.values, [logits.m, n])?, bench.output::<f32, 1>([logits.m])?);
            let on_targets = bench.device.upload(&targets, [logits.m])?;
            cross_entropy::launch_with(
                with(&set),
                &bench.stream(),
                &on_logits.view()?,
                &on_targets,
                &mut loss.view_mut()?,
            )?;
            let wanted = (0..logits.m).map(|row| {
                let row = logits.row(row);
                let most = row.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
                let total: f64 = row.iter().map(|x| (x - most).exp()).sum();
                // Of a row of minus infinities alone the logarithm of the sum is minus infinity.
                let total =
                    if most == f64::NEG_INFINITY && !row.iter().any(|x| x.is_nan()) { 0.0 } else { total };
                let far = most - row.get(target).copied().unwrap_or(0.0);
                let exact = far + total.ln();
                Want::Near(exact, 2e-5 + 1e-7 * (far.abs() + exact.abs()))
            });
            bench.check(&format!("cross_entropy of {n}, target {target}"), &loss.read()?, wanted, |row| {
                Rows::<bf16>::name(row)
            });
        }
    }
    Ok(())
}
