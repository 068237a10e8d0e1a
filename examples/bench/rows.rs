//! Softmax of rows: beside the best device copy of as many bytes.

use crate::contest::{Bench, Found, Result, Work, parallel};
use layout_cuda::Tensor;
use layout_examples::kernels::memory as kernels;
use layout_examples::noise::{fill, noise};
use std::cell::RefCell;

/// Softmax of an `m` by `n` matrix; every row is checked where there are up to 2^28 elements, else every 64th.
pub fn softmax(bench: &mut Bench, [m, n]: [usize; 2]) -> Result<()> {
    let stream = bench.stream.clone();
    let mut x = stream.zeros::<f32, 2>([m, n])?;
    fill(&stream, &mut x, 21)?;
    let mut out = stream.zeros::<f32, 2>([m, n])?;
    out.poison()?;
    kernels::softmax::launch(&stream, &x, &mut out)?;
    let found = check(&stream, &out, [m, n])?;
    let out = RefCell::new(out);
    let work = Work {
        workload: "softmax",
        dtype: "f32",
        shape: vec![m, n],
        bytes: 8.0 * m as f64 * n as f64,
        elements: m as f64 * n as f64,
    };
    bench.beside_copy(
        &work,
        found,
        &mut [("softmax", &mut || kernels::softmax::launch(&stream, &x, &mut *out.borrow_mut()))],
    )
}

fn check(stream: &layout_cuda::Stream, out: &Tensor<f32, 2>, [m, n]: [usize; 2]) -> Result<Found> {
    let step = if m * n <= 1 << 28 { 1 } else { 64 };
    let rows = m.div_ceil(step);
    let found = stream.download(&out.part(0, [rows, n], [step * n, 1])?)?;
    let parts = parallel(rows, |range| {
        let mut all = Found::default();
        for row in range {
            let x = |j: usize| f64::from(noise(row * step * n + j, 21));
            let most = (0..n).map(x).fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = (0..n).map(|j| (x(j) - most).exp()).sum();
            for j in 0..n {
                let wanted = (x(j) - most).exp() / total;
                let error = (f64::from(found[row * step * n + j]) - wanted).abs() / wanted;
                all.add(row * n + j, error, 4e-6);
            }
        }
        all
    });
    Ok(parts.into_iter().fold(Found::default(), Found::and))
}
