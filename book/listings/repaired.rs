//! Two listings of tutorials, repaired: what the exercises "find the bug" compare with where no other kernel is theirs.

use layout_cuda::tiled_kernel;

/// Prefix sums of a block of two warps: each round reads, waits, then writes.
#[tiled_kernel(TPB = 64, require(N <= TPB), block = [TPB], grid = [1])]
pub fn prefix_sum_of_64<const N: usize>(
    out: &mut LayoutTensor<f32, RowMajor<N>>,
    a: &LayoutTensor<f32, RowMajor<N>>,
) {
    let i = thread_idx.x;
    let mut held = shared::<f32>(row_major([TPB]));
    let mut sum = a.tile([TPB], [0])[[i]];
    let mut offset = 1;
    while offset < TPB {
        held[[i]] = sum;
        barrier();
        sum += if i < offset { 0.0 } else { held[[i - offset]] };
        barrier();
        offset *= 2;
    }
    out.tile([TPB], [0])[[i]] = sum;
}

/// A transposition of several columns by each thread.
#[tiled_kernel(BATCH = 4, block = [8, 32], grid = [N.div_ceil(32), M.div_ceil(32)])]
pub fn transpose_batched<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    y: &mut LayoutTensor<f32, RowMajor<N, M>>,
) {
    let mut held = shared::<f32>(row_major([32, 32]).swizzle(5, 0, 5));
    let from = x.tile([32, 32], [block_idx.y, block_idx.x]);
    let mut to = y.tile([32, 32], [block_idx.x, block_idx.y]);
    for i in unroll(0..BATCH) {
        let column = thread_idx.x + i * 8;
        held[[thread_idx.y, column]] = from[[thread_idx.y, column]];
    }
    barrier();
    for i in unroll(0..BATCH) {
        let column = thread_idx.x + i * 8;
        to[[thread_idx.y, column]] = held[[column, thread_idx.y]];
    }
}
