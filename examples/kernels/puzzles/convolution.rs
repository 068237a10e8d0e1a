//! Puzzle 11: `out[i] = sum over j of a[i + j] b[j]`, zeros beyond the end; in one block, over blocks, in two dimensions.

use layout_cuda::tiled_kernel;

/// One block keeps input and filter in shared memory.
///
/// The listing it follows reads `b` with the bound of `a`, beyond the filter's end.
#[tiled_kernel(TPB = 8, K = 3, require(N <= TPB), block = [TPB], grid = [1])]
pub fn conv_1d_simple<const N: usize, const K: usize>(
    out: &mut LayoutTensor<f32, RowMajor<N>>,
    a: &LayoutTensor<f32, RowMajor<N>>,
    b: &LayoutTensor<f32, RowMajor<K>>,
) {
    let i = thread_idx.x;
    let mut shared_a = shared::<f32>(row_major([TPB]));
    let mut shared_b = shared::<f32>(row_major([K]));
    if i < N {
        shared_a[[i]] = a[[i]];
    }
    if i < K {
        shared_b[[i]] = b[[i]];
    }
    barrier();
    if i < N {
        let mut sum = 0.0;
        for j in unroll(0..K) {
            if i + j < N {
                sum += shared_a[[i + j]] * shared_b[[j]];
            }
        }
        out[[i]] = sum;
    }
}

/// Each block also keeps the halo: the first `K - 1` elements of the next block.
///
/// The listing it follows leaves the elements between the input's end and the block's end unwritten, and the last
/// windows read them.
#[tiled_kernel(TPB = 8, K = 4, block = [TPB], grid = [N.div_ceil(TPB)])]
pub fn conv_1d_block_boundary<const N: usize, const K: usize>(
    out: &mut LayoutTensor<f32, RowMajor<N>>,
    a: &LayoutTensor<f32, RowMajor<N>>,
    b: &LayoutTensor<f32, RowMajor<K>>,
) {
    let (i, local) = (block_dim.x * block_idx.x + thread_idx.x, thread_idx.x);
    let mut shared_a = shared::<f32>(row_major([TPB + K - 1]));
    let mut shared_b = shared::<f32>(row_major([K]));
    shared_a[[local]] = if i < N { a[[i]] } else { 0.0 };
    if local < K {
        shared_b[[local]] = b[[local]];
    }
    if local < K - 1 {
        shared_a[[local + TPB]] = if i + TPB < N { a[[i + TPB]] } else { 0.0 };
    }
    barrier();
    if i < N {
        let mut sum = 0.0;
        for j in unroll(0..K) {
            sum += shared_a[[local + j]] * shared_b[[j]];
        }
        out[[i]] = sum;
    }
}

/// The same in two dimensions: the block's threads step over the tile and its halo.
///
/// The listing it follows loads the tile twice, and swaps height and width in its grid.
#[tiled_kernel(TPB_X = 8, TPB_Y = 8, K = 3, block = [TPB_X, TPB_Y], grid = [W.div_ceil(TPB_X), H.div_ceil(TPB_Y)])]
pub fn conv_2d_halo<const H: usize, const W: usize, const K: usize>(
    out: &mut LayoutTensor<f32, RowMajor<H, W>>,
    image: &LayoutTensor<f32, RowMajor<H, W>>,
    filter: &LayoutTensor<f32, RowMajor<K, K>>,
) {
    const TILE_H: usize = TPB_Y + K - 1;
    const TILE_W: usize = TPB_X + K - 1;
    let (x, y) = (block_idx.x * TPB_X + thread_idx.x, block_idx.y * TPB_Y + thread_idx.y);
    let mut tile = shared::<f32>(row_major([TILE_H, TILE_W]));
    let mut weights = shared::<f32>(row_major([K, K]));
    for row in (thread_idx.y..TILE_H).step_by(TPB_Y) {
        for col in (thread_idx.x..TILE_W).step_by(TPB_X) {
            let (x, y) = (block_idx.x * TPB_X + col, block_idx.y * TPB_Y + row);
            tile[[row, col]] = if x < W && y < H { image[[y, x]] } else { 0.0 };
        }
    }
    if thread_idx.y < K && thread_idx.x < K {
        weights[[thread_idx.y, thread_idx.x]] = filter[[thread_idx.y, thread_idx.x]];
    }
    barrier();
    if x < W && y < H {
        let mut sum = 0.0;
        for row in unroll(0..K) {
            for col in unroll(0..K) {
                sum += tile[[thread_idx.y + row, thread_idx.x + col]] * weights[[row, col]];
            }
        }
        out[[y, x]] = sum;
    }
}
