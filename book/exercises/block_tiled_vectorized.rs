// The ladder, step 6: this is step 5 with larger tiles. Make the copies, and the store to c, go by vectors of four: fewer
// requests, each of 16 bytes a thread.
#[tiled_kernel(
    BM = 128, BN = 128, BK = 16, TM = 8, TN = 8,
    block = [BM * BN / (TM * TN)],
    grid = [N.div_ceil(BN), M.div_ceil(BM)],
    variant_if(N % 4 == 0, K % 4 == 0),
)]
fn block_tiled_vectorized<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    const THREADS: usize = BM * BN / (TM * TN);
    let (row, col) = (thread_idx.x / (BN / TN), thread_idx.x % (BN / TN));
    let mut dst = c.tile([BM, BN], [block_idx.y, block_idx.x]).tile([TM, TN], [row, col]);

    let mut a_smem = shared::<f32>(row_major([BM, BK]));
    let mut b_smem = shared::<f32>(row_major([BK, BN]));
    let mut acc = local::<f32>(row_major([TM, TN])).fill(0.0);

    for block in 0..K.div_ceil(BK) {
        let a_tile = a.tile([BM, BK], [block_idx.y, block]);
        let b_tile = b.tile([BK, BN], [block, block_idx.x]);
        // Hole: vectorize both sides of both copies; a row of a tile has BK / 4 or BN / 4 vectors.
        copy_dram_to_sram_async(&mut a_smem, &a_tile, row_major([THREADS / BK, BK]));
        copy_dram_to_sram_async(&mut b_smem, &b_tile, row_major([THREADS / BN, BN]));
        async_copy_wait_all();
        barrier();
        for k in unroll(0..BK) {
            let a_reg = a_smem.tile([TM, 1], [row, k]).to_local();
            let b_reg = b_smem.tile([1, TN], [k, col]).to_local();
            outer_product_acc(&mut acc, &a_reg, &b_reg);
        }
        barrier();
    }
    // Hole: by vectors, too.
    dst.copy_from(&acc);
}
