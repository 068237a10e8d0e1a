//! Softmax and layer norm of long rows: a cluster of `PARTS` blocks a row, which stays in their registers.
//!
//! Each block publishes what it knows of its part; behind the cluster's barrier every block puts the parts together, in
//! the same order, so that the result does not depend on the run.

use layout_cuda::tiled_kernel;

/// `out[i, j] = exp(x[i, j] - m) / sum over k of exp(x[i, k] - m)`, `m` the largest of row `i`. `parts` is a workspace: maximum
/// and sum of each part of each row.
#[tiled_kernel(
    PARTS = 4, ROUNDS = 8,
    block = [1024],
    cluster = [PARTS],
    grid = [M * PARTS],
    arch = "sm_90a",
    require(N <= PARTS * ROUNDS * 4096),
    require(MEETING >= M * PARTS),
    variant_if(N % 4 == 0),
)]
pub fn softmax_in_parts<const M: usize, const N: usize, const MEETING: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    out: &mut LayoutTensor<f32, RowMajor<M, N>>,
    parts: &mut LayoutTensor<f32, RowMajor<2, MEETING>>,
) {
    const PART: usize = ROUNDS * 4096;
    let mut whole = shared::<f32>(row_major([2]));
    let (row, part) = (block_idx.x / PARTS, block_idx.x % PARTS);
    let mut own = local::<f32>(row_major([1, ROUNDS * 4]));
    let from = x.pad(f32::NEG_INFINITY).tile([1, PART], [row, part]).vectorize([1, 4]);
    if (part + 1) * PART <= N {
        own.vectorize([1, 4]).copy_from(&from.distribute(row_major([1, 1024]), thread_idx.x));
    } else {
        own.vectorize([1, 4]).copy_from(&from.distribute(row_major([1, 1024]), thread_idx.x));
    }
    // Finite: minus infinity less itself would be no number.
    let mut most: f32 = -3.0e38;
    for i in unroll(0..ROUNDS * 4) {
        most = most.max(own[[0, i]]);
    }
    let most = most.block_max();
    let mut sum: f32 = 0.0;
    for i in unroll(0..ROUNDS * 4) {
        own[[0, i]] = (own[[0, i]] - most).exp();
        sum += own[[0, i]];
    }
    let sum = sum.block_sum();
    if thread_idx.x == 0 {
        parts[[0, row * PARTS + part]] = most;
        parts[[1, row * PARTS + part]] = sum;
    }
    cluster_barrier();
    if warp_id() == 0 {
        let mut its_most: f32 = -3.0e38;
        let mut its_sum: f32 = 0.0;
        if lane_id() < PARTS {
            its_most = parts[[0, row * PARTS + lane_id()]];
            its_sum = parts[[1, row * PARTS + lane_id()]];
        }
        let of_row = its_most.warp_max();
        let total = (its_sum * (its_most - of_row).exp()).warp_sum();
        if lane_id() == 0 {
            whole[[0]] = of_row;
            whole[[1]] = total;
        }
    }
    barrier();
    let factor = (most - whole[[0]]).exp() / whole[[1]];
    for i in unroll(0..ROUNDS * 4) {
        own[[0, i]] *= factor;
    }
    let to = out.tile([1, PART], [row, part]).vectorize([1, 4]);
    if (part + 1) * PART <= N {
        to.distribute(row_major([1, 1024]), thread_idx.x).copy_from(&own.vectorize([1, 4]));
    } else {
        to.distribute(row_major([1, 1024]), thread_idx.x).copy_from(&own.vectorize([1, 4]));
    }
}

/// `out[i, j] = (x[i, j] - mean) / sqrt(variance + epsilon) * scale[j] + shift[j]`, mean and variance of row `i`. `ROWS` rows at
/// once, so that scale and shift are read once for all of them. `parts` is a workspace: the mean of each part of each row,
/// and the squares around it.
#[tiled_kernel(
    PARTS = 8, ROUNDS = 3, ROWS = 2,
    block = [1024],
    cluster = [PARTS],
    grid = [M.div_ceil(ROWS) * PARTS],
    arch = "sm_90a",
    require(N <= PARTS * ROUNDS * 4096),
    require(MEETING >= M * PARTS),
    variant_if(N % 4 == 0),
)]
pub fn layer_norm_in_parts<const M: usize, const N: usize, const MEETING: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    scale: &LayoutTensor<f32, RowMajor<N>>,
    shift: &LayoutTensor<f32, RowMajor<N>>,
    out: &mut LayoutTensor<f32, RowMajor<M, N>>,
    parts: &mut LayoutTensor<f32, RowMajor<2, MEETING>>,
    epsilon: f32,
) {
    const PART: usize = ROUNDS * 4096;
    let mut whole = shared::<f32>(row_major([ROWS, 2]));
    let (rows, part) = (block_idx.x / PARTS, block_idx.x % PARTS);
    let mut own = local::<f32>(row_major([ROWS, ROUNDS * 4]));
    let from = x.tile([ROWS, PART], [rows, part]).vectorize([1, 4]);
    if (part + 1) * PART <= N && (rows + 1) * ROWS <= M {
        own.vectorize([1, 4]).copy_from(&from.distribute(row_major([1, 1024]), thread_idx.x));
    } else {
        own.vectorize([1, 4]).copy_from(&from.distribute(row_major([1, 1024]), thread_idx.x));
    }
    // How many elements of a row this part has.
    let there = (N - part * PART).min(PART).max(0) as f32;
    for row in unroll(0..ROWS) {
        let mut sum: f32 = 0.0;
        for i in unroll(0..ROUNDS * 4) {
            sum += own[[row, i]];
        }
        let mean = sum.block_sum() / there.max(1.0);
        let mut square: f32 = 0.0;
        for i in unroll(0..ROUNDS) {
            for j in unroll(0..4) {
                let off = own[[row, i * 4 + j]] - mean;
                square += select(part * PART + (i * 1024 + thread_idx.x) * 4 + j < N, off * off, 0.0);
            }
        }
        let square = square.block_sum();
        if thread_idx.x == 0 && rows * ROWS + row < M {
            parts[[0, (rows * ROWS + row) * PARTS + part]] = mean;
            parts[[1, (rows * ROWS + row) * PARTS + part]] = square;
        }
    }
    cluster_barrier();
    if warp_id() < ROWS {
        let row = rows * ROWS + warp_id();
        let mut its_mean: f32 = 0.0;
        let mut its_square: f32 = 0.0;
        let mut count: f32 = 0.0;
        if lane_id() < PARTS && row < M {
            its_mean = parts[[0, row * PARTS + lane_id()]];
            its_square = parts[[1, row * PARTS + lane_id()]];
            count = (N - lane_id() * PART).min(PART).max(0) as f32;
        }
        let of_row = (its_mean * (count / N as f32)).warp_sum();
        let off = its_mean - of_row;
        let total = (its_square + count * off * off).warp_sum();
        if lane_id() == 0 {
            whole[[warp_id(), 0]] = of_row;
            whole[[warp_id(), 1]] = 1.0 / (total / N as f32 + epsilon).sqrt();
        }
    }
    barrier();
    for row in unroll(0..ROWS) {
        let (mean, factor) = (whole[[row, 0]], whole[[row, 1]]);
        for i in unroll(0..ROUNDS * 4) {
            own[[row, i]] = (own[[row, i]] - mean) * factor;
        }
    }
    for i in unroll(0..ROUNDS) {
        let at = i * 1024 + thread_idx.x;
        let scales = scale.tile([PART], [part]).tile([4], [at]).vectorize([4]).to_local();
        let shifts = shift.tile([PART], [part]).tile([4], [at]).vectorize([4]).to_local();
        for row in unroll(0..ROWS) {
            for j in unroll(0..4) {
                own[[row, i * 4 + j]] = own[[row, i * 4 + j]] * scales[[j]] + shifts[[j]];
            }
        }
    }
    let to = out.tile([ROWS, PART], [rows, part]).vectorize([1, 4]);
    if (part + 1) * PART <= N && (rows + 1) * ROWS <= M {
        to.distribute(row_major([1, 1024]), thread_idx.x).copy_from(&own.vectorize([1, 4]));
    } else {
        to.distribute(row_major([1, 1024]), thread_idx.x).copy_from(&own.vectorize([1, 4]));
    }
}
