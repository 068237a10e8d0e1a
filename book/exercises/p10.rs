// Puzzle 10, dot product: out[0] = a[0] b[0] + a[1] b[1] + .., by one block, whatever N is.
#[tiled_kernel(TPB = 8, block = [TPB], grid = [1])]
fn dot_product<const N: usize>(
    out: &mut LayoutTensor<f32, RowMajor<1>>,
    a: &LayoutTensor<f32, RowMajor<N>>,
    b: &LayoutTensor<f32, RowMajor<N>>,
) {
    let mut partial = shared::<f32>(row_major([TPB]));
    let mut sum = 0.0;
    for i in (thread_idx.x..N).step_by(TPB) {
        sum += a[[i]] * b[[i]];
    }
    partial[[thread_idx.x]] = sum;
    barrier();
    // Hole: in each round half of the threads add the other half's partial sums, until partial[0] is the whole.

    if thread_idx.x == 0 {
        out[[0]] = partial[[0]];
    }
}
