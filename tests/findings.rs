//! What the simulator finds in kernels that are wrong on purpose: the kind, the Rust line, the thread and the block.
//!
//! A comment `// here: name` marks the line that a finding has to name.

use layout_cuda::{
    Definition, Device, Error, Finding, FindingKind, LaunchConfig, LaunchError, Options, ParamValue, Report,
    Tensor, tiled_kernel,
};

#[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
fn beyond_the_end<const N: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>,
    y: &mut LayoutTensor<f32, RowMajor<N>>,
) {
    let i = block_idx.x * 32 + thread_idx.x;
    if i < N {
        y[[i]] = x[[i + 1]]; // here: beyond the end
    }
}

#[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
fn before_the_start<const N: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>,
    y: &mut LayoutTensor<f32, RowMajor<N>>,
) {
    let i = block_idx.x * 32 + thread_idx.x;
    if i < N {
        y[[i as isize - 2]] = x[[i]]; // here: before the start
    }
}

#[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
fn uninitialised<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
    let mut line = shared::<f32>(row_major([32]));
    let i = block_idx.x * 32 + thread_idx.x;
    if thread_idx.x < 31 && i < N {
        line[[thread_idx.x]] = x[[i]];
    }
    barrier();
    if i < N {
        y[[i]] = line[[thread_idx.x]]; // here: uninitialised
    }
}

#[tiled_kernel(block = [32], grid = [1])]
fn uninitialised_register<const N: usize>(y: &mut LayoutTensor<f32, RowMajor<N>>) {
    let mut own = local::<f32>(row_major([2]));
    own[[0]] = 1.0;
    if thread_idx.x < N {
        y[[thread_idx.x]] = own[[0]] + own[[1]]; // here: uninitialised register
    }
}

#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
fn missing_barrier<const N: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>,
    y: &mut LayoutTensor<f32, RowMajor<N>>,
) {
    let mut line = shared::<f32>(row_major([64]));
    line[[thread_idx.x]] = x.tile([64], [block_idx.x])[[thread_idx.x]]; // here: the write of the race
    let mut to = y.tile([64], [block_idx.x]);
    to[[thread_idx.x]] = line[[63 - thread_idx.x]]; // here: the read of the race
}

#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
fn everyone_writes<const N: usize>(y: &mut LayoutTensor<i32, RowMajor<N>>) {
    if block_idx.x * 64 + thread_idx.x < N {
        y[[block_idx.x]] = thread_idx.x as i32; // here: everyone writes
    }
}

#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
fn divergent<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
    let mut line = shared::<f32>(row_major([64]));
    line[[thread_idx.x]] = x.tile([64], [block_idx.x])[[thread_idx.x]];
    let i = block_idx.x * 64 + thread_idx.x;
    if i < N {
        barrier(); // here: divergent
        y[[i]] = line[[thread_idx.x]];
    }
}

#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
fn divergent_sum<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
    let i = block_idx.x * 64 + thread_idx.x;
    if i < N {
        y[[i]] = x[[i]].warp_sum(); // here: divergent sum
    }
}

#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
fn atomic_and_plain<const N: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>,
    y: &mut LayoutTensor<f32, RowMajor<N>>,
) {
    let mut sum = shared::<f32>(row_major([1]));
    if thread_idx.x == 0 {
        sum[[0]] = 0.0;
    }
    barrier();
    sum.atomic_add([0], x.tile([64], [block_idx.x])[[thread_idx.x]]);
    if thread_idx.x == 32 {
        y.atomic_add([0], sum[[0]]); // here: a plain read beside atomics
    }
    if thread_idx.x == 63 {
        y[[0]] += 1.0; // here: a plain write beside atomics
    }
}

#[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
fn missing_wait<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
    let mut line = shared::<f32>(row_major([32]));
    copy_dram_to_sram_async(&mut line, &x.tile([32], [block_idx.x]), row_major([32]));
    async_copy_commit_group();
    barrier();
    let mut to = y.tile([32], [block_idx.x]);
    to[[thread_idx.x]] = line[[31 - thread_idx.x]]; // here: missing wait
}

/// Two groups are in flight and the wait leaves one of them.
#[tiled_kernel(block = [32], grid = [N.div_ceil(64)])]
fn wait_for_too_few<const N: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>,
    y: &mut LayoutTensor<f32, RowMajor<N>>,
) {
    let mut lines = shared::<f32>(row_major([64]));
    for half in unroll(0..2) {
        copy_dram_to_sram_async(
            lines.tile([32], [half]),
            &x.tile([32], [2 * block_idx.x + half]),
            row_major([32]),
        );
        async_copy_commit_group();
    }
    async_copy_wait_group(1);
    barrier();
    let mut to = y.tile([64], [block_idx.x]);
    to[[thread_idx.x]] = lines[[thread_idx.x]];
    to[[thread_idx.x + 32]] = lines[[thread_idx.x + 32]]; // here: wait for too few
}

#[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
fn missing_commit<const N: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>,
    y: &mut LayoutTensor<f32, RowMajor<N>>,
) {
    let mut line = shared::<f32>(row_major([32]));
    copy_dram_to_sram_async(&mut line, &x.tile([32], [block_idx.x]), row_major([32]));
    async_copy_wait_group(0);
    barrier();
    let mut to = y.tile([32], [block_idx.x]);
    to[[thread_idx.x]] = line[[31 - thread_idx.x]]; // here: missing commit
}

/// Twice as many arrivals as a phase has.
#[tiled_kernel(arch = "sm_90", block = [64], grid = [1])]
fn phases_that_have_ended(y: &mut LayoutTensor<f32, RowMajor<64>>) {
    let all = mbarriers(1, 32);
    barrier();
    all.at(0).arrive();
    barrier();
    all.at(0).wait(0); // here: phases that have ended
    y[[thread_idx.x]] = 1.0;
}

#[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
fn division<const N: usize>(x: &LayoutTensor<i32, RowMajor<N>>, y: &mut LayoutTensor<i32, RowMajor<N>>) {
    let i = block_idx.x * 32 + thread_idx.x;
    if i < N {
        y[[i]] = 100 / x[[i]]; // here: division
    }
}

#[tiled_kernel(block = [32], grid = [1])]
fn endless<const N: usize>(y: &mut LayoutTensor<i32, RowMajor<N>>) {
    let mut n = 1i32;
    while n != 0 {
        n += 2; // here: endless
    }
    y[[thread_idx.x]] = n;
}

/// TMA brings back what the threads wrote.
#[tiled_kernel(FENCE = [0, 1, 2], arch = "sm_90a", block = [32], grid = [1])]
fn brought_back(x: &mut LayoutTensor<f32, RowMajor<1, 32>>, y: &mut LayoutTensor<f32, RowMajor<1, 32>>) {
    let mut tile = shared::<f32>(row_major([1, 32]));
    let full = mbarriers(1, 1).at(0);
    x[[0, lane_id()]] = lane_id() as f32;
    if FENCE == 1 {
        fence_async_proxy_global();
    } else if FENCE == 2 {
        fence_async_proxy(); // that of shared memory
    }
    barrier();
    if thread_idx.x == 0 {
        full.arrive_expect(tile.bytes());
        tma_load(&mut tile, &x.tile([1, 32], [0, 0]), full); // here: brought back
    }
    full.wait(0);
    y[[0, lane_id()]] = tile[[0, lane_id()]];
}

/// The threads read what TMA wrote, after a wait for its reads of shared memory only, or for all of it.
#[tiled_kernel(READ = [true, false], arch = "sm_90a", block = [32], grid = [1])]
fn sent_and_read(x: &mut LayoutTensor<f32, RowMajor<1, 32>>, y: &mut LayoutTensor<f32, RowMajor<1, 32>>) {
    let mut tile = shared::<f32>(row_major([1, 32]));
    tile[[0, lane_id()]] = lane_id() as f32;
    fence_async_proxy();
    barrier();
    if thread_idx.x == 0 {
        tma_store(&mut x.tile([1, 32], [0, 0]), &tile);
        bulk_commit_group();
        if READ {
            bulk_wait_group_read(0);
        } else {
            bulk_wait_group(0);
        }
    }
    barrier();
    y[[0, lane_id()]] = x[[0, lane_id()]]; // here: sent and read
}

/// The line that a comment marks.
fn marked(name: &str) -> u32 {
    let mark = format!("// here: {name}");
    let line = include_str!("findings.rs").lines().position(|line| line.ends_with(&mark));
    line.expect("a marked line") as u32 + 1
}

/// Where a finding is.
fn place(finding: &Finding) -> (u32, [u32; 3], [u32; 3]) {
    (finding.line, finding.thread, finding.block)
}

fn found(report: &Report, kind: FindingKind) -> &Finding {
    report.find(kind).unwrap_or_else(|| panic!("no {} in:\n{report}", kind.name()))
}

const N: usize = 100;

fn vectors() -> Result<(Tensor<f32, 1>, Tensor<f32, 1>), Error> {
    let device = Device::simulator();
    Ok((device.upload(&[1.0; N], [N])?, device.zeros([N])?))
}

#[test]
fn an_index_out_of_range() -> Result<(), Error> {
    let (x, mut y) = vectors()?;
    let report = beyond_the_end::simulate(&x, &mut y)?;
    let finding = found(&report, FindingKind::OutOfBounds);
    assert_eq!(place(finding), (marked("beyond the end"), [3, 0, 0], [3, 0, 0]), "{report}");
    assert_eq!(
        (finding.index, finding.place.as_deref(), finding.count),
        (Some(100), Some("x"), 1),
        "{report}"
    );
    assert_eq!(y.download()?[99], 0.0, "an element out of bounds reads as zero");

    let report = before_the_start::simulate(&x, &mut y)?;
    let finding = found(&report, FindingKind::OutOfBounds);
    assert_eq!(place(finding), (marked("before the start"), [0; 3], [0; 3]), "{report}");
    assert_eq!(
        (finding.index, finding.place.as_deref(), finding.count),
        (Some(-2), Some("y"), 2),
        "{report}"
    );
    Ok(())
}

#[test]
fn a_read_of_what_nothing_wrote() -> Result<(), Error> {
    let (x, mut y) = vectors()?;
    let report = uninitialised::simulate(&x, &mut y)?;
    let finding = found(&report, FindingKind::Uninitialised);
    assert_eq!(place(finding), (marked("uninitialised"), [31, 0, 0], [0; 3]), "{report}");
    assert_eq!((finding.place.as_deref(), finding.count), (Some("line"), 3), "{report}");

    let report = uninitialised_register::simulate(&mut y)?;
    let finding = found(&report, FindingKind::Uninitialised);
    assert_eq!(place(finding), (marked("uninitialised register"), [0; 3], [0; 3]), "{report}");
    Ok(())
}

#[test]
fn races() -> Result<(), Error> {
    let (x, mut y) = vectors()?;
    let report = missing_barrier::simulate(&x, &mut y)?;
    let races = report.findings.iter().filter(|finding| finding.kind == FindingKind::ReadWriteRace);
    let (write, read) = (marked("the write of the race"), marked("the read of the race"));
    // The first warp reads what the second has yet to write, which then writes what the first has read.
    let places: Vec<_> = races.map(place).collect();
    assert_eq!(places, [(read, [0; 3], [0; 3]), (write, [32, 0, 0], [0; 3])], "{report}");
    let words = format!("which thread (32, 0, 0) writes in line {write}; no barrier between them");
    assert!(report.to_string().contains(&words), "{report}");

    let mut whole = Device::simulator().zeros::<i32, 1>([N])?;
    let report = everyone_writes::simulate(&mut whole)?;
    let finding = found(&report, FindingKind::WriteWriteRace);
    assert_eq!(place(finding), (marked("everyone writes"), [1, 0, 0], [0; 3]), "{report}");
    Ok(())
}

#[test]
fn a_barrier_that_not_every_thread_reaches() -> Result<(), Error> {
    let (x, mut y) = vectors()?;
    let report = divergent::simulate(&x, &mut y)?;
    let finding = found(&report, FindingKind::DivergentBarrier);
    assert_eq!((finding.line, finding.block), (marked("divergent"), [1, 0, 0]), "{report}");
    assert!(finding.thread[0] >= 32, "thread 36 is the first beyond the tensor: {report}");
    Ok(())
}

#[test]
fn a_sum_of_a_warp_that_not_every_thread_reaches() -> Result<(), Error> {
    let (x, mut y) = vectors()?;
    let report = divergent_sum::simulate(&x, &mut y)?;
    let finding = found(&report, FindingKind::DivergentBarrier);
    assert_eq!((finding.line, finding.block), (marked("divergent sum"), [1, 0, 0]), "{report}");
    assert!(finding.message.contains("reach warp_sum; lane 4 does not"), "{report}");
    Ok(())
}

#[test]
fn atomic_operations_race_with_plain_accesses_only() -> Result<(), Error> {
    let (x, mut y) = vectors()?;
    let report = atomic_and_plain::simulate(&x, &mut y)?;
    let mut lines: Vec<u32> = report.findings.iter().map(|finding| finding.line).collect();
    lines.dedup();
    let (read, write) = (marked("a plain read beside atomics"), marked("a plain write beside atomics"));
    assert!(lines.contains(&read) && lines.contains(&write), "{report}");
    assert!(report.findings.iter().all(|finding| [read, write].contains(&finding.line)), "{report}");
    Ok(())
}

#[test]
fn a_read_before_the_copy_has_landed() -> Result<(), Error> {
    let (x, mut y) = vectors()?;
    let report = missing_wait::simulate(&x, &mut y)?;
    let finding = found(&report, FindingKind::MissingWait);
    assert_eq!(place(finding), (marked("missing wait"), [0; 3], [0; 3]), "{report}");

    let report = wait_for_too_few::simulate(&x, &mut y)?;
    let finding = found(&report, FindingKind::MissingWait);
    assert_eq!(place(finding), (marked("wait for too few"), [0; 3], [0; 3]), "{report}");
    assert!(report.findings.iter().all(|finding| finding.line == marked("wait for too few")), "{report}");
    assert!(!report.to_string().contains("not committed"), "{report}");

    let report = missing_commit::simulate(&x, &mut y)?;
    let finding = found(&report, FindingKind::MissingWait);
    assert_eq!(place(finding), (marked("missing commit"), [0; 3], [0; 3]), "{report}");
    assert!(finding.message.contains("it was not committed before the wait"), "{report}");
    Ok(())
}

#[test]
fn a_wait_for_a_phase_that_has_ended() -> Result<(), Error> {
    let device = Device::simulator();
    let report = phases_that_have_ended::simulate(&mut device.zeros::<f32, 1>([64])?)?;
    let finding = found(&report, FindingKind::Deadlock);
    assert_eq!(finding.line, marked("phases that have ended"), "{report}");
    let ended = "with 32 of 32 arrivals and 0 bytes missing: 2 phases have ended, the last one of parity 1";
    assert!(finding.message.contains(ended), "{report}");
    Ok(())
}

#[test]
fn a_division_by_zero() -> Result<(), Error> {
    let device = Device::simulator();
    let x: Vec<i32> = (0..N as i32).map(|i| i - 40).collect();
    let report = division::simulate(&device.upload(&x, [N])?, &mut device.zeros::<i32, 1>([N])?)?;
    let finding = found(&report, FindingKind::DivisionByZero);
    assert_eq!(place(finding), (marked("division"), [8, 0, 0], [1, 0, 0]), "{report}");
    Ok(())
}

#[test]
fn a_kernel_without_an_end_is_stopped() -> Result<(), Error> {
    let options = Options { max_steps: 10_000, ..Options::default() };
    let mut y = Device::simulator().zeros::<i32, 1>([32])?;
    let report = endless::simulate_with(LaunchConfig::default(), &options, &mut y)?;
    assert!(report.stopped, "{report}");
    let finding = found(&report, FindingKind::StepLimit);
    let line = marked("endless");
    assert!((line - 1..=line).contains(&finding.line), "{report}");
    Ok(())
}

#[test]
fn a_launch_with_findings_is_an_error_that_names_the_file() -> Result<(), Error> {
    let (x, mut y) = vectors()?;
    let error = beyond_the_end::launch(&Device::simulator().stream(), &x, &mut y).expect_err("a finding");
    let Error::Launch(LaunchError::Findings { kernel, file, report }) = &error else { panic!("{error}") };
    assert_eq!((kernel.as_str(), report.findings.len()), ("beyond_the_end", 1));
    assert!(file.ends_with("findings.rs"), "{file}");
    let line = format!("findings.rs:{}, thread (3, 0, 0) of block (3, 0, 0)", marked("beyond the end"));
    assert!(error.to_string().contains(&line), "{error}");
    let definition: &Definition = &beyond_the_end::DEFINITION;
    assert_eq!(definition.file, file);
    Ok(())
}

#[test]
fn global_memory_between_threads_and_tma() -> Result<(), Error> {
    let device = Device::simulator();
    let run = |definition: &Definition, name: &str, value: ParamValue| -> Result<Report, Error> {
        let sets = definition.kernel().expect("bytes of this version").parameter_sets();
        let set = sets.iter().find(|set| set.get(name) == Some(value));
        let config = LaunchConfig { set, ..LaunchConfig::default() };
        let (mut x, mut y) = (device.zeros::<f32, 2>([1, 32])?, device.zeros::<f32, 2>([1, 32])?);
        match name {
            "FENCE" => brought_back::simulate_with(config, &Options::default(), &mut x, &mut y),
            _ => sent_and_read::simulate_with(config, &Options::default(), &mut x, &mut y),
        }
    };
    let fence = |number| run(&brought_back::DEFINITION, "FENCE", ParamValue::Int(number));
    assert!(fence(1)?.clean(), "{}", fence(1)?);
    for wrong in [0, 2] {
        let report = fence(wrong)?;
        let finding = found(&report, FindingKind::MissingFence);
        assert_eq!(place(finding), (marked("brought back"), [0; 3], [0; 3]), "{report}");
        assert!(finding.message.contains("without `fence_async_proxy_global()` after it"), "{report}");
    }
    let read = |only| run(&sent_and_read::DEFINITION, "READ", ParamValue::Bool(only));
    assert!(read(false)?.clean(), "{}", read(false)?);
    let report = read(true)?;
    let finding = found(&report, FindingKind::MissingWait);
    assert_eq!(place(finding), (marked("sent and read"), [0; 3], [0; 3]), "{report}");
    Ok(())
}
