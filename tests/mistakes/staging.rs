//! What is staged in shared memory: by threads for TMA and the matrix units, in the place of something else, by halves of a block.

use super::{empty, sevens, sevens_of};
use layout_cuda::FindingKind::{MissingFence, MissingWait, Overwritten, ReadWriteRace, WriteWriteRace};
use layout_cuda::{bf16, tiled_kernel};

const SOURCE: &str = include_str!("staging.rs");

/// Stages that threads fill and TMA stores: the fence of all, of one warp, of the first round, of those behind the barrier.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4], arch = "sm_90a", block = [128], grid = [1])]
fn fenced(x: &LayoutTensor<f32, RowMajor<12, 32>>, y: &mut LayoutTensor<f32, RowMajor<12, 32>>) {
    let mut stage = shared::<f32>(row_major([4, 32]));
    for i in 0..3 {
        if thread_idx.x == 0 {
            bulk_wait_group_read(0);
        }
        barrier();
        stage[[warp_id(), lane_id()]] = x[[4 * i + warp_id(), lane_id()]];
        if FLAW == 0 || FLAW == 1 && warp_id() == 0 || FLAW == 2 && i == 0 || FLAW == 4 && lane_id() == 0 {
            fence_async_proxy();
        }
        barrier();
        if FLAW == 3 && thread_idx.x == 32 {
            fence_async_proxy();
        }
        if thread_idx.x == 0 {
            tma_store(&mut y.tile([4, 32], [i, 0]), &stage); // here: of four warps
            bulk_commit_group();
        }
    }
    if thread_idx.x == 0 {
        bulk_wait_group(0);
    }
}

#[test]
fn each_thread_fences() {
    table!(SOURCE, fenced(&sevens([12, 32]), &mut empty([12, 32])) {
        0 => None, 1 => Some((MissingFence, "of four warps")), 2 => Some((MissingFence, "of four warps")),
        3 => Some((MissingFence, "of four warps")), 4 => Some((MissingFence, "of four warps")),
    });
}

/// Threads write operands of products, round by round.
#[tiled_kernel(FLAW = [0, 1, 2], arch = "sm_90a", block = [128], grid = [1])]
fn written_operands(x: &LayoutTensor<bf16, RowMajor<128, 64>>, y: &mut LayoutTensor<f32, RowMajor<128>>) {
    let mut a = shared::<bf16>(row_major([64, 64]).swizzle_bytes(128));
    let mut acc = accumulator([64, 64]).fill(0.0);
    for k in 0..2 {
        for part in 0..32 {
            let (row, col) = (2 * part + thread_idx.x / 64, thread_idx.x % 64);
            a[[row, col]] = x[[64 * k + row, col]];
        }
        if FLAW != 1 && (FLAW != 2 || k == 0) {
            fence_async_proxy();
        }
        barrier();
        wgmma(&mut acc, &a, &a.transpose(), true); // here: multiplies
        wgmma_commit_group();
        wgmma_wait_group(0);
        barrier();
    }
    y[[thread_idx.x]] = acc[[0, 0]];
}

#[test]
fn operands_are_fenced_in_each_round() {
    table!(SOURCE, written_operands(&sevens_of([128, 64], bf16::from_f64), &mut empty([128])) {
        0 => None, 1 => Some((MissingFence, "multiplies")), 2 => Some((MissingFence, "multiplies")),
    });
}

/// A buffer comes by TMA, is changed, goes by TMA, and comes again.
#[tiled_kernel(FLAW = [0, 1, 2, 3], arch = "sm_90a", block = [32], grid = [1])]
fn there_and_back(x: &LayoutTensor<f32, RowMajor<4, 32>>, y: &mut LayoutTensor<f32, RowMajor<4, 32>>) {
    let mut line = shared::<f32>(row_major([1, 32]));
    let full = mbarriers(1, 1);
    barrier();
    for i in 0..4 {
        if lane_id() == 0 {
            if FLAW != 1 {
                bulk_wait_group_read(if FLAW == 3 { 1 } else { 0 });
            }
            full.at(0).arrive_expect(128);
            tma_load(&mut line, &x.tile([1, 32], [i, 0]), full.at(0)); // here: comes again
            if FLAW == 1 {
                bulk_wait_group_read(0);
            }
        }
        full.at(0).wait(i % 2);
        line[[0, lane_id()]] *= 2.0;
        fence_async_proxy();
        if FLAW != 2 {
            sync_warp();
        }
        if lane_id() == 0 {
            tma_store(&mut y.tile([1, 32], [i, 0]), &line); // here: goes back
            bulk_commit_group();
        }
    }
    if lane_id() == 0 {
        bulk_wait_group(0);
    }
}

#[test]
fn a_line_goes_before_it_comes_again() {
    table!(SOURCE, there_and_back(&sevens([4, 32]), &mut empty([4, 32])) {
        0 => None, 1 => Some((Overwritten, "comes again")), 2 => Some((ReadWriteRace, "goes back")),
        3 => Some((Overwritten, "comes again")),
    });
}

/// Stores leave two by two.
#[tiled_kernel(FLAW = [0, 1, 2, 3], arch = "sm_90a", block = [32], grid = [1])]
fn two_by_two(x: &LayoutTensor<f32, RowMajor<8, 32>>, y: &mut LayoutTensor<f32, RowMajor<8, 32>>) {
    let mut stage = shared::<f32>(row_major([4, 32]));
    for i in 0..4 {
        if lane_id() == 0 {
            bulk_wait_group_read(if FLAW == 1 { 2 } else { 1 });
        }
        sync_warp();
        let base = if FLAW == 3 { 0 } else { 2 * (i % 2) };
        for j in unroll(0..2) {
            stage[[base + j, lane_id()]] = x[[2 * i + j, lane_id()]]; // here: two more
        }
        fence_async_proxy();
        sync_warp();
        if lane_id() == 0 {
            for j in unroll(0..2) {
                tma_store(&mut y.tile([1, 32], [2 * i + j, 0]), &stage.tile([1, 32], [base + j, 0]));
                if FLAW == 2 {
                    bulk_commit_group();
                }
            }
            if FLAW != 2 {
                bulk_commit_group();
            }
        }
    }
    if lane_id() == 0 {
        bulk_wait_group(0);
    }
}

#[test]
fn a_group_of_two_stores() {
    table!(SOURCE, two_by_two(&sevens([8, 32]), &mut empty([8, 32])) {
        0 => None, 1 => Some((MissingWait, "two more")), 2 => None, 3 => Some((MissingWait, "two more")),
    });
}

/// O is in the place of Q, which comes again for the next tile.
#[tiled_kernel(FLAW = [0, 1, 2, 3], arch = "sm_90a", block = [64], grid = [1])]
fn in_the_place_of(x: &LayoutTensor<f32, RowMajor<3, 32>>, y: &mut LayoutTensor<f32, RowMajor<3, 32>>) {
    let mut q = shared::<f32>(row_major([1, 32]));
    let (full, empty) = (mbarriers(1, 1), mbarriers(1, 1));
    barrier();
    for i in 0..3 {
        if warp_id() == 0 {
            if lane_id() == 0 {
                empty.at(0).wait((i + 1) % 2);
                full.at(0).arrive_expect(128);
                tma_load(&mut q, &x.tile([1, 32], [i, 0]), full.at(0)); // here: in its place
            }
        } else {
            full.at(0).wait(i % 2);
            let own = 2.0 * q[[0, 31 - lane_id()]];
            if FLAW == 3 && lane_id() == 0 {
                empty.at(0).arrive();
            }
            sync_warp();
            q[[0, lane_id()]] = own;
            if FLAW != 2 {
                sync_warp();
            }
            y[[i, lane_id()]] = q[[0, (lane_id() + 1) % 32]]; // here: out of its place
            if FLAW != 1 {
                fence_async_proxy();
            }
            sync_warp();
            if FLAW != 3 && lane_id() == 0 {
                empty.at(0).arrive();
            }
        }
    }
}

#[test]
fn one_in_the_place_of_another() {
    table!(SOURCE, in_the_place_of(&sevens([3, 32]), &mut empty([3, 32])) {
        0 => None, 1 => Some((MissingFence, "in its place")),
        2 => Some((ReadWriteRace, "out of its place")), 3 => Some((Overwritten, "in its place")),
    });
}

/// Two warpgroups stage their sums for TMA.
#[tiled_kernel(FLAW = [0, 1, 2], arch = "sm_90a", block = [256], grid = [1])]
fn staged_by_groups(x: &LayoutTensor<f32, RowMajor<2, 128>>, y: &mut LayoutTensor<f32, RowMajor<2, 128>>) {
    let mut rows = shared::<f32>(row_major([2, 128]));
    let (group, t) = (warp_group(), thread_idx.x % 128);
    rows[[if FLAW == 1 { 0 } else { group }, t]] = x[[group, t]]; // here: a group stages
    fence_async_proxy();
    named_barrier(1 + group, 128);
    if FLAW == 2 {
        if thread_idx.x == 0 {
            tma_store(y, &rows); // here: one for both
            bulk_commit_group();
            bulk_wait_group(0);
        }
    } else if t == 0 {
        tma_store(&mut y.tile([1, 128], [group, 0]), &rows.tile([1, 128], [group, 0]));
        bulk_commit_group();
        bulk_wait_group(0);
    }
}

#[test]
fn each_group_has_its_row() {
    table!(SOURCE, staged_by_groups(&sevens([2, 128]), &mut empty([2, 128])) {
        0 => None, 1 => Some((WriteWriteRace, "a group stages")),
        2 => Some((ReadWriteRace, "one for both")),
    });
}

/// What is staged is where others still read.
#[tiled_kernel(FLAW = [0, 1, 2], block = [128], grid = [1])]
fn staged_in_place(x: &LayoutTensor<f32, RowMajor<2, 64>>, y: &mut LayoutTensor<f32, RowMajor<2, 64>>) {
    let mut rows = shared::<f32>(row_major([2, 64]));
    let (group, t) = (thread_idx.x / 64, thread_idx.x % 64);
    rows[[group, t]] = x[[group, t]];
    barrier();
    let mine = rows[[group, 63 - t]]; // here: mine
    let found = if FLAW == 1 { mine + rows[[1 - group, t]] } else { mine };
    if FLAW != 2 {
        named_barrier(1 + group, 64);
    }
    rows[[group, t]] = 2.0 * found; // here: staged
    named_barrier(1 + group, 64);
    y[[group, t]] = rows[[group, (t + 1) % 64]];
}

#[test]
fn others_have_read_what_it_overwrites() {
    table!(SOURCE, staged_in_place(&sevens([2, 64]), &mut empty([2, 64])) {
        0 => None, 1 => Some((ReadWriteRace, "staged")), 2 => Some((ReadWriteRace, "mine")),
    });
}

/// TMA stores a tile whose last column the threads write.
#[tiled_kernel(FLAW = [0, 1, 2], arch = "sm_90a", block = [32], grid = [1])]
fn by_both(y: &mut LayoutTensor<f32, RowMajor<4, 32>>) {
    let mut rows = shared::<f32>(row_major([4, 32]));
    for i in 0..4 {
        rows[[i, lane_id()]] = 1.0;
    }
    fence_async_proxy();
    sync_warp();
    if lane_id() == 0 {
        tma_store(&mut y.tile([4, 32], [0, 0]), &rows);
        bulk_commit_group();
        if FLAW != 1 {
            bulk_wait_group(0);
        }
    }
    if FLAW != 2 {
        sync_warp();
    }
    if lane_id() < 4 {
        y[[lane_id(), 31]] = 2.0; // here: the last column
    }
    if lane_id() == 0 && FLAW == 1 {
        bulk_wait_group(0);
    }
}

#[test]
fn threads_and_tma_write_one_tensor() {
    table!(SOURCE, by_both(&mut empty([4, 32])) {
        0 => None, 1 => Some((MissingWait, "the last column")),
        2 => Some((WriteWriteRace, "the last column")),
    });
}

/// A row comes by `cp.async`; its tail is zeros.
#[tiled_kernel(FLAW = [0, 1, 2], block = [64], grid = [1])]
fn tail(x: &LayoutTensor<f32, RowMajor<48>>, y: &mut LayoutTensor<f32, RowMajor<64>>) {
    let mut row = shared::<f32>(row_major([64]));
    let t = thread_idx.x;
    if t < 48 {
        row.tile([1], [t]).copy_from_async(&x.tile([1], [t]));
    }
    if t >= (if FLAW == 1 { 40 } else { 48 }) {
        row[[t]] = 0.0; // here: zeros
    }
    if FLAW != 2 || t < 32 {
        async_copy_wait_all();
    }
    barrier();
    y[[t]] = row[[63 - t]]; // here: with its tail
}

#[test]
fn a_tail_is_no_part_of_the_copy() {
    table!(SOURCE, tail(&sevens([48]), &mut empty([64])) {
        0 => None, 1 => Some((MissingWait, "zeros")), 2 => Some((MissingWait, "with its tail")),
    });
}
