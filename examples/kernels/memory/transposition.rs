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
    deny(narrowed),
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

/// The same of any rows. A row of the shared tile is one element longer, so that its columns lie in different banks. Each
/// row of `out` is written in stretches that begin at a sector of 32 bytes, wherever the row itself begins: none is
/// written in part by two blocks. So a block reads a sector's rows more than it writes.
#[tiled_kernel(
    T = [f32, bf16], ROWS = 128, COLS = 64,
    block = [256],
    grid = [(M + 32 / size_of::<T>() - 1).div_ceil(ROWS), N.div_ceil(COLS)],
    deny(narrowed),
)]
pub fn transpose_by_elements<T, const M: usize, const N: usize>(
    x: &LayoutTensor<T, RowMajor<M, N>>,
    out: &mut LayoutTensor<T, RowMajor<N, M>>,
) {
    /// A tile in and out. Of one that lies wholly inside no element is tested.
    fn move_tile<T: Element>(
        rows: View<T, Write>,
        from: View<T, Read>,
        turned: View<T, Write>,
        out: impl Tensor<Elem = T, Access = Write>,
        m: usize,
        sector: usize,
    ) {
        rows.copy_from(&from.to_local());
        barrier();
        for k in unroll(0..COLS / 8) {
            let col = k * 8 + warp_id();
            let early = (block_idx.y * COLS + col) * m % sector;
            let mut to = out.window([1, ROWS], [block_idx.y * COLS + col, block_idx.x * ROWS - early]);
            for i in unroll(0..ROWS / 32) {
                to[[0, i * 32 + lane_id()]] = turned[[sector - early + i * 32 + lane_id(), col]];
            }
        }
    }
    let sector = 32 / size_of::<T>();
    let mut turned = shared::<T>(layout([ROWS + sector, COLS], [COLS + 1, 1]));
    let from = x.window([ROWS + sector, COLS], [block_idx.x * ROWS - sector, block_idx.y * COLS]);
    let from = from.distribute(row_major([8, 32]), thread_idx.x);
    let rows = turned.distribute(row_major([8, 32]), thread_idx.x);
    if block_idx.x > 0 && (block_idx.x + 1) * ROWS <= M && (block_idx.y + 1) * COLS <= N {
        move_tile(rows, from, turned, out, M, sector);
    } else {
        move_tile(rows, from, turned, out, M, sector);
    }
}
