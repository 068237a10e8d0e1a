//! Softmax of rows, a block for each row: the block's maximum, then the block's sum.

use layout_cuda::tiled_kernel;

/// `out[i, j] = exp(x[i, j] - m) / sum over k of exp(x[i, k] - m)`, `m` the largest of row `i`.
#[tiled_kernel(THREADS = 128, block = [THREADS], grid = [M])]
pub fn softmax_simple<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    out: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    let row = block_idx.x;
    let mut most = f32::NEG_INFINITY;
    for i in (thread_idx.x..N).step_by(THREADS) {
        most = most.max(x[[row, i]]);
    }
    let most = most.block_max();
    let mut sum: f32 = 0.0;
    for i in (thread_idx.x..N).step_by(THREADS) {
        sum += (x[[row, i]] - most).exp();
    }
    let sum = sum.block_sum();
    for i in (thread_idx.x..N).step_by(THREADS) {
        out[[row, i]] = (x[[row, i]] - most).exp() / sum;
    }
}
