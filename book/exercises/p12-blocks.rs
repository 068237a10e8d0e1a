// Puzzle 12, first of two launches: each block scans its part and writes its total behind the sums, to out[N + block].
#[tiled_kernel(TPB = 8, block = [TPB], grid = [N.div_ceil(TPB)])]
fn prefix_sum_local<const N: usize, const EXTENDED: usize>(
    out: &mut LayoutTensor<f32, RowMajor<EXTENDED>>,
    a: &LayoutTensor<f32, RowMajor<N>>,
) {
    let (i, local, mut offset) = (block_dim.x * block_idx.x + thread_idx.x, thread_idx.x, 1);
    let mut sums = shared::<f32>(row_major([TPB]));
    // Hole: the block's part of `a`, zeros beyond the end.
    let mut sum = 0.0;
    while offset < TPB {
        sums[[local]] = sum;
        barrier();
        sum += if local < offset { 0.0 } else { sums[[local - offset]] };
        barrier();
        offset *= 2;
    }
    if i < N {
        out[[i]] = sum;
    }
    // Hole: one thread writes the block's total.
}
