//! The first step of a tutorial that begins with too many blocks.

use layout_cuda::tiled_kernel;

/// `c = a b`, a block for each element, and one thread in it: 31 of the 32 places of a warp are empty.
#[tiled_kernel(block = [1], grid = [N, M])]
pub fn one_each<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    let (row, col) = (block_idx.y, block_idx.x);
    let mut sum = 0.0;
    for k in 0..K {
        sum += a[[row, k]] * b[[k, col]];
    }
    c[[row, col]] = sum;
}
