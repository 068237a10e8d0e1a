//! Puzzle 14: `out = a b`: from global memory, from shared memory, in tiles by hand, in tiles by views.

use layout_cuda::tiled_kernel;

/// A thread for each element, from global memory.
#[tiled_kernel(TPB = 3, block = [TPB, TPB], grid = [N.div_ceil(TPB), M.div_ceil(TPB)])]
pub fn matmul_naive<const M: usize, const N: usize, const K: usize>(
    out: &mut LayoutTensor<f32, RowMajor<M, N>>,
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
) {
    let row = block_dim.y * block_idx.y + thread_idx.y;
    let col = block_dim.x * block_idx.x + thread_idx.x;
    if row < M && col < N {
        let mut sum = 0.0;
        for k in 0..K {
            sum += a[[row, k]] * b[[k, col]];
        }
        out[[row, col]] = sum;
    }
}

/// One block keeps both matrices in shared memory.
///
/// The listing it follows fills shared memory and then reads global memory.
#[tiled_kernel(TPB = 3, require(S <= TPB), block = [TPB, TPB], grid = [1])]
pub fn matmul_shared<const S: usize>(
    out: &mut LayoutTensor<f32, RowMajor<S, S>>,
    a: &LayoutTensor<f32, RowMajor<S, S>>,
    b: &LayoutTensor<f32, RowMajor<S, S>>,
) {
    let (row, col) = (thread_idx.y, thread_idx.x);
    let mut shared_a = shared::<f32>(row_major([TPB, TPB]));
    let mut shared_b = shared::<f32>(row_major([TPB, TPB]));
    if row < S && col < S {
        shared_a[[row, col]] = a[[row, col]];
        shared_b[[row, col]] = b[[row, col]];
    }
    barrier();
    if row < S && col < S {
        let mut sum = 0.0;
        for k in 0..S {
            sum += shared_a[[row, k]] * shared_b[[k, col]];
        }
        out[[row, col]] = sum;
    }
}

/// Tiles in shared memory, every index by hand.
///
/// The listing it follows waits for the block inside of an `if` that some of its threads do not enter, and stores
/// unfinished sums.
#[tiled_kernel(TPB = 3, block = [TPB, TPB], grid = [N.div_ceil(TPB), M.div_ceil(TPB)])]
pub fn matmul_tiled<const M: usize, const N: usize, const K: usize>(
    out: &mut LayoutTensor<f32, RowMajor<M, N>>,
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
) {
    let (x, y) = (thread_idx.x, thread_idx.y);
    let (row, col) = (block_idx.y * TPB + y, block_idx.x * TPB + x);
    let mut shared_a = shared::<f32>(row_major([TPB, TPB]));
    let mut shared_b = shared::<f32>(row_major([TPB, TPB]));
    let mut sum = 0.0;
    for tile in 0..K.div_ceil(TPB) {
        let (a_col, b_row) = (tile * TPB + x, tile * TPB + y);
        shared_a[[y, x]] = if row < M && a_col < K { a[[row, a_col]] } else { 0.0 };
        shared_b[[y, x]] = if b_row < K && col < N { b[[b_row, col]] } else { 0.0 };
        barrier();
        for k in unroll(0..TPB) {
            sum += shared_a[[y, k]] * shared_b[[k, x]];
        }
        barrier();
    }
    if row < M && col < N {
        out[[row, col]] = sum;
    }
}

/// The same by views: edges are masked, copies are asynchronous.
///
/// The listing it follows lets the threads read the tiles right after their own copies have landed, before the other
/// threads' have: the first `barrier` is missing.
#[tiled_kernel(TPB = 3, block = [TPB, TPB], grid = [N.div_ceil(TPB), M.div_ceil(TPB)])]
pub fn matmul_layout_tensor<const M: usize, const N: usize, const K: usize>(
    out: &mut LayoutTensor<f32, RowMajor<M, N>>,
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
) {
    let mut out_tile = out.tile([TPB, TPB], [block_idx.y, block_idx.x]);
    let mut a_shared = shared::<f32>(row_major([TPB, TPB]));
    let mut b_shared = shared::<f32>(row_major([TPB, TPB]));
    let mut sum = 0.0;
    for tile in 0..K.div_ceil(TPB) {
        let a_tile = a.tile([TPB, TPB], [block_idx.y, tile]);
        let b_tile = b.tile([TPB, TPB], [tile, block_idx.x]);
        copy_dram_to_sram_async(&mut a_shared, &a_tile, row_major([TPB, TPB]));
        copy_dram_to_sram_async(&mut b_shared, &b_tile, row_major([TPB, TPB]));
        async_copy_wait_all();
        barrier();
        for k in unroll(0..TPB) {
            sum += a_shared[[thread_idx.y, k]] * b_shared[[k, thread_idx.x]];
        }
        barrier();
    }
    out_tile[[thread_idx.y, thread_idx.x]] = sum;
}
