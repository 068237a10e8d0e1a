//! `C = A B` in float32 with tiles in registers: each thread computes a column of C, then a rectangle, then loads it by
//! vectors.
//!
//! ```text
//! tiled_register           a thread makes TM x 1 of C: an element of B serves TM products
//! block_tiled              a thread makes TM x TN of C as a sum of outer products of a column of A and a row of B
//! block_tiled_vectorized   the same; global and shared memory are read and written by vectors of four elements
//! ```

use layout_cuda::tiled_kernel;

/// Kernel 4: each thread makes TM elements of a column of C.
#[tiled_kernel(
    BM = 64, BN = 64, BK = 32, TM = 16,
    block = [BM * BN / TM],
    grid = [N.div_ceil(BN), M.div_ceil(BM)],
    // Without it ptxas spills for a third block on sm_80.
    min_blocks = 2, deny(narrowed, synchronous),
)]
pub fn tiled_register<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    const THREADS: usize = BM * BN / TM;
    let (row, col) = (thread_idx.x / BN, thread_idx.x % BN);
    let mut dst = c.tile([BM, BN], [block_idx.y, block_idx.x]).tile([TM, 1], [row, col]);

    let mut a_smem = shared::<f32>(row_major([BM, BK]));
    let mut b_smem = shared::<f32>(row_major([BK, BN]));
    let mut acc = local::<f32>(row_major([TM, 1])).fill(0.0);

    for block in 0..K.div_ceil(BK) {
        let a_tile = a.tile([BM, BK], [block_idx.y, block]);
        let b_tile = b.tile([BK, BN], [block, block_idx.x]);
        copy_dram_to_sram_async(&mut a_smem, &a_tile, row_major([THREADS / BK, BK]));
        copy_dram_to_sram_async(&mut b_smem, &b_tile, row_major([THREADS / BN, BN]));
        async_copy_wait_all();
        barrier();
        for k in unroll(0..BK) {
            let a_column = a_smem.tile([TM, 1], [row, k]);
            let b_value = b_smem[[k, col]];
            for t in unroll(0..TM) {
                acc[[t, 0]] += a_column[[t, 0]] * b_value;
            }
        }
        barrier();
    }
    dst.copy_from(&acc);
}

/// Kernel 5: each thread makes TM x TN of C.
#[tiled_kernel(
    BM = 64, BN = 64, BK = 16, TM = 8, TN = 8,
    block = [BM * BN / (TM * TN)],
    grid = [N.div_ceil(BN), M.div_ceil(BM)],
    deny(synchronous),
)]
pub fn block_tiled<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    const THREADS: usize = BM * BN / (TM * TN);
    let (row, col) = (thread_idx.x / (BN / TN), thread_idx.x % (BN / TN));
    let mut dst = c.tile([BM, BN], [block_idx.y, block_idx.x]).tile([TM, TN], [row, col]);

    let mut a_smem = shared::<f32>(row_major([BM, BK]));
    let mut b_smem = shared::<f32>(row_major([BK, BN]));
    let mut acc = local::<f32>(row_major([TM, TN])).fill(0.0);

    for block in 0..K.div_ceil(BK) {
        let a_tile = a.tile([BM, BK], [block_idx.y, block]);
        let b_tile = b.tile([BK, BN], [block, block_idx.x]);
        copy_dram_to_sram_async(&mut a_smem, &a_tile, row_major([THREADS / BK, BK]));
        copy_dram_to_sram_async(&mut b_smem, &b_tile, row_major([THREADS / BN, BN]));
        async_copy_wait_all();
        barrier();
        for k in unroll(0..BK) {
            let a_reg = a_smem.tile([TM, 1], [row, k]).to_local();
            let b_reg = b_smem.tile([1, TN], [k, col]).to_local();
            outer_product_acc(&mut acc, &a_reg, &b_reg);
        }
        barrier();
    }
    dst.copy_from(&acc);
}

/// Kernel 6: by vectors of four elements. Where rows of A or B start at odd places, the copies go element by element.
#[tiled_kernel(
    BM = 128, BN = 128, BK = 16, TM = 8, TN = 8,
    block = [BM * BN / (TM * TN)],
    grid = [N.div_ceil(BN), M.div_ceil(BM)],
    variant_if(M % BM == 0, N % BN == 0, K % BK == 0),
    variant_if(N % 4 == 0, K % 4 == 0),
    deny(narrowed, synchronous),
)]
pub fn block_tiled_vectorized<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    const THREADS: usize = BM * BN / (TM * TN);
    let (row, col) = (thread_idx.x / (BN / TN), thread_idx.x % (BN / TN));
    let mut dst = c.tile([BM, BN], [block_idx.y, block_idx.x]).tile([TM, TN], [row, col]);

    let mut a_smem = shared::<f32>(row_major([BM, BK]));
    let mut b_smem = shared::<f32>(row_major([BK, BN]));
    let mut acc = local::<f32>(row_major([TM, TN])).fill(0.0);

    for block in 0..K.div_ceil(BK) {
        let a_tile = a.tile([BM, BK], [block_idx.y, block]).vectorize([1, 4]);
        let b_tile = b.tile([BK, BN], [block, block_idx.x]).vectorize([1, 4]);
        copy_dram_to_sram_async(
            &mut a_smem.vectorize([1, 4]),
            &a_tile,
            row_major([THREADS / (BK / 4), BK / 4]),
        );
        copy_dram_to_sram_async(
            &mut b_smem.vectorize([1, 4]),
            &b_tile,
            row_major([THREADS / (BN / 4), BN / 4]),
        );
        async_copy_wait_all();
        barrier();
        for k in unroll(0..BK) {
            let a_reg = a_smem.tile([TM, 1], [row, k]).to_local();
            let b_reg = b_smem.tile([1, TN], [k, col]).to_local();
            outer_product_acc(&mut acc, &a_reg, &b_reg);
        }
        barrier();
    }
    dst.vectorize([1, 4]).copy_from(&acc.vectorize([1, 4]));
}
