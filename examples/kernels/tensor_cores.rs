//! `C = A B` on the tensor cores, by warps: float32 rounded to TF32, sums in float32.
//!
//! ```text
//! for each BK columns of A and rows of B, copied STAGES - 1 ahead:
//!     each warp, for each 8 of them:  its WM x 8 of A and 8 x WN of B to registers, rounded; products of 16 x 8 x 8
//! ```
//!
//! Rows of A in shared memory are 4 elements longer than they need be, rows of B 8: so the 32 elements that a warp reads
//! at once lie in 32 banks.

use layout_cuda::tiled_kernel;

/// Kernel 7: each warp makes WM x WN of C with the matrix instruction of 16 x 8 x 8.
#[tiled_kernel(
    BM = 128, BN = 128, BK = 32, WM = 64, WN = 64, STAGES = 3,
    block = [BM * BN / (WM * WN) * 32],
    grid = [N.div_ceil(BN), M.div_ceil(BM)],
    variant_if(M % BM == 0, N % BN == 0, K % BK == 0),
    variant_if(N % 4 == 0, K % 4 == 0),
)]
pub fn tensor_core<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    const THREADS: usize = BM * BN / (WM * WN) * 32;
    let mma = mma_atom::<f32>([16, 8, 8]);
    let (warp_row, warp_col) = (warp_id() / (BN / WN), warp_id() % (BN / WN));

    let mut a_smem = shared::<f32>(layout([STAGES * BM, BK], [BK + 4, 1]));
    let mut b_smem = shared::<f32>(layout([STAGES * BK, BN], [BN + 8, 1]));
    let mut acc = local::<f32>(row_major([WM / 16, WN / 8 * 4])).fill(0.0);

    let blocks = K.div_ceil(BK);
    for ahead in unroll(0..STAGES - 1) {
        let a_tile = a.tile([BM, BK], [block_idx.y, ahead]).vectorize([1, 4]);
        let b_tile = b.tile([BK, BN], [ahead, block_idx.x]).vectorize([1, 4]);
        let mut a_stage = a_smem.tile([BM, BK], [ahead, 0]).vectorize([1, 4]);
        let mut b_stage = b_smem.tile([BK, BN], [ahead, 0]).vectorize([1, 4]);
        copy_dram_to_sram_async(&mut a_stage, &a_tile, row_major([THREADS / (BK / 4), BK / 4]));
        copy_dram_to_sram_async(&mut b_stage, &b_tile, row_major([THREADS / (BN / 4), BN / 4]));
        async_copy_commit_group();
    }
    for block in 0..blocks {
        async_copy_wait_group(STAGES - 2);
        barrier();
        let ahead = block + STAGES - 1;
        if ahead < blocks {
            let a_tile = a.tile([BM, BK], [block_idx.y, ahead]).vectorize([1, 4]);
            let b_tile = b.tile([BK, BN], [ahead, block_idx.x]).vectorize([1, 4]);
            let mut a_stage = a_smem.tile([BM, BK], [ahead % STAGES, 0]).vectorize([1, 4]);
            let mut b_stage = b_smem.tile([BK, BN], [ahead % STAGES, 0]).vectorize([1, 4]);
            copy_dram_to_sram_async(&mut a_stage, &a_tile, row_major([THREADS / (BK / 4), BK / 4]));
            copy_dram_to_sram_async(&mut b_stage, &b_tile, row_major([THREADS / (BN / 4), BN / 4]));
        }
        async_copy_commit_group();
        let stage = block % STAGES;
        let a_warp = a_smem.tile([BM, BK], [stage, 0]).tile([WM, BK], [warp_row, 0]);
        let b_warp = b_smem.tile([BK, BN], [stage, 0]).tile([BK, WN], [0, warp_col]);
        for step in unroll(0..BK / 8) {
            let a_reg = mma.load_a(&a_warp.tile([WM, 8], [0, step]));
            let b_reg = mma.load_b(&b_warp.tile([8, WN], [step, 0]));
            mma.mma(&mut acc, &a_reg, &b_reg);
        }
    }
    let mut dst = c.tile([BM, BN], [block_idx.y, block_idx.x]).tile([WM, WN], [warp_row, warp_col]);
    mma.store_d(&mut dst, &acc);
}
