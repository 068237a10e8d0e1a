// Puzzle 11, convolution over blocks: each block also needs the first K - 1 elements of the next one, the halo.
#[tiled_kernel(TPB = 8, K = 4, block = [TPB], grid = [N.div_ceil(TPB)])]
fn conv_1d_block_boundary<const N: usize, const K: usize>(
    out: &mut LayoutTensor<f32, RowMajor<N>>,
    a: &LayoutTensor<f32, RowMajor<N>>,
    b: &LayoutTensor<f32, RowMajor<K>>,
) {
    let (i, local) = (block_dim.x * block_idx.x + thread_idx.x, thread_idx.x);
    let mut shared_a = shared::<f32>(row_major([TPB + K - 1]));
    let mut shared_b = shared::<f32>(row_major([K]));
    shared_a[[local]] = if i < N { a[[i]] } else { 0.0 };
    if local < K {
        shared_b[[local]] = b[[local]];
    }
    // Hole: some threads bring the halo, zeros beyond the end.

    barrier();
    if i < N {
        let mut sum = 0.0;
        for j in unroll(0..K) {
            sum += shared_a[[local + j]] * shared_b[[j]];
        }
        out[[i]] = sum;
    }
}
