//! Rings of stages and what goes round in them: attention, warp roles, persistent loops, epilogues by TMA.

use super::zeros;
use layout_cuda::FindingKind::{
    Arrivals, Deadlock, MissingFence, MissingWait, NotFinite, Overwritten, ReadWriteRace, Uninitialised,
};
use layout_cuda::{Device, Tensor, tiled_kernel};

const SOURCE: &str = include_str!("rings.rs");

/// Rows of 32 numbers.
fn rows(count: usize) -> Tensor<f32, 2> {
    let values: Vec<f32> = (0..32 * count).map(|at| (at % 7) as f32).collect();
    Device::simulator().upload(&values, [count, 32]).expect("rows")
}

/// A row of scores and its weights in shared memory: used while the next ones are written, after one barrier of two, or with a
/// row that is masked in full.
#[tiled_kernel(FLAW = [0, 1, 2, 3], block = [64], grid = [1])]
fn weights(x: &LayoutTensor<f32, RowMajor<8, 32>>, y: &mut LayoutTensor<f32, RowMajor<64>>) {
    let mut weight = shared::<f32>(row_major([64]));
    let mut most = if FLAW == 3 { f32::NEG_INFINITY } else { -1.0e30 };
    let mut sum = 0.0f32;
    for key in 0..8 {
        let masked = FLAW == 3 && thread_idx.x > 40;
        let score = if masked { f32::NEG_INFINITY } else { x[[key, thread_idx.x % 32]] };
        let next = most.max(score);
        if FLAW == 2 {
            barrier();
        }
        weight[[thread_idx.x]] = (score - next).exp(); // here: the next weights
        if FLAW != 2 {
            barrier();
        }
        sum = sum * (most - next).exp() + weight[[63 - thread_idx.x]]; // here: their sum
        most = next;
        if FLAW == 0 || FLAW == 3 {
            barrier();
        }
    }
    y[[thread_idx.x]] = sum;
}

#[test]
fn weights_of_attention() {
    let x = rows(8);
    table!(SOURCE, weights(&x, &mut zeros(64)) {
        0 => None, 1 => Some((ReadWriteRace, "their sum")), 2 => Some((ReadWriteRace, "their sum")),
    });
    table!(SOURCE, [arithmetic] weights(&x, &mut zeros(64)) {
        0 => None, 3 => Some((NotFinite, "the next weights")),
    });
}

/// Keys and values come by TMA, each with an mbarrier of its own, for two tiles one after the other.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4], arch = "sm_90a", block = [64], grid = [1])]
fn keys_and_values(x: &LayoutTensor<f32, RowMajor<12, 32>>, y: &mut LayoutTensor<f32, RowMajor<32>>) {
    let mut keys = shared::<f32>(row_major([1, 32]));
    let mut values = shared::<f32>(row_major([1, 32]));
    let full = mbarriers(2, 1);
    let empty = mbarriers(1, 32);
    barrier();
    let mut sum = 0.0f32;
    for tile in 0..2 {
        for part in 0..3 {
            let i = 3 * tile + part;
            if warp_id() == 0 {
                if lane_id() == 0 {
                    empty.at(0).wait(((if FLAW == 3 { part } else { i }) + 1) % 2);
                    full.at(0).arrive_expect(128); // here: arms
                    tma_load(&mut keys, &x.tile([1, 32], [i, 0]), full.at(0)); // here: keys
                    full.at(1).arrive_expect(128);
                    tma_load(&mut values, &x.tile([1, 32], [i + 6, 0]), full.at(1)); // here: values
                }
            } else {
                full.at(0).wait(i % 2); // here: waits for keys
                if FLAW != 1 {
                    full.at(if FLAW == 4 { 0 } else { 1 }).wait(i % 2);
                }
                if FLAW == 2 {
                    empty.at(0).arrive();
                }
                sum += keys[[0, lane_id()]] * values[[0, lane_id()]]; // here: both
                if FLAW == 1 {
                    full.at(1).wait(i % 2);
                }
                if FLAW != 2 {
                    empty.at(0).arrive();
                }
            }
        }
    }
    if warp_id() == 1 {
        y[[lane_id()]] = sum;
    }
}

#[test]
fn keys_and_values_have_a_wait_each() {
    let x = rows(12);
    table!(SOURCE, keys_and_values(&x, &mut zeros(32)) {
        0 => None, 1 => Some((MissingWait, "both")), 2 => Some((Overwritten, "keys")),
        3 => Some((Arrivals, "arms")), 4 => Some((MissingWait, "both")),
    });
}

/// Two warps read what a third one loads; of each one lane gives the stage back.
#[tiled_kernel(FLAW = [0, 1, 2, 3], arch = "sm_90a", block = [96], grid = [1])]
fn handed_back(x: &LayoutTensor<f32, RowMajor<4, 32>>, y: &mut LayoutTensor<f32, RowMajor<8, 32>>) {
    let mut line = shared::<f32>(row_major([1, 32]));
    let full = mbarriers(1, 1);
    let empty = mbarriers(
        1,
        if FLAW == 2 {
            1
        } else if FLAW == 3 {
            3
        } else {
            2
        },
    );
    barrier();
    for i in 0..4 {
        if warp_id() == 2 {
            if lane_id() == 0 {
                empty.at(0).wait((i + 1) % 2); // here: waits for two
                full.at(0).arrive_expect(128);
                tma_load(&mut line, &x.tile([1, 32], [i, 0]), full.at(0)); // here: loads
            }
        } else {
            full.at(0).wait(i % 2); // here: waits for the load
            y[[2 * i + warp_id(), lane_id()]] = line[[0, lane_id()]];
            if FLAW != 1 {
                sync_warp();
            }
            if lane_id() == 0 {
                empty.at(0).arrive(); // here: gives back
            }
        }
    }
}

#[test]
fn a_lane_gives_back_for_its_warp() {
    let (x, mut y) = (rows(4), rows(8));
    table!(SOURCE, handed_back(&x, &mut y) {
        0 => None, 1 => Some((Overwritten, "loads")), 2 => Some((Deadlock, "waits for the load")),
        3 => Some((Deadlock, "waits for two")),
    });
}

/// Rows leave by TMA from two stages: with a wait that leaves too many, by another lane, a fence too early, a stage of three.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4], arch = "sm_90a", block = [32], grid = [1])]
fn leaving(x: &LayoutTensor<f32, RowMajor<4, 32>>, y: &mut LayoutTensor<f32, RowMajor<4, 32>>) {
    let mut stage = shared::<f32>(row_major([2, 32]));
    for i in 0..4 {
        if lane_id() == (if FLAW == 2 { 1 } else { 0 }) {
            bulk_wait_group_read(if FLAW == 1 { 2 } else { 1 });
        }
        sync_warp();
        if FLAW == 3 {
            fence_async_proxy();
            sync_warp();
        }
        stage[[i % 2, lane_id()]] = x[[i, lane_id()]]; // here: the stage again
        if FLAW != 3 {
            fence_async_proxy();
        }
        sync_warp();
        if lane_id() == 0 {
            let from = stage.tile([1, 32], [if FLAW == 4 { 1 } else { i % 2 }, 0]);
            tma_store(&mut y.tile([1, 32], [i, 0]), &from); // here: leaves
            bulk_commit_group();
        }
    }
    if lane_id() == 0 {
        bulk_wait_group(0);
    }
}

#[test]
fn stages_that_leave() {
    let (x, mut y) = (rows(4), rows(4));
    table!(SOURCE, leaving(&x, &mut y) {
        0 => None, 1 => Some((MissingWait, "the stage again")), 2 => Some((MissingWait, "the stage again")),
        3 => Some((MissingFence, "leaves")), 4 => Some((ReadWriteRace, "leaves")),
    });
}

/// Two stages of `cp.async` and two of registers, by turns.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4], block = [64], grid = [1])]
fn by_turns(x: &LayoutTensor<f32, RowMajor<6, 64>>, y: &mut LayoutTensor<f32, RowMajor<6, 64>>) {
    let mut ring = shared::<f32>(row_major([2, 64]));
    let mut own = local::<f32>(row_major([2]));
    for i in unroll(0..6) {
        let from = x.tile([1, 1], [i, thread_idx.x]);
        ring.tile([1, 1], [i % 2, thread_idx.x]).copy_from_async(&from);
        async_copy_commit_group();
        if FLAW != 1 {
            async_copy_wait_group(if FLAW == 2 { 1 } else { 0 });
        }
        if FLAW != 3 {
            barrier();
        }
        own[[i % 2]] = ring[[i % 2, 63 - thread_idx.x]]; // here: reads
        y[[i, thread_idx.x]] = own[[if FLAW == 4 { (i + 1) % 2 } else { i % 2 }]]; // here: the other register
        barrier();
    }
}

#[test]
fn stages_by_turns() {
    let x = Device::simulator().zeros::<f32, 2>([6, 64]).expect("x");
    let mut y = Device::simulator().zeros::<f32, 2>([6, 64]).expect("y");
    table!(SOURCE, by_turns(&x, &mut y) {
        0 => None, 1 => Some((MissingWait, "reads")), 2 => Some((MissingWait, "reads")),
        3 => Some((ReadWriteRace, "reads")), 4 => Some((Uninitialised, "the other register")),
    });
}

/// A number of arrivals that is another one than the threads that arrive.
#[tiled_kernel(FLAW = [0, 1, 2], arch = "sm_90a", block = [64], grid = [1])]
fn arrivals(y: &mut LayoutTensor<f32, RowMajor<64>>) {
    let mut line = shared::<f32>(row_major([64]));
    let ready = mbarriers(
        1,
        if FLAW == 1 {
            48
        } else if FLAW == 2 {
            65
        } else {
            64
        },
    );
    barrier();
    line[[thread_idx.x]] = 1.0;
    ready.at(0).arrive(); // here: arrives
    ready.at(0).wait(0); // here: waits
    y[[thread_idx.x]] = line[[63 - thread_idx.x]];
}

#[test]
fn as_many_arrive_as_are_counted() {
    table!(SOURCE, arrivals(&mut zeros(64)) {
        0 => None, 1 => Some((Arrivals, "arrives")), 2 => Some((Deadlock, "waits")),
    });
}

/// A warp's own stage, which it refills itself: its reads come back by a fence of the proxy, a barrier, an arrival that is waited for;
/// not by `sync_warp` alone, by a fence before them, by the first round's, by the arrival that expects the bytes, by another lane's.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4, 5, 6], arch = "sm_90a", block = [32], grid = [1])]
fn overtaken(x: &LayoutTensor<f32, RowMajor<4, 32>>, y: &mut LayoutTensor<f32, RowMajor<4, 32>>) {
    let mut line = shared::<f32>(row_major([1, 32]));
    let (full, empty) = (mbarriers(1, 1), mbarriers(1, 32));
    barrier();
    for i in 0..4 {
        if lane_id() == 0 {
            full.at(0).arrive_expect(128);
            tma_load(&mut line, &x.tile([1, 32], [i, 0]), full.at(0)); // here: overtakes
        }
        full.at(0).wait(i % 2);
        if FLAW == 4 {
            fence_async_proxy();
        }
        let own = line[[0, lane_id()]];
        if FLAW == 0 || FLAW == 5 && i == 0 || FLAW == 6 && lane_id() == 7 {
            fence_async_proxy();
        }
        if FLAW == 1 {
            barrier();
        }
        if FLAW == 2 {
            empty.at(0).arrive();
            empty.at(0).wait(i % 2);
        }
        sync_warp();
        y[[i, lane_id()]] = own;
    }
}

#[test]
fn a_copy_that_overtakes_the_warps_reads() {
    let (x, mut y) = (rows(4), rows(4));
    table!(SOURCE, overtaken(&x, &mut y) {
        0 => None, 1 => None, 2 => None, 3 => Some((MissingFence, "overtakes")), 4 => Some((MissingFence, "overtakes")),
        5 => Some((MissingFence, "overtakes")), 6 => Some((MissingFence, "overtakes")),
    });
}

/// The same of a tensor: TMA stores over what the warp has read, with a fence, a barrier, or neither in between.
#[tiled_kernel(FLAW = [0, 1, 2, 3], arch = "sm_90a", block = [32], grid = [1])]
fn overtaken_in_memory(
    x: &LayoutTensor<f32, RowMajor<2, 32>>,
    y: &mut LayoutTensor<f32, RowMajor<2, 32>>,
    z: &mut LayoutTensor<f32, RowMajor<2, 32>>,
) {
    let mut line = shared::<f32>(row_major([1, 32]));
    let full = mbarriers(1, 1);
    barrier();
    if lane_id() == 0 {
        full.at(0).arrive_expect(128);
        tma_load(&mut line, &x.tile([1, 32], [0, 0]), full.at(0));
    }
    full.at(0).wait(0);
    let own = y[[0, 31 - lane_id()]];
    if FLAW == 0 {
        fence_async_proxy_global();
    }
    if FLAW == 1 {
        barrier();
    }
    sync_warp();
    if lane_id() == 0 {
        if FLAW == 3 {
            tma_add(&mut y.tile([1, 32], [0, 0]), &line); // here: adds
        } else {
            tma_store(&mut y.tile([1, 32], [0, 0]), &line); // here: stores
        }
        bulk_commit_group();
        bulk_wait_group(0);
    }
    z[[0, lane_id()]] = own;
}

#[test]
fn a_store_that_overtakes_the_warps_reads() {
    let (x, mut y, mut z) = (rows(2), rows(2), rows(2));
    table!(SOURCE, overtaken_in_memory(&x, &mut y, &mut z) {
        0 => None, 1 => None, 2 => Some((MissingFence, "stores")), 3 => Some((MissingFence, "adds")),
    });
}
