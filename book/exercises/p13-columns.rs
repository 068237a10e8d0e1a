// Puzzle 13, sums of columns: out[0, col] = sum of a[.., col]; a block for each column.
#[tiled_kernel(TPB = 8, block = [TPB], grid = [1, N])]
fn column_sum<const M: usize, const N: usize>(
    out: &mut LayoutTensor<f32, RowMajor<1, N>>,
    a: &LayoutTensor<f32, RowMajor<M, N>>,
) {
    let col = block_idx.y;
    let mut partial = shared::<f32>(row_major([TPB]));
    let mut sum = 0.0;
    // Hole: the column's elements. Whose extent bounds them?

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
        out[[0, col]] = partial[[0]];
    }
}
