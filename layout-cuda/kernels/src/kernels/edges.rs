//! The last few rows or columns of `C = A B` in float32: they would cost the other kernels whole tiles.
//!
//! A thread has one sum for each of these rows of A and C, or columns of B. Memory is read once, at any alignment of the
//! rows.

use layout_cuda::tiled_kernel;

/// At most ROWS rows: a block computes 16 columns of C, and its half warps split K.
#[tiled_kernel(
    ROWS = [1, 4], PARTS = 64, ROUNDS = 16,
    block = [PARTS * 16], grid = [N.div_ceil(16)], require(M <= ROWS),
    deny(narrowed),
)]
pub fn last_rows<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, Pitched<M, K>>,
    b: &LayoutTensor<f32, Pitched<K, N>>,
    c: &mut LayoutTensor<f32, Pitched<M, N>>,
) {
    const DEPTH: usize = PARTS * ROUNDS;
    let (part, col) = (thread_idx.x / 16, thread_idx.x % 16);
    let mut a_smem = shared::<f32>(row_major([ROWS, DEPTH]));
    let mut sums = shared::<f32>(row_major([PARTS * ROWS, 16]));
    let mut sum = local::<f32>(row_major([ROWS, 1])).fill(0.0);
    for block in 0..K.div_ceil(DEPTH) {
        let a_tile = a.tile([ROWS, DEPTH], [0, block]);
        let a_own = a_tile.distribute(row_major([1, PARTS * 16]), thread_idx.x).to_local();
        let b_tile = b.tile([DEPTH, 16], [block, block_idx.x]);
        let b_own = b_tile.distribute(row_major([PARTS, 16]), thread_idx.x).to_local();
        barrier();
        a_smem.distribute(row_major([1, PARTS * 16]), thread_idx.x).copy_from(&a_own);
        barrier();
        for i in unroll(0..ROUNDS) {
            for row in unroll(0..ROWS) {
                sum[[row, 0]] += a_smem[[row, i * PARTS + part]] * b_own[[i, 0]];
            }
        }
    }
    for row in unroll(0..ROWS) {
        sums[[row * PARTS + part, col]] = sum[[row, 0]];
    }
    barrier();
    if part < ROWS {
        let mut total = 0.0;
        for other in unroll(0..PARTS) {
            total += sums[[part * PARTS + other, col]];
        }
        let mut dst = c.tile([ROWS, 16], [0, block_idx.x]);
        dst[[part, col]] = total;
    }
}

/// At most COLS columns: a warp for each row of C; the columns of B are shared by a block.
#[tiled_kernel(
    COLS = [1, 4], WARPS = 8, BK = 1024,
    block = [WARPS * 32], grid = [M.div_ceil(WARPS)], require(N <= COLS),
)]
pub fn last_columns<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, Pitched<M, K>>,
    b: &LayoutTensor<f32, Pitched<K, N>>,
    c: &mut LayoutTensor<f32, Pitched<M, N>>,
) {
    let mut b_smem = shared::<f32>(row_major([COLS, BK]));
    let mut sum = local::<f32>(row_major([1, COLS])).fill(0.0);
    for block in 0..K.div_ceil(BK) {
        let a_tile = a.tile([WARPS, BK], [block_idx.x, block]).tile([1, BK], [warp_id(), 0]);
        let a_own = a_tile.distribute(row_major([1, 32]), lane_id()).to_local();
        let b_own =
            b.tile([BK, COLS], [block, 0]).distribute(row_major([WARPS * 32, 1]), thread_idx.x).to_local();
        barrier();
        for i in unroll(0..BK / (WARPS * 32)) {
            for col in unroll(0..COLS) {
                b_smem[[col, i * WARPS * 32 + thread_idx.x]] = b_own[[i, col]];
            }
        }
        barrier();
        for i in unroll(0..BK / 32) {
            for col in unroll(0..COLS) {
                sum[[0, col]] += a_own[[0, i]] * b_smem[[col, i * 32 + lane_id()]];
            }
        }
    }
    let mut dst = c.tile([WARPS, COLS], [block_idx.x, 0]);
    for col in unroll(0..COLS) {
        let total = sum[[0, col]].warp_sum();
        if lane_id() == 0 {
            dst[[warp_id(), col]] = total;
        }
    }
}
