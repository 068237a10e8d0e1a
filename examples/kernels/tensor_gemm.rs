//! `C = A B` on Hopper's matrix units: a producer that fills a ring of stages by the copy engine, two warpgroups that
//! multiply, one persistent block on each multiprocessor.

use layout_cuda::tiled_kernel;

/// TF32 products of float32 operands, `B` with `k` contiguous.
#[tiled_kernel(
    BM = 128, BN = 256, BK = 32, STAGES = 4, GROUP = 16, SMS = 132,
    arch = "sm_90a", block = [384], min_blocks = 1,
    grid = [(M.div_ceil(BM) * N.div_ceil(BN)).min(SMS)],
)]
pub fn gemm_tf32<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, ColMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    // Tiles of C in columns of GROUP rows, so that those in work at one time share rows of A and columns of B.
    fn place(tile: usize, rows: usize, cols: usize) -> (usize, usize) {
        let first = tile / (GROUP * cols) * GROUP;
        let size = GROUP.min(rows - first);
        let inside = tile % (GROUP * cols);
        (first + inside % size, inside / size)
    }
    let (rows, cols, blocks) = (M.div_ceil(BM), N.div_ceil(BN), K.div_ceil(BK));
    let mut a_smem = shared::<f32>(row_major([STAGES, BM, BK]).swizzle_bytes(128));
    let mut b_smem = shared::<f32>(row_major([STAGES, BN, BK]).swizzle_bytes(128));
    let full = mbarriers(STAGES, 1);
    let empty = mbarriers(STAGES, 2);
    barrier();

    if warp_group() == 0 {
        set_max_registers(40);
        if thread_idx.x == 0 {
            for turn in 0..(rows * cols).div_ceil(SMS) {
                let tile = turn * SMS + block_idx.x;
                if tile < rows * cols {
                    let (row, col) = place(tile, rows, cols);
                    for block in 0..blocks {
                        let round = turn * blocks + block;
                        let stage = round % STAGES;
                        let (mut a_stage, mut b_stage) = (a_smem.slice(stage), b_smem.slice(stage));
                        empty.at(stage).wait((round / STAGES + 1) % 2);
                        full.at(stage).arrive_expect(a_stage.bytes() + b_stage.bytes());
                        tma_load(&mut a_stage, &a.tile([BM, BK], [row, block]), full.at(stage));
                        tma_load(&mut b_stage, &b.transpose().tile([BN, BK], [col, block]), full.at(stage));
                    }
                }
            }
        }
    } else {
        set_max_registers(232);
        let consumer = warp_group() - 1;
        let mut acc = accumulator([64, BN]).fill(0.0);
        for turn in 0..(rows * cols).div_ceil(SMS) {
            let tile = turn * SMS + block_idx.x;
            if tile < rows * cols {
                let (row, col) = place(tile, rows, cols);
                for block in 0..blocks {
                    let round = turn * blocks + block;
                    let stage = round % STAGES;
                    let a_stage = a_smem.slice(stage).tile([64, BK], [consumer, 0]);
                    full.at(stage).wait(round / STAGES % 2);
                    wgmma(&mut acc, &a_stage, &b_smem.slice(stage).transpose(), block > 0);
                    wgmma_commit_group();
                    wgmma_wait_group(0);
                    if thread_idx.x % 128 == 0 {
                        empty.at(stage).arrive();
                    }
                }
                let dst = c.tile([BM, BN], [row, col]).tile([16, BN], [warp_id() - 4, 0]);
                let mut own = dst.vectorize([1, 2]).distribute(row_major([8, 4]), lane_id());
                own.copy_from(&acc);
            }
        }
    }
}
