//! `c = a + b`, element by element: one thread for each element.

use layout_cuda::tiled_kernel;

/// Adds two vectors.
#[tiled_kernel(BLOCK = 256, block = [BLOCK], grid = [N.div_ceil(BLOCK)], deny(narrowed, masked))]
pub fn vector_add<const N: usize>(
    a: &LayoutTensor<f32, RowMajor<N>>,
    b: &LayoutTensor<f32, RowMajor<N>>,
    c: &mut LayoutTensor<f32, RowMajor<N>>,
) {
    let i = block_idx.x * BLOCK + thread_idx.x;
    if i < N {
        c[[i]] = a[[i]] + b[[i]];
    }
}
