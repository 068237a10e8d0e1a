//! Who meets whom: a named barrier counts threads, whoever they are; a block may wait only for blocks that surely run.

use super::zeros;
use layout_cuda::FindingKind::{DivergentBarrier, NotResident};
use layout_cuda::{FindingKind, Options, tiled_kernel};

const SOURCE: &str = include_str!("meeting.rs");

/// Two pairs of warps; in some flaws both meet at one number, or a warp is in two pairs.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4], block = [128], grid = [1])]
fn pairs(y: &mut LayoutTensor<f32, RowMajor<128>>) {
    let mut line = shared::<f32>(row_major([128]));
    let warp = warp_id();
    line[[thread_idx.x]] = 1.0;
    if FLAW == 0 {
        named_barrier(1 + warp / 2, 64);
        named_barrier(1 + warp / 2, 64);
    } else if FLAW == 1 {
        if warp < 2 {
            named_barrier(1, 64);
        } else {
            named_barrier(1, 64); // here: the other pair
        }
    } else if FLAW == 2 {
        if warp < 2 {
            named_barrier(1, 64);
        }
        if warp == 1 || warp == 2 {
            named_barrier(1, 64); // here: a chain
        }
    } else if FLAW == 3 {
        if warp < 2 {
            named_barrier(1, 64);
        }
        barrier();
        if warp == 1 || warp == 2 {
            named_barrier(1, 64);
        }
    } else {
        for round in 0..3 {
            if warp % 2 == round % 2 {
                named_barrier(1, 64); // here: in turn
            }
        }
    }
    y[[thread_idx.x]] = line[[thread_idx.x]];
}

#[test]
fn a_named_barrier_is_one_groups() {
    let found = |name| Some((DivergentBarrier, name));
    table!(SOURCE, pairs(&mut zeros(128)) {
        0 => None, 1 => found("the other pair"), 2 => found("a chain"), 3 => None, 4 => found("in turn"),
    });
}

/// Each block waits for another one: the one before, the one after, the one that drew the number before; or all wait for all.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4], block = [32], grid = [BLOCKS])]
fn waits_for_another<const BLOCKS: usize>(
    flags: &mut LayoutTensor<u32, RowMajor<BLOCKS>>,
    drawn: &mut LayoutTensor<u32, RowMajor<1>>,
) {
    if lane_id() == 0 {
        if FLAW == 0 {
            let own = drawn.atomic_add([0], 1) as usize;
            if own > 0 && own < BLOCKS {
                while flags.load_acquire([own - 1]) == 0 {}
            }
            if own < BLOCKS {
                flags.store_release([own], 1);
            }
        } else if FLAW == 3 {
            drawn.atomic_add([0], 1);
            while drawn.load_acquire([0]) < grid_dim.x as u32 {} // here: all
        } else if FLAW == 4 {
            flags.store_release([block_idx.x], 1);
            for other in 0..BLOCKS {
                while flags.load_acquire([other]) == 0 {} // here: each
            }
        } else {
            if FLAW == 1 {
                if block_idx.x > 0 {
                    while flags.load_acquire([block_idx.x - 1]) == 0 {} // here: the one before
                }
            } else if block_idx.x + 1 < BLOCKS {
                while flags.load_acquire([block_idx.x + 1]) == 0 {} // here: the one after
            }
            flags.store_release([block_idx.x], 1);
        }
    }
}

#[test]
fn a_block_waits_for_blocks_that_run() {
    let wanted: [Option<(FindingKind, &str)>; 5] = [
        None,
        Some((NotResident, "the one before")),
        Some((NotResident, "the one after")),
        Some((NotResident, "all")),
        Some((NotResident, "each")),
    ];
    for (flaw, wanted) in (0..).zip(wanted) {
        let set = super::set(&waits_for_another::DEFINITION, flaw);
        // On a device that holds them all none is wrong.
        for (multiprocessors, wanted) in [(64, None), (132, None), (63, wanted), (8, wanted), (1, wanted)] {
            let options = Options { multiprocessors, ..Options::default() };
            let report = waits_for_another::simulate_with(
                super::config(&set),
                &options,
                &mut zeros(64),
                &mut zeros(1),
            );
            super::judge(SOURCE, ("waits_for_another", flaw), &report.expect("it runs"), wanted);
        }
    }
}
