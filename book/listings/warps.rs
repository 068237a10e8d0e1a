//! The same work, divided within a warp and between warps.

use layout_cuda::tiled_kernel;

/// Every second thread takes the other way: each warp takes both.
#[tiled_kernel(block = [64], grid = [1])]
pub fn by_parity(x: &LayoutTensor<f32, RowMajor<64>>, y: &mut LayoutTensor<f32, RowMajor<64>>) {
    let i = thread_idx.x;
    if i % 2 == 0 {
        y[[i]] = x[[i]].exp();
    } else {
        y[[i]] = x[[i]].sqrt();
    }
}

/// Each warp takes one way.
#[tiled_kernel(block = [64], grid = [1])]
pub fn by_warp(x: &LayoutTensor<f32, RowMajor<64>>, y: &mut LayoutTensor<f32, RowMajor<64>>) {
    let i = thread_idx.x;
    if i < 32 {
        y[[i]] = x[[i]].exp();
    } else {
        y[[i]] = x[[i]].sqrt();
    }
}
