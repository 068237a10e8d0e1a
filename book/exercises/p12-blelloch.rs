// Puzzle 12, prefix sums by Blelloch: up the tree the sums of subtrees, down the tree the sums before them.
#[tiled_kernel(TPB = 8, require(N <= TPB), block = [TPB], grid = [1])]
fn prefix_sum_blelloch<const N: usize>(
    out: &mut LayoutTensor<f32, RowMajor<N>>,
    a: &LayoutTensor<f32, RowMajor<N>>,
) {
    let i = thread_idx.x;
    let mut tree = shared::<f32>(row_major([TPB]));
    tree[[i]] = if i < N { a[[i]] } else { 0.0 };
    barrier();
    let mut half = 1;
    while half < TPB {
        // Hole: the last element of each group of 2 half adds the last of the group's first half.

        barrier();
        half *= 2;
    }
    if i == TPB - 1 {
        tree[[i]] = 0.0;
    }
    barrier();
    half = TPB / 2;
    while half > 0 {
        // Hole: the last of each group hands its sum to the first half's last, and takes both.

        barrier();
        half /= 2;
    }
    if i < N {
        out[[i]] = tree[[i]] + a[[i]];
    }
}
