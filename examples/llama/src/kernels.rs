//! What the model's layers need next to products and attention: norms with what comes before them, rotary embedding
//! with the cache's new keys and values, pages of the cache one after the other, the gated product, the largest logit.
//!
//! Law: elements are bf16, computed in float32 and rounded once. A place that no page holds is neither read nor
//! written.

use layout_cuda::tiled_kernels;

pub use passes::{add_norm, append, argmax, embed_norm, gathered, swiglu};

#[tiled_kernels]
mod passes {
    /// Elements of a row that a block holds in a round of its registers.
    const ROUND: usize = 2048;

    // Writes a row that the block holds, and the row normed.
    fn put(
        own: View<bf16, Write>,
        scale: impl Tensor<Elem = bf16>,
        (x, h): (impl Tensor<Elem = bf16, Access = Write>, impl Tensor<Elem = bf16, Access = Write>),
        (row, n, epsilon): (usize, usize, f32),
    ) {
        let threads = row_major([1, 256]);
        let mut own = own;
        // Under way while the sum waits for the other threads.
        let mut factors = local::<bf16>(row_major([ROUNDS * 8]));
        let from = scale.tile([ROUND * ROUNDS], [0]).vectorize([8]);
        factors.vectorize([8]).copy_from(&from.distribute(row_major([256]), thread_idx.x));
        let mut square: f32 = 0.0;
        for i in unroll(0..ROUNDS * 8) {
            let value = own[[0, i]].cast::<f32>();
            square += value * value;
        }
        let to = x.tile([1, ROUND * ROUNDS], [row, 0]).vectorize([1, 8]);
        to.distribute(threads, thread_idx.x).copy_from(&own.vectorize([1, 8]));
        let factor = 1.0 / (square.block_sum() / n as f32 + epsilon).sqrt();
        for i in unroll(0..ROUNDS * 8) {
            own[[0, i]] = (own[[0, i]].cast::<f32>() * factor * factors[[i]].cast::<f32>()).cast::<bf16>();
        }
        let to = h.tile([1, ROUND * ROUNDS], [row, 0]).vectorize([1, 8]);
        to.distribute(threads, thread_idx.x).copy_from(&own.vectorize([1, 8]));
    }

    /// `x[i] = table[tokens[i]]`, and `h[i] = x[i] scale / sqrt(mean of x[i]² + epsilon)`. With `ADVANCE` a length
    /// grows by one: the step's first launch counts the token that it takes.
    #[tiled_kernel(
        ROUNDS = 1, ADVANCE = [true], block = [256], grid = [M], require(N % 8 == 0, N <= ROUND * ROUNDS),
        deny(narrowed),
    )]
    pub fn embed_norm<const M: usize, const N: usize, const V: usize, const B: usize>(
        table: &LayoutTensor<bf16, RowMajor<V, N>>,
        tokens: &LayoutTensor<u32, RowMajor<M>>,
        scale: &LayoutTensor<bf16, RowMajor<N>>,
        lengths: &mut LayoutTensor<i32, RowMajor<B>>,
        x: &mut LayoutTensor<bf16, RowMajor<M, N>>,
        h: &mut LayoutTensor<bf16, RowMajor<M, N>>,
        epsilon: f32,
    ) {
        launch_dependents();
        grid_dependency_wait();
        let row = block_idx.x;
        let mut own = local::<bf16>(row_major([1, ROUNDS * 8]));
        let from = table.tile([1, ROUND * ROUNDS], [tokens[[row]] as usize, 0]).vectorize([1, 8]);
        own.vectorize([1, 8]).copy_from(&from.distribute(row_major([1, 256]), thread_idx.x));
        put(own, scale, (x, h), (row, N, epsilon));
        if ADVANCE && thread_idx.x == 0 && row < B {
            lengths[[row]] = lengths[[row]] + 1;
        }
    }

    /// `x[i] += y[i]`, rounded, and `h[i] = x[i] scale / sqrt(mean of x[i]² + epsilon)`.
    #[tiled_kernel(
        ROUNDS = 1, block = [256], grid = [M], require(N % 8 == 0, N <= ROUND * ROUNDS), deny(narrowed),
    )]
    pub fn add_norm<const M: usize, const N: usize>(
        y: &LayoutTensor<bf16, RowMajor<M, N>>,
        scale: &LayoutTensor<bf16, RowMajor<N>>,
        x: &mut LayoutTensor<bf16, RowMajor<M, N>>,
        h: &mut LayoutTensor<bf16, RowMajor<M, N>>,
        epsilon: f32,
    ) {
        launch_dependents();
        grid_dependency_wait();
        let (row, threads) = (block_idx.x, row_major([1, 256]));
        let mut own = local::<bf16>(row_major([1, ROUNDS * 8]));
        let mut other = local::<bf16>(row_major([1, ROUNDS * 8]));
        let from = x.tile([1, ROUND * ROUNDS], [row, 0]).vectorize([1, 8]);
        own.vectorize([1, 8]).copy_from(&from.distribute(threads, thread_idx.x));
        let from = y.tile([1, ROUND * ROUNDS], [row, 0]).vectorize([1, 8]);
        other.vectorize([1, 8]).copy_from(&from.distribute(threads, thread_idx.x));
        for i in unroll(0..ROUNDS * 8) {
            own[[0, i]] = (own[[0, i]].cast::<f32>() + other[[0, i]].cast::<f32>()).cast::<bf16>();
        }
        put(own, scale, (x, h), (row, N, epsilon));
    }

    // Eight elements of a row, in float32.
    fn load(x: impl Tensor<Elem = bf16>, row: usize, at: usize) -> View<f32, Write> {
        x.tile([1, 8], [row, at]).vectorize([1, 8]).to_local().cast::<f32>()
    }

    // Writes them, rounded.
    fn store(x: impl Tensor<Elem = bf16, Access = Write>, row: usize, at: usize, values: View<f32, Write>) {
        x.tile([1, 8], [row, at]).vectorize([1, 8]).copy_from(&values.cast::<bf16>().vectorize([1, 8]));
    }

    /// Adds the bias to a row's heads of Q, K and V, turns those of Q and K by the angles of the row's place, leaves Q
    /// where it is, and writes K and V into the cache, whose pages have K's heads before V's. A row is a sequence's
    /// last token; with `FILL` rows are places `start..` of sequence `slot`.
    #[tiled_kernel(
        D = 64, FILL = [false], block = [128], grid = [(M * (C / 16)).div_ceil(128)],
        require(D % 16 == 0, C % D == 0, C / D >= H), deny(narrowed),
    )]
    pub fn append<
        const M: usize,
        const C: usize,
        const L: usize,
        const P: usize,
        const H: usize,
        const N: usize,
        const B: usize,
        const W: usize,
    >(
        qkv: &mut LayoutTensor<bf16, RowMajor<M, C>>,
        bias: &LayoutTensor<bf16, RowMajor<1, C>>,
        angles: &LayoutTensor<f32, RowMajor<L, D>>,
        cache: &mut LayoutTensor<bf16, RowMajor<P, H, N, D>>,
        pages: &LayoutTensor<i32, RowMajor<B, W>>,
        lengths: &LayoutTensor<i32, RowMajor<B>>,
        slot: i32,
        start: i32,
    ) {
        const HALF: usize = D / 16;
        launch_dependents();
        grid_dependency_wait();
        let (at, heads) = (block_idx.x * 128 + thread_idx.x, C / D);
        let (row, head, group) = (at / HALF / heads, at / HALF % heads, at % HALF);
        let (first, second) = (head * (2 * HALF) + group, head * (2 * HALF) + HALF + group);
        // Threads behind the last row read its places.
        let sequence = if FILL { slot as usize } else { row.min(M - 1) };
        let place = if FILL { start + row as i32 } else { lengths[[sequence]] - 1 };
        let turn = place.max(0) as usize;
        let cos = angles.tile([1, 8], [turn, group]).vectorize([1, 4]).to_local();
        let sin = angles.tile([1, 8], [turn, HALF + group]).vectorize([1, 4]).to_local();
        let (mut low, mut high) = (load(qkv, row, first), load(qkv, row, second));
        let (of_low, of_high) = (load(bias, 0, first), load(bias, 0, second));
        let is_turned = head < heads - H / 2;
        for i in unroll(0..8) {
            let (a, b) = (low[[0, i]] + of_low[[0, i]], high[[0, i]] + of_high[[0, i]]);
            low[[0, i]] = select(is_turned, a * cos[[0, i]] - b * sin[[0, i]], a);
            high[[0, i]] = select(is_turned, b * cos[[0, i]] + a * sin[[0, i]], b);
        }
        if row < M && head < heads - H {
            store(qkv, row, first, low);
            store(qkv, row, second, high);
        } else if row < M && place >= 0 && place < (W * N) as i32 {
            let page = pages[[sequence, place as usize / N]] as usize;
            let to = cache.slice(page).slice(head - (heads - H));
            store(to, place as usize % N, group, low);
            store(to, place as usize % N, HALF + group, high);
        }
    }

    /// A sequence's keys and values, head after head, from its pages.
    #[tiled_kernel(D = 64, block = [128], grid = [(H * L * (D / 8)).div_ceil(128)], deny(narrowed))]
    pub fn gathered<const P: usize, const H: usize, const N: usize, const W: usize, const L: usize>(
        cache: &LayoutTensor<bf16, RowMajor<P, H, N, D>>,
        pages: &LayoutTensor<i32, RowMajor<W>>,
        to: &mut LayoutTensor<bf16, RowMajor<H, L, D>>,
    ) {
        let at = block_idx.x * 128 + thread_idx.x;
        let (head, place, vector) = (at / (D / 8) / L, at / (D / 8) % L, at % (D / 8));
        if head < H {
            let page = cache.slice(pages[[place / N]] as usize);
            store(to.slice(head), place, vector, load(page.slice(head), place % N, vector));
        }
    }

    /// `out[i, j] = silu(x[i, j]) x[i, N + j]`
    #[tiled_kernel(block = [128], grid = [(M * (N / 8)).div_ceil(128)], require(N % 8 == 0), deny(narrowed))]
    pub fn swiglu<const M: usize, const N: usize>(
        x: &LayoutTensor<bf16, RowMajor<M, { 2 * N }>>,
        out: &mut LayoutTensor<bf16, RowMajor<M, N>>,
    ) {
        launch_dependents();
        grid_dependency_wait();
        let at = block_idx.x * 128 + thread_idx.x;
        let (row, vector) = (at / (N / 8), at % (N / 8));
        if row < M {
            let (mut gate, up) = (load(x, row, vector), load(x, row, N / 8 + vector));
            for i in unroll(0..8) {
                // Far below zero the quotient is -0.
                gate[[0, i]] = gate[[0, i]] / (1.0 + (-gate[[0, i]]).exp()) * up[[0, i]];
            }
            store(out, row, vector, gate);
        }
    }

    /// `out[i]`: where the first of the largest elements of row `i` is, of rows of whole vectors of `V` elements.
    #[tiled_kernel(V = 8, THREADS = 1024, block = [THREADS], grid = [M], require(N % V == 0), deny(narrowed))]
    pub fn argmax<const M: usize, const N: usize>(
        x: &LayoutTensor<bf16, RowMajor<M, N>>,
        out: &mut LayoutTensor<u32, RowMajor<M>>,
    ) {
        launch_dependents();
        grid_dependency_wait();
        let row = block_idx.x;
        let (mut most, mut place) = (f32::NEG_INFINITY, 0);
        for first in (thread_idx.x..N / V).step_by(4 * THREADS) {
            // Four loads before the first comparison.
            let mut own = local::<bf16>(row_major([4, V]));
            for i in unroll(0..4) {
                let from = x.tile([1, V], [row, first + i * THREADS]).vectorize([1, V]);
                own.tile([1, V], [i, 0]).vectorize([1, V]).copy_from(&from);
            }
            for i in unroll(0..4) {
                for j in unroll(0..V) {
                    let at = (first + i * THREADS) * V + j;
                    let value = select(at < N, own[[i, j]].cast::<f32>(), f32::NEG_INFINITY);
                    if value > most {
                        most = value;
                        place = at as u32;
                    }
                }
            }
        }
        let high = most.block_max();
        let found = select(most == high, place, u32::MAX).block_min();
        if thread_idx.x == 0 {
            out[[row]] = select(found < N as u32, found, 0);
        }
    }
}
