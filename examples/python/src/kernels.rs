//! The kernels: root mean square norm of rows, and its gradients.
//!
//! `out[i, j] = x[i, j] * scale[i] * weight[j]`, `scale[i] = 1 / sqrt(mean of x[i, ..]² + epsilon)`. Sums are float32 whatever the
//! elements are. A row is a block's, 16 bytes at once a thread; it is read twice, the second time from the cache.
//!
//! Law: a row with a NaN or an infinity is NaN, and so is one whose sum of squares leaves float32: for elements of up to
//! 1.8e19 / sqrt(N) it does not.

use layout_cuda::tiled_kernels;

pub use kernels::{rms_norm, rms_norm_dweight, rms_norm_dx};

#[tiled_kernels]
mod kernels {
    /// Elements of 16 bytes, which are this thread's, of a row.
    fn own(matrix: impl Tensor<Elem = T>, row: usize, vector: usize) -> View<f32, Write> {
        const V: usize = 16 / size_of::<T>();
        matrix.tile([1, V], [row, vector]).vectorize([1, V]).to_local().cast::<f32>()
    }

    /// The same of the weights.
    fn weights(weight: impl Tensor<Elem = T>, vector: usize) -> View<f32, Write> {
        const V: usize = 16 / size_of::<T>();
        weight.tile([V], [vector]).vectorize([V]).to_local().cast::<f32>()
    }

    /// The norm, and, `SCALED`, the scale of each row, which the gradients need; else `scale` has no elements.
    #[tiled_kernel(
        T = [f32, bf16, f16], SCALED = [true, false], THREADS = 256,
        block = [THREADS], grid = [M],
        require(S == if SCALED { M } else { 0 }),
    )]
    pub fn rms_norm<T, const M: usize, const N: usize, const S: usize>(
        x: &LayoutTensor<T, RowMajor<M, N>>,
        weight: &LayoutTensor<T, RowMajor<N>>,
        out: &mut LayoutTensor<T, RowMajor<M, N>>,
        scale: &mut LayoutTensor<f32, RowMajor<S>>,
        epsilon: f32,
    ) {
        const V: usize = 16 / size_of::<T>();
        let row = block_idx.x;
        let mut sum: f32 = 0.0;
        for step in 0..N.div_ceil(THREADS * V) {
            let x = own(x, row, step * THREADS + thread_idx.x);
            for i in unroll(0..V) {
                sum += x[[0, i]] * x[[0, i]];
            }
        }
        let mean = sum.block_sum() / N as f32;
        // The sum of squares has left float32: 1 / infinity would make a row of zeros of it.
        let factor = select(mean < f32::INFINITY, (mean + epsilon).rsqrt(), f32::NAN);
        if SCALED && thread_idx.x == 0 {
            scale[[row]] = factor;
        }
        for step in 0..N.div_ceil(THREADS * V) {
            let vector = step * THREADS + thread_idx.x;
            let (mut x, weight) = (own(x, row, vector), weights(weight, vector));
            for i in unroll(0..V) {
                x[[0, i]] *= factor * weight[[i]];
            }
            out.tile([1, V], [row, vector]).vectorize([1, V]).copy_from(&x.cast::<T>().vectorize([1, V]));
        }
    }

    /// The gradient by x: `dx = scale (dy weight - x scale² mean of (dy weight x))`.
    #[tiled_kernel(T = [f32, bf16, f16], THREADS = 256, block = [THREADS], grid = [M])]
    pub fn rms_norm_dx<T, const M: usize, const N: usize>(
        x: &LayoutTensor<T, RowMajor<M, N>>,
        weight: &LayoutTensor<T, RowMajor<N>>,
        scale: &LayoutTensor<f32, RowMajor<M>>,
        dy: &LayoutTensor<T, RowMajor<M, N>>,
        dx: &mut LayoutTensor<T, RowMajor<M, N>>,
    ) {
        const V: usize = 16 / size_of::<T>();
        let row = block_idx.x;
        let mut sum: f32 = 0.0;
        for step in 0..N.div_ceil(THREADS * V) {
            let vector = step * THREADS + thread_idx.x;
            let (x, dy, weight) = (own(x, row, vector), own(dy, row, vector), weights(weight, vector));
            for i in unroll(0..V) {
                sum += x[[0, i]] * dy[[0, i]] * weight[[i]];
            }
        }
        let factor = scale[[row]];
        let common = sum.block_sum() / N as f32 * factor * factor;
        for step in 0..N.div_ceil(THREADS * V) {
            let vector = step * THREADS + thread_idx.x;
            let (x, mut dy, weight) = (own(x, row, vector), own(dy, row, vector), weights(weight, vector));
            for i in unroll(0..V) {
                dy[[0, i]] = factor * (dy[[0, i]] * weight[[i]] - x[[0, i]] * common);
            }
            dx.tile([1, V], [row, vector]).vectorize([1, V]).copy_from(&dy.cast::<T>().vectorize([1, V]));
        }
    }

    /// The gradient by the weights, in `P` parts, whose sum it is: part `p` has the rows `p`, `p + P`, and so on.
    #[tiled_kernel(
        T = [f32, bf16, f16], THREADS = 128,
        block = [THREADS],
        grid = [N.div_ceil(16 / size_of::<T>() * THREADS), P],
    )]
    pub fn rms_norm_dweight<T, const M: usize, const N: usize, const P: usize>(
        x: &LayoutTensor<T, RowMajor<M, N>>,
        scale: &LayoutTensor<f32, RowMajor<M>>,
        dy: &LayoutTensor<T, RowMajor<M, N>>,
        parts: &mut LayoutTensor<f32, RowMajor<P, N>>,
    ) {
        const V: usize = 16 / size_of::<T>();
        let vector = block_idx.x * THREADS + thread_idx.x;
        let mut sums = local::<f32>(row_major([1, V]));
        sums.fill(0.0);
        for round in 0..M.div_ceil(P) {
            let row = round * P + block_idx.y;
            let (x, dy) = (own(x, row, vector), own(dy, row, vector));
            let factor = if row < M { scale[[row]] } else { 0.0 };
            for i in unroll(0..V) {
                sums[[0, i]] += x[[0, i]] * dy[[0, i]] * factor;
            }
        }
        parts.tile([1, V], [block_idx.y, vector]).copy_from(&sums);
    }
}
