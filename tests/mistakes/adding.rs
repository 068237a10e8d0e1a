//! Additions by TMA: what may run beside one in flight, and what must wait for it.

use super::{empty, sevens, sevens_of, zeros};
use layout_cuda::FindingKind::{InFlightAtEnd, MissingFence, MissingWait, ReadWriteRace, WriteWriteRace};
use layout_cuda::{Device, tiled_kernel};

const SOURCE: &str = include_str!("adding.rs");

/// Blocks that add their tiles to one: beside other additions of TMA and of atomic operations, and beside a store.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4, 5, 6, 7, 8], arch = "sm_90a", block = [64], grid = [3])]
fn added(y: &mut LayoutTensor<i32, RowMajor<1, 64>>) {
    let mut line = shared::<i32>(row_major([1, 64]));
    line[[0, thread_idx.x]] = thread_idx.x as i32;
    if FLAW != 1 {
        fence_async_proxy();
    }
    if FLAW != 2 {
        barrier();
    }
    if FLAW == 7 && block_idx.x == 2 {
        y[[0, thread_idx.x]] = 1; // here: written
    }
    if thread_idx.x == 0 {
        if FLAW == 4 && block_idx.x == 1 {
            tma_store(&mut y.tile([1, 64], [0, 0]), &line); // here: stored
        } else {
            tma_add(&mut y.tile([1, 64], [0, 0]), &line); // here: added
        }
        bulk_commit_group();
        if FLAW == 3 {
            bulk_wait_group(1);
        } else if FLAW != 6 {
            bulk_wait_group_read(0);
        }
        if FLAW == 6 {
            line[[0, 0]] = 0; // here: overwritten
        }
        bulk_wait_group(if FLAW == 3 { 1 } else { 0 });
    }
    if FLAW == 5 {
        y.atomic_add([0, thread_idx.x], 1);
    }
    if FLAW == 8 && block_idx.x == 0 {
        y.block_scope().atomic_add([0, thread_idx.x], 1);
    }
}

#[test]
fn additions_of_several_blocks() {
    table!(SOURCE, added(&mut sevens_of([1, 64], |value| value as i32)) {
        0 => None, 1 => Some((MissingFence, "added")), 2 => Some((ReadWriteRace, "added")),
        3 => Some((InFlightAtEnd, "added")), 4 => Some((WriteWriteRace, "stored")), 5 => None,
        6 => Some((MissingWait, "overwritten")), 7 => Some((WriteWriteRace, "written")), 8 => Some((WriteWriteRace, "added")),
    });
}

/// A thread reads a sum that its own block added to: behind a wait, behind one for shared memory only, and without its warp.
#[tiled_kernel(FLAW = [0, 1, 2, 3], arch = "sm_90a", block = [32], grid = [2])]
fn read_back(y: &mut LayoutTensor<f32, RowMajor<2, 32>>, z: &mut LayoutTensor<f32, RowMajor<2, 32>>) {
    let mut line = shared::<f32>(row_major([1, 32]));
    let row = if FLAW == 3 { 0 } else { block_idx.x };
    line[[0, lane_id()]] = 1.0;
    fence_async_proxy();
    sync_warp();
    if lane_id() == 0 {
        for _ in 0..2 {
            tma_add(&mut y.tile([1, 32], [row, 0]), &line); // here: again
        }
        bulk_commit_group();
        if FLAW == 1 {
            bulk_wait_group_read(0);
        } else {
            bulk_wait_group(0);
        }
    }
    if FLAW != 2 {
        sync_warp();
    }
    z[[block_idx.x, lane_id()]] = y[[row, 31 - lane_id()]]; // here: back
    if FLAW == 1 && lane_id() == 0 {
        bulk_wait_group(0);
    }
}

#[test]
fn a_sum_is_read_after_its_wait() {
    table!(SOURCE, read_back(&mut sevens([2, 32]), &mut empty([2, 32])) {
        0 => None, 1 => Some((MissingWait, "back")), 2 => Some((ReadWriteRace, "back")), 3 => Some((ReadWriteRace, "again")),
    });
}

/// A flag signals another block that a sum is whole: behind the wait, the fence and the barrier, and without one of them.
#[tiled_kernel(FLAW = [0, 1], arch = "sm_90a", block = [32], grid = [2], cooperative = true)]
fn signalled(
    y: &mut LayoutTensor<f32, RowMajor<1, 32>>,
    flags: &mut LayoutTensor<u32, RowMajor<1>>,
    z: &mut LayoutTensor<f32, RowMajor<32>>,
) {
    let mut line = shared::<f32>(row_major([1, 32]));
    if block_idx.x == 0 {
        line[[0, lane_id()]] = 1.0;
        fence_async_proxy();
        sync_warp();
        if lane_id() == 0 {
            tma_add(&mut y.tile([1, 32], [0, 0]), &line);
            bulk_commit_group();
            bulk_wait_group(0);
            if FLAW == 1 {
                flags.store_relaxed([0], 1);
            } else {
                fence_async_proxy_global();
                flags.store_release([0], 1);
            }
        }
    } else {
        while flags.load_acquire([0]) == 0 {}
        z[[lane_id()]] = y[[0, lane_id()]]; // here: signalled
    }
}

#[test]
fn a_flag_signals_a_sum() {
    table!(SOURCE, signalled(&mut sevens([1, 32]), &mut zeros(1), &mut zeros(32)) {
        0 => None, 1 => Some((ReadWriteRace, "signalled")),
    });
}

/// What is added is what is there afterwards, at the edge of a tensor too.
#[test]
fn what_is_added_is_there() {
    let mut y = Device::simulator().upload(&[5i32; 64], [1, 64]).expect("y");
    let report = added::simulate(&mut y).expect("it runs");
    assert!(report.clean(), "{report}");
    let wanted: Vec<i32> = (0..64).map(|i| 5 + 3 * i).collect();
    assert_eq!(y.download().expect("y"), wanted);
}
