// Find the bug: a transposition of several columns by each thread, as a tutorial has it. Inside of its loop it names the
// column that the loop began with.
#[tiled_kernel(BATCH = 4, block = [8, 32], grid = [N.div_ceil(32), M.div_ceil(32)])]
fn transpose_batched<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    y: &mut LayoutTensor<f32, RowMajor<N, M>>,
) {
    let mut held = shared::<f32>(row_major([32, 32]).swizzle(5, 0, 5));
    let from = x.tile([32, 32], [block_idx.y, block_idx.x]);
    let mut to = y.tile([32, 32], [block_idx.x, block_idx.y]);
    for i in unroll(0..BATCH) {
        let column = thread_idx.x + i * 8;
        held[[thread_idx.y, column]] = from[[thread_idx.y, column]];
    }
    barrier();
    for i in unroll(0..BATCH) {
        let column = thread_idx.x + i * 8;
        to[[thread_idx.y, thread_idx.x]] = held[[column, thread_idx.y]];
    }
}
