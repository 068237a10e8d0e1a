//! Softmax of each row: `out[i, j] = exp(x[i, j] - m) / sum over k of exp(x[i, k] - m)`, where `m` is the row's maximum.
//!
//! A block for each row, which it reads twice (the second time from the cache): first maximum and sum together, where a
//! larger maximum scales the sum down, then the quotients.

use layout_cuda::tiled_kernel;

/// The softmax of each row.
#[tiled_kernel(THREADS = 256, ROUNDS = 2, block = [THREADS], grid = [M], variant_if(N % 4 == 0))]
pub fn softmax<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    out: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    const TILE: usize = THREADS * ROUNDS * 4;
    let row = x.pad(f32::NEG_INFINITY);
    // Below every finite difference, and finite: minus infinity less itself would be no number.
    let mut most: f32 = -3.0e38;
    let mut sum = 0.0;
    for tile in 0..N.div_ceil(TILE) {
        let vectors = row.tile([1, TILE], [block_idx.x, tile]).vectorize([1, 4]);
        let own = vectors.distribute(row_major([1, THREADS]), thread_idx.x).to_local();
        let mut next = most;
        for i in unroll(0..ROUNDS * 4) {
            next = next.max(own[[0, i]]);
        }
        sum *= (most - next).exp();
        for i in unroll(0..ROUNDS * 4) {
            sum += (own[[0, i]] - next).exp();
        }
        most = next;
    }
    let of_row = most.block_max();
    let factor = 1.0 / (sum * (most - of_row).exp()).block_sum();
    for tile in 0..N.div_ceil(TILE) {
        let vectors = row.tile([1, TILE], [block_idx.x, tile]).vectorize([1, 4]);
        let mut own = vectors.distribute(row_major([1, THREADS]), thread_idx.x).to_local();
        for i in unroll(0..ROUNDS * 4) {
            own[[0, i]] = (own[[0, i]] - of_row).exp() * factor;
        }
        let out = out.tile([1, TILE], [block_idx.x, tile]).vectorize([1, 4]);
        out.distribute(row_major([1, THREADS]), thread_idx.x).copy_from(&own.vectorize([1, 4]));
    }
}
