// Puzzle 11, convolution in one block: out[i] = sum over j of a[i + j] b[j]; beyond the end there are zeros.
#[tiled_kernel(TPB = 8, K = 3, require(N <= TPB), block = [TPB], grid = [1])]
fn conv_1d_simple<const N: usize, const K: usize>(
    out: &mut LayoutTensor<f32, RowMajor<N>>,
    a: &LayoutTensor<f32, RowMajor<N>>,
    b: &LayoutTensor<f32, RowMajor<K>>,
) {
    let i = thread_idx.x;
    let mut shared_a = shared::<f32>(row_major([TPB]));
    let mut shared_b = shared::<f32>(row_major([K]));
    if i < N {
        shared_a[[i]] = a[[i]];
    }
    // Hole: the filter. Which threads bring it?

    barrier();
    if i < N {
        let mut sum = 0.0;
        // Hole: the window's products, as far as it lies inside of `a`.

        out[[i]] = sum;
    }
}
