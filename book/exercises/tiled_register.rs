// The ladder, step 4: each thread makes TM elements of a column of c, so that an element of b serves TM products.
#[tiled_kernel(BM = 64, BN = 64, BK = 32, TM = 16, block = [BM * BN / TM], grid = [N.div_ceil(BN), M.div_ceil(BM)])]
fn tiled_register<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    const THREADS: usize = BM * BN / TM;
    let (row, col) = (thread_idx.x / BN, thread_idx.x % BN);
    let mut dst = c.tile([BM, BN], [block_idx.y, block_idx.x]).tile([TM, 1], [row, col]);

    let mut a_smem = shared::<f32>(row_major([BM, BK]));
    let mut b_smem = shared::<f32>(row_major([BK, BN]));
    let mut acc = local::<f32>(row_major([TM, 1])).fill(0.0);

    for block in 0..K.div_ceil(BK) {
        let a_tile = a.tile([BM, BK], [block_idx.y, block]);
        let b_tile = b.tile([BK, BN], [block, block_idx.x]);
        copy_dram_to_sram_async(&mut a_smem, &a_tile, row_major([THREADS / BK, BK]));
        copy_dram_to_sram_async(&mut b_smem, &b_tile, row_major([THREADS / BN, BN]));
        async_copy_wait_all();
        barrier();
        for k in unroll(0..BK) {
            // Hole: TM products of a column of a_smem with one element of b_smem.
        }
        barrier();
    }
    dst.copy_from(&acc);
}
