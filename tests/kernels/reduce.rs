//! Threads together: trees and scans through shared memory, barriers inside of loops.

use crate::support::tested::Tested;
use layout_cuda::testing::Sum;
use layout_cuda::tiled_kernel;

/// The largest element of each row; what is past the row's end is minus infinity.
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

/// The tests of this file.
pub fn tests() -> Vec<Tested> {
    vec![
        Tested::new(&row_max::DEFINITION, |test| {
            test.run(|case| {
                let (x, n) = (case.input("x"), case.size("N"));
                case.expect("most", |[i]| (0..n).map(|j| x[[i, j]]).fold(f64::NEG_INFINITY, f64::max));
            })
        }),
        Tested::new(&block_scan::DEFINITION, |test| {
            test.values("x", -1000..1000i32).run(|case| {
                let x = case.integers("x");
                case.expect("y", |[i]| (i / 64 * 64..=i).map(|j| x[[j]]).sum::<Sum>());
            })
        }),
        Tested::new(&reverse_warps::DEFINITION, |test| {
            test.values("x", -(1i64 << 40)..1 << 40).run(|case| {
                let (x, n) = (case.integers("x"), case.size("N"));
                case.expect("y", |[i]| {
                    let from = i / 32 * 32 + 31 - i % 32;
                    if from < n { x[[from]] } else { -1 }
                });
            })
        }),
    ]
}
