// Transposition, step 3: a column of `held` lies in one bank, so 32 threads wait for each other. Change how `held` lies,
// not what the threads do.
#[tiled_kernel(block = [32, 8], grid = [N.div_ceil(32), M.div_ceil(32)])]
fn transpose_swizzled<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    y: &mut LayoutTensor<f32, RowMajor<N, M>>,
) {
    let mut held = shared::<f32>(row_major([32, 32]));
    let from = x.tile([32, 32], [block_idx.y, block_idx.x]);
    let mut to = y.tile([32, 32], [block_idx.x, block_idx.y]);
    for step in unroll(0..4) {
        let row = step * 8 + thread_idx.y;
        held[[row, thread_idx.x]] = from[[row, thread_idx.x]];
    }
    barrier();
    for step in unroll(0..4) {
        let row = step * 8 + thread_idx.y;
        to[[row, thread_idx.x]] = held[[thread_idx.x, row]];
    }
}
