//! A matrix copied to rows that begin elsewhere: the copy engine wants them at multiples of 16 bytes.
//!
//! Neither side's rows need be aligned, so threads take single elements, neighbours next to each other.

use layout_cuda::tiled_kernel;

/// `out[i, j] = x[i, j]`: each thread moves `ROUNDS` elements of a row, all loaded before the first is stored.
#[tiled_kernel(
    T = [bf16, f16, f32, e4m3], THREADS = 256, ROUNDS = 4,
    block = [THREADS],
    grid = [M, N.div_ceil(THREADS * ROUNDS)],
)]
pub fn repitch<T, const M: usize, const N: usize>(
    x: &LayoutTensor<T, Pitched<M, N>>,
    out: &mut LayoutTensor<T, Pitched<M, N>>,
) {
    let from = x.tile([1, THREADS * ROUNDS], [block_idx.x, block_idx.y]);
    let own = from.distribute(row_major([1, THREADS]), thread_idx.x).to_local();
    let to = out.tile([1, THREADS * ROUNDS], [block_idx.x, block_idx.y]);
    to.distribute(row_major([1, THREADS]), thread_idx.x).copy_from(&own);
}
