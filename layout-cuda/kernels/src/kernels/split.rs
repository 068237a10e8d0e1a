//! `C = A B` on Hopper's matrix units where C has few tiles: the blocks of a cluster share a tile, each multiplies its part
//! of k, and the partial sums meet in distributed shared memory.
//!
//! ```text
//! block r of the cluster: the sum over its part of k, in registers, as in `gemm`
//! rows s of the tile: sent to block s, which keeps what each block sent apart
//! block s: adds what the blocks 0, 1, .. sent for its rows, in this order; rounds; stores
//! ```
//!
//! The order of additions is fixed, so a product has the same bits in every run. The threads store C, whose rows may begin
//! at any address.

use layout_cuda::tiled_kernels;

pub use shares::gemm_split;

#[tiled_kernels]
mod shares {
    /// Products of 16-bit floats, accumulated in float32. Of each operand either mode is contiguous.
    #[tiled_kernel(
        T = [bf16, f16], A_MODE = [1, 0], B_MODE = [1, 0], BM = 128, BN = 64, BK = 64, SPLIT = 2, STAGES = 4,
        arch = "sm_90a", block = [288], min_blocks = 1, cluster = [SPLIT],
        grid = [SPLIT * N.div_ceil(BN), M.div_ceil(BM)],
        variant_if(N % 4 == 0),
        deny(narrowed, synchronous),
    )]
    pub fn gemm_split<T, const M: usize, const N: usize, const K: usize>(
        a: &LayoutTensor<T, Contiguous<A_MODE, M, K>>,
        b: &LayoutTensor<T, Contiguous<B_MODE, K, N>>,
        c: &mut LayoutTensor<T, Pitched<M, N>>,
    ) {
        const ROUNDS: usize = BM * BN / SPLIT / 1024;
        let rank = cluster_rank();
        let (row, col) = (block_idx.y, block_idx.x / SPLIT);
        let share = K.div_ceil(BK * SPLIT);
        // Slabs as in `gemm`.
        let (a_row, a_k) = if A_MODE == 1 { (BK, 1) } else { (1, 64) };
        let (b_k, b_col) = if B_MODE == 1 { (64, 1) } else { (1, BK) };
        let a_tiles = layout([STAGES, BM / 64, 64, BK], [BM * BK, 64 * BK, a_row, a_k]);
        let b_tiles = layout([STAGES, BN / 64, BK, 64], [BK * BN, 64 * BK, b_k, b_col]);
        let a_smem = shared::<T>(a_tiles.swizzle_bytes(128));
        let b_smem = shared::<T>(b_tiles.swizzle_bytes(128));
        // From each block its sums of this block's rows; rows 8 banks apart.
        let sums = shared::<f32>(row_major([SPLIT, BM / SPLIT, BN + 8]));
        let pipeline = Pipeline::<STAGES>::new(2);
        launch_dependents();
        cluster_barrier();
        grid_dependency_wait();

        if warp_group() == 2 {
            if thread_idx.x == 256 {
                let mut next = pipeline.begin();
                for block in 0..share {
                    let stage = next.stage();
                    let (mut a_stage, mut b_stage) = (a_smem.slice(stage), b_smem.slice(stage));
                    next.acquire();
                    let full = next.expect(a_stage.bytes() + b_stage.bytes());
                    tma_load(&mut a_stage, &a.tile([BM, BK], [row, rank * share + block]), full);
                    tma_load(&mut b_stage, &b.tile([BK, BN], [rank * share + block, col]), full);
                    next.advance();
                }
            }
        } else {
            let consumer = warp_group();
            let (warp, lane) = (thread_idx.x % 128 / 32, thread_idx.x % 32);
            let mut acc = accumulator([64, BN]).fill(0.0);
            let (mut next, mut read) = (pipeline.begin(), pipeline.begin());
            for block in 0..share {
                let stage = next.stage();
                next.wait();
                wgmma(&mut acc, &a_smem.slice(stage).slice(consumer), &b_smem.slice(stage), block > 0);
                wgmma_commit_group();
                next.advance();
                wgmma_wait_group(1);
                if block > 0 {
                    if thread_idx.x % 128 == 0 {
                        read.release();
                    }
                    read.advance();
                }
            }
            wgmma_wait_group(0);
            // A warp's 16 rows go to one block.
            let first = 64 * consumer + 16 * warp;
            let there = sums.map_shared_rank(first / (BM / SPLIT)).slice(rank);
            let mut own = there.tile([16, BN], [first % (BM / SPLIT) / 16, 0]).vectorize([1, 2]);
            own.distribute(row_major([8, 4]), lane).copy_from(&acc);
        }
        cluster_barrier();

        if warp_group() < 2 {
            let threads = row_major([256 / (BN / 4), BN / 4]);
            let mut total = local::<f32>(row_major([ROUNDS, 4])).fill(0.0);
            for other in unroll(0..SPLIT) {
                let part = sums.slice(other).tile([BM / SPLIT, BN], [0, 0]).vectorize([1, 4]);
                let more = part.distribute(threads, thread_idx.x).to_local();
                for round in unroll(0..ROUNDS) {
                    for col in unroll(0..4) {
                        total[[round, col]] += more[[round, col]];
                    }
                }
            }
            let mut rounded = local::<T>(row_major([ROUNDS, 4]));
            for round in unroll(0..ROUNDS) {
                for col in unroll(0..4) {
                    rounded[[round, col]] = total[[round, col]].cast::<T>();
                }
            }
            let dst = c.tile([BM, BN], [row, col]).tile([BM / SPLIT, BN], [rank, 0]).vectorize([1, 4]);
            dst.distribute(threads, thread_idx.x).copy_from(&rounded.vectorize([1, 4]));
        }
    }
}
