//! Softmax of each row: `out[i, j] = exp(x[i, j] - m) / sum over k of exp(x[i, k] - m)`, where `m` is the row's maximum.
//!
//! A block for each row, which it reads twice (the second time from the cache): first maximum and sum together, where a
//! larger maximum scales the sum down, then the quotients.

use layout_cuda::tiled_kernel;

/// The softmax of each row.
#[tiled_kernel(THREADS = 256, block = [THREADS], grid = [M])]
pub fn softmax<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    out: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    let row = x.pad(f32::NEG_INFINITY);
    let rounds = N.div_ceil(THREADS * 4);
    // Below every finite difference, and finite: minus infinity less itself would be no number.
    let mut most: f32 = -3.0e38;
    let mut sum = 0.0;
    for round in 0..rounds {
        let own =
            row.tile([1, 4], [block_idx.x, round * THREADS + thread_idx.x]).vectorize([1, 4]).to_local();
        let next = most.max(own[[0, 0]].max(own[[0, 1]]).max(own[[0, 2]].max(own[[0, 3]])));
        sum *= (most - next).exp();
        for i in unroll(0..4) {
            sum += (own[[0, i]] - next).exp();
        }
        most = next;
    }
    let of_row = most.block_max();
    let total = (sum * (most - of_row).exp()).block_sum();
    for round in 0..rounds {
        let at = round * THREADS + thread_idx.x;
        let mut own = row.tile([1, 4], [block_idx.x, at]).vectorize([1, 4]).to_local();
        for i in unroll(0..4) {
            own[[0, i]] = (own[[0, i]] - of_row).exp() / total;
        }
        out.tile([1, 4], [block_idx.x, at]).vectorize([1, 4]).copy_from(&own.vectorize([1, 4]));
    }
}
