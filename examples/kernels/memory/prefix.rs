//! Prefix sums of a vector in one pass: each tile is read once and written once, and its carry comes by look-back.
//!
//! ```text
//! thread:  4 elements a row, ROWS rows
//! warp:    each row by shuffles, then the rows in order
//! block:   the warps by shuffles;  the tile's sum is published
//! grid:    carry = the tiles before of its 32 + the 32s before of its 1024 + the 1024s before
//! ```
//!
//! Tiles are drawn from a counter, so that whoever waits waits for tiles that run. The last tile of 32 publishes their
//! sum, the last of 1024 the sum of all up to there, hence nobody waits long. Which sums are added in which order depends
//! on the tile's number alone, so that the result does not depend on the run.
//!
//! The carry is kept in f64. `out[i]` is within `ROWS + 20` units in the last place of `|x[0]| + .. + |x[i]|`, however
//! many tiles there are (up to 2^24 tiles, whose roundings in f64 stay below one such unit).

use layout_cuda::tiled_kernel;

/// `out[i]`: the sum of `x[0], .., x[i]`; with `EXCLUSIVE` without `x[i]`. `state` is all NaN and `ticket` zero before:
/// a sum for each tile, then one for each 32 tiles, then one for each 1024.
#[tiled_kernel(
    EXCLUSIVE = [false, true], THREADS = 512, ROWS = 8, TICKET = true,
    block = [THREADS],
    grid = [N.div_ceil(THREADS * ROWS * 4)],
)]
pub fn scan<const N: usize, const STATE: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>,
    out: &mut LayoutTensor<f32, RowMajor<N>>,
    state: &mut LayoutTensor<f64, RowMajor<STATE>>,
    ticket: &mut LayoutTensor<u32, RowMajor<1>>,
) {
    const TILE: usize = THREADS * ROWS * 4;
    const WARPS: usize = THREADS / 32;
    // What NaN is published as, since NaN says that nothing is there yet: no sum of f32 comes near it.
    const NOT_A_NUMBER: f64 = 1e300;
    let mut drawn = shared::<u32>(row_major([1]));
    let mut of_warps = shared::<f32>(row_major([WARPS]));
    let mut carried = shared::<f64>(row_major([1]));
    if TICKET {
        if thread_idx.x == 0 {
            drawn[[0]] = ticket.atomic_add([0], 1);
        }
        barrier();
    }
    let tile = if TICKET { drawn[[0]] as usize } else { block_idx.x };

    let mut own = local::<f32>(row_major([ROWS * 4]));
    let from = x.tile([TILE], [tile]).tile([ROWS * 128], [warp_id()]).vectorize([4]);
    if (tile + 1) * TILE <= N {
        own.vectorize([4]).copy_from(&from.distribute(row_major([32]), lane_id()));
    } else {
        own.vectorize([4]).copy_from(&from.distribute(row_major([32]), lane_id()));
    }
    let mut before = local::<f32>(row_major([ROWS]));
    let mut of_warp: f32 = 0.0;
    for row in unroll(0..ROWS) {
        for j in unroll(1..4) {
            own[[row * 4 + j]] += own[[row * 4 + j - 1]];
        }
        let upto = own[[row * 4 + 3]].warp_prefix_sum();
        let prior = upto.shuffle_up(1);
        before[[row]] = of_warp + select(lane_id() == 0, 0.0, prior);
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
        let tiles = N.div_ceil(TILE);
        let (group, hundred) = (tile / 32, tile / 1024);
        let (groups, at) = (tiles.div_ceil(32), tiles);
        if lane_id() == 0 {
            state.store_relaxed([tile], select(of_tile == of_tile, of_tile, NOT_A_NUMBER));
        }
        let mut seen: f64 = 0.0;
        loop {
            if lane_id() < tile % 32 {
                seen = state.load_relaxed([group * 32 + lane_id()]);
            }
            if all(seen == seen) {
                break;
            }
        }
        let in_group = select(seen == NOT_A_NUMBER, f64::NAN, seen).warp_sum();
        let with_own = in_group + of_tile;
        if tile % 32 == 31 && lane_id() == 0 {
            state.store_relaxed([at + group], select(with_own == with_own, with_own, NOT_A_NUMBER));
        }
        let mut of_group: f64 = 0.0;
        let mut start: f64 = 0.0;
        loop {
            if lane_id() < group % 32 {
                of_group = state.load_relaxed([at + hundred * 32 + lane_id()]);
            }
            if hundred > 0 {
                start = state.load_relaxed([at + groups + hundred - 1]);
            }
            if all(of_group == of_group && start == start) {
                break;
            }
        }
        let in_hundred = select(of_group == NOT_A_NUMBER, f64::NAN, of_group).warp_sum();
        let carry = select(start == NOT_A_NUMBER, f64::NAN, start) + in_hundred;
        if lane_id() == 0 {
            if tile % 1024 == 1023 {
                let next = carry + with_own;
                state.store_relaxed([at + groups + hundred], select(next == next, next, NOT_A_NUMBER));
            }
            carried[[0]] = carry + in_group;
        }
    }
    barrier();
    let carry = (carried[[0]] + before_warp.cast::<f64>()).cast::<f32>();
    for row in unroll(0..ROWS) {
        let base = carry + before[[row]];
        for j in unroll(0..4) {
            let k = row * 4 + 3 - j;
            if EXCLUSIVE {
                if j < 3 {
                    own[[k]] = base + own[[k - 1]];
                } else {
                    own[[k]] = base;
                }
            } else {
                own[[k]] += base;
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
#[tiled_kernel(block = [256], grid = [STATE.div_ceil(256)])]
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
