//! Hopper's units on the simulator: what a right kernel gives, and what is found in one that is wrong on purpose.
//!
//! A kernel here takes the number of a mistake. Law: without one it has no finding and the right results; with one it has
//! the finding of the table, at the line that a comment `// here: name` marks.

use layout_cuda::{
    Definition, Device, Error, FindingKind, LaunchConfig, Options, ParamSet, ParamValue, Report, bf16, f16,
    tiled_kernel,
};
use layout_kernels::kernels::gemm::gemm;

/// `y = x + 1` by a ring of two stages: warp 0 loads tiles, two warps add, TMA takes the sums.
#[tiled_kernel(
    MISTAKE = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    arch = "sm_90a", block = [96], grid = [1],
)]
fn ring<const M: usize>(x: &LayoutTensor<f32, RowMajor<M, 32>>, y: &mut LayoutTensor<f32, RowMajor<M, 32>>) {
    let stages = shared::<f32>(row_major([2, 32, 32]).swizzle_bytes(128));
    let mut sums = shared::<f32>(row_major([32, 32]).swizzle_bytes(128));
    let full = mbarriers(2, 1);
    let empty = mbarriers(2, if MISTAKE == 10 { 63 } else { 64 });
    barrier();
    if warp_id() == 0 {
        if thread_idx.x == 0 {
            for tile in 0..M.div_ceil(32) {
                let stage = tile % 2;
                let mut to = stages.slice(stage);
                let free = if MISTAKE == 4 { full } else { empty };
                free.at(stage).wait((tile / 2 + 1) % 2); // here: empty
                let bytes = if MISTAKE == 2 {
                    2048
                } else if MISTAKE == 3 {
                    8192
                } else {
                    4096
                };
                full.at(stage).arrive_expect(bytes); // here: bytes
                tma_load(&mut to, &x.tile([32, 32], [tile, 0]), full.at(stage)); // here: load
            }
        }
    } else {
        let leads = thread_idx.x == 32;
        let column = lane_id();
        for tile in 0..M.div_ceil(32) {
            let stage = tile % 2;
            let from = stages.slice(stage);
            if MISTAKE != 6 {
                full.at(stage).wait((tile / 2 + if MISTAKE == 5 { 1 } else { 0 }) % 2); // here: full
            }
            if MISTAKE != 7 {
                if leads {
                    bulk_wait_group_read(0);
                }
            }
            named_barrier(1, 64);
            for row in 0..16 {
                let row = 2 * row + warp_id() - 1;
                sums[[row, column]] = from[[row, column]] + 1.0; // here: sum
            }
            if MISTAKE != 9 || warp_id() == 1 {
                empty.at(stage).arrive(); // here: arrive
            }
            if MISTAKE != 1 {
                fence_async_proxy();
            }
            if MISTAKE != 11 {
                named_barrier(1, 64);
            }
            if leads {
                tma_store(&mut y.tile([32, 32], [tile, 0]), &sums); // here: store
                bulk_commit_group();
            }
        }
        if MISTAKE != 8 {
            if leads {
                bulk_wait_group_read(0);
            }
        }
    }
}

/// `c = a b` of 64 by 64 by 64, by one warpgroup.
#[tiled_kernel(
    MISTAKE = [0, 1, 2, 3, 4, 5],
    arch = "sm_90a", block = [128], grid = [1],
)]
fn product(
    a: &LayoutTensor<bf16, RowMajor<64, 64>>,
    b: &LayoutTensor<bf16, RowMajor<64, 64>>,
    c: &mut LayoutTensor<f32, RowMajor<64, 64>>,
) {
    let mut left = shared::<bf16>(row_major([64, 64]).swizzle_bytes(128));
    let mut right = shared::<bf16>(row_major([64, 64]).swizzle_bytes(128));
    let mut staged = shared::<f32>(row_major([2, 64, 32]).swizzle_bytes(128));
    let full = mbarriers(1, 1);
    barrier();
    for row in 0..32 {
        let (row, column) = (2 * row + thread_idx.x / 64, thread_idx.x % 64);
        left[[row, column]] = a[[row, column]]; // here: left
    }
    if MISTAKE != 1 {
        fence_async_proxy();
    }
    if MISTAKE != 2 {
        barrier();
    }
    if thread_idx.x == 0 {
        full.at(0).arrive_expect(right.bytes());
        tma_load(&mut right, &b.tile([64, 64], [0, 0]), full.at(0));
    }
    if MISTAKE != 3 {
        full.at(0).wait(0);
    }
    let mut acc = accumulator([64, 64]).fill(0.0);
    if MISTAKE != 4 || warp_id() != 3 {
        wgmma(&mut acc, &left, &right, false); // here: product
    }
    wgmma_commit_group();
    if MISTAKE == 5 {
        left[[thread_idx.x / 2, 0]] = a[[0, 0]]; // here: overwritten
    }
    wgmma_wait_group(0); // here: wait
    store_matrix(&mut staged, &acc);
    fence_async_proxy();
    barrier();
    if thread_idx.x == 0 {
        tma_store(&mut c.tile([64, 64], [0, 0]), &staged);
        bulk_commit_group();
        bulk_wait_group(0);
    }
}

/// `y[i, 32 r + j] = x[i, j] + r` by the blocks `r` of a cluster: rank 0 loads each tile for both.
#[tiled_kernel(
    MISTAKE = [0, 1, 2, 3],
    arch = "sm_90a", block = [64], cluster = [2], grid = [2],
)]
fn pair<const M: usize>(x: &LayoutTensor<f32, RowMajor<M, 32>>, y: &mut LayoutTensor<f32, RowMajor<M, 64>>) {
    let mut tile = shared::<f32>(row_major([32, 32]));
    let full = mbarriers(1, 1);
    let empty = mbarriers(1, if MISTAKE == 1 { 64 } else { 128 });
    if MISTAKE == 3 {
        barrier();
    } else {
        cluster_barrier();
    }
    let rank = cluster_rank();
    for step in 0..M.div_ceil(32) {
        if thread_idx.x == 0 {
            full.at(0).arrive_expect(4096);
            if rank == 0 {
                empty.at(0).wait((step + 1) % 2);
                tma_load_multicast(&mut tile, &x.tile([32, 32], [step, 0]), full.at(0), 3); // here: multicast
            }
        }
        full.at(0).wait(step % 2);
        for row in 0..16 {
            let row = 2 * row + thread_idx.x / 32;
            let mut to = y.tile([32, 32], [step, rank]);
            to[[row, thread_idx.x % 32]] = tile[[row, thread_idx.x % 32]] + rank as f32;
        }
        if MISTAKE != 1 || rank == 0 {
            empty.at(0).arrive_remote(0); // here: remote
        }
    }
    if MISTAKE != 2 {
        cluster_barrier();
    }
}

/// The line that a comment marks.
fn marked(name: &str) -> u32 {
    let mark = format!("// here: {name}");
    let line = include_str!("asynchronous.rs").lines().position(|line| line.ends_with(&mark));
    line.expect("a marked line") as u32 + 1
}

/// The set of a kernel with a mistake.
fn set(definition: &Definition, mistake: i64) -> ParamSet {
    let sets = definition.kernel().expect("bytes of this version").parameter_sets();
    let wanted = Some(ParamValue::Int(mistake));
    sets.into_iter().find(|set| set.get("MISTAKE") == wanted).expect("a set with the mistake")
}

fn expect(report: &Report, mistake: i64, kind: FindingKind, line: &str, words: &str) {
    let line = marked(line);
    let fits = |finding: &&layout_cuda::Finding| {
        finding.kind == kind && finding.line == line && finding.message.contains(words)
    };
    assert!(
        report.findings.iter().any(|found| fits(&found)),
        "mistake {mistake}: {kind:?} in {line}\n{report}"
    );
}

/// The report and the results of a kernel with a mistake, of so many rows of 32 numbers and as many of `columns` results.
macro_rules! of_rows {
    ($kernel:ident, $mistake:expr, $rows:expr, $columns:expr) => {{
        let (device, rows) = (Device::simulator(), $rows);
        let values: Vec<f32> = (0..rows * 32).map(|i| i as f32).collect();
        let x = device.upload(&values, [rows, 32])?;
        let mut y = device.zeros::<f32, 2>([rows, $columns])?;
        let set = set(&$kernel::DEFINITION, $mistake);
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        let report = $kernel::simulate_with(config, &Options::default(), &x, &mut y)?;
        (report, y.download()?)
    }};
}

#[test]
fn a_ring_of_stages_is_right() -> Result<(), Error> {
    for rows in [1, 32, 33, 200] {
        let (report, y) = of_rows!(ring, 0, rows, 32);
        assert!(report.clean(), "{report}");
        assert!(y.iter().enumerate().all(|(i, y)| *y == i as f32 + 1.0), "{rows} rows");
        assert_eq!(report.totals.global_bytes_read, rows as u64 * 128, "{report}");
        assert_eq!(report.totals.global_bytes_written, rows as u64 * 128, "{report}");
        assert_eq!(report.totals.global_sectors, rows as u64 * 8, "{report}");
        assert_eq!(report.totals.bank_conflicts, 0, "{report}");
    }
    Ok(())
}

#[test]
fn mistakes_in_a_ring_are_found() -> Result<(), Error> {
    let table = [
        (1, FindingKind::MissingFence, "store", "without `fence_async_proxy()`"),
        (2, FindingKind::TransactionBytes, "bytes", "expects 2048 bytes and its copies report 4096"),
        (3, FindingKind::TransactionBytes, "bytes", "expects 8192 bytes and its copies report 4096"),
        (3, FindingKind::Deadlock, "full", "with 0 of 1 arrivals and 4096 bytes missing"),
        (4, FindingKind::Overwritten, "load", "a tensor load writes"),
        (5, FindingKind::MissingWait, "sum", "while an asynchronous copy to it is in flight"),
        (6, FindingKind::MissingWait, "sum", "while an asynchronous copy to it is in flight"),
        (7, FindingKind::MissingWait, "sum", "which a tensor store of warp 1 may not have read yet"),
        (8, FindingKind::InFlightAtEnd, "store", "ends with a tensor store in flight"),
        (9, FindingKind::Deadlock, "empty", "with 32 of 64 arrivals and 0 bytes missing"),
        (9, FindingKind::Deadlock, "empty", "2 warps from 1 to 2 wait for parity"),
        (10, FindingKind::Arrivals, "arrive", "after the 63 that end its phase 0"),
        (11, FindingKind::MissingWait, "sum", "which a tensor store of warp 1 may not have read yet"),
    ];
    for (mistake, kind, line, words) in table {
        let (report, _) = of_rows!(ring, mistake, 200, 32);
        expect(&report, mistake, kind, line, words);
    }
    Ok(())
}

fn run_product(mistake: i64) -> Result<(Report, bool), Error> {
    let device = Device::simulator();
    let value = |i: usize, step: usize| bf16::from_f32((i * step % 17) as f32 / 8.0 - 1.0);
    let a: Vec<bf16> = (0..4096).map(|i| value(i, 5)).collect();
    let b: Vec<bf16> = (0..4096).map(|i| value(i, 7)).collect();
    let (on_a, on_b) = (device.upload(&a, [64, 64])?, device.upload(&b, [64, 64])?);
    let mut c = device.zeros::<f32, 2>([64, 64])?;
    let set = set(&product::DEFINITION, mistake);
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    let report = product::simulate_with(config, &Options::default(), &on_a, &on_b, &mut c)?;
    let c = c.download()?;
    let sum =
        |i: usize| (0..64).map(|k| a[i / 64 * 64 + k].to_f32() * b[k * 64 + i % 64].to_f32()).sum::<f32>();
    Ok((report, (0..4096).all(|i| c[i] == sum(i))))
}

#[test]
fn mistakes_in_a_product_are_found() -> Result<(), Error> {
    let (report, right) = run_product(0)?;
    assert!(report.clean() && right, "{report}");
    assert_eq!(report.totals.flops, 2 * 64 * 64 * 64, "{report}");
    let table = [
        (1, FindingKind::MissingFence, "product", "without `fence_async_proxy()`"),
        (2, FindingKind::ReadWriteRace, "product", "nothing orders them"),
        (3, FindingKind::MissingWait, "product", "while a copy to it is in flight"),
        (4, FindingKind::DivergentBarrier, "product", "warp 3 takes part in 0 of the 4 products"),
        (5, FindingKind::MissingWait, "overwritten", "a product of warpgroup 0 may not have read yet"),
    ];
    for (mistake, kind, line, words) in table {
        let (report, _) = run_product(mistake)?;
        expect(&report, mistake, kind, line, words);
    }
    Ok(())
}

/// A number of few bits, so that sums are exact.
fn small(i: usize) -> f32 {
    ((i * 37 + i / 11) % 17) as f32 / 8.0 - 1.0
}

#[test]
fn a_cluster_shares_its_tiles() -> Result<(), Error> {
    for rows in [32, 70] {
        let (report, y) = of_rows!(pair, 0, rows, 64);
        assert!(report.clean(), "{report}");
        for (place, found) in y.into_iter().enumerate() {
            let (i, j) = (place / 64, place % 64);
            assert_eq!(found, (i * 32 + j % 32 + j / 32) as f32, "({i}, {j})");
        }
        assert_eq!((report.blocks, report.totals.global_bytes_read), (2, rows as u64 * 128), "{report}");
    }
    let table = [
        (1, FindingKind::Overwritten, "multicast", "nothing orders them"),
        (2, FindingKind::EndedBlock, "remote", "uses shared memory of rank 0, which may have ended by then"),
        (3, FindingKind::ReadWriteRace, "multicast", "of rank 1 writes"),
    ];
    for (mistake, kind, line, words) in table {
        expect(&of_rows!(pair, mistake, 70, 64).0, mistake, kind, line, words);
    }
    Ok(())
}

/// `c = a b` of 64 by 64 by 64, both operands in slabs of rows as long as the swizzle.
#[tiled_kernel(S = [32, 64, 128], arch = "sm_90a", block = [128], grid = [1])]
fn slabs(
    a: &LayoutTensor<f16, RowMajor<64, 64>>,
    b: &LayoutTensor<f16, RowMajor<64, 64>>,
    c: &mut LayoutTensor<f16, RowMajor<64, 64>>,
) {
    let width = S / 2;
    let mut left = shared::<f16>(row_major([64 / width, 64, width]).swizzle_bytes(S));
    let mut right = shared::<f16>(row_major([64 / width, 64, width]).swizzle_bytes(S));
    let mut staged = shared::<f16>(row_major([64 / width, 64, width]).swizzle_bytes(S));
    let full = mbarriers(1, 1);
    barrier();
    if thread_idx.x == 0 {
        full.at(0).arrive_expect(left.bytes() + right.bytes());
        tma_load(&mut left, &a.tile([64, 64], [0, 0]), full.at(0));
        tma_load(&mut right, &b.tile([64, 64], [0, 0]), full.at(0));
    }
    full.at(0).wait(0);
    let mut acc = accumulator([64, 64]).fill(0.0);
    for slab in unroll(0..64 / width) {
        let b_part = right.tile([64 / width, width, width], [0, slab, 0]);
        wgmma(&mut acc, &left.slice(slab), &b_part, slab > 0);
    }
    wgmma_commit_group();
    wgmma_wait_group(0);
    store_matrix(&mut staged, &acc);
    fence_async_proxy();
    barrier();
    if thread_idx.x == 0 {
        tma_store(&mut c.tile([64, 64], [0, 0]), &staged);
        bulk_commit_group();
        bulk_wait_group(0);
    }
}

#[test]
fn every_swizzle() -> Result<(), Error> {
    let device = Device::simulator();
    let on = |values: &[f32]| values.iter().map(|value| f16::from_f32(*value)).collect::<Vec<f16>>();
    let (a, b): (Vec<f32>, Vec<f32>) =
        ((0..4096).map(small).collect(), (0..4096).map(|i| small(i + 5)).collect());
    let (on_a, on_b) = (device.upload(&on(&a), [64, 64])?, device.upload(&on(&b), [64, 64])?);
    for set in slabs::DEFINITION.kernel().expect("bytes of this version").parameter_sets() {
        let mut c = device.zeros::<f16, 2>([64, 64])?;
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        let report = slabs::simulate_with(config, &Options::default(), &on_a, &on_b, &mut c)?;
        assert!(report.clean(), "{}: {report}", set.key());
        for (place, found) in c.download()?.into_iter().enumerate() {
            let (i, j) = (place / 64, place % 64);
            let sum: f32 = (0..64).map(|k| a[i * 64 + k] * b[k * 64 + j]).sum();
            assert_eq!(found, f16::from_f32(sum), "{} ({i}, {j})", set.key());
        }
    }
    Ok(())
}

#[test]
fn results_do_not_depend_on_the_hosts_threads() -> Result<(), Error> {
    let device = Device::simulator();
    let (m, n, k) = (300, 520, 130);
    let values = |count: usize, first: usize| (first..first + count).map(|i| bf16::from_f32(small(i) / 3.0));
    let a: Vec<bf16> = values(m * 136, 0).collect();
    let b: Vec<bf16> = values(k * n, 5).collect();
    let on_a = device.upload_strided(&a, [m, k], [136, 1])?;
    let on_b = device.upload(&b, [k, n])?;
    let mut runs = Vec::new();
    for threads in [1, 5] {
        let mut c = device.zeros::<bf16, 2>([m, n])?;
        let options = Options { threads, ..Options::default() };
        let report = gemm::simulate_with(LaunchConfig::default(), &options, &on_a, &on_b, &mut c)?;
        runs.push((report, c.download()?));
    }
    assert!(runs[0] == runs[1] && runs[0].0.clean(), "{}\n{}", runs[0].0, runs[1].0);
    Ok(())
}

/// Rank 0 writes the first half of `y`, rank 1 reads it for the second.
#[tiled_kernel(MISTAKE = [0, 1], arch = "sm_90a", block = [64], cluster = [2], grid = [2])]
fn handed(y: &mut LayoutTensor<i32, RowMajor<128>>) {
    if cluster_rank() == 0 {
        y[[thread_idx.x]] = thread_idx.x as i32;
    }
    if MISTAKE == 0 {
        cluster_barrier();
    }
    if cluster_rank() == 1 {
        y[[64 + thread_idx.x]] = y[[63 - thread_idx.x]]; // here: handed
    }
}

#[test]
fn blocks_of_a_cluster_are_ordered_by_its_barrier() -> Result<(), Error> {
    let device = Device::simulator();
    for mistake in [0, 1] {
        let mut y = device.zeros::<i32, 1>([128])?;
        let set = set(&handed::DEFINITION, mistake);
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        let report = handed::simulate_with(config, &Options::default(), &mut y)?;
        if mistake == 0 {
            assert!(report.clean(), "{report}");
            assert!(
                y.download()?
                    .iter()
                    .enumerate()
                    .all(|(i, y)| *y as usize == if i < 64 { i } else { 127 - i })
            );
        } else {
            expect(&report, mistake, FindingKind::ReadWriteRace, "handed", "of rank 0 writes");
        }
    }
    Ok(())
}
