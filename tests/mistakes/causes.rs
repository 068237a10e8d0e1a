//! Of several findings the cause comes first: the barrier that is missing before the read that finds nothing there.

use super::zeros;
use layout_cuda::FindingKind::{MissingFence, ReadWriteRace, StepLimit, Uninitialised, WriteWriteRace};
use layout_cuda::{Device, tiled_kernel};

const SOURCE: &str = include_str!("causes.rs");

/// Elements of shared memory that the next warp reads, with a barrier between, or none; or that nobody writes at all.
#[tiled_kernel(FLAW = [0, 1, 2, 3], block = [64], grid = [2])]
fn reversed(y: &mut LayoutTensor<f32, RowMajor<2, 64>>) {
    let mut line = shared::<f32>(row_major([64]));
    let own = thread_idx.x;
    if FLAW != 2 || own != 63 {
        line[[own]] = own as f32;
    }
    if FLAW == 0 || FLAW == 2 {
        barrier();
    } else if FLAW == 3 {
        sync_warp();
    }
    y[[block_idx.x, own]] = line[[63 - own]]; // here: read
}

#[test]
fn a_missing_barrier_comes_before_what_it_leaves_unset() {
    let mut y = Device::simulator().zeros::<f32, 2>([2, 64]).expect("y");
    let race = Some((ReadWriteRace, "read"));
    table!(SOURCE, reversed(&mut y) { 0 => None, 1 => race, 2 => Some((Uninitialised, "read")), 3 => race, });
}

/// Counts of a block: zeroed before a barrier, behind which all add to them; without the barrier, or with one left unset.
#[tiled_kernel(FLAW = [0, 1, 2, 3], block = [64], grid = [2])]
fn zeroed_late(x: &LayoutTensor<f32, RowMajor<2, 64>>, y: &mut LayoutTensor<u32, RowMajor<2, 64>>) {
    let mut counts = shared::<u32>(row_major([64]));
    let own = thread_idx.x;
    if FLAW != 2 || own != 61 {
        counts[[own]] = 0;
    }
    if FLAW != 1 && FLAW != 3 {
        barrier();
    }
    let bin = if FLAW == 3 { 63 - own } else { (61 * x[[block_idx.x, own]] as usize) % 64 };
    counts.atomic_add([bin], 1); // here: adds
    barrier();
    y[[block_idx.x, own]] = counts[[own]];
}

#[test]
fn a_count_that_is_zeroed_too_late() {
    let x: Vec<f32> = (0..128).map(|at| (at % 7) as f32).collect();
    let x = Device::simulator().upload(&x, [2, 64]).expect("x");
    let mut y = Device::simulator().zeros::<u32, 2>([2, 64]).expect("y");
    let race = Some((WriteWriteRace, "adds"));
    table!(SOURCE, zeroed_late(&x, &mut y) { 0 => None, 1 => race, 2 => Some((Uninitialised, "adds")), 3 => race, });
}

/// All write a line, each fences its part, and one hands it to TMA: behind a barrier, or not; the fence may be behind it.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4], arch = "sm_90a", block = [64], grid = [1])]
fn handed_over(y: &mut LayoutTensor<f32, RowMajor<1, 64>>) {
    let mut line = shared::<f32>(row_major([1, 64]));
    line[[0, thread_idx.x]] = 1.0;
    if FLAW != 2 && FLAW != 3 {
        fence_async_proxy();
    }
    if FLAW != 1 {
        barrier();
    }
    if thread_idx.x == 0 {
        if FLAW == 2 {
            // A fence is asked for somewhere on the way, and here it is.
            fence_async_proxy();
        }
        tma_store(&mut y.tile([1, 64], [0, 0]), &line); // here: store
        bulk_commit_group();
        bulk_wait_group(0);
    }
    if FLAW == 4 {
        barrier();
        y[[0, thread_idx.x]] += 1.0;
    }
}

#[test]
fn a_fence_is_no_barrier_and_a_barrier_no_fence() {
    let mut y = Device::simulator().zeros::<f32, 2>([1, 64]).expect("y");
    table!(SOURCE, handed_over(&mut y) {
        0 => None, 1 => Some((ReadWriteRace, "store")), 2 => None, 3 => Some((MissingFence, "store")), 4 => None,
    });
}

/// A sum over the warps of a block, in shared memory, with both barriers, without the first, without the second.
#[tiled_kernel(FLAW = [0, 1, 2], block = [128], grid = [1])]
fn sums(x: &LayoutTensor<f32, RowMajor<128>>, y: &mut LayoutTensor<f32, RowMajor<2>>) {
    let mut parts = shared::<f32>(row_major([4]));
    for round in 0..2 {
        let sum = x[[thread_idx.x]].warp_sum();
        if lane_id() == 0 {
            parts[[warp_id()]] = sum; // here: written again
        }
        if FLAW != 1 {
            barrier();
        }
        if thread_idx.x == 0 {
            let mut all = 0.0;
            for part in 0..4 {
                all += parts[[part]]; // here: summed
            }
            y[[round]] = all;
        }
        if FLAW != 2 {
            barrier();
        }
    }
}

#[test]
fn each_barrier_of_a_sum_counts() {
    table!(SOURCE, sums(&zeros(128), &mut zeros(2)) {
        0 => None, 1 => Some((ReadWriteRace, "summed")), 2 => Some((ReadWriteRace, "written again")),
    });
}

/// Loops that never end, and some that do.
#[tiled_kernel(FLAW = [0, 1, 2, 3], block = [32], grid = [1])]
fn rounds(y: &mut LayoutTensor<f32, RowMajor<32>>) {
    let mut i = 0;
    let mut sum = 0.0f32;
    if FLAW == 0 {
        while y[[thread_idx.x]] < 5000.0 {
            y[[thread_idx.x]] += 1.0;
            for _ in 0..2 {
                sum = 2.0;
            }
        }
        while i < 9000 {
            i += 1;
        }
    } else if FLAW == 1 {
        while i < 10 {} // here: never more
    } else if FLAW == 2 {
        while y[[0]] == 0.0 {} // here: nobody writes
    } else {
        while i < 10 && y[[thread_idx.x]] == 0.0 {
            i += 1;
            if sum > 3.0 {
                break;
            }
        }
    }
    y[[thread_idx.x]] = sum;
}

#[test]
fn a_loop_that_never_ends_is_reported_at_once() {
    let never = |name| Some((StepLimit, name));
    let start = std::time::Instant::now();
    table!(SOURCE, rounds(&mut zeros(32)) {
        0 => None, 1 => never("never more"), 2 => never("nobody writes"), 3 => None,
    });
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

/// A condition that is constant in an unrolled round costs no instruction, and neither does an analysis.
#[tiled_kernel(FLAW = [0, 1], block = [32], grid = [1])]
fn counted(y: &mut LayoutTensor<f32, RowMajor<32>>) {
    let mut sum = y[[thread_idx.x]];
    for i in unroll(0..8) {
        if i == 3 + FLAW * 9 {
            sum += 1.0; // here: added once
        }
    }
    y[[thread_idx.x]] = sum;
}

#[test]
fn instructions_are_those_that_run() {
    for (flaw, wanted) in [(0, 1), (1, 0)] {
        let set = super::set(&counted::DEFINITION, flaw);
        for arithmetic in [false, true] {
            let options = layout_cuda::Options { arithmetic, ..Default::default() };
            let report =
                counted::simulate_with(super::config(&set), &options, &mut zeros(32)).expect("it runs");
            let line = SOURCE
                .lines()
                .position(|line| line.ends_with("// here: added once"))
                .map_or(0, |line| line as u32);
            // The addition and its test, which is known.
            let counts: u64 = report
                .lines
                .iter()
                .filter(|(at, _)| (line..line + 2).contains(at))
                .map(|(_, c)| c.flops)
                .sum();
            assert_eq!(counts, 32 * wanted, "{report}");
            assert!(!report.lines.iter().any(|(at, c)| *at == line && c.instructions > 0), "{report}");
        }
    }
}
