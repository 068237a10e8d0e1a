//! Puzzle 9: `out[i] = a[i - 2] + a[i - 1] + a[i]`; elements before the first count as zero.

use layout_cuda::tiled_kernel;

/// Sums of windows of three.
///
/// The listing it follows restarts its windows at every block, so that it is right for one block only, and asks
/// `local_i - 2 >= 0` of an index that may be unsigned. Here the two elements before the block are in shared memory too.
#[tiled_kernel(TPB = 8, block = [TPB], grid = [N.div_ceil(TPB)])]
pub fn pooling<const N: usize>(out: &mut LayoutTensor<f32, RowMajor<N>>, a: &LayoutTensor<f32, RowMajor<N>>) {
    let i = block_dim.x * block_idx.x + thread_idx.x;
    let mut window = shared::<f32>(row_major([TPB + 2]));
    window[[thread_idx.x + 2]] = if i < N { a[[i]] } else { 0.0 };
    if thread_idx.x < 2 {
        window[[thread_idx.x]] = if i >= 2 { a[[i as isize - 2]] } else { 0.0 };
    }
    barrier();
    if i < N {
        out[[i]] = window[[thread_idx.x]] + window[[thread_idx.x + 1]] + window[[thread_idx.x + 2]];
    }
}
