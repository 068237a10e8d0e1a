//! The kernels of the examples.

use crate::support::case::{Case, Outcome, Run, around, around_tile, output_of, tile_of};
use crate::support::data::{Operand, doubles, floats};
use layout_cuda::{Error, LaunchConfig, ParamValue, Stream, TensorView, TensorViewMut};
use layout_examples::kernels::{
    attraction, block_tiled, block_tiled_vectorized, coalescing, naive, tiled, tiled_register, vector_add,
};
use layout_kernels::kernels::{last_columns, last_rows, resize_both, sgemm, tensor_core};

/// Sizes around a tile; one is so deep that each of three stages is filled anew.
fn with_every_stage_again([m, n, k]: [usize; 3]) -> Vec<[usize; 3]> {
    [around_tile([m, n, k]), vec![[m, n, 4 * k + 1]]].concat()
}

/// `sgemm` of so many slices.
fn slices(count: i64, sizes: Vec<[usize; 3]>) -> Case {
    Case::new(&sgemm::DEFINITION, sizes, |run| {
        matmul(run, |config, stream, a, b, c| sgemm::launch_with(config, stream, a, b, c))
    })
    .with("SLICES", ParamValue::Int(count))
}

/// What all bodies pull body `i` by along an axis, and the sum of the sizes.
fn pulled(bodies: &[f32], i: usize, axis: usize) -> (f64, f64) {
    let term = |other: &[f32]| {
        let d = [0, 1, 2].map(|axis| f64::from(other[axis]) - f64::from(bodies[4 * i + axis]));
        let near = d.iter().map(|d| d * d).sum::<f64>() + 0.25;
        f64::from(other[3]) * d[axis] / (near * near.sqrt())
    };
    bodies.chunks(4).map(term).fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()))
}

/// The cases of the examples.
pub fn cases() -> Vec<Case> {
    // A block moves 4096 elements of a row, of either operand.
    let mut both = around_tile([2, 4096, 3]);
    both.extend([[2, 3, 4095], [1, 2, 4097]]);
    vec![
        Case::new(&vector_add::DEFINITION, around(256), |run| {
            let [n, ..] = run.size;
            let (a, b) = (floats(n, 1), floats(n, 2));
            let c = output_of!(run, vector_add(a: [n], b: [n]) -> [n]);
            Ok(Outcome::exact(c, a.iter().zip(&b).map(|(a, b)| a + b)))
        }),
        Case::new(&attraction::DEFINITION, [0, 1, 255, 257, 512, 700].map(|n| [n, 1, 1]).to_vec(), |run| {
            let [n, ..] = run.size;
            let bodies = floats(4 * n, 1);
            let (there, mut pull) = (run.tensor(&bodies, [n, 4])?, run.output::<f32, 2>([n, 3])?);
            let (given, mut written) = (there.view()?, pull.view_mut()?);
            attraction::launch_with(run.config(), &run.stream(), 0.25, &given, &mut written)?;
            let found = pull.read()?;
            let exact = |at: usize| pulled(&bodies, at / 3, at % 3);
            let near = |at: usize| {
                let (sum, size) = exact(at);
                (f64::from(found[at]) - sum).abs() <= size * (2f64.powi(-20) + n as f64 * 2f64.powi(-24))
            };
            Ok(Outcome::exact((0..3 * n).map(|at| u8::from(near(at))).collect(), vec![1; 3 * n]))
        }),
        Case::new(&resize_both::DEFINITION, both, |run| {
            let [m, n, k] = run.size;
            let shapes = [[m, k], [k, n], [m + 17, k.next_multiple_of(4)], [k.saturating_sub(1), n + 260]];
            let values = [floats(m * k, 1), floats(k * n, 2)];
            let (a, b) = (run.tensor(&values[0], shapes[0])?, run.tensor(&values[1], shapes[1])?);
            let (mut new_a, mut new_b) = (run.output(shapes[2])?, run.output(shapes[3])?);
            let (a, b) = (a.view()?, b.view()?);
            let (mut a_view, mut b_view) = (new_a.view_mut()?, new_b.view_mut()?);
            resize_both::launch_with(run.config(), &run.stream(), &a, &b, &mut a_view, &mut b_view)?;
            let of_a = Outcome::exact(new_a.read()?, resized(&values[0], shapes[0], shapes[2]));
            Ok(of_a.and(Outcome::exact(new_b.read()?, resized(&values[1], shapes[1], shapes[3]))))
        }),
        Case::new(&naive::DEFINITION, around_tile(tile_of(&naive::DEFINITION)), |run| {
            matmul(run, |config, stream, a, b, c| naive::launch_with(config, stream, a, b, c))
        }),
        Case::new(&coalescing::DEFINITION, around_tile(tile_of(&coalescing::DEFINITION)), |run| {
            matmul(run, |config, stream, a, b, c| coalescing::launch_with(config, stream, a, b, c))
        }),
        Case::new(&tiled::DEFINITION, around_tile(tile_of(&tiled::DEFINITION)), |run| {
            matmul(run, |config, stream, a, b, c| tiled::launch_with(config, stream, a, b, c))
        }),
        Case::new(&tiled_register::DEFINITION, around_tile(tile_of(&tiled_register::DEFINITION)), |run| {
            matmul(run, |config, stream, a, b, c| tiled_register::launch_with(config, stream, a, b, c))
        }),
        Case::new(&block_tiled::DEFINITION, around_tile(tile_of(&block_tiled::DEFINITION)), |run| {
            matmul(run, |config, stream, a, b, c| block_tiled::launch_with(config, stream, a, b, c))
        }),
        Case::new(
            &block_tiled_vectorized::DEFINITION,
            around_tile(tile_of(&block_tiled_vectorized::DEFINITION)),
            |run| {
                matmul(run, |config, stream, a, b, c| {
                    block_tiled_vectorized::launch_with(config, stream, a, b, c)
                })
            },
        ),
        Case::new(&tensor_core::DEFINITION, around_tile(tile_of(&tensor_core::DEFINITION)), |run| {
            matmul(run, |config, stream, a, b, c| tensor_core::launch_with(config, stream, a, b, c))
        }),
        // Operands of more columns than the product has: A's are zeros.
        Case::new(&tensor_core::DEFINITION, around_tile(tile_of(&tensor_core::DEFINITION)), |run| {
            let [m, n, k] = run.size;
            let (depth, width) = (k.next_multiple_of(4), n.next_multiple_of(4));
            let a = resized(&floats(m * k, 3), [m, k], [m, depth]);
            let b = resized(&floats(k * n, 4), [k, n], [k, width]);
            let a = Operand::new(run.device, &a, run.skew, [m, depth], [depth + 8, 1])?;
            let b = Operand::new(run.device, &b, run.skew, [k, width], [width + 4, 1])?;
            let mut c = run.output([m, n])?;
            let (a, b) = (a.view()?, b.view()?);
            tensor_core::launch_with(run.config(), &run.stream(), &a, &b, &mut c.view_mut()?)?;
            let wanted = product(&doubles(m * k, 3), &doubles(k * n, 4), [m, n, k]);
            Ok(Outcome::within(0.0, c.read()?, wanted))
        }),
        Case::new(&last_rows::DEFINITION, AROUND_EDGE.to_vec(), |run| {
            let [m, n, k] = run.size;
            let run = &Run { size: [m.min(run.number("ROWS")), n, k], ..*run };
            matmul(run, |config, stream, a, b, c| last_rows::launch_with(config, stream, a, b, c))
        }),
        Case::new(&last_columns::DEFINITION, AROUND_EDGE.to_vec(), |run| {
            let [n, m, k] = run.size;
            let run = &Run { size: [m, n.min(run.number("COLS")), k], ..*run };
            matmul(run, |config, stream, a, b, c| last_columns::launch_with(config, stream, a, b, c))
        }),
        slices(1, around_tile([128, 128, 32])),
        slices(8, with_every_stage_again([64, 64, 128])),
    ]
}

/// Up to four last rows, or columns, around a block's part of the others and of K.
const AROUND_EDGE: [[usize; 3]; 7] =
    [[0, 5, 3], [1, 0, 5], [1, 7, 0], [1, 1, 1], [4, 32, 256], [1, 33, 1025], [3, 70, 1030]];

/// A matrix of another size.
fn resized(values: &[f32], [m, n]: [usize; 2], [p, q]: [usize; 2]) -> Vec<f32> {
    let element = |at: usize| match (at / q, at % q) {
        (row, col) if row < m && col < n => values[row * n + col],
        _ => 0.0,
    };
    (0..p * q).map(element).collect()
}

/// A launch of a matrix multiplication.
pub type Launch = fn(
    LaunchConfig<'_>,
    &Stream,
    &TensorView<'_, f32, 2>,
    &TensorView<'_, f32, 2>,
    &mut TensorViewMut<'_, f32, 2>,
) -> Result<(), Error>;

/// `C = A B` of sizes `[M, N, K]`.
pub fn matmul(run: &Run<'_>, launch: Launch) -> Result<Outcome, Error> {
    let [m, n, k] = run.size;
    let a = run.tensor(&floats(m * k, 3), [m, k])?;
    let b = run.tensor(&floats(k * n, 4), [k, n])?;
    let mut c: Operand<f32, 2> = run.output([m, n])?;
    launch(run.config(), &run.stream(), &a.view()?, &b.view()?, &mut c.view_mut()?)?;
    Ok(Outcome::within(0.0, c.read()?, product(&doubles(m * k, 3), &doubles(k * n, 4), [m, n, k])))
}

/// The product of two row-major matrices: a row of B at a time, and the terms of each element in the order of K.
pub fn product(a: &[f64], b: &[f64], [m, n, k]: [usize; 3]) -> Vec<f64> {
    let mut c = vec![0.0; m * n];
    for (row, c) in c.chunks_exact_mut(n.max(1)).enumerate() {
        for (a, b) in a[row * k..][..k].iter().zip(b.chunks_exact(n)) {
            c.iter_mut().zip(b).for_each(|(c, b)| *c += a * b);
        }
    }
    c
}
