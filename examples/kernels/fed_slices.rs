//! `C = A B` in float32 where C is small and K is long, fed by the copy engine: the slices of `sgemm_sliced`, without a
//! thread spending an instruction on copies.
//!
//! ```text
//! for each BK columns of A and rows of B:  warp s adds its BK / SLICES of them to its own BM x BN sum, in registers
//! for each half of the tile:               every warp writes its sum to shared memory, every thread adds SLICES of them
//! ```
//!
//! A stage of A is slabs of 32 `k`, swizzled: a slice of 16 lies in one of them.

use layout_cuda::tiled_kernel;

/// Tiles of 64 x 64 of C; each of SLICES warps makes all of it for its part of K.
#[tiled_kernel(
    BM = 64, BN = 64, BK = 128, SLICES = 8, STAGES = 3,
    arch = "sm_90a", block = [SLICES * 32],
    grid = [N.div_ceil(BN), M.div_ceil(BM)],
    variant_if(M % BM == 0, N % BN == 0),
)]
pub fn sgemm_sliced_fed<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, Pitched<M, K>>,
    b: &LayoutTensor<f32, Pitched<K, N>>,
    c: &mut LayoutTensor<f32, Pitched<M, N>>,
) {
    const THREADS: usize = SLICES * 32;
    const TM: usize = BM / 4;
    const TN: usize = BN / 8;
    const DEPTH: usize = BK / SLICES;
    assert!(STAGES * BK >= SLICES * BM / 2, "the stages of B hold half a tile of every slice");
    let slice = warp_id();
    let (lane_row, lane_col) = (lane_id() / 8, lane_id() % 8);

    let a_smem = shared::<f32>(row_major([STAGES, BK / 32, BM, 32]).swizzle_bytes(128));
    let mut b_smem = shared::<f32>(row_major([STAGES * BK, BN]));
    let full = mbarriers(STAGES, 1);
    let mut acc = local::<f32>(row_major([TM, TN])).fill(0.0);
    barrier();

    let blocks = K.div_ceil(BK);
    let leads = thread_idx.x == 0;
    if leads {
        for ahead in unroll(0..STAGES - 1) {
            if ahead < blocks {
                let (mut a_stage, mut b_stage) = (a_smem.slice(ahead), b_smem.tile([BK, BN], [ahead, 0]));
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
            let (mut a_stage, mut b_stage) =
                (a_smem.slice(ahead % STAGES), b_smem.tile([BK, BN], [ahead % STAGES, 0]));
            stage.arrive_expect(a_stage.bytes() + b_stage.bytes());
            tma_load(&mut a_stage, &a.tile([BM, BK], [block_idx.y, ahead]), stage);
            tma_load(&mut b_stage, &b.tile([BK, BN], [ahead, block_idx.x]), stage);
        }
        let stage = block % STAGES;
        full.at(stage).wait(block / STAGES % 2);
        let a_slab = a_smem.slice(stage).slice(slice * DEPTH / 32);
        let a_lane =
            a_slab.tile([BM, DEPTH], [0, slice % (32 / DEPTH)]).distribute(row_major([4, 1]), lane_row);
        let b_slice = b_smem.tile([BK, BN], [stage, 0]).tile([DEPTH, BN], [slice, 0]);
        let b_lane = b_slice.vectorize([1, 4]).distribute(row_major([1, 8]), lane_col);
        for fours in unroll(0..DEPTH / 4) {
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
    // Adding zero moves all sums to other registers than those that are stored; `sgemm_fed` tells why.
    for row in unroll(0..TM) {
        for col in unroll(0..TN) {
            acc[[row, col]] += 0.0;
        }
    }
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
