//! Steps of a block: sorts, sums, shortest ways, warps and halves in turn.

use super::{empty, sevens, sevens_of};
use layout_cuda::FindingKind::{DivergentBarrier, ReadWriteRace, WriteWriteRace};
use layout_cuda::tiled_kernel;

const SOURCE: &str = include_str!("steps.rs");

/// Two sums through one scratch.
#[tiled_kernel(FLAW = [0, 1, 2], block = [64], grid = [1])]
fn two_sums(x: &LayoutTensor<f32, RowMajor<2, 64>>, y: &mut LayoutTensor<f32, RowMajor<2, 64>>) {
    let mut scratch = shared::<f32>(row_major([2]));
    for i in 0..2 {
        let sum = x[[i, thread_idx.x]].warp_sum();
        if lane_id() == 0 {
            scratch[[warp_id()]] = sum; // here: the next sum
        }
        if FLAW == 2 {
            sync_warp();
        } else {
            barrier();
        }
        y[[i, thread_idx.x]] = scratch[[0]] + scratch[[1]]; // here: both sums
        if FLAW == 0 {
            barrier();
        }
    }
}

#[test]
fn one_scratch_for_two_sums() {
    table!(SOURCE, two_sums(&sevens([2, 64]), &mut empty([2, 64])) {
        0 => None, 1 => Some((ReadWriteRace, "the next sum")), 2 => Some((ReadWriteRace, "both sums")),
    });
}

/// Bitonic: steps inside of a warp meet as a warp.
#[tiled_kernel(FLAW = [0, 1, 2], block = [64], grid = [1])]
fn bitonic_steps(x: &LayoutTensor<f32, RowMajor<64>>, y: &mut LayoutTensor<f32, RowMajor<64>>) {
    let mut row = shared::<f32>(row_major([64]));
    let t = thread_idx.x;
    row[[t]] = x[[t]];
    barrier();
    let mut size = 2;
    while size <= 64 {
        let mut step = size / 2;
        while step > 0 {
            let other = t ^ step;
            let (a, b) = (row[[t]], row[[other]]); // here: compares
            if step >= (if FLAW == 1 { 64 } else { 32 }) {
                barrier();
            } else if FLAW == 2 {
            } else {
                sync_warp();
            }
            let up = t & size == 0;
            row[[t]] = if (t < other) == up { a.min(b) } else { a.max(b) }; // here: exchanges
            if step >= 32 || step == 1 {
                barrier();
            } else {
                sync_warp();
            }
            step /= 2;
        }
        size *= 2;
    }
    y[[t]] = row[[t]];
}

#[test]
fn steps_beyond_a_warp_meet_as_a_block() {
    table!(SOURCE, bitonic_steps(&sevens([64]), &mut empty([64])) {
        0 => None, 1 => Some((ReadWriteRace, "compares")), 2 => Some((ReadWriteRace, "exchanges")),
    });
}

/// All shortest ways: row and column k stay as they are in round k, where the diagonal is zero.
#[tiled_kernel(FLAW = [0, 1, 2], block = [64], grid = [1])]
fn ways(x: &LayoutTensor<f32, RowMajor<8, 8>>, y: &mut LayoutTensor<f32, RowMajor<8, 8>>) {
    let mut d = shared::<f32>(row_major([8, 8]));
    let (i, j) = (thread_idx.x / 8, thread_idx.x % 8);
    d[[i, j]] = x[[i, j]];
    barrier();
    for k in 0..8 {
        let through = d[[i, k]] + d[[k, j]]; // here: through
        if FLAW != 1 {
            barrier();
        }
        d[[i, j]] = d[[i, j]].min(through); // here: shorter
        if FLAW != 2 {
            barrier();
        }
    }
    y[[i, j]] = d[[i, j]];
}

#[test]
fn a_round_ends_before_the_next() {
    table!(SOURCE, ways(&sevens([8, 8]), &mut empty([8, 8])) {
        0 => None, 1 => Some((ReadWriteRace, "shorter")), 2 => Some((ReadWriteRace, "through")),
    });
}

/// A loop that ends when nobody of the block has more, or of the warp; then in some flaws the warp waits for the others.
#[tiled_kernel(FLAW = [0, 1, 2], block = [64], grid = [1])]
fn until_none(x: &LayoutTensor<i32, RowMajor<64>>, y: &mut LayoutTensor<i32, RowMajor<64>>) {
    let mut row = shared::<i32>(row_major([64]));
    let t = thread_idx.x;
    let mut left = x[[t]] + (t / 32) as i32;
    let mut rounds = 0;
    row[[t]] = left;
    barrier();
    let mut more = true;
    while more {
        let other = row[[63 - t]];
        barrier();
        left = if left > 0 { left - 1 } else { 0 };
        row[[t]] = left;
        rounds += if other > 0 { 1 } else { 0 };
        barrier();
        let own = if left > 0 { 1i32 } else { 0 };
        more = if FLAW > 0 { any(left > 0) } else { own.block_max() > 0 };
    }
    if FLAW == 2 {
        barrier(); // here: after the loop
    }
    y[[t]] = rounds;
}

#[test]
fn a_block_goes_on_together() {
    table!(SOURCE, until_none(&sevens_of([64], |value| value as i32), &mut empty([64])) {
        // No barrier waits for a warp that has ended.
        0 => None, 1 => None, 2 => Some((DivergentBarrier, "after the loop")),
    });
}

/// Rows are added up by warps of a block in turn.
#[tiled_kernel(FLAW = [0, 1, 2], block = [128], grid = [1])]
fn warps_in_turn(x: &LayoutTensor<f32, RowMajor<4, 32>>, y: &mut LayoutTensor<f32, RowMajor<32>>) {
    let mut sum = shared::<f32>(row_major([32]));
    for w in unroll(0..4) {
        if warp_id() == (if FLAW == 2 { w / 2 * 2 } else { w }) {
            let before = if w == 0 { 0.0 } else { sum[[31 - lane_id()]] }; // here: the sum before
            sync_warp();
            sum[[lane_id()]] = before + x[[w, lane_id()]];
        }
        if FLAW != 1 || w != 1 {
            barrier();
        }
    }
    if warp_id() == 1 {
        y[[lane_id()]] = sum[[lane_id()]];
    }
}

#[test]
fn warps_add_in_turn() {
    table!(SOURCE, warps_in_turn(&sevens([4, 32]), &mut empty([32])) {
        0 => None, 1 => Some((ReadWriteRace, "the sum before")), 2 => None,
    });
}

/// Halves of a block work at halves of a buffer and change places.
#[tiled_kernel(FLAW = [0, 1, 2], block = [128], grid = [1])]
fn change_places(x: &LayoutTensor<f32, RowMajor<4, 128>>, y: &mut LayoutTensor<f32, RowMajor<4, 128>>) {
    let mut row = shared::<f32>(row_major([2, 64]));
    let (half, t) = (thread_idx.x / 64, thread_idx.x % 64);
    for i in 0..4 {
        let own = (half + i) % 2;
        row[[own, t]] = x[[i, thread_idx.x]]; // here: the other half
        if FLAW == 2 {
            named_barrier(1 + half, 64);
        } else {
            named_barrier(1 + own, 64);
        }
        y[[i, thread_idx.x]] = row[[own, 63 - t]];
        if FLAW != 1 {
            barrier();
        }
    }
}

#[test]
fn halves_change_places() {
    table!(SOURCE, change_places(&sevens([4, 128]), &mut empty([4, 128])) {
        0 => None, 1 => Some((WriteWriteRace, "the other half")), 2 => None,
    });
}
