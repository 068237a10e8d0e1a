//! The kernels at the speed of memory, at the edges of their tiles; the bounds are those that their heads state.

use crate::support::case::{Case, Outcome, around, around_tile};
use crate::support::data::{floats, integers};
use layout_examples::kernels::memory::*;
use layout_examples::memory::{PARTS, SPLITS};

/// Lengths around a tile and around several blocks' tiles.
fn lengths(tile: usize) -> Vec<[usize; 3]> {
    [0, 1, 31, 33, tile - 1, tile, tile + 1, 3 * tile + 5].map(|n| [n, 1, 1]).to_vec()
}

/// The part that block `p` takes of tiles of 4096.
fn part(n: usize, p: usize) -> std::ops::Range<usize> {
    (p * 4096).min(n)..((p + 1) * 4096).min(n)
}

/// The cases of this file.
pub fn cases() -> Vec<Case> {
    [reductions(), axes(), rows()].into_iter().flatten().collect()
}

fn reductions() -> Vec<Case> {
    vec![
        Case::new(&sum_of_parts::DEFINITION, lengths(4096), |run| {
            let [n, ..] = run.size;
            let x = floats(n, 1);
            let (on_x, mut parts) = (run.tensor(&x, [n])?, run.output([PARTS])?);
            sum_of_parts::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut parts.view_mut()?)?;
            // Multiples of a quarter below 2^14: every order gives the same sum.
            Ok(Outcome::exact(
                parts.read()?,
                (0..PARTS).map(|p| x[part(n, p)].iter().fold(0.0, |a, b| a + b)),
            ))
        }),
        Case::new(&dot_of_parts::DEFINITION, lengths(4096), |run| {
            let [n, ..] = run.size;
            let (x, y) = (floats(n, 1), floats(n, 2));
            let (on_x, on_y, mut parts) = (run.tensor(&x, [n])?, run.tensor(&y, [n])?, run.output([PARTS])?);
            let (x_view, y_view, mut parts_view) = (on_x.view()?, on_y.view()?, parts.view_mut()?);
            dot_of_parts::launch_with(run.config(), &run.stream(), &x_view, &y_view, &mut parts_view)?;
            let of = |p: usize| part(n, p).fold(0.0, |sum, i| sum + x[i] * y[i]);
            Ok(Outcome::exact(parts.read()?, (0..PARTS).map(of)))
        }),
        Case::new(&max_of_parts::DEFINITION, lengths(4096), |run| {
            let [n, ..] = run.size;
            let x: Vec<f32> = floats(n, 1).iter().map(|x| x - 10.0).collect();
            let (on_x, mut parts) = (run.tensor(&x, [n])?, run.output([PARTS])?);
            max_of_parts::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut parts.view_mut()?)?;
            let of = |p: usize| x[part(n, p)].iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b));
            Ok(Outcome::exact(parts.read()?, (0..PARTS).map(of)))
        }),
        Case::new(&total_sum::DEFINITION, vec![[1; 3], [2; 3]], |run| {
            let x = floats(PARTS, run.size[0] as u64);
            let (on_x, mut out) = (run.tensor(&x, [PARTS])?, run.output([1])?);
            total_sum::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut out.view_mut()?)?;
            Ok(Outcome::exact(out.read()?, [x.iter().sum()]))
        }),
        Case::new(&total_max::DEFINITION, vec![[1; 3], [2; 3]], |run| {
            let x = floats(PARTS, run.size[0] as u64);
            let (on_x, mut out) = (run.tensor(&x, [PARTS])?, run.output([1])?);
            total_max::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut out.view_mut()?)?;
            Ok(Outcome::exact(out.read()?, [x.iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b))]))
        }),
        Case::new(&histogram::DEFINITION, lengths(4096), |run| {
            let [n, ..] = run.size;
            let x: Vec<u8> = integers(n, 1, 255).iter().map(|v| v.unsigned_abs() as u8).collect();
            let (on_x, mut counts) = (run.tensor(&x, [n])?, run.tensor(&[7u32; 256], [256])?);
            histogram::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut counts.view_mut()?)?;
            let mut wanted = [7u32; 256];
            x.iter().for_each(|value| wanted[usize::from(*value)] += 1);
            Ok(Outcome::exact(counts.read()?, wanted))
        }),
    ]
}

fn axes() -> Vec<Case> {
    vec![
        Case::new(&row_sums::DEFINITION, around_tile([2, 2048, 1]), |run| {
            let [m, n, ..] = run.size;
            let x = floats(m * n, 1);
            let (on_x, mut out) = (run.tensor(&x, [m, n])?, run.output([m])?);
            row_sums::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut out.view_mut()?)?;
            let row = |i: usize| x[i * n..(i + 1) * n].iter().fold(0.0, |a, b| a + b);
            Ok(Outcome::exact(out.read()?, (0..m).map(row)))
        }),
        Case::new(&column_sums_of_parts::DEFINITION, around_tile([32, 128, 1]), |run| {
            let [m, n, ..] = run.size;
            let x = floats(m * n, 1);
            let (on_x, mut parts) = (run.tensor(&x, [m, n])?, run.output([SPLITS, n])?);
            let (x_view, mut parts_view) = (on_x.view()?, parts.view_mut()?);
            column_sums_of_parts::launch_with(run.config(), &run.stream(), &x_view, &mut parts_view)?;
            let of = |split: usize, j: usize| {
                let rows = (0..m).filter(|row| row / 32 % SPLITS == split);
                rows.fold(0.0, |sum, row| sum + x[row * n + j])
            };
            Ok(Outcome::exact(parts.read()?, (0..SPLITS * n).map(|at| of(at / n, at % n))))
        }),
        Case::new(&column_sums::DEFINITION, around(128), |run| {
            let [n, ..] = run.size;
            let x = floats(SPLITS * n, 1);
            let (on_x, mut out) = (run.tensor(&x, [SPLITS, n])?, run.output([n])?);
            column_sums::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut out.view_mut()?)?;
            let column = |j: usize| (0..SPLITS).fold(0.0, |sum, split| sum + x[split * n + j]);
            Ok(Outcome::exact(out.read()?, (0..n).map(column)))
        }),
    ]
}

fn rows() -> Vec<Case> {
    vec![Case::new(&softmax::DEFINITION, around_tile([2, 2048, 1]), |run| {
        let [m, n, ..] = run.size;
        let x: Vec<f32> = floats(m * n, 1).iter().map(|x| 10.0 * x).collect();
        let (on_x, mut out) = (run.tensor(&x, [m, n])?, run.output([m, n])?);
        softmax::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut out.view_mut()?)?;
        let mut wanted = Vec::new();
        for row in x.chunks(n.max(1)) {
            let most = row.iter().fold(f64::NEG_INFINITY, |a, b| a.max(f64::from(*b)));
            let parts: Vec<f64> = row.iter().map(|x| (f64::from(*x) - most).exp()).collect();
            let total: f64 = parts.iter().sum();
            wanted.extend(parts.iter().map(|part| part / total));
        }
        // Up to three exponentials of two units each, the roundings of the sum, of its inverse and of the product.
        Ok(Outcome::within(4e-6, out.read()?, wanted))
    })]
}
