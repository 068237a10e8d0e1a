//! Attention of few queries over many keys (decoding), at the speed of memory: K and V are read once for all heads and queries that
//! share them.
//!
//! ```text
//! rows of a tile: the queries of the HQ / HK heads that share a head of K and V      keys of a split, in blocks of BN:
//!   row r: head r % (HQ / HK) of the group, query r / (HQ / HK)                        warp 0 │ 1 │ 2 │ 3 │ 0 │ 1 │ ..
//!
//! each warp, with a ring of its own that TMA fills, or without `TMA` asynchronous copies: S = Q Kᵀ; P = exp(S - maximum); O += P V
//! at the end of a split: the warps' sums meet in shared memory, in their order; O / sum, and maximum + ln(sum)
//! `combine`: the parts of all splits, each by what its sum is worth beside all
//! ```
//!
//! Law: the result is that of `attention` for sequence `b` with keys `0..lengths[b]`; the last query is at the last
//! key. A length is clamped to the keys that K has room for, and a page's number to the pages that there are, so nothing
//! outside is read. Which keys a split has depends on `span` alone, so a sequence's result does not depend on the others. Splits are
//! weighed by their logarithms, which are float32: within 2⁻²² `|log|` of their size.
//! Sources: Dao and others: Flash-Decoding, 2023 (splits); Kwon and others: PagedAttention, 2023 (pages by a table).

use layout_cuda::tiled_kernels;

pub use kernels::{combine, decode};

#[tiled_kernels(open = decode_with, functions = attention_scores)]
mod kernels {
    /// Starts the loads of a block of keys and values into a stage, `CHUNK` rows at a time, which are in one page: by TMA from one
    /// thread, or by all threads of the warp.
    fn load(
        (k, v, pages, sequence, group): (
            impl Tensor<Elem = T>,
            impl Tensor<Elem = T>,
            impl Tensor<Elem = i32>,
            usize,
            usize,
        ),
        (to_k, to_v): (View<T, Write>, View<T, Write>),
        first: i32,
        full: Mbarriers,
        stage: usize,
    ) {
        if TMA {
            full.at(stage).arrive_expect(to_k.bytes() + to_v.bytes());
        }
        for part in unroll(0..BN / CHUNK) {
            let key = first + (part * CHUNK) as i32;
            let (page, row) = if PAGED {
                let (of_sequence, rows) = (pages.slice(sequence), k.dim(2) as i32);
                let page = of_sequence[[(key / rows).min(pages.dim(1) as i32 - 1) as usize]];
                (page.clamp(0, k.dim(0) as i32 - 1) as usize, key % rows)
            } else {
                (sequence, key)
            };
            let row = row as isize;
            let (keys_of, values_of) = (k.slice(page).slice(group), v.slice(page).slice(group));
            for slab in unroll(0..D / W) {
                let mut to = to_k.slice(slab).tile([CHUNK, W], [part, 0]);
                let from = keys_of.window([CHUNK, W], [row, (slab * W) as isize]);
                if TMA {
                    tma_load(&mut to, &from, full.at(stage));
                } else {
                    copy(to, from);
                }
            }
            for slab in unroll(0..DV / W) {
                let mut to = to_v.slice(slab).tile([CHUNK, W], [part, 0]);
                let from = values_of.window([CHUNK, W], [row, (slab * W) as isize]);
                if TMA {
                    tma_load(&mut to, &from, full.at(stage));
                } else {
                    copy(to, from);
                }
            }
        }
    }

    /// Starts the loads of a warp's first blocks, a group of asynchronous copies for each stage.
    fn load_first(
        (k, v, pages, sequence, group): (
            impl Tensor<Elem = T>,
            impl Tensor<Elem = T>,
            impl Tensor<Elem = i32>,
            usize,
            usize,
        ),
        (k_ring, v_ring): (View<T, Write>, View<T, Write>),
        (first, blocks): (i32, i32),
        full: Mbarriers,
    ) {
        if !TMA || lane_id() == 0 {
            for step in unroll(0..STAGES) {
                let block = (step * WARPS + warp_id()) as i32;
                if block < blocks {
                    let (to, stage) = ((k_ring.slice(step), v_ring.slice(step)), warp_id() * STAGES + step);
                    load((&k, &v, &pages, sequence, group), to, first + block * BN as i32, full, stage);
                }
                if !TMA {
                    async_copy_commit_group();
                }
            }
        }
    }

    /// A warp's asynchronous copy of a tile, 16 bytes a thread.
    fn copy(to: View<T, Write>, from: impl Tensor<Elem = T>) {
        let threads = row_major([256 / W, W / 8]);
        let own = from.vectorize([1, 8]).distribute(threads, lane_id());
        to.vectorize([1, 8]).distribute(threads, lane_id()).copy_from_async(&own);
    }

    /// Applies the score's function, and hides keys where some query does not see them all: their scores become minus infinity.
    fn judge(
        mut scores: View<f32, Write>,
        (first, keys, window, hides): (i32, i32, i32, bool),
        (row, shared_by, place): (usize, usize, i32),
        (batch, first_head, scale, strength): (i32, usize, f32, f32),
    ) {
        for h in unroll(0..ROWS / 8) {
            let own = row + 8 * h + lane_id() / 4;
            let (query, head) = (place + (own / shared_by) as i32, (first_head + own % shared_by) as i32);
            if SCORED {
                let (unit, strength) = UNITS(head, strength);
                for i in unroll(0..BN / 4) {
                    let (key, at) = (first + accumulator_column(i) as i32, 4 * (i / 2) + 2 * (h % 2) + i % 2);
                    let score = scores[[h / 2, at]] * scale.div_approx(unit);
                    scores[[h / 2, at]] = SCORE(score, batch, head, query, key, strength);
                }
            }
            if hides {
                for i in unroll(0..BN / 4) {
                    let (key, at) = (first + accumulator_column(i) as i32, 4 * (i / 2) + 2 * (h % 2) + i % 2);
                    if key >= keys || !KEEP(batch, head, query, key, window) {
                        scores[[h / 2, at]] = f32::NEG_INFINITY;
                    }
                }
            }
        }
    }

    /// What is taken off a row's scores. Finite for a row that has seen no key yet, too: minus infinity less itself would be no number.
    fn base_of(high: f32, factor: f32) -> f32 {
        (high * factor).max(f32::MIN)
    }

    /// Turns scores into weights, and rescales the sums of the weights and those of the products to the new maximum.
    fn weigh(
        mut scores: View<f32, Write>,
        mut sums: View<f32, Write>,
        (mut most, mut sum): (View<f32, Write>, View<f32, Write>),
        factor: f32,
    ) {
        for h in unroll(0..ROWS / 8) {
            let mut high = most[[h]];
            for i in unroll(0..BN / 4) {
                high = high.max(scores[[h / 2, 4 * (i / 2) + 2 * (h % 2) + i % 2]]);
            }
            high = high.max(high.shuffle_xor(1));
            high = high.max(high.shuffle_xor(2));
            let base = base_of(high, factor);
            // A difference of what was taken off, both rounded: `most * factor` as it is would be another number where scores are large.
            let worth = (base_of(most[[h]], factor) - base).exp2_approx();
            most[[h]] = high;
            let mut total = sum[[h]] * worth;
            for i in unroll(0..BN / 4) {
                let at = 4 * (i / 2) + 2 * (h % 2) + i % 2;
                let weight = scores[[h / 2, at]].mul_add(factor, -base).exp2_approx();
                scores[[h / 2, at]] = weight;
                total += weight;
            }
            sum[[h]] = total;
            for i in unroll(0..DV / 4) {
                sums[[h / 2, 4 * (i / 2) + 2 * (h % 2) + i % 2]] *= worth;
            }
        }
    }

    /// Clears the rows of V behind the last key: a weight of zero times a NaN would be NaN.
    fn clear(mut v: View<T, Write>, keys: i32) {
        for line in 0..BN {
            if line as i32 >= keys {
                for column in unroll(0..DV / 32) {
                    v[[(column * 32) / W, line, (column * 32) % W + lane_id()]] = T::ZERO;
                }
            }
        }
        sync_warp();
    }

    /// The factor that divides a row's sums by the sum of its weights, and the logarithm of that sum.
    fn beside(stats: View<f32, Write>, row: usize, factor: f32) -> (f32, f32) {
        let high = highest(stats, row);
        let base = base_of(high, factor);
        let mut total: f32 = 0.0;
        for warp in unroll(0..WARPS) {
            total += stats[[1, warp, row]] * (base_of(stats[[0, warp, row]], factor) - base).exp2_approx();
        }
        // A row that has seen keys and has no weight has overflowed on the way: 1 / 0 makes NaN of it.
        if total == 0.0 && high == f32::NEG_INFINITY {
            (0.0, f32::NEG_INFINITY)
        } else {
            (total.recip(), if total > 0.0 { base.mul_add(consts::LN_2, total.ln()) } else { f32::NAN })
        }
    }

    /// The largest score of a row.
    fn highest(stats: View<f32, Write>, row: usize) -> f32 {
        let mut high = f32::NEG_INFINITY;
        for warp in unroll(0..WARPS) {
            high = high.max(stats[[0, warp, row]]);
        }
        high
    }

    /// Adds up the warps' parts, in their order: `whole` holds the rows of O, `stats` each warp's maximum and sum of each row.
    fn meet(
        whole: View<f32, Write>,
        mut stats: View<f32, Write>,
        mut sums: View<f32, Write>,
        (most, sum, factor): (View<f32, Write>, View<f32, Write>, f32),
    ) {
        for h in unroll(0..ROWS / 8) {
            let total = group_sum(sum[[h]], 4);
            if lane_id() % 4 == 0 {
                stats[[0, warp_id(), 8 * h + lane_id() / 4]] = most[[h]];
                stats[[1, warp_id(), 8 * h + lane_id() / 4]] = total;
            }
        }
        barrier();
        for h in unroll(0..ROWS / 8) {
            let base = base_of(highest(stats, 8 * h + lane_id() / 4), factor);
            let worth = (base_of(most[[h]], factor) - base).exp2_approx();
            for i in unroll(0..DV / 4) {
                sums[[h / 2, 4 * (i / 2) + 2 * (h % 2) + i % 2]] *= worth;
            }
        }
        for warp in unroll(0..WARPS) {
            if warp_id() == warp {
                for h in unroll(0..ROWS / 8) {
                    for i in unroll(0..DV / 8) {
                        let to = whole.tile([1, 2], [8 * h + lane_id() / 4, 4 * i + lane_id() % 4]);
                        let mut own = local::<f32>(row_major([1, 2]));
                        own.copy_from(&sums.tile([1, 2], [h / 2, 2 * i + h % 2]));
                        if warp > 0 {
                            let before = to.vectorize([1, 2]).to_local();
                            own[[0, 0]] += before[[0, 0]];
                            own[[0, 1]] += before[[0, 1]];
                        }
                        to.vectorize([1, 2]).copy_from(&own.vectorize([1, 2]));
                    }
                }
            }
            barrier();
        }
    }

    /// Copies rows `row..` of a group's queries to shared memory, with zeros behind the last one.
    fn gather(
        q_smem: View<T, Write>,
        q: impl Tensor<Elem = T>,
        (first_head, shared_by, row, rows): (usize, usize, usize, usize),
    ) {
        for part in (thread_idx.x..ROWS * D / 8).step_by(32 * WARPS) {
            let (line, column) = (part / (D / 8), part % (D / 8));
            let own = row + line;
            let mut to = q_smem.tile([1, 8], [line, column]).vectorize([1, 8]);
            if own < rows {
                let from = q.slice(first_head + own % shared_by);
                to.copy_from(&from.tile([1, 8], [own / shared_by, column]).vectorize([1, 8]));
            } else {
                to.fill(T::ZERO);
            }
        }
    }

    /// Stores the rows of O, divided by the sums of their weights, and the logarithms of these sums.
    fn store(
        (o, logs): (impl Tensor<Elem = U, Access = Write>, impl Tensor<Elem = f32, Access = Write>),
        (whole, stats, factor): (View<f32, Write>, View<f32, Write>, f32),
        (first_head, shared_by, row, rows): (usize, usize, usize, usize),
    ) {
        for part in (thread_idx.x..ROWS * DV / 4).step_by(32 * WARPS) {
            let (line, column) = (part / (DV / 4), part % (DV / 4));
            let own = row + line;
            if own < rows {
                let (head, query) = (first_head + own % shared_by, own / shared_by);
                let (share, log) = beside(stats, line, factor);
                let mut found = whole.tile([1, 4], [line, column]).vectorize([1, 4]).to_local();
                for i in unroll(0..4) {
                    found[[0, i]] *= share;
                }
                let mut rounded = local::<U>(row_major([1, 4]));
                rounded.copy_from(&found.cast::<U>());
                let mut to = o.slice(head).tile([1, 4], [query, column]).vectorize([1, 4]);
                to.copy_from(&rounded.vectorize([1, 4]));
                if column == 0 {
                    let mut to = logs.slice(head).tile([1], [query]);
                    to[[0]] = log;
                }
            }
        }
    }

    /// Head `h` of Q and O reads head `h * HK / HQ` of K and V. With `PAGED`, entry `i` of a sequence's row of `pages` is
    /// the page of K and V that holds its keys `i * N..(i + 1) * N`; otherwise pages are batches. Split `s` has `span`
    /// keys, a multiple of `BN`, from `s * span` on, counted from the first block that a query of the tile sees.
    #[tiled_kernel(
        T = [bf16, f16], U = [f32, bf16, f16], D = 128, DV = 128, ROWS = 16, BN = 16, WARPS = 4, STAGES = 3, CHUNK = 16,
        W = if D % 64 == 0 && DV % 64 == 0 { 64 } else { 32 }, PAGED = [false, true], TMA = true,
        KEEP = [causal, every, sliding], RANGE = [keys_before, all_keys, keys_within],
        SCORE = [plain, soft_cap, alibi], SCORED = SCORE != plain,
        DISTANT = SCORE == alibi, UNITS = if SCORE == soft_cap { of_caps } else if SCORE == alibi { of_slopes } else { as_it_is },
        filter(KEEP == every && RANGE == all_keys || KEEP == causal && RANGE == keys_before || KEEP == sliding && RANGE == keys_within),
        filter(U == f32 || U == T && SCORE == plain, T == bf16 || KEEP == causal, SCORE == plain || T == bf16 && KEEP == causal),
        arch = if TMA { "sm_90a" } else { "sm_80" }, block = [32 * WARPS], min_blocks = 1, grid = [HK * (HQ / HK * M).div_ceil(ROWS) * PARTS],
        require(HQ % HK == 0, PARTS % B.max(1) == 0, LISTS == if PAGED { B } else { 0 }, P == if PAGED { P } else { B }, N % if PAGED { CHUNK } else { 1 } == 0, !DISTANT || N * TABLE.max(1) <= 1 << 22),
        deny(narrowed, synchronous),
    )]
    pub fn decode<
        T,
        U,
        const B: usize,
        const HQ: usize,
        const HK: usize,
        const M: usize,
        const P: usize,
        const N: usize,
        const LISTS: usize,
        const TABLE: usize,
        const PARTS: usize,
    >(
        q: &LayoutTensor<T, Pitched<B, HQ, M, D>>,
        k: &LayoutTensor<T, Pitched<P, HK, N, D>>,
        v: &LayoutTensor<T, Pitched<P, HK, N, DV>>,
        lengths: &LayoutTensor<i32, RowMajor<B>>,
        pages: &LayoutTensor<i32, RowMajor<LISTS, TABLE>>,
        o: &mut LayoutTensor<U, Pitched<PARTS, HQ, M, DV>>,
        logs: &mut LayoutTensor<f32, RowMajor<PARTS, HQ, M>>,
        span: usize,
        scale: f32,
        strength: f32,
        window: i32,
    ) {
        let k_smem = shared::<T>(row_major([WARPS, STAGES, D / W, BN, W]).swizzle_bytes(2 * W));
        let v_smem = shared::<T>(row_major([WARPS, STAGES, DV / W, BN, W]).swizzle_bytes(2 * W));
        let q_smem = shared::<T>(layout([ROWS, D], [D + 8, 1]));
        let whole = shared::<f32>(layout([ROWS, DV], [DV + 8, 1]));
        let stats = shared::<f32>(row_major([2, WARPS, ROWS]));
        let full = mbarriers(if TMA { WARPS * STAGES } else { 0 }, 1);
        barrier();
        if TMA {
            launch_dependents();
            grid_dependency_wait();
        }
        let shared_by = HQ / HK;
        let (rows, tiles) = (shared_by * M, (shared_by * M).div_ceil(ROWS));
        let (tile, rest) = (block_idx.x % (HK * tiles), block_idx.x / (HK * tiles));
        let (group, row) = (tile % HK, tile / HK * ROWS);
        let (split, sequence) = (rest / B, rest % B);
        let room = if PAGED { TABLE * N } else { N };
        let room = if P > 0 { room.min(1 << 30) as i32 } else { 0 };
        let keys = lengths[[sequence]].clamp(0, room);
        let place = keys - M as i32;
        let last_row = (row + ROWS).min(rows) - 1;
        let (low, high) = (place + (row / shared_by) as i32, place + (last_row / shared_by) as i32 + 1);
        let (from, to, all_from, all_to) = RANGE(low, high, keys, window);
        // A split that begins behind the last key has no block.
        let first = (from as usize / BN * BN + split * span).min(1 << 30) as i32;
        let blocks = ((to - first).clamp(0, span.min(1 << 30) as i32) + BN as i32 - 1) / BN as i32;
        let (warp, source) = (warp_id(), (k, v, pages, sequence, group));
        let (k_ring, v_ring) = (k_smem.slice(warp), v_smem.slice(warp));
        load_first(source, (k_ring, v_ring), (first, blocks), full);
        gather(q_smem, q.slice(sequence), (group * shared_by, shared_by, row, rows));
        barrier();
        let mma = mma_atom::<T>([16, 8, 16]);
        // Few rows stay in registers.
        let q_own = mma.load_a(&q_smem.tile([ROWS, if ROWS * D <= 2048 { D } else { 16 }], [0, 0]));
        let (unit, _) = UNITS(0, strength);
        let factor = if SCORED { unit * consts::LOG2_E } else { scale * consts::LOG2_E };
        let mut sums = local::<f32>(row_major([ROWS / 16, DV / 2])).fill(0.0);
        let most = local::<f32>(row_major([ROWS / 8])).fill(f32::NEG_INFINITY);
        let sum = local::<f32>(row_major([ROWS / 8])).fill(0.0);
        let mut next = pipeline_state(STAGES);
        for step in (warp as i32..blocks).step_by(WARPS) {
            let key = first + step * BN as i32;
            let stage = warp * STAGES + next.stage();
            let (own_k, own_v) = (k_ring.slice(next.stage()), v_ring.slice(next.stage()));
            if TMA {
                full.at(stage).wait(next.phase());
            } else {
                async_copy_wait_group(STAGES - 1);
                sync_warp();
            }
            let mut scores = local::<f32>(row_major([ROWS / 16, BN / 2])).fill(0.0);
            for slab in unroll(0..D / W) {
                let of_k = mma.load_b(&own_k.slice(slab).transpose());
                if ROWS * D <= 2048 {
                    mma.mma(&mut scores, &q_own.tile([ROWS / 16, W / 2], [0, slab]), &of_k);
                } else {
                    mma.mma(&mut scores, &mma.load_a(&q_smem.tile([ROWS, W], [0, slab])), &of_k);
                }
            }
            let hides = key < all_from || key + BN as i32 > all_to;
            let of_heads = (sequence as i32, group * shared_by, scale, strength);
            judge(scores, (key, keys, window, hides), (row, shared_by, place), of_heads);
            if key + BN as i32 > keys {
                clear(own_v, keys - key);
            }
            weigh(scores, sums, (most, sum), factor);
            let weights = scores.cast::<T>();
            for slab in unroll(0..DV / W) {
                let mut to = sums.tile([ROWS / 16, W / 2], [0, slab]);
                mma.mma(&mut to, &weights, &mma.load_b(&own_v.slice(slab)));
            }
            // The copies that follow overwrite what the warp may still be reading.
            if TMA {
                fence_async_proxy();
            }
            sync_warp();
            if (!TMA || lane_id() == 0) && blocks - step > (STAGES * WARPS) as i32 {
                load(source, (own_k, own_v), key + (STAGES * WARPS * BN) as i32, full, stage);
            }
            if !TMA {
                async_copy_commit_group();
            }
            next.advance();
        }
        meet(whole, stats, sums, (most, sum, factor));
        store(
            (o.slice(rest), logs.slice(rest)),
            (whole, stats, factor),
            (group * shared_by, shared_by, row, rows),
        );
    }

    /// Combines the `o` and `logs` of the splits. Split `z` of sequence `b` is part `z * B + b`; `GROUPS` groups of threads
    /// take the splits in rotation.
    #[tiled_kernel(
        T = [bf16, f16], DV = 128, GROUPS = 8, DEPENDENT = true,
        arch = if DEPENDENT { "sm_90a" } else { "sm_80" }, block = [DV / 4 * GROUPS], grid = [B * HQ * M], require(PARTS % B.max(1) == 0),
        deny(narrowed),
    )]
    pub fn combine<T, const B: usize, const HQ: usize, const M: usize, const PARTS: usize>(
        parts: &LayoutTensor<f32, RowMajor<PARTS, HQ, M, DV>>,
        of_parts: &LayoutTensor<f32, RowMajor<PARTS, HQ, M>>,
        o: &mut LayoutTensor<T, Pitched<B, HQ, M, DV>>,
        logs: &mut LayoutTensor<f32, RowMajor<B, HQ, M>>,
    ) {
        let mut sums = shared::<f32>(row_major([GROUPS, DV]));
        let mut stats = shared::<f32>(row_major([GROUPS, 2]));
        if DEPENDENT {
            launch_dependents();
            grid_dependency_wait();
        }
        let (own, column) = (thread_idx.x / (DV / 4), thread_idx.x % (DV / 4));
        let (query, rest) = (block_idx.x % M, block_idx.x / M);
        let (head, sequence) = (rest % HQ, rest / HQ);
        let mut high = f32::NEG_INFINITY;
        for split in (own..PARTS / B).step_by(GROUPS) {
            high = high.max(of_parts[[split * B + sequence, head, query]]);
        }
        let mut total: f32 = 0.0;
        let mut sum = local::<f32>(row_major([4])).fill(0.0);
        for split in (own..PARTS / B).step_by(GROUPS) {
            let log = of_parts[[split * B + sequence, head, query]];
            let from = parts.slice(split * B + sequence).slice(head).slice(query);
            let part = from.tile([4], [column]).vectorize([4]).to_local();
            // A split that sees nothing; one that is NaN is not.
            if log != f32::NEG_INFINITY {
                let weight = ((log - high) * consts::LOG2_E).exp2_approx();
                total += weight;
                for i in unroll(0..4) {
                    sum[[i]] = part[[i]].mul_add(weight, sum[[i]]);
                }
            }
        }
        sums.slice(own).tile([4], [column]).vectorize([4]).copy_from(&sum.vectorize([4]));
        if column == 0 {
            stats[[own, 0]] = high;
            stats[[own, 1]] = total;
        }
        barrier();
        if own == 0 {
            let mut most = f32::NEG_INFINITY;
            for part in unroll(0..GROUPS) {
                most = most.max(stats[[part, 0]]);
            }
            let mut whole: f32 = 0.0;
            sum.fill(0.0);
            for part in unroll(0..GROUPS) {
                let found = sums.slice(part).tile([4], [column]).vectorize([4]).to_local();
                if stats[[part, 1]] != 0.0 {
                    let weight = ((stats[[part, 0]] - most) * consts::LOG2_E).exp2_approx();
                    whole += stats[[part, 1]] * weight;
                    for i in unroll(0..4) {
                        sum[[i]] = found[[i]].mul_add(weight, sum[[i]]);
                    }
                }
            }
            let share = if whole == 0.0 { 0.0 } else { whole.recip() };
            for i in unroll(0..4) {
                sum[[i]] *= share;
            }
            let mut rounded = local::<T>(row_major([4]));
            rounded.copy_from(&sum.cast::<T>());
            let to = o.slice(sequence).slice(head).slice(query).tile([4], [column]).vectorize([4]);
            to.copy_from(&rounded.vectorize([4]));
            if column == 0 {
                logs[[sequence, head, query]] =
                    if whole == 0.0 { f32::NEG_INFINITY } else { most + whole.ln() };
            }
        }
    }
}
