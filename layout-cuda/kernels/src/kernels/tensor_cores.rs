//! `C = A B` on the tensor cores, by warps: float32 rounded to TF32, sums in float32.
//!
//! ```text
//! for each BK columns of A and rows of B, copied STAGES - 1 ahead, for each 8 of them:
//!     start to copy a part of a later stage
//!     each warp loads the next WM x 8 of A and 8 x WN of B to registers, rounded
//!     products of 16 x 8 x 8 of those that it loaded the step before
//! ```
//!
//! For speed: a step's copies and loads are between products that need neither. The barrier of a stage is before its
//! last products, so the next stage's first fragments are loaded behind them. Rows of A in shared memory are 4 elements
//! longer than necessary, rows of B 8: so the 32 elements that a warp reads at once are in 32 banks.
//!
//! Operands may be wider than the product, so that rows of any length can be copied by vectors: A by up to 3 columns of
//! zeros, B by up to 3 columns of anything. Of a narrower B whole tiles of C are computed.

use layout_cuda::tiled_kernel;

/// Kernel 7: each warp makes WM x WN of C with the matrix instruction of 16 x 8 x 8.
#[tiled_kernel(
    BM = 256, BN = 128, BK = 32, WM = 64, WN = 64, STAGES = 3,
    block = [BM * BN / (WM * WN) * 32],
    grid = [W.div_ceil(BN), M.div_ceil(BM)],
    require(D >= K, D < K + 4, W < N + 4),
    variant_if(D % 4 == 0, W % 4 == 0),
    deny(narrowed, synchronous),
)]
pub fn tensor_core<const M: usize, const N: usize, const K: usize, const D: usize, const W: usize>(
    a: &LayoutTensor<f32, Pitched<M, D>>,
    b: &LayoutTensor<f32, Pitched<K, W>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    const THREADS: usize = BM * BN / (WM * WN) * 32;
    const STEPS: usize = BK / 8;
    assert!(STAGES * BK >= BM / WM * 16, "the stages of B hold 16 rows of every warp");
    let mma = mma_atom::<f32>([16, 8, 8]);
    let (warp_row, warp_col) = (warp_id() / (BN / WN), warp_id() % (BN / WN));

    let mut a_smem = shared::<f32>(layout([STAGES * BM, BK], [BK + 4, 1]));
    let mut b_smem = shared::<f32>(layout([STAGES * BK, BN], [BN + 8, 1]));
    let mut acc = local::<f32>(row_major([WM / 16, WN / 8 * 4])).fill(0.0);

    let (a_threads, b_threads) =
        (row_major([THREADS / (BK / 4), BK / 4]), row_major([THREADS / (BN / 4), BN / 4]));
    let blocks = K.div_ceil(BK);
    for ahead in unroll(0..STAGES - 1) {
        let a_tile = a.tile([BM, BK], [block_idx.y, ahead]).vectorize([1, 4]);
        let b_tile = b.tile([BK, BN], [ahead, block_idx.x]).vectorize([1, 4]);
        let mut a_stage = a_smem.tile([BM, BK], [ahead, 0]).vectorize([1, 4]);
        let mut b_stage = b_smem.tile([BK, BN], [ahead, 0]).vectorize([1, 4]);
        copy_dram_to_sram_async(&mut a_stage, &a_tile, a_threads);
        copy_dram_to_sram_async(&mut b_stage, &b_tile, b_threads);
        async_copy_commit_group();
    }
    async_copy_wait_group(STAGES - 2);
    barrier();
    // The fragments of this step and of the next.
    let mut a_reg = local::<f32>(row_major([WM / 16, 8]));
    let mut b_reg = local::<f32>(row_major([WN / 8, 4]));
    let (a_first, b_first) = (a_smem.tile([WM, 8], [warp_row, 0]), b_smem.tile([8, WN], [0, warp_col]));
    a_reg.tile([WM / 16, 4], [0, 0]).copy_from(&mma.load_a(&a_first));
    b_reg.tile([WN / 8, 2], [0, 0]).copy_from(&mma.load_b(&b_first));
    for block in 0..blocks {
        // The last stages are loaded with the first again, which nobody reads: no condition is between the products.
        let ahead = (block + STAGES - 1) % blocks;
        let (a_ahead, b_ahead) =
            (a.tile([BM, BK], [block_idx.y, ahead]), b.tile([BK, BN], [ahead, block_idx.x]));
        let free = (block + STAGES - 1) % STAGES;
        let (a_free, b_free) = (a_smem.tile([BM, BK], [free, 0]), b_smem.tile([BK, BN], [free, 0]));
        for step in unroll(0..STEPS) {
            let a_part = a_ahead.tile([BM / STEPS, BK], [step, 0]).vectorize([1, 4]);
            let b_part = b_ahead.tile([BK / STEPS, BN], [step, 0]).vectorize([1, 4]);
            let mut a_to = a_free.tile([BM / STEPS, BK], [step, 0]).vectorize([1, 4]);
            let mut b_to = b_free.tile([BK / STEPS, BN], [step, 0]).vectorize([1, 4]);
            copy_dram_to_sram_async(&mut a_to, &a_part, a_threads);
            copy_dram_to_sram_async(&mut b_to, &b_part, b_threads);
            if step + 1 == STEPS {
                async_copy_commit_group();
                async_copy_wait_group(STAGES - 2);
                barrier();
            }
            let stage = (block + (step + 1) / STEPS) % STAGES;
            let next = (step + 1) % STEPS;
            let a_warp = a_smem.tile([BM, BK], [stage, 0]).tile([WM, 8], [warp_row, next]);
            let b_warp = b_smem.tile([BK, BN], [stage, 0]).tile([8, WN], [next, warp_col]);
            a_reg.tile([WM / 16, 4], [0, (step + 1) % 2]).copy_from(&mma.load_a(&a_warp));
            b_reg.tile([WN / 8, 2], [0, (step + 1) % 2]).copy_from(&mma.load_b(&b_warp));
            let (a_now, b_now) =
                (a_reg.tile([WM / 16, 4], [0, step % 2]), b_reg.tile([WN / 8, 2], [0, step % 2]));
            mma.mma(&mut acc, &a_now, &b_now);
        }
    }
    async_copy_wait_all();
    // 16 rows of each warp at a time go through the stages of B, so that a warp stores neighbours, wherever C's rows begin.
    let dst = c.tile([BM, BN], [block_idx.y, block_idx.x]);
    for part in unroll(0..WM / 16) {
        barrier();
        let mut own = b_smem.tile([16, WN], [warp_row, warp_col]);
        mma.store_d(&mut own, &acc.tile([1, WN / 8 * 4], [part, 0]));
        barrier();
        for row in unroll(0..BM / WM) {
            let from =
                b_smem.tile([16, BN], [row, 0]).distribute(row_major([THREADS / 32, 32]), thread_idx.x);
            let to = dst.tile([16, BN], [row * (WM / 16) + part, 0]);
            to.distribute(row_major([THREADS / 32, 32]), thread_idx.x).copy_from(&from.to_local());
        }
    }
}
