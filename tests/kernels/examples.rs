//! The kernels of the examples.

use crate::support::case::{Case, Outcome, Run, around, around_tile};
use crate::support::data::{Operand, doubles, floats};
use layout_cuda::{Error, LaunchConfig, Stream, TensorView, TensorViewMut};
use layout_examples::kernels::{
    block_tiled, block_tiled_vectorized, coalescing, naive, resize, sgemm, sgemm_sliced, tensor_core, tiled,
    tiled_register, vector_add,
};

/// The cases of the examples.
pub fn cases() -> Vec<Case> {
    vec![
        Case::new(&vector_add::DEFINITION, around(256), |run| {
            let [n, ..] = run.size;
            let (a, b) = (floats(n, 1), floats(n, 2));
            let (on_a, on_b, mut c) = (run.tensor(&a, [n])?, run.tensor(&b, [n])?, run.output([n])?);
            let (a_view, b_view, mut c_view) = (on_a.view()?, on_b.view()?, c.view_mut()?);
            vector_add::launch_with(run.config(), &run.stream(), &a_view, &b_view, &mut c_view)?;
            Ok(Outcome::exact(c.read()?, a.iter().zip(&b).map(|(a, b)| a + b)))
        }),
        Case::new(&resize::DEFINITION, around_tile([16, 256, 1]), |run| {
            let [m, n, _] = run.size;
            let (p, q) = (m + 5, n.saturating_sub(3));
            let values = floats(m * n, 1);
            let (src, mut dst) = (run.tensor(&values, [m, n])?, run.output([p, q])?);
            resize::launch_with(run.config(), &run.stream(), &src.view()?, &mut dst.view_mut()?)?;
            let wanted = |at: usize| if at / q < m { values[at / q * n + at % q] } else { 0.0 };
            Ok(Outcome::exact(dst.read()?, (0..p * q).map(wanted)))
        }),
        Case::new(&naive::DEFINITION, around_tile([8, 32, 5]), |run| {
            matmul(run, |config, stream, a, b, c| naive::launch_with(config, stream, a, b, c))
        }),
        Case::new(&coalescing::DEFINITION, around_tile([2, 512, 3]), |run| {
            matmul(run, |config, stream, a, b, c| coalescing::launch_with(config, stream, a, b, c))
        }),
        Case::new(&tiled::DEFINITION, around_tile([32, 32, 64]), |run| {
            matmul(run, |config, stream, a, b, c| tiled::launch_with(config, stream, a, b, c))
        }),
        Case::new(&tiled_register::DEFINITION, around_tile([64, 64, 32]), |run| {
            matmul(run, |config, stream, a, b, c| tiled_register::launch_with(config, stream, a, b, c))
        }),
        Case::new(&block_tiled::DEFINITION, around_tile([64, 64, 16]), |run| {
            matmul(run, |config, stream, a, b, c| block_tiled::launch_with(config, stream, a, b, c))
        }),
        Case::new(&block_tiled_vectorized::DEFINITION, around_tile([64, 64, 16]), |run| {
            matmul(run, |config, stream, a, b, c| {
                block_tiled_vectorized::launch_with(config, stream, a, b, c)
            })
        }),
        Case::new(&tensor_core::DEFINITION, around_tile([128, 128, 32]), |run| {
            matmul(run, |config, stream, a, b, c| tensor_core::launch_with(config, stream, a, b, c))
        }),
        Case::new(&sgemm::DEFINITION, around_tile([128, 128, 32]), |run| {
            matmul(run, |config, stream, a, b, c| sgemm::launch_with(config, stream, a, b, c))
        }),
        Case::new(&sgemm_sliced::DEFINITION, around_tile([64, 64, 128]), |run| {
            matmul(run, |config, stream, a, b, c| sgemm_sliced::launch_with(config, stream, a, b, c))
        }),
    ]
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

/// The product of two row-major matrices.
pub fn product(a: &[f64], b: &[f64], [m, n, k]: [usize; 3]) -> Vec<f64> {
    let element = |at: usize| (0..k).map(|l| a[at / n * k + l] * b[l * n + at % n]).sum();
    (0..m * n).map(element).collect()
}
