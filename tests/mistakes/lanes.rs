//! Order inside a warp: what a lane acquires, releases, arrives at, waits for, fences or hands to TMA counts for
//! that lane, until `sync_warp`, a shuffle, a vote or a barrier orders it with others.

use super::zeros;
use layout_cuda::FindingKind::{MissingWait, Overwritten, ReadWriteRace};
use layout_cuda::{Device, FindingKind, tiled_kernel};

const SOURCE: &str = include_str!("lanes.rs");

/// A warp waits for a tile.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4, 5, 6], arch = "sm_90a", block = [32], grid = [1])]
fn waits(x: &LayoutTensor<f32, RowMajor<32, 32>>, y: &mut LayoutTensor<f32, RowMajor<32>>) {
    let mut tile = shared::<f32>(row_major([32, 32]));
    let full = mbarriers(1, 1);
    barrier();
    let lane = lane_id();
    if lane == 0 {
        full.at(0).arrive_expect(4096);
        tma_load(&mut tile, &x.tile([32, 32], [0, 0]), full.at(0));
    }
    if FLAW == 0 {
        full.at(0).wait(0);
    } else if FLAW == 6 {
        if lane < 16 {
            full.at(0).wait(0);
        }
    } else if lane == 0 {
        full.at(0).wait(0);
    }
    let mut from = 0u32;
    if FLAW == 1 {
        sync_warp();
    } else if FLAW == 2 {
        from = ballot(lane == 0);
    } else if FLAW == 3 {
        from = from.shuffle(0);
    } else if FLAW == 5 {
        if elect_one() {
            from = 1;
        }
    }
    if from < 2 {
        y[[lane]] = tile[[3, lane]]; // here: read
    }
}

#[test]
fn a_lane_waits_for_itself() {
    let x = Device::simulator().zeros::<f32, 2>([32, 32]).expect("x");
    let found = Some((MissingWait, "read"));
    table!(SOURCE, waits(&x, &mut zeros(32)) {
        0 => None, 1 => None, 2 => None, 3 => None, 4 => found, 5 => found, 6 => found,
    });
}

/// Warp 0 writes, warp 1 reads.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4, 5], arch = "sm_90a", block = [64], grid = [1])]
fn arrives(y: &mut LayoutTensor<f32, RowMajor<32>>) {
    let mut line = shared::<f32>(row_major([32]));
    let ready = mbarriers(
        1,
        if FLAW == 0 {
            32
        } else if FLAW == 4 {
            16
        } else {
            1
        },
    );
    barrier();
    let lane = lane_id();
    if warp_id() == 0 {
        line[[lane]] = 1.0;
        if FLAW == 0 {
            ready.at(0).arrive();
        } else if FLAW == 4 {
            if lane < 16 {
                ready.at(0).arrive();
            }
        } else if FLAW == 5 {
            if elect_one() {
                ready.at(0).arrive();
            }
        } else {
            if FLAW == 1 {
                sync_warp();
            }
            if lane == if FLAW == 3 { 31 } else { 0 } {
                ready.at(0).arrive();
            }
        }
    } else {
        ready.at(0).wait(0);
        y[[lane]] = line[[lane]]; // here: what others wrote
    }
}

#[test]
fn a_lane_arrives_for_itself() {
    let found = Some((ReadWriteRace, "what others wrote"));
    table!(SOURCE, arrives(&mut zeros(32)) {
        0 => None, 1 => None, 2 => found, 3 => found, 4 => found, 5 => found,
    });
}

/// Block 0 writes and releases, block 1 acquires and reads.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4, 5, 6], block = [32], grid = [2])]
fn releases(
    x: &mut LayoutTensor<f32, RowMajor<32>>,
    y: &mut LayoutTensor<f32, RowMajor<32>>,
    flags: &mut LayoutTensor<u32, RowMajor<32>>,
) {
    let lane = lane_id();
    if block_idx.x == 0 {
        x[[lane]] = 1.0;
        if FLAW == 0 || FLAW == 6 {
            flags.store_release([lane], 1);
        } else {
            if FLAW != 2 && FLAW != 3 {
                sync_warp();
            }
            if lane == if FLAW == 3 { 1 } else { 0 } {
                flags.store_release([0], 1);
            }
        }
    } else {
        if FLAW == 0 {
            while flags.load_acquire([lane]) == 0 {}
        } else if lane == 0 {
            while flags.load_acquire([0]) == 0 {}
        }
        if FLAW == 5 {
            y[[lane]] = x[[lane]]; // here: acquired by one
        }
        sync_warp();
        if FLAW != 5 {
            y[[lane]] = x[[31 - lane]] + x[[lane]]; // here: released by one
        }
    }
}

#[test]
fn a_lane_releases_and_acquires_for_itself() {
    let (one, acquired) =
        (Some((ReadWriteRace, "released by one")), Some((ReadWriteRace, "acquired by one")));
    table!(SOURCE, releases(&mut zeros(32), &mut zeros(32), &mut zeros(32)) {
        0 => None, 1 => None, 2 => one, 3 => one, 4 => None, 5 => acquired, 6 => one,
    });
}

/// A warp hands a line to TMA, and writes it again.
#[tiled_kernel(FLAW = [0, 1, 2, 3], arch = "sm_90a", block = [32], grid = [1])]
fn hands_over(y: &mut LayoutTensor<f32, RowMajor<2, 32>>) {
    let mut line = shared::<f32>(row_major([1, 32]));
    let lane = lane_id();
    line[[0, lane]] = 1.0; // here: handed over
    fence_async_proxy();
    if FLAW != 1 {
        sync_warp();
    }
    if lane == 0 {
        tma_store(&mut y.tile([1, 32], [0, 0]), &line); // here: store
        bulk_commit_group();
        bulk_wait_group_read(0);
    }
    if FLAW != 2 {
        sync_warp();
    }
    line[[0, lane]] = 2.0; // here: again
    if FLAW != 3 {
        fence_async_proxy();
    }
    sync_warp();
    if lane == 0 {
        if FLAW == 3 {
            fence_async_proxy();
        }
        tma_store(&mut y.tile([1, 32], [1, 0]), &line);
        bulk_commit_group();
        bulk_wait_group(0);
    }
}

#[test]
fn a_lane_hands_over_what_is_its_own() {
    let device = Device::simulator();
    let mut y = device.zeros::<f32, 2>([2, 32]).expect("y");
    let wanted: [(FindingKind, &str); 2] = [(ReadWriteRace, "store"), (MissingWait, "again")];
    table!(SOURCE, hands_over(&mut y) { 0 => None, 1 => Some(wanted[0]), 2 => Some(wanted[1]), 3 => None, });
}

/// Warp 1 reads a stage that lane 0 gives back; TMA fills it again.
#[tiled_kernel(FLAW = [0, 1, 2], arch = "sm_90a", block = [64], grid = [1])]
fn gives_back(x: &LayoutTensor<f32, RowMajor<2, 32>>, y: &mut LayoutTensor<f32, RowMajor<2, 32>>) {
    let mut line = shared::<f32>(row_major([1, 32]));
    let full = mbarriers(1, 1);
    let empty = mbarriers(1, if FLAW == 0 { 32 } else { 1 });
    barrier();
    let lane = lane_id();
    if warp_id() == 0 {
        if lane == 0 {
            for part in 0..2 {
                empty.at(0).wait((part + 1) % 2);
                full.at(0).arrive_expect(128);
                tma_load(&mut line, &x.tile([1, 32], [part, 0]), full.at(0)); // here: filled again
            }
        }
    } else {
        for part in 0..2 {
            full.at(0).wait(part % 2);
            y[[part, lane]] = line[[0, lane]];
            if FLAW == 0 {
                empty.at(0).arrive();
            } else {
                if FLAW == 1 {
                    sync_warp();
                }
                if lane == 0 {
                    empty.at(0).arrive();
                }
            }
        }
    }
}

#[test]
fn a_lane_gives_back_what_it_read() {
    let device = Device::simulator();
    let x = device.zeros::<f32, 2>([2, 32]).expect("x");
    let mut y = device.zeros::<f32, 2>([2, 32]).expect("y");
    table!(SOURCE, gives_back(&x, &mut y) {
        0 => None, 1 => None, 2 => Some((Overwritten, "filled again")),
    });
}
