// Find the bug: the convolution over blocks as a tutorial has it (puzzle 11). It prints the right numbers. By luck?
#[tiled_kernel(TPB = 8, K = 4, block = [TPB], grid = [N.div_ceil(TPB)])]
fn conv_1d_block_boundary<const N: usize, const K: usize>(
    out: &mut LayoutTensor<f32, RowMajor<N>>,
    a: &LayoutTensor<f32, RowMajor<N>>,
    b: &LayoutTensor<f32, RowMajor<K>>,
) {
    let (i, local) = (block_dim.x * block_idx.x + thread_idx.x, thread_idx.x);
    let mut shared_a = shared::<f32>(row_major([TPB + K - 1]));
    let mut shared_b = shared::<f32>(row_major([K]));
    if i < N {
        shared_a[[local]] = a[[i]];
    }
    if local < K {
        shared_b[[local]] = b[[local]];
    }
    if local < K - 1 {
        shared_a[[local + TPB]] = if i + TPB < N { a[[i + TPB]] } else { 0.0 };
    }
    barrier();
    if i < N {
        let mut sum = 0.0;
        for j in unroll(0..K) {
            sum += shared_a[[local + j]] * shared_b[[j]];
        }
        out[[i]] = sum;
    }
}
