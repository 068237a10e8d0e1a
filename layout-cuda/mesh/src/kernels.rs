//! Kernels that pack and unpack: elements from some places to others, of which the algebra has the strides.

use layout_cuda::tiled_kernels;

pub(crate) use pieces::{add_elements, move_elements, move_rows, move_rows_beside};

#[tiled_kernels]
mod pieces {
    /// `to[a, b, c] = from[a, b, c]`, `c` contiguous on both sides: 16 bytes at once where both begin at multiples of that.
    #[tiled_kernel(
        T = [f32, bf16, f16, f64, i32, u32, i64, u8, bool], THREADS = 256, ROUNDS = 4,
        block = [THREADS], grid = [B, C.div_ceil(THREADS * ROUNDS * 16 / size_of::<T>()), A],
    )]
    pub fn move_rows<T, const A: usize, const B: usize, const C: usize>(
        from: &LayoutTensor<T, Pitched<A, B, C>>,
        to: &mut LayoutTensor<T, Pitched<A, B, C>>,
    ) {
        let v = 16 / size_of::<T>();
        let part = [1, 1, THREADS * ROUNDS * v];
        let place = [block_idx.z, block_idx.x, block_idx.y];
        let threads = row_major([1, 1, THREADS]);
        let own = from.tile(part, place).vectorize([1, 1, v]).distribute(threads, thread_idx.x).to_local();
        to.tile(part, place).vectorize([1, 1, v]).distribute(threads, thread_idx.x).copy_from(&own);
    }

    /// The same by few blocks, which take one part after the other: beside messages, which then have the other multiprocessors.
    #[tiled_kernel(
        T = [f32, bf16, f16, f64, i32, u32, i64, u8, bool], THREADS = 256, ROUNDS = 4, BLOCKS = 64,
        block = [THREADS], grid = [BLOCKS],
    )]
    pub fn move_rows_beside<T, const A: usize, const B: usize, const C: usize>(
        from: &LayoutTensor<T, Pitched<A, B, C>>,
        to: &mut LayoutTensor<T, Pitched<A, B, C>>,
    ) {
        let v = 16 / size_of::<T>();
        let part = [1, 1, THREADS * ROUNDS * v];
        let parts = C.div_ceil(THREADS * ROUNDS * v);
        let threads = row_major([1, 1, THREADS]);
        for step in (block_idx.x..A * B * parts).step_by(BLOCKS) {
            let place = [step / (B * parts), step / parts % B, step % parts];
            let own =
                from.tile(part, place).vectorize([1, 1, v]).distribute(threads, thread_idx.x).to_local();
            to.tile(part, place).vectorize([1, 1, v]).distribute(threads, thread_idx.x).copy_from(&own);
        }
    }

    /// `to[a, b, c] = from[a, b, c]`, however they are: an element a thread, `c` the fastest.
    #[tiled_kernel(
        T = [f32, bf16, f16, f64, i32, u32, i64, u8, bool], THREADS = 256,
        block = [THREADS], grid = [(A * B * C).div_ceil(THREADS)],
    )]
    pub fn move_elements<T, const A: usize, const B: usize, const C: usize>(
        from: &LayoutTensor<T, Strided<A, B, C>>,
        to: &mut LayoutTensor<T, Strided<A, B, C>>,
    ) {
        let i = block_idx.x * THREADS + thread_idx.x;
        if i < A * B * C {
            let (a, b, c) = (i / (B * C), i / C % B, i % C);
            to[[a, b, c]] = from[[a, b, c]];
        }
    }

    /// `to[a, b, c] += from[a, b, c]`, however they are.
    #[tiled_kernel(
        T = [f32, bf16, f16, f64, i32, u32, i64], THREADS = 256,
        block = [THREADS], grid = [(A * B * C).div_ceil(THREADS)],
    )]
    pub fn add_elements<T, const A: usize, const B: usize, const C: usize>(
        from: &LayoutTensor<T, Strided<A, B, C>>,
        to: &mut LayoutTensor<T, Strided<A, B, C>>,
    ) {
        let i = block_idx.x * THREADS + thread_idx.x;
        if i < A * B * C {
            let (a, b, c) = (i / (B * C), i / C % B, i % C);
            to[[a, b, c]] = to[[a, b, c]] + from[[a, b, c]];
        }
    }
}
