//! Softmax of rows that stay in registers: each element is read once and written once.
//!
//! ```text
//! short rows:  GROUP threads a row, several rows a block; they meet by shuffles
//! long rows:   a block a row; it meets in shared memory
//! ```
//!
//! Law, of each kernel of softmax here: elements of any size are taken, -infinity has 0, and a row with a NaN, with +infinity or of
//! -infinity alone is NaN.

use layout_cuda::tiled_kernel;

/// `out[i, j] = exp(x[i, j] - m) / sum over k of exp(x[i, k] - m)`, `m` the largest of row `i`, with `GROUP` threads a row:
/// a power of two; more than 32 are the block. With `ODD`, rows begin at any address: a row's vectors begin at the aligned
/// address before it.
#[tiled_kernel(
    GROUP = [4, 512], ROUNDS = 8, ODD = [false, true],
    block = [GROUP.max(256)],
    grid = [M.div_ceil(GROUP.max(256) / GROUP)],
    require(N + if ODD { 3 } else { 0 } <= GROUP * ROUNDS * 4),
    variant_if(N % 4 == 0),
    deny(narrowed),
)]
pub fn softmax<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    out: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    const THREADS: usize = if GROUP > 256 { GROUP } else { 256 };
    const ROW: usize = GROUP * ROUNDS * 4;
    let (row, thread) = (block_idx.x * (THREADS / GROUP) + thread_idx.x / GROUP, thread_idx.x % GROUP);
    let before = if ODD { (row * N % 4) as isize } else { 0 };
    let from = x.pad(f32::NEG_INFINITY).window([1, ROW], [row as isize, -before]).vectorize([1, 4]);
    let mut own = from.distribute(row_major([1, GROUP]), thread).to_local();
    // Finite: minus infinity less itself would be no number.
    let mut most = f32::MIN;
    for i in unroll(0..ROUNDS * 4) {
        most = most.max(own[[0, i]]);
    }
    let most = if GROUP > 32 { most.block_max() } else { group_max(most, GROUP) };
    let mut sum: f32 = 0.0;
    for i in unroll(0..ROUNDS * 4) {
        own[[0, i]] = (own[[0, i]] - most).exp();
        sum += own[[0, i]];
    }
    let sum = if GROUP > 32 { sum.block_sum() } else { group_sum(sum, GROUP) };
    let factor = 1.0 / sum;
    for i in unroll(0..ROUNDS * 4) {
        own[[0, i]] *= factor;
    }
    let to = out.window([1, ROW], [row as isize, -before]).vectorize([1, 4]);
    to.distribute(row_major([1, GROUP]), thread).copy_from(&own.vectorize([1, 4]));
}
