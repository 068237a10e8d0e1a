//! A kernel that prints, and asserts.

use layout_cuda::tiled_kernel;

/// Square roots.
#[tiled_kernel(block = [4], grid = [1])]
pub fn rooted(x: &LayoutTensor<f32, RowMajor<4>>, y: &mut LayoutTensor<f32, RowMajor<4>>) {
    let i = thread_idx.x;
    if i == 0 {
        println!("x = {x:.2}");
    }
    assert!(x[[i]] >= 0.0, "x[{i}] is {}", x[[i]]);
    y[[i]] = dbg!(x[[i]].sqrt());
}
