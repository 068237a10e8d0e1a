#![deny(unused_variables, deprecated)]

use layout_cuda::tiled_kernel;

#[tiled_kernel(block = [256], grid = [N.div_ceil(256)])]
fn double<const N: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>,
    y: &mut LayoutTensor<f32, RowMajor<N>>,
    z: &mut LayoutTensor<f32, RowMajor<N>>,
) {
    let i = block_idx.x * 256 + thread_idx.x;
    if i < N {
        let held = x[[i]];
        z[[i]] = 2.0 * y[[i]];
    }
}

fn main() {}
