//! Matrices of another size or pitch, or transposed: TMA wants rows at multiples of 16 bytes, and the matrix units want
//! 8-bit and 32-bit operands with `k` contiguous.
//!
//! Neither side's rows need be aligned, so threads copy single elements, neighbouring threads neighbouring elements.

use layout_cuda::tiled_kernels;

pub use padding::{resize, resize_both, transpose_pitched};

#[tiled_kernels]
mod padding {
    /// A part of a row: each thread moves `ROUNDS` elements, all loaded before the first is stored.
    fn resize_part<T: Element>(from: View<T, Read>, to: View<T, Write>) {
        let own = from.distribute(row_major([1, THREADS]), thread_idx.x).to_local();
        to.distribute(row_major([1, THREADS]), thread_idx.x).copy_from(&own);
    }

    /// `dst[i, j] = src[i, j]`, or 0 where `src` has no such element.
    #[tiled_kernel(
        T = [f32, bf16, f16, e4m3], THREADS = 256, ROUNDS = 16,
        block = [THREADS], grid = [P, Q.div_ceil(THREADS * ROUNDS)],
        deny(narrowed),
    )]
    pub fn resize<T, const M: usize, const N: usize, const P: usize, const Q: usize>(
        src: &LayoutTensor<T, Pitched<M, N>>,
        dst: &mut LayoutTensor<T, Pitched<P, Q>>,
    ) {
        const PART: usize = THREADS * ROUNDS;
        let place = [block_idx.x, block_idx.y];
        resize_part(src.tile([1, PART], place), dst.tile([1, PART], place));
    }

    /// The same for both operands of a product, in one launch.
    #[tiled_kernel(
        THREADS = 256, ROUNDS = 16,
        block = [THREADS], grid = [P + R, Q.max(S).div_ceil(THREADS * ROUNDS)],
        deny(narrowed),
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

    /// `out[j, i] = x[i, j]`: a tile of 64 by 64, the rows of the shared copy one element longer than the tile, so that its
    /// columns are in different banks.
    #[tiled_kernel(
        T = [f32, e4m3, f64],
        block = [256],
        grid = [M.div_ceil(64), N.div_ceil(64)],
        deny(narrowed),
    )]
    pub fn transpose_pitched<T, const M: usize, const N: usize>(
        x: &LayoutTensor<T, Pitched<M, N>>,
        out: &mut LayoutTensor<T, Pitched<N, M>>,
    ) {
        let mut tile = shared::<T>(row_major([64, 65]));
        let (row, col) = (thread_idx.x / 64, thread_idx.x % 64);
        let own = x
            .tile([64, 64], [block_idx.x, block_idx.y])
            .distribute(row_major([4, 64]), thread_idx.x)
            .to_local();
        for step in unroll(0..16) {
            tile[[step * 4 + row, col]] = own[[step, 0]];
        }
        barrier();
        let to = out.tile([64, 64], [block_idx.y, block_idx.x]);
        let mut turned = local::<T>(row_major([16, 1]));
        for step in unroll(0..16) {
            turned[[step, 0]] = tile[[col, step * 4 + row]];
        }
        to.distribute(row_major([4, 64]), thread_idx.x).copy_from(&turned);
    }
}
