// Puzzle 14, multiplication in one block: both matrices in shared memory first.
#[tiled_kernel(TPB = 3, require(S <= TPB), block = [TPB, TPB], grid = [1])]
fn matmul_shared<const S: usize>(
    out: &mut LayoutTensor<f32, RowMajor<S, S>>,
    a: &LayoutTensor<f32, RowMajor<S, S>>,
    b: &LayoutTensor<f32, RowMajor<S, S>>,
) {
    let (row, col) = (thread_idx.y, thread_idx.x);
    let mut shared_a = shared::<f32>(row_major([TPB, TPB]));
    let mut shared_b = shared::<f32>(row_major([TPB, TPB]));
    // Hole: each thread brings one element of both, and all wait.

    if row < S && col < S {
        let mut sum = 0.0;
        for k in 0..S {
            sum += shared_a[[row, k]] * shared_b[[k, col]];
        }
        out[[row, col]] = sum;
    }
}
