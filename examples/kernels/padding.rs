//! A matrix of another size: what both have is copied, what only the new one has is zero.

use layout_cuda::tiled_kernel;

/// `dst[i, j] = src[i, j]`, or 0 where `src` has no such element. A warp reads and writes stretches of rows, wherever
/// they begin.
#[tiled_kernel(
    ROWS = 16, COLS = 256,
    block = [COLS],
    grid = [Q.div_ceil(COLS), P.div_ceil(ROWS)],
    variant_if(P % ROWS == 0, Q % COLS == 0),
)]
pub fn resize<const M: usize, const N: usize, const P: usize, const Q: usize>(
    src: &LayoutTensor<f32, RowMajor<M, N>>,
    dst: &mut LayoutTensor<f32, RowMajor<P, Q>>,
) {
    let threads = row_major([1, COLS]);
    let from = src.tile([ROWS, COLS], [block_idx.y, block_idx.x]).distribute(threads, thread_idx.x);
    let mut to = dst.tile([ROWS, COLS], [block_idx.y, block_idx.x]).distribute(threads, thread_idx.x);
    to.copy_from(&from.to_local());
}
