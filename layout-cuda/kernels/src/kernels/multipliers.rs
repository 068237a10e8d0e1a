//! `C = A B` in float32 at the speed of the FMA units, with products in an order that avoids bank conflicts of the register
//! file.
//!
//! ```text
//! for each BK columns of A and rows of B, in shared memory, copied stages ahead:
//!     for each k of the BK, for each row of a thread's sums, for each column, there and back:
//!         sum += a[row][k] b[k][column]
//!     meanwhile the next row of B comes into registers, and after the last use of four k of a row of A the next four
//! ```
//!
//! A product reads three registers, and reads of one bank in a cycle cost a cycle each beyond the first. So an element of A
//! stays in the operand cache from one product to the next, and at the end of a row the element of B does: then two
//! registers are read, and a sum is in another bank than its element of B. `opt_level = 1` makes ptxas keep to this
//! order; at its default level it takes another, which is slower (tests/registers.rs reads the code for it).
//!
//! A stays row-major in shared memory, so four k of a row are one vector. Rows that a warp reads at once are in different
//! banks: their pitch is 4 elements more than a multiple of 32, or TMA swizzles them.

use layout_cuda::tiled_kernels;

pub use products::{sgemm, sgemm_fed};

#[tiled_kernels]
mod products {
    /// Adds one stage's products to the sums of a thread. `a` has the thread's rows, `b` its columns in vectors of four.
    fn multiply(mut acc: View<f32, Write>, a: View<f32, Write>, b: View<f32, Write>) {
        let (rows, cols, fours) = (acc.dim(0), acc.dim(1), a.dim(1) / 4);
        assert!(AFTER < rows && fours % UNROLL == 0, "a stage is whole rounds, and each row of B is loaded");
        let mut a_reg = a.tile([rows, 4], [0, 0]).to_local();
        let mut b_reg = local::<f32>(row_major([2, cols]));
        b_reg.tile([1, cols], [0, 0]).vectorize([1, 4]).copy_from(&b.tile([1, cols / 4], [0, 0]));
        for run in 0..fours / UNROLL {
            for part in unroll(0..UNROLL) {
                let four = run * UNROLL + part;
                // After the last four the first come again, and are not used.
                let next = (four + 1) % fours;
                for k in unroll(0..4) {
                    for row in unroll(0..rows) {
                        for step in unroll(0..cols) {
                            let col = if row % 2 == 0 { cols - 1 - step } else { step };
                            acc[[row, col]] += a_reg[[row, k]] * b_reg[[k % 2, col]];
                        }
                        if row == AFTER {
                            let later = if k == 3 { next * 4 } else { four * 4 + k + 1 };
                            let mut to = b_reg.tile([1, cols], [(k + 1) % 2, 0]).vectorize([1, 4]);
                            to.copy_from(&b.tile([1, cols / 4], [later, 0]));
                        }
                        if k == 3 {
                            a_reg.tile([1, 4], [row, 0]).copy_from(&a.tile([1, 4], [row, next]));
                        }
                    }
                }
            }
        }
    }

    /// Moves the sums to other registers, by adding zero. Four sums that are stored as a vector are in neighbouring
    /// registers. If they did from the start, a sum would be in the bank of its element of B.
    fn move_sums(mut acc: View<f32, Write>) {
        for row in unroll(0..acc.dim(0)) {
            for col in unroll(0..acc.dim(1)) {
                acc[[row, col]] += 0.0;
            }
        }
    }

    /// Starts the copies of a stage by all threads, as one group.
    fn copy_stage(
        a_stage: View<f32, Write>,
        b_stage: View<f32, Write>,
        a_tile: View<f32, Read>,
        b_tile: View<f32, Read>,
        threads: usize,
    ) {
        let (mut a_to, mut b_to) = (a_stage.vectorize([1, 4]), b_stage.vectorize([1, 4]));
        copy_dram_to_sram_async(
            &mut a_to,
            &a_tile.vectorize([1, 4]),
            row_major([threads / (BK / 4), BK / 4]),
        );
        copy_dram_to_sram_async(
            &mut b_to,
            &b_tile.vectorize([1, 4]),
            row_major([threads / (BN / 4), BN / 4]),
        );
        async_copy_commit_group();
    }

    /// Starts the copies of a stage by TMA.
    fn load_stage(
        mut a_stage: View<f32, Write>,
        mut b_stage: View<f32, Write>,
        a_tile: View<f32, Read>,
        b_tile: View<f32, Read>,
        full: Mbarrier,
    ) {
        full.arrive_expect(a_stage.bytes() + b_stage.bytes());
        tma_load(&mut a_stage, &a_tile, full);
        tma_load(&mut b_stage, &b_tile, full);
    }

    /// Adds up the parts of a block's warps, each of its slice of K, and stores the sum: half a tile at a time, since the
    /// stages of B hold no more of SLICES sums.
    fn store_total(acc: View<f32, Write>, scratch: View<f32, Write>, c: View<f32, Write>) {
        const THREADS: usize = SLICES * 32;
        assert!(BM == WM && BN == WN, "each slice of K is one warp's");
        assert!(STAGES * BK >= SLICES * BM / 2, "the stages of B hold half a tile of every slice");
        let threads = row_major([THREADS / (BN / 4), BN / 4]);
        for half in unroll(0..2) {
            barrier();
            let mut own = scratch.tile([BM / 2, BN], [warp_id(), 0]).vectorize([1, 4]);
            let sum = acc.tile([acc.dim(0) / 2, acc.dim(1)], [half, 0]).vectorize([1, 4]);
            own.distribute(row_major([8, 4]), lane_id()).copy_from(&sum);
            barrier();
            let first = scratch.tile([BM / 2, BN], [0, 0]).vectorize([1, 4]);
            let mut total = first.distribute(threads, thread_idx.x).to_local();
            for other in unroll(1..SLICES) {
                let one = scratch.tile([BM / 2, BN], [other, 0]).vectorize([1, 4]);
                let more = one.distribute(threads, thread_idx.x).to_local();
                for row in unroll(0..BM * BN / 8 / THREADS) {
                    for col in unroll(0..4) {
                        total[[row, col]] += more[[row, col]];
                    }
                }
            }
            let mut part = c.tile([BM / 2, BN], [half, 0]).vectorize([1, 4]);
            part.distribute(threads, thread_idx.x).copy_from(&total.vectorize([1, 4]));
        }
    }

    /// Stores the sums: a warp's own, or those of all slices.
    fn store(acc: View<f32, Write>, scratch: View<f32, Write>, c: View<f32, Write>, warp: [usize; 2]) {
        if SLICES == 1 {
            let own = c.tile([WM, WN], warp).vectorize([1, 4]).distribute(row_major([8, 4]), lane_id());
            own.copy_from(&acc.vectorize([1, 4]));
        } else {
            store_total(acc, scratch, c);
        }
    }

    /// Each warp computes WM x WN of C, 8 x 16 for each thread. Where C is small and K long, SLICES warps compute the same
    /// elements, each from its part of every stage.
    #[tiled_kernel(
        SLICES = [1, 8], BM = [128, 64], BN = [128, 64], BK = [32, 128], WM = 64, WN = 64,
        STAGES = [2, 3], UNROLL = [2, 4], AFTER = 1,
        filter((SLICES == 1) == (BM == 128), BM == BN, (SLICES == 1) == (BK == 32)),
        filter((SLICES == 1) == (STAGES == 2), UNROLL == if SLICES == 1 { 2 } else { 4 }),
        block = [BM * BN / (WM * WN) * SLICES * 32], opt_level = 1,
        grid = [N.div_ceil(BN), M.div_ceil(BM)],
        variant_if(M % BM == 0, N % BN == 0, K % BK == 0),
        variant_if(N % 4 == 0, K % 4 == 0),
        deny(narrowed, synchronous),
    )]
    pub fn sgemm<const M: usize, const N: usize, const K: usize>(
        a: &LayoutTensor<f32, RowMajor<M, K>>,
        b: &LayoutTensor<f32, RowMajor<K, N>>,
        c: &mut LayoutTensor<f32, RowMajor<M, N>>,
    ) {
        const TILES: usize = BM * BN / (WM * WN);
        const DEPTH: usize = BK / SLICES;
        let (warp_row, warp_col) = (warp_id() % TILES / (BN / WN), warp_id() % (BN / WN));
        let slice = warp_id() / TILES;
        let (lane_row, lane_col) = (lane_id() / 4, lane_id() % 4);

        let mut a_smem = shared::<f32>(layout([STAGES * BM, BK], [BK + 4, 1]));
        let mut b_smem = shared::<f32>(row_major([STAGES * BK, BN]));
        let mut acc = local::<f32>(row_major([WM / 8, WN / 4])).fill(0.0);

        let blocks = K.div_ceil(BK);
        for ahead in unroll(0..STAGES - 1) {
            let (a_stage, b_stage) = (a_smem.tile([BM, BK], [ahead, 0]), b_smem.tile([BK, BN], [ahead, 0]));
            let (a_tile, b_tile) =
                (a.tile([BM, BK], [block_idx.y, ahead]), b.tile([BK, BN], [ahead, block_idx.x]));
            copy_stage(a_stage, b_stage, a_tile, b_tile, TILES * SLICES * 32);
        }
        for block in 0..blocks {
            async_copy_wait_group(STAGES - 2);
            barrier();
            let ahead = block + STAGES - 1;
            let next = ahead % STAGES;
            if ahead < blocks {
                let (a_stage, b_stage) = (a_smem.tile([BM, BK], [next, 0]), b_smem.tile([BK, BN], [next, 0]));
                let (a_tile, b_tile) =
                    (a.tile([BM, BK], [block_idx.y, ahead]), b.tile([BK, BN], [ahead, block_idx.x]));
                copy_stage(a_stage, b_stage, a_tile, b_tile, TILES * SLICES * 32);
            } else {
                async_copy_commit_group();
            }
            let stage = block % STAGES;
            let a_warp = a_smem.tile([BM, BK], [stage, 0]).tile([WM, DEPTH], [warp_row, slice]);
            let b_warp = b_smem.tile([BK, BN], [stage, 0]).tile([DEPTH, WN], [slice, warp_col]);
            multiply(
                acc,
                a_warp.distribute(row_major([8, 1]), lane_row),
                b_warp.vectorize([1, 4]).distribute(row_major([1, 4]), lane_col),
            );
        }
        move_sums(acc);
        if SLICES > 1 {
            async_copy_wait_all();
        }
        store(acc, b_smem, c.tile([BM, BN], [block_idx.y, block_idx.x]), [warp_row, warp_col]);
    }

    /// The same, fed by TMA: no thread spends an instruction on copies. A stage of A is slabs of 32 `k`, swizzled; a slice
    /// of 16 is in one of them. Without slices two blocks share a multiprocessor.
    #[tiled_kernel(
        SLICES = [1, 8], BM = [128, 64], BN = [128, 64], BK = [32, 128], WM = 64, WN = 64,
        STAGES = 3, UNROLL = 4, AFTER = 0,
        filter((SLICES == 1) == (BM == 128), BM == BN, (SLICES == 1) == (BK == 32)),
        arch = "sm_90a", block = [BM * BN / (WM * WN) * SLICES * 32],
        min_blocks = if SLICES == 1 { 2 } else { 1 }, opt_level = 1,
        grid = [N.div_ceil(BN), M.div_ceil(BM)],
        variant_if(M % BM == 0, N % BN == 0),
        deny(narrowed, synchronous),
    )]
    pub fn sgemm_fed<const M: usize, const N: usize, const K: usize>(
        a: &LayoutTensor<f32, Pitched<M, K>>,
        b: &LayoutTensor<f32, Pitched<K, N>>,
        c: &mut LayoutTensor<f32, Pitched<M, N>>,
    ) {
        const TILES: usize = BM * BN / (WM * WN);
        const DEPTH: usize = BK / SLICES;
        let (warp_row, warp_col) = (warp_id() % TILES / (BN / WN), warp_id() % (BN / WN));
        let slice = warp_id() / TILES;
        let (lane_row, lane_col) = (lane_id() / 4, lane_id() % 4);

        let a_smem = shared::<f32>(row_major([STAGES, BK / 32, BM, 32]).swizzle_bytes(128));
        let mut b_smem = shared::<f32>(row_major([STAGES * BK, BN]));
        let full = mbarriers(STAGES, 1);
        let mut acc = local::<f32>(row_major([WM / 8, WN / 4])).fill(0.0);
        barrier();

        let blocks = K.div_ceil(BK);
        let leads = thread_idx.x == 0;
        if leads {
            for ahead in unroll(0..STAGES - 1) {
                if ahead < blocks {
                    let (a_tile, b_tile) =
                        (a.tile([BM, BK], [block_idx.y, ahead]), b.tile([BK, BN], [ahead, block_idx.x]));
                    let b_stage = b_smem.tile([BK, BN], [ahead, 0]);
                    load_stage(a_smem.slice(ahead), b_stage, a_tile, b_tile, full.at(ahead));
                }
            }
        }
        for block in 0..blocks {
            // The stage that everyone has read is loaded anew.
            barrier();
            let ahead = block + STAGES - 1;
            if leads && ahead < blocks {
                let (a_tile, b_tile) =
                    (a.tile([BM, BK], [block_idx.y, ahead]), b.tile([BK, BN], [ahead, block_idx.x]));
                let next = ahead % STAGES;
                let b_stage = b_smem.tile([BK, BN], [next, 0]);
                load_stage(a_smem.slice(next), b_stage, a_tile, b_tile, full.at(next));
            }
            let stage = block % STAGES;
            full.at(stage).wait(block / STAGES % 2);
            let a_slab = a_smem.slice(stage).slice(slice * DEPTH / 32);
            let a_warp = a_slab.tile([WM, DEPTH], [warp_row, slice % (32 / DEPTH)]);
            let b_warp = b_smem.tile([BK, BN], [stage, 0]).tile([DEPTH, WN], [slice, warp_col]);
            multiply(
                acc,
                a_warp.distribute(row_major([8, 1]), lane_row),
                b_warp.vectorize([1, 4]).distribute(row_major([1, 4]), lane_col),
            );
        }
        move_sums(acc);
        store(acc, b_smem, c.tile([BM, BN], [block_idx.y, block_idx.x]), [warp_row, warp_col]);
    }
}
