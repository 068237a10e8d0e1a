//! Sums of a matrix's rows, a block for each row; sums of its columns, in `SPLITS` parts of rows and then over the parts.
//!
//! ```text
//! columns:  a warp reads 128 neighbouring columns of a row, 16 bytes a thread; the block's 8 warps take 4 rows by turns
//! ```
//!
//! What a rounding loses is put into the next sum. So the error is at most 40 units in the last place of the sum of
//! absolute values, for rows and columns of any length.

use layout_cuda::tiled_kernel;

/// `out[i]`: the sum of row `i`.
#[tiled_kernel(THREADS = 256, ROUNDS = 2, block = [THREADS], grid = [M], variant_if(N % 4 == 0), deny(narrowed))]
pub fn row_sums<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    out: &mut LayoutTensor<f32, RowMajor<M>>,
) {
    const TILE: usize = THREADS * ROUNDS * 4;
    let mut sum: f32 = 0.0;
    let mut lost: f32 = 0.0;
    for tile in 0..N.div_ceil(TILE) {
        let mut of_tile = local::<f32>(row_major([4])).fill(0.0);
        let vectors = x.tile([1, TILE], [block_idx.x, tile]).vectorize([1, 4]);
        let own = vectors.distribute(row_major([1, THREADS]), thread_idx.x).to_local();
        for i in unroll(0..ROUNDS * 4) {
            of_tile[[i % 4]] += own[[0, i]];
        }
        let of_four = (of_tile[[0]] + of_tile[[1]]) + (of_tile[[2]] + of_tile[[3]]);
        (sum, lost) = add_compensated(sum, lost, of_four);
    }
    let sum = sum.block_sum();
    if thread_idx.x == 0 {
        out[[block_idx.x]] = sum;
    }
}

/// `parts[s, j]`: the sum of column `j` over the rows `32 s, .., 32 s + 31` and every `32 SPLITS`th of each.
#[tiled_kernel(SPLITS = 16, block = [32, 8], grid = [N.div_ceil(128), SPLITS], variant_if(N % 4 == 0), deny(narrowed))]
pub fn column_sums_of_parts<const M: usize, const N: usize, const SPLITS: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    parts: &mut LayoutTensor<f32, RowMajor<SPLITS, N>>,
) {
    let cols = block_idx.x * 32 + thread_idx.x;
    let mut sums = local::<f32>(row_major([1, 4])).fill(0.0);
    let mut lost = local::<f32>(row_major([1, 4])).fill(0.0);
    for rows in (block_idx.y * 8 + thread_idx.y..M.div_ceil(4)).step_by(8 * SPLITS) {
        let own = x.tile([4, 4], [rows, cols]).vectorize([1, 4]).to_local();
        for j in unroll(0..4) {
            let of_four = (own[[0, j]] + own[[1, j]]) + (own[[2, j]] + own[[3, j]]);
            (sums[[0, j]], lost[[0, j]]) = add_compensated(sums[[0, j]], lost[[0, j]], of_four);
        }
    }
    let mut of_warps = shared::<f32>(row_major([8, 128]));
    of_warps.tile([1, 4], [thread_idx.y, thread_idx.x]).vectorize([1, 4]).copy_from(&sums.vectorize([1, 4]));
    barrier();
    let mut out = parts.tile([1, 128], [block_idx.y, block_idx.x]);
    let thread = thread_idx.y * 32 + thread_idx.x;
    if thread < 128 {
        let mut sum = 0.0;
        for warp in unroll(0..8) {
            sum += of_warps[[warp, thread]];
        }
        out[[0, thread]] = sum;
    }
}

/// `out[j]`: the sum of column `j` of the parts.
#[tiled_kernel(SPLITS = 16, block = [128], grid = [N.div_ceil(128)], deny(narrowed))]
pub fn column_sums<const N: usize, const SPLITS: usize>(
    parts: &LayoutTensor<f32, RowMajor<SPLITS, N>>,
    out: &mut LayoutTensor<f32, RowMajor<N>>,
) {
    let col = block_idx.x * 128 + thread_idx.x;
    if col < N {
        let mut sum = 0.0;
        for split in unroll(0..SPLITS) {
            sum += parts[[split, col]];
        }
        out[[col]] = sum;
    }
}
