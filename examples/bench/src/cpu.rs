//! The same product on the CPU: three loops, and a library.

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, Axis};
use std::time::Instant;

/// Operations that three loops on one core are given to do.
const NAIVE_WORK: usize = 300_000_000;

/// Three loops on one core, over the first rows of C; gives how many rows they made and the milliseconds.
pub fn naive(a: &[f32], b: &[f32], c: &mut [f32], [m, n, k]: [usize; 3]) -> (usize, f64) {
    let rows = m.min(NAIVE_WORK / (2 * n * k).max(1)).max(1).min(m);
    let start = Instant::now();
    for row in 0..rows {
        for column in 0..n {
            let mut sum = 0.0;
            for step in 0..k {
                sum += a[row * k + step] * b[step * n + column];
            }
            c[row * n + column] = sum;
        }
    }
    (rows, start.elapsed().as_secs_f64() * 1e3)
}

/// ndarray, which multiplies with `matrixmultiply`: the rows of A shared among the cores; gives the milliseconds.
pub fn library(
    a: &[f32],
    b: &[f32],
    c: &mut [f32],
    [m, n, k]: [usize; 3],
) -> Result<f64, ndarray::ShapeError> {
    let (a, b) = (ArrayView2::from_shape((m, k), a)?, ArrayView2::from_shape((k, n), b)?);
    let mut c = ArrayViewMut2::from_shape((m, n), c)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let rows = m.div_ceil(cores).max(1);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for (mut part, rows) in c.axis_chunks_iter_mut(Axis(0), rows).zip(a.axis_chunks_iter(Axis(0), rows)) {
            scope.spawn(move || general_mat_mul(1.0, &rows, &b, 0.0, &mut part));
        }
    });
    Ok(start.elapsed().as_secs_f64() * 1e3)
}
