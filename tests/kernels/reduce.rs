//! Threads together: trees and scans through shared memory, barriers inside of loops.

use crate::support::case::{Case, Outcome, around, around_tile};
use crate::support::data::{floats, integers};
use layout_cuda::tiled_kernel;

/// The largest element of each row; what lies past the row's end is minus infinity.
#[tiled_kernel(THREADS = [32, 64], CHUNK = 3, block = [THREADS], grid = [M])]
pub fn row_max<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    most: &mut LayoutTensor<f32, RowMajor<M>>,
) {
    let mut partial = shared::<f32>(row_major([THREADS]));
    let mut own = f32::NEG_INFINITY;
    for round in 0..N.div_ceil(THREADS * CHUNK) {
        let part = x.tile([1, CHUNK], [block_idx.x, round * THREADS + thread_idx.x]);
        let part = part.pad(f32::NEG_INFINITY).to_local();
        for j in unroll(0..CHUNK) {
            own = own.max(part[[0, j]]);
        }
    }
    partial[[thread_idx.x]] = own;
    barrier();
    let mut half = THREADS / 2;
    while half > 0 {
        if thread_idx.x < half {
            partial[[thread_idx.x]] = partial[[thread_idx.x]].max(partial[[thread_idx.x + half]]);
        }
        barrier();
        half /= 2;
    }
    if thread_idx.x == 0 {
        most[[block_idx.x]] = partial[[0]];
    }
}

/// Sums up to each element of a block of 64, in two halves of shared memory by turns.
#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
pub fn block_scan<const N: usize>(
    x: &LayoutTensor<i32, RowMajor<N>>,
    y: &mut LayoutTensor<i32, RowMajor<N>>,
) {
    let mut sums = shared::<i32>(row_major([2, 64]));
    let t = thread_idx.x;
    sums[[0, t]] = x.tile([64], [block_idx.x])[[t]];
    barrier();
    let (mut reach, mut from) = (1, 0);
    while reach < 64 {
        if t >= reach {
            sums[[1 - from, t]] = sums[[from, t]] + sums[[from, t - reach]];
        } else {
            sums[[1 - from, t]] = sums[[from, t]];
        }
        barrier();
        from = 1 - from;
        reach *= 2;
    }
    let mut out = y.tile([64], [block_idx.x]);
    out[[t]] = sums[[from, t]];
}

/// Each warp's elements in reverse order.
#[tiled_kernel(WARPS = 3, block = [WARPS * 32], grid = [N.div_ceil(WARPS * 32)])]
pub fn reverse_warps<const N: usize>(
    x: &LayoutTensor<i64, RowMajor<N>>,
    y: &mut LayoutTensor<i64, RowMajor<N>>,
) {
    let mut lines = shared::<i64>(row_major([WARPS, 32]));
    let from = x.tile([WARPS * 32], [block_idx.x]).pad(-1);
    lines[[warp_id(), lane_id()]] = from[[thread_idx.x]];
    barrier();
    let mut to = y.tile([WARPS * 32], [block_idx.x]);
    to[[thread_idx.x]] = lines[[warp_id(), 31 - lane_id()]];
}

/// The cases of this file.
pub fn cases() -> Vec<Case> {
    vec![
        Case::new(&row_max::DEFINITION, around_tile([3, 192, 1]), |run| {
            let [m, n, ..] = run.size;
            let x = floats(m * n, 1);
            let (on_x, mut most) = (run.tensor(&x, [m, n])?, run.output([m])?);
            row_max::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut most.view_mut()?)?;
            let row = |i: usize| x[i * n..(i + 1) * n].iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b));
            Ok(Outcome::exact(most.read()?, (0..m).map(row)))
        }),
        Case::new(&block_scan::DEFINITION, around(64), |run| {
            let [n, ..] = run.size;
            let x: Vec<i32> = integers(n, 2, 1000).iter().map(|v| *v as i32).collect();
            let (on_x, mut y) = (run.tensor(&x, [n])?, run.output([n])?);
            block_scan::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut y.view_mut()?)?;
            Ok(Outcome::exact(y.read()?, (0..n).map(|i| x[i / 64 * 64..=i].iter().sum())))
        }),
        Case::new(&reverse_warps::DEFINITION, around(96), |run| {
            let [n, ..] = run.size;
            let x = integers(n, 3, 1 << 40);
            let (on_x, mut y) = (run.tensor(&x, [n])?, run.output([n])?);
            reverse_warps::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut y.view_mut()?)?;
            let value = |i: usize| x.get(i / 32 * 32 + 31 - i % 32).copied().unwrap_or(-1);
            Ok(Outcome::exact(y.read()?, (0..n).map(value)))
        }),
    ]
}
