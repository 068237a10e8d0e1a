//! Layer norm of rows that stay in registers, as softmax does it: each element is read once and written once.
//!
//! `out[i, j] = (x[i, j] - mean) / sqrt(variance + epsilon) * scale[j] + shift[j]`, mean and variance of row `i`. The variance is
//! taken around the mean, of parts around their own means; the parts' are put together in a fixed order.

use layout_cuda::tiled_kernel;

/// Rows of up to `GROUP ROUNDS 4` elements: `GROUP` threads a row, a power of two; more than 32 are the block.
#[tiled_kernel(
    GROUP = [4, 512], ROUNDS = 8,
    block = [GROUP.max(256)],
    grid = [M.div_ceil(GROUP.max(256) / GROUP)],
    require(N <= GROUP * ROUNDS * 4),
    variant_if(N % 4 == 0),
)]
pub fn layer_norm<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    scale: &LayoutTensor<f32, RowMajor<N>>,
    shift: &LayoutTensor<f32, RowMajor<N>>,
    out: &mut LayoutTensor<f32, RowMajor<M, N>>,
    epsilon: f32,
) {
    const THREADS: usize = if GROUP > 256 { GROUP } else { 256 };
    const ROW: usize = GROUP * ROUNDS * 4;
    let (row, thread) = (block_idx.x * (THREADS / GROUP) + thread_idx.x / GROUP, thread_idx.x % GROUP);
    let from = x.tile([1, ROW], [row, 0]).vectorize([1, 4]);
    let mut own = from.distribute(row_major([1, GROUP]), thread).to_local();
    let mut sum: f32 = 0.0;
    for i in unroll(0..ROUNDS * 4) {
        sum += own[[0, i]];
    }
    if GROUP > 32 {
        sum = sum.block_sum();
    }
    if GROUP > 16 && GROUP <= 32 {
        sum += sum.shuffle_xor(16);
    }
    if GROUP > 8 && GROUP <= 32 {
        sum += sum.shuffle_xor(8);
    }
    if GROUP > 4 && GROUP <= 32 {
        sum += sum.shuffle_xor(4);
    }
    if GROUP > 2 && GROUP <= 32 {
        sum += sum.shuffle_xor(2);
    }
    if GROUP > 1 && GROUP <= 32 {
        sum += sum.shuffle_xor(1);
    }
    let count = N as f32;
    let mean = sum / count;
    let mut square: f32 = 0.0;
    for i in unroll(0..ROUNDS) {
        for j in unroll(0..4) {
            let off = own[[0, i * 4 + j]] - mean;
            square += select((i * GROUP + thread) * 4 + j < N, off * off, 0.0);
            own[[0, i * 4 + j]] = off;
        }
    }
    if GROUP > 32 {
        square = square.block_sum();
    }
    if GROUP > 16 && GROUP <= 32 {
        square += square.shuffle_xor(16);
    }
    if GROUP > 8 && GROUP <= 32 {
        square += square.shuffle_xor(8);
    }
    if GROUP > 4 && GROUP <= 32 {
        square += square.shuffle_xor(4);
    }
    if GROUP > 2 && GROUP <= 32 {
        square += square.shuffle_xor(2);
    }
    if GROUP > 1 && GROUP <= 32 {
        square += square.shuffle_xor(1);
    }
    let factor = 1.0 / (square / count + epsilon).sqrt();
    for i in unroll(0..ROUNDS) {
        let scales = scale.tile([ROW], [0]).tile([4], [i * GROUP + thread]).vectorize([4]).to_local();
        for j in unroll(0..4) {
            own[[0, i * 4 + j]] *= factor * scales[[j]];
        }
    }
    for i in unroll(0..ROUNDS) {
        let shifts = shift.tile([ROW], [0]).tile([4], [i * GROUP + thread]).vectorize([4]).to_local();
        for j in unroll(0..4) {
            own[[0, i * 4 + j]] += shifts[[j]];
        }
    }
    let to = out.tile([1, ROW], [row, 0]).vectorize([1, 4]);
    to.distribute(row_major([1, GROUP]), thread).copy_from(&own.vectorize([1, 4]));
}

/// Longer rows: `PARTS` blocks a row, which meet as those of [`softmax_in_parts`](super::softmax_in_parts) do.
#[tiled_kernel(
    PARTS = 8, THREADS = 512, ROUNDS = 8, ROWS = 33,
    block = [THREADS],
    grid = [M.min(ROWS) * PARTS],
    min_blocks = 1024 / THREADS,
    require(N <= PARTS * THREADS * ROUNDS * 4),
    require(MEETING >= M * PARTS),
    variant_if(N % 4 == 0),
)]
pub fn layer_norm_in_parts<const M: usize, const N: usize, const MEETING: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    scale: &LayoutTensor<f32, RowMajor<N>>,
    shift: &LayoutTensor<f32, RowMajor<N>>,
    out: &mut LayoutTensor<f32, RowMajor<M, N>>,
    parts: &mut LayoutTensor<f32, RowMajor<2, MEETING>>,
    counter: &mut LayoutTensor<u32, RowMajor<1>>,
    epsilon: f32,
) {
    const PART: usize = THREADS * ROUNDS * 4;
    let mut stage = shared::<f32>(row_major([1, PART]));
    let mut drawn = shared::<u32>(row_major([1]));
    let mut whole = shared::<f32>(row_major([2]));
    let landing = stage.vectorize([1, 4]).distribute(row_major([1, THREADS]), thread_idx.x);
    if thread_idx.x == 0 {
        drawn[[0]] = counter.atomic_add([0], 1);
    }
    barrier();
    let (first, part) = (drawn[[0]] as usize / PARTS, drawn[[0]] as usize % PARTS);
    if first < M && (part + 1) * PART <= N {
        let from = x.tile([1, PART], [first, part]).vectorize([1, 4]);
        landing.copy_from_async(&from.distribute(row_major([1, THREADS]), thread_idx.x));
    }
    for row in (first..M).step_by(ROWS) {
        let mut own = local::<f32>(row_major([1, ROUNDS * 4]));
        async_copy_wait_all();
        if (part + 1) * PART <= N {
            own.vectorize([1, 4]).copy_from(&landing);
        } else {
            let from = x.tile([1, PART], [row, part]).vectorize([1, 4]);
            own.vectorize([1, 4]).copy_from(&from.distribute(row_major([1, THREADS]), thread_idx.x));
        }
        if row + ROWS < M && (part + 1) * PART <= N {
            let from = x.tile([1, PART], [row + ROWS, part]).vectorize([1, 4]);
            landing.copy_from_async(&from.distribute(row_major([1, THREADS]), thread_idx.x));
        }
        // How many elements of the row this part has.
        let there = (N - part * PART).min(PART).max(0) as f32;
        let mut sum: f32 = 0.0;
        for i in unroll(0..ROUNDS * 4) {
            sum += own[[0, i]];
        }
        let mean = select(there > 0.0, sum.block_sum() / there, 0.0);
        let mut square: f32 = 0.0;
        for i in unroll(0..ROUNDS) {
            for j in unroll(0..4) {
                let off = own[[0, i * 4 + j]] - mean;
                square += select(part * PART + (i * THREADS + thread_idx.x) * 4 + j < N, off * off, 0.0);
            }
        }
        let square = square.block_sum();
        if warp_id() == 0 {
            if lane_id() == 0 {
                parts.store_relaxed([0, row * PARTS + part], select(square == square, mean, 0.0));
                parts.store_relaxed([1, row * PARTS + part], select(square == square, square, -1.0));
            }
            let mut its_mean: f32 = 0.0;
            let mut its_square: f32 = 0.0;
            let mut count: f32 = 0.0;
            if lane_id() < PARTS {
                let other = row * PARTS + lane_id();
                loop {
                    its_mean = parts.load_relaxed([0, other]);
                    its_square = parts.load_relaxed([1, other]);
                    if its_mean == its_mean && its_square == its_square {
                        break;
                    }
                }
                its_square = select(its_square < 0.0, f32::NAN, its_square);
                count = (N - lane_id() * PART).min(PART).max(0) as f32;
            }
            let of_row = (its_mean * (count / N as f32)).warp_sum();
            let off = its_mean - of_row;
            let total = (its_square + count * off * off).warp_sum();
            if lane_id() == 0 {
                whole[[0]] = of_row;
                whole[[1]] = 1.0 / (total / N as f32 + epsilon).sqrt();
            }
        }
        barrier();
        let (mean, factor) = (whole[[0]], whole[[1]]);
        for i in unroll(0..ROUNDS) {
            let at = i * THREADS + thread_idx.x;
            let scales = scale.tile([PART], [part]).tile([4], [at]).vectorize([4]).to_local();
            for j in unroll(0..4) {
                own[[0, i * 4 + j]] = (own[[0, i * 4 + j]] - mean) * factor * scales[[j]];
            }
        }
        for i in unroll(0..ROUNDS) {
            let at = i * THREADS + thread_idx.x;
            let shifts = shift.tile([PART], [part]).tile([4], [at]).vectorize([4]).to_local();
            for j in unroll(0..4) {
                own[[0, i * 4 + j]] += shifts[[j]];
            }
        }
        let to = out.tile([1, PART], [row, part]).vectorize([1, 4]);
        to.distribute(row_major([1, THREADS]), thread_idx.x).copy_from(&own.vectorize([1, 4]));
    }
}
