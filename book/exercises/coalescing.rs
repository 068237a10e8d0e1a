// The ladder, step 2: the threads of a warp have consecutive thread_idx.x. This kernel is right, and reads too many sectors:
// make neighbours of a warp stand side by side in a row of c. Mind `block` and `grid`.
#[tiled_kernel(BM = 8, BN = 32, block = [BM, BN], grid = [M.div_ceil(BM), N.div_ceil(BN)])]
fn coalescing<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    let row = block_dim.x * block_idx.x + thread_idx.x;
    let col = block_dim.y * block_idx.y + thread_idx.y;
    if row < M && col < N {
        let mut sum = 0.0;
        for k in 0..K {
            sum += a[[row, k]] * b[[k, col]];
        }
        c[[row, col]] = sum;
    }
}
