//! The transposition of a matrix at the speed of a copy.
//!
//! ```text
//! 16-byte loads ─► V by V blocks turned in registers ─► shared memory ─► 16-byte stores, 256 bytes of a row at once
//! ```
//!
//! `V` elements are 16 bytes. The shared tile is swizzled: neither the column of blocks that a warp writes nor the row that
//! it reads has bank conflicts. Blocks count down the rows of `x` first, so blocks that run at once write neighbouring
//! parts of memory.
//!
//! Rows whose pitch is no multiple of 16 bytes are copied 4 bytes at a time, whole lines of a row at once on both sides: one
//! element of 4 bytes, or a pair of 2.

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

/// The same of any rows. A row of the shared tile is one element longer, so that its columns are in different banks. Each
/// row of `out` is written in stretches that begin at a sector of 32 bytes, wherever the row itself begins: none is
/// written in part by two blocks. So a block reads a sector's rows more than it writes.
#[tiled_kernel(
    T = [f32], ROWS = 128, COLS = 128,
    block = [256],
    grid = [(M + 32 / size_of::<T>() - 1).div_ceil(ROWS), N.div_ceil(COLS)],
    deny(narrowed),
)]
pub fn transpose_by_elements<T, const M: usize, const N: usize>(
    x: &LayoutTensor<T, RowMajor<M, N>>,
    out: &mut LayoutTensor<T, RowMajor<N, M>>,
) {
    /// A tile in and out. Of one that is wholly inside no element is tested.
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

/// The same of elements of 2 bytes, read and written in pairs that are in 4 bytes: those of a row of `x` begin one element before
/// the tile where the row's tile begins at an odd one. In shared memory the even rows are in front of the odd ones, so that the two
/// halves of what a warp writes are in rows one after the other, whose columns are in different banks.
#[tiled_kernel(
    T = [bf16], ROWS = 128, COLS = 64,
    block = [256],
    grid = [(M + 15).div_ceil(ROWS), N.div_ceil(COLS)],
    deny(narrowed),
)]
pub fn transpose_by_pairs<T, const M: usize, const N: usize>(
    x: &LayoutTensor<T, RowMajor<M, N>>,
    out: &mut LayoutTensor<T, RowMajor<N, M>>,
) {
    const SECTOR: usize = 16;
    const HALF: usize = (ROWS + SECTOR) / 2;
    /// A tile in and out. Of one that is wholly inside no element is tested.
    fn move_tile<T: Element>(
        x: impl Tensor<Elem = T, Access = Read>,
        turned: View<T, Write>,
        out: impl Tensor<Elem = T, Access = Write>,
        m: usize,
        n: usize,
    ) {
        let (row, col) = (block_idx.x * ROWS - SECTOR, block_idx.y * COLS);
        // Rows that a warp reads are all even or all odd.
        let lanes = row_major([1, 32]);
        let mut own = local::<T>(row_major([HALF / 4, COLS / 32]));
        for k in unroll(0..HALF / 4) {
            let from =
                x.window([1, COLS], [row + k * 8 + warp_id(), col - warp_id() * n % 2]).vectorize([1, 2]);
            own.tile([1, COLS / 32], [k, 0]).vectorize([1, 2]).copy_from(&from.distribute(lanes, lane_id()));
        }
        // The pair that ends a row of the tile.
        let mut last = local::<T>(row_major([1, 2]));
        if thread_idx.x < 2 * HALF {
            let from = [row + thread_idx.x, col + COLS - thread_idx.x * n % 2];
            last.vectorize([1, 2]).copy_from(&x.window([1, 2], from).vectorize([1, 2]));
        }
        for k in unroll(0..HALF / 4) {
            let to =
                turned.window([1, COLS], [warp_id() % 2 * HALF + k * 4 + warp_id() / 2, 0]).vectorize([1, 2]);
            to.distribute(lanes, lane_id()).copy_from(&own.tile([1, COLS / 32], [k, 0]).vectorize([1, 2]));
        }
        if thread_idx.x < 2 * HALF {
            let to =
                turned.window([1, 2], [thread_idx.x % 2 * HALF + thread_idx.x / 2, COLS]).vectorize([1, 2]);
            to.copy_from(&last.vectorize([1, 2]));
        }
        barrier();
        for k in unroll(0..COLS / 8) {
            let col = k * 8 + warp_id();
            let early = (block_idx.y * COLS + col) * m % SECTOR;
            let mut pairs = local::<T>(row_major([1, ROWS / 32]));
            for i in unroll(0..ROWS / 64) {
                for j in unroll(0..2) {
                    let row = SECTOR - early + i * 64 + lane_id() * 2 + j;
                    pairs[[0, i * 2 + j]] = turned[[row % 2 * HALF + row / 2, col + row % 2 * (n % 2)]];
                }
            }
            let to = out
                .window([1, ROWS], [block_idx.y * COLS + col, block_idx.x * ROWS - early])
                .vectorize([1, 2]);
            to.distribute(lanes, lane_id()).copy_from(&pairs.vectorize([1, 2]));
        }
    }
    let mut turned = shared::<T>(row_major([2 * HALF, COLS + 2]));
    let (row, col) = (block_idx.x * ROWS, block_idx.y * COLS);
    if block_idx.x > 0 && block_idx.y > 0 && row + ROWS <= M && col + COLS + 2 <= N {
        move_tile(x, turned, out, M, N);
    } else {
        move_tile(x, turned, out, M, N);
    }
}
