//! Flags that blocks and warps wait for, on the simulator: across clusters, in shared memory, beside TMA.
//!
//! Law: a release and its acquire order what is before the one and after the other, wherever both threads are; what
//! they do not order is found, at the line that a comment `// here: name` marks.

use layout_cuda::{Device, Error, FindingKind, LaunchConfig, Options, ParamValue, Report, tiled_kernel};

/// `y[32 b + j] = b + 1` of block `b`: its warp 0 waits for the block before, its warp 1 for its warp 0.
#[tiled_kernel(
    MISTAKE = [0, 1, 2, 3],
    arch = "sm_90a", block = [64], cluster = [2], grid = [8],
)]
fn relayed(y: &mut LayoutTensor<u32, RowMajor<256>>, flags: &mut LayoutTensor<u32, RowMajor<256>>) {
    let mut ready = shared::<u32>(row_major([32]));
    let mut sums = shared::<u32>(row_major([32]));
    let lane = lane_id();
    if warp_id() == 0 {
        ready.store_relaxed([lane], 0);
    }
    barrier();
    if warp_id() == 0 {
        sums[[lane]] = 1;
        if block_idx.x > 0 {
            while flags.load_acquire([(block_idx.x - 1) * 32 + lane]) == 0 {} // here: waits
            sums[[lane]] += y[[(block_idx.x - 1) * 32 + lane]]; // here: prior
        }
        if MISTAKE == 1 {
            ready.store_relaxed([lane], 1);
        } else {
            ready.store_release([lane], 1);
        }
    } else {
        while ready.load_acquire([lane]) == 0 {}
        y[[block_idx.x * 32 + lane]] = sums[[lane]]; // here: sum
        if MISTAKE == 2 {
            flags.store_relaxed([block_idx.x * 32 + lane], 1);
        } else if MISTAKE != 3 {
            flags.store_release([block_idx.x * 32 + lane], 1);
        }
    }
}

/// `y = x + 1` by block 0 and `z = y + 1` by block 1, each from a tile that a warp loads and another adds to.
/// A proxy fence is behind the stores (4), before the load (5), at both places (0 to 2), at neither (3).
#[tiled_kernel(MISTAKE = [0, 1, 2, 3, 4, 5], arch = "sm_90a", block = [64], grid = [2])]
fn carried(
    x: &LayoutTensor<f32, RowMajor<32, 32>>,
    y: &mut LayoutTensor<f32, RowMajor<32, 32>>,
    z: &mut LayoutTensor<f32, RowMajor<32, 32>>,
    flag: &mut LayoutTensor<u32, RowMajor<1>>,
) {
    let mut tile = shared::<f32>(row_major([32, 32]));
    let mut ready = shared::<u32>(row_major([32]));
    let full = mbarriers(1, 1);
    let lane = lane_id();
    if warp_id() == 0 {
        ready.store_relaxed([lane], 0);
    }
    barrier();
    if warp_id() == 0 {
        if lane == 0 {
            full.at(0).arrive_expect(4096);
            if block_idx.x == 0 {
                tma_load(&mut tile, &x.tile([32, 32], [0, 0]), full.at(0));
            } else {
                if MISTAKE != 1 {
                    while flag.load_acquire([0]) == 0 {}
                }
                if MISTAKE != 3 && MISTAKE != 4 {
                    fence_async_proxy_global();
                }
                tma_load(&mut tile, &y.tile([32, 32], [0, 0]), full.at(0)); // here: fetched
            }
        }
        if MISTAKE != 2 {
            full.at(0).wait(0);
        }
        ready.store_release([lane], 1);
    } else {
        while ready.load_acquire([lane]) == 0 {}
        for row in 0..32 {
            let sum = tile[[row, lane]] + 1.0; // here: add
            if block_idx.x == 0 {
                y[[row, lane]] = sum; // here: written
            } else {
                z[[row, lane]] = sum;
            }
        }
    }
    if MISTAKE != 3 && MISTAKE != 5 {
        fence_async_proxy_global();
    }
    barrier();
    if block_idx.x == 0 {
        if thread_idx.x == 0 {
            flag.store_release([0], 1);
        }
    }
}

fn expect(report: &Report, kind: FindingKind, name: &str, words: &str) {
    let mark = format!("// here: {name}");
    let source = include_str!("flags.rs");
    let line = source.lines().position(|line| line.ends_with(&mark)).map_or(0, |line| line as u32 + 1);
    let found = report.findings.iter().any(|f| f.kind == kind && f.line == line && f.message.contains(words));
    assert!(found, "{kind:?} in line {line}\n{report}");
}

fn run_relayed(mistake: i64) -> Result<(Report, Vec<u32>), Error> {
    let device = Device::simulator();
    let (mut y, mut flags) = (device.zeros::<u32, 1>([256])?, device.zeros::<u32, 1>([256])?);
    let sets = relayed::DEFINITION.kernel().expect("bytes of this version").parameter_sets();
    let set = sets.iter().find(|set| set.get("MISTAKE") == Some(ParamValue::Int(mistake)));
    let config = LaunchConfig { set, ..LaunchConfig::default() };
    let report = relayed::simulate_with(config, &Options::default(), &mut y, &mut flags)?;
    Ok((report, y.download()?))
}

#[test]
fn flags_order_blocks_of_clusters_and_warps() -> Result<(), Error> {
    let (report, y) = run_relayed(0)?;
    assert!(report.clean(), "{report}");
    assert!(y.iter().enumerate().all(|(i, y)| *y as usize == i / 32 + 1), "{y:?}");
    expect(&run_relayed(1)?.0, FindingKind::ReadWriteRace, "sum", "of rank 0 writes");
    expect(&run_relayed(2)?.0, FindingKind::ReadWriteRace, "prior", "of rank 0 writes");
    expect(&run_relayed(3)?.0, FindingKind::Deadlock, "waits", "all others wait");
    Ok(())
}

fn run_carried(mistake: i64) -> Result<(Report, Vec<f32>), Error> {
    let device = Device::simulator();
    let values: Vec<f32> = (0..1024).map(|i| i as f32).collect();
    let x = device.upload(&values, [32, 32])?;
    let (mut y, mut z) = (device.zeros::<f32, 2>([32, 32])?, device.zeros::<f32, 2>([32, 32])?);
    let mut flag = device.zeros::<u32, 1>([1])?;
    let sets = carried::DEFINITION.kernel().expect("bytes of this version").parameter_sets();
    let set = sets.iter().find(|set| set.get("MISTAKE") == Some(ParamValue::Int(mistake)));
    let config = LaunchConfig { set, ..LaunchConfig::default() };
    let report = carried::simulate_with(config, &Options::default(), &x, &mut y, &mut z, &mut flag)?;
    Ok((report, z.download()?))
}

#[test]
fn flags_order_tensor_loads() -> Result<(), Error> {
    for fenced in [0, 4, 5] {
        let (report, z) = run_carried(fenced)?;
        assert!(report.clean(), "{fenced}: {report}");
        assert!(z.iter().enumerate().all(|(i, z)| *z == i as f32 + 2.0), "{z:?}");
    }
    expect(
        &run_carried(1)?.0,
        FindingKind::ReadWriteRace,
        "written",
        "block (1, 0, 0) reads; nothing orders the blocks",
    );
    expect(
        &run_carried(2)?.0,
        FindingKind::MissingWait,
        "add",
        "while an asynchronous copy to it is in flight",
    );
    expect(
        &run_carried(3)?.0,
        FindingKind::MissingFence,
        "fetched",
        "by TMA, which a thread of block (0, 0, 0) writes without `fence_async_proxy_global()`",
    );
    Ok(())
}
