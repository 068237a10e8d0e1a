// Find the bug: the tiled multiplication by views as a tutorial has it (puzzle 14). Its copies have landed. Whose?
#[tiled_kernel(TPB = 3, block = [TPB, TPB], grid = [N.div_ceil(TPB), M.div_ceil(TPB)])]
fn matmul_layout_tensor<const M: usize, const N: usize, const K: usize>(
    out: &mut LayoutTensor<f32, RowMajor<M, N>>,
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
) {
    let mut out_tile = out.tile([TPB, TPB], [block_idx.y, block_idx.x]);
    let mut a_shared = shared::<f32>(row_major([TPB, TPB]));
    let mut b_shared = shared::<f32>(row_major([TPB, TPB]));
    let mut sum = 0.0;
    for tile in 0..K.div_ceil(TPB) {
        let a_tile = a.tile([TPB, TPB], [block_idx.y, tile]);
        let b_tile = b.tile([TPB, TPB], [tile, block_idx.x]);
        copy_dram_to_sram_async(&mut a_shared, &a_tile, row_major([TPB, TPB]));
        copy_dram_to_sram_async(&mut b_shared, &b_tile, row_major([TPB, TPB]));
        async_copy_wait_all();
        for k in unroll(0..TPB) {
            sum += a_shared[[thread_idx.y, k]] * b_shared[[k, thread_idx.x]];
        }
        barrier();
    }
    out_tile[[thread_idx.y, thread_idx.x]] = sum;
}
