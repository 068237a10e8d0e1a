//! `C = A B` on Hopper's matrix units where C has few tiles. Each block has a tile of 64 by 64. Pairs of blocks share
//! columns of B: each loads half of every stage of B for both.
//!
//! ```text
//! one warp: for each BK columns of A and rows of B:
//!     wait until the stage is empty in both blocks; load A for this one, half of B for both
//! a warpgroup: wait until the stage is full; acc += a b; release the stage before in both blocks
//! ```
//!
//! No arrival may reach a block after its end. So the last stages, which are not filled again, are not released.

use layout_cuda::tiled_kernel;

/// Products of 16-bit floats, accumulated in float32. Of each operand either mode is contiguous; C's rows may begin anywhere.
#[tiled_kernel(
    T = [bf16, f16], A_MODE = [1, 0], B_MODE = [1, 0], BK = 64, STAGES = 8,
    arch = "sm_90a", block = [160], min_blocks = 1, cluster = [1, 2],
    grid = [N.div_ceil(64), 2 * M.div_ceil(128)],
    variant_if(N % 8 == 0),
    deny(narrowed, synchronous),
)]
pub fn gemm_pair<T, const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<T, Contiguous<A_MODE, M, K>>,
    b: &LayoutTensor<T, Contiguous<B_MODE, K, N>>,
    c: &mut LayoutTensor<T, Pitched<M, N>>,
) {
    /// Tiles of 64 by 64, one of whose modes is contiguous.
    fn stages(contiguous: usize) -> Layout {
        if contiguous == 1 { row_major([STAGES, 64, BK]) } else { layout([STAGES, 64, BK], [64 * BK, 1, 64]) }
    }
    let rank = cluster_rank();
    let blocks = K.div_ceil(BK);
    let a_smem = shared::<T>(stages(A_MODE).swizzle_bytes(128));
    let b_smem = shared::<T>(stages(B_MODE).swizzle_bytes(128));
    // Half of a piece of B, of whole lines of shared memory.
    let (half, own) = if B_MODE == 1 { ([BK / 2, 64], [rank, 0]) } else { ([BK, 32], [0, rank]) };
    let mut c_smem = shared::<T>(row_major([1, 64, 64]).swizzle_bytes(128));
    let full = mbarriers(STAGES, 1);
    let empty = mbarriers(STAGES, 2);
    launch_dependents();
    cluster_barrier();
    grid_dependency_wait();

    if warp_group() == 1 {
        if thread_idx.x == 128 {
            let mut next = pipeline_state(STAGES);
            for block in 0..blocks {
                let stage = next.stage();
                let (mut a_stage, b_stage) = (a_smem.slice(stage), b_smem.slice(stage));
                empty.at(stage).wait(1 - next.phase());
                full.at(stage).arrive_expect(a_stage.bytes() + b_stage.bytes());
                tma_load(&mut a_stage, &a.tile([64, BK], [block_idx.y, block]), full.at(stage));
                let b_half = b.tile([BK, 64], [block, block_idx.x]).tile(half, own);
                tma_load_multicast(&mut b_stage.tile(half, own), &b_half, full.at(stage), 3);
                next.advance();
            }
        }
    } else {
        let mut acc = accumulator([64, 64]).fill(0.0);
        let (mut next, mut read) = (pipeline_state(STAGES), pipeline_state(STAGES));
        for block in 0..blocks {
            let stage = next.stage();
            full.at(stage).wait(next.phase());
            wgmma(&mut acc, &a_smem.slice(stage), &b_smem.slice(stage), block > 0);
            wgmma_commit_group();
            next.advance();
            wgmma_wait_group(1);
            if block > 0 {
                if thread_idx.x == 0 && block + STAGES <= blocks {
                    empty.at(read.stage()).arrive();
                    empty.at(read.stage()).arrive_remote(1 - rank);
                }
                read.advance();
            }
        }
        wgmma_wait_group(0);
        store_matrix(&mut c_smem, &acc);
        named_barrier(1, 128);
        let threads = row_major([16, 8]);
        let own = c_smem.slice(0).vectorize([1, 8]).distribute(threads, thread_idx.x).to_local();
        let dst = c.tile([64, 64], [block_idx.y, block_idx.x]).vectorize([1, 8]);
        dst.distribute(threads, thread_idx.x).copy_from(&own.vectorize([1, 8]));
    }
}
