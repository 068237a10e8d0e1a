//! A matrix by rows times a vector.
//!
//! A block takes rows 4 apart, which all begin at the same offset from 16 bytes. So the part of `x` that a thread holds
//! serves all of them, at any alignment of the rows:
//!
//! ```text
//! block:  rows r, r + 4, .. r + 4 (ROWS - 1)     thread: vectors t, t + THREADS, .. of each, from the aligned address before the row
//! ```

use layout_cuda::tiled_kernel;

/// `y[i] = sum over j of a[i, j] x[j]`, for rows that begin at any address.
#[tiled_kernel(
    THREADS = 256, ROWS = 8,
    block = [THREADS],
    grid = [M.div_ceil(4 * ROWS) * 4],
    deny(narrowed),
)]
pub fn gemv<const M: usize, const N: usize>(
    a: &LayoutTensor<f32, RowMajor<M, N>>,
    x: &LayoutTensor<f32, RowMajor<N>>,
    y: &mut LayoutTensor<f32, RowMajor<M>>,
) {
    const WARPS: usize = THREADS / 32;
    /// Adds the products of four columns to the rows' sums.
    fn add(
        a: impl Tensor<Elem = f32>,
        x: impl Tensor<Elem = f32>,
        first: usize,
        column: isize,
        mut sums: View<f32, Write>,
    ) {
        let own = x.window([4], [column]);
        // One by one: where a row begins at an aligned place, `x` does not.
        let mut factors = local::<f32>(row_major([4]));
        for j in unroll(0..4) {
            factors[[j]] = own[[j]];
        }
        for k in unroll(0..ROWS) {
            let row = (first + 4 * k) as isize;
            let own = a.window([1, 4], [row, column]).vectorize([1, 4]).to_local();
            for j in unroll(0..4) {
                sums[[k]] += own[[0, j]] * factors[[j]];
            }
        }
    }
    let first = block_idx.x / 4 * (4 * ROWS) + block_idx.x % 4;
    let before = (first * N % 4) as isize;
    let mut sums = local::<f32>(row_major([ROWS]));
    for k in unroll(0..ROWS) {
        sums[[k]] = 0.0;
    }
    for vector in (thread_idx.x..(N + 3).div_ceil(4)).step_by(THREADS) {
        let column = (vector * 4) as isize - before;
        // All of it is inside, but at a row's ends and of the last rows: the same without masks.
        if column >= 0 && column + 4 <= N as isize && first + 4 * (ROWS - 1) < M {
            add(a, x, first, column, sums);
        } else {
            add(a, x, first, column, sums);
        }
    }
    let mut of_warps = shared::<f32>(row_major([WARPS, ROWS]));
    for k in unroll(0..ROWS) {
        let sum = sums[[k]].warp_sum();
        if lane_id() == 0 {
            of_warps[[warp_id(), k]] = sum;
        }
    }
    barrier();
    if thread_idx.x < ROWS {
        let mut sum: f32 = 0.0;
        for warp in unroll(0..WARPS) {
            sum += of_warps[[warp, thread_idx.x]];
        }
        let row = first + 4 * thread_idx.x;
        if row < M {
            y[[row]] = sum;
        }
    }
}
