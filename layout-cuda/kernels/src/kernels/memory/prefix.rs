//! Prefix sums of a vector in one pass: each tile is read once and written once, and its carry comes by look-back.
//!
//! ```text
//! thread:  4 elements a row, ROWS rows
//! warp:    each row by shuffles, then the rows in order
//! block:   the warps by shuffles;  the tile's sum is published
//! grid:    carry = the tiles before of its 128 + the 128s before
//! ```
//!
//! Which sums are added in which order depends on the tile's number alone, so that the result does not depend on the run.
//! The carry is kept in f64: `out[i]` is within `ROWS + 20` units in the last place of `|x[0]| + .. + |x[i]|`, however many
//! tiles there are (2^24 tiles make roundings in f64 that stay below one such unit).
//!
//! A block waits for blocks of lower numbers, and GPUs start blocks in the order of their numbers. Where that cannot be
//! relied on, `TICKET` draws the tile from a counter: then a block waits only for blocks that run.

use layout_cuda::tiled_kernels;

pub use prefix::{scan, scan_start};

#[tiled_kernels]
mod prefix {
    // NaN says that nothing is there yet, so that what is not finite is published as numbers that no sum of f32 comes
    // near, and of which no 128 cancel.
    fn published(sum: f64) -> f64 {
        let finite = select(sum == f64::INFINITY, 1e300, select(sum == f64::NEG_INFINITY, -1e303, sum));
        select(sum == sum, finite, 1e306)
    }
    fn meant(seen: f64) -> f64 {
        let infinite = select(seen > 0.0, f64::INFINITY, f64::NEG_INFINITY);
        let known = select(seen.abs() > 1e299, infinite, seen);
        select(seen > 1e304, f64::NAN, known)
    }

    /// `out[i]`: the sum of `x[0], .., x[i]`; with `EXCLUSIVE` without `x[i]`. `state` is all NaN and `ticket` zero before:
    /// a sum for each tile, then one for each 128 tiles.
    #[tiled_kernel(
        EXCLUSIVE = [false, true], THREADS = 512, ROWS = 8, TICKET = false, min_blocks = 1024 / THREADS,
        block = [THREADS],
        grid = [N.div_ceil(THREADS * ROWS * 4)],
        deny(narrowed),
    )]
    pub fn scan<const N: usize, const STATE: usize>(
        x: &LayoutTensor<f32, RowMajor<N>>,
        out: &mut LayoutTensor<f32, RowMajor<N>>,
        state: &mut LayoutTensor<f64, RowMajor<STATE>>,
        ticket: &mut LayoutTensor<u32, RowMajor<1>>,
    ) {
        const TILE: usize = THREADS * ROWS * 4;
        const WARPS: usize = THREADS / 32;
        let mut drawn = shared::<u32>(row_major([1]));
        let mut of_warps = shared::<f32>(row_major([WARPS]));
        let mut carried = shared::<f64>(row_major([1]));
        if TICKET {
            if thread_idx.x == 0 {
                drawn[[0]] = ticket.atomic_add([0], 1);
            }
            barrier();
        }
        let tiles = N.div_ceil(TILE);
        let tile = if TICKET { drawn[[0]] as usize } else { block_idx.x };
        let mut own = local::<f32>(row_major([ROWS * 4]));
        let from = x.tile([TILE], [tile]).tile([ROWS * 128], [warp_id()]).vectorize([4]);
        if (tile + 1) * TILE <= N {
            own.vectorize([4]).copy_from(&from.distribute(row_major([32]), lane_id()));
        } else {
            own.vectorize([4]).copy_from(&from.distribute(row_major([32]), lane_id()));
        }
        let mut of_warp: f32 = 0.0;
        for row in unroll(0..ROWS) {
            for j in unroll(1..4) {
                own[[row * 4 + j]] += own[[row * 4 + j - 1]];
            }
            let upto = own[[row * 4 + 3]].warp_prefix_sum();
            let prior = upto.shuffle_up(1);
            let before = of_warp + select(lane_id() == 0, 0.0, prior);
            for j in unroll(0..4) {
                own[[row * 4 + j]] += before;
            }
            of_warp += upto.shuffle(31);
        }
        if lane_id() == 0 {
            of_warps[[warp_id()]] = of_warp;
        }
        barrier();
        let mut upto: f32 = 0.0;
        if lane_id() < WARPS {
            upto = of_warps[[lane_id()]];
        }
        let upto = upto.warp_prefix_sum();
        let of_tile = upto.shuffle(WARPS - 1).cast::<f64>();
        let prior = upto.shuffle(warp_id() + 31);
        let before_warp = select(warp_id() == 0, 0.0, prior);

        if warp_id() == 0 {
            let hundred = tile / 128;
            if lane_id() == 0 {
                state.store_relaxed([tile], published(of_tile));
            }
            let mut sum: f64 = 0.0;
            let mut start: f64 = 0.0;
            loop {
                sum = 0.0;
                for k in unroll(0..4) {
                    if k * 32 + lane_id() < tile % 128 {
                        sum += state.load_relaxed([hundred * 128 + k * 32 + lane_id()]);
                    }
                }
                if hundred > 0 {
                    start = state.load_relaxed([tiles + hundred - 1]);
                }
                if all(sum == sum && start == start) {
                    break;
                }
            }
            if any(sum.abs() > 1e299) {
                sum = 0.0;
                for k in 0..4 {
                    if k * 32 + lane_id() < tile % 128 {
                        sum += meant(state.load_relaxed([hundred * 128 + k * 32 + lane_id()]));
                    }
                }
            }
            let carry = meant(start) + sum.warp_sum();
            if lane_id() == 0 {
                if tile % 128 == 127 {
                    state.store_relaxed([tiles + hundred], published(carry + of_tile));
                }
                carried[[0]] = carry;
            }
        }
        barrier();
        let carry = (carried[[0]] + before_warp.cast::<f64>()).cast::<f32>();
        for row in unroll(0..ROWS) {
            let last = (ROWS - 1 - row) * 4 + 3;
            if EXCLUSIVE {
                // What is before this thread's four: of the lane before, or of the last lane in the row before.
                let mut prior = own[[last]].shuffle_up(1);
                if row < ROWS - 1 {
                    let above = own[[last - 4]].shuffle(31);
                    prior = select(lane_id() == 0, above, prior);
                } else {
                    prior = select(lane_id() == 0, 0.0, prior);
                }
                for j in unroll(0..3) {
                    own[[last - j]] = own[[last - j - 1]] + carry;
                }
                own[[last - 3]] = prior + carry;
            } else {
                for j in unroll(0..4) {
                    own[[last - j]] += carry;
                }
            }
        }
        let to = out.tile([TILE], [tile]).tile([ROWS * 128], [warp_id()]).vectorize([4]);
        if (tile + 1) * TILE <= N {
            to.distribute(row_major([32]), lane_id()).copy_from(&own.vectorize([4]));
        } else {
            to.distribute(row_major([32]), lane_id()).copy_from(&own.vectorize([4]));
        }
    }

    /// Nothing is there yet: every element of `state` NaN, `ticket` zero.
    #[tiled_kernel(block = [256], grid = [STATE.div_ceil(256)], deny(narrowed))]
    pub fn scan_start<const STATE: usize>(
        state: &mut LayoutTensor<f64, RowMajor<STATE>>,
        ticket: &mut LayoutTensor<u32, RowMajor<1>>,
    ) {
        let i = block_idx.x * 256 + thread_idx.x;
        if i < STATE {
            state[[i]] = f64::NAN;
        }
        if i == 0 {
            ticket[[0]] = 0;
        }
    }
}
