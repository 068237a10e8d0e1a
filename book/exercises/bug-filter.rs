// Find the bug: the convolution as a tutorial has it (puzzle 11). It fills the filter with the input's bound.
#[tiled_kernel(TPB = 8, K = 3, require(N <= TPB), block = [TPB], grid = [1])]
fn conv_1d_simple<const N: usize, const K: usize>(
    out: &mut LayoutTensor<f32, RowMajor<N>>,
    a: &LayoutTensor<f32, RowMajor<N>>,
    b: &LayoutTensor<f32, RowMajor<K>>,
) {
    let i = thread_idx.x;
    let mut shared_a = shared::<f32>(row_major([TPB]));
    let mut shared_b = shared::<f32>(row_major([TPB]));
    if i < N {
        shared_a[[i]] = a[[i]];
        shared_b[[i]] = b[[i]];
    }
    barrier();
    if i < N {
        let mut sum = 0.0;
        for j in unroll(0..K) {
            if i + j < N {
                sum += shared_a[[i + j]] * shared_b[[j]];
            }
        }
        out[[i]] = sum;
    }
}
