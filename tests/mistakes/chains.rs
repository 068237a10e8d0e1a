//! Chains of order with one link gone: the tail of a reduction, groups of copies off by one, flags handed on, the last block, what TMA
//! wrote and a thread reads.

use super::zeros;
use layout_cuda::FindingKind::{MissingWait, ReadWriteRace};
use layout_cuda::{Device, Tensor, tiled_kernel};

const SOURCE: &str = include_str!("chains.rs");

/// Zeros in rows.
fn rows(shape: [usize; 2]) -> Tensor<f32, 2> {
    Device::simulator().zeros(shape).expect("rows")
}

/// A block's sum: by halves, of the last warp by `sync_warp` or by its registers.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4], block = [128], grid = [1])]
fn halves(x: &LayoutTensor<f32, RowMajor<128>>, y: &mut LayoutTensor<f32, RowMajor<1>>) {
    let mut s = shared::<f32>(row_major([128]));
    let t = thread_idx.x;
    s[[t]] = x[[t]];
    barrier();
    if t < 64 {
        s[[t]] += s[[t + 64]]; // here: of two warps
    }
    if FLAW != 1 {
        barrier();
    }
    if t < 32 {
        s[[t]] += s[[t + 32]];
        if FLAW != 2 {
            sync_warp();
        }
        if FLAW == 3 {
            let sum = s[[t]].warp_sum();
            if t == 0 {
                y[[0]] = sum;
            }
        } else {
            if t < 16 {
                s[[t]] += s[[t + 16]]; // here: of 16 lanes
            }
            if FLAW != 4 {
                sync_warp();
            }
            if t < 8 {
                s[[t]] += s[[t + 8]]; // here: of 8 lanes
            }
            sync_warp();
            if t == 0 {
                let mut sum = 0.0f32;
                for i in 0..8 {
                    sum += s[[i]];
                }
                y[[0]] = sum;
            }
        }
    }
}

#[test]
fn a_reduction_meets_after_each_half() {
    let found = |name| Some((ReadWriteRace, name));
    table!(SOURCE, halves(&zeros(128), &mut zeros(1)) {
        0 => None, 1 => found("of two warps"), 2 => found("of 16 lanes"), 3 => None, 4 => found("of 8 lanes"),
    });
}

/// Three stages of `cp.async`: groups that are waited for one too few, a stage too early, groups that are empty at the end.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4, 5], block = [32], grid = [1])]
fn groups(x: &LayoutTensor<f32, RowMajor<8, 32>>, y: &mut LayoutTensor<f32, RowMajor<8, 32>>) {
    let mut ring = shared::<f32>(row_major([3, 32]));
    let l = lane_id();
    for i in 0..2 {
        ring.tile([1, 1], [i, l]).copy_from_async(&x.tile([1, 1], [i, l]));
        async_copy_commit_group();
    }
    for i in 0..8 {
        if i + 2 < 8 {
            let next = if FLAW == 3 { (i + 1) % 3 } else { (i + 2) % 3 };
            ring.tile([1, 1], [next, l]).copy_from_async(&x.tile([1, 1], [i + 2, l])); // here: fills
            if FLAW < 4 {
                async_copy_commit_group();
            }
        }
        if FLAW >= 4 {
            async_copy_commit_group();
        }
        if FLAW == 0 || FLAW == 2 {
            if i < 6 {
                async_copy_wait_group(if FLAW == 2 { 3 } else { 2 });
            } else {
                async_copy_wait_all();
            }
        } else if FLAW == 3 {
            async_copy_wait_group(1);
        } else {
            async_copy_wait_group(if FLAW == 4 { 3 } else { 2 });
        }
        y[[i, l]] = ring[[i % 3, l]]; // here: reads
    }
}

#[test]
fn groups_of_copies_are_counted_to_the_end() {
    let reads = Some((MissingWait, "reads"));
    table!(SOURCE, groups(&rows([8, 32]), &mut rows([8, 32])) {
        0 => None, 1 => reads, 2 => reads, 3 => Some((MissingWait, "fills")), 4 => reads, 5 => None,
    });
}

/// Block 0 writes, block 1 hands its flag on, block 2 reads.
#[tiled_kernel(FLAW = [0, 1, 2], block = [32], grid = [3])]
fn handed_on(
    x: &mut LayoutTensor<f32, RowMajor<32>>,
    flags: &mut LayoutTensor<u32, RowMajor<3>>,
    y: &mut LayoutTensor<f32, RowMajor<32>>,
) {
    let l = lane_id();
    if block_idx.x == 0 {
        x[[l]] = 1.0;
        sync_warp();
        if l == 0 {
            flags.store_release([0], 1);
        }
    } else if block_idx.x == 1 {
        if l == 0 {
            if FLAW == 1 {
                while flags.load_relaxed([0]) == 0 {}
            } else {
                while flags.load_acquire([0]) == 0 {}
            }
            flags.store_release([1], 1);
        }
    } else {
        if l == 0 {
            while flags.load_acquire([1]) == 0 {}
        }
        if FLAW != 2 {
            sync_warp();
        }
        y[[l]] = x[[31 - l]]; // here: two flags on
    }
}

#[test]
fn a_flag_hands_on_what_its_writer_acquired() {
    let found = Some((ReadWriteRace, "two flags on"));
    table!(SOURCE, handed_on(&mut zeros(32), &mut zeros(3), &mut zeros(32)) {
        0 => None, 1 => found, 2 => found,
    });
}

/// The last block to count adds what all wrote: with a fence before the count, and one behind it.
#[tiled_kernel(FLAW = [0, 1, 2], block = [32], grid = [4])]
fn last(
    parts: &mut LayoutTensor<f32, RowMajor<4>>,
    count: &mut LayoutTensor<u32, RowMajor<1>>,
    y: &mut LayoutTensor<f32, RowMajor<1>>,
) {
    let own = (lane_id() as f32).warp_sum();
    if lane_id() == 0 {
        parts[[block_idx.x]] = own;
        if FLAW != 1 {
            fence_device();
        }
        let before = count.atomic_add([0], 1);
        if FLAW != 2 {
            fence_device();
        }
        if before == 3 {
            let mut sum = 0.0f32;
            for i in 0..4 {
                sum += parts[[i]]; // here: of all blocks
            }
            y[[0]] = sum;
        }
    }
}

#[test]
fn a_count_orders_between_two_fences() {
    let found = Some((ReadWriteRace, "of all blocks"));
    table!(SOURCE, last(&mut zeros(4), &mut zeros(1), &mut zeros(1)) { 0 => None, 1 => found, 2 => found, });
}

/// A thread reads of a tensor what TMA wrote there: behind a wait for shared memory only, without the warp.
#[tiled_kernel(FLAW = [0, 1, 2], arch = "sm_90a", block = [32], grid = [1])]
fn read_back(y: &mut LayoutTensor<f32, RowMajor<2, 32>>, z: &mut LayoutTensor<f32, RowMajor<32>>) {
    let mut line = shared::<f32>(row_major([1, 32]));
    let l = lane_id();
    line[[0, l]] = l as f32;
    fence_async_proxy();
    sync_warp();
    if l == 0 {
        tma_store(&mut y.tile([1, 32], [0, 0]), &line);
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
    z[[l]] = y[[0, 31 - l]]; // here: back
    if FLAW == 1 && l == 0 {
        bulk_wait_group(0);
    }
}

#[test]
fn a_store_is_read_back_after_its_wait() {
    table!(SOURCE, read_back(&mut rows([2, 32]), &mut zeros(32)) {
        0 => None, 1 => Some((MissingWait, "back")), 2 => Some((ReadWriteRace, "back")),
    });
}
