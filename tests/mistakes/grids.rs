//! Blocks that work on one result, and packed data: split-K, look-back, cooperative kernels, sequences, 4-bit weights, boxes of many
//! modes.

use super::{sevens, zeros};
use layout_cuda::FindingKind::{
    DivergentBarrier, InFlightAtEnd, MissingWait, OutOfBounds, Overflow, Overwritten, ReadWriteRace,
    ShiftTooFar, TransactionBytes, WriteWriteRace,
};
use layout_cuda::{Device, tiled_kernel};

const SOURCE: &str = include_str!("grids.rs");

/// Four blocks give parts, the last one adds them up.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4], block = [64], grid = [4])]
fn split(
    x: &LayoutTensor<f32, RowMajor<4, 64>>,
    part: &mut LayoutTensor<f32, RowMajor<4, 64>>,
    count: &mut LayoutTensor<u32, RowMajor<1>>,
    y: &mut LayoutTensor<f32, RowMajor<64>>,
) {
    let mut last = shared::<u32>(row_major([1]));
    part[[block_idx.x, thread_idx.x]] = x[[block_idx.x, thread_idx.x]];
    if FLAW != 1 {
        barrier();
    }
    if thread_idx.x == 0 {
        if FLAW != 4 {
            fence_device();
        }
        last[[0]] = count.atomic_add([0], 1);
        if FLAW != 2 {
            fence_device();
        }
    }
    barrier();
    if last[[0]] == (if FLAW == 3 { 2 } else { 3 }) {
        let mut sum = 0.0f32;
        for i in 0..4 {
            sum += part[[i, thread_idx.x]]; // here: sums
        }
        y[[thread_idx.x]] = sum;
    }
}

#[test]
fn the_last_block_knows_of_all() {
    let sums = Some((ReadWriteRace, "sums"));
    let x = sevens([4, 64]);
    for (flaw, wanted) in [(0, None), (1, sums), (2, sums), (4, sums)] {
        let set = super::set(&split::DEFINITION, flaw);
        let (mut part, mut count, mut y) = (sevens([4, 64]), zeros(1), zeros(64));
        let options = layout_cuda::Options::default();
        let report = split::simulate_with(super::config(&set), &options, &x, &mut part, &mut count, &mut y);
        super::judge(SOURCE, ("split", flaw), &report.expect("it runs"), wanted);
    }
    // The one before the last reads what the last one writes, before or after: some schedule has it after.
    let set = super::set(&split::DEFINITION, 3);
    let options = layout_cuda::Options { schedules: 8, ..layout_cuda::Options::default() };
    let (mut part, mut count, mut y) = (sevens([4, 64]), zeros(1), zeros(64));
    let report = split::simulate_with(super::config(&set), &options, &x, &mut part, &mut count, &mut y);
    assert!(report.expect("it runs").find(ReadWriteRace).is_some());
}

/// Each block takes the sum of those before it from the one before.
#[tiled_kernel(FLAW = [0, 1, 2, 3], block = [32], grid = [4])]
fn look_back(
    x: &LayoutTensor<u32, RowMajor<128>>,
    value: &mut LayoutTensor<u32, RowMajor<4>>,
    flag: &mut LayoutTensor<u32, RowMajor<4>>,
    y: &mut LayoutTensor<u32, RowMajor<128>>,
) {
    let own = x[[block_idx.x * 32 + lane_id()]].warp_prefix_sum();
    let mut before = 0u32;
    if block_idx.x > 0 {
        if FLAW == 1 {
            while flag.load_relaxed([block_idx.x - 1]) == 0 {}
        } else {
            while flag.load_acquire([block_idx.x - 1]) == 0 {}
        }
        before = value[[block_idx.x - 1]]; // here: the value before
    }
    if FLAW == 3 && lane_id() == 31 {
        flag.store_release([block_idx.x], 1);
    }
    if lane_id() == 31 {
        value[[block_idx.x]] = before + own; // here: the own value
    }
    if FLAW != 2 {
        sync_warp();
    }
    if FLAW != 3 && lane_id() == 0 {
        flag.store_release([block_idx.x], 1);
    }
    y[[block_idx.x * 32 + lane_id()]] = before + own;
}

#[test]
fn a_flag_comes_after_its_value() {
    let x = zeros::<u32>(128);
    let read = Some((ReadWriteRace, "the value before"));
    for (flaw, wanted) in [(0, None), (1, read), (2, read), (3, Some((ReadWriteRace, "the own value")))] {
        let set = super::set(&look_back::DEFINITION, flaw);
        let (mut value, mut flag, mut y) = (zeros(4), zeros(4), zeros(128));
        let options = layout_cuda::Options::default();
        let config = super::config(&set);
        let report = look_back::simulate_with(config, &options, &x, &mut value, &mut flag, &mut y);
        let report = report.expect("it runs");
        if flaw == 3 {
            // Either side may come first.
            assert!(report.find(ReadWriteRace).is_some(), "{report}");
        } else {
            super::judge(SOURCE, ("look_back", flaw), &report, wanted);
        }
    }
}

/// A stencil of two tensors by turns, with a barrier of the grid between.
#[tiled_kernel(FLAW = [0, 1, 2], cooperative = true, block = [32], grid = [4])]
fn stencil(a: &mut LayoutTensor<f32, RowMajor<128>>, b: &mut LayoutTensor<f32, RowMajor<128>>) {
    let i = block_idx.x * 32 + lane_id();
    a[[i]] = 1.0;
    grid_barrier();
    for _round in 0..2 {
        b[[i]] = a[[(i + 1) % 128]]; // here: there
        if FLAW != 1 {
            grid_barrier();
        }
        a[[i]] = b[[(i + 127) % 128]]; // here: and back
        if FLAW != 2 || block_idx.x < 3 {
            grid_barrier(); // here: three of four
        }
    }
}

#[test]
fn a_barrier_of_the_grid_on_each_way() {
    let (mut a, mut b) = (zeros(128), zeros(128));
    let set = |flaw| super::set(&stencil::DEFINITION, flaw);
    let mut run = |flaw| {
        let set = set(flaw);
        let options = layout_cuda::Options::default();
        stencil::simulate_with(super::config(&set), &options, &mut a, &mut b).expect("it runs")
    };
    assert!(run(0).clean());
    assert!(run(1).find(ReadWriteRace).is_some());
    let away = run(2);
    assert!(away.find(DivergentBarrier).is_some() || away.find(ReadWriteRace).is_some(), "{away}");
}

/// Weights of 4 bits with a zero point and a scale for each group.
#[tiled_kernel(FLAW = [0, 1, 2, 3], block = [32], grid = [2])]
fn four_bits(
    w: &LayoutTensor<u32, RowMajor<2, 32>>,
    scale: &LayoutTensor<f32, RowMajor<2, 4>>,
    y: &mut LayoutTensor<f32, RowMajor<2, 32>>,
) {
    let own = scale.tile([1, 4], [block_idx.x, 0]);
    let bits = w[[block_idx.x, lane_id()]];
    let mut sum = 0.0f32;
    for i in 0..8 {
        let shift = if FLAW == 3 { 4 * i as u32 + 4 } else { 4 * i as u32 };
        let four = (bits >> shift) & 15; // here: shifted
        let number = if FLAW == 2 { (four - 8) as f32 } else { (four as i32 - 8) as f32 }; // here: below zero
        sum += number * own[[0, lane_id() / (if FLAW == 1 { 7 } else { 8 })]]; // here: the scale
    }
    y[[block_idx.x, lane_id()]] = sum;
}

#[test]
fn weights_of_four_bits() {
    let device = Device::simulator();
    let w = device.upload(&vec![0x7654_3210u32; 64], [2, 32]).expect("w");
    let (scale, mut y) = (sevens([2, 4]), sevens([2, 32]));
    table!(SOURCE, [arithmetic] four_bits(&w, &scale, &mut y) {
        0 => None, 1 => Some((OutOfBounds, "the scale")), 2 => Some((Overflow, "below zero")),
        3 => Some((ShiftTooFar, "shifted")),
    });
}

/// Boxes of four modes in two stages: bytes of one row too few, a stage given back too early, one that nobody brings.
#[tiled_kernel(FLAW = [0, 1, 2, 3], arch = "sm_90a", block = [64], grid = [1])]
fn four_modes(x: &LayoutTensor<f32, RowMajor<2, 4, 4, 32>>, y: &mut LayoutTensor<f32, RowMajor<4, 32>>) {
    let mut stage = shared::<f32>(row_major([2, 1, 1, 4, 32]));
    let full = mbarriers(2, 1);
    let empty = mbarriers(2, 32);
    barrier();
    for i in 0..4 {
        if warp_id() == 0 {
            if lane_id() == 0 {
                empty.at(i % 2).wait((i / 2 + 1) % 2);
                full.at(i % 2).arrive_expect(if FLAW == 1 { 384 } else { 512 }); // here: bytes
                tma_load(&mut stage.slice(i % 2), &x.tile([1, 1, 4, 32], [1, i, 0, 0]), full.at(i % 2)); // here: loads
            }
        } else {
            full.at(i % 2).wait((i / 2) % 2);
            if FLAW == 2 {
                empty.at(i % 2).arrive();
            }
            y[[i, lane_id()]] = stage[[if FLAW == 3 { (i + 1) % 2 } else { i % 2 }, 0, 0, 3, lane_id()]]; // here: reads
            if FLAW != 2 {
                empty.at(i % 2).arrive();
            }
        }
    }
}

#[test]
fn boxes_of_four_modes() {
    let (x, mut y) = (sevens([2, 4, 4, 32]), sevens([4, 32]));
    table!(SOURCE, four_modes(&x, &mut y) {
        0 => None, 1 => Some((TransactionBytes, "bytes")), 2 => Some((Overwritten, "loads")),
        3 => Some((MissingWait, "reads")),
    });
}

/// Boxes of five modes leave: two blocks write one, one does not wait.
#[tiled_kernel(FLAW = [0, 1, 2], arch = "sm_90a", block = [32], grid = [2])]
fn five_modes(x: &LayoutTensor<f32, RowMajor<4, 32>>, y: &mut LayoutTensor<f32, RowMajor<2, 1, 2, 4, 32>>) {
    let mut tile = shared::<f32>(row_major([1, 1, 1, 4, 32]));
    for i in 0..4 {
        tile[[0, 0, 0, i, lane_id()]] = x[[i, lane_id()]] + block_idx.x as f32;
    }
    fence_async_proxy();
    sync_warp();
    if lane_id() == 0 {
        let to = block_idx.x / (if FLAW == 1 { 2 } else { 1 });
        tma_store(&mut y.tile([1, 1, 1, 4, 32], [1, 0, to, 0, 0]), &tile); // here: leaves
        bulk_commit_group();
        if FLAW != 2 {
            bulk_wait_group(0);
        }
    }
}

#[test]
fn boxes_of_five_modes() {
    let (x, mut y) = (sevens([4, 32]), sevens([2, 1, 2, 4, 32]));
    table!(SOURCE, five_modes(&x, &mut y) {
        0 => None, 1 => Some((WriteWriteRace, "leaves")), 2 => Some((InFlightAtEnd, "leaves")),
    });
}
