//! Softmax and layer norm of rows of any length, a block a row.
//!
//! ```text
//! row:   HELD steps in shared memory | ROUNDS steps in registers | the rest
//! read:  the first two are on their way while the rest streams by; softmax: maximum and sum together, where a larger
//!        maximum scales the sum down; layer norm: mean and squares around it, batch after batch
//! write: the rest, read again from the L2 cache, the newest first; registers; shared memory
//! ```
//!
//! A step is 4096 elements, 16 bytes a thread. No thread reads what another one has put into shared memory.

use layout_cuda::tiled_kernel;

/// `out[i, j] = exp(x[i, j] - m) / sum over k of exp(x[i, k] - m)`, `m` the largest of row `i`.
#[tiled_kernel(HELD = 14, ROUNDS = 6, block = [1024], grid = [M], variant_if(N % 4 == 0))]
pub fn softmax_long<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    out: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    const STEP: usize = 4096;
    const REST: usize = (HELD + ROUNDS) * STEP;
    let (row, thread, all) = (block_idx.x, thread_idx.x, row_major([1, 1024]));
    let padded = x.pad(f32::NEG_INFINITY);
    let mut stage = shared::<f32>(row_major([1, HELD * STEP]));
    let held = stage.vectorize([1, 4]).distribute(all, thread);
    let mut own = local::<f32>(row_major([1, ROUNDS * 4]));
    if REST <= N {
        held.copy_from_async(&x.tile([1, HELD * STEP], [row, 0]).vectorize([1, 4]).distribute(all, thread));
        let from = x.window([1, ROUNDS * STEP], [row, HELD * STEP]).vectorize([1, 4]);
        own.vectorize([1, 4]).copy_from(&from.distribute(all, thread));
    } else {
        held.copy_from(&padded.tile([1, HELD * STEP], [row, 0]).vectorize([1, 4]).distribute(all, thread));
        let from = padded.window([1, ROUNDS * STEP], [row, HELD * STEP]).vectorize([1, 4]);
        own.vectorize([1, 4]).copy_from(&from.distribute(all, thread));
    }
    async_copy_wait_all();

    // Finite: minus infinity less itself would be no number.
    let mut most: f32 = -3.0e38;
    let mut sum: f32 = 0.0;
    for pair in unroll(0..HELD / 2) {
        let at = REST + pair * 2 * STEP;
        let mut near = local::<f32>(row_major([1, 8]));
        if at + 2 * STEP <= N {
            let from = x.window([1, 2 * STEP], [row, at]).vectorize([1, 4]);
            near.vectorize([1, 4]).copy_from(&from.distribute(all, thread));
        } else {
            let from = padded.window([1, 2 * STEP], [row, at]).vectorize([1, 4]);
            near.vectorize([1, 4]).copy_from(&from.distribute(all, thread));
        }
        let kept = stage.tile([1, 2 * STEP], [0, pair]).vectorize([1, 4]).distribute(all, thread).to_local();
        let mut next = most;
        for i in unroll(0..8) {
            next = next.max(kept[[0, i]]).max(near[[0, i]]);
        }
        if pair < ROUNDS {
            for i in unroll(0..4) {
                next = next.max(own[[0, pair * 4 + i]]);
            }
        }
        sum *= (most - next).exp();
        for i in unroll(0..8) {
            sum += (kept[[0, i]] - next).exp() + (near[[0, i]] - next).exp();
        }
        if pair < ROUNDS {
            for i in unroll(0..4) {
                sum += (own[[0, pair * 4 + i]] - next).exp();
            }
        }
        most = next;
    }
    for at in (REST + HELD * STEP..N).step_by(2 * STEP) {
        let from = padded.window([1, 2 * STEP], [row, at]).vectorize([1, 4]).distribute(all, thread);
        let near = from.to_local();
        let mut next = most;
        for i in unroll(0..8) {
            next = next.max(near[[0, i]]);
        }
        sum *= (most - next).exp();
        for i in unroll(0..8) {
            sum += (near[[0, i]] - next).exp();
        }
        most = next;
    }
    let mut next = most;
    for i in unroll(HELD * 2..ROUNDS * 4) {
        next = next.max(own[[0, i]]);
    }
    sum *= (most - next).exp();
    for i in unroll(HELD * 2..ROUNDS * 4) {
        sum += (own[[0, i]] - next).exp();
    }
    let of_row = next.block_max();
    let factor = 1.0 / (sum * (next - of_row).exp()).block_sum();

    for at in (REST..N).step_by(2 * STEP).rev() {
        let mut near = local::<f32>(row_major([1, 8]));
        if at + 2 * STEP <= N {
            let from = x.window([1, 2 * STEP], [row, at]).vectorize([1, 4]);
            near.vectorize([1, 4]).copy_from(&from.distribute(all, thread));
        } else {
            let from = padded.window([1, 2 * STEP], [row, at]).vectorize([1, 4]);
            near.vectorize([1, 4]).copy_from(&from.distribute(all, thread));
        }
        for i in unroll(0..8) {
            near[[0, i]] = (near[[0, i]] - of_row).exp() * factor;
        }
        let to = out.window([1, 2 * STEP], [row, at]).vectorize([1, 4]).distribute(all, thread);
        to.copy_from(&near.vectorize([1, 4]));
    }
    for i in unroll(0..ROUNDS * 4) {
        own[[0, i]] = (own[[0, i]] - of_row).exp() * factor;
    }
    let to = out.window([1, ROUNDS * STEP], [row, HELD * STEP]).vectorize([1, 4]).distribute(all, thread);
    to.copy_from(&own.vectorize([1, 4]));
    for pair in unroll(0..HELD / 2) {
        let mut kept =
            stage.tile([1, 2 * STEP], [0, pair]).vectorize([1, 4]).distribute(all, thread).to_local();
        for i in unroll(0..8) {
            kept[[0, i]] = (kept[[0, i]] - of_row).exp() * factor;
        }
        let to = out.tile([1, 2 * STEP], [row, pair]).vectorize([1, 4]).distribute(all, thread);
        to.copy_from(&kept.vectorize([1, 4]));
    }
}

/// `out[i, j] = (x[i, j] - mean) / sqrt(variance + epsilon) * scale[j] + shift[j]`, mean and variance of row `i`.
#[tiled_kernel(HELD = 14, ROUNDS = 4, block = [1024], grid = [M], variant_if(N % 4 == 0))]
pub fn layer_norm_long<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    scale: &LayoutTensor<f32, RowMajor<N>>,
    shift: &LayoutTensor<f32, RowMajor<N>>,
    out: &mut LayoutTensor<f32, RowMajor<M, N>>,
    epsilon: f32,
) {
    const STEP: usize = 4096;
    const REST: usize = (HELD + ROUNDS) * STEP;
    let (row, thread, all) = (block_idx.x, thread_idx.x, row_major([1, 1024]));
    let mut stage = shared::<f32>(row_major([1, HELD * STEP]));
    let held = stage.vectorize([1, 4]).distribute(all, thread);
    let mut own = local::<f32>(row_major([1, ROUNDS * 4]));
    let from = x.window([1, ROUNDS * STEP], [row, HELD * STEP]).vectorize([1, 4]);
    if REST <= N {
        held.copy_from_async(&x.tile([1, HELD * STEP], [row, 0]).vectorize([1, 4]).distribute(all, thread));
        own.vectorize([1, 4]).copy_from(&from.distribute(all, thread));
    } else {
        held.copy_from(&x.tile([1, HELD * STEP], [row, 0]).vectorize([1, 4]).distribute(all, thread));
        own.vectorize([1, 4]).copy_from(&from.distribute(all, thread));
    }
    async_copy_wait_all();

    let mut seen: f32 = 0.0;
    let mut mean: f32 = 0.0;
    let mut squares: f32 = 0.0;
    for pair in unroll(0..HELD / 2) {
        let at = REST + pair * 2 * STEP;
        let near = x.window([1, 2 * STEP], [row, at]).vectorize([1, 4]).distribute(all, thread).to_local();
        let kept = stage.tile([1, 2 * STEP], [0, pair]).vectorize([1, 4]).distribute(all, thread).to_local();
        let mut count: f32 = 0.0;
        let mut total: f32 = 0.0;
        for i in unroll(0..2) {
            for j in unroll(0..4) {
                count += select((pair * 2 + i) * STEP + thread * 4 + j < N, 1.0, 0.0);
                total += kept[[0, i * 4 + j]];
            }
            for j in unroll(0..4) {
                count += select(at + i * STEP + thread * 4 + j < N, 1.0, 0.0);
                total += near[[0, i * 4 + j]];
            }
        }
        let center = total / count.max(1.0);
        let mut square: f32 = 0.0;
        for i in unroll(0..2) {
            for j in unroll(0..4) {
                let off = kept[[0, i * 4 + j]] - center;
                square += select((pair * 2 + i) * STEP + thread * 4 + j < N, off * off, 0.0);
            }
            for j in unroll(0..4) {
                let off = near[[0, i * 4 + j]] - center;
                square += select(at + i * STEP + thread * 4 + j < N, off * off, 0.0);
            }
        }
        let after = seen + count;
        let off = center - mean;
        let share = count / after.max(1.0);
        mean += off * share;
        squares += square + off * off * seen * share;
        seen = after;
    }
    for at in (REST + HELD * STEP..N).step_by(2 * STEP) {
        let near = x.window([1, 2 * STEP], [row, at]).vectorize([1, 4]).distribute(all, thread).to_local();
        let mut count: f32 = 0.0;
        let mut total: f32 = 0.0;
        for i in unroll(0..2) {
            for j in unroll(0..4) {
                count += select(at + i * STEP + thread * 4 + j < N, 1.0, 0.0);
                total += near[[0, i * 4 + j]];
            }
        }
        let center = total / count.max(1.0);
        let mut square: f32 = 0.0;
        for i in unroll(0..2) {
            for j in unroll(0..4) {
                let off = near[[0, i * 4 + j]] - center;
                square += select(at + i * STEP + thread * 4 + j < N, off * off, 0.0);
            }
        }
        let after = seen + count;
        let off = center - mean;
        let share = count / after.max(1.0);
        mean += off * share;
        squares += square + off * off * seen * share;
        seen = after;
    }
    let mut count: f32 = 0.0;
    let mut total: f32 = 0.0;
    for i in unroll(0..ROUNDS) {
        for j in unroll(0..4) {
            count += select((HELD + i) * STEP + thread * 4 + j < N, 1.0, 0.0);
            total += own[[0, i * 4 + j]];
        }
    }
    let center = total / count.max(1.0);
    let mut square: f32 = 0.0;
    for i in unroll(0..ROUNDS) {
        for j in unroll(0..4) {
            let off = own[[0, i * 4 + j]] - center;
            square += select((HELD + i) * STEP + thread * 4 + j < N, off * off, 0.0);
        }
    }
    let off = center - mean;
    let share = count / (seen + count).max(1.0);
    squares += square + off * off * seen * share;
    seen += count;
    mean += off * share;
    let of_row = (mean * (seen / N as f32)).block_sum();
    let around = mean - of_row;
    let variance = (squares + seen * around * around).block_sum() / N as f32;
    let factor = 1.0 / (variance + epsilon).sqrt();

    for at in (REST..N).step_by(2 * STEP).rev() {
        let mut near =
            x.window([1, 2 * STEP], [row, at]).vectorize([1, 4]).distribute(all, thread).to_local();
        let scales =
            scale.window([2 * STEP], [at]).vectorize([4]).distribute(row_major([1024]), thread).to_local();
        let shifts =
            shift.window([2 * STEP], [at]).vectorize([4]).distribute(row_major([1024]), thread).to_local();
        for i in unroll(0..8) {
            near[[0, i]] = (near[[0, i]] - of_row) * factor * scales[[i]] + shifts[[i]];
        }
        let to = out.window([1, 2 * STEP], [row, at]).vectorize([1, 4]).distribute(all, thread);
        to.copy_from(&near.vectorize([1, 4]));
    }
    for i in unroll(0..ROUNDS) {
        let at = (HELD + i) * 1024 + thread;
        let scales = scale.tile([4], [at]).vectorize([4]).to_local();
        let shifts = shift.tile([4], [at]).vectorize([4]).to_local();
        for j in unroll(0..4) {
            own[[0, i * 4 + j]] = (own[[0, i * 4 + j]] - of_row) * factor * scales[[j]] + shifts[[j]];
        }
    }
    let to = out.window([1, ROUNDS * STEP], [row, HELD * STEP]).vectorize([1, 4]).distribute(all, thread);
    to.copy_from(&own.vectorize([1, 4]));
    for pair in 0..HELD / 2 {
        let mut kept =
            stage.tile([1, 2 * STEP], [0, pair]).vectorize([1, 4]).distribute(all, thread).to_local();
        let scales =
            scale.tile([2 * STEP], [pair]).vectorize([4]).distribute(row_major([1024]), thread).to_local();
        let shifts =
            shift.tile([2 * STEP], [pair]).vectorize([4]).distribute(row_major([1024]), thread).to_local();
        for i in unroll(0..8) {
            kept[[0, i]] = (kept[[0, i]] - of_row) * factor * scales[[i]] + shifts[[i]];
        }
        let to = out.tile([1, 2 * STEP], [row, pair]).vectorize([1, 4]).distribute(all, thread);
        to.copy_from(&kept.vectorize([1, 4]));
    }
}
