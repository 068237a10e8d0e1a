// Find the bug: the tutorial's other dot product. "This approach also gives the correct answer", it says. Does it?
#[tiled_kernel(TPB = 8, block = [TPB], grid = [1])]
fn dot_product<const N: usize>(
    out: &mut LayoutTensor<f32, RowMajor<1>>,
    a: &LayoutTensor<f32, RowMajor<N>>,
    b: &LayoutTensor<f32, RowMajor<N>>,
) {
    let mut partial = shared::<f32>(row_major([TPB]));
    let i = thread_idx.x;
    if i < N {
        partial[[i]] = a[[i]] * b[[i]];
    }
    barrier();
    if i < N {
        for at in 0..N {
            out[[0]] = out[[0]] + partial[[at]];
        }
    }
}
