//! `C = A B` of few rows of A, where K is contiguous in both: what is bound by reading B.
//!
//! ```text
//! warp:  16 FRAGMENTS columns of B, every SHARES-th block of 64 k
//! lane:  16 bytes of a column at once, straight to registers: B is the left operand of `mma.sync`, A the right one
//! block: the sums of the warps that share K, added in the order of the warps
//! ```
//!
//! For speed: an element of B is read once, from global memory to the registers of the lane that multiplies it. A sum over k has no order,
//! so the eight neighbours that a lane reads are those that its fragments take, in A as in B, and no element is moved between lanes.
//!
//! Law: sums in float32, in an order that the shape alone fixes, rounded once to the elements' type.

use layout_cuda::tiled_kernel;

/// Each block makes 8 GROUPS rows and 16 FRAGMENTS columns of C.
#[tiled_kernel(
    T = [bf16, f16], GROUPS = 1, FRAGMENTS = 1, SHARES = 16, AHEAD = 2048,
    block = [32 * SHARES],
    grid = [N.div_ceil(16 * FRAGMENTS), M.div_ceil(8 * GROUPS)],
    variant_if(K % 8 == 0),
    deny(narrowed, synchronous),
)]
pub fn few_rows<T, const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<T, Contiguous<1, M, K>>,
    b: &LayoutTensor<T, Contiguous<0, K, N>>,
    c: &mut LayoutTensor<T, Pitched<M, N>>,
) {
    const ROWS: usize = 8 * GROUPS;
    const COLUMNS: usize = 16 * FRAGMENTS;
    /// Elements of 128 bytes.
    const LINE: usize = 64;
    let mma = mma_atom::<T>([16, 8, 16]);
    let (line, part) = (lane_id() / 4, lane_id() % 4);
    let columns = b.transpose();
    let mut acc = local::<f32>(row_major([FRAGMENTS, 4 * GROUPS])).fill(0.0);
    launch_dependents();
    // While the launches ahead end, L2 fetches what it has room for: AHEAD k of the block's columns.
    for column in (warp_id()..COLUMNS).step_by(SHARES) {
        for line in (lane_id()..K.div_ceil(LINE).min(AHEAD / LINE)).step_by(32) {
            columns.prefetch([block_idx.x * COLUMNS + column, line * LINE]);
        }
    }
    grid_dependency_wait();
    for block in (warp_id()..K.div_ceil(64)).step_by(SHARES) {
        // Of 32 k, the first four of a lane's eight are one product's, the others the next one's.
        let mut left = local::<T>(row_major([4, FRAGMENTS, 8]));
        let mut right = local::<T>(row_major([4, GROUPS, 4]));
        for half in unroll(0..2) {
            let eight = block * 8 + half * 4 + part;
            for f in unroll(0..2 * FRAGMENTS) {
                let own = columns.tile([1, 8], [block_idx.x * COLUMNS + f * 8 + line, eight]);
                let own = own.vectorize([1, 8]).to_local();
                for i in unroll(0..8) {
                    left[[2 * half + i / 4, f / 2, i % 4 / 2 * 4 + f % 2 * 2 + i % 2]] = own[[0, i]];
                }
            }
            for g in unroll(0..GROUPS) {
                let own = a.tile([1, 8], [block_idx.y * ROWS + g * 8 + line, eight]);
                let own = own.vectorize([1, 8]).to_local();
                for i in unroll(0..8) {
                    right[[2 * half + i / 4, g, i % 4]] = own[[0, i]];
                }
            }
        }
        for step in unroll(0..4) {
            mma.mma(&mut acc, &left.slice(step), &right.slice(step));
        }
    }
    // A row of sums is a column of C.
    let sums = shared::<f32>(row_major([SHARES, COLUMNS, ROWS + 2]));
    let mut own = sums.slice(warp_id()).tile([COLUMNS, ROWS], [0, 0]);
    mma.store_d(&mut own, &acc);
    barrier();
    let mut to = c.tile([ROWS, COLUMNS], [block_idx.y, block_idx.x]);
    for place in (thread_idx.x..ROWS * COLUMNS).step_by(32 * SHARES) {
        let (i, j) = (place / COLUMNS, place % COLUMNS);
        let mut sum = sums[[0, j, i]];
        for share in unroll(1..SHARES) {
            sum += sums[[share, j, i]];
        }
        to[[i, j]] = sum.cast::<T>();
    }
}
