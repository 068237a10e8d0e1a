//! The kernels: compiled into the program by `build.rs`, which reads this file, too.

use layout_cuda::tiled_kernel;

/// `y = a x + y`
#[tiled_kernel(block = [256], grid = [N.div_ceil(1024)])]
pub fn saxpy<const N: usize>(
    a: f32,
    x: &LayoutTensor<f32, RowMajor<N>>,
    y: &mut LayoutTensor<f32, RowMajor<N>>,
) {
    let own =
        x.tile([1024], [block_idx.x]).vectorize([4]).distribute(row_major([256]), thread_idx.x).to_local();
    let mut out = y.tile([1024], [block_idx.x]).vectorize([4]).distribute(row_major([256]), thread_idx.x);
    let mut sum = out.to_local();
    for i in unroll(0..4) {
        sum[[i]] = a * own[[i]] + sum[[i]];
    }
    out.copy_from(&sum);
}
