//! Rows that begin at any address, a block a row: log-softmax, cross entropy with ignored labels, and what goes back through softmax,
//! cross entropy, layer norm and RMS norm.
//!
//! ```text
//! block:    its row once for each sum, then once more to write; the second time from the cache
//! columns:  256 of some rows; then the sums of these parts
//! ```
//!
//! Law: sums are float32 in an order that the shape alone fixes. A row with a NaN, or with plus infinity among logits, is NaN, and so is one
//! whose sum of squares leaves float32. Logits of any size are taken; those of minus infinity have the weight 0.

use layout_cuda::tiled_kernels;

pub use passes::{
    entropy, entropy_backward, log_softmax, norm_backward, norm_columns, softmax_backward, sum_columns,
};

#[tiled_kernels]
mod passes {
    // e to the distance from the largest: that first, as a product of the largest may leave float32.
    fn weight(x: f32, most: f32) -> f32 {
        ((x - most) * 1.44269504).exp2_approx()
    }

    // The largest element of a row, and the sum of weights relative to it.
    fn powers<T: Element>(x: impl Tensor<Elem = T>, row: usize, before: isize, n: usize) -> (f32, f32) {
        let v = 16 / size_of::<T>();
        // Finite: minus infinity less itself would be no number.
        let (mut most, mut sum) = (f32::MIN, 0.0);
        for eight in (thread_idx.x..(n + v - 1).div_ceil(8)).step_by(256) {
            let first = (eight * 8) as isize - before;
            let own = x.window([1, 8], [row as isize, first]).vectorize([1, v]).to_local();
            let mut values = [0.0; 8];
            let mut high = most;
            for i in unroll(0..8) {
                // A column in front of the row is a large one, too.
                let is_inside = ((first + i as isize) as u32) < n as u32;
                values[i] = select(is_inside, own[[0, i]].cast::<f32>(), f32::NEG_INFINITY);
                high = high.max(values[i]);
            }
            sum *= weight(most, high);
            for i in unroll(0..8) {
                sum += weight(values[i], high);
            }
            most = high;
        }
        let of_row = most.block_max();
        (of_row, (sum * weight(most, of_row)).block_sum())
    }

    /// `out[i, j] = x[i, j] - log(sum of e^x[i])`
    #[tiled_kernel(T = [f32, bf16, f16], block = [256], grid = [M], deny(narrowed))]
    pub fn log_softmax<T, const M: usize, const N: usize>(
        x: &LayoutTensor<T, RowMajor<M, N>>,
        out: &mut LayoutTensor<T, RowMajor<M, N>>,
    ) {
        const V: usize = 16 / size_of::<T>();
        let row = block_idx.x;
        let before = (row * N % V) as isize;
        let (most, sum) = powers(x, row, before, N);
        let log = sum.ln();
        for eight in (thread_idx.x..(N + V - 1).div_ceil(8)).step_by(256) {
            let at = [row as isize, (eight * 8) as isize - before];
            let mut own = x.window([1, 8], at).vectorize([1, V]).to_local();
            for i in unroll(0..8) {
                own[[0, i]] = ((own[[0, i]].cast::<f32>() - most) - log).cast::<T>();
            }
            out.window([1, 8], at).vectorize([1, V]).copy_from(&own.vectorize([1, V]));
        }
    }

    /// `dx[i, j] = y[i, j] (dy[i, j] - sum over k of y[i, k] dy[i, k])`
    #[tiled_kernel(T = [f32, bf16, f16], block = [256], grid = [M], deny(narrowed))]
    pub fn softmax_backward<T, const M: usize, const N: usize>(
        y: &LayoutTensor<T, RowMajor<M, N>>,
        dy: &LayoutTensor<T, RowMajor<M, N>>,
        dx: &mut LayoutTensor<T, RowMajor<M, N>>,
    ) {
        const V: usize = 16 / size_of::<T>();
        let row = block_idx.x;
        let before = (row * N % V) as isize;
        let mut sum = 0.0;
        for eight in (thread_idx.x..(N + V - 1).div_ceil(8)).step_by(256) {
            let at = [row as isize, (eight * 8) as isize - before];
            let own = y.window([1, 8], at).vectorize([1, V]).to_local();
            let other = dy.window([1, 8], at).vectorize([1, V]).to_local();
            for i in unroll(0..8) {
                sum += own[[0, i]].cast::<f32>() * other[[0, i]].cast::<f32>();
            }
        }
        let sum = sum.block_sum();
        for eight in (thread_idx.x..(N + V - 1).div_ceil(8)).step_by(256) {
            let at = [row as isize, (eight * 8) as isize - before];
            let mut own = y.window([1, 8], at).vectorize([1, V]).to_local();
            let other = dy.window([1, 8], at).vectorize([1, V]).to_local();
            for i in unroll(0..8) {
                own[[0, i]] = (own[[0, i]].cast::<f32>() * (other[[0, i]].cast::<f32>() - sum)).cast::<T>();
            }
            dx.window([1, 8], at).vectorize([1, V]).copy_from(&own.vectorize([1, V]));
        }
    }

    /// `loss[i] = log(sum of e^logits[i]) - logits[i, targets[i]]`, 0 where the target is beyond the row.
    #[tiled_kernel(T = [f32, bf16, f16], block = [256], grid = [M], deny(narrowed))]
    pub fn entropy<T, const M: usize, const N: usize>(
        logits: &LayoutTensor<T, RowMajor<M, N>>,
        targets: &LayoutTensor<u32, RowMajor<M>>,
        loss: &mut LayoutTensor<f32, RowMajor<M>>,
    ) {
        const V: usize = 16 / size_of::<T>();
        let row = block_idx.x;
        let (most, sum) = powers(logits, row, (row * N % V) as isize, N);
        if thread_idx.x == 0 {
            let target = targets[[row]] as usize;
            let mut own = 0.0;
            if target < N {
                own = (most - logits[[row, target]].cast::<f32>()) + sum.ln();
            }
            loss[[row]] = own;
        }
    }

    /// `dx[i, j] = (e^logits[i, j] / sum of e^logits[i] - [j is targets[i]]) factors[i]`, 0 where the target is beyond the row.
    #[tiled_kernel(T = [f32, bf16, f16], block = [256], grid = [M], deny(narrowed))]
    pub fn entropy_backward<T, const M: usize, const N: usize>(
        logits: &LayoutTensor<T, RowMajor<M, N>>,
        targets: &LayoutTensor<u32, RowMajor<M>>,
        factors: &LayoutTensor<f32, RowMajor<M>>,
        dx: &mut LayoutTensor<T, RowMajor<M, N>>,
    ) {
        const V: usize = 16 / size_of::<T>();
        let row = block_idx.x;
        let before = (row * N % V) as isize;
        let (most, sum) = powers(logits, row, before, N);
        let target = targets[[row]];
        let (factor, share, is_counted) = (factors[[row]], 1.0 / sum, target < N as u32);
        for eight in (thread_idx.x..(N + V - 1).div_ceil(8)).step_by(256) {
            let first = (eight * 8) as isize - before;
            let mut own = logits.window([1, 8], [row as isize, first]).vectorize([1, V]).to_local();
            for i in unroll(0..8) {
                let part = weight(own[[0, i]].cast::<f32>(), most) * share;
                let is_target = first + i as isize == target as isize;
                let slope = factor * (part - select(is_target, 1.0, 0.0));
                own[[0, i]] = select(is_counted, slope, 0.0).cast::<T>();
            }
            dx.window([1, 8], [row as isize, first]).vectorize([1, V]).copy_from(&own.vectorize([1, V]));
        }
    }

    /// What goes back to `x` through layer norm, with `RMS` through RMS norm; and of each row the mean, with `RMS` 0, and the factor
    /// `1 / sqrt(variance + epsilon)`.
    #[tiled_kernel(T = [f32, bf16, f16], RMS = [false, true], block = [256], grid = [M], deny(narrowed))]
    pub fn norm_backward<T, const M: usize, const N: usize>(
        x: &LayoutTensor<T, RowMajor<M, N>>,
        scale: &LayoutTensor<T, RowMajor<N>>,
        dy: &LayoutTensor<T, RowMajor<M, N>>,
        dx: &mut LayoutTensor<T, RowMajor<M, N>>,
        stats: &mut LayoutTensor<f32, RowMajor<M, 2>>,
        epsilon: f32,
    ) {
        const V: usize = 16 / size_of::<T>();
        let row = block_idx.x;
        let before = (row * N % V) as isize;
        let (count, eights) = (N as f32, (N + V - 1).div_ceil(8));
        let mut mean = 0.0;
        if !RMS {
            let mut sum = 0.0;
            for eight in (thread_idx.x..eights).step_by(256) {
                let at = [row as isize, (eight * 8) as isize - before];
                let own = x.window([1, 8], at).vectorize([1, V]).to_local();
                for i in unroll(0..8) {
                    sum += own[[0, i]].cast::<f32>();
                }
            }
            mean = sum.block_sum() / count;
        }
        let (mut squares, mut slopes, mut along) = (0.0, 0.0, 0.0);
        for eight in (thread_idx.x..eights).step_by(256) {
            let first = (eight * 8) as isize - before;
            let own = x.window([1, 8], [row as isize, first]).vectorize([1, V]).to_local();
            let other = dy.window([1, 8], [row as isize, first]).vectorize([1, V]).to_local();
            let factors = scale.window([8], [first]);
            for i in unroll(0..8) {
                let is_inside = first + i as isize >= 0 && first + (i as isize) < N as isize;
                let off = select(is_inside, own[[0, i]].cast::<f32>() - mean, 0.0);
                let slope = other[[0, i]].cast::<f32>() * factors[[i]].cast::<f32>();
                squares += off * off;
                slopes += slope;
                along += slope * off;
            }
        }
        let squares = squares.block_sum();
        // The sum of squares has left float32: 1 / infinity would make a row of zeros of it.
        let factor = select(squares < f32::INFINITY, 1.0 / (squares / count + epsilon).sqrt(), f32::NAN);
        let level = if RMS { 0.0 } else { slopes.block_sum() / count };
        let tilt = along.block_sum() / count * factor * factor;
        for eight in (thread_idx.x..eights).step_by(256) {
            let first = (eight * 8) as isize - before;
            let mut own = x.window([1, 8], [row as isize, first]).vectorize([1, V]).to_local();
            let other = dy.window([1, 8], [row as isize, first]).vectorize([1, V]).to_local();
            let factors = scale.window([8], [first]);
            for i in unroll(0..8) {
                let slope = other[[0, i]].cast::<f32>() * factors[[i]].cast::<f32>();
                let off = own[[0, i]].cast::<f32>() - mean;
                own[[0, i]] = (factor * ((slope - level) - off * tilt)).cast::<T>();
            }
            dx.window([1, 8], [row as isize, first]).vectorize([1, V]).copy_from(&own.vectorize([1, V]));
        }
        if thread_idx.x == 0 {
            stats[[row, 0]] = mean;
            stats[[row, 1]] = factor;
        }
    }

    /// `parts[s, 0, j]`: the sum of `dy[i, j] (x[i, j] - mean of i) factor of i` over rows `s`, `s + S`, ..; `parts[s, 1, j]` that of `dy`.
    #[tiled_kernel(T = [f32, bf16, f16], block = [256], grid = [N.div_ceil(256), S], deny(narrowed))]
    pub fn norm_columns<T, const M: usize, const N: usize, const S: usize>(
        x: &LayoutTensor<T, RowMajor<M, N>>,
        dy: &LayoutTensor<T, RowMajor<M, N>>,
        stats: &LayoutTensor<f32, RowMajor<M, 2>>,
        parts: &mut LayoutTensor<f32, RowMajor<S, 2, N>>,
    ) {
        let column = block_idx.x * 256 + thread_idx.x;
        if column < N {
            let (mut of_scale, mut of_shift) = (0.0, 0.0);
            for row in (block_idx.y..M).step_by(S) {
                let slope = dy[[row, column]].cast::<f32>();
                let normal = (x[[row, column]].cast::<f32>() - stats[[row, 0]]) * stats[[row, 1]];
                of_scale += slope * normal;
                of_shift += slope;
            }
            parts[[block_idx.y, 0, column]] = of_scale;
            parts[[block_idx.y, 1, column]] = of_shift;
        }
    }

    /// `out[j]`: the sum of `parts[s, which, j]`.
    #[tiled_kernel(block = [256], grid = [N.div_ceil(256)], deny(narrowed))]
    pub fn sum_columns<const N: usize, const S: usize>(
        parts: &LayoutTensor<f32, RowMajor<S, 2, N>>,
        of_scale: &mut LayoutTensor<f32, RowMajor<N>>,
        of_shift: &mut LayoutTensor<f32, RowMajor<N>>,
    ) {
        let column = block_idx.x * 256 + thread_idx.x;
        if column < N {
            let (mut scale, mut shift) = (0.0, 0.0);
            for part in 0..S {
                scale += parts[[part, 0, column]];
                shift += parts[[part, 1, column]];
            }
            of_scale[[column]] = scale;
            of_shift[[column]] = shift;
        }
    }
}

use layout_cuda::Definition;

/// Every kernel here.
pub fn definitions() -> [&'static Definition; 7] {
    [
        &log_softmax::DEFINITION,
        &softmax_backward::DEFINITION,
        &entropy::DEFINITION,
        &entropy_backward::DEFINITION,
        &norm_backward::DEFINITION,
        &norm_columns::DEFINITION,
        &sum_columns::DEFINITION,
    ]
}
