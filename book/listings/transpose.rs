//! The transposition in its steps, `y[j, i] = x[i, j]`: element by element, through shared memory, without bank conflicts;
//! and by TMA.

use layout_cuda::tiled_kernel;

/// Step 1: a warp reads 32 neighbours of a row and writes 32 elements of a column.
#[tiled_kernel(block = [32, 8], grid = [N.div_ceil(32), M.div_ceil(32)])]
pub fn transpose_naive<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    y: &mut LayoutTensor<f32, RowMajor<N, M>>,
) {
    let col = block_idx.x * 32 + thread_idx.x;
    for step in unroll(0..4) {
        let row = block_idx.y * 32 + step * 8 + thread_idx.y;
        if row < M && col < N {
            y[[col, row]] = x[[row, col]];
        }
    }
}

/// Step 2: rows in, rows out; the tile is transposed in shared memory.
#[tiled_kernel(block = [32, 8], grid = [N.div_ceil(32), M.div_ceil(32)])]
pub fn transpose_shared<const M: usize, const N: usize>(
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

/// Step 3: the same, and the columns of the tile are in 32 banks.
#[tiled_kernel(block = [32, 8], grid = [N.div_ceil(32), M.div_ceil(32)])]
pub fn transpose_swizzled<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    y: &mut LayoutTensor<f32, RowMajor<N, M>>,
) {
    let mut held = shared::<f32>(row_major([32, 32]).swizzle(5, 0, 5));
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

/// By TMA: one thread asks for the tile, all transpose it in shared memory, one thread sends it off.
#[tiled_kernel(arch = "sm_90a", block = [1024], grid = [N.div_ceil(32), M.div_ceil(32)])]
pub fn transpose_tma<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    y: &mut LayoutTensor<f32, RowMajor<N, M>>,
) {
    let mut held = shared::<f32>(row_major([32, 32]));
    let mut turned = shared::<f32>(row_major([32, 32]));
    let loaded = mbarriers(1, 1).at(0);
    let (row, col) = (thread_idx.x / 32, thread_idx.x % 32);
    barrier();
    if thread_idx.x == 0 {
        loaded.arrive_expect(held.bytes());
        tma_load(&mut held, &x.tile([32, 32], [block_idx.y, block_idx.x]), loaded);
    }
    loaded.wait(0);
    turned[[col, row]] = held[[row, col]];
    fence_async_proxy();
    barrier();
    if thread_idx.x == 0 {
        tma_store(&mut y.tile([32, 32], [block_idx.x, block_idx.y]), &turned);
        bulk_commit_group();
        bulk_wait_group(0);
    }
}
