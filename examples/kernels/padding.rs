//! Matrices of other sizes: what both have is copied, what only the new one has is zero.
//!
//! Neither side's rows need be aligned, so threads take single elements, neighbours next to each other.

use layout_cuda::tiled_kernels;

pub use padding::{resize, resize_both};

#[tiled_kernels]
mod padding {
    /// A part of a row: each thread moves `ROUNDS` elements, all loaded before the first is stored.
    fn resize_part(from: View<f32, Read>, to: View<f32, Write>) {
        let own = from.distribute(row_major([1, THREADS]), thread_idx.x).to_local();
        to.distribute(row_major([1, THREADS]), thread_idx.x).copy_from(&own);
    }

    /// `dst[i, j] = src[i, j]`, or 0 where `src` has no such element.
    #[tiled_kernel(
        THREADS = 256, ROUNDS = 16,
        block = [THREADS], grid = [P, Q.div_ceil(THREADS * ROUNDS)],
    )]
    pub fn resize<const M: usize, const N: usize, const P: usize, const Q: usize>(
        src: &LayoutTensor<f32, RowMajor<M, N>>,
        dst: &mut LayoutTensor<f32, RowMajor<P, Q>>,
    ) {
        const PART: usize = THREADS * ROUNDS;
        let place = [block_idx.x, block_idx.y];
        resize_part(src.tile([1, PART], place), dst.tile([1, PART], place));
    }

    /// The same for both operands of a product, in one launch.
    #[tiled_kernel(
        THREADS = 256, ROUNDS = 16,
        block = [THREADS], grid = [P + R, Q.max(S).div_ceil(THREADS * ROUNDS)],
    )]
    pub fn resize_both<
        const M: usize,
        const N: usize,
        const K: usize,
        const P: usize,
        const Q: usize,
        const R: usize,
        const S: usize,
    >(
        a: &LayoutTensor<f32, RowMajor<M, K>>,
        b: &LayoutTensor<f32, RowMajor<K, N>>,
        new_a: &mut LayoutTensor<f32, RowMajor<P, Q>>,
        new_b: &mut LayoutTensor<f32, RowMajor<R, S>>,
    ) {
        const PART: usize = THREADS * ROUNDS;
        if block_idx.x < P {
            let place = [block_idx.x, block_idx.y];
            resize_part(a.tile([1, PART], place), new_a.tile([1, PART], place));
        } else {
            let place = [block_idx.x - P, block_idx.y];
            resize_part(b.tile([1, PART], place), new_b.tile([1, PART], place));
        }
    }
}
