// Transposition, step 1: y[j, i] = x[i, j], a block for 32 x 32 elements, 32 x 8 threads.
#[tiled_kernel(block = [32, 8], grid = [N.div_ceil(32), M.div_ceil(32)])]
fn transpose_naive<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    y: &mut LayoutTensor<f32, RowMajor<N, M>>,
) {
    let col = block_idx.x * 32 + thread_idx.x;
    for step in unroll(0..4) {
        let row = block_idx.y * 32 + step * 8 + thread_idx.y;
        // Hole: one element.
    }
}
