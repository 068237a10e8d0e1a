//! Blocks that wait for each other: right with release and acquire, a race without; a wait that cannot end is reported.

use layout_cuda::{Device, Error, FindingKind, LaunchConfig, Options, Report, tiled_kernel};

/// Each block adds its number to what the block before it hands on. The word is handed on with or without release and
/// acquire.
#[tiled_kernel(RELEASE = [true, false], ACQUIRE = [true, false], block = [64], grid = [BLOCKS])]
fn hand_on<const BLOCKS: usize>(
    sums: &mut LayoutTensor<i32, RowMajor<BLOCKS>>,
    flags: &mut LayoutTensor<u32, RowMajor<BLOCKS>>,
) {
    if thread_idx.x == 40 {
        let mut before = 0i32;
        if block_idx.x > 0 {
            if ACQUIRE {
                while flags.load_acquire([block_idx.x - 1]) == 0 {}
            } else {
                while flags.load_relaxed([block_idx.x - 1]) == 0 {}
            }
            before = sums[[block_idx.x - 1]]; // here: what was handed on
        }
        sums[[block_idx.x]] = before + block_idx.x as i32;
        if RELEASE {
            flags.store_release([block_idx.x], 1);
        } else {
            flags.store_relaxed([block_idx.x], 1);
        }
    }
}

/// As `hand_on`, with the flag's scope on either side: the device's (0), the system's (1), the block's (2).
#[tiled_kernel(RELEASE = [0, 1, 2], ACQUIRE = [0, 1, 2], block = [64], grid = [BLOCKS])]
fn hand_on_within<const BLOCKS: usize>(
    sums: &mut LayoutTensor<i32, RowMajor<BLOCKS>>,
    flags: &mut LayoutTensor<u32, RowMajor<BLOCKS>>,
) {
    if thread_idx.x == 40 {
        let mut before = 0i32;
        if block_idx.x > 0 {
            if ACQUIRE == 0 {
                while flags.load_acquire([block_idx.x - 1]) == 0 {}
            } else if ACQUIRE == 1 {
                while flags.system_scope().load_acquire([block_idx.x - 1]) == 0 {}
            } else {
                while flags.block_scope().load_acquire([block_idx.x - 1]) == 0 {}
            }
            before = sums[[block_idx.x - 1]]; // here: what was handed on within
        }
        sums[[block_idx.x]] = before + block_idx.x as i32;
        if RELEASE == 0 {
            flags.store_release([block_idx.x], 1);
        } else if RELEASE == 1 {
            flags.system_scope().store_release([block_idx.x], 1);
        } else {
            flags.block_scope().store_release([block_idx.x], 1);
        }
    }
}

/// Every block waits for the next one; the last for a word that nobody writes, if `IN_VAIN`.
#[tiled_kernel(IN_VAIN = [false, true], block = [32], grid = [BLOCKS])]
fn wait_for_the_next<const BLOCKS: usize>(flags: &mut LayoutTensor<u32, RowMajor<BLOCKS>>) {
    if IN_VAIN || block_idx.x + 1 < BLOCKS {
        while flags.load_acquire([(block_idx.x + 1) % BLOCKS]) == 0 {}
    }
    if thread_idx.x == 0 {
        flags.store_release([block_idx.x], 1);
    }
}

/// Writes the flag plainly: a read of another block's plain write.
#[tiled_kernel(block = [32], grid = [2])]
fn plain_flag<const N: usize>(flags: &mut LayoutTensor<u32, RowMajor<N>>) {
    if thread_idx.x == 0 && block_idx.x == 1 {
        flags[[0]] = 1;
    }
    if block_idx.x == 0 {
        while flags.load_acquire([0]) == 0 {} // here: a plain flag
    }
}

const BLOCKS: usize = 20;

fn handed_on(release: bool, acquire: bool) -> Result<(Report, Vec<i32>), Error> {
    let device = Device::simulator();
    let (mut sums, mut flags) = (device.zeros::<i32, 1>([BLOCKS])?, device.zeros::<u32, 1>([BLOCKS])?);
    let kernel = hand_on::DEFINITION.kernel().expect("bytes of this version");
    let key = format!("RELEASE{release}_ACQUIRE{acquire}");
    let set =
        kernel.parameter_sets().into_iter().find(|set| set.key() == key).expect("a set of the attribute");
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    let report = hand_on::simulate_with(config, &Options::default(), &mut sums, &mut flags)?;
    Ok((report, sums.download()?))
}

#[test]
fn release_and_acquire_order_blocks() -> Result<(), Error> {
    let (report, sums) = handed_on(true, true)?;
    assert!(report.findings.is_empty(), "{report}");
    let wanted: Vec<i32> = (0..BLOCKS as i32).map(|i| i * (i + 1) / 2).collect();
    assert_eq!(sums, wanted);
    Ok(())
}

#[test]
fn neither_alone_does() -> Result<(), Error> {
    let lines = include_str!("waiting.rs").lines();
    let line = lines.map(|line| line.ends_with("// here: what was handed on")).position(|here| here);
    for (release, acquire) in [(false, true), (true, false), (false, false)] {
        let (report, _) = handed_on(release, acquire)?;
        let finding = report.find(FindingKind::ReadWriteRace);
        let finding = finding.unwrap_or_else(|| panic!("release {release}, acquire {acquire}: {report}"));
        assert_eq!(Some(finding.line as usize), line.map(|line| line + 1), "{report}");
        assert_eq!(finding.thread, [40, 0, 0], "{report}");
    }
    Ok(())
}

#[test]
fn the_scope_of_each_must_hold_the_other() -> Result<(), Error> {
    let mut lines = include_str!("waiting.rs").lines();
    let line = lines.position(|line| line.ends_with("// here: what was handed on within")).map(|at| at + 1);
    let device = Device::simulator();
    for set in hand_on_within::DEFINITION.kernel().expect("bytes of this version").parameter_sets() {
        let (mut sums, mut flags) = (device.zeros::<i32, 1>([BLOCKS])?, device.zeros::<u32, 1>([BLOCKS])?);
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        let report = hand_on_within::simulate_with(config, &Options::default(), &mut sums, &mut flags)?;
        if !set.key().contains('2') {
            assert!(report.findings.is_empty(), "{}: {report}", set.key());
            continue;
        }
        let race = FindingKind::ReadWriteRace;
        let read = report.findings.iter().find(|f| f.kind == race && Some(f.line as usize) == line);
        assert!(read.is_some(), "{}: {report}", set.key());
        let names_scope =
            |message: &str| message.contains("block (0, 0, 0) accesses") && message.contains("scope");
        let flag = report.findings.iter().find(|f| f.kind == race && names_scope(&f.message));
        assert!(flag.is_some(), "{}: {report}", set.key());
    }
    Ok(())
}

#[test]
fn a_flag_that_is_written_plainly_is_a_race() -> Result<(), Error> {
    let mut flags = Device::simulator().zeros::<u32, 1>([1])?;
    let report = plain_flag::simulate(&mut flags)?;
    assert!(report.find(FindingKind::ReadWriteRace).is_some(), "{report}");
    Ok(())
}

#[test]
fn blocks_take_turns_and_a_wait_in_vain_is_reported() -> Result<(), Error> {
    let device = Device::simulator();
    let mut flags = device.zeros::<u32, 1>([BLOCKS])?;
    let report = wait_for_the_next::simulate(&mut flags)?;
    assert!(report.findings.is_empty() && !report.stopped, "{report}");
    assert_eq!(flags.download()?, [1; BLOCKS]);

    let mut flags = device.zeros::<u32, 1>([BLOCKS])?;
    let kernel = wait_for_the_next::DEFINITION.kernel().expect("bytes of this version");
    let set = kernel.parameter_sets().pop().expect("two sets");
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    let report = wait_for_the_next::simulate_with(config, &Options::default(), &mut flags)?;
    assert!(report.stopped && report.find(FindingKind::Deadlock).is_some(), "{report}");
    Ok(())
}
