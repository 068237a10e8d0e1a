//! `C = A B` in float32 at the speed of the multipliers: warp tiles, copies that run stages ahead, products in an order
//! that the register file likes.
//!
//! ```text
//! for each BK columns of A and rows of B:
//!     wait until this stage has landed; start the copy of the stage STAGES - 1 ahead
//!     for each 4 of the BK:
//!         b = 4 x TN of B in registers
//!         for each of TM rows: a = 4 elements of A; acc[row] += a[0] b[0] + a[1] b[1] + a[2] b[2] + a[3] b[3]
//! ```
//!
//! For speed: A stays row-major in shared memory (nothing is transposed), so that 4 columns of a row are one vector; its
//! rows are 4 elements apart from a multiple of 32, so that the rows that a warp reads at once lie in different banks;
//! the rows of one thread lie LANES apart for the same reason; odd rows take the columns last to first, so that the
//! elements of B that were read last are read first.

use layout_cuda::tiled_kernel;

/// Warp tiles of 64 x 64 of C, 16 x 8 for each thread.
#[tiled_kernel(
    BM = 128, BN = 128, BK = 32, WM = 64, WN = 64, STAGES = 2,
    block = [BM * BN / (WM * WN) * 32],
    grid = [N.div_ceil(BN), M.div_ceil(BM)],
    variant_if(M % BM == 0, N % BN == 0, K % BK == 0),
    variant_if(N % 4 == 0, K % 4 == 0),
)]
pub fn sgemm<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    const THREADS: usize = BM * BN / (WM * WN) * 32;
    const TM: usize = WM / 4;
    const TN: usize = WN / 8;
    let (warp_row, warp_col) = (warp_id() / (BN / WN), warp_id() % (BN / WN));
    let (lane_row, lane_col) = (lane_id() / 8, lane_id() % 8);

    let mut a_smem = shared::<f32>(layout([STAGES * BM, BK], [BK + 4, 1]));
    let mut b_smem = shared::<f32>(row_major([STAGES * BK, BN]));
    let mut acc = local::<f32>(row_major([TM, TN])).fill(0.0);

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
        let a_lane = a_warp.distribute(row_major([4, 1]), lane_row);
        let b_lane = b_warp.vectorize([1, 4]).distribute(row_major([1, 8]), lane_col);
        for fours in 0..BK / 4 {
            let a_fours = a_lane.tile([TM, 4], [0, fours]);
            let b_reg = b_lane.tile([4, TN / 4], [fours, 0]).to_local();
            for four in unroll(0..TM / 4) {
                let a_reg = a_fours.tile([4, 4], [four, 0]).to_local();
                for row in unroll(0..4) {
                    for step in unroll(0..4) {
                        let k = if row % 2 == 1 { 3 - step } else { step };
                        for col in unroll(0..TN) {
                            acc[[four * 4 + row, col]] += a_reg[[row, k]] * b_reg[[k, col]];
                        }
                    }
                }
            }
        }
    }
    // Adding zero lets a row move to other registers. A store of four elements takes four neighbouring registers, and rows
    // that all lay so from the start would share banks with B. Which halves of rows move was timed.
    for four in unroll(0..TM / 4) {
        for row in unroll(0..4) {
            for half in unroll(0..2) {
                if row + half != 1 {
                    for col in unroll(0..TN / 2) {
                        acc[[four * 4 + row, half * (TN / 2) + col]] += 0.0;
                    }
                }
            }
        }
    }
    let dst = c.tile([BM, BN], [block_idx.y, block_idx.x]).tile([WM, WN], [warp_row, warp_col]);
    let mut own = dst.vectorize([1, 4]).distribute(row_major([4, 8]), lane_id());
    own.copy_from(&acc.vectorize([1, 4]));
}
