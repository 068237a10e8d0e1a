// Find the bug: pooling as a tutorial has it (puzzle 9). Its text shows one block of 8. What of 21 elements?
#[tiled_kernel(TPB = 8, block = [TPB], grid = [N.div_ceil(TPB)])]
fn pooling<const N: usize>(out: &mut LayoutTensor<f32, RowMajor<N>>, a: &LayoutTensor<f32, RowMajor<N>>) {
    let mut held = shared::<f32>(row_major([TPB]));
    let i = block_dim.x * block_idx.x + thread_idx.x;
    let local = thread_idx.x;
    if i < N {
        held[[local]] = a[[i]];
    }
    barrier();
    if i < N {
        if local >= 2 {
            out[[i]] = held[[local - 2]] + held[[local - 1]] + held[[local]];
        } else if local >= 1 {
            out[[i]] = held[[local - 1]] + held[[local]];
        } else {
            out[[i]] = held[[local]];
        }
    }
}
