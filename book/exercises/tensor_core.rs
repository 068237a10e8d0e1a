// The ladder, step 7: the matrix instruction. Each warp makes WM x WN of c from fragments of 16 x 8 and 8 x 8.
#[tiled_kernel(
    BM = 64, BN = 64, BK = 32, WM = 32, WN = 32,
    block = [BM / WM * (BN / WN) * 32],
    grid = [N.div_ceil(BN), M.div_ceil(BM)],
)]
fn tensor_core_simple<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    const THREADS: usize = BM / WM * (BN / WN) * 32;
    let (warp_row, warp_col) = (warp_id() / (BN / WN), warp_id() % (BN / WN));
    let mma = mma_atom::<f32>([16, 8, 8]);

    let mut a_smem = shared::<f32>(row_major([BM, BK]));
    let mut b_smem = shared::<f32>(row_major([BK, BN]));
    let mut acc = local::<f32>(row_major([WM / 16, WN / 8 * 4])).fill(0.0);

    for block in 0..K.div_ceil(BK) {
        let a_tile = a.tile([BM, BK], [block_idx.y, block]);
        let b_tile = b.tile([BK, BN], [block, block_idx.x]);
        copy_dram_to_sram_async(&mut a_smem, &a_tile, row_major([THREADS / BK, BK]));
        copy_dram_to_sram_async(&mut b_smem, &b_tile, row_major([THREADS / BN, BN]));
        async_copy_wait_all();
        barrier();
        let a_warp = a_smem.tile([WM, BK], [warp_row, 0]);
        let b_warp = b_smem.tile([BK, WN], [0, warp_col]);
        for k in unroll(0..BK / 8) {
            for m in unroll(0..WM / 16) {
                for n in unroll(0..WN / 8) {
                    // Hole: load both fragments, multiply into acc.tile([1, 4], [m, n]).
                }
            }
        }
        barrier();
    }
    let dst = c.tile([BM, BN], [block_idx.y, block_idx.x]).tile([WM, WN], [warp_row, warp_col]);
    for m in unroll(0..WM / 16) {
        for n in unroll(0..WN / 8) {
            mma.store_d(&mut dst.tile([16, 8], [m, n]), &acc.tile([1, 4], [m, n]));
        }
    }
}
