//! Hopper's units in their simplest form: one warpgroup, one stage, tiles loaded by TMA and multiplied out of shared memory.

use layout_cuda::tiled_kernel;

/// `C = A B`, bf16 in, float32 out: a warpgroup makes 64 x 64 of C.
#[tiled_kernel(arch = "sm_90a", block = [128], grid = [N.div_ceil(64), M.div_ceil(64)])]
pub fn wgmma_simple<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<bf16, RowMajor<M, K>>,
    b: &LayoutTensor<bf16, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    let mut a_smem = shared::<bf16>(row_major([64, 64]).swizzle_bytes(128));
    let mut b_smem = shared::<bf16>(row_major([64, 64]).swizzle_bytes(128));
    let full = mbarriers(1, 1).at(0);
    barrier();
    let mut acc = accumulator([64, 64]).fill(0.0);
    for block in 0..K.div_ceil(64) {
        if thread_idx.x == 0 {
            full.arrive_expect(a_smem.bytes() + b_smem.bytes());
            tma_load(&mut a_smem, &a.tile([64, 64], [block_idx.y, block]), full);
            tma_load(&mut b_smem, &b.tile([64, 64], [block, block_idx.x]), full);
        }
        full.wait(block % 2);
        wgmma(&mut acc, &a_smem, &b_smem, true);
        wgmma_commit_group();
        wgmma_wait_group(0);
        // Nobody may load the next tiles while these are multiplied.
        barrier();
    }
    let dst = c.tile([64, 64], [block_idx.y, block_idx.x]);
    let (row, pair) = (16 * warp_id() + lane_id() / 4, lane_id() % 4);
    for half in unroll(0..2) {
        for j in unroll(0..8) {
            let mut to = dst.tile([1, 2], [row + 8 * half, pair + 4 * j]).vectorize([1, 2]);
            to.copy_from(&acc.tile([1, 1], [half, j]));
        }
    }
}
