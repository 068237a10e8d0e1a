//! The transposition: beside the best device copy of as many bytes.

use crate::contest::{Bench, Found, Result, Work, parallel};
use layout_examples::kernels::memory as kernels;
use layout_examples::noise::fill;

/// Transposes an `m` by `n` matrix of which no two elements are equal, as far as f32 tells them apart.
pub fn transpose(bench: &mut Bench, [m, n]: [usize; 2]) -> Result<()> {
    let stream = bench.stream.clone();
    let mut x = stream.zeros::<f32, 2>([m, n])?;
    fill(&stream, &mut x, 41)?;
    let mut out = stream.zeros::<f32, 2>([n, m])?;
    out.poison()?;
    kernels::transpose::launch(&stream, &x, &mut out)?;
    let (from, to) = (x.download()?, out.download()?);
    let parts = parallel(n, |columns| {
        let mut all = Found::default();
        for j in columns {
            for i in 0..m {
                let same = to[j * m + i].to_bits() == from[i * n + j].to_bits();
                all.add(j * m + i, if same { 0.0 } else { 1.0 }, 0.0);
            }
        }
        all
    });
    let found = parts.into_iter().fold(Found::default(), Found::and);
    let work = Work {
        workload: "transpose",
        dtype: "f32",
        shape: vec![m, n],
        bytes: 8.0 * m as f64 * n as f64,
        elements: m as f64 * n as f64,
    };
    bench.beside_copy(
        &work,
        found,
        &mut [("transpose", &mut || kernels::transpose::launch(&stream, &x, &mut out))],
    )
}
