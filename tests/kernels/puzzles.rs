//! The puzzles at more sizes than their text's.

use crate::kernels::examples::matmul;
use crate::support::case::{Case, Outcome, around, around_tile, output_of};
use crate::support::data::integers;
use layout_examples::kernels::puzzles::*;

/// Small integers: their sums are exact.
fn values(n: usize, seed: u64) -> Vec<f32> {
    integers(n, seed, 10).iter().map(|v| *v as f32).collect()
}

fn up_to(most: usize) -> Vec<[usize; 3]> {
    (0..=most).map(|n| [n, 1, 1]).collect()
}

/// The sums up to each element.
fn scanned(x: &[f32]) -> Vec<f32> {
    x.iter()
        .scan(0.0, |sum, x| {
            *sum += x;
            Some(*sum)
        })
        .collect()
}

/// Sums of `taps` elements times a filter, zeros beyond the end.
fn convolved(a: &[f32], b: &[f32]) -> Vec<f32> {
    let at = |i: usize| a.get(i).copied().unwrap_or(0.0);
    (0..a.len()).map(|i| (0..b.len()).map(|j| at(i + j) * b[j]).sum()).collect()
}

/// The cases of the puzzles.
pub fn cases() -> Vec<Case> {
    [stencils(), reductions(), scans(), products()].into_iter().flatten().collect()
}

fn stencils() -> Vec<Case> {
    vec![
        Case::new(&pooling::DEFINITION, around(8), |run| {
            let [n, ..] = run.size;
            let a = values(n, 1);
            let out = output_of!(run, pooling(-> [n], a: [n]));
            Ok(Outcome::exact(out, (0..n).map(|i| a[i.saturating_sub(2)..=i].iter().sum())))
        }),
        Case::new(&conv_1d_simple::DEFINITION, up_to(8), |run| {
            let [n, ..] = run.size;
            let (a, b) = (values(n, 1), values(3, 2));
            let out = output_of!(run, conv_1d_simple(-> [n], a: [n], b: [3]));
            Ok(Outcome::exact(out, convolved(&a, &b)))
        }),
        Case::new(&conv_1d_block_boundary::DEFINITION, around(8), |run| {
            let [n, ..] = run.size;
            let (a, b) = (values(n, 1), values(4, 2));
            let out = output_of!(run, conv_1d_block_boundary(-> [n], a: [n], b: [4]));
            Ok(Outcome::exact(out, convolved(&a, &b)))
        }),
        Case::new(&conv_2d_halo::DEFINITION, around_tile([8, 8, 1]), |run| {
            let [h, w, ..] = run.size;
            let (a, b) = (values(h * w, 1), values(9, 2));
            let (on_a, on_b) = (run.tensor(&a, [h, w])?, run.tensor(&b, [3, 3])?);
            let mut out = run.output([h, w])?;
            let (a_view, b_view) = (on_a.view()?, on_b.view()?);
            conv_2d_halo::launch_with(run.config(), &run.stream(), &mut out.view_mut()?, &a_view, &b_view)?;
            let at = |y: usize, x: usize| if y < h && x < w { a[y * w + x] } else { 0.0 };
            let one = |i: usize| (0..9).map(|j| at(i / w + j / 3, i % w + j % 3) * b[j]).sum();
            Ok(Outcome::exact(out.read()?, (0..h * w).map(one)))
        }),
    ]
}

fn reductions() -> Vec<Case> {
    vec![
        Case::new(&dot_product::DEFINITION, around(8), |run| {
            let [n, ..] = run.size;
            let (a, b) = (values(n, 1), values(n, 2));
            let out = output_of!(run, dot_product(-> [1], a: [n], b: [n]));
            Ok(Outcome::exact(out, [a.iter().zip(&b).fold(0.0, |sum, (a, b)| sum + a * b)]))
        }),
        Case::new(&row_sum::DEFINITION, around_tile([3, 8, 1]), |run| {
            let [m, n, ..] = run.size;
            let a = values(m * n, 1);
            let out = output_of!(run, row_sum(-> [m, 1], a: [m, n]));
            let row = |i: usize| a[i * n..(i + 1) * n].iter().fold(0.0, |sum, a| sum + a);
            Ok(Outcome::exact(out, (0..m).map(row)))
        }),
        Case::new(&column_sum::DEFINITION, around_tile([8, 3, 1]), |run| {
            let [m, n, ..] = run.size;
            let a = values(m * n, 1);
            let out = output_of!(run, column_sum(-> [1, n], a: [m, n]));
            let column = |j: usize| (0..m).fold(0.0, |sum, i| sum + a[i * n + j]);
            Ok(Outcome::exact(out, (0..n).map(column)))
        }),
    ]
}

fn scans() -> Vec<Case> {
    vec![
        Case::new(&prefix_sum_simple::DEFINITION, up_to(8), |run| {
            let [n, ..] = run.size;
            let a = values(n, 1);
            let out = output_of!(run, prefix_sum_simple(-> [n], a: [n]));
            Ok(Outcome::exact(out, scanned(&a)))
        }),
        Case::new(&prefix_sum_blelloch::DEFINITION, up_to(8), |run| {
            let [n, ..] = run.size;
            let a = values(n, 1);
            let out = output_of!(run, prefix_sum_blelloch(-> [n], a: [n]));
            Ok(Outcome::exact(out, scanned(&a)))
        }),
        Case::new(&prefix_sum_local::DEFINITION, around(8), |run| {
            let [n, ..] = run.size;
            let a = values(n, 1);
            let extended = n + n.div_ceil(8);
            let out = output_of!(run, prefix_sum_local(-> [extended], a: [n]));
            let sums: Vec<f32> = a.chunks(8).flat_map(scanned).collect();
            let totals = a.chunks(8).map(|part| part.iter().sum());
            Ok(Outcome::exact(out, sums.into_iter().chain(totals)))
        }),
        Case::new(&prefix_sum_add_totals::DEFINITION, around(8), |run| {
            let [n, ..] = run.size;
            let a = values(n + n.div_ceil(8), 1);
            let mut out = run.tensor(&a, [a.len()])?;
            prefix_sum_add_totals::launch_with(run.config(), &run.stream(), &mut out.view_mut()?, n)?;
            let mut wanted = a.clone();
            for i in 0..n {
                wanted[i] += a[n..n + i / 8].iter().fold(0.0, |sum, a| sum + a);
            }
            Ok(Outcome::exact(out.read()?, wanted))
        }),
    ]
}

fn products() -> Vec<Case> {
    vec![
        Case::new(&matmul_naive::DEFINITION, around_tile([3, 3, 3]), |run| {
            matmul(run, |config, stream, a, b, c| matmul_naive::launch_with(config, stream, c, a, b))
        }),
        Case::new(&matmul_shared::DEFINITION, (0..=3).map(|size| [size; 3]).collect(), |run| {
            matmul(run, |config, stream, a, b, c| matmul_shared::launch_with(config, stream, c, a, b))
        }),
        Case::new(&matmul_tiled::DEFINITION, around_tile([3, 3, 3]), |run| {
            matmul(run, |config, stream, a, b, c| matmul_tiled::launch_with(config, stream, c, a, b))
        }),
        Case::new(&matmul_layout_tensor::DEFINITION, around_tile([3, 3, 3]), |run| {
            matmul(run, |config, stream, a, b, c| matmul_layout_tensor::launch_with(config, stream, c, a, b))
        }),
    ]
}
