//! Blocks of a cluster: inboxes, halves that each loads for both, rows that are pulled or passed on, blocks that leave.

use super::{empty, sevens};
use layout_cuda::FindingKind::{
    EndedBlock, InFlightAtEnd, MissingWait, Overwritten, ReadWriteRace, TransactionBytes,
};
use layout_cuda::tiled_kernel;

const SOURCE: &str = include_str!("clusters.rs");

/// Blocks of a cluster write to each other's inbox and read their own.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4], arch = "sm_90a", block = [32], cluster = [2], grid = [2])]
fn inboxes(y: &mut LayoutTensor<f32, RowMajor<2, 4, 32>>) {
    let inbox = shared::<f32>(row_major([2, 32]));
    cluster_barrier();
    for i in 0..4 {
        let box_of = if FLAW == 2 { i % 2 } else { 0 };
        let mut there = inbox.slice(box_of).map_shared_rank(1 - cluster_rank());
        there[[lane_id()]] = i as f32; // here: a letter
        cluster_barrier();
        y[[block_idx.x, i, lane_id()]] = inbox[[box_of, lane_id()]]; // here: the inbox
        if FLAW == 0 || FLAW == 4 && i < 2 {
            cluster_barrier();
        } else if FLAW == 3 {
            barrier();
        }
    }
    cluster_barrier();
}

#[test]
fn an_inbox_is_read_before_it_is_filled_again() {
    table!(SOURCE, inboxes(&mut empty([2, 4, 32])) {
        0 => None, 1 => Some((ReadWriteRace, "the inbox")), 2 => None,
        3 => Some((ReadWriteRace, "a letter")), 4 => Some((ReadWriteRace, "the inbox")),
    });
}

/// A reader pulls from its neighbour's shared memory, and says when it has read.
#[tiled_kernel(FLAW = [0, 1, 2, 3], arch = "sm_90a", block = [32], cluster = [2], grid = [2])]
fn pulls(x: &LayoutTensor<f32, RowMajor<3, 2, 32>>, y: &mut LayoutTensor<f32, RowMajor<3, 2, 32>>) {
    let mut line = shared::<f32>(row_major([32]));
    let (ready, taken) = (mbarriers(1, 32), mbarriers(1, 32));
    cluster_barrier();
    let other = 1 - cluster_rank();
    for i in 0..3 {
        if i > 0 {
            taken.at(0).wait((i + 1) % 2);
        }
        line[[lane_id()]] = x[[i, cluster_rank(), lane_id()]]; // here: the next row
        ready.at(0).arrive_remote(other);
        if FLAW != 1 {
            ready.at(0).wait(i % 2);
        }
        if FLAW == 2 {
            taken.at(0).arrive_remote(other);
        }
        y[[i, cluster_rank(), lane_id()]] = line.map_shared_rank(other)[[lane_id()]]; // here: pulled
        if FLAW != 2 {
            taken.at(0).arrive_remote(other); // here: the release
        }
    }
    if FLAW != 3 {
        cluster_barrier();
    }
}

#[test]
fn a_row_is_pulled_between_two_arrivals() {
    table!(SOURCE, pulls(&sevens([3, 2, 32]), &mut empty([3, 2, 32])) {
        0 => None, 1 => Some((ReadWriteRace, "pulled")), 2 => Some((ReadWriteRace, "the next row")),
        3 => Some((EndedBlock, "the release")),
    });
}

/// A block of a cluster without rows leaves before its partner has signalled it.
#[tiled_kernel(FLAW = [0, 1, 2, 3], arch = "sm_90a", block = [32], cluster = [2], grid = [4])]
fn leaves(x: &LayoutTensor<f32, RowMajor<3, 32>>, y: &mut LayoutTensor<f32, RowMajor<3, 32>>) {
    let mut line = shared::<f32>(row_major([1, 32]));
    let full = mbarriers(1, 1);
    cluster_barrier();
    let has = block_idx.x < 3;
    if FLAW != 1 || has {
        if lane_id() == 0 {
            full.at(0).arrive_expect(128); // here: waits for nothing
        }
        if lane_id() == 0 && cluster_rank() == 0 {
            let both = if FLAW == 2 { 1 } else { 3 };
            tma_load_multicast(&mut line, &x.tile([1, 32], [block_idx.x, 0]), full.at(0), both); // here: to one that left
        }
        full.at(0).wait(0);
        if has {
            y[[block_idx.x, lane_id()]] = line[[0, lane_id()]];
        }
    }
    if FLAW == 3 && has {
        cluster_barrier();
    }
}

#[test]
fn a_block_leaves_when_nothing_comes_any_more() {
    table!(SOURCE, leaves(&sevens([3, 32]), &mut empty([3, 32])) {
        0 => None, 1 => Some((InFlightAtEnd, "to one that left")),
        2 => Some((TransactionBytes, "waits for nothing")), 3 => None,
    });
}

/// A block of a cluster that gets a row does not arm its mbarrier.
#[tiled_kernel(FLAW = [0, 1, 2], arch = "sm_90a", block = [32], cluster = [2], grid = [2])]
fn both_arm(x: &LayoutTensor<f32, RowMajor<1, 32>>, y: &mut LayoutTensor<f32, RowMajor<2, 32>>) {
    let mut line = shared::<f32>(row_major([1, 32]));
    let full = mbarriers(1, 1); // here: of no bytes
    cluster_barrier();
    if lane_id() == 0 {
        if FLAW == 0 || cluster_rank() == 0 {
            full.at(0).arrive_expect(128);
        } else if FLAW == 2 {
            full.at(0).arrive();
        }
        if cluster_rank() == 0 {
            tma_load_multicast(&mut line, &x.tile([1, 32], [0, 0]), full.at(0), 3); // here: to one that is not armed
        }
    }
    full.at(0).wait(0);
    y[[block_idx.x, lane_id()]] = line[[0, lane_id()]];
    cluster_barrier();
}

#[test]
fn each_block_arms_its_own() {
    table!(SOURCE, both_arm(&sevens([1, 32]), &mut empty([2, 32])) {
        0 => None, 1 => Some((TransactionBytes, "to one that is not armed")),
        2 => Some((TransactionBytes, "of no bytes")),
    });
}

/// Each block of a cluster loads half of what both read.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4], arch = "sm_90a", block = [32], cluster = [2], grid = [2])]
fn shared_halves(x: &LayoutTensor<f32, RowMajor<4, 32>>, y: &mut LayoutTensor<f32, RowMajor<2, 2, 2, 32>>) {
    let rows = shared::<f32>(row_major([2, 1, 32]));
    let (full, empty) = (mbarriers(1, 1), mbarriers(1, if FLAW == 4 { 1 } else { 2 }));
    cluster_barrier();
    for i in 0..2 {
        if lane_id() == 0 {
            if i > 0 {
                empty.at(0).wait(0);
            }
            full.at(0).arrive_expect(if FLAW == 1 { 128 } else { 256 }); // here: of both halves
            let half = if FLAW == 3 { 0 } else { cluster_rank() };
            let mask = if FLAW == 2 { 2 } else { 3 };
            tma_load_multicast(&mut rows.slice(half), &x.tile([1, 32], [2 * i + half, 0]), full.at(0), mask); // here: a half for both
        }
        full.at(0).wait(i % 2);
        for h in 0..2 {
            y[[block_idx.x, i, h, lane_id()]] = rows[[h, 0, lane_id()]];
        }
        sync_warp();
        if lane_id() == 0 && i == 0 {
            if FLAW != 4 {
                empty.at(0).arrive_remote(1 - cluster_rank());
            }
            empty.at(0).arrive();
        }
    }
    cluster_barrier();
}

#[test]
fn each_loads_half_for_both() {
    table!(SOURCE, shared_halves(&sevens([4, 32]), &mut empty([2, 2, 2, 32])) {
        0 => None, 1 => Some((TransactionBytes, "of both halves")),
        2 => Some((TransactionBytes, "of both halves")), 3 => Some((MissingWait, "a half for both")),
        4 => Some((Overwritten, "a half for both")),
    });
}

/// A chain of cluster blocks passes a row on by asynchronous stores.
#[tiled_kernel(FLAW = [0, 1, 2, 3], arch = "sm_90a", block = [32], cluster = [4], grid = [4])]
fn passed_round(y: &mut LayoutTensor<f32, RowMajor<4, 32>>) {
    let line = shared::<f32>(row_major([32, 1]));
    let full = mbarriers(1, 1);
    cluster_barrier();
    if lane_id() == 0 && (FLAW != 3 || cluster_rank() != 2) {
        full.at(0).arrive_expect(if FLAW == 1 { 64 } else { 128 }); // here: bytes of a row
    }
    let mut own = local::<f32>(row_major([1])).fill(1.0);
    if cluster_rank() > 0 {
        if FLAW != 2 {
            full.at(0).wait(0);
        }
        own[[0]] += line[[lane_id(), 0]]; // here: passed
    }
    store_async(&mut line.map_shared_rank((cluster_rank() + 1) % 4).slice(lane_id()), &own, full.at(0));
    y[[block_idx.x, lane_id()]] = own[[0]];
    if cluster_rank() == 0 {
        full.at(0).wait(0);
    }
    cluster_barrier();
}

#[test]
fn a_row_goes_round() {
    table!(SOURCE, passed_round(&mut empty([4, 32])) {
        0 => None, 1 => Some((TransactionBytes, "bytes of a row")), 2 => Some((MissingWait, "passed")),
        3 => Some((TransactionBytes, "bytes of a row")),
    });
}
