#![deny(deprecated)]

use layout_cuda::tiled_kernel;

#[tiled_kernel(block = [256], grid = [1])]
fn one_block<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
    let i = block_idx.x * 256 + thread_idx.x;
    if i < N {
        y[[i]] = 2.0 * x[[i]];
    }
}

#[tiled_kernel(BM = 64, block = [BM], grid = [N / BM])]
fn rounded_down<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
    let mut own = y.tile([BM], [block_idx.x]);
    own[[thread_idx.x]] = 2.0 * x.tile([BM], [block_idx.x])[[thread_idx.x]];
}

fn main() {}
