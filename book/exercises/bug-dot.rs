// Find the bug: the dot product as a tutorial has it (puzzle 10). It is right for 8 elements. Is it for 6, and for 16?
#[tiled_kernel(TPB = 8, block = [TPB], grid = [N.div_ceil(TPB)])]
fn dot_product<const N: usize>(
    out: &mut LayoutTensor<f32, RowMajor<1>>,
    a: &LayoutTensor<f32, RowMajor<N>>,
    b: &LayoutTensor<f32, RowMajor<N>>,
) {
    let mut partial = shared::<f32>(row_major([TPB]));
    let i = block_dim.x * block_idx.x + thread_idx.x;
    if i < N {
        partial[[thread_idx.x]] = a[[i]] * b[[i]];
    }
    barrier();
    let mut stride = TPB / 2;
    while stride > 0 {
        if thread_idx.x < stride {
            partial[[thread_idx.x]] += partial[[thread_idx.x + stride]];
        }
        barrier();
        stride /= 2;
    }
    if thread_idx.x == 0 {
        out[[0]] = partial[[0]];
    }
}
