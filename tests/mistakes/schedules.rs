//! Schedules: what the kindest order of warps, blocks and asynchronous work hides, another one shows.

use super::zeros;
use layout_cuda::FindingKind::{Deadlock, ScheduleDependent};
use layout_cuda::{Device, FindingKind, Options, tiled_kernel};

const SOURCE: &str = include_str!("schedules.rs");

/// Results that the order of atomic operations makes, and some that it does not.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4, 5], block = [128], grid = [4])]
fn order(c: &mut LayoutTensor<u32, RowMajor<1>>, y: &mut LayoutTensor<u32, RowMajor<4>>) {
    if FLAW == 0 {
        c.atomic_add([0], thread_idx.x as u32);
    } else if FLAW == 1 {
        let at = c.atomic_add([0], 1);
        if at == 0 {
            y[[0]] = block_idx.x as u32; // here: the first
        }
    } else if FLAW == 2 {
        c.atomic_max([0], thread_idx.x as u32);
    } else if FLAW == 3 {
        if lane_id() == 0 {
            c.store_relaxed([0], warp_id() as u32); // here: the last
        }
    } else if FLAW == 4 {
        if lane_id() == 0 {
            let at = c.atomic_add([0], 1);
            if block_idx.x == 2 {
                y.store_relaxed([warp_id()], at); // here: numbers
            }
        }
    } else {
        let at = c.atomic_add([0], 1);
        if at == 511 {
            y[[0]] = 512;
        }
    }
}

/// The line that carries a mark.
fn line(name: &str) -> u32 {
    let mark = format!("// here: {name}");
    SOURCE.lines().position(|line| line.ends_with(&mark)).map_or(0, |line| line as u32 + 1)
}

#[test]
fn results_do_not_hang_on_the_schedule() {
    let wanted = [None, Some("the first"), None, Some("the last"), Some("numbers"), None];
    for (flaw, wanted) in (0..).zip(wanted) {
        let set = super::set(&order::DEFINITION, flaw);
        let options = Options { schedules: 12, ..Options::default() };
        let run = |options: &Options| {
            let (mut c, mut y) = (zeros(1), zeros(4));
            let report = order::simulate_with(super::config(&set), options, &mut c, &mut y).expect("it runs");
            (report, c.download().expect("c"), y.download().expect("y"))
        };
        let (report, c, y) = run(&options);
        let found = report.findings.first().map(|finding| (finding.kind, finding.line));
        assert_eq!(found, wanted.map(|name| (ScheduleDependent, line(name))), "FLAW = {flaw}:\n{report}");
        // The same numbers do the same, and the results are the first one's.
        assert_eq!(run(&options), (report.clone(), c.clone(), y.clone()));
        assert_eq!(run(&Options::default()).1, c);
        // The schedule that the finding names gives the other result, alone.
        if let Some(seed) = report.findings.first().map(|finding| finding.message.rsplit(' ').next()) {
            let seed = seed.and_then(|word| word.parse().ok()).expect("a number");
            let alone = run(&Options { seed, ..Options::default() });
            assert!(alone.0.clean() && (alone.1, alone.2) != (c, y), "seed {seed}");
        }
    }
}

/// The warp that draws the first number waits for the others, if it is not the one that always draws it here.
#[tiled_kernel(FLAW = [0, 1], block = [64], grid = [1])]
fn waits(c: &mut LayoutTensor<u32, RowMajor<1>>, y: &mut LayoutTensor<u32, RowMajor<64>>) {
    if lane_id() == 0 {
        let own = c.atomic_add([0], 1);
        if FLAW == 1 {
            if own == 0 && warp_id() == 1 {
                while c.load_relaxed([0]) < 3 {} // here: for three
            }
        } else {
            while c.load_relaxed([0]) < 2 {}
        }
    }
    y[[thread_idx.x]] = 1;
}

#[test]
fn a_deadlock_of_another_schedule() {
    for (flaw, schedules, wanted) in [(0, 8, None), (1, 1, None), (1, 8, Some((Deadlock, line("for three"))))]
    {
        let set = super::set(&waits::DEFINITION, flaw);
        let options = Options { schedules, ..Options::default() };
        let report = waits::simulate_with(super::config(&set), &options, &mut zeros(1), &mut zeros(64));
        let report = report.expect("it runs");
        let found = report.findings.first().map(|finding| (finding.kind, finding.line));
        assert_eq!(found, wanted, "{schedules} schedules, FLAW = {flaw}:\n{report}");
        assert_eq!(report.stopped, wanted.is_some());
    }
}

/// Blocks that run at once: one of them is far ahead, or none is.
#[tiled_kernel(FLAW = [0, 1], block = [32], grid = [6])]
fn ahead(c: &mut LayoutTensor<u32, RowMajor<1>>, y: &mut LayoutTensor<u32, RowMajor<6>>) {
    if lane_id() == 0 {
        let before = c.load_relaxed([0]);
        if FLAW == 1 {
            y[[block_idx.x]] = before; // here: how many were before
        } else {
            y[[block_idx.x]] = 1;
        }
        c.atomic_add([0], 1);
    }
}

#[test]
fn a_block_may_be_ahead() {
    for (flaw, schedules, wanted) in
        [(0, 8, None), (1, 2, Some((ScheduleDependent, line("how many were before"))))]
    {
        let set = super::set(&ahead::DEFINITION, flaw);
        let options = Options { schedules, ..Options::default() };
        let report = ahead::simulate_with(super::config(&set), &options, &mut zeros(1), &mut zeros(6));
        let report = report.expect("it runs");
        let found = report.findings.iter().find(|finding| {
            finding.kind == ScheduleDependent && finding.line == line("how many were before")
        });
        assert_eq!(found.map(|finding| (finding.kind, finding.line)), wanted, "{report}");
        assert_eq!(report.clean(), wanted.is_none(), "{report}");
    }
}

/// Two stages that TMA fills and a warp gives back; sums in floats, in any order.
#[tiled_kernel(FLAW = [0, 1], arch = "sm_90a", block = [64], grid = [2])]
fn stages(
    x: &LayoutTensor<f32, RowMajor<64, 32>>,
    y: &mut LayoutTensor<f32, RowMajor<2, 32>>,
    sum: &mut LayoutTensor<f32, RowMajor<1>>,
) {
    let mut tile = shared::<f32>(row_major([2, 8, 32]));
    let full = mbarriers(2, 1);
    let empty = mbarriers(2, 32);
    barrier();
    if warp_id() == 0 {
        if lane_id() == 0 {
            for k in 0..8 {
                let at = k % 2;
                if k >= 2 {
                    empty.at(at).wait((k / 2 + 1) % 2);
                }
                if FLAW == 0 || k < 4 {
                    full.at(at).arrive_expect(1024);
                }
                tma_load(&mut tile.slice(at), &x.tile([8, 32], [k, 0]), full.at(at)); // here: not armed
            }
        }
    } else {
        let mut all = 0.0f32;
        for k in 0..8 {
            full.at(k % 2).wait((k / 2) % 2);
            for row in 0..8 {
                all += tile[[k % 2, row, lane_id()]];
            }
            empty.at(k % 2).arrive();
        }
        y[[block_idx.x, lane_id()]] = all;
        sum.atomic_add([0], all);
    }
}

#[test]
fn what_is_right_is_right_by_every_schedule() {
    let device = Device::simulator();
    let numbers: Vec<f32> = (0..2048).map(|i| (i % 97) as f32 * 0.37).collect();
    let x = device.upload(&numbers, [64, 32]).expect("x");
    let found = Some((FindingKind::TransactionBytes, line("not armed")));
    for (flaw, schedules, wanted) in [(0, 40, None), (1, 1, found), (1, 3, found)] {
        let set = super::set(&stages::DEFINITION, flaw);
        let options = Options { schedules, coverage: true, arithmetic: true, ..Options::default() };
        let (mut y, mut sum) = (device.zeros::<f32, 2>([2, 32]).expect("y"), zeros(1));
        let report = stages::simulate_with(super::config(&set), &options, &x, &mut y, &mut sum);
        let report = report.expect("it runs");
        let first = report.findings.first().map(|finding| (finding.kind, finding.line));
        assert_eq!(first, wanted, "{schedules} schedules, FLAW = {flaw}:\n{report}");
    }
}
