//! `C = A B` in float32 through the multipliers, fed by the copy engine: the warp tiles of `sgemm`, without a thread
//! spending an instruction on copies.
//!
//! A stage of A is rows of 32 `k`, swizzled, so that nothing is transposed: a thread reads four `k` of a row as one vector,
//! and rows that a warp reads at once lie in different banks.

use layout_cuda::tiled_kernel;

/// Warp tiles of 64 x 64 of C, 16 x 8 for each thread; two blocks on each multiprocessor.
#[tiled_kernel(
    BM = 128, BN = 128, WM = 64, WN = 64, STAGES = 3, UNROLL = 4,
    arch = "sm_90a", block = [BM * BN / (WM * WN) * 32], min_blocks = 2,
    grid = [N.div_ceil(BN), M.div_ceil(BM)],
    variant_if(M % BM == 0, N % BN == 0),
)]
pub fn sgemm_fed<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, Pitched<M, K>>,
    b: &LayoutTensor<f32, Pitched<K, N>>,
    c: &mut LayoutTensor<f32, Pitched<M, N>>,
) {
    const BK: usize = 32;
    const TM: usize = WM / 4;
    const TN: usize = WN / 8;
    let (warp_row, warp_col) = (warp_id() / (BN / WN), warp_id() % (BN / WN));
    let (lane_row, lane_col) = (lane_id() / 8, lane_id() % 8);

    let a_smem = shared::<f32>(row_major([STAGES, BM, BK]).swizzle_bytes(128));
    let b_smem = shared::<f32>(row_major([STAGES, BK, BN]));
    let full = mbarriers(STAGES, 1);
    let mut acc = local::<f32>(row_major([TM, TN])).fill(0.0);
    barrier();

    let blocks = K.div_ceil(BK);
    let leads = thread_idx.x == 0;
    if leads {
        for ahead in unroll(0..STAGES - 1) {
            if ahead < blocks {
                let (mut a_stage, mut b_stage) = (a_smem.slice(ahead), b_smem.slice(ahead));
                full.at(ahead).arrive_expect(a_stage.bytes() + b_stage.bytes());
                tma_load(&mut a_stage, &a.tile([BM, BK], [block_idx.y, ahead]), full.at(ahead));
                tma_load(&mut b_stage, &b.tile([BK, BN], [ahead, block_idx.x]), full.at(ahead));
            }
        }
    }
    for block in 0..blocks {
        // The stage that everyone has read is loaded anew.
        barrier();
        let ahead = block + STAGES - 1;
        if leads && ahead < blocks {
            let stage = full.at(ahead % STAGES);
            let (mut a_stage, mut b_stage) = (a_smem.slice(ahead % STAGES), b_smem.slice(ahead % STAGES));
            stage.arrive_expect(a_stage.bytes() + b_stage.bytes());
            tma_load(&mut a_stage, &a.tile([BM, BK], [block_idx.y, ahead]), stage);
            tma_load(&mut b_stage, &b.tile([BK, BN], [ahead, block_idx.x]), stage);
        }
        let stage = block % STAGES;
        full.at(stage).wait(block / STAGES % 2);
        let a_lane =
            a_smem.slice(stage).tile([WM, BK], [warp_row, 0]).distribute(row_major([4, 1]), lane_row);
        let b_warp = b_smem.slice(stage).tile([BK, WN], [0, warp_col]);
        let b_lane = b_warp.vectorize([1, 4]).distribute(row_major([1, 8]), lane_col);
        for run in 0..BK / (4 * UNROLL) {
            for part in unroll(0..UNROLL) {
                let fours = run * UNROLL + part;
                let a_fours = a_lane.tile([TM, 4], [0, fours]);
                let b_reg = b_lane.tile([4, TN / 4], [fours, 0]).to_local();
                for four in unroll(0..TM / 4) {
                    let a_reg = a_fours.tile([4, 4], [four, 0]).to_local();
                    for row in unroll(0..4) {
                        for step in unroll(0..4) {
                            // Neighbours in this order share a row of B.
                            let k = if row % 2 == 1 { 3 - step } else { step };
                            for col in unroll(0..TN) {
                                acc[[four * 4 + row, col]] += a_reg[[row, k]] * b_reg[[k, col]];
                            }
                        }
                    }
                }
            }
        }
    }
    // Adding zero moves half of every other row to other registers. A store of four elements takes four neighbouring
    // registers, and rows that all lay so from the start would share banks with B. Which half, and the order of products, are
    // the fastest of some 500 that were timed.
    for pair in unroll(0..TM / 2) {
        for col in unroll(TN / 2..TN) {
            acc[[pair * 2, col]] += 0.0;
        }
    }
    let dst = c.tile([BM, BN], [block_idx.y, block_idx.x]).tile([WM, WN], [warp_row, warp_col]);
    let mut own = dst.vectorize([1, 4]).distribute(row_major([4, 8]), lane_id());
    own.copy_from(&acc.vectorize([1, 4]));
}
