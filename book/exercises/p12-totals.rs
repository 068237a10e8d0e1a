// Puzzle 12, second of two launches: `out` holds the sums of each block's part and, from out[size] on, the blocks' totals.
#[tiled_kernel(TPB = 8, block = [TPB], grid = [LEN.div_ceil(TPB)])]
fn prefix_sum_add_totals<const LEN: usize>(out: &mut LayoutTensor<f32, RowMajor<LEN>>, size: usize) {
    let i = block_dim.x * block_idx.x + thread_idx.x;
    if i < size {
        // Hole: add the totals of all blocks before this one.
    }
}
