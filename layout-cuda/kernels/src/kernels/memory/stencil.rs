//! Convolutions and poolings with small windows, at the speed of a copy.
//!
//! ```text
//! thread:  4 neighbouring elements of a row (of ROWS rows), from 16-byte loads of them and of their neighbours
//! ```
//!
//! A neighbour's elements come from the L1 cache, where the neighbour's own load has put them. Each row that a thread loads
//! goes into all sums that need it. Beyond the edge there are zeros, or minus infinity for a maximum.

use layout_cuda::tiled_kernel;

/// `out[i] = sum over k of taps[k] x[i + k - TAPS / 2]`, for up to 9 taps. The error is at most `TAPS` units in the last place
/// of the sum of absolute values.
#[tiled_kernel(
    TAPS = 5, THREADS = 256, ROUNDS = 1,
    block = [THREADS],
    grid = [N.div_ceil(THREADS * ROUNDS * 4)],
    variant_if(N % 4 == 0),
    deny(narrowed),
)]
pub fn conv1d<const N: usize, const TAPS: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>,
    taps: &LayoutTensor<f32, RowMajor<TAPS>>,
    out: &mut LayoutTensor<f32, RowMajor<N>>,
) {
    assert!(TAPS / 2 <= 4, "a window reaches four elements to each side");
    let weights = taps.tile([TAPS], [0]).to_local();
    for round in unroll(0..ROUNDS) {
        let at = (block_idx.x * ROUNDS + round) * THREADS + thread_idx.x;
        let near = x.window([12], [at * 4 - 4]).vectorize([4]).to_local();
        let mut sums = local::<f32>(row_major([4])).fill(0.0);
        for k in unroll(0..TAPS) {
            for j in unroll(0..4) {
                sums[[j]] += weights[[k]] * near[[4 + j + k - TAPS / 2]];
            }
        }
        out.tile([4], [at]).vectorize([4]).copy_from(&sums.vectorize([4]));
    }
}

/// `out[i, j] = sum over k, l of weights[k, l] x[i + k - SIZE / 2, j + l - SIZE / 2]`. The error is at most `SIZE SIZE` units in
/// the last place of the sum of absolute values.
#[tiled_kernel(
    SIZE = [3, 5], ROWS = 4, COLS = 4,
    block = [32, 8],
    grid = [N.div_ceil(32 * COLS), M.div_ceil(8 * ROWS)],
    variant_if(N % 4 == 0),
    deny(narrowed),
)]
pub fn conv2d<const M: usize, const N: usize, const SIZE: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    weights: &LayoutTensor<f32, RowMajor<SIZE, SIZE>>,
    out: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    const REACH: usize = SIZE / 2;
    assert!(REACH <= 4, "a window reaches four elements to each side");
    /// A thread's part, row by row. Where the block is wholly inside nothing is tested, so that the loads of the next rows
    /// begin before the products of this one; a row that is done is stored, which leaves its registers to later ones.
    fn convolve(
        x: impl Tensor<Elem = f32, Access = Read>,
        weights: View<f32, Read>,
        out: impl Tensor<Elem = f32, Access = Write>,
    ) {
        let (rows, cols) = (block_idx.y * 8 + thread_idx.y, block_idx.x * 32 + thread_idx.x);
        let mut sums = local::<f32>(row_major([ROWS, COLS])).fill(0.0);
        for row in unroll(0..ROWS + SIZE - 1) {
            let near = x.window([1, COLS + 8], [rows * ROWS + row - REACH, cols * COLS - 4]);
            let near = near.vectorize([1, 4]).to_local();
            for k in unroll(0..SIZE) {
                if row >= k && row - k < ROWS {
                    for l in unroll(0..SIZE) {
                        for j in unroll(0..COLS) {
                            sums[[row - k, j]] += weights[[k, l]] * near[[0, 4 + j + l - REACH]];
                        }
                    }
                }
            }
            if row + 1 >= SIZE {
                let done = sums.tile([1, COLS], [row + 1 - SIZE, 0]).vectorize([1, 4]);
                let at = [rows * ROWS + row + 1 - SIZE, cols];
                out.tile([1, COLS], at).vectorize([1, 4]).copy_from(&done);
            }
        }
    }
    let weights = weights.tile([SIZE, SIZE], [0, 0]).to_local();
    let (row, col) = (block_idx.y * 8 * ROWS, block_idx.x * 32 * COLS);
    if block_idx.x > 0 && block_idx.y > 0 && row + 8 * ROWS + REACH <= M && col + 32 * COLS + 4 <= N {
        convolve(x, weights, out);
    } else {
        convolve(x, weights, out);
    }
}

/// Of the `WINDOW` elements that end with `x[i]`, as far as they exist: their sum (`KIND` 0), their mean (1), the largest (2).
/// The error is at most `WINDOW` units in the last place of the sum of absolute values.
#[tiled_kernel(
    KIND = [0, 1, 2], WINDOW = 3, THREADS = 256, ROUNDS = 2,
    block = [THREADS],
    grid = [N.div_ceil(THREADS * ROUNDS * 4)],
    variant_if(N % 4 == 0),
    deny(narrowed),
)]
pub fn pool1d<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, out: &mut LayoutTensor<f32, RowMajor<N>>) {
    assert!(WINDOW <= 5, "a window reaches four elements back");
    let from = if KIND == 2 { x.pad(f32::NEG_INFINITY) } else { x.pad(0.0) };
    for round in unroll(0..ROUNDS) {
        let at = (block_idx.x * ROUNDS + round) * THREADS + thread_idx.x;
        let near = from.window([8], [at * 4 - 4]).vectorize([4]).to_local();
        let mut all = local::<f32>(row_major([4]));
        for j in unroll(0..4) {
            all[[j]] = near[[4 + j]];
            for k in unroll(1..WINDOW) {
                if KIND == 2 {
                    all[[j]] = all[[j]].max(near[[4 + j - k]]);
                } else {
                    all[[j]] += near[[4 + j - k]];
                }
            }
            if KIND == 1 {
                let there = (at * 4 + j + 1).min(WINDOW);
                all[[j]] /= there as f32;
            }
        }
        out.tile([4], [at]).vectorize([4]).copy_from(&all.vectorize([4]));
    }
}

/// The same of the `WINDOW` by `WINDOW` elements that end with `x[i, j]`.
#[tiled_kernel(
    KIND = [0, 1, 2], WINDOW = 3, ROWS = 4,
    block = [32, 8],
    grid = [N.div_ceil(128), M.div_ceil(8 * ROWS)],
    variant_if(N % 4 == 0),
    deny(narrowed),
)]
pub fn pool2d<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    out: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    assert!(WINDOW <= 5, "a window reaches four elements back");
    let (rows, cols) = (block_idx.y * 8 + thread_idx.y, block_idx.x * 32 + thread_idx.x);
    let from = if KIND == 2 { x.pad(f32::NEG_INFINITY) } else { x.pad(0.0) };
    let mut all = local::<f32>(row_major([ROWS, 4])).fill(if KIND == 2 { f32::NEG_INFINITY } else { 0.0 });
    for row in unroll(0..ROWS + WINDOW - 1) {
        let near = from
            .window([1, 8], [rows * ROWS + row - (WINDOW - 1), cols * 4 - 4])
            .vectorize([1, 4])
            .to_local();
        for j in unroll(0..4) {
            let mut across = near[[0, 4 + j]];
            for k in unroll(1..WINDOW) {
                if KIND == 2 {
                    across = across.max(near[[0, 4 + j - k]]);
                } else {
                    across += near[[0, 4 + j - k]];
                }
            }
            for k in unroll(0..ROWS) {
                if row >= k && row - k < WINDOW {
                    if KIND == 2 {
                        all[[k, j]] = all[[k, j]].max(across);
                    } else {
                        all[[k, j]] += across;
                    }
                }
            }
        }
    }
    if KIND == 1 {
        for k in unroll(0..ROWS) {
            for j in unroll(0..4) {
                let there = (rows * ROWS + k + 1).min(WINDOW) * (cols * 4 + j + 1).min(WINDOW);
                all[[k, j]] /= there as f32;
            }
        }
    }
    out.tile([ROWS, 4], [rows, cols]).vectorize([1, 4]).copy_from(&all.vectorize([1, 4]));
}
