//! What the kernels of attention may do to a score, and which keys a query may see: forward, backward and decoding share these.
//!
//! Law: a mask `KEEP(batch, head, query, key, window)` says whether a query sees a key. Its range, of the queries `first..last`, is `(from, to,
//! all_from, all_to)`: no key outside of `from..to` is seen by any of them, and every key of `all_from..all_to` by all. A score is `unit * SCORE(scale * product / unit, ..)`: what a softmax multiplies
//! by anyway costs nothing there, and a function of keys is spared what is the same for all.

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
}
