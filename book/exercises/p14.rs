// Puzzle 14, multiplication: out = a b, a thread for each element.
#[tiled_kernel(TPB = 3, block = [TPB, TPB], grid = [N.div_ceil(TPB), M.div_ceil(TPB)])]
fn matmul_naive<const M: usize, const N: usize, const K: usize>(
    out: &mut LayoutTensor<f32, RowMajor<M, N>>,
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
) {
    let row = block_dim.y * block_idx.y + thread_idx.y;
    let col = block_dim.x * block_idx.x + thread_idx.x;
    // Hole: which threads have an element?
    let mut sum = 0.0;
    // Hole: K products.

    out[[row, col]] = sum;
}
