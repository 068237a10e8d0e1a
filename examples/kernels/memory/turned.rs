//! The transposition of a matrix at the speed of a copy.
//!
//! ```text
//! 16-byte loads ─► 4 by 4 blocks turned in registers ─► shared memory ─► 16-byte stores, 256 bytes of a row at once
//! ```
//!
//! The shared tile is swizzled so that neither the column of blocks that a warp writes nor the row that it reads meets
//! in a bank. Blocks count down the rows of `x` first: those that run at once then write neighbouring stretches.

use layout_cuda::tiled_kernel;

/// `out[j, i] = x[i, j]`
#[tiled_kernel(
    block = [256],
    grid = [M.div_ceil(64), N.div_ceil(64)],
    variant_if(M % 64 == 0 && N % 64 == 0),
    variant_if(M % 4 == 0 && N % 4 == 0),
)]
pub fn transpose<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    out: &mut LayoutTensor<f32, RowMajor<N, M>>,
) {
    let mut turned = shared::<f32>(row_major([64, 64]).swizzle(4, 2, 6));
    let (row, col) = (thread_idx.x / 16, thread_idx.x % 16);
    let own =
        x.tile([64, 64], [block_idx.x, block_idx.y]).tile([4, 4], [row, col]).vectorize([1, 4]).to_local();
    let mut block = local::<f32>(row_major([4, 4]));
    block.copy_from(&own.transpose());
    turned.tile([4, 4], [col, row]).vectorize([1, 4]).copy_from(&block.vectorize([1, 4]));
    barrier();
    let to = out.tile([64, 64], [block_idx.y, block_idx.x]).vectorize([1, 4]);
    let from = turned.vectorize([1, 4]).distribute(row_major([16, 16]), thread_idx.x);
    to.distribute(row_major([16, 16]), thread_idx.x).copy_from(&from);
}
