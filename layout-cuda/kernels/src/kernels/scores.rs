//! What the kernels of attention may do to a score, and which keys a query may see: forward, backward and decoding share these.
//!
//! Law: a mask `KEEP(batch, head, query, key, window)` says whether a query sees a key. Its range, of the queries `first..last`, is `(from, to,
//! all_from, all_to)`: no key outside of `from..to` is seen by any of them, and every key of `all_from..all_to` by all. A score is `unit * SCORE(scale * product / unit, ..)`: what a softmax multiplies
//! by anyway costs nothing there, and a function of keys is spared what is the same for all.
//!
//! Both backward kernels have tiles of rows that stay and tiles of rows that go by: with `OF_KEYS` keys stay and queries go by.

use layout_cuda::tiled_kernels;

#[tiled_kernels(open = attention_scores)]
mod functions {
    /// Every key counts.
    fn every(_batch: i32, _head: i32, _query: i32, _key: i32, _window: i32) -> bool {
        true
    }

    /// Keys up to the query.
    fn causal(_batch: i32, _head: i32, query: i32, key: i32, _window: i32) -> bool {
        key <= query
    }

    /// The last `window` keys up to the query.
    fn sliding(_batch: i32, _head: i32, query: i32, key: i32, window: i32) -> bool {
        key <= query && query - key < window
    }

    /// Of queries `first..last`: the keys `from..to` that some of them see, and those that all of them see.
    fn all_keys(_first: i32, _last: i32, keys: i32, _window: i32) -> (i32, i32, i32, i32) {
        (0, keys, 0, keys)
    }

    fn keys_before(first: i32, last: i32, keys: i32, _window: i32) -> (i32, i32, i32, i32) {
        (0, last.clamp(0, keys), 0, (first + 1).clamp(0, keys))
    }

    fn keys_within(first: i32, last: i32, keys: i32, window: i32) -> (i32, i32, i32, i32) {
        let (from, to) = ((first + 1 - window).clamp(0, keys), last.clamp(0, keys));
        (from, to, (last - window).clamp(0, keys), (first + 1).clamp(0, keys))
    }

    /// The product as it is.
    fn plain(score: f32, _batch: i32, _head: i32, _query: i32, _key: i32, _strength: f32) -> f32 {
        score
    }

    /// In which unit `SCORE` takes and gives scores, the same for all heads, and what a head's `SCORE` is given as its strength.
    fn as_it_is(_head: i32, strength: f32) -> (f32, f32) {
        (1.0, strength)
    }

    fn of_caps(_head: i32, strength: f32) -> (f32, f32) {
        (strength, strength)
    }

    fn of_slopes(head: i32, heads: f32) -> (f32, f32) {
        (1.0, (-8.0 * (head + 1) as f32).div_approx(heads).exp2_approx())
    }

    /// Never beyond `strength`, which is the unit.
    fn soft_cap(score: f32, _batch: i32, _head: i32, _query: i32, _key: i32, _strength: f32) -> f32 {
        score.tanh_approx()
    }

    /// ALiBi: a key counts less the farther it is, by `slope` a place: 2⁻⁸ᑫ, `q` the head's place among the heads.
    fn alibi(score: f32, _batch: i32, _head: i32, query: i32, key: i32, slope: f32) -> f32 {
        score - slope * distance(query, key)
    }

    /// The first row of a sequence in the tensor, and its number of rows. Ends out of range are clamped to the tensor.
    fn rows_of(ends: impl Tensor<Elem = i32>, sequence: usize, rows: usize) -> (i32, i32) {
        if PACKED {
            let first = ends[[sequence]].clamp(0, rows as i32);
            (first, ends[[sequence + 1]].clamp(first, rows as i32) - first)
        } else {
            (0, rows as i32)
        }
    }

    /// How many places a key is from its query, up to 2²². `as f32` takes as long as an exponential; an integer added to the
    /// bits of 1.5 · 2²³ adds itself to the number.
    fn distance(query: i32, key: i32) -> f32 {
        (f32::from_bits((query - key + 0x4b40_0000) as u32) - 12_582_912.0).abs()
    }

    /// The derivative of a score by its product, from the score itself in its unit, which is minus infinity where a key is not
    /// seen.
    fn one(_score: f32, _strength: f32) -> f32 {
        1.0
    }

    fn of_cap(score: f32, _strength: f32) -> f32 {
        let part = score.max(-1.0);
        1.0 - part * part
    }

    /// For a tile of rows that stay and one of rows that go by: whether some query sees some key, and whether every query
    /// sees every key.
    fn pair(fixed: i32, moving: i32, (queries, keys, window): (i32, i32, i32)) -> (bool, bool) {
        let (query, key) = if OF_KEYS { (moving, fixed) } else { (fixed, moving) };
        let (rows, columns) =
            if OF_KEYS { (MOVING as i32, FIXED as i32) } else { (FIXED as i32, MOVING as i32) };
        let place = query + keys - queries;
        let (from, to, all_from, all_to) = RANGE(place, place + rows, keys, window);
        let ends = PACKED && OF_KEYS && query + rows > queries;
        (key < to && key + columns > from, key >= all_from && key + columns <= all_to && !ends)
    }

    /// The tile of a block of threads: its first row, its head, its batch or its sequence, and whether there is one. The tile
    /// that sees most comes first; those of packed sequences are counted sequence by sequence.
    fn tile_of(
        ends: impl Tensor<Elem = i32>,
        rows: usize,
        heads: usize,
        batches: usize,
    ) -> (usize, usize, usize, bool) {
        if PACKED {
            let (item, head) = (block_idx.x / heads, block_idx.x % heads);
            let (mut row, mut sequence, mut is, mut before) = (0, 0, false, 0);
            for z in 1..ends.dim(0) {
                let (_, count) = rows_of(ends, z - 1, rows);
                let tiles = (count as usize).div_ceil(FIXED);
                if !is && item < before + tiles {
                    row = if OF_KEYS { item - before } else { before + tiles - 1 - item };
                    sequence = z - 1;
                    is = true;
                }
                before += tiles;
            }
            (row * FIXED, head, sequence, is)
        } else {
            // At least one: then what is left of the block's number fits 32 bits, and f16 has no spills. A slope has none without.
            let tiles = if SLOPED { rows.div_ceil(FIXED) } else { rows.div_ceil(FIXED).max(1) };
            let others = heads * batches;
            let (row, rest) = if BY_HEADS {
                (block_idx.x % tiles, block_idx.x / tiles)
            } else {
                // Eight heads at once, the longest tiles first: what goes by stays in L2 longer.
                let (first, item) = (block_idx.x / (8 * tiles) * 8, block_idx.x % (8 * tiles));
                let heads = (others - first).min(8);
                (item / heads, first + item % heads)
            };
            let row = if OF_KEYS { row } else { tiles - 1 - row };
            (row * FIXED, rest % heads, rest / heads, true)
        }
    }

    /// Of sequence `z`: its first query and its first key in the tensors, and what its masks need of it.
    fn sequence_of(
        (q_ends, k_ends): (impl Tensor<Elem = i32>, impl Tensor<Elem = i32>),
        z: usize,
        (queries, keys): (usize, usize),
        window: i32,
    ) -> (usize, usize, (i32, i32, i32)) {
        let (q_first, own_queries) = rows_of(q_ends, z, queries);
        let (k_first, own_keys) = rows_of(k_ends, z, keys);
        (q_first as usize, k_first as usize, (own_queries, own_keys, window))
    }

    /// How many tiles of rows go by.
    fn blocks_of((queries, keys, _): (i32, i32, i32)) -> usize {
        (if OF_KEYS { queries } else { keys } as usize).div_ceil(MOVING)
    }

    /// Copies the rows of a tile to shared memory, W columns after the other.
    fn load_slabs(to: View<T, Write>, from: impl Tensor<Elem = T>, columns: usize) {
        for slab in unroll(0..columns / W) {
            let tile = from.tile([from.dim(0), W], [0, slab]).vectorize([1, 8]);
            copy_dram_to_sram_async(
                &mut to.slice(slab).vectorize([1, 8]),
                &tile,
                row_major([block_dim.x * 8 / W, W / 8]),
            );
        }
    }
}
