// Puzzle 12, prefix sums: out[i] = a[0] + .. + a[i]. Hillis and Steele: in the round of `offset` each element adds the one
// `offset` before it.
#[tiled_kernel(TPB = 8, require(N <= TPB), block = [TPB], grid = [1])]
fn prefix_sum_simple<const N: usize>(
    out: &mut LayoutTensor<f32, RowMajor<N>>,
    a: &LayoutTensor<f32, RowMajor<N>>,
) {
    let (i, mut offset) = (thread_idx.x, 1);
    let mut sums = shared::<f32>(row_major([TPB]));
    // An element beyond the end of a tile reads as zero.
    let mut sum = a.tile([TPB], [0])[[i]];
    while offset < TPB {
        sums[[i]] = sum;
        // Hole: add the neighbour's sum. Mind who reads and who writes: what may be overwritten too early?

        offset *= 2;
    }
    out.tile([TPB], [0])[[i]] = sum;
}
