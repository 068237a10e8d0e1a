//! Layer norm of rows that stay in registers, as softmax does it: each element is read once and written once.
//!
//! `out[i, j] = (x[i, j] - mean) / sqrt(variance + epsilon) * scale[j] + shift[j]`, with mean and variance of row `i`. The
//! variance is that around the mean: of parts around their own means, combined in a fixed order.
//!
//! Law, of each kernel of layer norm here: the mean is within 40 units in the last place of the mean of absolute values. A row with a
//! NaN or an infinity is NaN, and so is one whose sum, or whose sum of squares around the mean, leaves float32: for elements of up to
//! 1.8e19 / sqrt(N) neither does. Squares below 1.2e-38 are lost beside `epsilon`.

use layout_cuda::tiled_kernel;

/// Rows of up to `GROUP ROUNDS 4` elements, with `GROUP` threads a row: a power of two; more than 32 are the block. With
/// `ODD`, rows begin at any address: a row's vectors begin at the aligned address before it, and scale and shift are read
/// one by one.
#[tiled_kernel(
    GROUP = [4, 512], ROUNDS = 8, ODD = [false, true],
    block = [GROUP.max(256)],
    grid = [M.div_ceil(GROUP.max(256) / GROUP)],
    require(N + if ODD { 3 } else { 0 } <= GROUP * ROUNDS * 4),
    variant_if(N % 4 == 0),
    deny(narrowed),
)]
pub fn layer_norm<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    scale: &LayoutTensor<f32, RowMajor<N>>,
    shift: &LayoutTensor<f32, RowMajor<N>>,
    out: &mut LayoutTensor<f32, RowMajor<M, N>>,
    epsilon: f32,
) {
    const THREADS: usize = if GROUP > 256 { GROUP } else { 256 };
    const ROW: usize = GROUP * ROUNDS * 4;
    /// What scale or shift have for a vector of an odd row.
    fn of_columns(factors: impl Tensor<Elem = f32>, vector: usize, before: isize) -> View<f32, Write> {
        let all = factors.window([ROW], [-before]);
        let mut own = local::<f32>(row_major([4]));
        for j in unroll(0..4) {
            own[[j]] = all[[vector * 4 + j]];
        }
        own
    }
    let (row, thread) = (block_idx.x * (THREADS / GROUP) + thread_idx.x / GROUP, thread_idx.x % GROUP);
    let before = if ODD { (row * N % 4) as isize } else { 0 };
    let from = x.window([1, ROW], [row as isize, -before]).vectorize([1, 4]);
    let mut own = from.distribute(row_major([1, GROUP]), thread).to_local();
    let mut sum: f32 = 0.0;
    for i in unroll(0..ROUNDS * 4) {
        sum += own[[0, i]];
    }
    let sum = if GROUP > 32 { sum.block_sum() } else { group_sum(sum, GROUP) };
    let count = N as f32;
    let mean = sum / count;
    let mut square: f32 = 0.0;
    for i in unroll(0..ROUNDS) {
        for j in unroll(0..4) {
            let off = own[[0, i * 4 + j]] - mean;
            if ODD {
                let column = ((i * GROUP + thread) * 4 + j) as isize - before;
                square += select(column >= 0 && column < N as isize, off * off, 0.0);
            } else {
                square += select((i * GROUP + thread) * 4 + j < N, off * off, 0.0);
            }
            own[[0, i * 4 + j]] = off;
        }
    }
    let square = if GROUP > 32 { square.block_sum() } else { group_sum(square, GROUP) };
    // The sum of squares has left float32: 1 / infinity would make a row of `shift` of it.
    let variance = select(square < f32::INFINITY, square / count + epsilon, f32::NAN);
    let factor = 1.0 / variance.sqrt();
    for i in unroll(0..ROUNDS) {
        let scales = if ODD {
            of_columns(scale, i * GROUP + thread, before)
        } else {
            scale.tile([ROW], [0]).tile([4], [i * GROUP + thread]).vectorize([4]).to_local()
        };
        for j in unroll(0..4) {
            own[[0, i * 4 + j]] *= factor * scales[[j]];
        }
    }
    for i in unroll(0..ROUNDS) {
        let shifts = if ODD {
            of_columns(shift, i * GROUP + thread, before)
        } else {
            shift.tile([ROW], [0]).tile([4], [i * GROUP + thread]).vectorize([4]).to_local()
        };
        for j in unroll(0..4) {
            own[[0, i * 4 + j]] += shifts[[j]];
        }
    }
    let to = out.window([1, ROW], [row as isize, -before]).vectorize([1, 4]);
    to.distribute(row_major([1, GROUP]), thread).copy_from(&own.vectorize([1, 4]));
}
