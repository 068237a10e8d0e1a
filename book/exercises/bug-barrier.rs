// Find the bug: the tiled multiplication as a tutorial has it (puzzle 14). A barrier stands inside of an `if`.
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
        if row < M && a_col < K {
            shared_a[[y, x]] = a[[row, a_col]];
        }
        if b_row < K && col < N {
            shared_b[[y, x]] = b[[b_row, col]];
        }
        barrier();
        if row < M && col < N {
            for k in 0..TPB.min(K - tile * TPB) {
                sum += shared_a[[y, k]] * shared_b[[k, x]];
            }
            barrier();
        }
        if row < M && col < N {
            out[[row, col]] = sum;
        }
    }
}
