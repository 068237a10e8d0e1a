//! `C = A B` in float64 on the matrix units, by warps.
//!
//! ```text
//! for each BK columns of A and rows of B, copied STAGES - 1 ahead, for each MK of them:
//!     start to copy a part of a later stage
//!     each warp loads the next WM x MK of A and MK x WN of B to registers
//!     products of 16 x 8 x MK of those that it loaded the step before
//! ```
//!
//! For speed: rows of A and of B in shared memory are 4 elements longer than necessary. A half-warp reads 4 rows of 4
//! elements, and 4 mod 16 elements from row to row put these 16 in all 32 banks. The barrier of a stage comes before its last
//! products, so the next stage's first fragments are loaded behind them. Blocks that run at the same time make a
//! rectangle of C, so that they share rows of A and columns of B in L2.
//!
//! Operands may be wider than the product, so that rows of any length can be copied by vectors: A by a column of zeros, B by a
//! column of anything.

use layout_cuda::tiled_kernel;

/// Each warp makes WM x WN of C with the matrix instruction of 16 x 8 x MK.
#[tiled_kernel(
    BM = 128, BN = 128, BK = 16, WM = 64, WN = 32, MK = 8, STAGES = 4, GROUP = 8,
    arch = "sm_90",
    block = [BM * BN / (WM * WN) * 32],
    grid = [W.div_ceil(BN) * GROUP, M.div_ceil(BM * GROUP)],
    require(D >= K, D < K + 2, W < N + 2),
    variant_if(D % 2 == 0, W % 2 == 0),
    deny(synchronous),
)]
pub fn dgemm<const M: usize, const N: usize, const K: usize, const D: usize, const W: usize>(
    a: &LayoutTensor<f64, Pitched<M, D>>,
    b: &LayoutTensor<f64, Pitched<K, W>>,
    c: &mut LayoutTensor<f64, Pitched<M, N>>,
) {
    const THREADS: usize = BM * BN / (WM * WN) * 32;
    const STEPS: usize = BK / MK;
    let mma = mma_atom::<f64>([16, 8, MK]);
    let (warp_row, warp_col) = (warp_id() / (BN / WN), warp_id() % (BN / WN));
    let (row, col) = (block_idx.y * GROUP + block_idx.x % GROUP, block_idx.x / GROUP);
    if row * BM >= M {
        return;
    }

    let mut a_smem = shared::<f64>(layout([STAGES * BM, BK], [BK + 4, 1]));
    let mut b_smem = shared::<f64>(layout([STAGES * BK, BN], [BN + 4, 1]));
    let mut acc = local::<f64>(row_major([WM / 16, WN / 8 * 4])).fill(0.0);

    let (a_threads, b_threads) =
        (row_major([THREADS / (BK / 2), BK / 2]), row_major([THREADS / (BN / 2), BN / 2]));
    let blocks = K.div_ceil(BK);
    for ahead in unroll(0..STAGES - 1) {
        let a_tile = a.tile([BM, BK], [row, ahead]).vectorize([1, 2]);
        let b_tile = b.tile([BK, BN], [ahead, col]).vectorize([1, 2]);
        let mut a_stage = a_smem.tile([BM, BK], [ahead, 0]).vectorize([1, 2]);
        let mut b_stage = b_smem.tile([BK, BN], [ahead, 0]).vectorize([1, 2]);
        copy_dram_to_sram_async(&mut a_stage, &a_tile, a_threads);
        copy_dram_to_sram_async(&mut b_stage, &b_tile, b_threads);
        async_copy_commit_group();
    }
    async_copy_wait_group(STAGES - 2);
    barrier();
    let mut a_now = mma.load_a(&a_smem.tile([WM, MK], [warp_row, 0]));
    let mut b_now = mma.load_b(&b_smem.tile([MK, WN], [0, warp_col]));
    for block in 0..blocks {
        // The last stages are loaded with the first again, which no product reads: no condition is between the products.
        let ahead = (block + STAGES - 1) % blocks;
        let (a_ahead, b_ahead) = (a.tile([BM, BK], [row, ahead]), b.tile([BK, BN], [ahead, col]));
        let free = (block + STAGES - 1) % STAGES;
        let (a_free, b_free) = (a_smem.tile([BM, BK], [free, 0]), b_smem.tile([BK, BN], [free, 0]));
        for step in unroll(0..STEPS) {
            let a_part = a_ahead.tile([BM / STEPS, BK], [step, 0]).vectorize([1, 2]);
            let b_part = b_ahead.tile([BK / STEPS, BN], [step, 0]).vectorize([1, 2]);
            let mut a_to = a_free.tile([BM / STEPS, BK], [step, 0]).vectorize([1, 2]);
            let mut b_to = b_free.tile([BK / STEPS, BN], [step, 0]).vectorize([1, 2]);
            copy_dram_to_sram_async(&mut a_to, &a_part, a_threads);
            copy_dram_to_sram_async(&mut b_to, &b_part, b_threads);
            if step + 1 == STEPS {
                async_copy_commit_group();
                async_copy_wait_group(STAGES - 2);
                barrier();
            }
            let stage = (block + (step + 1) / STEPS) % STAGES;
            let next = (step + 1) % STEPS;
            let a_warp = a_smem.tile([BM, BK], [stage, 0]).tile([WM, MK], [warp_row, next]);
            let b_warp = b_smem.tile([BK, BN], [stage, 0]).tile([MK, WN], [next, warp_col]);
            let (a_next, b_next) = (mma.load_a(&a_warp), mma.load_b(&b_warp));
            mma.mma(&mut acc, &a_now, &b_now);
            a_now.copy_from(&a_next);
            b_now.copy_from(&b_next);
        }
    }
    async_copy_wait_all();
    let mut dst = c.tile([BM, BN], [row, col]).tile([WM, WN], [warp_row, warp_col]);
    mma.store_d(&mut dst, &acc);
}
