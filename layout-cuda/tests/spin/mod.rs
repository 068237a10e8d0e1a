//! A kernel that takes its time, for tests of the order between streams.
//!
//! Law: its result depends on the last step, so that no compiler leaves the steps out.

use layout_cuda::tiled_kernel;

/// `y = x + 1` after so many steps, which the address of `x` depends on.
#[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
pub fn late<const N: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>,
    y: &mut LayoutTensor<f32, RowMajor<N>>,
    steps: usize,
) {
    let mut spun = 1.0f32;
    let mut step = 0usize;
    while step < steps {
        spun = spun * 0.5 + 1.0;
        step += 1;
    }
    let i = 32 * block_idx.x + thread_idx.x;
    let from = if spun > 0.0 { i } else { 0 };
    if i < N && from < N {
        y[[i]] = x[[from]] + 1.0;
    }
}
