//! Cooperative launches: what is refused, and what the simulator finds.

use layout_compiler::{ParamSet, Promises, compile};
use layout_cuda::{Argument, Device, Error, LaunchConfig, LaunchError, simulate, tiled_kernel};
use layout_simulator::{FindingKind, Options};
use layout_tests::support::gpu::gpu;

/// Every block waits for every other, but those from `leaves` on.
#[tiled_kernel(cooperative = true, block = [32])]
fn met(y: &mut LayoutTensor<u32, RowMajor<1>>, leaves: usize) {
    if block_idx.x < leaves {
        grid_barrier();
    }
    if thread_idx.x == 0 {
        y.atomic_add([0], 1);
    }
}

/// The same kernel, which says that a multiprocessor holds four of its blocks.
#[tiled_kernel(cooperative = true, min_blocks = 4, block = [32])]
fn held(y: &mut LayoutTensor<u32, RowMajor<1>>) {
    grid_barrier();
    if thread_idx.x == 0 {
        y.atomic_add([0], 1);
    }
}

fn config(blocks: u32) -> LaunchConfig<'static> {
    LaunchConfig { grid: Some([blocks, 1, 1]), ..LaunchConfig::default() }
}

#[test]
fn a_barrier_of_the_grid_needs_a_cooperative_launch() {
    let text = "#[tiled_kernel(block = [32], grid = [4])]
fn lonely(y: &mut LayoutTensor<u32, RowMajor<1>>) {
    grid_barrier();
}";
    let kernel = layout_text::kernel(text).expect("a kernel");
    let error =
        compile(&kernel, &ParamSet::default(), Promises::USUAL).expect_err("blocks that need not run");
    let message = error.to_string();
    assert!(message.contains("`grid_barrier()`") && message.contains("cooperative = true"), "{message}");
}

#[test]
fn more_blocks_than_run_at_once_are_refused() -> Result<(), Error> {
    let device = Device::simulator();
    let mut y = device.zeros::<u32, 1>([1])?;
    let options = Options { multiprocessors: 2, ..Options::default() };
    let run = |definition, y: &mut layout_cuda::Tensor<u32, 1>, blocks| {
        let mut view = y.view_mut();
        simulate(definition, config(blocks), &mut [Argument::write(&mut view)], &options)
    };
    assert!(run(&held::DEFINITION, &mut y, 8)?.clean());
    assert_eq!(y.download()?, [8]);
    match run(&held::DEFINITION, &mut y, 9) {
        Err(Error::Launch(LaunchError::TooManyBlocks { blocks: 9, most: 8, .. })) => {}
        other => panic!("{other:?}"),
    }
    Ok(())
}

#[test]
fn a_block_that_does_not_come_is_found() -> Result<(), Error> {
    let device = Device::simulator();
    let mut y = device.zeros::<u32, 1>([1])?;
    met::launch_with(config(5), &device.stream(), &mut y, 5)?;
    assert_eq!(y.download()?, [5]);
    match met::launch_with(config(5), &device.stream(), &mut y, 3) {
        Err(Error::Launch(LaunchError::Findings { report, .. })) => {
            let found = report.find(FindingKind::DivergentBarrier);
            let words = "2 of the 5 blocks have ended";
            assert!(found.is_some_and(|found| found.message.contains(words)), "{report}");
        }
        other => panic!("{other:?}"),
    }
    Ok(())
}

#[test]
fn a_gpu_refuses_more_blocks_than_it_holds_and_runs_what_it_holds() -> Result<(), Error> {
    let Some(device) = gpu() else { return Ok(()) };
    let stream = device.new_stream()?;
    let mut y = device.zeros::<u32, 1>([1])?;
    let most = match met::launch_with(config(1 << 20), &stream, &mut y, 1 << 20) {
        Err(Error::Launch(LaunchError::TooManyBlocks { most, .. })) => most as u32,
        other => panic!("{other:?}"),
    };
    for blocks in [1, 7, most] {
        let before = y.download()?[0];
        (0..3).try_for_each(|_| met::launch_with(config(blocks), &stream, &mut y, blocks as usize))?;
        stream.synchronize()?;
        assert_eq!(y.download()?[0] - before, 3 * blocks);
    }
    Ok(())
}
