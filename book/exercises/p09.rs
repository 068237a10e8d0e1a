// Puzzle 9, pooling: out[i] = a[i - 2] + a[i - 1] + a[i]; what is before the first element counts as zero.
#[tiled_kernel(TPB = 8, block = [TPB], grid = [N.div_ceil(TPB)])]
fn pooling<const N: usize>(out: &mut LayoutTensor<f32, RowMajor<N>>, a: &LayoutTensor<f32, RowMajor<N>>) {
    let i = block_dim.x * block_idx.x + thread_idx.x;
    // Two places more than threads: the two elements before the block's own.
    let mut window = shared::<f32>(row_major([TPB + 2]));
    window[[thread_idx.x + 2]] = if i < N { a[[i]] } else { 0.0 };
    // Hole: two threads bring the two elements before the block.

    barrier();
    if i < N {
        // Hole: the sum of three elements of `window`.
        out[[i]] = window[[thread_idx.x + 2]];
    }
}
