// Puzzle 11, convolution in two dimensions: a window of K by K that begins at (y, x); zeros beyond the image.
#[tiled_kernel(TPB_X = 8, TPB_Y = 8, K = 3, block = [TPB_X, TPB_Y], grid = [W.div_ceil(TPB_X), H.div_ceil(TPB_Y)])]
fn conv_2d_halo<const H: usize, const W: usize, const K: usize>(
    out: &mut LayoutTensor<f32, RowMajor<H, W>>,
    image: &LayoutTensor<f32, RowMajor<H, W>>,
    filter: &LayoutTensor<f32, RowMajor<K, K>>,
) {
    const TILE_H: usize = TPB_Y + K - 1;
    const TILE_W: usize = TPB_X + K - 1;
    let (x, y) = (block_idx.x * TPB_X + thread_idx.x, block_idx.y * TPB_Y + thread_idx.y);
    let mut tile = shared::<f32>(row_major([TILE_H, TILE_W]));
    let mut weights = shared::<f32>(row_major([K, K]));
    // Hole: the tile has more elements than the block has threads. Each thread brings every TPB_Y-th row and TPB_X-th column.

    if thread_idx.y < K && thread_idx.x < K {
        weights[[thread_idx.y, thread_idx.x]] = filter[[thread_idx.y, thread_idx.x]];
    }
    barrier();
    if x < W && y < H {
        let mut sum = 0.0;
        // Hole: K by K products.

        out[[y, x]] = sum;
    }
}
