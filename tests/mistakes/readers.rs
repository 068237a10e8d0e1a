//! An element remembers every reader and every atomic operation that nothing has ordered yet, in shared memory and in
//! tensors alike; blocks are ordered by what they acquired.

use super::zeros;
use layout_cuda::FindingKind::{ReadWriteRace, WriteWriteRace};
use layout_cuda::tiled_kernel;

const SOURCE: &str = include_str!("readers.rs");

/// Three warps: two read an element, the third waits for both, or for one of them, and writes.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4, 5], block = [96], grid = [1])]
fn two_readers(c: &mut LayoutTensor<f32, RowMajor<1>>, y: &mut LayoutTensor<f32, RowMajor<96>>) {
    let mut s = shared::<f32>(row_major([1]));
    if thread_idx.x == 0 {
        s[[0]] = 1.0;
    }
    barrier();
    let other = if FLAW % 3 == 1 { 0 } else { 1 };
    if warp_id() < 2 {
        if FLAW < 3 {
            y[[thread_idx.x]] = c[[0]];
        } else {
            y[[thread_idx.x]] = s[[0]];
        }
    }
    if FLAW % 3 == 0 {
        barrier();
    } else if warp_id() == 2 || warp_id() == other {
        named_barrier(1, 64);
    }
    if thread_idx.x == 64 {
        if FLAW < 3 {
            c[[0]] = 2.0; // here: tensor
        } else {
            s[[0]] = 2.0; // here: shared
        }
    }
}

#[test]
fn each_reader_counts() {
    let (tensor, shared) = (Some((ReadWriteRace, "tensor")), Some((ReadWriteRace, "shared")));
    table!(SOURCE, two_readers(&mut zeros(1), &mut zeros(96)) {
        0 => None, 1 => tensor, 2 => tensor, 3 => None, 4 => shared, 5 => shared,
    });
}

/// Two warps add, or read; one of them signals a third one, which reads or writes.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4], block = [96], grid = [1])]
fn one_signals(
    c: &mut LayoutTensor<u32, RowMajor<1>>,
    flags: &mut LayoutTensor<u32, RowMajor<2>>,
    y: &mut LayoutTensor<u32, RowMajor<2>>,
) {
    if lane_id() == 0 {
        if warp_id() < 2 {
            if FLAW < 3 {
                c.atomic_add([0], 1);
            } else {
                y[[warp_id()]] = c[[0]];
            }
            if FLAW == 0 || FLAW == 3 || warp_id() == 1 || FLAW == 2 {
                flags.store_release([warp_id()], 1);
            }
        } else {
            if FLAW == 0 || FLAW == 3 {
                while flags.load_acquire([0]) == 0 {}
            }
            while flags.load_acquire([1]) == 0 {}
            if FLAW < 3 {
                y[[0]] = c[[0]]; // here: read
            } else {
                c[[0]] = 7; // here: write
            }
        }
    }
}

#[test]
fn each_of_those_who_add_counts() {
    let (read, write) = (Some((ReadWriteRace, "read")), Some((ReadWriteRace, "write")));
    table!(SOURCE, one_signals(&mut zeros(1), &mut zeros(2), &mut zeros(2)) {
        0 => None, 1 => read, 2 => read, 3 => None, 4 => write,
    });
}

/// A counter is set, added to by all warps, and read.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4, 5], block = [64], grid = [1])]
fn counts(c: &mut LayoutTensor<u32, RowMajor<1>>, y: &mut LayoutTensor<u32, RowMajor<64>>) {
    let mut s = shared::<u32>(row_major([1]));
    if thread_idx.x == 0 {
        if FLAW < 3 {
            c[[0]] = 0;
        } else {
            s[[0]] = 0;
        }
    }
    if FLAW % 3 != 1 {
        barrier();
    }
    if lane_id() == 0 {
        if FLAW < 3 {
            c.atomic_add([0], 1); // here: added to the tensor
        } else {
            s.atomic_add([0], 1); // here: added
        }
    }
    if FLAW % 3 != 2 {
        barrier();
    }
    if FLAW < 3 {
        y[[thread_idx.x]] = c[[0]]; // here: the tensor's count
    } else {
        y[[thread_idx.x]] = s[[0]]; // here: count
    }
}

#[test]
fn what_comes_before_and_after_atomic_operations_counts() {
    let race = |name| Some((ReadWriteRace, name));
    table!(SOURCE, counts(&mut zeros(1), &mut zeros(64)) {
        0 => None, 1 => Some((WriteWriteRace, "added to the tensor")), 2 => race("the tensor's count"),
        3 => None, 4 => Some((WriteWriteRace, "added")), 5 => race("count"),
    });
}

/// Three blocks read an element; the last acquires the flags of the others, or of one of them, and writes.
#[tiled_kernel(FLAW = [0, 1, 2], block = [32], grid = [3])]
fn by_flags(
    c: &mut LayoutTensor<u32, RowMajor<1>>,
    flags: &mut LayoutTensor<u32, RowMajor<3>>,
    y: &mut LayoutTensor<u32, RowMajor<96>>,
) {
    y[[block_idx.x * 32 + lane_id()]] = c[[0]];
    sync_warp();
    if lane_id() == 0 {
        if block_idx.x < 2 {
            flags.store_release([block_idx.x], 1);
        } else {
            for other in 0..2 {
                if FLAW != other + 1 {
                    while flags.load_acquire([other]) == 0 {}
                }
            }
            c[[0]] = 7; // here: the last block's write
        }
    }
}

#[test]
fn blocks_are_ordered_by_what_they_acquired() {
    let found = Some((ReadWriteRace, "the last block's write"));
    table!(SOURCE, by_flags(&mut zeros(1), &mut zeros(3), &mut zeros(96)) { 0 => None, 1 => found, 2 => found, });
}

/// Both blocks of a cluster read, or add to, an element; one writes it afterwards.
#[tiled_kernel(FLAW = [0, 1, 2, 3], arch = "sm_90a", block = [32], cluster = [2], grid = [2])]
fn in_a_cluster(c: &mut LayoutTensor<u32, RowMajor<1>>, y: &mut LayoutTensor<u32, RowMajor<64>>) {
    if FLAW < 2 {
        y[[block_idx.x * 32 + lane_id()]] = c[[0]];
    } else {
        c.atomic_add([0], 1);
    }
    if FLAW % 2 == 0 {
        cluster_barrier();
    }
    if cluster_rank() == 1 && lane_id() == 0 {
        c[[0]] = 7; // here: after the cluster
    }
}

#[test]
fn blocks_of_a_cluster_are_ordered_by_its_barrier() {
    table!(SOURCE, in_a_cluster(&mut zeros(1), &mut zeros(64)) {
        0 => None, 1 => Some((ReadWriteRace, "after the cluster")),
        2 => None, 3 => Some((WriteWriteRace, "after the cluster")),
    });
}

/// The whole block reads an element that one thread writes: each reader is counted.
#[tiled_kernel(FLAW = [0, 1], block = [64], grid = [1])]
fn all_read(c: &mut LayoutTensor<u32, RowMajor<1>>, y: &mut LayoutTensor<u32, RowMajor<64>>) {
    if thread_idx.x == 5 {
        c[[0]] = 1;
    }
    if FLAW == 0 {
        barrier();
    }
    y[[thread_idx.x]] = c[[0]]; // here: read by all
}

#[test]
fn every_lane_is_counted() {
    table!(SOURCE, all_read(&mut zeros(1), &mut zeros(64)) {
        0 => None, 1 => Some((ReadWriteRace, "read by all")),
    });
    let set = super::set(&all_read::DEFINITION, 1);
    let options = layout_cuda::Options::default();
    let report =
        all_read::simulate_with(super::config(&set), &options, &mut zeros(1), &mut zeros(64)).expect("a run");
    assert_eq!(report.findings[0].count, 63, "{report}");
}
