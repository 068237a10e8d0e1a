//! A product in tiles as a reader of the book may write it: 4 x 4 elements for each thread, every copy element by element.

use layout_cuda::tiled_kernel;

/// `c = a b`: a block of 256 threads makes 64 x 64 of c.
#[tiled_kernel(BLOCK = 64, DEPTH = 16, block = [256], grid = [N.div_ceil(BLOCK), M.div_ceil(BLOCK)])]
pub fn own_product<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    // 16 x 16 threads, each with 4 x 4 elements of the block's tile.
    let (row, col) = (thread_idx.x / 16, thread_idx.x % 16);
    let mut a_smem = shared::<f32>(row_major([BLOCK, DEPTH]));
    let mut b_smem = shared::<f32>(row_major([DEPTH, BLOCK]));
    let mut acc = local::<f32>(row_major([4, 4])).fill(0.0);
    for step in 0..K.div_ceil(DEPTH) {
        let a_tile = a.tile([BLOCK, DEPTH], [block_idx.y, step]);
        let b_tile = b.tile([DEPTH, BLOCK], [step, block_idx.x]);
        copy_dram_to_sram_async(&mut a_smem, &a_tile, row_major([16, 16]));
        copy_dram_to_sram_async(&mut b_smem, &b_tile, row_major([4, 64]));
        async_copy_wait_all();
        barrier();
        for k in unroll(0..DEPTH) {
            let a_reg = a_smem.tile([4, 1], [row, k]).to_local();
            let b_reg = b_smem.tile([1, 4], [k, col]).to_local();
            outer_product_acc(&mut acc, &a_reg, &b_reg);
        }
        barrier();
    }
    let mut dst = c.tile([BLOCK, BLOCK], [block_idx.y, block_idx.x]).tile([4, 4], [row, col]);
    dst.copy_from(&acc);
}
