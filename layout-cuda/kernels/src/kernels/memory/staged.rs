//! Softmax and layer norm of the longest rows: a cluster of `PARTS` blocks holds a row in its registers, and the next one in
//! its shared memory.
//!
//! ```text
//! TMA ─► shared memory ─► registers of the warp ─► every block of the cluster: two numbers a warp, counted by its mbarrier
//!           ▲    the next row, as soon as the warp has taken its part              │
//!           └───────────────────────────────────────────────────────               ▼
//!                                                    every warp combines all warps' numbers, in the same order
//! ```
//!
//! A warp has `ROUNDS` times 128 neighbouring elements and its own copies: no barrier of the block is between two rows. A
//! cluster takes every `CLUSTERS`th row; of layer norm every `CLUSTERS`th pair, one row in registers and one in shared memory.

use layout_cuda::tiled_kernels;

pub use longest::{layer_norm_staged, softmax_staged};

#[tiled_kernels]
mod longest {
    /// Starts the copy of the warp's part of a row.
    fn fetch(
        x: impl Tensor<Elem = f32>,
        staged: View<f32, Write>,
        loaded: Mbarriers,
        row: usize,
        place: usize,
    ) {
        if lane_id() == 0 {
            loaded.at(warp_id()).arrive_expect(staged.bytes());
            for piece in unroll(0..ROUNDS / 2) {
                let from = x.tile([1, 256], [row, place * (ROUNDS / 2) + piece]);
                tma_load(&mut staged.tile([1, 256], [0, piece]), &from, loaded.at(warp_id()));
            }
        }
    }

    /// Sends a warp's numbers to every block of the cluster, and waits for those of all warps.
    fn exchange(
        stats: View<f32, Write>,
        arrived: Mbarriers,
        turn: &mut PipelineState,
        place: usize,
        mine: View<f32, Write>,
    ) {
        let (slot, all) = (turn.stage(), arrived.at(turn.stage()));
        if thread_idx.x == 0 {
            all.arrive_expect(stats.bytes() / TURNS);
        }
        if lane_id() < PARTS {
            let count = stats.dim(2);
            let there = stats.map_shared_rank(lane_id()).tile([1, 1, count], [slot, place, 0]);
            store_async(&mut there.vectorize([1, 1, count]), &mine.vectorize([1, 1, count]), all);
        }
        all.wait(turn.phase());
    }

    /// `out[i, j] = exp(x[i, j] - m) / sum over k of exp(x[i, k] - m)`, `m` the largest of row `i`.
    #[tiled_kernel(
        PARTS = 16, THREADS = 512, ROUNDS = 16, CLUSTERS = 28, TURNS = 8,
        block = [THREADS], cluster = [PARTS], grid = [M.min(CLUSTERS) * PARTS], arch = "sm_90a",
        require(N % 4 == 0, N <= PARTS * THREADS * ROUNDS * 4),
        deny(narrowed, synchronous),
    )]
    pub fn softmax_staged<const M: usize, const N: usize>(
        x: &LayoutTensor<f32, RowMajor<M, N>>,
        out: &mut LayoutTensor<f32, RowMajor<M, N>>,
    ) {
        const WARPS: usize = THREADS / 32;
        const CLUSTER_WARPS: usize = PARTS * WARPS;
        let staged = shared::<f32>(row_major([WARPS, 1, ROUNDS * 128])).slice(warp_id());
        // The largest of each warp of the cluster, and its sum, of the last rows in turn.
        let stats = shared::<f32>(row_major([TURNS, CLUSTER_WARPS, 2]));
        let (loaded, arrived) = (mbarriers(WARPS, 1), mbarriers(TURNS, 1));
        barrier();
        let (first, place) = (block_idx.x / PARTS, block_idx.x % PARTS * WARPS + warp_id());
        fetch(x, staged, loaded, first, place);
        // The row's elements from this thread's first one on.
        let behind = N as isize - ((place * ROUNDS) * 128 + lane_id() * 4) as isize;
        // Every block has begun and has its barriers.
        cluster_barrier();
        let (mut turn, mut load) = (pipeline_state(TURNS), pipeline_state(1));
        for row in (first..M).step_by(CLUSTERS) {
            if turn.stage() == 0 && row > first {
                // Every warp has read what was reported of the last rows.
                cluster_barrier();
            }
            loaded.at(warp_id()).wait(load.phase());
            load.advance();
            let mut own = local::<f32>(row_major([1, ROUNDS * 4]));
            own.vectorize([1, 4])
                .copy_from(&staged.vectorize([1, 4]).distribute(row_major([1, 32]), lane_id()));
            // The copies that follow overwrite what the warp may still be reading.
            fence_async_proxy();
            sync_warp();
            if row + CLUSTERS < M {
                fetch(x, staged, loaded, row + CLUSTERS, place);
            }
            // Finite: minus infinity less itself would be no number.
            let mut most = f32::MIN;
            for i in unroll(0..ROUNDS) {
                // Columns behind the last one came as zeros.
                let inside = ((i * 128) as isize) < behind;
                for j in unroll(0..4) {
                    own[[0, 4 * i + j]] = select(inside, own[[0, 4 * i + j]], f32::NEG_INFINITY);
                    most = most.max(own[[0, 4 * i + j]]);
                }
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
            exchange(stats, arrived, &mut turn, place, mine);
            let of_all = stats.slice(turn.stage());
            let mut of_row = f32::MIN;
            for at in (lane_id()..CLUSTER_WARPS).step_by(32) {
                of_row = of_row.max(of_all[[at, 0]]);
            }
            let of_row = of_row.warp_max();
            let mut total: f32 = 0.0;
            for at in (lane_id()..CLUSTER_WARPS).step_by(32) {
                total += of_all[[at, 1]] * (of_all[[at, 0]] - of_row).exp();
            }
            turn.advance();
            let factor = (most - of_row).exp() / total.warp_sum();
            for i in unroll(0..ROUNDS * 4) {
                own[[0, i]] *= factor;
            }
            let to = out.tile([1, ROUNDS * 128], [row, place]).vectorize([1, 4]);
            to.distribute(row_major([1, 32]), lane_id()).copy_from(&own.vectorize([1, 4]));
        }
    }

    /// The number of a row's elements that a warp has.
    fn elements(place: usize, n: usize) -> f32 {
        (n as isize - (place * ROUNDS * 128) as isize).max(0).min((ROUNDS * 128) as isize) as f32
    }

    /// The mean of each of two rows, and the factor of the differences from it, combined from the numbers of the cluster's warps.
    fn combined(of_warps: View<f32, Write>, n: usize, epsilon: f32) -> (f32, f32, f32, f32) {
        let of_all = 1.0 / n as f32;
        let (mut mean, mut other_mean): (f32, f32) = (0.0, 0.0);
        for at in (lane_id()..PARTS * (THREADS / 32)).step_by(32) {
            let weight = elements(at, n) * of_all;
            mean += of_warps[[at, 0]] * weight;
            other_mean += of_warps[[at, 2]] * weight;
        }
        let (mean, other_mean) = (mean.warp_sum(), other_mean.warp_sum());
        let (mut squares, mut other_squares): (f32, f32) = (0.0, 0.0);
        for at in (lane_id()..PARTS * (THREADS / 32)).step_by(32) {
            let (off, other_off) = (of_warps[[at, 0]] - mean, of_warps[[at, 2]] - other_mean);
            squares += of_warps[[at, 1]] + elements(at, n) * off * off;
            other_squares += of_warps[[at, 3]] + elements(at, n) * other_off * other_off;
        }
        let (variance, other_variance) = (squares.warp_sum() * of_all, other_squares.warp_sum() * of_all);
        (mean, factor_of(variance, epsilon), other_mean, factor_of(other_variance, epsilon))
    }

    /// What differences from the mean are multiplied with. Where the sum of squares has left float32, NaN: 1 / infinity would make a row
    /// of `shift` of it.
    fn factor_of(variance: f32, epsilon: f32) -> f32 {
        select(variance < f32::INFINITY, 1.0 / (variance + epsilon).sqrt(), f32::NAN)
    }

    /// `out[i, j] = (x[i, j] - mean) / sqrt(variance + epsilon) * scale[j] + shift[j]`, mean and variance of row `i`. A cluster takes
    /// two rows at once, one in registers and one in shared memory, so that scale and shift come from L2 once for both, `DEPTH` pieces
    /// of 256 ahead. Each piece that is done makes room for the next rows' one.
    #[tiled_kernel(
        PARTS = 16, THREADS = 512, ROUNDS = 16, CLUSTERS = 28, TURNS = 4, DEPTH = 2,
        block = [THREADS], cluster = [PARTS], grid = [M.div_ceil(2).min(CLUSTERS) * PARTS], arch = "sm_90a",
        require(N % 4 == 0, N <= PARTS * THREADS * ROUNDS * 4, ROUNDS % (4 * DEPTH) == 0),
        deny(narrowed, synchronous),
    )]
    pub fn layer_norm_staged<const M: usize, const N: usize>(
        x: &LayoutTensor<f32, RowMajor<M, N>>,
        scale: &LayoutTensor<f32, RowMajor<N>>,
        shift: &LayoutTensor<f32, RowMajor<N>>,
        out: &mut LayoutTensor<f32, RowMajor<M, N>>,
        epsilon: f32,
    ) {
        const WARPS: usize = THREADS / 32;
        const CLUSTER_WARPS: usize = PARTS * WARPS;
        const PIECES: usize = ROUNDS / 2;
        let staged = shared::<f32>(row_major([WARPS, 1, ROUNDS * 128])).slice(warp_id());
        let factors = shared::<f32>(row_major([WARPS, DEPTH, 2, 256])).slice(warp_id());
        // The mean of each warp of the cluster, and the squares around it, of the last rows in turn.
        let stats = shared::<f32>(row_major([TURNS, CLUSTER_WARPS, 4]));
        let (loaded, arrived, ready) =
            (mbarriers(WARPS, 1), mbarriers(TURNS, 1), mbarriers(WARPS * DEPTH, 1));
        barrier();
        let (first, place) = (block_idx.x / PARTS, block_idx.x % PARTS * WARPS + warp_id());
        // Of an odd number of rows the last one is computed twice, and stored twice by the same threads.
        let beside = |row: usize| (row + 1).min(M - 1);
        fetch(x, staged, loaded, beside(2 * first), place);
        let of_both = (scale, shift);
        for piece in unroll(0..DEPTH) {
            let slot = ready.at(warp_id() * DEPTH + piece);
            fetch_factors(of_both, factors.slice(piece), slot, place * PIECES + piece);
        }
        let mut own = local::<f32>(row_major([1, ROUNDS * 4]));
        let from = x.tile([1, ROUNDS * 128], [2 * first, place]).vectorize([1, 4]);
        own.vectorize([1, 4]).copy_from(&from.distribute(row_major([1, 32]), lane_id()));
        // The row's elements from this thread's first one on.
        let behind = N as isize - ((place * ROUNDS) * 128 + lane_id() * 4) as isize;
        // Every block has begun and has its barriers.
        cluster_barrier();
        let (mut turn, mut load) = (pipeline_state(TURNS), pipeline_state(1));
        for row in (2 * first..M).step_by(2 * CLUSTERS) {
            if turn.stage() == 0 && row > 2 * first {
                // Every warp has read what was reported of the last rows.
                cluster_barrier();
            }
            let mut mine = local::<f32>(row_major([1, 1, 4]));
            let mut sum: f32 = 0.0;
            for i in unroll(0..ROUNDS * 4) {
                sum += own[[0, i]];
            }
            mine[[0, 0, 0]] = sum.warp_sum() / elements(place, N).max(1.0);
            let mut square: f32 = 0.0;
            for i in unroll(0..ROUNDS) {
                let inside = ((i * 128) as isize) < behind;
                for j in unroll(0..4) {
                    let off = own[[0, 4 * i + j]] - mine[[0, 0, 0]];
                    square += select(inside, off * off, 0.0);
                }
            }
            mine[[0, 0, 1]] = square.warp_sum();
            loaded.at(warp_id()).wait(load.phase());
            load.advance();
            let mut sum: f32 = 0.0;
            for at in (lane_id()..ROUNDS * 32).step_by(32) {
                let part = staged.tile([1, 4], [0, at]).vectorize([1, 4]).to_local();
                for i in unroll(0..4) {
                    sum += part[[0, i]];
                }
            }
            mine[[0, 0, 2]] = sum.warp_sum() / elements(place, N).max(1.0);
            let mut square: f32 = 0.0;
            for at in (lane_id()..ROUNDS * 32).step_by(32) {
                let part = staged.tile([1, 4], [0, at]).vectorize([1, 4]).to_local();
                let inside = (((at - lane_id()) * 4) as isize) < behind;
                for i in unroll(0..4) {
                    let off = part[[0, i]] - mine[[0, 0, 2]];
                    square += select(inside, off * off, 0.0);
                }
            }
            mine[[0, 0, 3]] = square.warp_sum();
            exchange(stats, arrived, &mut turn, place, mine);
            let of_warps = stats.slice(turn.stage());
            let (mean, factor, other_mean, other_factor) = combined(of_warps, N, epsilon);
            turn.advance();

            let (more, next) = (row + 2 * CLUSTERS < M, (row + 2 * CLUSTERS).min(M - 1));
            if more && lane_id() == 0 {
                loaded.at(warp_id()).arrive_expect(staged.bytes());
            }
            for piece in unroll(0..PIECES) {
                let column = place * PIECES + piece;
                let (slot, arrived) =
                    (factors.slice(piece % DEPTH), ready.at(warp_id() * DEPTH + piece % DEPTH));
                arrived.wait(piece / DEPTH % 2);
                for half in unroll(0..2) {
                    let at = half * 32 + lane_id();
                    let of_columns = slot.tile([2, 4], [0, at]).vectorize([1, 4]).to_local();
                    let mut other = staged.tile([1, 4], [0, piece * 64 + at]).vectorize([1, 4]).to_local();
                    let mut mine = local::<f32>(row_major([1, 4]));
                    for i in unroll(0..4) {
                        let of_one = (own[[0, 8 * piece + 4 * half + i]] - mean) * factor;
                        mine[[0, i]] = of_one.mul_add(of_columns[[0, i]], of_columns[[1, i]]);
                        let of_one = (other[[0, i]] - other_mean) * other_factor;
                        other[[0, i]] = of_one.mul_add(of_columns[[0, i]], of_columns[[1, i]]);
                    }
                    let vector = column * 64 + at;
                    out.tile([1, 4], [row, vector]).vectorize([1, 4]).copy_from(&mine.vectorize([1, 4]));
                    out.tile([1, 4], [beside(row), vector])
                        .vectorize([1, 4])
                        .copy_from(&other.vectorize([1, 4]));
                    let next = x.tile([1, 4], [next, vector]).vectorize([1, 4]);
                    own.tile([1, 4], [0, 2 * piece + half]).vectorize([1, 4]).copy_from(&next);
                }
                // The copies that follow overwrite what the warp may still be reading.
                fence_async_proxy();
                sync_warp();
                if piece + DEPTH < PIECES || more {
                    fetch_factors(of_both, slot, arrived, place * PIECES + (piece + DEPTH) % PIECES);
                }
                if more && lane_id() == 0 {
                    let from = x.tile([1, 256], [beside(next), column]);
                    tma_load(&mut staged.tile([1, 256], [0, piece]), &from, loaded.at(warp_id()));
                }
            }
        }
    }

    /// Starts the copies of a piece of the warp's part of scale and shift.
    fn fetch_factors(
        (scale, shift): (impl Tensor<Elem = f32>, impl Tensor<Elem = f32>),
        slot: View<f32, Write>,
        ready: Mbarrier,
        piece: usize,
    ) {
        if lane_id() == 0 {
            ready.arrive_expect(slot.bytes());
            tma_load(&mut slot.slice(0), &scale.tile([256], [piece]), ready);
            tma_load(&mut slot.slice(1), &shift.tile([256], [piece]), ready);
        }
    }
}
