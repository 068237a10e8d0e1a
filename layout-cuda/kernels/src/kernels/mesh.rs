//! Kernels on what ranks receive: sums, and the activation between two layers.

use layout_cuda::tiled_kernel;

/// `sum += x`, 16 bytes a thread.
#[tiled_kernel(
    T = [f32, bf16], THREADS = 256,
    block = [THREADS], grid = [N.div_ceil(THREADS * 16 / size_of::<T>())], deny(narrowed),
)]
pub fn add_onto<T, const N: usize>(x: &LayoutTensor<T, RowMajor<N>>, sum: &mut LayoutTensor<T, RowMajor<N>>) {
    let v = 16 / size_of::<T>();
    let place = block_idx.x * THREADS + thread_idx.x;
    let term = x.tile([v], [place]).vectorize([v]).to_local();
    let mut own = local::<T>(row_major([v]));
    own.vectorize([v]).copy_from(&sum.tile([v], [place]).vectorize([v]));
    for i in unroll(0..v) {
        own[[i]] = own[[i]] + term[[i]];
    }
    sum.tile([v], [place]).vectorize([v]).copy_from(&own.vectorize([v]));
}

/// `x = max(x, 0)`, 16 bytes a thread. A NaN stays one, which `max` would make 0.
#[tiled_kernel(
    T = [f32, bf16], THREADS = 256,
    block = [THREADS], grid = [N.div_ceil(THREADS * 16 / size_of::<T>())], deny(narrowed),
)]
pub fn rectify<T, const N: usize>(x: &mut LayoutTensor<T, RowMajor<N>>) {
    let v = 16 / size_of::<T>();
    let place = block_idx.x * THREADS + thread_idx.x;
    let mut own = local::<T>(row_major([v]));
    own.vectorize([v]).copy_from(&x.tile([v], [place]).vectorize([v]));
    for i in unroll(0..v) {
        own[[i]] = select(own[[i]] < T::ZERO, T::ZERO, own[[i]]);
    }
    x.tile([v], [place]).vectorize([v]).copy_from(&own.vectorize([v]));
}
