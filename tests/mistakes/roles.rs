//! Warps with parts of their own: what all of some threads must come to, and not all do.

use super::zeros;
use layout_cuda::FindingKind::{Deadlock, DivergentBarrier, MissingWait};
use layout_cuda::{Device, tiled_kernel};

const SOURCE: &str = include_str!("roles.rs");

/// Two warps work, a third one waits for both. They meet at a named barrier, at the block's, or at one for other threads.
#[tiled_kernel(FLAW = [0, 1, 2, 3], arch = "sm_90a", block = [96], grid = [1])]
fn workers(y: &mut LayoutTensor<f32, RowMajor<64>>) {
    let mut line = shared::<f32>(row_major([64]));
    let done = mbarriers(1, 64);
    barrier();
    if warp_id() == 2 {
        if FLAW != 2 {
            done.at(0).wait(0);
        }
        if FLAW == 3 {
            barrier();
        }
    } else {
        line[[thread_idx.x]] = 1.0;
        if FLAW == 0 {
            named_barrier(1, 64);
        } else if FLAW == 3 {
            named_barrier(1, 64);
            barrier(); // here: each waits for the other
        } else {
            barrier(); // here: the block's
        }
        y[[thread_idx.x]] = line[[63 - thread_idx.x]];
        done.at(0).arrive();
    }
}

#[test]
fn the_blocks_barrier_is_no_roles() {
    // Of two waits for each other either may be wrong: the message says both.
    table!(SOURCE, workers(&mut zeros(64)) {
        // The barrier waits for no warp that has ended.
        0 => None, 1 => Some((Deadlock, "the block's")), 2 => None,
    });
    let set = super::set(&workers::DEFINITION, 3);
    let report =
        workers::simulate_with(super::config(&set), &layout_cuda::Options::default(), &mut zeros(64));
    let report = report.expect("it runs");
    assert_eq!(report.findings.first().map(|finding| finding.kind), Some(Deadlock), "{report}");
}

/// A warp loads lines into two stages, another one reads them: with the wrong parity, without going on to the next stage.
#[tiled_kernel(FLAW = [0, 1, 2], arch = "sm_90a", block = [64], grid = [1])]
fn stages(x: &LayoutTensor<f32, RowMajor<6, 32>>, y: &mut LayoutTensor<f32, RowMajor<6, 32>>) {
    let mut lines = shared::<f32>(row_major([2, 32]));
    let full = mbarriers(2, 1);
    let empty = mbarriers(2, 32);
    barrier();
    let mut state = pipeline_state(2);
    for part in 0..6 {
        let stage = state.stage();
        if warp_id() == 0 {
            if lane_id() == 0 {
                empty.at(stage).wait(1 - state.phase());
                full.at(stage).arrive_expect(128);
                tma_load(&mut lines.tile([1, 32], [stage, 0]), &x.tile([1, 32], [part, 0]), full.at(stage));
            }
            state.advance();
        } else {
            full.at(stage).wait(if FLAW == 1 { 0 } else { state.phase() }); // here: passes again
            y[[part, lane_id()]] = lines[[stage, lane_id()]]; // here: too early
            empty.at(stage).arrive();
            if FLAW != 2 {
                state.advance();
            }
        }
    }
}

#[test]
fn a_wait_that_passes_again_is_reported() {
    let device = Device::simulator();
    let x = device.zeros::<f32, 2>([6, 32]).expect("x");
    let mut y = device.zeros::<f32, 2>([6, 32]).expect("y");
    table!(SOURCE, stages(&x, &mut y) {
        0 => None, 1 => Some((MissingWait, "too early")), 2 => Some((Deadlock, "passes again")),
    });
}

/// Three warps meet at a barrier of two, or of three.
#[tiled_kernel(FLAW = [0, 1, 2], block = [96], grid = [1])]
fn counted(y: &mut LayoutTensor<f32, RowMajor<96>>) {
    let mut line = shared::<f32>(row_major([96]));
    line[[thread_idx.x]] = 1.0;
    if FLAW == 0 {
        named_barrier(1, 96);
    } else if FLAW == 1 {
        named_barrier(1, 64); // here: two of three
    } else if warp_id() < 2 {
        named_barrier(1, 96); // here: three of two
    }
    y[[thread_idx.x]] = line[[95 - thread_idx.x]];
}

#[test]
fn a_wrong_count_comes_before_its_races() {
    table!(SOURCE, counted(&mut zeros(96)) {
        0 => None, 1 => Some((Deadlock, "two of three")),
    });
}

/// A product of four warps, of three, of four that are of two warpgroups.
#[tiled_kernel(FLAW = [0, 1, 2], arch = "sm_90a", block = [256], grid = [1])]
fn product(x: &LayoutTensor<bf16, RowMajor<64, 64>>, y: &mut LayoutTensor<f32, RowMajor<256>>) {
    let mut tile = shared::<bf16>(row_major([64, 64]).swizzle_bytes(128));
    for part in 0..16 {
        tile[[4 * part + thread_idx.x / 64, thread_idx.x % 64]] =
            x[[4 * part + thread_idx.x / 64, thread_idx.x % 64]];
    }
    fence_async_proxy();
    barrier();
    let first = if FLAW == 2 { 2 } else { 0 };
    if warp_id() >= first && warp_id() < (if FLAW == 1 { 3 } else { first + 4 }) {
        let mut sum = accumulator([64, 64]);
        wgmma(&mut sum, &tile, &tile.transpose(), false); // here: issued
        wgmma_commit_group();
        wgmma_wait_group(0);
        y[[thread_idx.x]] = sum[[0, 0]];
    }
}

#[test]
fn a_product_is_a_warpgroups() {
    let x = Device::simulator().zeros::<layout_cuda::bf16, 2>([64, 64]).expect("x");
    let issued = Some((DivergentBarrier, "issued"));
    table!(SOURCE, product(&x, &mut zeros(256)) { 0 => None, 1 => issued, 2 => issued, });
}

/// Registers are given to one warpgroup, to one warp of it, to two parts of it in two places.
#[tiled_kernel(FLAW = [0, 1, 2], arch = "sm_90a", block = [256], grid = [1])]
fn registers(y: &mut LayoutTensor<f32, RowMajor<256>>) {
    if FLAW == 0 {
        if warp_group() == 0 {
            set_max_registers(24);
        }
    } else if FLAW == 1 {
        if warp_id() == 0 {
            set_max_registers(24); // here: one warp
        }
    } else if warp_id() < 2 {
        set_max_registers(24); // here: two places
    } else if warp_id() < 4 {
        set_max_registers(24);
    }
    y[[thread_idx.x]] = 1.0;
}

#[test]
fn registers_are_a_warpgroups() {
    let found = |name| Some((DivergentBarrier, name));
    table!(SOURCE, registers(&mut zeros(256)) { 0 => None, 1 => found("one warp"), 2 => found("two places"), });
}
