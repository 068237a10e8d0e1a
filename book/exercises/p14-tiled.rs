// Puzzle 14, tiles by hand: the block walks along K, TPB columns of a and rows of b at a time.
#[tiled_kernel(TPB = 3, block = [TPB, TPB], grid = [N.div_ceil(TPB), M.div_ceil(TPB)])]
fn matmul_tiled<const M: usize, const N: usize, const K: usize>(
    out: &mut LayoutTensor<f32, RowMajor<M, N>>,
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
) {
    let (x, y) = (thread_idx.x, thread_idx.y);
    let (row, col) = (block_idx.y * TPB + y, block_idx.x * TPB + x);
    let mut shared_a = shared::<f32>(row_major([TPB, TPB]));
    let mut shared_b = shared::<f32>(row_major([TPB, TPB]));
    let mut sum = 0.0;
    for tile in 0..K.div_ceil(TPB) {
        let (a_col, b_row) = (tile * TPB + x, tile * TPB + y);
        // Hole: one element of each tile, zero outside of the matrix.
        shared_a[[y, x]] = 0.0;
        shared_b[[y, x]] = 0.0;
        // Hole: two barriers stand in this loop. Where?
        for k in unroll(0..TPB) {
            sum += shared_a[[y, k]] * shared_b[[k, x]];
        }
    }
    if row < M && col < N {
        out[[row, col]] = sum;
    }
}
