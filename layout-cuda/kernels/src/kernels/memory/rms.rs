//! RMS norm of rows with a residual: each element is read once and written once.
//!
//! A block takes rows 8 apart, which all begin at the same offset from 16 bytes, one after another. So a thread keeps its
//! part of the scale, in shared memory. The next row's loads begin before this row's sum, and two blocks of 640 threads share a multiprocessor:
//! on an H200 0.88 of the best copy for 8191 x 5001, where two blocks that load when they need it have 0.78.
//!
//! Law: a row with a NaN or an infinity is NaN, and so is one whose sum of squares leaves float32: for elements of up to
//! 1.8e19 / sqrt(N) it does not.

use layout_cuda::tiled_kernel;

/// `sums[i, j] = x[i, j] + residual[i, j]`, rounded, and `out[i, j] = sums[i, j] * scale[j] / sqrt(mean of sums[i]² +
/// epsilon)`, for rows that begin at any address.
#[tiled_kernel(
    THREADS = 640, ROUNDS = 1, ROWS = 16,
    min_blocks = if ROUNDS == 1 && THREADS <= 640 { 2 } else { 1 },
    block = [THREADS],
    grid = [M.div_ceil(8 * ROWS) * 8],
    require(N + 7 <= THREADS * ROUNDS * 8),
    deny(narrowed),
)]
pub fn rms_norm<const M: usize, const N: usize>(
    x: &LayoutTensor<bf16, RowMajor<M, N>>,
    residual: &LayoutTensor<bf16, RowMajor<M, N>>,
    scale: &LayoutTensor<bf16, RowMajor<N>>,
    sums: &mut LayoutTensor<bf16, RowMajor<M, N>>,
    out: &mut LayoutTensor<bf16, RowMajor<M, N>>,
    epsilon: f32,
) {
    const ROW: usize = THREADS * ROUNDS * 8;
    // With more rounds the registers do not suffice.
    const AHEAD: bool = ROUNDS == 1;
    /// Loads a thread's part of a row.
    fn load(mut own: View<bf16, Write>, from: impl Tensor<Elem = bf16>, row: usize, before: isize) {
        let from = from.window([1, ROW], [row as isize, -before]).vectorize([1, 8]);
        own.vectorize([1, 8]).copy_from(&from.distribute(row_major([1, THREADS]), thread_idx.x));
    }
    let (thread, threads) = (thread_idx.x, row_major([1, THREADS]));
    let first = block_idx.x / 8 * (8 * ROWS) + block_idx.x % 8;
    let before = (first * N % 8) as isize;
    let next_x = local::<bf16>(row_major([1, ROUNDS * 8]));
    let next_residual = local::<bf16>(row_major([1, ROUNDS * 8]));
    if AHEAD {
        load(next_x, x, first, before);
        load(next_residual, residual, first, before);
    }
    let factors = scale.window([ROW], [-before]);
    // As the vectors of the rows are; each thread reads what it wrote itself.
    let mut scales = shared::<bf16>(row_major([ROW]));
    for i in unroll(0..ROUNDS) {
        for j in unroll(0..8) {
            let at = (i * THREADS + thread) * 8 + j;
            scales[[at]] = factors[[at]];
        }
    }
    for step in 0..ROWS {
        let row = first + 8 * step;
        // The same for each row. Kept through the loop it costs three registers; variants of any size and address lack them.
        let before = (row * N % 8) as isize;
        let at = [row as isize, -before];
        if !AHEAD {
            load(next_x, x, row, before);
            load(next_residual, residual, row, before);
        }
        let mut own = local::<bf16>(row_major([1, ROUNDS * 8]));
        let mut square: f32 = 0.0;
        for i in unroll(0..ROUNDS * 8) {
            own[[0, i]] = (next_x[[0, i]].cast::<f32>() + next_residual[[0, i]].cast::<f32>()).cast::<bf16>();
            let sum = own[[0, i]].cast::<f32>();
            square += sum * sum;
        }
        if AHEAD && step + 1 < ROWS {
            load(next_x, x, row + 8, before);
            load(next_residual, residual, row + 8, before);
        }
        let to = sums.window([1, ROW], at).vectorize([1, 8]);
        to.distribute(threads, thread).copy_from(&own.vectorize([1, 8]));
        let mean = square.block_sum() / N as f32;
        // The sum of squares has left float32: 1 / infinity would make a row of zeros of it.
        let factor = select(mean < f32::INFINITY, 1.0 / (mean + epsilon).sqrt(), f32::NAN);
        for i in unroll(0..ROUNDS) {
            let own_scale = scales.tile([8], [i * THREADS + thread]).vectorize([8]).to_local();
            for j in unroll(0..8) {
                let normal = own[[0, i * 8 + j]].cast::<f32>() * factor;
                own[[0, i * 8 + j]] = (normal * own_scale[[j]].cast::<f32>()).cast::<bf16>();
            }
        }
        let to = out.window([1, ROW], at).vectorize([1, 8]);
        to.distribute(threads, thread).copy_from(&own.vectorize([1, 8]));
    }
}
