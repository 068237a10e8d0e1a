// Transposition, step 2: a warp reads a row and writes a column, a sector for each element. Let the tile go through shared
// memory, so that rows are read and rows are written.
#[tiled_kernel(block = [32, 8], grid = [N.div_ceil(32), M.div_ceil(32)])]
fn transpose_shared<const M: usize, const N: usize>(
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
        // Hole: this writes what it read. Which element of `held` belongs here?
        to[[row, thread_idx.x]] = held[[row, thread_idx.x]];
    }
}
