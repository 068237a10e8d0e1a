//! Softmax and layer norm of rows that stay in registers: each element is read once and written once.
//!
//! ```text
//! short rows:  GROUP threads a row, several rows a block; they meet by shuffles
//! long rows:   a block a row; it meets in shared memory
//! longer:      PARTS blocks a row; they meet in global memory, by words that say themselves whether they are there
//! ```
//!
//! A row's parts are combined in a fixed order, so that the result does not depend on the run.

use layout_cuda::tiled_kernel;

/// `out[i, j] = exp(x[i, j] - m) / sum over k of exp(x[i, k] - m)`, `m` the largest of row `i`: `GROUP` threads a row, a
/// power of two; more than 32 are the block.
#[tiled_kernel(
    GROUP = [4, 512], ROUNDS = 8,
    block = [GROUP.max(256)],
    grid = [M.div_ceil(GROUP.max(256) / GROUP)],
    require(N <= GROUP * ROUNDS * 4),
    variant_if(N % 4 == 0),
)]
pub fn softmax<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    out: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    const THREADS: usize = if GROUP > 256 { GROUP } else { 256 };
    const ROW: usize = GROUP * ROUNDS * 4;
    let (row, thread) = (block_idx.x * (THREADS / GROUP) + thread_idx.x / GROUP, thread_idx.x % GROUP);
    let from = x.pad(f32::NEG_INFINITY).tile([1, ROW], [row, 0]).vectorize([1, 4]);
    let mut own = from.distribute(row_major([1, GROUP]), thread).to_local();
    // Finite: minus infinity less itself would be no number.
    let mut most: f32 = -3.0e38;
    for i in unroll(0..ROUNDS * 4) {
        most = most.max(own[[0, i]]);
    }
    if GROUP > 32 {
        most = most.block_max();
    }
    if GROUP > 16 && GROUP <= 32 {
        most = most.max(most.shuffle_xor(16));
    }
    if GROUP > 8 && GROUP <= 32 {
        most = most.max(most.shuffle_xor(8));
    }
    if GROUP > 4 && GROUP <= 32 {
        most = most.max(most.shuffle_xor(4));
    }
    if GROUP > 2 && GROUP <= 32 {
        most = most.max(most.shuffle_xor(2));
    }
    if GROUP > 1 && GROUP <= 32 {
        most = most.max(most.shuffle_xor(1));
    }
    let mut sum: f32 = 0.0;
    for i in unroll(0..ROUNDS * 4) {
        own[[0, i]] = (own[[0, i]] - most).exp();
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
    let factor = 1.0 / sum;
    for i in unroll(0..ROUNDS * 4) {
        own[[0, i]] *= factor;
    }
    let to = out.tile([1, ROW], [row, 0]).vectorize([1, 4]);
    to.distribute(row_major([1, GROUP]), thread).copy_from(&own.vectorize([1, 4]));
}

/// The same with `PARTS` blocks a row. Before, `parts` is all NaN, which says that nothing is there yet; each block puts
/// its maximum and its sum there (-1 for NaN, which no other sum is). Blocks draw their number from `counter`, 0 before:
/// `PARTS` neighbours take one row after the other together, so that a GPU that holds `PARTS` blocks at once is enough.
/// While a block works on one part, the next is on its way to shared memory.
#[tiled_kernel(
    PARTS = 8, THREADS = 512, ROUNDS = 8, ROWS = 33,
    block = [THREADS],
    grid = [M.min(ROWS) * PARTS],
    min_blocks = 1024 / THREADS,
    require(N <= PARTS * THREADS * ROUNDS * 4),
    require(MEETING >= M * PARTS),
    variant_if(N % 4 == 0),
)]
pub fn softmax_in_parts<const M: usize, const N: usize, const MEETING: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    out: &mut LayoutTensor<f32, RowMajor<M, N>>,
    parts: &mut LayoutTensor<f32, RowMajor<2, MEETING>>,
    counter: &mut LayoutTensor<u32, RowMajor<1>>,
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
            let from = x.pad(f32::NEG_INFINITY).tile([1, PART], [row, part]).vectorize([1, 4]);
            own.vectorize([1, 4]).copy_from(&from.distribute(row_major([1, THREADS]), thread_idx.x));
        }
        if row + ROWS < M && (part + 1) * PART <= N {
            let from = x.tile([1, PART], [row + ROWS, part]).vectorize([1, 4]);
            landing.copy_from_async(&from.distribute(row_major([1, THREADS]), thread_idx.x));
        }
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
        if warp_id() == 0 {
            if lane_id() == 0 {
                parts.store_relaxed([0, row * PARTS + part], most);
                parts.store_relaxed([1, row * PARTS + part], select(sum == sum, sum, -1.0));
            }
            let mut its_most: f32 = -3.0e38;
            let mut its_sum: f32 = 0.0;
            if lane_id() < PARTS {
                let other = row * PARTS + lane_id();
                loop {
                    its_most = parts.load_relaxed([0, other]);
                    its_sum = parts.load_relaxed([1, other]);
                    if its_most == its_most && its_sum == its_sum {
                        break;
                    }
                }
                its_sum = select(its_sum < 0.0, f32::NAN, its_sum);
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
        to.distribute(row_major([1, THREADS]), thread_idx.x).copy_from(&own.vectorize([1, 4]));
    }
}

/// Nothing is there yet.
#[tiled_kernel(block = [256], grid = [MEETING.div_ceil(256)])]
pub fn softmax_start<const MEETING: usize>(
    parts: &mut LayoutTensor<f32, RowMajor<2, MEETING>>,
    counter: &mut LayoutTensor<u32, RowMajor<1>>,
) {
    let i = block_idx.x * 256 + thread_idx.x;
    if i < MEETING {
        parts[[0, i]] = f32::NAN;
        parts[[1, i]] = f32::NAN;
    }
    if i == 0 {
        counter[[0]] = 0;
    }
}
