//! A mixture of experts but for its products: which experts a token has and with which weights, tokens sorted by expert, SwiGLU, and the
//! weighted sum back to tokens.
//!
//! ```text
//! gate             a warp a token: K times the first expert behind the last one; lane j has the j-th
//! sort_by_expert   a block an expert: counts the places of those before, then gives its own theirs in the order of tokens
//! swiglu           a thread a vector
//! combine_experts  a thread a vector: the terms of the K experts one after the other
//! ```
//!
//! Law: the order of experts is total: NaN, then from the largest logit down, -0 as 0, equal ones by their number. The sort is stable and has
//! no atomics; sums are float32 in an order that the shape alone fixes. So a result is the same in every run. A token that has a NaN among
//! its logits has that expert first, and its weight is NaN.

use layout_cuda::{Definition, tiled_kernels};

pub use experts::{combine_experts, gate, sort_by_expert, swiglu};

/// Every kernel here.
pub fn definitions() -> [&'static Definition; 4] {
    [&gate::DEFINITION, &sort_by_expert::DEFINITION, &swiglu::DEFINITION, &combine_experts::DEFINITION]
}

#[tiled_kernels]
mod experts {
    // A logit and its expert as a number: the larger, the earlier; 0 and `u64::MAX` are none.
    fn order(logit: f32, expert: usize) -> u64 {
        let bits = select(logit == 0.0, 0.0, logit).to_bits();
        let key = select(bits >= 0x80000000, !bits, bits | 0x80000000);
        (select(logit == logit, key, 0xfffffffe) as u64) << 32 | (u32::MAX - expert as u32) as u64
    }

    /// `experts[i, j]`: the expert number `j` in the order of the logits of token `i`; `weights[i, j]`: its score times `scale`. Scores are a
    /// softmax over the experts, or with `SIGMOID` sigmoids; with `NORMALISED` those of a token's K experts are divided by their sum.
    #[tiled_kernel(
        T = [f32, bf16, f16], SIGMOID = [false, true], NORMALISED = [true, false],
        filter(T == f32 || NORMALISED == !SIGMOID),
        block = [256], grid = [M.div_ceil(8)], require(K <= 32, K <= E, E < 1 << 31), deny(narrowed),
    )]
    pub fn gate<T, const M: usize, const E: usize, const K: usize>(
        logits: &LayoutTensor<T, Pitched<M, E>>,
        experts: &mut LayoutTensor<u32, RowMajor<M, K>>,
        weights: &mut LayoutTensor<f32, RowMajor<M, K>>,
        scale: f32,
    ) {
        let (row, lane) = (block_idx.x * 8 + warp_id(), lane_id());
        if row < M {
            let (mut last, mut own) = (u64::MAX, u64::MAX);
            for j in 0..K {
                let mut next: u64 = 0;
                for expert in (lane..E).step_by(32) {
                    let word = order(logits[[row, expert]].cast::<f32>(), expert);
                    next = next.max(select(word < last, word, 0));
                }
                last = next.warp_max();
                own = select(lane == j, last, own);
            }
            let expert = (u32::MAX - own as u32) as usize;
            let mut logit = f32::NEG_INFINITY;
            if lane < K && expert < E {
                logit = logits[[row, expert]].cast::<f32>();
            }
            // Relative to the first one no score is lost to what float32 cannot hold.
            let most = logit.shuffle(0);
            let base = if !SIGMOID {
                most
            } else if NORMALISED {
                most.min(0.0)
            } else {
                0.0
            };
            let of_score = |x: f32| {
                if SIGMOID { (x.min(0.0) - base).exp() / (1.0 + (-x.abs()).exp()) } else { (x - base).exp() }
            };
            let score = of_score(logit);
            let mut sum = 1.0;
            if NORMALISED {
                sum = select(lane < K, score, 0.0).warp_sum();
            } else if !SIGMOID {
                let mut all = 0.0;
                for expert in (lane..E).step_by(32) {
                    all += of_score(logits[[row, expert]].cast::<f32>());
                }
                sum = all.warp_sum();
            }
            if lane < K {
                experts[[row, lane]] = expert as u32;
                weights[[row, lane]] = score / sum * scale;
            }
        }
    }

    /// Of the expert of each place of K for a token, all tokens' in one list: `places[i]` is where place `i` is when the list is sorted by
    /// expert, `tokens[p]` the token there, `ends[e]` where expert `e` ends. What is no expert comes last, and has no place and no token.
    #[tiled_kernel(THREADS = 512, block = [THREADS], grid = [E + 1], require(P < 1 << 31), deny(narrowed))]
    pub fn sort_by_expert<const P: usize, const E: usize>(
        experts: &LayoutTensor<u32, RowMajor<P>>,
        tokens: &mut LayoutTensor<u32, RowMajor<P>>,
        places: &mut LayoutTensor<u32, RowMajor<P>>,
        ends: &mut LayoutTensor<i32, RowMajor<E>>,
        k: u32,
    ) {
        let group = block_idx.x as u32;
        let mut count: u32 = 0;
        for four in (thread_idx.x..P.div_ceil(4)).step_by(THREADS) {
            let of_four = experts.window([4], [four * 4]).vectorize([4]).to_local();
            for i in unroll(0..4) {
                count += (four * 4 + i < P && of_four[[i]] < group) as u32;
            }
        }
        let mut before = count.block_sum();
        for round in 0..P.div_ceil(4 * THREADS) {
            let first = (round * THREADS + thread_idx.x) * 4;
            let of_four = experts.window([4], [first]).vectorize([4]).to_local();
            let mut count: u32 = 0;
            for i in unroll(0..4) {
                count += (first + i < P && of_four[[i]].min(E as u32) == group) as u32;
            }
            let mut place = before + count.block_prefix_sum() - count;
            before += count.block_sum();
            let is_expert = group < E as u32;
            for i in unroll(0..4) {
                if first + i < P && of_four[[i]].min(E as u32) == group && (place as usize) < P {
                    tokens[[place as usize]] = if is_expert { (first + i) as u32 / k } else { u32::MAX };
                    places[[first + i]] = if is_expert { place } else { u32::MAX };
                    place += 1;
                }
            }
        }
        if thread_idx.x == 0 && block_idx.x < E {
            ends[[block_idx.x]] = before as i32;
        }
    }

    /// `out[i, j] = silu(x[i, j]) x[i, H + j]`
    #[tiled_kernel(
        T = [bf16, f16, f32], V = [8, 4, 1], filter(V * size_of::<T>() <= 16 && (V != 4 || T == f32)),
        block = [256], grid = [(M * (H / V)).div_ceil(256)],
        require(H % V == 0, M * H < 2147483136), deny(narrowed),
    )]
    pub fn swiglu<T, const M: usize, const H: usize>(
        x: &LayoutTensor<T, RowMajor<M, { 2 * H }>>,
        out: &mut LayoutTensor<T, RowMajor<M, H>>,
    ) {
        let at = (block_idx.x * 256 + thread_idx.x) as u32;
        let vectors = (H / V) as u32;
        if at < M as u32 * vectors {
            let (row, vector) = ((at / vectors) as usize, (at % vectors) as usize);
            assume(row < M && vector < H / V);
            let gate = x.tile([1, V], [row, vector]).vectorize([1, V]).to_local();
            let up = x.tile([1, V], [row, H / V + vector]).vectorize([1, V]).to_local();
            let mut own = local::<T>(row_major([1, V]));
            for i in unroll(0..V) {
                let gate = gate[[0, i]].cast::<f32>();
                let silu = select(gate < -200.0, -0.0, gate / (1.0 + (-gate).exp()));
                own[[0, i]] = (silu * up[[0, i]].cast::<f32>()).cast::<T>();
            }
            out.tile([1, V], [row, vector]).vectorize([1, V]).copy_from(&own.vectorize([1, V]));
        }
    }

    /// `out[i]`: the sum over `j`, in its order, of `weights[i, j] y[places[i, j]]`; a place beyond the rows of `y` adds nothing.
    #[tiled_kernel(
        T = [bf16, f16, f32], V = [8, 4, 1], filter(V * size_of::<T>() <= 16 && (V != 4 || T == f32)),
        block = [256], grid = [(M * (D / V)).div_ceil(256)], require(D % V == 0, M * D < 4294966272), deny(narrowed),
    )]
    pub fn combine_experts<T, const M: usize, const K: usize, const P: usize, const D: usize>(
        y: &LayoutTensor<T, RowMajor<P, D>>,
        places: &LayoutTensor<u32, RowMajor<M, K>>,
        weights: &LayoutTensor<f32, RowMajor<M, K>>,
        out: &mut LayoutTensor<T, RowMajor<M, D>>,
    ) {
        let at = (block_idx.x * 256 + thread_idx.x) as u32;
        let vectors = (D / V) as u32;
        if at < M as u32 * vectors {
            let (row, vector) = ((at / vectors) as usize, (at % vectors) as usize);
            assume(row < M && vector < D / V);
            let mut sum = [0.0; V];
            for j in 0..K {
                let from = places[[row, j]] as usize;
                if from < P {
                    let own = y.tile([1, V], [from, vector]).vectorize([1, V]).to_local();
                    for i in unroll(0..V) {
                        sum[i] += weights[[row, j]] * own[[0, i]].cast::<f32>();
                    }
                }
            }
            let mut own = local::<T>(row_major([1, V]));
            for i in unroll(0..V) {
                own[[0, i]] = sum[i].cast::<T>();
            }
            out.tile([1, V], [row, vector]).vectorize([1, V]).copy_from(&own.vectorize([1, V]));
        }
    }
}
