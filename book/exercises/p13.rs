// Puzzle 13, sums of rows: out[row, 0] = sum of a[row, ..]; a block for each row, which may be longer than the block.
#[tiled_kernel(TPB = 8, block = [TPB], grid = [1, M])]
fn row_sum<const M: usize, const N: usize>(
    out: &mut LayoutTensor<f32, RowMajor<M, 1>>,
    a: &LayoutTensor<f32, RowMajor<M, N>>,
) {
    let row = block_idx.y;
    let mut partial = shared::<f32>(row_major([TPB]));
    let mut sum = 0.0;
    // Hole: each thread adds up every TPB-th element of the row.

    partial[[thread_idx.x]] = sum;
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
        out[[row, 0]] = partial[[0]];
    }
}
