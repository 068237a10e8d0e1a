//! Cross entropy of rows of logits, each read once.
//!
//! Law: the loss is within 2e-5, and two units in its last place, of the exact one for logits of any size: the difference between the
//! largest logit and the target's, which is exact or rounded once, plus a logarithm between 0 and that of the row's length. A row
//! with a NaN or with plus infinity has NaN; a target of minus infinity has infinity, in a row of nothing else NaN.

use layout_cuda::tiled_kernel;

/// `loss[i] = log(sum over j of exp(logits[i, j])) - logits[i, targets[i]]`, for rows that begin at any address. A block
/// takes a row, and keeps the sum so far relative to the largest element so far. A target beyond the row counts as a logit
/// of 0.
#[tiled_kernel(
    THREADS = 512, ROUNDS = 4,
    block = [THREADS],
    grid = [M],
    deny(narrowed),
)]
pub fn cross_entropy<const M: usize, const N: usize>(
    logits: &LayoutTensor<bf16, RowMajor<M, N>>,
    targets: &LayoutTensor<u32, RowMajor<M>>,
    loss: &mut LayoutTensor<f32, RowMajor<M>>,
) {
    const STEP: usize = THREADS * ROUNDS * 8;
    const LOG2_E: f32 = 1.442695;
    let row = block_idx.x;
    let before = (row * N % 8) as isize;
    let all = logits.pad(bf16::NEG_INFINITY);
    // Finite: minus infinity less itself would be no number.
    let mut most = f32::MIN;
    let mut sum: f32 = 0.0;
    for step in 0..(N + 7).div_ceil(STEP) {
        let from = all.window([1, STEP], [row as isize, (step * STEP) as isize - before]).vectorize([1, 8]);
        let own = from.distribute(row_major([1, THREADS]), thread_idx.x).to_local();
        let mut high = most;
        for i in unroll(0..ROUNDS * 8) {
            high = high.max(own[[0, i]].cast::<f32>());
        }
        // Differences first: a product of `high` may leave float32, and is rounded by more than the logarithm is worth.
        sum *= ((most - high) * LOG2_E).exp2_approx();
        for i in unroll(0..ROUNDS * 8) {
            sum += ((own[[0, i]].cast::<f32>() - high) * LOG2_E).exp2_approx();
        }
        most = high;
    }
    let of_row = most.block_max();
    let total = (sum * ((most - of_row) * LOG2_E).exp2_approx()).block_sum();
    if thread_idx.x == 0 {
        let target = targets[[row]] as usize;
        let logit = if target < N { logits[[row, target]].cast::<f32>() } else { 0.0 };
        loss[[row]] = (of_row - logit) + total.ln();
    }
}
