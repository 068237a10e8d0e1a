//! What an asynchronous copy reads is in use until somebody has waited for it: also by the thread that started the copy.

use super::zeros;
use layout_cuda::FindingKind::{MissingWait, ReadWriteRace};
use layout_cuda::{Device, tiled_kernel};

const SOURCE: &str = include_str!("sources.rs");

/// A line goes to shared memory by `cp.async`, and is overwritten: after the wait, before it, by another lane, one group too
/// early.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4], block = [32], grid = [1])]
fn copied(x: &mut LayoutTensor<f32, RowMajor<2, 32>>, y: &mut LayoutTensor<f32, RowMajor<2, 32>>) {
    let mut lines = shared::<f32>(row_major([2, 32]));
    let lane = lane_id();
    for part in unroll(0..2) {
        copy_dram_to_sram_async(
            lines.tile([1, 32], [part, 0]),
            &x.tile([1, 32], [part, 0]),
            row_major([1, 32]),
        );
        async_copy_commit_group();
    }
    if FLAW == 1 {
        x[[0, lane]] = 5.0; // here: own
    } else if FLAW == 2 {
        sync_warp();
        x[[0, 31 - lane]] = 5.0; // here: another lane
    }
    async_copy_wait_group(1);
    sync_warp();
    if FLAW == 3 {
        x[[1, lane]] = 5.0; // here: the second group
    } else if FLAW == 4 {
        x[[0, 31 - lane]] = 5.0;
    }
    async_copy_wait_group(0);
    sync_warp();
    if FLAW == 0 {
        x[[1, 31 - lane]] = 5.0;
    }
    y[[0, lane]] = lines[[0, 31 - lane]];
    y[[1, lane]] = lines[[1, 31 - lane]];
}

#[test]
fn a_copy_reads_until_its_wait() {
    let device = Device::simulator();
    let mut x = device.zeros::<f32, 2>([2, 32]).expect("x");
    let mut y = device.zeros::<f32, 2>([2, 32]).expect("y");
    let missing = |name| Some((MissingWait, name));
    table!(SOURCE, copied(&mut x, &mut y) {
        0 => None, 1 => missing("own"), 2 => missing("another lane"), 3 => missing("the second group"), 4 => None,
    });
}

/// A line goes to shared memory by TMA, and is overwritten: after the wait by those who waited, or behind a barrier with them;
/// before it by the thread that asked; by others.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4], arch = "sm_90a", block = [64], grid = [1])]
fn loaded(x: &mut LayoutTensor<f32, RowMajor<1, 64>>, y: &mut LayoutTensor<f32, RowMajor<64>>) {
    let mut line = shared::<f32>(row_major([1, 64]));
    let full = mbarriers(1, 1);
    barrier();
    if thread_idx.x == 0 {
        full.at(0).arrive_expect(256);
        tma_load(&mut line, &x.tile([1, 64], [0, 0]), full.at(0));
        if FLAW == 2 {
            x[[0, 3]] = 5.0; // here: asked for
        }
    }
    if FLAW == 3 {
        barrier();
        x[[0, thread_idx.x]] = 5.0; // here: others
    }
    if FLAW != 1 || warp_id() == 1 {
        full.at(0).wait(0);
    }
    if FLAW == 1 || FLAW == 4 {
        barrier();
    }
    if FLAW < 2 || FLAW == 4 {
        x[[0, thread_idx.x]] = 5.0;
    }
    y[[thread_idx.x]] = line[[0, 63 - thread_idx.x]];
}

#[test]
fn a_load_reads_until_its_phase_ends() {
    let device = Device::simulator();
    let mut x = device.zeros::<f32, 2>([1, 64]).expect("x");
    let missing = |name| Some((MissingWait, name));
    table!(SOURCE, loaded(&mut x, &mut zeros(64)) {
        0 => None, 1 => None, 2 => missing("asked for"), 3 => missing("others"), 4 => None,
    });
}

/// Block 0 stores a line by TMA and signals block 1, which reads it: once it is written, once shared memory is read only, at once,
/// by a flag that orders nothing.
#[tiled_kernel(FLAW = [0, 1, 2, 3], arch = "sm_90a", block = [32], grid = [2])]
fn stored(
    x: &mut LayoutTensor<f32, RowMajor<1, 32>>,
    flag: &mut LayoutTensor<u32, RowMajor<1>>,
    y: &mut LayoutTensor<f32, RowMajor<32>>,
) {
    let mut line = shared::<f32>(row_major([1, 32]));
    if block_idx.x == 0 {
        line[[0, lane_id()]] = 1.0;
        fence_async_proxy();
        sync_warp();
        if lane_id() == 0 {
            tma_store(x, &line);
            bulk_commit_group();
            if FLAW == 1 {
                bulk_wait_group_read(0);
            } else if FLAW != 2 {
                bulk_wait_group(0);
            }
            if FLAW == 3 {
                flag.store_relaxed([0], 1);
            } else {
                flag.store_release([0], 1);
            }
            bulk_wait_group(0);
        }
    } else {
        if lane_id() == 0 {
            while flag.load_acquire([0]) == 0 {}
        }
        sync_warp();
        y[[lane_id()]] = x[[0, lane_id()]]; // here: stored value
    }
}

#[test]
fn a_store_is_done_after_its_wait() {
    let mut x = Device::simulator().zeros::<f32, 2>([1, 32]).expect("x");
    for (flaw, wanted) in [
        (0, None),
        (1, Some((ReadWriteRace, "stored value"))),
        (2, Some((ReadWriteRace, "stored value"))),
        (3, Some((ReadWriteRace, "stored value"))),
    ] {
        let set = super::set(&stored::DEFINITION, flaw);
        let options = layout_cuda::Options::default();
        let report =
            stored::simulate_with(super::config(&set), &options, &mut x, &mut zeros(1), &mut zeros(32));
        super::judge(SOURCE, ("stored", flaw), &report.expect("it runs"), wanted);
    }
}
