//! The transposition and the steps to it, compared with the best device copy of as many bytes.
//!
//! Law: no two of 65536 neighbouring elements are equal in all their bits (nor any two whose noise differs), so that
//! an element in the wrong place is seen.

use super::contest::{Bench, Found, Work};
use super::noise::fill;
use super::{Result, parallel};
use layout_book as book;
use layout_cuda::{Element, Error, LaunchConfig, ParamSet, ParamValue, Stream, Tensor, bf16};
use layout_kernels::kernels::memory as kernels;
use layout_kernels::memory;

/// The steps by TMA: their names, `SWIZZLED`, `COLUMNS`.
const STEPS: [(&str, bool, i64); 4] = [
    ("transpose_tma", false, 1),
    ("transpose_tma_columns", false, 8),
    ("transpose_tma_swizzled", true, 1),
    ("transpose_tma_swizzled_columns", true, 8),
];

/// A launch of one step of the book.
type Step = fn(&Stream, &Tensor<f32, 2>, &mut Tensor<f32, 2>) -> std::result::Result<(), Error>;

/// The book's steps by the threads' own loads and stores.
const PLAIN: [(&str, Step); 3] = [
    ("transpose_naive", |stream, x, out| book::transpose_naive::launch(stream, x, out)),
    ("transpose_shared", |stream, x, out| book::transpose_shared::launch(stream, x, out)),
    ("transpose_swizzled", |stream, x, out| book::transpose_swizzled::launch(stream, x, out)),
];

/// Of an `m` by `n` matrix of f32; with `steps` also by each step of the book.
pub fn floats(bench: &mut Bench<'_>, [m, n]: [usize; 2], steps: bool) -> Result<()> {
    let stream = bench.stream.clone();
    let mut x = stream.zeros::<f32, 2>([m, n])?;
    fill(&stream, &mut x, 41)?;
    let mut out = stream.zeros::<f32, 2>([n, m])?;
    let work = work("f32", [m, n], 4);
    memory::transpose(&stream, &x, &mut out)?;
    let found = check(&x, &out, f32::to_bits)?;
    bench.beside_copy(&work, found, "transpose", || memory::transpose(&stream, &x, &mut out))?;
    for (name, step) in PLAIN.into_iter().filter(|_| steps) {
        out.poison()?;
        step(&stream, &x, &mut out)?;
        let found = check(&x, &out, f32::to_bits)?;
        bench.beside_copy(&work, found, name, || step(&stream, &x, &mut out))?;
    }
    for (name, swizzled, columns) in STEPS.into_iter().filter(|_| steps) {
        let set = ParamSet(vec![])
            .with("SWIZZLED", ParamValue::Bool(swizzled))
            .with("COLUMNS", ParamValue::Int(columns));
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        out.poison()?;
        kernels::transpose_by_boxes::launch_with(config, &stream, &x, &mut out)?;
        let found = check(&x, &out, f32::to_bits)?;
        let ours = || kernels::transpose_by_boxes::launch_with(config, &stream, &x, &mut out);
        bench.beside_copy(&work, found, name, ours)?;
    }
    Ok(())
}

/// Of an `m` by `n` matrix of bf16.
pub fn halves(bench: &mut Bench<'_>, [m, n]: [usize; 2]) -> Result<()> {
    let stream = bench.stream.clone();
    let pattern: Vec<bf16> = (0..m * n).map(|i| bf16::from_bits((i ^ (i >> 16)) as u16)).collect();
    let x = bench.device.upload(&pattern, [m, n])?;
    drop(pattern);
    let mut out = stream.zeros::<bf16, 2>([n, m])?;
    memory::transpose(&stream, &x, &mut out)?;
    let found = check(&x, &out, bf16::to_bits)?;
    let work = work("bf16", [m, n], 2);
    bench.beside_copy(&work, found, "transpose", || memory::transpose(&stream, &x, &mut out))
}

fn work(dtype: &'static str, shape: [usize; 2], size: usize) -> Work {
    Work::new("transpose", dtype, &shape, 2.0 * size as f64, 0.0)
}

/// Compares every element, bit by bit.
fn check<T: Element + Sync, B: Eq>(
    x: &Tensor<T, 2>,
    out: &Tensor<T, 2>,
    bits: impl Fn(T) -> B + Sync,
) -> Result<Found> {
    let [m, n] = x.shape();
    let (from, to) = (x.download()?, out.download()?);
    let parts = parallel(n, |columns| {
        let mut all = Found::default();
        for j in columns {
            for i in 0..m {
                let same = bits(to[j * m + i]) == bits(from[i * n + j]);
                all.add(j * m + i, if same { 0.0 } else { 1.0 }, 0.0);
            }
        }
        all
    });
    Ok(parts.into_iter().fold(Found::default(), Found::and))
}
