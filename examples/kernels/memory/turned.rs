//! The transposition of a matrix at the speed of a copy.
//!
//! ```text
//! 16-byte loads ─► V by V blocks turned in registers ─► shared memory ─► 16-byte stores, 256 bytes of a row at once
//! ```
//!
//! `V` elements are 16 bytes. The shared tile is swizzled so that neither the column of blocks that a warp writes nor
//! the row that it reads meets in a bank. Blocks count down the rows of `x` first: those that run at once then write
//! neighbouring stretches.
//!
//! Rows whose pitch is no multiple of 16 bytes go element by element, whole lines of a row at once on both sides.

use layout_cuda::tiled_kernel;

/// `out[j, i] = x[i, j]`; fast where `M` and `N` are multiples of 16 bytes.
#[tiled_kernel(
    T = [f32, bf16],
    block = [256],
    grid = [M.div_ceil(256 / size_of::<T>()), N.div_ceil(256 / size_of::<T>())],
    variant_if(M % 128 == 0 && N % 128 == 0),
    variant_if(M % 8 == 0 && N % 8 == 0),
)]
pub fn transpose<T, const M: usize, const N: usize>(
    x: &LayoutTensor<T, RowMajor<M, N>>,
    out: &mut LayoutTensor<T, RowMajor<N, M>>,
) {
    let (v, log) = if size_of::<T>() == 4 { (4, 2) } else { (8, 3) };
    let mut turned = shared::<T>(row_major([16 * v, 16 * v]).swizzle(4, log, 4 + log));
    let (row, col) = (thread_idx.x / 16, thread_idx.x % 16);
    let from = x.tile([16 * v, 16 * v], [block_idx.x, block_idx.y]);
    let own = from.tile([v, v], [row, col]).vectorize([1, v]).to_local();
    let mut block = local::<T>(row_major([v, v]));
    block.copy_from(&own.transpose());
    turned.tile([v, v], [col, row]).vectorize([1, v]).copy_from(&block.vectorize([1, v]));
    barrier();
    let to = out.tile([16 * v, 16 * v], [block_idx.y, block_idx.x]).vectorize([1, v]);
    let from = turned.vectorize([1, v]).distribute(row_major([16, 16]), thread_idx.x);
    to.distribute(row_major([16, 16]), thread_idx.x).copy_from(&from);
}

/// The same of any rows: a warp reads 32 neighbouring elements of a row and writes as many. A row of the shared tile is
/// one element longer, so that its columns lie in different banks.
#[tiled_kernel(
    T = [f32, bf16], ROWS = 64, COLS = 64,
    block = [256],
    grid = [M.div_ceil(ROWS), N.div_ceil(COLS)],
)]
pub fn transpose_by_elements<T, const M: usize, const N: usize>(
    x: &LayoutTensor<T, RowMajor<M, N>>,
    out: &mut LayoutTensor<T, RowMajor<N, M>>,
) {
    let turned = shared::<T>(layout([ROWS, COLS], [COLS + 1, 1]));
    let from = x.tile([ROWS, COLS], [block_idx.x, block_idx.y]).distribute(row_major([8, 32]), thread_idx.x);
    let to = out.tile([COLS, ROWS], [block_idx.y, block_idx.x]).distribute(row_major([8, 32]), thread_idx.x);
    let rows = turned.distribute(row_major([8, 32]), thread_idx.x);
    let columns = turned.transpose().distribute(row_major([8, 32]), thread_idx.x);
    if (block_idx.x + 1) * ROWS <= M && (block_idx.y + 1) * COLS <= N {
        rows.copy_from(&from.to_local());
        barrier();
        to.copy_from(&columns);
    } else {
        rows.copy_from(&from.to_local());
        barrier();
        to.copy_from(&columns);
    }
}
