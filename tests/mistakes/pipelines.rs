//! Pipelines: rings of several stages, buffers by turns, remainders.

use super::{empty, sevens};
use layout_cuda::FindingKind::{Arrivals, Deadlock, InFlightAtEnd, MissingWait, ReadWriteRace};
use layout_cuda::tiled_kernel;

const SOURCE: &str = include_str!("pipelines.rs");

/// A ring of three stages: eight rows go round, one thread fills, a warp reads.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4, 5, 6], arch = "sm_90a", block = [64], grid = [1])]
fn three_stages(x: &LayoutTensor<f32, RowMajor<8, 32>>, y: &mut LayoutTensor<f32, RowMajor<8, 32>>) {
    let ring = shared::<f32>(row_major([3, 1, 32]));
    let (full, empty) = (mbarriers(3, 1), mbarriers(3, 1));
    barrier();
    if warp_id() == 0 {
        if lane_id() == 0 {
            for i in 0..8 {
                let mut to = ring.slice(i % 3);
                if i >= (if FLAW == 2 { 4 } else { 3 }) {
                    empty.at(i % 3).wait((i / 3 + 1) % 2); // here: waits for a stage
                }
                if FLAW == 4 && i == 7 {
                    full.at(i % 3).arrive();
                } else {
                    full.at(i % 3).arrive_expect(to.bytes()); // here: arms a stage
                }
                tma_load(&mut to, &x.tile([1, 32], [i, 0]), full.at(i % 3)); // here: fills a stage
            }
        }
    } else {
        for i in 0..(if FLAW == 5 { 7 } else { 8 }) {
            let late = if FLAW == 1 { (i + 7) / 3 } else { i / 3 };
            full.at(i % 3).wait(late % 2);
            y[[i, lane_id()]] = ring[[i % 3, 0, lane_id()]]; // here: a row of the ring
            sync_warp();
            if lane_id() == 0 && i < (if FLAW == 6 { 8 } else { 5 }) {
                empty.at(if FLAW == 3 { (i + 1) % 3 } else { i % 3 }).arrive();
            }
        }
    }
}

#[test]
fn a_ring_of_three_stages() {
    table!(SOURCE, three_stages(&sevens([8, 32]), &mut empty([8, 32])) {
        0 => None, 1 => Some((MissingWait, "a row of the ring")), 2 => Some((Arrivals, "arms a stage")),
        3 => Some((Deadlock, "waits for a stage")), 4 => Some((MissingWait, "a row of the ring")),
        5 => Some((InFlightAtEnd, "fills a stage")), 6 => None,
    });
}

/// Two operands in rings of two and of three stages, with one count.
#[tiled_kernel(FLAW = [0, 1, 2, 3], arch = "sm_90a", block = [64], grid = [1])]
fn two_rings(x: &LayoutTensor<f32, RowMajor<12, 32>>, y: &mut LayoutTensor<f32, RowMajor<6, 32>>) {
    let (a, b) = (shared::<f32>(row_major([2, 1, 32])), shared::<f32>(row_major([3, 1, 32])));
    let (a_full, b_full) = (mbarriers(2, 1), mbarriers(3, 1));
    let (a_empty, b_empty) = (mbarriers(2, 1), mbarriers(3, 1));
    barrier();
    if warp_id() == 0 {
        if lane_id() == 0 {
            for i in 0..6 {
                a_empty.at(i % 2).wait((i / 2 + 1) % 2);
                a_full.at(i % 2).arrive_expect(128);
                tma_load(&mut a.slice(i % 2), &x.tile([1, 32], [i, 0]), a_full.at(i % 2));
                b_empty.at(i % 3).wait((i / (if FLAW == 3 { 2 } else { 3 }) + 1) % 2); // here: waits for the longer ring
                b_full.at(i % 3).arrive_expect(128);
                tma_load(&mut b.slice(i % 3), &x.tile([1, 32], [i + 6, 0]), b_full.at(i % 3));
            }
        }
    } else {
        for i in 0..6 {
            a_full.at(i % 2).wait(i / 2 % 2);
            b_full.at(i % 3).wait(i / (if FLAW == 1 { 2 } else { 3 }) % 2);
            let of_b = if FLAW == 2 { i % 2 } else { i % 3 };
            y[[i, lane_id()]] = a[[i % 2, 0, lane_id()]] * b[[of_b, 0, lane_id()]]; // here: of both rings
            sync_warp();
            if lane_id() == 0 {
                a_empty.at(i % 2).arrive();
                b_empty.at(i % 3).arrive();
            }
        }
    }
}

#[test]
fn two_rings_of_one_count() {
    table!(SOURCE, two_rings(&sevens([12, 32]), &mut empty([6, 32])) {
        0 => None, 1 => Some((MissingWait, "of both rings")), 2 => Some((MissingWait, "of both rings")),
        3 => Some((Deadlock, "waits for the longer ring")),
    });
}

/// Rows by `cp.async`, two at a time, and one that is left.
#[tiled_kernel(FLAW = [0, 1, 2, 3], block = [64], grid = [1])]
fn remainder(x: &LayoutTensor<f32, RowMajor<7, 64>>, y: &mut LayoutTensor<f32, RowMajor<7, 64>>) {
    let ring = shared::<f32>(row_major([4, 64]));
    let t = thread_idx.x;
    for i in unroll(0..2) {
        ring.tile([1, 1], [i, t]).copy_from_async(&x.tile([1, 1], [i, t]));
        async_copy_commit_group();
    }
    for pair in 0..3 {
        for j in unroll(0..2) {
            let i = 2 * pair + j;
            if i + 2 < 7 {
                ring.tile([1, 1], [(i + 2) % 4, t]).copy_from_async(&x.tile([1, 1], [i + 2, t]));
            }
            if FLAW != 1 || i + 2 < 7 {
                async_copy_commit_group();
            }
            async_copy_wait_group(2);
            barrier();
            y[[i, t]] = ring[[i % 4, 63 - t]]; // here: of a pair
        }
    }
    if FLAW != 2 {
        async_copy_wait_group(0);
    }
    if FLAW != 3 {
        barrier();
    }
    y[[6, t]] = ring[[2, 63 - t]]; // here: the one that is left
}

#[test]
fn the_one_that_is_left() {
    table!(SOURCE, remainder(&sevens([7, 64]), &mut empty([7, 64])) {
        0 => None, 1 => Some((MissingWait, "of a pair")), 2 => Some((MissingWait, "the one that is left")),
        3 => Some((MissingWait, "the one that is left")),
    });
}

/// Two buffers by turns through the tiles of a block: three steps a tile.
#[tiled_kernel(FLAW = [0, 1, 2], block = [64], grid = [1])]
fn turns(x: &LayoutTensor<f32, RowMajor<6, 64>>, y: &mut LayoutTensor<f32, RowMajor<6, 64>>) {
    let mut buffers = shared::<f32>(row_major([2, 64]));
    let t = thread_idx.x;
    for tile in 0..2 {
        for part in 0..3 {
            let step = 3 * tile + part;
            let own = if FLAW == 1 { part % 2 } else { step % 2 };
            buffers[[own, t]] = x[[step, t]];
            barrier();
            y[[step, t]] = buffers[[if FLAW == 2 && part == 2 { 1 - own } else { own }, 63 - t]]; // here: by turns
        }
    }
}

#[test]
fn two_buffers_through_all_tiles() {
    table!(SOURCE, turns(&sevens([6, 64]), &mut empty([6, 64])) {
        0 => None, 1 => Some((ReadWriteRace, "by turns")), 2 => Some((ReadWriteRace, "by turns")),
    });
}

/// More stages are filled before the loop than there are rows.
#[tiled_kernel(FLAW = [0, 1], arch = "sm_90a", block = [32], grid = [2])]
fn ahead_of_few(x: &LayoutTensor<f32, RowMajor<5, 32>>, y: &mut LayoutTensor<f32, RowMajor<5, 32>>) {
    let ring = shared::<f32>(row_major([3, 1, 32]));
    let full = mbarriers(3, 1);
    barrier();
    let (first, count) = (3 * block_idx.x, (5 - 3 * block_idx.x).min(3));
    if lane_id() == 0 {
        for i in unroll(0..3) {
            if FLAW == 1 || i < count {
                full.at(i).arrive_expect(128);
                tma_load(&mut ring.slice(i), &x.tile([1, 32], [first + i, 0]), full.at(i)); // here: ahead
            }
        }
    }
    for i in 0..count {
        full.at(i).wait(0);
        y[[first + i, lane_id()]] = ring[[i, 0, lane_id()]];
    }
}

#[test]
fn no_more_ahead_than_there_are() {
    table!(SOURCE, ahead_of_few(&sevens([5, 32]), &mut empty([5, 32])) {
        0 => None, 1 => Some((InFlightAtEnd, "ahead")),
    });
}
