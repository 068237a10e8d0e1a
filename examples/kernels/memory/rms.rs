//! RMS norm of rows with a residual: each element is read once and written once.
//!
//! A block takes rows 8 apart, which all begin at the same offset from 16 bytes, one after another. So a thread keeps its
//! part of the scale, in shared memory. While one block of a multiprocessor adds up its row, the other loads its next: on an H200 two blocks of 640
//! threads are 1.2 x as fast as one that loads ahead, which needs the registers of both.

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
    let (thread, threads) = (thread_idx.x, row_major([1, THREADS]));
    let first = block_idx.x / 8 * (8 * ROWS) + block_idx.x % 8;
    let before = (first * N % 8) as isize;
    let factors = scale.window([ROW], [-before]);
    // As the vectors of the rows lie; each thread reads what it wrote itself.
    let mut scales = shared::<bf16>(row_major([ROW]));
    for i in unroll(0..ROUNDS) {
        for j in unroll(0..8) {
            let at = (i * THREADS + thread) * 8 + j;
            scales[[at]] = factors[[at]];
        }
    }
    for step in 0..ROWS {
        let row = first + 8 * step;
        let at = [row as isize, -before];
        let (mut own, mut other) =
            (local::<bf16>(row_major([1, ROUNDS * 8])), local::<bf16>(row_major([1, ROUNDS * 8])));
        let from = x.window([1, ROW], at).vectorize([1, 8]);
        own.vectorize([1, 8]).copy_from(&from.distribute(threads, thread));
        let from = residual.window([1, ROW], at).vectorize([1, 8]);
        other.vectorize([1, 8]).copy_from(&from.distribute(threads, thread));
        let mut square: f32 = 0.0;
        for i in unroll(0..ROUNDS * 8) {
            own[[0, i]] = (own[[0, i]].cast::<f32>() + other[[0, i]].cast::<f32>()).cast::<bf16>();
            let sum = own[[0, i]].cast::<f32>();
            square += sum * sum;
        }
        let to = sums.window([1, ROW], at).vectorize([1, 8]);
        to.distribute(threads, thread).copy_from(&own.vectorize([1, 8]));
        let factor = 1.0 / (square.block_sum() / N as f32 + epsilon).sqrt();
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
