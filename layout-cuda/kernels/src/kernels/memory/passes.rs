//! Softmax and layer norm of rows of any length: a block reads its row two or three times.
//!
//! For rows that not even a cluster's registers hold. The second reading hits what the L2 cache has kept. The errors of a
//! thread's sums do not grow with the row: what a rounding loses is put into the next sum.

use layout_cuda::tiled_kernel;

/// `out[i, j] = exp(x[i, j] - m) / sum over k of exp(x[i, k] - m)`, `m` the largest of row `i`.
#[tiled_kernel(
    THREADS = 1024, ODD = [false, true], block = [THREADS], grid = [M], variant_if(N % 4 == 0), deny(narrowed),
)]
pub fn softmax_in_passes<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    out: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    const TILE: usize = THREADS * 4;
    let row = block_idx.x;
    let before = if ODD { row * N % 4 } else { 0 };
    let at = row as isize;
    // Finite: minus infinity less itself would be no number.
    let mut most = f32::MIN;
    let mut sum: f32 = 0.0;
    let mut lost: f32 = 0.0;
    for tile in 0..(N + before).div_ceil(TILE) {
        let first = (tile * TILE + thread_idx.x * 4) as isize - before as isize;
        let from = x.pad(f32::NEG_INFINITY).window([1, 4], [at, first]);
        let own = from.vectorize([1, 4]).to_local();
        let upto = most.max(own[[0, 0]].max(own[[0, 1]]).max(own[[0, 2]].max(own[[0, 3]])));
        let less = (most - upto).exp();
        let mut of_tile: f32 = 0.0;
        for j in unroll(0..4) {
            of_tile += (own[[0, j]] - upto).exp();
        }
        (sum, lost) = add_compensated(sum * less, lost * less, of_tile);
        most = upto;
    }
    let of_row = most.block_max();
    let total = (sum * (most - of_row).exp()).block_sum();
    let factor = 1.0 / total;
    for tile in 0..(N + before).div_ceil(TILE) {
        let first = (tile * TILE + thread_idx.x * 4) as isize - before as isize;
        let from = x.pad(f32::NEG_INFINITY).window([1, 4], [at, first]);
        let mut own = from.vectorize([1, 4]).to_local();
        for j in unroll(0..4) {
            own[[0, j]] = (own[[0, j]] - of_row).exp() * factor;
        }
        let to = out.window([1, 4], [at, first]);
        to.vectorize([1, 4]).copy_from(&own.vectorize([1, 4]));
    }
}

/// `out[i, j] = (x[i, j] - mean) / sqrt(variance + epsilon) * scale[j] + shift[j]`, mean and variance of row `i`.
#[tiled_kernel(THREADS = 1024, block = [THREADS], grid = [M], variant_if(N % 4 == 0), deny(narrowed))]
pub fn layer_norm_in_passes<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    scale: &LayoutTensor<f32, RowMajor<N>>,
    shift: &LayoutTensor<f32, RowMajor<N>>,
    out: &mut LayoutTensor<f32, RowMajor<M, N>>,
    epsilon: f32,
) {
    const TILE: usize = THREADS * 4;
    let row = block_idx.x;
    let mut sum: f32 = 0.0;
    let mut lost: f32 = 0.0;
    for tile in 0..N.div_ceil(TILE) {
        let own = x.tile([1, TILE], [row, tile]).tile([1, 4], [0, thread_idx.x]).vectorize([1, 4]).to_local();
        let of_four = (own[[0, 0]] + own[[0, 1]]) + (own[[0, 2]] + own[[0, 3]]);
        (sum, lost) = add_compensated(sum, lost, of_four);
    }
    let mean = sum.block_sum() / N as f32;
    let mut squares: f32 = 0.0;
    lost = 0.0;
    for tile in 0..N.div_ceil(TILE) {
        let own = x.tile([1, TILE], [row, tile]).tile([1, 4], [0, thread_idx.x]).vectorize([1, 4]).to_local();
        let mut term: f32 = 0.0;
        for j in unroll(0..4) {
            let off = own[[0, j]] - mean;
            term += select(tile * TILE + thread_idx.x * 4 + j < N, off * off, 0.0);
        }
        (squares, lost) = add_compensated(squares, lost, term);
    }
    let variance = squares.block_sum() / N as f32;
    // The sum of squares has left float32: 1 / infinity would make a row of `shift` of it.
    let factor = select(variance < f32::INFINITY, 1.0 / (variance + epsilon).sqrt(), f32::NAN);
    for tile in 0..N.div_ceil(TILE) {
        let at = tile * THREADS + thread_idx.x;
        let mut own = x.tile([1, 4], [row, at]).vectorize([1, 4]).to_local();
        let (scales, shifts) = (scale.tile([4], [at]).vectorize([4]), shift.tile([4], [at]).vectorize([4]));
        let (scales, shifts) = (scales.to_local(), shifts.to_local());
        for j in unroll(0..4) {
            own[[0, j]] = (own[[0, j]] - mean) * factor * scales[[j]] + shifts[[j]];
        }
        out.tile([1, 4], [row, at]).vectorize([1, 4]).copy_from(&own.vectorize([1, 4]));
    }
}
