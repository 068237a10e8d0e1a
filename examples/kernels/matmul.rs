//! `C = A B` in float32, three times: from one thread per element to tiles in shared memory.
//!
//! ```text
//! naive        neighbouring threads take neighbouring rows: each reads memory far from the others
//! coalescing   neighbouring threads take neighbouring columns: a warp reads one stretch of B and one element of A
//! tiled        a block copies BM x BK of A and BK x BN of B to shared memory, and every thread reads from there
//! ```

use layout_cuda::tiled_kernel;

/// Kernel 1: a thread for each element of C; the threads of a warp take a column.
#[tiled_kernel(BM = 8, BN = 32, block = [BM, BN], grid = [M.div_ceil(BM), N.div_ceil(BN)])]
pub fn naive<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    let row = block_dim.x * block_idx.x + thread_idx.x;
    let col = block_dim.y * block_idx.y + thread_idx.y;
    if row < M && col < N {
        let mut sum = 0.0;
        for k in 0..K {
            sum += a[[row, k]] * b[[k, col]];
        }
        c[[row, col]] = sum;
    }
}

/// Kernel 2: the same with the axes exchanged: the threads of a warp take a row.
#[tiled_kernel(BM = 2, BN = 512, block = [BN, BM], grid = [N.div_ceil(BN), M.div_ceil(BM)])]
pub fn coalescing<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    let row = block_dim.y * block_idx.y + thread_idx.y;
    let col = block_dim.x * block_idx.x + thread_idx.x;
    if row < M && col < N {
        let mut sum = 0.0;
        for k in 0..K {
            sum += a[[row, k]] * b[[k, col]];
        }
        c[[row, col]] = sum;
    }
}

/// Kernel 3: tiles in shared memory.
#[tiled_kernel(
    BM = 32, BN = 32, BK = 64,
    block = [BM * BN],
    grid = [N.div_ceil(BN), M.div_ceil(BM)],
)]
pub fn tiled<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    const THREADS: usize = BM * BN;
    let (row, col) = (thread_idx.x / BN, thread_idx.x % BN);
    let mut dst = c.tile([BM, BN], [block_idx.y, block_idx.x]);

    let mut a_smem = shared::<f32>(row_major([BM, BK]));
    let mut b_smem = shared::<f32>(row_major([BK, BN]));
    let mut sum = 0.0;

    for block in 0..K.div_ceil(BK) {
        let a_tile = a.tile([BM, BK], [block_idx.y, block]);
        let b_tile = b.tile([BK, BN], [block, block_idx.x]);
        copy_dram_to_sram_async(&mut a_smem, &a_tile, row_major([THREADS / BK, BK]));
        copy_dram_to_sram_async(&mut b_smem, &b_tile, row_major([BK, THREADS / BK]));
        async_copy_wait_all();
        barrier();
        for k in unroll(0..BK) {
            sum += a_smem[[row, k]] * b_smem[[k, col]];
        }
        barrier();
    }
    dst[[row, col]] = sum;
}
