//! Products to compare with, on all cores of the host.
//!
//! Law: of small integers every sum is exact, in any order and in float32, so that a right kernel gives the same bits.

use std::ops::Range;

/// The most products of [`integers`] whose sum float32 holds exactly.
pub const LONGEST: usize = 1 << 18;

/// Integers from -8 to 8, the same in each run.
pub fn integers(count: usize, seed: usize) -> Vec<f32> {
    (0..count)
        .map(|i| ((i + seed).wrapping_mul(0x9e37_79b9) >> 7) % 17)
        .map(|number| number as f32 - 8.0)
        .collect()
}

/// The parts of `0..n` in order, a core each: for references that one core would take too long for.
pub fn parallel<T: Send>(n: usize, part: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let size = n.div_ceil(cores).max(1);
    std::thread::scope(|scope| {
        let part = &part;
        let spawn = |core: usize| scope.spawn(move || part((core * size).min(n)..((core + 1) * size).min(n)));
        let handles: Vec<_> = (0..cores).map(spawn).collect();
        let join = |handle: std::thread::ScopedJoinHandle<'_, T>| match handle.join() {
            Ok(value) => value,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        handles.into_iter().map(join).collect()
    })
}

/// `a b` of row-major matrices of M x K and K x N: exact of [`integers`], up to a K of [`LONGEST`].
///
/// ```
/// assert_eq!(layout_examples::programs::reference::product(&[1.0, 2.0], &[3.0, 4.0], [1, 1, 2]), [11.0]);
/// ```
pub fn product(a: &[f32], b: &[f32], [m, n, k]: [usize; 3]) -> Vec<f32> {
    let rows = |rows: Range<usize>| {
        let mut c = vec![0.0; rows.len() * n];
        for (row, i) in rows.enumerate() {
            let to = &mut c[row * n..(row + 1) * n];
            for (l, factor) in a[i * k..(i + 1) * k].iter().enumerate() {
                let from = &b[l * n..(l + 1) * n];
                to.iter_mut().zip(from).for_each(|(to, from)| *to = factor.mul_add(*from, *to));
            }
        }
        c
    };
    parallel(m, rows).concat()
}
