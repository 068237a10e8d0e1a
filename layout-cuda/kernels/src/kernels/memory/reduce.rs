//! Sum, dot product and maximum of vectors: each of `P` blocks takes every `P`th tile, then one block takes their parts.
//!
//! ```text
//! thread:  a tile's elements, four sums side by side;  + tile after tile, what a rounding loses put into the next sum
//! block:   each warp by shuffles, then the warps in order
//! launch:  the P parts, by a second launch of one block
//! ```
//!
//! The order of additions is fixed by N, P and THREADS. A sum's error is at most 40 units in the last place of the sum of
//! absolute values, for any number of elements: ROUNDS + 2 from a tile's elements, 2 from all tiles, 5 + 8 from a block,
//! and 5 + 13 from the parts.

use layout_cuda::tiled_kernel;

/// `parts[p]`: the sum of the tiles of block `p`.
#[tiled_kernel(P = 1056, THREADS = 256, ROUNDS = 4, block = [THREADS], grid = [P])]
pub fn sum_of_parts<const N: usize, const P: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>,
    parts: &mut LayoutTensor<f32, RowMajor<P>>,
) {
    const TILE: usize = THREADS * ROUNDS * 4;
    let mut sum: f32 = 0.0;
    let mut lost: f32 = 0.0;
    for tile in (block_idx.x..N.div_ceil(TILE)).step_by(P) {
        let vectors = x.tile([TILE], [tile]).vectorize([4]);
        let mut of_tile = local::<f32>(row_major([4])).fill(0.0);
        let own = vectors.distribute(row_major([THREADS]), thread_idx.x).to_local();
        for i in unroll(0..ROUNDS * 4) {
            of_tile[[i % 4]] += own[[i]];
        }
        let of_four = (of_tile[[0]] + of_tile[[1]]) + (of_tile[[2]] + of_tile[[3]]);
        (sum, lost) = add_compensated(sum, lost, of_four);
    }
    let sum = sum.block_sum();
    if thread_idx.x == 0 {
        parts[[block_idx.x]] = sum;
    }
}

/// `parts[p]`: the sum of the products of the tiles of block `p`.
#[tiled_kernel(P = 1056, THREADS = 256, ROUNDS = 4, block = [THREADS], grid = [P], min_blocks = 8, deny(narrowed))]
pub fn dot_of_parts<const N: usize, const P: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>,
    y: &LayoutTensor<f32, RowMajor<N>>,
    parts: &mut LayoutTensor<f32, RowMajor<P>>,
) {
    /// The products of a tile. The test for a whole tile is around them, not around the loads alone: so not all loads
    /// are held at once, and 8 blocks share a multiprocessor.
    fn add_products(mut sums: View<f32, Write>, x: View<f32, Read>, y: View<f32, Read>) {
        let own_x = x.distribute(row_major([THREADS]), thread_idx.x).to_local();
        let own_y = y.distribute(row_major([THREADS]), thread_idx.x).to_local();
        for i in unroll(0..ROUNDS * 4) {
            sums[[i % 4]] += own_x[[i]] * own_y[[i]];
        }
    }
    const TILE: usize = THREADS * ROUNDS * 4;
    let mut sum: f32 = 0.0;
    let mut lost: f32 = 0.0;
    for tile in (block_idx.x..N.div_ceil(TILE)).step_by(P) {
        let (of_x, of_y) = (x.tile([TILE], [tile]), y.tile([TILE], [tile]));
        let mut of_tile = local::<f32>(row_major([4])).fill(0.0);
        if (tile + 1) * TILE <= N {
            add_products(of_tile, of_x.vectorize([4]), of_y.vectorize([4]));
        } else {
            add_products(of_tile, of_x, of_y);
        }
        let of_four = (of_tile[[0]] + of_tile[[1]]) + (of_tile[[2]] + of_tile[[3]]);
        (sum, lost) = add_compensated(sum, lost, of_four);
    }
    let sum = sum.block_sum();
    if thread_idx.x == 0 {
        parts[[block_idx.x]] = sum;
    }
}

/// `parts[p]`: the largest element of the tiles of block `p`, minus infinity of none.
#[tiled_kernel(P = 1056, THREADS = 256, ROUNDS = 4, block = [THREADS], grid = [P])]
pub fn max_of_parts<const N: usize, const P: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>,
    parts: &mut LayoutTensor<f32, RowMajor<P>>,
) {
    const TILE: usize = THREADS * ROUNDS * 4;
    let mut most = f32::NEG_INFINITY;
    for tile in (block_idx.x..N.div_ceil(TILE)).step_by(P) {
        let vectors = x.tile([TILE], [tile]).pad(f32::NEG_INFINITY).vectorize([4]);
        let own = vectors.distribute(row_major([THREADS]), thread_idx.x).to_local();
        for i in unroll(0..ROUNDS * 4) {
            most = most.max(own[[i]]);
        }
    }
    let most = most.block_max();
    if thread_idx.x == 0 {
        parts[[block_idx.x]] = most;
    }
}

/// The sum of the parts.
#[tiled_kernel(P = 1056, THREADS = 256, block = [THREADS], grid = [1], deny(narrowed))]
pub fn total_sum<const P: usize>(
    parts: &LayoutTensor<f32, RowMajor<P>>,
    out: &mut LayoutTensor<f32, RowMajor<1>>,
) {
    let mut sum = 0.0;
    for i in (thread_idx.x..P).step_by(THREADS) {
        sum += parts[[i]];
    }
    let sum = sum.block_sum();
    if thread_idx.x == 0 {
        out[[0]] = sum;
    }
}

/// The largest of the parts.
#[tiled_kernel(P = 1056, THREADS = 256, block = [THREADS], grid = [1], deny(narrowed))]
pub fn total_max<const P: usize>(
    parts: &LayoutTensor<f32, RowMajor<P>>,
    out: &mut LayoutTensor<f32, RowMajor<1>>,
) {
    let mut most = f32::NEG_INFINITY;
    for i in (thread_idx.x..P).step_by(THREADS) {
        most = most.max(parts[[i]]);
    }
    let most = most.block_max();
    if thread_idx.x == 0 {
        out[[0]] = most;
    }
}
