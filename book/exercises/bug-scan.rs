// Find the bug: the prefix sum as a tutorial has it (puzzle 12). Each round adds in place.
#[tiled_kernel(TPB = 64, require(N <= TPB), block = [TPB], grid = [1])]
fn prefix_sum_simple<const N: usize>(
    out: &mut LayoutTensor<f32, RowMajor<N>>,
    a: &LayoutTensor<f32, RowMajor<N>>,
) {
    let i = thread_idx.x;
    let mut held = shared::<f32>(row_major([TPB]));
    if i < N {
        held[[i]] = a[[i]];
    }
    barrier();
    let mut offset = 1;
    while offset < TPB {
        if i >= offset && i < N {
            held[[i]] += held[[i - offset]];
        }
        barrier();
        offset *= 2;
    }
    if i < N {
        out[[i]] = held[[i]];
    }
}
