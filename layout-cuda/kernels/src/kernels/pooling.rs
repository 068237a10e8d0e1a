//! Pooling of NHWC tensors: of each window the largest number and its place, or the mean.
//!
//! ```text
//! thread:  a pixel of the output, a vector of channels; WIDE elements of a row of the window at a time
//! ```
//!
//! Law: what is outside of the image is left out. A NaN is above every number, of several the last one counts, of equal numbers the first; a
//! mean is a sum in float32 over a count, rounded once.

use layout_cuda::{Definition, tiled_kernels};

pub use pooling::pool;

/// Every kernel here.
pub fn definitions() -> [&'static Definition; 1] {
    [&pool::DEFINITION]
}

#[tiled_kernels]
mod pooling {
    /// `out`, pixels of `height` by `width` of each image: the largest number of each window, or the sum over `count`, or where that is 0 over how many are inside. `indices`: where the
    /// largest one is in its plane, by rows; of no pixel where none is wanted. A window's row is `wide` elements, of which `WIDE` divides.
    #[tiled_kernel(
        T = [f32, bf16, f16], MAXIMUM = [true, false], V = [8, 4, 1], WIDE = 3,
        filter(V * size_of::<T>() == 16 || V == 1 && T == bf16),
        block = [256], grid = [(M * C).div_ceil(256 * V)],
        require(C % V == 0, wide % WIDE == 0, M * C < 4294966272, H * W < 4294967296), deny(narrowed),
    )]
    pub fn pool<
        T,
        const N: usize,
        const H: usize,
        const W: usize,
        const C: usize,
        const M: usize,
        const L: usize,
    >(
        x: &LayoutTensor<T, Pitched<N, H, W, C>>,
        out: &mut LayoutTensor<T, RowMajor<M, C>>,
        indices: &mut LayoutTensor<u32, RowMajor<L, C>>,
        height: u32,
        width: u32,
        high: usize,
        wide: usize,
        stride_h: i32,
        stride_w: i32,
        padding_h: i32,
        padding_w: i32,
        count: f32,
    ) {
        const F: usize = if V < 4 { V } else { 4 };
        let (at, vectors) = ((block_idx.x * 256 + thread_idx.x) as u32, (C / V).max(1) as u32);
        let (pixel, vector) = ((at / vectors) as usize, (at % vectors) as usize);
        let (line, column) = (pixel as u32 / width, pixel as u32 % width);
        let (image, row) = (line / height, line % height);
        if pixel >= M {
            return;
        }
        let (top, left) = (row as i32 * stride_h - padding_h, column as i32 * stride_w - padding_w);
        let (bottom, right) = ((top + high as i32).min(H as i32), (left + wide as i32).min(W as i32));
        let (first_row, first_column) = (top.max(0), left.max(0));
        let mut found = local::<f32>(row_major([1, V])).fill(if MAXIMUM { f32::NEG_INFINITY } else { 0.0 });
        let mut places = local::<u32>(row_major([1, V]));
        if MAXIMUM {
            for i in unroll(0..V) {
                places[[0, i]] = first_row as u32 * W as u32 + first_column as u32;
            }
        }
        for down in first_row..bottom {
            for run in (0..wide).step_by(WIDE) {
                for c in unroll(0..WIDE) {
                    let across = left + run as i32 + c as i32;
                    let place = [image as isize, down as isize, across as isize, (vector * V) as isize];
                    let own = x.window([1, 1, 1, V], place).vectorize([1, 1, 1, V]).to_local();
                    for i in unroll(0..V) {
                        let value = own[[0, 0, 0, i]].cast::<f32>();
                        if !MAXIMUM {
                            found[[0, i]] += value;
                        } else if across >= 0 && across < right && (value > found[[0, i]] || value.is_nan()) {
                            found[[0, i]] = value;
                            places[[0, i]] = down as u32 * W as u32 + across as u32;
                        }
                    }
                }
            }
        }
        if !MAXIMUM {
            let inside = (bottom - first_row) as f32 * (right - first_column) as f32;
            for i in unroll(0..V) {
                found[[0, i]] /= select(count == 0.0, inside, count);
            }
        }
        let own = found.cast::<T>();
        out.tile([1, V], [pixel, vector]).vectorize([1, V]).copy_from(&own.vectorize([1, V]));
        if MAXIMUM && pixel < L {
            let own = places.vectorize([1, F]);
            indices.tile([1, V], [pixel, vector]).vectorize([1, F]).copy_from(&own);
        }
    }
}
