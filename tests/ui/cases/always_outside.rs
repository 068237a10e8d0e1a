//! An access that is outside in every launch, of an argument with a number as its extent; and its neighbours, which are inside.

use layout_cuda::tiled_kernel;

#[tiled_kernel(block = [32], grid = [1])]
fn rows<const N: usize>(x: &LayoutTensor<f32, RowMajor<4, N>>, y: &mut LayoutTensor<f32, RowMajor<4>>) {
    let i = thread_idx.x;
    y[[0]] = x[[4, 0]];
    for r in 0..4 {
        y[[r]] = x[[r + 1, i]];
    }
    let tile = x.tile([2, 32], [2, 0]);
    y[[1]] = x.slice(i + 4)[[0]];
    y[[2]] = tile[[0, 0]];
}

#[tiled_kernel(block = [32], grid = [1])]
fn inside<const N: usize>(x: &LayoutTensor<f32, RowMajor<4, N>>, y: &mut LayoutTensor<f32, RowMajor<4>>, n: usize) {
    let i = thread_idx.x;
    y[[0]] = x[[3, 0]];
    for r in 0..4 {
        if r + 1 < n {
            y[[r]] = x[[r + 1, i]];
        }
    }
    let tile = x.tile([3, 32], [1, 0]);
    y[[1]] = x.slice(i)[[0]];
    y[[2]] = tile[[2, 0]];
}

fn main() {}
