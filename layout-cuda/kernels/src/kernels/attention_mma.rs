//! Attention forward on the matrix units, by warps: for every card from sm_80 on.
//!
//! ```text
//! Q of the block's BM queries is copied to shared memory once; then from the last block of BN keys that counts to the first:
//!     wait for K, issue the copy of V
//!     S = Q Kᵀ: each warp 16 ROWS queries, operands to registers by `ldmatrix`
//!     wait for V, issue the copy of the next K
//!     P = exp(S - maximum of the row); as the maximum rises, O and the sum fall
//!     O += P V, P as the product left it in registers
//! at the end O / sum, and maximum + ln(sum)
//! ```
//!
//! For speed: a warp has two tiles of 16 queries, so that each fragment of K and V that it loads is multiplied twice. Each of K and V
//! has one buffer; the copy of one is in flight while the other is multiplied, and two blocks share a multiprocessor.
//!
//! Law: that of [`attention`](super::attention): the same sums, with weights rounded to the elements' type.
//! Sources: Dao: FlashAttention-2, 2023.

use layout_cuda::tiled_kernels;

pub use kernels::attention_mma;

#[tiled_kernels(functions = attention_scores)]
mod kernels {
    /// The scores of a warp's queries and a block of keys.
    fn multiply(mut scores: View<f32, Write>, q: impl Tensor<Elem = T>, k: impl Tensor<Elem = T>) {
        let mma = mma_atom::<T>([16, 8, 16]);
        scores.fill(0.0);
        for step in unroll(0..D / 16) {
            let (slab, part) = (step * 16 / W, step * 16 % W / 16);
            let queries = mma.load_a(&q.slice(slab).tile([16 * ROWS, 16], [warp_id(), part]));
            let keys = mma.load_b(&k.slice(slab).tile([BN, 16], [0, part]).transpose());
            mma.mma(&mut scores, &queries, &keys);
        }
    }

    /// `sums += weights V`
    fn accumulate(sums: View<f32, Write>, weights: impl Tensor<Elem = T>, v: impl Tensor<Elem = T>) {
        let mma = mma_atom::<T>([16, 8, 16]);
        for step in unroll(0..BN / 16) {
            for slab in unroll(0..DV / W) {
                let values = mma.load_b(&v.slice(slab).tile([16, W], [step, 0]));
                let mut own = sums.tile([ROWS, W / 2], [0, slab]);
                mma.mma(&mut own, &weights.tile([ROWS, 8], [0, step]), &values);
            }
        }
    }

    /// The column of a thread's pair `i`.
    fn column_of(i: usize, e: usize) -> i32 {
        (8 * i + 2 * (lane_id() % 4) + e) as i32
    }

    /// Applies the score's function, and hides keys where some query does not see them all: their scores become minus infinity.
    fn judge(
        mut scores: View<f32, Write>,
        first: i32,
        hides: bool,
        at: (i32, (i32, i32), i32, i32, f32, f32),
    ) {
        let (own, (batch, head), keys, window, strength, scale) = at;
        if SCORED || hides {
            for h in unroll(0..2 * ROWS) {
                for i in unroll(0..BN / 8) {
                    for e in unroll(0..2) {
                        let (query, key) = (own + 8 * h as i32, first + column_of(i, e));
                        let place = 4 * i + 2 * (h % 2) + e;
                        if SCORED {
                            scores[[h / 2, place]] =
                                SCORE(scores[[h / 2, place]] * scale, batch, head, query, key, strength);
                        }
                        if hides && (key >= keys || !KEEP(batch, head, query, key, window)) {
                            scores[[h / 2, place]] = f32::NEG_INFINITY;
                        }
                    }
                }
            }
        }
    }

    /// What is taken off a row's scores. Finite for a row that has seen no key yet, too.
    fn base_of(high: f32, factor: f32) -> f32 {
        (high * factor).max(f32::MIN)
    }

    /// Turns the scores of a row into weights: its maximum rises, its sum and its outputs fall by as much.
    fn weigh(
        h: usize,
        mut scores: View<f32, Write>,
        mut sums: View<f32, Write>,
        (mut most, mut sum): (View<f32, Write>, View<f32, Write>),
        factor: f32,
    ) {
        let mut high = most[[h]];
        for i in unroll(0..BN / 8) {
            high =
                high.max(scores[[h / 2, 4 * i + 2 * (h % 2)]]).max(scores[[h / 2, 4 * i + 2 * (h % 2) + 1]]);
        }
        high = high.max(high.shuffle_xor(1));
        high = high.max(high.shuffle_xor(2));
        let base = base_of(high, factor);
        let worth = (base_of(most[[h]], factor) - base).exp2_approx();
        most[[h]] = high;
        let mut total = sum[[h]] * worth;
        for i in unroll(0..BN / 8) {
            for e in unroll(0..2) {
                let place = 4 * i + 2 * (h % 2) + e;
                let weight = scores[[h / 2, place]].mul_add(factor, -base).exp2_approx();
                scores[[h / 2, place]] = weight;
                total += weight;
            }
        }
        sum[[h]] = total;
        // Most blocks raise no maximum of a warp's rows.
        if any(worth < 1.0) {
            for i in unroll(0..DV / 8) {
                for e in unroll(0..2) {
                    sums[[h / 2, 4 * i + 2 * (h % 2) + e]] *= worth;
                }
            }
        }
    }

    /// Clears the rows of V behind a sequence's end, which belong to the next one: a weight of zero times a NaN would be NaN.
    fn clear(mut v: View<T, Write>, keys: i32) {
        for line in (warp_id()..BN).step_by(THREADS / 32) {
            if line as i32 >= keys {
                for column in (lane_id()..DV).step_by(32) {
                    v[[column / W, line, column % W]] = T::ZERO;
                }
            }
        }
        barrier();
    }

    /// Divides a warp's rows of O by the sums of their weights, and stores the logarithms of these sums.
    fn finish(
        mut logs: View<f32, Write>,
        (mut sums, most, sum): (View<f32, Write>, View<f32, Write>, View<f32, Write>),
        (left, factor): (i32, f32),
    ) {
        for h in unroll(0..2 * ROWS) {
            let mut total = sum[[h]] + sum[[h]].shuffle_xor(1);
            total += total.shuffle_xor(2);
            // A row that has seen keys and has no weight has overflowed on the way: 1 / 0 makes NaN of it.
            let sees_none = total == 0.0 && most[[h]] == f32::NEG_INFINITY;
            let share = if sees_none { 0.0 } else { total.recip() };
            for i in unroll(0..DV / 8) {
                for e in unroll(0..2) {
                    sums[[h / 2, 4 * i + 2 * (h % 2) + e]] *= share;
                }
            }
            let line = 16 * ROWS * warp_id() + 8 * h + lane_id() / 4;
            if lane_id() % 4 == 0 && (line as i32) < left {
                let log = if total > 0.0 { most[[h]] * factor * consts::LN_2 + total.ln() } else { f32::NAN };
                logs[[line]] = if sees_none { f32::NEG_INFINITY } else { log };
            }
        }
    }

    /// Stores a warp's rows of O through the place of its rows of Q, 16 bytes a thread.
    fn store(o: View<T, Write>, staged: View<T, Write>, sums: View<f32, Write>, left: i32) {
        let mma = mma_atom::<T>([16, 8, 16]);
        let rounded = sums.cast::<T>();
        for slab in unroll(0..DV / W) {
            let mut to = staged.slice(slab).tile([16 * ROWS, W], [warp_id(), 0]);
            mma.store_d(&mut to, &rounded.tile([ROWS, W / 2], [0, slab]));
        }
        sync_warp();
        for part in unroll(0..ROWS * DV / 16) {
            let (line, column) = ((32 * part + lane_id()) / (DV / 8), (32 * part + lane_id()) % (DV / 8));
            let line = 16 * ROWS * warp_id() + line;
            if (line as i32) < left {
                let from = staged.slice(column / (W / 8)).tile([1, 8], [line, column % (W / 8)]);
                o.tile([1, 8], [line, column]).vectorize([1, 8]).copy_from(&from.vectorize([1, 8]));
            }
        }
    }

    /// Head `h` of Q, O and `logs` reads head `h * HK / HQ` of K and V. With `PACKED` the one batch holds all sequences, one after
    /// another: sequence `z` is rows `ends[z]..ends[z + 1]`. The last query of a sequence is at its last key.
    #[tiled_kernel(
        T = [bf16, f16], D = 128, DV = 128, BM = 128, BN = 64, ROWS = 2, THREADS = BM / (16 * ROWS) * 32, BLOCKS = if D > 128 { 1 } else { 2 },
        W = if D % 64 == 0 && DV % 64 == 0 { 64 } else { 32 },
        KEEP = [every, causal, sliding], RANGE = [all_keys, keys_before, keys_within],
        SCORE = [plain, soft_cap, alibi], SCORED = SCORE != plain,
        DISTANT = SCORE == alibi, UNITS = if SCORE == soft_cap { of_caps } else if SCORE == alibi { of_slopes } else { as_it_is },
        PACKED = [false, true], BY_HEADS = false,
        filter(KEEP == every && RANGE == all_keys || KEEP == causal && RANGE == keys_before || KEEP == sliding && RANGE == keys_within),
        filter(T == bf16 || KEEP == every, SCORE == plain || T == bf16 && KEEP == causal, !PACKED || KEEP == causal && SCORE == plain),
        block = [THREADS], min_blocks = BLOCKS,
        // With a mask the long tiles come first, of all heads.
        grid = [
            if BY_HEADS { M.div_ceil(BM) } else { HQ },
            if BY_HEADS { HQ } else if PACKED { ENDS.max(1) - 1 } else { B },
            if !BY_HEADS { M.div_ceil(BM) } else if PACKED { ENDS.max(1) - 1 } else { B },
        ],
        require(HQ % HK == 0, M.div_ceil(BM) * HQ * (B + ENDS) <= 1 << 24, !DISTANT || M.max(N) <= 1 << 22),
        deny(narrowed, synchronous),
    )]
    pub fn attention_mma<
        T,
        const B: usize,
        const HQ: usize,
        const HK: usize,
        const M: usize,
        const N: usize,
        const ENDS: usize,
    >(
        q: &LayoutTensor<T, Pitched<B, HQ, M, D>>,
        k: &LayoutTensor<T, Pitched<B, HK, N, D>>,
        v: &LayoutTensor<T, Pitched<B, HK, N, DV>>,
        q_ends: &LayoutTensor<i32, RowMajor<ENDS>>,
        k_ends: &LayoutTensor<i32, RowMajor<ENDS>>,
        o: &mut LayoutTensor<T, Pitched<B, HQ, M, DV>>,
        logs: &mut LayoutTensor<f32, RowMajor<B, HQ, M>>,
        longest: usize,
        scale: f32,
        strength: f32,
        window: i32,
    ) {
        let mut q_smem =
            shared::<T>(row_major([if D > DV { D / W } else { DV / W }, BM, W]).swizzle_bytes(2 * W));
        let mut k_smem = shared::<T>(row_major([D / W, BN, W]).swizzle_bytes(2 * W));
        let mut v_smem = shared::<T>(row_major([DV / W, BN, W]).swizzle_bytes(2 * W));
        let (tile, head, sequence) = if BY_HEADS {
            (block_idx.x, block_idx.y, block_idx.z)
        } else {
            (block_idx.z, block_idx.x, block_idx.y)
        };
        let row = (M.div_ceil(BM) - 1 - tile) * BM;
        let (q_first, queries) = rows_of(q_ends, sequence, M);
        let (k_first, keys) = rows_of(k_ends, sequence, N);
        if row as i32 >= queries || row >= longest {
            return;
        }
        let batch = if PACKED { 0 } else { sequence };
        let place = row as i32 + keys - queries;
        let (from, to, all_from, all_to) = RANGE(place, place + BM as i32, keys, window);
        let (low, high) = (from.max(0) as usize / BN, (to.max(0) as usize).min(N).div_ceil(BN));
        let (unit, strength) = UNITS(head as i32, strength);
        let factor = if SCORED { unit * consts::LOG2_E } else { scale * consts::LOG2_E };
        let own = place + (16 * ROWS * warp_id() + lane_id() / 4) as i32;
        let at = (own, (sequence as i32, head as i32), keys, window, strength, scale.div_approx(unit));
        let group = head * HK / HQ;
        assume(group < HK);
        let (keys_of, values_of) = (k.slice(batch).slice(group), v.slice(batch).slice(group));

        let mut scores = local::<f32>(row_major([ROWS, BN / 2]));
        let mut sums = local::<f32>(row_major([ROWS, DV / 2])).fill(0.0);
        let most = local::<f32>(row_major([2 * ROWS])).fill(f32::NEG_INFINITY);
        let sum = local::<f32>(row_major([2 * ROWS])).fill(0.0);
        load_slabs(q_smem, q.slice(batch).slice(head).window([BM, D], [q_first as usize + row, 0]), D);
        if low < high {
            load_slabs(k_smem, keys_of.window([BN, D], [k_first as usize + (high - 1) * BN, 0]), D);
        }
        for block in (low..high).rev() {
            let first = block * BN;
            async_copy_wait_all();
            barrier();
            load_slabs(v_smem, values_of.window([BN, DV], [k_first as usize + first, 0]), DV);
            multiply(scores, q_smem, k_smem);
            async_copy_wait_all();
            barrier();
            if block > low {
                load_slabs(k_smem, keys_of.window([BN, D], [k_first as usize + first - BN, 0]), D);
            }
            let first = first as i32;
            if PACKED && first + BN as i32 > keys {
                clear(v_smem, keys - first);
            }
            judge(scores, first, first < all_from || first + BN as i32 > all_to, at);
            for h in unroll(0..2 * ROWS) {
                weigh(h, scores, sums, (most, sum), factor);
            }
            accumulate(sums, scores.cast::<T>(), v_smem);
        }
        // O's rows take the place of Q's, which is still on its way where there are no keys.
        async_copy_wait_all();
        barrier();
        let start = q_first as usize + row;
        let left = queries - row as i32;
        finish(logs.slice(batch).slice(head).window([BM], [start]), (sums, most, sum), (left, factor));
        store(o.slice(batch).slice(head).window([BM, DV], [start, 0]), q_smem, sums, left);
    }
}
