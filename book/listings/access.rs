//! Two ways to walk over memory, twice: global memory by rows and by columns, shared memory with and without a swizzle.

use layout_cuda::tiled_kernel;

/// A warp reads 32 neighbours of a row.
#[tiled_kernel(block = [32], grid = [32])]
pub fn rows(x: &LayoutTensor<f32, RowMajor<32, 32>>, y: &mut LayoutTensor<f32, RowMajor<32, 32>>) {
    let (row, col) = (block_idx.x, thread_idx.x);
    y[[row, col]] = x[[row, col]];
}

/// A warp reads the 32 elements of a column.
#[tiled_kernel(block = [32], grid = [32])]
pub fn columns(x: &LayoutTensor<f32, RowMajor<32, 32>>, y: &mut LayoutTensor<f32, RowMajor<32, 32>>) {
    let (row, col) = (thread_idx.x, block_idx.x);
    y[[row, col]] = x[[row, col]];
}

/// A warp writes the rows of a tile and reads its columns.
#[tiled_kernel(block = [32], grid = [1])]
pub fn turned(x: &LayoutTensor<f32, RowMajor<32, 32>>, y: &mut LayoutTensor<f32, RowMajor<32, 32>>) {
    let mut tile = shared::<f32>(row_major([32, 32]));
    for row in unroll(0..32) {
        tile[[row, thread_idx.x]] = x[[row, thread_idx.x]];
    }
    barrier();
    for col in unroll(0..32) {
        y[[col, thread_idx.x]] = tile[[thread_idx.x, col]];
    }
}

/// The same; only how the tile is laid out differs.
#[tiled_kernel(block = [32], grid = [1])]
pub fn turned_swizzled(x: &LayoutTensor<f32, RowMajor<32, 32>>, y: &mut LayoutTensor<f32, RowMajor<32, 32>>) {
    let mut tile = shared::<f32>(row_major([32, 32]).swizzle(5, 0, 5));
    for row in unroll(0..32) {
        tile[[row, thread_idx.x]] = x[[row, thread_idx.x]];
    }
    barrier();
    for col in unroll(0..32) {
        y[[col, thread_idx.x]] = tile[[thread_idx.x, col]];
    }
}
