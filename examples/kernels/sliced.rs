//! `C = A B` in float32 where C is small and K is long: the warps of a block share out K instead of C.
//!
//! ```text
//! for each BK columns of A and rows of B:  warp s adds its BK / SLICES of them to its own BM x BN sum, in registers
//! for each half of the tile:               every warp writes its sum to shared memory, every thread adds SLICES of them
//! ```
//!
//! A grid of few tiles leaves multiprocessors idle; tiles of 64 x 64 are four times as many as those of 128 x 128, and
//! eight warps on one tile hide each other's waiting as eight warps on two tiles would.

use layout_cuda::tiled_kernel;

/// Tiles of 64 x 64 of C; each of SLICES warps makes all of it for its part of K.
#[tiled_kernel(
    BM = 64, BN = 64, BK = 128, SLICES = 8, STAGES = 3,
    block = [SLICES * 32],
    grid = [N.div_ceil(BN), M.div_ceil(BM)],
    variant_if(M % BM == 0, N % BN == 0, K % BK == 0),
    variant_if(N % 4 == 0, K % 4 == 0),
)]
pub fn sgemm_sliced<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    const THREADS: usize = SLICES * 32;
    const TM: usize = BM / 4;
    const TN: usize = BN / 8;
    assert!(STAGES * BK >= SLICES * BM / 2, "the stages of B hold half a tile of every slice");
    let slice = warp_id();
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
        let a_slice = a_smem.tile([BM, BK], [stage, 0]).tile([BM, BK / SLICES], [0, slice]);
        let b_slice = b_smem.tile([BK, BN], [stage, 0]).tile([BK / SLICES, BN], [slice, 0]);
        let a_lane = a_slice.distribute(row_major([4, 1]), lane_row);
        let b_lane = b_slice.vectorize([1, 4]).distribute(row_major([1, 8]), lane_col);
        for fours in 0..BK / SLICES / 4 {
            let a_fours = a_lane.tile([TM, 4], [0, fours]);
            let b_reg = b_lane.tile([4, TN / 4], [fours, 0]).to_local();
            for pair in unroll(0..TM / 2) {
                let even = a_fours.tile([1, 4], [pair * 2, 0]).to_local();
                for k in unroll(0..4) {
                    for col in unroll(0..TN) {
                        acc[[pair * 2, col]] += even[[0, k]] * b_reg[[k, col]];
                    }
                }
                let odd = a_fours.tile([1, 4], [pair * 2 + 1, 0]).to_local();
                for k in unroll((0..4).rev()) {
                    for col in unroll(0..TN) {
                        acc[[pair * 2 + 1, col]] += odd[[0, k]] * b_reg[[k, col]];
                    }
                }
            }
        }
    }
    // As in `sgemm`: every other row moves to other registers.
    for pair in unroll(0..TM / 2) {
        for col in unroll(0..TN) {
            acc[[pair * 2 + 1, col]] += 0.0;
        }
    }
    async_copy_wait_all();
    // Half a tile at a time, since that is what the stages of B hold of SLICES sums.
    let dst = c.tile([BM, BN], [block_idx.y, block_idx.x]);
    for half in unroll(0..2) {
        barrier();
        let mut own = b_smem.tile([BM / 2, BN], [slice, 0]).vectorize([1, 4]);
        let sum = acc.tile([TM / 2, TN], [half, 0]).vectorize([1, 4]);
        own.distribute(row_major([4, 8]), lane_id()).copy_from(&sum);
        barrier();
        let threads = row_major([THREADS / (BN / 4), BN / 4]);
        let mut total =
            b_smem.tile([BM / 2, BN], [0, 0]).vectorize([1, 4]).distribute(threads, thread_idx.x).to_local();
        for other in unroll(1..SLICES) {
            let more = b_smem
                .tile([BM / 2, BN], [other, 0])
                .vectorize([1, 4])
                .distribute(threads, thread_idx.x)
                .to_local();
            for row in unroll(0..BM * BN / 8 / THREADS) {
                for col in unroll(0..4) {
                    total[[row, col]] += more[[row, col]];
                }
            }
        }
        let mut part = dst.tile([BM / 2, BN], [half, 0]).vectorize([1, 4]);
        part.distribute(threads, thread_idx.x).copy_from(&total.vectorize([1, 4]));
    }
}
