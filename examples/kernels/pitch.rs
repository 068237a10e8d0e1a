//! A matrix copied to rows that begin elsewhere, or turned on the way: the copy engine wants rows at multiples of 16 bytes,
//! and the matrix units want 8-bit and 32-bit operands with `k` contiguous.
//!
//! Neither side's rows need be aligned, so threads take single elements, neighbours next to each other.

use layout_cuda::tiled_kernel;

/// `out[i, j] = x[i, j]`: each thread moves `ROUNDS` elements of a row, all loaded before the first is stored.
#[tiled_kernel(
    T = [bf16, f16, f32, e4m3], THREADS = 256, ROUNDS = 16,
    arch = "sm_90a", block = [THREADS],
    grid = [M, N.div_ceil(THREADS * ROUNDS)],
)]
pub fn repitch<T, const M: usize, const N: usize>(
    x: &LayoutTensor<T, Pitched<M, N>>,
    out: &mut LayoutTensor<T, Pitched<M, N>>,
) {
    grid_dependency_wait();
    launch_dependents();
    let from = x.tile([1, THREADS * ROUNDS], [block_idx.x, block_idx.y]);
    let own = from.distribute(row_major([1, THREADS]), thread_idx.x).to_local();
    let to = out.tile([1, THREADS * ROUNDS], [block_idx.x, block_idx.y]);
    to.distribute(row_major([1, THREADS]), thread_idx.x).copy_from(&own);
}

/// `out[j, i] = x[i, j]`: a tile of 64 by 64, the rows of the shared copy one element longer than the tile, so that its
/// columns lie in different banks.
#[tiled_kernel(
    T = [f32, e4m3],
    block = [256],
    grid = [M.div_ceil(64), N.div_ceil(64)],
)]
pub fn turn<T, const M: usize, const N: usize>(
    x: &LayoutTensor<T, Pitched<M, N>>,
    out: &mut LayoutTensor<T, Pitched<N, M>>,
) {
    let mut tile = shared::<T>(row_major([64, 65]));
    let (row, col) = (thread_idx.x / 64, thread_idx.x % 64);
    let own =
        x.tile([64, 64], [block_idx.x, block_idx.y]).distribute(row_major([4, 64]), thread_idx.x).to_local();
    for step in unroll(0..16) {
        tile[[step * 4 + row, col]] = own[[step, 0]];
    }
    barrier();
    let to = out.tile([64, 64], [block_idx.y, block_idx.x]);
    let mut turned = local::<T>(row_major([16, 1]));
    for step in unroll(0..16) {
        turned[[step, 0]] = tile[[col, step * 4 + row]];
    }
    to.distribute(row_major([4, 64]), thread_idx.x).copy_from(&turned);
}
