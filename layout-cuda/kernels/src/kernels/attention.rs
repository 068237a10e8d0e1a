//! Attention forward on Hopper: `O = softmax(Q Kᵀ) V` for each head of each sequence, block by block of the keys.
//!
//! ```text
//!             keys ─►                    warpgroup 0: for each tile of queries of this block of threads:
//!          ┌────┬────┬────┬─ ─               Q, then from the last block of keys that counts to the first: K and V
//!        K │  0 │  1 │  2 │              warpgroups 1 and 2, 64 queries each, by turns with the other one:
//!          └────┴────┴────┴─ ─               S = Q Kᵀ of this block      ┐ both in flight at once
//!  ┌────┐  ┌────┬────┬────┬─ ─               O += P V of the block before ┘
//!  │ BM │  │ S, then P    │                  P = exp(S - maximum of the row); as the maximum rises, O and the sum fall
//!  └────┘  └────┴────┴────┴─ ─           at the end O / sum, and maximum + ln(sum)
//!     Q                                With `PACKED` warp 1 publishes the next tile to all others.
//! ```
//!
//! Law: `O[q] = Σ w[q, k] V[k] / Σ w[q, k]`, `w[q, k] = exp(SCORE(scale * Q[q] · K[k]))` where `KEEP` holds, else 0; a query that sees
//! no key gets zeros, and minus infinity as its logarithm. Weights are rounded to the elements' type before they multiply V.
//! Scores are float32: one that is NaN or plus infinity makes its query's row and logarithm NaN, and so does what leaves float32 on the
//! way; up to 2²⁸ their size costs nothing but their own rounding. A key that is hidden may hold anything; its value is to be finite,
//! since 0 · NaN is NaN.
//! Sources: Milakov, Gimelshein: Online normalizer calculation for softmax, 2018; Dao: FlashAttention-2, 2023; Shah and others:
//! FlashAttention-3, 2024 (warpgroups by turns, products beside weights).

use layout_cuda::tiled_kernels;

pub use kernels::attention;

#[tiled_kernels(open = attention_with, functions = attention_scores)]
mod kernels {
    /// The tile of a block of threads in one step, and whether there is one. With a causal mask every other round goes
    /// backwards, so that each block has about as many keys. `PAIRED`: a long tile of a head is followed by the short one that
    /// makes up for it, and one head by the next, whose K and V stay in L2 meanwhile.
    fn tile_of(step: usize, tiles: usize, pieces: usize) -> (usize, bool) {
        let (round, place) = (step / SMS, step % SMS);
        let tile = if PAIRED {
            let (item, pairs) = (round / 2 * SMS + place, tiles.div_ceil(2));
            let (far, first) = (item % pairs, item / pairs * tiles);
            // The middle one has no other.
            if round % 2 == 0 {
                first + far
            } else if 2 * far + 1 == tiles {
                pieces
            } else {
                first + tiles - 1 - far
            }
        } else {
            if !BY_HEADS && round % 2 == 1 { round * SMS + (SMS - 1 - place) } else { step }
        };
        // Of packed sequences a tile beyond the last one is found to be none.
        (if PACKED { tile } else { tile.min(pieces - 1) }, tile < pieces)
    }

    /// Whether a sequence is there, and has a tile from a row on.
    fn reaches(
        ends: impl Tensor<Elem = i32>,
        sequence: usize,
        row: usize,
        (sequences, rows): (usize, usize),
    ) -> bool {
        sequence < sequences && rows_of(&ends, sequence, rows).1 > row as i32
    }

    /// Of packed sequences only the tiles that are there count, those far behind in their sequences first: which row of
    /// tiles one is in, how many come before this row, and how many sequences reach it. `at` is where an earlier tile is. A
    /// warp counts 32 sequences at once.
    fn seek(
        tile: isize,
        at: (usize, isize, isize),
        heads: isize,
        ends: impl Tensor<Elem = i32>,
        within: (usize, usize),
    ) -> (usize, isize, isize) {
        let (mut row, mut before, mut long) = at;
        while row > 0 && tile >= before + long * heads {
            before += long * heads;
            row -= 1;
            long = 0;
            for from in (0..within.0).step_by(32) {
                long += ballot(reaches(&ends, from + lane_id(), row * BM, within)).count_ones() as isize;
            }
        }
        (row, before, long)
    }

    /// A tile of packed sequences, as `piece`; behind the last one, a row that no sequence has.
    fn packed_piece(
        tile: isize,
        (row, before, long): (usize, isize, isize),
        heads: isize,
        ends: impl Tensor<Elem = i32>,
        within: (usize, usize),
    ) -> (usize, isize, i64) {
        let (number, head) = ((tile - before) / heads, (tile - before) % heads);
        // The sequence in 64 bits: with one of 32 ptxas 13.0.88 spills 36 bytes.
        let (mut seen, mut sequence) = (0, 0i64);
        for from in (0..within.0).step_by(32) {
            let all = ballot(reaches(&ends, from + lane_id(), row * BM, within));
            let own = seen + (all & ((1 << lane_id()) - 1)).count_ones() as isize;
            let found = ballot((all >> lane_id()) % 2 == 1 && own == number);
            if found != 0 {
                sequence = (from + found.trailing_zeros() as usize) as i64;
            }
            seen += all.count_ones() as isize;
        }
        (if number < long { row * BM } else { within.1 }, head, sequence)
    }

    /// The rounds of all blocks of threads.
    fn rounds(tiles: usize, pieces: usize) -> usize {
        if PAIRED { 2 * (pieces / tiles * tiles.div_ceil(2)).div_ceil(SMS) } else { pieces.div_ceil(SMS) }
    }

    /// A tile of the work: its first query in its sequence, its head, and its sequence. With a causal mask the long tiles
    /// come first.
    fn piece(tile: usize, tiles: usize, heads: usize, sequences: usize) -> (usize, usize, usize) {
        let others = heads * sequences;
        let (row, rest) =
            if BY_HEADS || PAIRED { (tile % tiles, tile / tiles) } else { (tile / others, tile % others) };
        ((tiles - 1 - row) * BM, rest % heads, rest / heads)
    }

    /// The blocks of keys `low..high` that some query of a tile from `place` on sees, and the keys that all of its queries
    /// see.
    fn blocks(place: i32, keys: i32, window: i32) -> (i32, i32, i32, i32) {
        let (from, to, all_from, all_to) = RANGE(place, place + BM as i32, keys, window);
        (from / BN as i32, (to + BN as i32 - 1) / BN as i32, all_from, all_to)
    }

    /// The scores of a warpgroup's queries and a block of keys.
    fn multiply(
        mut scores: View<f32, Write>,
        q: impl Tensor<Elem = T>,
        k: impl Tensor<Elem = T>,
        consumer: usize,
    ) {
        for slab in unroll(0..D / W) {
            wgmma(
                &mut scores,
                &q.slice(slab).tile([64, W], [consumer, 0]),
                &k.slice(slab).transpose(),
                slab > 0,
            );
        }
    }

    /// Applies the score's function, and hides keys where some query does not see them all: their scores become minus infinity.
    fn judge(
        mut scores: View<f32, Write>,
        first: i32,
        hides: bool,
        at: (i32, (i32, i32), i32, i32, f32, f32),
    ) {
        let (own, (batch, head), keys, window, strength, scale) = at;
        if SCORED {
            for h in unroll(0..2) {
                for i in unroll(0..BN / 4) {
                    let (query, key) = (own + 8 * h as i32, first + accumulator_column(i) as i32);
                    scores[[h, i]] = SCORE(scores[[h, i]] * scale, batch, head, query, key, strength);
                }
            }
        }
        if hides {
            for h in unroll(0..2) {
                for i in unroll(0..BN / 4) {
                    let (query, key) = (own + 8 * h as i32, first + accumulator_column(i) as i32);
                    if key >= keys || !KEEP(batch, head, query, key, window) {
                        scores[[h, i]] = f32::NEG_INFINITY;
                    }
                }
            }
        }
    }

    /// A tile begins: no key is seen.
    fn begin(mut most: View<f32, Write>, mut sum: View<f32, Write>, mut sums: View<f32, Write>) {
        most.fill(f32::NEG_INFINITY);
        sum.fill(0.0);
        sums.fill(0.0);
    }

    /// The rows' sums fall as their maxima rise.
    fn rescale(mut sums: View<f32, Write>, upper: f32, lower: f32) {
        if !LAZY || any(upper < 1.0 || lower < 1.0) {
            for i in unroll(0..DV / 4) {
                sums[[0, i]] *= upper;
                sums[[1, i]] *= lower;
            }
        }
    }

    /// What is taken off a row's scores. Finite for a row that has seen no key yet, too: minus infinity less itself would be no number.
    fn base_of(high: f32, factor: f32) -> f32 {
        (high * factor).max(f32::MIN)
    }

    /// A row's maximum rises to that of its scores, taken in two chains, since a maximum waits for the one before. Gives what the row's
    /// sums fall by, and what is taken off its scores.
    fn rise(h: usize, scores: View<f32, Write>, mut most: View<f32, Write>, factor: f32) -> (f32, f32) {
        let (mut high, mut other) = (most[[h]].max(scores[[h, 0]]), scores[[h, 1]]);
        for i in unroll(1..BN / 8) {
            high = high.max(scores[[h, 2 * i]]);
            other = other.max(scores[[h, 2 * i + 1]]);
        }
        high = high.max(other);
        high = high.max(high.shuffle_xor(1));
        high = high.max(high.shuffle_xor(2));
        // A rise by less than 2⁸ in the weights is none: they stay far from their type's largest number.
        let stays = LAZY && high * factor <= most[[h]].mul_add(factor, 8.0);
        let high = if stays { most[[h]] } else { high };
        let base = base_of(high, factor);
        // A difference of what was taken off, both rounded: `most * factor` as it is would be another number where scores are large.
        let worth = if stays { 1.0 } else { (base_of(most[[h]], factor) - base).exp2_approx() };
        most[[h]] = high;
        (worth, base)
    }

    /// Turns a row's scores into weights, and adds them to its sum.
    fn weigh(
        h: usize,
        mut scores: View<f32, Write>,
        mut sum: View<f32, Write>,
        (worth, base): (f32, f32),
        factor: f32,
    ) {
        let mut total = sum[[h]] * worth;
        for i in unroll(0..BN / 4) {
            let weight = scores[[h, i]].mul_add(factor, -base).exp2_approx();
            scores[[h, i]] = weight;
            total += weight;
        }
        sum[[h]] = total;
    }

    /// The warpgroups begin their products one after the other.
    fn wait_turn(group: usize) {
        if TURNS {
            named_barrier(1 + group, 256);
        }
    }

    fn give_turn(group: usize) {
        if TURNS {
            named_barrier_arrive(1 + (group + 1) % CONSUMERS, 256);
        }
    }

    /// Of packed sequences a warp publishes to the producer and the consumers which tiles this block of threads has: row, head,
    /// sequence; at the end a row that no sequence has.
    fn publish(
        q_ends: impl Tensor<Elem = i32>,
        (mut slot, slot_full, slot_empty): (View<i32, Write>, Mbarrier, Mbarrier),
        (pieces, tiles, heads): (usize, usize, usize),
        within: (usize, usize),
    ) {
        let mut said = pipeline_state(1);
        let mut at = (tiles, 0, 0);
        for step in (block_idx.x..rounds(tiles, pieces) * SMS).step_by(SMS) {
            let (tile, _) = tile_of(step, tiles, pieces);
            at = seek(tile as isize, at, heads as isize, &q_ends, within);
            let (row, head, sequence) = packed_piece(tile as isize, at, heads as isize, &q_ends, within);
            if lane_id() == 0 {
                slot_empty.wait(1 - said.phase());
                slot[[0]] = row as i32;
                slot[[1]] = head as i32;
                slot[[2]] = sequence as i32;
                slot_full.arrive();
            }
            said.advance();
            if row >= within.1 {
                break;
            }
        }
    }

    /// The tile of this block of threads in a step, and whether there is one: its first query, its head, its sequence.
    fn tile_at(
        step: usize,
        (pieces, tiles, heads, sequences): (usize, usize, usize, usize),
        (slot, slot_full, slot_empty): (View<i32, Write>, Mbarrier, Mbarrier),
        heard: &mut PipelineState,
    ) -> (bool, usize, usize, usize) {
        if PACKED {
            slot_full.wait(heard.phase());
            heard.advance();
            let (row, head, sequence) = (slot[[0]] as usize, slot[[1]] as usize, slot[[2]] as usize);
            slot_empty.arrive();
            (true, row, head, sequence)
        } else {
            let (tile, is) = tile_of(step, tiles, pieces);
            let (row, head, sequence) = piece(tile, tiles, heads, sequences);
            (is, row, head, sequence)
        }
    }

    /// The producer: Q of each tile of this block of threads, then its blocks of K and V from the last one on.
    fn load(
        (q, k, v): (impl Tensor<Elem = T>, impl Tensor<Elem = T>, impl Tensor<Elem = T>),
        (q_ends, k_ends): (impl Tensor<Elem = i32>, impl Tensor<Elem = i32>),
        (mut q_smem, k_smem, v_smem): (View<T, Write>, View<T, Write>, View<T, Write>),
        slot: (View<i32, Write>, Mbarrier, Mbarrier),
        (q_full, q_empty): (Mbarrier, Mbarrier),
        (k_full, k_empty, v_full, v_empty): (Mbarriers, Mbarriers, Mbarriers, Mbarriers),
        (pieces, tiles, sequences, window): (usize, usize, usize, i32),
    ) {
        let (mut next, mut given, mut heard) = (pipeline_state(STAGES), pipeline_state(1), pipeline_state(1));
        let work = (pieces, tiles, q.dim(1), sequences);
        for step in (block_idx.x..rounds(tiles, pieces) * SMS).step_by(SMS) {
            let (is, row, head, sequence) = tile_at(step, work, slot, &mut heard);
            let (q_first, queries) = rows_of(&q_ends, sequence, q.dim(2));
            let (k_first, keys) = rows_of(&k_ends, sequence, k.dim(2));
            let batch = if PACKED { 0 } else { sequence };
            if PACKED && row >= q.dim(2) {
                break;
            }
            if is && (row as i32) < queries {
                let (low, high, _, _) = blocks(row as i32 + keys - queries, keys, window);
                q_empty.wait(1 - given.phase());
                given.advance();
                q_full.arrive_expect(q_smem.bytes());
                let queries_of = q.slice(batch).slice(head);
                tma_load(&mut q_smem, &queries_of.window([BM, D], [q_first as usize + row, 0]), q_full);
                let group = head * k.dim(1) / q.dim(1);
                let (keys_of, values_of) = (k.slice(batch).slice(group), v.slice(batch).slice(group));
                for step in low..high {
                    let first = (k_first + (low + high - 1 - step) * BN as i32) as isize;
                    let (mut to_k, mut to_v) = (k_smem.slice(next.stage()), v_smem.slice(next.stage()));
                    k_empty.at(next.stage()).wait(1 - next.phase());
                    k_full.at(next.stage()).arrive_expect(to_k.bytes());
                    tma_load(&mut to_k, &keys_of.window([BN, D], [first, 0]), k_full.at(next.stage()));
                    v_empty.at(next.stage()).wait(1 - next.phase());
                    v_full.at(next.stage()).arrive_expect(to_v.bytes());
                    tma_load(&mut to_v, &values_of.window([BN, DV], [first, 0]), v_full.at(next.stage()));
                    next.advance();
                }
            }
        }
    }

    /// One thread releases a stage that its warpgroup has read.
    fn release(empty: Mbarriers, read: &mut PipelineState) {
        if thread_idx.x % 128 == 0 {
            empty.at(read.stage()).arrive();
        }
        read.advance();
    }

    /// One thread releases Q after its last product: the next tile's is on its way while this one ends.
    fn release_q(empty: Mbarrier, is_last: bool) {
        if ROOM && is_last && thread_idx.x % 128 == 0 {
            empty.arrive();
        }
    }

    /// Clears the rows of V behind a sequence's end, which belong to the next one: a weight of zero times a NaN would be
    /// NaN.
    fn clear(mut v: View<T, Write>, keys: i32) {
        for line in (warp_group() - 1..BN).step_by(CONSUMERS) {
            if line as i32 >= keys {
                for column in (thread_idx.x % 128..DV).step_by(128) {
                    v[[column / W, line, column % W]] = T::ZERO;
                }
            }
        }
        fence_async_proxy();
        named_barrier(7, 128 * CONSUMERS);
    }

    /// Stores a warpgroup's rows of O, divided by the sums of their weights, and the logarithms of these sums.
    fn store(
        (o, mut logs): (View<T, Write>, View<f32, Write>),
        mut staged: View<T, Write>,
        (mut sums, most, sum): (View<f32, Write>, View<f32, Write>, View<f32, Write>),
        (left, factor): (i32, f32),
    ) {
        let (thread, group) = (thread_idx.x % 128, warp_group() - 1);
        for h in unroll(0..2) {
            let mut total = sum[[h]] + sum[[h]].shuffle_xor(1);
            total += total.shuffle_xor(2);
            // A row that has seen keys and has no weight has overflowed on the way: 1 / 0 makes NaN of it.
            let sees_none = total == 0.0 && most[[h]] == f32::NEG_INFINITY;
            let share = if sees_none { 0.0 } else { total.recip() };
            for i in unroll(0..DV / 4) {
                sums[[h, i]] *= share;
            }
            let line = 16 * (thread / 32) + lane_id() / 4 + 8 * h;
            if lane_id() % 4 == 0 && (line as i32) < left {
                let log = if total > 0.0 { most[[h]] * factor * consts::LN_2 + total.ln() } else { f32::NAN };
                logs[[line]] = if sees_none { f32::NEG_INFINITY } else { log };
            }
        }
        store_matrix(&mut staged, &sums);
        named_barrier(4 + group, 128);
        for part in unroll(0..DV / 16) {
            let (line, column) = ((128 * part + thread) / (DV / 8), (128 * part + thread) % (DV / 8));
            if (line as i32) < left {
                let from = staged.slice(column / (W / 8)).tile([1, 8], [line, column % (W / 8)]);
                o.tile([1, 8], [line, column]).vectorize([1, 8]).copy_from(&from.vectorize([1, 8]));
            }
        }
        if !ROOM {
            fence_async_proxy();
        }
        named_barrier(4 + group, 128);
    }

    /// A consumer: 64 queries of each tile of this block of threads. While it computes a block's weights, the products of
    /// the block before are in flight, and so are those of the other warpgroups.
    fn attend(
        (o, logs): (impl Tensor<Elem = T, Access = Write>, impl Tensor<Elem = f32, Access = Write>),
        (q_ends, k_ends): (impl Tensor<Elem = i32>, impl Tensor<Elem = i32>),
        (q_smem, k_smem, v_smem, o_smem): (View<T, Write>, View<T, Write>, View<T, Write>, View<T, Write>),
        slot: (View<i32, Write>, Mbarrier, Mbarrier),
        (q_full, q_empty): (Mbarrier, Mbarrier),
        (k_full, k_empty, v_full, v_empty): (Mbarriers, Mbarriers, Mbarriers, Mbarriers),
        (pieces, tiles, sequences, window): (usize, usize, usize, i32),
        (all_keys, scale, strength): (usize, f32, f32),
    ) {
        let group = warp_group() - 1;
        let own_row = 64 * group + 16 * (thread_idx.x % 128 / 32) + lane_id() / 4;
        let (unit, _) = UNITS(0, strength);
        let factor = if SCORED { unit * consts::LOG2_E } else { scale * consts::LOG2_E };
        let (mut scores, mut sums) = (accumulator([64, BN]).fill(0.0), accumulator([64, DV]).fill(0.0));
        let mut weights = local::<T>(row_major([2, BN / 4]));
        let (most, sum) = (local::<f32>(row_major([2])), local::<f32>(row_major([2])));
        let (mut next, mut given, mut heard) = (pipeline_state(STAGES), pipeline_state(1), pipeline_state(1));
        let (mut shown, mut read) = (pipeline_state(STAGES), pipeline_state(STAGES));
        if group == CONSUMERS - 1 {
            give_turn(group);
        }
        let work = (pieces, tiles, o.dim(1), sequences);
        for step in (block_idx.x..rounds(tiles, pieces) * SMS).step_by(SMS) {
            let (is, row, head, sequence) = tile_at(step, work, slot, &mut heard);
            let (q_first, queries) = rows_of(&q_ends, sequence, o.dim(2));
            let (_, keys) = rows_of(&k_ends, sequence, all_keys);
            let batch = if PACKED { 0 } else { sequence };
            if PACKED && row >= o.dim(2) {
                break;
            }
            if is && (row as i32) < queries {
                let place = row as i32 + keys - queries;
                let (low, high, all_from, all_to) = blocks(place, keys, window);
                let whose = (sequence as i32, head as i32);
                let (_, strength) = UNITS(head as i32, strength);
                let at = (place + own_row as i32, whose, keys, window, strength, scale.div_approx(unit));
                begin(most, sum, sums);
                q_full.wait(given.phase());
                given.advance();
                release_q(q_empty, low >= high);
                if low < high {
                    let first = (high - 1) * BN as i32;
                    k_full.at(next.stage()).wait(next.phase());
                    multiply(scores, q_smem, k_smem.slice(next.stage()), group);
                    wgmma_commit_group();
                    wgmma_wait_group(0);
                    release(k_empty, &mut next);
                    release_q(q_empty, low == high - 1);
                    judge(scores, first, first < all_from || first + BN as i32 > all_to, at);
                    for h in unroll(0..2) {
                        let rows = rise(h, scores, most, factor);
                        weigh(h, scores, sum, rows, factor);
                    }
                    weights.copy_from(&scores.cast::<T>());
                    v_full.at(shown.stage()).wait(shown.phase());
                    if PACKED && first + BN as i32 > keys {
                        clear(v_smem.slice(shown.stage()), keys - first);
                    }
                }
                for step in low + 1..high {
                    let first = (low + high - 1 - step) * BN as i32;
                    k_full.at(next.stage()).wait(next.phase());
                    wait_turn(group);
                    multiply(scores, q_smem, k_smem.slice(next.stage()), group);
                    wgmma_commit_group();
                    wgmma(&mut sums, &weights, &v_smem.slice(shown.stage()), true);
                    wgmma_commit_group();
                    shown.advance();
                    give_turn(group);
                    wgmma_wait_group(1);
                    release(k_empty, &mut next);
                    release_q(q_empty, step == high - 1);
                    judge(scores, first, first < all_from || first + BN as i32 > all_to, at);
                    let upper = rise(0, scores, most, factor);
                    let mut lower = (1.0, 0.0);
                    if EARLY {
                        lower = rise(1, scores, most, factor);
                    }
                    // The compiler moves no wait for products across this one. Before it their time is that of the maxima; behind it what
                    // rescales the sums and rounds the weights is between the exponentials, where it costs nothing.
                    v_full.at(shown.stage()).wait(shown.phase());
                    wgmma_wait_group(0);
                    release(v_empty, &mut read);
                    weigh(0, scores, sum, upper, factor);
                    if !EARLY {
                        lower = rise(1, scores, most, factor);
                    }
                    weigh(1, scores, sum, lower, factor);
                    weights.copy_from(&scores.cast::<T>());
                    rescale(sums, upper.0, lower.0);
                }
                if low < high {
                    wgmma(&mut sums, &weights, &v_smem.slice(shown.stage()), true);
                    wgmma_commit_group();
                    shown.advance();
                    wgmma_wait_group(0);
                    release(v_empty, &mut read);
                }
                // Where there is no room beside, O's rows are in the place of Q's until they are stored.
                let staged = o_smem.tile([DV / W, 64, W], [0, group, 0]);
                let start = q_first as usize + row + 64 * group;
                let (o_rows, log_rows) = (o.slice(batch).slice(head), logs.slice(batch).slice(head));
                let left = queries - (row + 64 * group) as i32;
                store(
                    (o_rows.window([64, DV], [start, 0]), log_rows.window([64], [start])),
                    staged,
                    (sums, most, sum),
                    (left, factor),
                );
                if !ROOM && thread_idx.x % 128 == 0 {
                    q_empty.arrive();
                }
            }
        }
        if group == 0 {
            wait_turn(group);
        }
    }

    /// With `LAZY` the sums are rescaled only where a maximum rises by much. That pays where they are wide: with `DV = 256` 7 % on an H200,
    /// with 128 nothing, since there the time between the exponentials is free. With `EARLY` both rows' maxima come before the wait for the
    /// product of the block before: with 128 1 to 3 % on an H200; with 64 and with scores of one's own it takes 1 to 2 %, and with
    /// 256 there are no registers for it.
    ///
    /// Head `h` of Q, O and `logs` reads head `h * HK / HQ` of K and V. With `PACKED` the one batch holds all sequences,
    /// one after another: sequence `z` is rows `ends[z]..ends[z + 1]`. The last query of a sequence is at its last key.
    #[tiled_kernel(
        T = [bf16, f16], D = 128, DV = 128, CONSUMERS = 2, BM = 64 * CONSUMERS, BN = 128, STAGES = 2,
        W = if D % 64 == 0 && DV % 64 == 0 { 64 } else { 32 },
        KEEP = [every, causal, sliding], RANGE = [all_keys, keys_before, keys_within],
        SCORE = [plain, soft_cap, alibi], SCORED = SCORE != plain,
        DISTANT = SCORE == alibi, UNITS = if SCORE == soft_cap { of_caps } else if SCORE == alibi { of_slopes } else { as_it_is },
        ROOM = BM * (D + DV) + STAGES * BN * (D + DV) <= 110_000, TURNS = true,
        PACKED = [false, true], BY_HEADS = false, PAIRED = false, SMS = 132, LAZY = DV > 128,
        EARLY = D > 64 && !LAZY && !SCORED,
        filter(KEEP == every && RANGE == all_keys || KEEP == causal && RANGE == keys_before || KEEP == sliding && RANGE == keys_within),
        filter(T == bf16 || KEEP == every, SCORE == plain || T == bf16 && KEEP == causal, !PACKED || KEEP == causal && SCORE == plain),
        arch = "sm_90a", block = [128 + 2 * BM], min_blocks = 1, grid = [SMS],
        require(HQ % HK == 0, M.div_ceil(BM) * HQ * (B + ENDS) <= 1 << 24, !DISTANT || M.max(N) <= 1 << 22),
        deny(narrowed, synchronous),
    )]
    pub fn attention<
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
        let q_smem = shared::<T>(row_major([D / W, BM, W]).swizzle_bytes(2 * W));
        let k_smem = shared::<T>(row_major([STAGES, D / W, BN, W]).swizzle_bytes(2 * W));
        let v_smem = shared::<T>(row_major([STAGES, DV / W, BN, W]).swizzle_bytes(2 * W));
        let o_smem = if ROOM { shared::<T>(row_major([DV / W, BM, W]).swizzle_bytes(2 * W)) } else { q_smem };
        let of_q = (mbarriers(1, 1).at(0), mbarriers(1, CONSUMERS).at(0));
        let (k_full, v_full) = (mbarriers(STAGES, 1), mbarriers(STAGES, 1));
        let (k_empty, v_empty) = (mbarriers(STAGES, CONSUMERS), mbarriers(STAGES, CONSUMERS));
        let slot = (shared::<i32>(row_major([3])), mbarriers(1, 1).at(0), mbarriers(1, 2 * BM + 1).at(0));
        let ring = (k_full, k_empty, v_full, v_empty);
        barrier();
        let tiles = longest.div_ceil(BM);
        let sequences = if PACKED { ENDS - 1 } else { B };
        let pieces = (tiles * HQ * sequences).min(1 << 24);
        let work = (pieces, tiles, sequences, window);
        let (ends, memory) = ((q_ends, k_ends), (q_smem, k_smem, v_smem));
        if warp_group() == 0 {
            set_max_registers(if PACKED {
                40
            } else if CONSUMERS == 2 {
                24
            } else {
                32
            });
            if thread_idx.x == 0 {
                load((q, k, v), ends, memory, slot, of_q, ring, work);
            } else if PACKED && warp_id() == 1 {
                publish(q_ends, slot, (pieces, tiles, HQ), (sequences, M));
            }
        } else {
            set_max_registers(if PACKED {
                232
            } else if CONSUMERS == 2 {
                240
            } else {
                160
            });
            let memory = (q_smem, k_smem, v_smem, o_smem);
            attend((o, logs), ends, memory, slot, of_q, ring, work, (N, scale, strength));
        }
    }
}
