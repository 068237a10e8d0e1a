//! Softmax and layer norm of long rows: a cluster of `PARTS` blocks a row, which stays in their registers.
//!
//! ```text
//! thread ─► warp, by shuffles ─► every block of the cluster, whose mbarrier counts 8 bytes a warp ─► each warp for itself
//! ```
//!
//! A cluster takes `ROWS` rows one after another; clusters that run at once take neighbouring rows. The next row's loads
//! are in flight before it needs them, and no fence waits for the last row's stores. Every warp combines the values of all
//! warps in the same order, so the result does not depend on the run. Where rows begin at any address, a cluster's rows are
//! a multiple of four rows apart: so all of them begin at the same offset from 16 bytes.

use layout_cuda::tiled_kernels;

pub use long::{layer_norm_in_parts, softmax_in_parts};

#[tiled_kernels]
mod long {
    /// Sends a warp's part of a row to every block of the cluster, and waits for the parts of all warps.
    fn exchange(
        stats: View<f32, Write>,
        arrived: Mbarriers,
        mine: View<f32, Write>,
        step: usize,
        part: usize,
    ) {
        const WARPS: usize = THREADS / 32;
        if lane_id() < PARTS {
            let there = stats.map_shared_rank(lane_id()).tile([1, 1, 2], [step, part * WARPS + warp_id(), 0]);
            store_async(&mut there.vectorize([1, 1, 2]), &mine.vectorize([1, 1, 2]), arrived.at(step));
        }
        arrived.at(step).wait(0);
    }

    /// The distance between a cluster's rows, in rows.
    fn apart(rows: usize) -> usize {
        if ODD { rows.div_ceil(4 * ROWS) * 4 } else { rows.div_ceil(ROWS) }
    }

    /// Where the part of the cluster's first row begins, and so that of each; `ODD`, at the aligned address before it.
    fn begin(first: usize, part: usize, n: usize) -> isize {
        let before = if ODD { (first * n % 4) as isize } else { 0 };
        (part * (THREADS * ROUNDS * 4)) as isize - before
    }

    /// `out[i, j] = exp(x[i, j] - m) / sum over k of exp(x[i, k] - m)`, `m` the largest of row `i`.
    #[tiled_kernel(
        PARTS = 8, THREADS = 512, ROUNDS = 8, ROWS = 4, ODD = [false, true],
        block = [THREADS],
        cluster = [PARTS],
        grid = [if ODD { M.div_ceil(4 * ROWS) * 4 } else { M.div_ceil(ROWS) } * PARTS],
        arch = "sm_90a",
        require(N + if ODD { 3 } else { 0 } <= PARTS * THREADS * ROUNDS * 4),
        variant_if(N % 4 == 0),
        deny(narrowed),
    )]
    pub fn softmax_in_parts<const M: usize, const N: usize>(
        x: &LayoutTensor<f32, RowMajor<M, N>>,
        out: &mut LayoutTensor<f32, RowMajor<M, N>>,
    ) {
        const PART: usize = THREADS * ROUNDS * 4;
        const WARPS: usize = THREADS / 32;
        const CLUSTER_WARPS: usize = PARTS * WARPS;
        // For each row the largest of each warp of the cluster, and its sum.
        let stats = shared::<f32>(row_major([ROWS, CLUSTER_WARPS, 2]));
        let arrived = mbarriers(ROWS, 1);
        barrier();
        let (part, first, stride) = (block_idx.x % PARTS, block_idx.x / PARTS, apart(M));
        let begin = begin(first, part, N);
        let mut next = local::<f32>(row_major([1, ROUNDS * 4]));
        let all = x.pad(f32::NEG_INFINITY);
        let from = all.window([1, PART], [first as isize, begin]).vectorize([1, 4]);
        next.vectorize([1, 4]).copy_from(&from.distribute(row_major([1, THREADS]), thread_idx.x));
        if thread_idx.x == 0 {
            for step in unroll(0..ROWS) {
                arrived.at(step).arrive_expect(CLUSTER_WARPS * 8);
            }
        }
        // Every block has begun and has its barriers.
        cluster_barrier();
        for step in 0..ROWS {
            let row = first + step * stride;
            let mut own = local::<f32>(row_major([1, ROUNDS * 4]));
            own.copy_from(&next);
            if ROWS > 1 && step + 1 < ROWS {
                let from = all.window([1, PART], [(row + stride) as isize, begin]).vectorize([1, 4]);
                next.vectorize([1, 4]).copy_from(&from.distribute(row_major([1, THREADS]), thread_idx.x));
            }
            // Finite: minus infinity less itself would be no number.
            let mut most = f32::MIN;
            for i in unroll(0..ROUNDS * 4) {
                most = most.max(own[[0, i]]);
            }
            let most = most.warp_max();
            let mut sum: f32 = 0.0;
            for i in unroll(0..ROUNDS * 4) {
                own[[0, i]] = (own[[0, i]] - most).exp();
                sum += own[[0, i]];
            }
            let mut mine = local::<f32>(row_major([1, 1, 2]));
            mine[[0, 0, 0]] = most;
            mine[[0, 0, 1]] = sum.warp_sum();
            exchange(stats, arrived, mine, step, part);
            let mut of_row = f32::MIN;
            for i in unroll(0..CLUSTER_WARPS.div_ceil(32)) {
                if i * 32 + lane_id() < CLUSTER_WARPS {
                    of_row = of_row.max(stats[[step, i * 32 + lane_id(), 0]]);
                }
            }
            let of_row = of_row.warp_max();
            let mut total: f32 = 0.0;
            for i in unroll(0..CLUSTER_WARPS.div_ceil(32)) {
                if i * 32 + lane_id() < CLUSTER_WARPS {
                    let at = i * 32 + lane_id();
                    total += stats[[step, at, 1]] * (stats[[step, at, 0]] - of_row).exp();
                }
            }
            let factor = (most - of_row).exp() / total.warp_sum();
            for i in unroll(0..ROUNDS * 4) {
                own[[0, i]] *= factor;
            }
            let to = out.window([1, PART], [row as isize, begin]).vectorize([1, 4]);
            to.distribute(row_major([1, THREADS]), thread_idx.x).copy_from(&own.vectorize([1, 4]));
        }
    }

    /// The number of elements that this warp has of a row whose first vector begins at this column; `counts` becomes the
    /// number for each warp whose part this lane combines.
    fn elements(begin: isize, part: usize, n: usize, mut counts: View<f32, Write>) -> f32 {
        const PART: usize = THREADS * ROUNDS * 4;
        const WARPS: usize = THREADS / 32;
        const SHARES: usize = if PARTS * WARPS > 32 { PARTS * WARPS / 32 } else { 1 };
        let mut count: f32 = 0.0;
        for share in unroll(0..SHARES) {
            counts[[share]] = 0.0;
        }
        for i in unroll(0..ROUNDS) {
            count += of_vectors(begin + (part * PART + (i * THREADS + warp_id() * 32) * 4) as isize, n);
            for share in unroll(0..SHARES) {
                let at = share * 32 + lane_id();
                let before = at / WARPS * PART + (i * THREADS + at % WARPS * 32) * 4;
                counts[[share]] += of_vectors(begin + before as isize, n);
            }
        }
        count
    }

    /// The number of a row's elements in the 32 vectors that begin at a column.
    fn of_vectors(column: isize, n: usize) -> f32 {
        ((n as isize - column).max(0).min(128) - if ODD { (-column).max(0).min(128) } else { 0 }) as f32
    }

    /// What scale or shift have for a vector of the rows' part: one by one where they are as they are and rows begin anywhere.
    fn of_columns(factors: impl Tensor<Elem = f32>, vector: usize) -> View<f32, Write> {
        let mut own = local::<f32>(row_major([4]));
        if ODD && !KEPT {
            for j in unroll(0..4) {
                own[[j]] = factors[[vector * 4 + j]];
            }
        } else {
            own.vectorize([4]).copy_from(&factors.tile([4], [vector]).vectorize([4]));
        }
        own
    }

    /// `out[i, j] = (x[i, j] - mean) / sqrt(variance + epsilon) * scale[j] + shift[j]`, mean and variance of row `i`. With `KEPT` a
    /// block holds its parts of scale and shift in shared memory for all its rows. `ODD`, rows begin anywhere.
    #[tiled_kernel(
        PARTS = 8, THREADS = 512, ROUNDS = 8, ROWS = 4, KEPT = true, ODD = [false, true],
        block = [THREADS],
        cluster = [PARTS],
        grid = [if ODD { M.div_ceil(4 * ROWS) * 4 } else { M.div_ceil(ROWS) } * PARTS],
        arch = "sm_90a",
        require(N + if ODD { 3 } else { 0 } <= PARTS * THREADS * ROUNDS * 4),
        variant_if(N % 4 == 0),
        deny(narrowed, synchronous),
    )]
    pub fn layer_norm_in_parts<const M: usize, const N: usize>(
        x: &LayoutTensor<f32, RowMajor<M, N>>,
        scale: &LayoutTensor<f32, RowMajor<N>>,
        shift: &LayoutTensor<f32, RowMajor<N>>,
        out: &mut LayoutTensor<f32, RowMajor<M, N>>,
        epsilon: f32,
    ) {
        const PART: usize = THREADS * ROUNDS * 4;
        const WARPS: usize = THREADS / 32;
        const CLUSTER_WARPS: usize = PARTS * WARPS;
        const SHARES: usize = if CLUSTER_WARPS > 32 { CLUSTER_WARPS / 32 } else { 1 };
        // For each row the mean of each warp of the cluster, and the squares around it.
        let stats = shared::<f32>(row_major([ROWS, CLUSTER_WARPS, 2]));
        let arrived = mbarriers(ROWS, 1);
        barrier();
        let mut scales = shared::<f32>(row_major([if KEPT { PART } else { 4 }]));
        let mut shifts = shared::<f32>(row_major([if KEPT { PART } else { 4 }]));
        let (part, first, stride) = (block_idx.x % PARTS, block_idx.x / PARTS, apart(M));
        // `begin(..)` is wherever it is used: a name for it costs registers, and some sets would spill.
        let mut next = local::<f32>(row_major([1, ROUNDS * 4]));
        let from = x.window([1, PART], [first as isize, begin(first, part, N)]).vectorize([1, 4]);
        next.vectorize([1, 4]).copy_from(&from.distribute(row_major([1, THREADS]), thread_idx.x));
        let (of_scale, of_shift) =
            (scale.window([PART], [begin(first, part, N)]), shift.window([PART], [begin(first, part, N)]));
        if KEPT && ODD {
            // As the vectors of the rows are; each thread reads what it wrote itself.
            for i in unroll(0..ROUNDS) {
                for j in unroll(0..4) {
                    let at = (i * THREADS + thread_idx.x) * 4 + j;
                    scales[[at]] = of_scale[[at]];
                    shifts[[at]] = of_shift[[at]];
                }
            }
        } else if KEPT {
            // Each thread reads what it wrote itself.
            let threads = row_major([THREADS]);
            let from = of_scale.vectorize([4]).distribute(threads, thread_idx.x);
            scales.vectorize([4]).distribute(threads, thread_idx.x).copy_from_async(&from);
            let from = of_shift.vectorize([4]).distribute(threads, thread_idx.x);
            shifts.vectorize([4]).distribute(threads, thread_idx.x).copy_from_async(&from);
            async_copy_wait_all();
        }
        let counts = local::<f32>(row_major([SHARES]));
        let of_one = 1.0 / elements(begin(first, part, N) - (part * PART) as isize, part, N, counts).max(1.0);
        let of_all = 1.0 / N as f32;
        if thread_idx.x == 0 {
            for step in unroll(0..ROWS) {
                arrived.at(step).arrive_expect(CLUSTER_WARPS * 8);
            }
        }
        // Every block has begun and has its barriers.
        cluster_barrier();
        for step in 0..ROWS {
            let row = first + step * stride;
            let mut own = local::<f32>(row_major([1, ROUNDS * 4]));
            own.copy_from(&next);
            if ROWS > 1 && step + 1 < ROWS {
                let from =
                    x.window([1, PART], [(row + stride) as isize, begin(first, part, N)]).vectorize([1, 4]);
                next.vectorize([1, 4]).copy_from(&from.distribute(row_major([1, THREADS]), thread_idx.x));
            }
            let mut sum: f32 = 0.0;
            for i in unroll(0..ROUNDS * 4) {
                sum += own[[0, i]];
            }
            let mean_of_warp = sum.warp_sum() * of_one;
            let mut square: f32 = 0.0;
            for i in unroll(0..ROUNDS) {
                for j in unroll(0..4) {
                    let off = own[[0, i * 4 + j]] - mean_of_warp;
                    let at = (i * THREADS + thread_idx.x) * 4 + j;
                    // A column in front of the row is a large one, too.
                    let inside = if ODD {
                        ((begin(first, part, N) + at as isize) as u32) < N as u32
                    } else {
                        part * PART + at < N
                    };
                    square += select(inside, off * off, 0.0);
                }
            }
            let mut mine = local::<f32>(row_major([1, 1, 2]));
            mine[[0, 0, 0]] = mean_of_warp;
            mine[[0, 0, 1]] = square.warp_sum();
            exchange(stats, arrived, mine, step, part);
            let mut weighted: f32 = 0.0;
            for share in unroll(0..SHARES) {
                if share * 32 + lane_id() < CLUSTER_WARPS {
                    weighted += stats[[step, share * 32 + lane_id(), 0]] * (counts[[share]] * of_all);
                }
            }
            let mean = weighted.warp_sum();
            let mut squares: f32 = 0.0;
            for share in unroll(0..SHARES) {
                if share * 32 + lane_id() < CLUSTER_WARPS {
                    let off = stats[[step, share * 32 + lane_id(), 0]] - mean;
                    squares += stats[[step, share * 32 + lane_id(), 1]] + counts[[share]] * off * off;
                }
            }
            let variance = squares.warp_sum() * of_all;
            // The sum of squares has left float32: 1 / infinity would make a row of `shift` of it.
            let factor = select(variance < f32::INFINITY, 1.0 / (variance + epsilon).sqrt(), f32::NAN);
            for i in unroll(0..ROUNDS) {
                let at = i * THREADS + thread_idx.x;
                let own_scale = if KEPT { of_columns(scales, at) } else { of_columns(of_scale, at) };
                let own_shift = if KEPT { of_columns(shifts, at) } else { of_columns(of_shift, at) };
                for j in unroll(0..4) {
                    let normal = (own[[0, i * 4 + j]] - mean) * factor;
                    own[[0, i * 4 + j]] = normal * own_scale[[j]] + own_shift[[j]];
                }
            }
            let to = out.window([1, PART], [row as isize, begin(first, part, N)]).vectorize([1, 4]);
            to.distribute(row_major([1, THREADS]), thread_idx.x).copy_from(&own.vectorize([1, 4]));
        }
    }
}
