// The ladder, step 1: c = a b, a thread for each element of c; neighbouring threads stand one under the other.
#[tiled_kernel(BM = 8, BN = 32, block = [BM, BN], grid = [M.div_ceil(BM), N.div_ceil(BN)])]
fn naive<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    let row = block_dim.x * block_idx.x + thread_idx.x;
    let col = block_dim.y * block_idx.y + thread_idx.y;
    if row < M && col < N {
        let mut sum = 0.0;
        // Hole: the row of a times the column of b.

        c[[row, col]] = sum;
    }
}
