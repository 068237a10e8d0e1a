//! Attention backward on the matrix units, by warps: the gradients of Q, K and V on every card from sm_80 on.
//!
//! ```text
//! of_keys_mma:     a tile of keys stays, queries go by:   Sᵀ = K Qᵀ, dPᵀ = V dOᵀ;  Pᵀ, dSᵀ;  dV += Pᵀ dO, dK += dSᵀ Q
//! of_queries_mma:  a tile of queries stays, keys go by:   S = Q Kᵀ, dP = dO Vᵀ;  P, dS;  dQ += dS K
//! ```
//!
//! Seven products, each sum in one order, so the bits are the same in every run. A warp has 16 of the rows that stay; what a product left in
//! its registers is the left side of the next one. Rows that go by are in shared memory, in a ring of `STAGES` that asynchronous copies
//! fill. `prepare` gives the logarithms and `Σ dO O`.
//!
//! Law: that of [`backward`](super::backward).
//! Source: Dao: FlashAttention-2, 2023.

use layout_cuda::tiled_kernels;

pub use kernels::{of_keys_mma, of_queries_mma};

#[tiled_kernels(functions = attention_scores)]
mod kernels {
    /// The products of a warp's rows that stay and of the rows that go by.
    fn multiply(
        mut products: View<f32, Write>,
        fixed: impl Tensor<Elem = T>,
        moving: impl Tensor<Elem = T>,
        columns: usize,
    ) {
        let mma = mma_atom::<T>([16, 8, 16]);
        products.fill(0.0);
        for step in unroll(0..columns / 16) {
            let (slab, part) = (step * 16 / W, step * 16 % W / 16);
            let own = mma.load_a(&fixed.slice(slab).tile([16, 16], [warp_id(), part]));
            let others = mma.load_b(&moving.slice(slab).tile([MOVING, 16], [0, part]).transpose());
            mma.mma(&mut products, &own, &others);
        }
    }

    /// `sums += factors` times the rows that go by.
    fn accumulate(
        sums: View<f32, Write>,
        factors: impl Tensor<Elem = T>,
        moving: impl Tensor<Elem = T>,
        columns: usize,
    ) {
        let mma = mma_atom::<T>([16, 8, 16]);
        for step in unroll(0..MOVING / 16) {
            for slab in unroll(0..columns / W) {
                let others = mma.load_b(&moving.slice(slab).tile([16, W], [step, 0]));
                let mut own = sums.tile([1, W / 2], [0, slab]);
                mma.mma(&mut own, &factors.tile([1, 8], [0, step]), &others);
            }
        }
    }

    /// The tiles of rows that go by of which some query sees some key: the first one, and one behind the last.
    fn tiles_that_count(row: i32, sizes: (i32, i32, i32)) -> (usize, usize) {
        let (mut low, mut high) = (blocks_of(sizes), 0);
        for block in 0..blocks_of(sizes) {
            let (counts, _) = pair(row, (block * MOVING) as i32, sizes);
            if counts {
                low = low.min(block);
                high = block + 1;
            }
        }
        (low, high)
    }

    /// The logarithms and `Σ dO O` of two rows that stay, if these are queries.
    fn facts_of(of_head: impl Tensor<Elem = f32>, row: usize) -> View<f32, Write> {
        let mut own = local::<f32>(row_major([2, 2]));
        if !OF_KEYS {
            for h in unroll(0..2) {
                own[[0, h]] = of_head.slice(0).tile([1], [row + 8 * h])[[0]];
                own[[1, h]] = of_head.slice(1).tile([1], [row + 8 * h])[[0]];
            }
        }
        own
    }

    /// Clears the rows that go by behind a sequence's end, which belong to the next one: a weight of zero times a NaN would be NaN.
    fn clear((mut m1, mut m2, mut facts): (View<T, Write>, View<T, Write>, View<f32, Write>), left: i32) {
        for line in (warp_id()..MOVING).step_by(WARPS) {
            if line as i32 >= left {
                for column in (lane_id()..D).step_by(32) {
                    m1[[column / W, line, column % W]] = T::ZERO;
                }
                for column in (lane_id()..DV).step_by(32) {
                    m2[[column / W, line, column % W]] = T::ZERO;
                }
                if OF_KEYS && lane_id() < 2 {
                    facts[[lane_id(), line]] = 0.0;
                }
            }
        }
        barrier();
    }

    /// Turns the scores into weights and dP into dS, element by element. A key that a query does not see has weight 0.
    fn change(
        (mut scores, mut rest): (View<f32, Write>, View<f32, Write>),
        (of_columns, own): (View<f32, Write>, View<f32, Write>),
        (fixed, moving, hides): (i32, i32, bool),
        (queries, keys, window): (i32, i32, i32),
        (batch, head, scale, strength, factor): (i32, i32, f32, f32, f32),
    ) {
        for h in unroll(0..2) {
            for i in unroll(0..MOVING / 8) {
                for e in unroll(0..2) {
                    let (at, column) = (4 * i + 2 * h + e, 8 * i + 2 * (lane_id() % 4) + e);
                    let (staying, passing) = (fixed + 8 * h as i32, moving + column as i32);
                    let (query, key) = if OF_KEYS { (passing, staying) } else { (staying, passing) };
                    let place = query + keys - queries;
                    let mut score = scores[[0, at]];
                    if SCORED {
                        score = SCORE(score * scale, batch, head, place, key, strength);
                    }
                    if hides {
                        let ends = key >= keys || PACKED && OF_KEYS && query >= queries;
                        if ends || !KEEP(batch, head, place, key, window) {
                            score = f32::NEG_INFINITY;
                        }
                    }
                    let (log, less) = if OF_KEYS {
                        (of_columns[[0, column]], of_columns[[1, column]])
                    } else {
                        (own[[0, h]], own[[1, h]])
                    };
                    let weight = score.mul_add(factor, -log).exp2_approx();
                    let slope = if SLOPED { weight * SLOPE(score, strength) } else { weight };
                    rest[[0, at]] = slope * (rest[[0, at]] - less);
                    scores[[0, at]] = weight;
                }
            }
        }
    }

    /// Stores a warp's rows, times a factor, by way of shared memory, 16 bytes a thread.
    fn store(
        to: impl Tensor<Elem = T, Access = Write>,
        staged: View<T, Write>,
        mut sums: View<f32, Write>,
        (columns, factor, left): (usize, f32, i32),
    ) {
        let mma = mma_atom::<T>([16, 8, 16]);
        for i in unroll(0..columns / 2) {
            sums[[0, i]] *= factor;
        }
        let rounded = sums.cast::<T>();
        for slab in unroll(0..columns / W) {
            let mut of_warp = staged.slice(slab).tile([16, W], [warp_id(), 0]);
            mma.store_d(&mut of_warp, &rounded.tile([1, W / 2], [0, slab]));
        }
        sync_warp();
        for part in unroll(0..columns / 16) {
            let (line, column) =
                ((32 * part + lane_id()) / (columns / 8), (32 * part + lane_id()) % (columns / 8));
            let line = 16 * warp_id() + line;
            if (line as i32) < left {
                let from = staged.slice(column / (W / 8)).tile([1, 8], [line, column % (W / 8)]);
                to.tile([1, 8], [line, column]).vectorize([1, 8]).copy_from(&from.vectorize([1, 8]));
            }
        }
    }

    /// The rows that go by of one step, and where they go.
    fn fetch(
        (moving_1, moving_2, facts): (View<T, Read>, View<T, Read>, View<f32, Read>),
        (m1, m2, mut to): (View<T, Write>, View<T, Write>, View<f32, Write>),
        head: usize,
        first: usize,
    ) {
        load_slabs(m1, moving_1.slice(head).window([MOVING, D], [first, 0]), D);
        load_slabs(m2, moving_2.slice(head).window([MOVING, DV], [first, 0]), DV);
        if OF_KEYS {
            let from = facts.slice(head).window([2, MOVING], [0, first]);
            copy_dram_to_sram_async(
                &mut to,
                &from,
                row_major([2, if MOVING > 16 * WARPS { 16 * WARPS } else { MOVING }]),
            );
        }
    }

    /// All rows that go by, for a tile of rows that stay. Gives the sums of dS times the rows that go by, the sums of the weights times
    /// them, and the places of the rows that stay, which are free then.
    fn pass(
        (fixed_1, fixed_2): (impl Tensor<Elem = T>, impl Tensor<Elem = T>),
        (moving_1, moving_2, facts): (View<T, Read>, View<T, Read>, View<f32, Read>),
        (row, first_head, heads, sizes): (usize, usize, usize, (i32, i32, i32)),
        (own_first, other_first, batch, own_head, scale, strength): (usize, usize, usize, usize, f32, f32),
    ) -> (View<f32, Write>, View<f32, Write>, View<T, Write>, View<T, Write>) {
        let f1 = shared::<T>(row_major([D / W, FIXED, W]).swizzle_bytes(2 * W));
        let f2 = shared::<T>(row_major([DV / W, FIXED, W]).swizzle_bytes(2 * W));
        let m1 = shared::<T>(row_major([STAGES, D / W, MOVING, W]).swizzle_bytes(2 * W));
        let m2 = shared::<T>(row_major([STAGES, DV / W, MOVING, W]).swizzle_bytes(2 * W));
        let moving_facts = shared::<f32>(row_major([STAGES, 2, MOVING]));
        let (low, high) = tiles_that_count(row as i32, sizes);
        let count = if high > low { high - low } else { 0 };
        let moving = (moving_1, moving_2, facts);
        load_slabs(f1, fixed_1.window([FIXED, D], [own_first + row, 0]), D);
        load_slabs(f2, fixed_2.window([FIXED, DV], [own_first + row, 0]), DV);
        if count > 0 {
            let to = (m1.slice(0), m2.slice(0), moving_facts.slice(0));
            fetch(moving, to, first_head, other_first + low * MOVING);
        }
        let own_row = 16 * warp_id() + lane_id() / 4;
        let (unit, _) = UNITS(0, strength);
        let factor = if SCORED { unit * consts::LOG2_E } else { scale * consts::LOG2_E };
        let scores = local::<f32>(row_major([1, MOVING / 2]));
        let rest = local::<f32>(row_major([1, MOVING / 2]));
        let sums = local::<f32>(row_major([1, D / 2])).fill(0.0);
        let values = local::<f32>(row_major([1, if OF_KEYS { DV / 2 } else { 2 }])).fill(0.0);
        let own = facts_of(facts.slice(own_head), own_first + row + own_row);
        let (mut head, mut block) = (first_head, low);
        for step in 0..heads * count {
            async_copy_wait_all();
            barrier();
            let stage = step % STAGES;
            let ends = block + 1 == high;
            let (next_head, next) = if ends { (head + 1, low) } else { (head, block + 1) };
            let first = other_first + next * MOVING;
            if STAGES > 1 && step + 1 < heads * count {
                let after = (step + 1) % STAGES;
                fetch(
                    moving,
                    (m1.slice(after), m2.slice(after), moving_facts.slice(after)),
                    next_head,
                    first,
                );
            }
            let (own_1, own_2, of_columns) = (m1.slice(stage), m2.slice(stage), moving_facts.slice(stage));
            let (queries, keys, _) = sizes;
            let at = (block * MOVING) as i32;
            let left = if OF_KEYS { queries - at } else { keys - at };
            if PACKED && left < MOVING as i32 {
                clear((own_1, own_2, of_columns), left);
            }
            multiply(scores, f1, own_1, D);
            multiply(rest, f2, own_2, DV);
            let (_, whole) = pair(row as i32, at, sizes);
            let of_queries = (if OF_KEYS { head } else { own_head }) as i32;
            let (_, strength) = UNITS(of_queries, strength);
            let of_score = (batch as i32, of_queries, scale.div_approx(unit), strength, factor);
            change((scores, rest), (of_columns, own), ((row + own_row) as i32, at, !whole), sizes, of_score);
            if OF_KEYS {
                accumulate(values, scores.cast::<T>(), own_2, DV);
            }
            accumulate(sums, rest.cast::<T>(), own_1, D);
            if STAGES == 1 {
                barrier();
                if step + 1 < heads * count {
                    fetch(moving, (own_1, own_2, of_columns), next_head, first);
                }
            }
            head = next_head;
            block = next;
        }
        async_copy_wait_all();
        barrier();
        (sums, values, f1, f2)
    }

    /// dK and dV. Head `h` of Q reads head `h * HK / HQ` of K and V; the last query is at the last key. With `PACKED`
    /// the one batch holds all sequences, as in `attention`.
    #[tiled_kernel(
        T = [bf16, f16], D = 128, DV = 128, WARPS = 8, FIXED = 16 * WARPS, MOVING = if D + DV > 128 { 32 } else { 64 }, STAGES = 2, OF_KEYS = true,
        W = if D % 64 == 0 && DV % 64 == 0 { 64 } else { 32 },
        KEEP = [every, causal, sliding], RANGE = [all_keys, keys_before, keys_within],
        SCORE = [plain, soft_cap, alibi], SLOPE = [one, of_cap], SCORED = SCORE != plain, SLOPED = SLOPE != one,
        DISTANT = SCORE == alibi, UNITS = if SCORE == soft_cap { of_caps } else if SCORE == alibi { of_slopes } else { as_it_is },
        PACKED = [false, true], BY_HEADS = KEEP == every,
        filter(KEEP == every && RANGE == all_keys || KEEP == causal && RANGE == keys_before || KEEP == sliding && RANGE == keys_within),
        filter((SCORE == soft_cap) == (SLOPE == of_cap), T == bf16 || KEEP == every, SCORE == plain || T == bf16 && KEEP == causal, !PACKED || KEEP == causal && SCORE == plain),
        block = [32 * WARPS], grid = [if PACKED { N / FIXED + ENDS } else { N.div_ceil(FIXED) * B } * HK],
        require(HQ % HK == 0, M <= MP, MP % 128 == 0, MP <= 1 << 24, N <= 1 << 24, !DISTANT || M.max(N) <= 1 << 22),
        deny(narrowed, synchronous),
    )]
    pub fn of_keys_mma<
        T,
        const B: usize,
        const HQ: usize,
        const HK: usize,
        const M: usize,
        const MP: usize,
        const N: usize,
        const ENDS: usize,
    >(
        q: &LayoutTensor<T, Pitched<B, HQ, M, D>>,
        k: &LayoutTensor<T, Pitched<B, HK, N, D>>,
        v: &LayoutTensor<T, Pitched<B, HK, N, DV>>,
        d_o: &LayoutTensor<T, Pitched<B, HQ, M, DV>>,
        q_ends: &LayoutTensor<i32, RowMajor<ENDS>>,
        k_ends: &LayoutTensor<i32, RowMajor<ENDS>>,
        facts: &LayoutTensor<f32, RowMajor<B, HQ, 2, MP>>,
        d_k: &mut LayoutTensor<T, Pitched<B, HK, N, D>>,
        d_v: &mut LayoutTensor<T, Pitched<B, HK, N, DV>>,
        scale: f32,
        strength: f32,
        window: i32,
    ) {
        let (row, head, sequence, is) = tile_of(k_ends, N, HK, B);
        if !is {
            return;
        }
        let (q_first, k_first, sizes) = sequence_of((q_ends, k_ends), sequence, (M, N), window);
        let (batch, shared_by) = (if PACKED { 0 } else { sequence }, HQ / HK);
        let (sums, values, f1, f2) = pass(
            (k.slice(batch).slice(head), v.slice(batch).slice(head)),
            (q.slice(batch), d_o.slice(batch), facts.slice(batch)),
            (row, head * shared_by, shared_by, sizes),
            (k_first, q_first, sequence, head * shared_by, scale, strength),
        );
        let (_, keys, _) = sizes;
        let (start, left) = (k_first + row, keys - row as i32);
        let (of_k, of_v) = (d_k.slice(batch).slice(head), d_v.slice(batch).slice(head));
        store(of_k.window([FIXED, D], [start, 0]), f1, sums, (D, scale, left));
        store(of_v.window([FIXED, DV], [start, 0]), f2, values, (DV, 1.0, left));
    }

    /// dQ; otherwise as `of_keys_mma`.
    #[tiled_kernel(
        T = [bf16, f16], D = 128, DV = 128, WARPS = 8, FIXED = 16 * WARPS, MOVING = 64, STAGES = 2, OF_KEYS = false,
        W = if D % 64 == 0 && DV % 64 == 0 { 64 } else { 32 },
        KEEP = [every, causal, sliding], RANGE = [all_keys, keys_before, keys_within],
        SCORE = [plain, soft_cap, alibi], SLOPE = [one, of_cap], SCORED = SCORE != plain, SLOPED = SLOPE != one,
        DISTANT = SCORE == alibi, UNITS = if SCORE == soft_cap { of_caps } else if SCORE == alibi { of_slopes } else { as_it_is },
        PACKED = [false, true], BY_HEADS = KEEP == every,
        filter(KEEP == every && RANGE == all_keys || KEEP == causal && RANGE == keys_before || KEEP == sliding && RANGE == keys_within),
        filter((SCORE == soft_cap) == (SLOPE == of_cap), T == bf16 || KEEP == every, SCORE == plain || T == bf16 && KEEP == causal, !PACKED || KEEP == causal && SCORE == plain),
        block = [32 * WARPS], grid = [if PACKED { M / FIXED + ENDS } else { M.div_ceil(FIXED) * B } * HQ],
        require(HQ % HK == 0, M <= MP, MP % 128 == 0, MP <= 1 << 24, N <= 1 << 24, !DISTANT || M.max(N) <= 1 << 22),
        deny(narrowed, synchronous),
    )]
    pub fn of_queries_mma<
        T,
        const B: usize,
        const HQ: usize,
        const HK: usize,
        const M: usize,
        const MP: usize,
        const N: usize,
        const ENDS: usize,
    >(
        q: &LayoutTensor<T, Pitched<B, HQ, M, D>>,
        k: &LayoutTensor<T, Pitched<B, HK, N, D>>,
        v: &LayoutTensor<T, Pitched<B, HK, N, DV>>,
        d_o: &LayoutTensor<T, Pitched<B, HQ, M, DV>>,
        q_ends: &LayoutTensor<i32, RowMajor<ENDS>>,
        k_ends: &LayoutTensor<i32, RowMajor<ENDS>>,
        facts: &LayoutTensor<f32, RowMajor<B, HQ, 2, MP>>,
        d_q: &mut LayoutTensor<T, Pitched<B, HQ, M, D>>,
        scale: f32,
        strength: f32,
        window: i32,
    ) {
        let (row, head, sequence, is) = tile_of(q_ends, M, HQ, B);
        if !is {
            return;
        }
        let (q_first, k_first, sizes) = sequence_of((q_ends, k_ends), sequence, (M, N), window);
        let (batch, group) = (if PACKED { 0 } else { sequence }, head * HK / HQ);
        let (sums, _, f1, _) = pass(
            (q.slice(batch).slice(head), d_o.slice(batch).slice(head)),
            (k.slice(batch), v.slice(batch), facts.slice(batch)),
            (row, group, 1, sizes),
            (q_first, k_first, sequence, head, scale, strength),
        );
        let (queries, _, _) = sizes;
        let (start, left) = (q_first + row, queries - row as i32);
        store(d_q.slice(batch).slice(head).window([FIXED, D], [start, 0]), f1, sums, (D, scale, left));
    }
}
