//! Bank conflicts of the reference accesses, as the analysis predicts them and as the simulator counts them, and of the
//! ladder's kernels at 256 x 256 x 256; on a GPU under `ncu` the hardware's counter is beside, a launch a row, in this
//! order.
//!
//! `cargo run --release --example banks`; on a GPU:
//! `ncu --csv --metrics l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum target/release/examples/banks`, and for
//! each instruction of the ladder's kernels
//! `ncu --section SourceCounters --page source --csv -k regex:tiled target/release/examples/banks`.
//!
//! The compiler may join neighbouring accesses of 4 bytes that the kernel makes one after the other: there the counts are
//! of other instructions than the kernel's lines. What the copies write is counted by the hardware in as many wavefronts
//! as it arrives in from global memory.

use clap::Parser;
use layout_core::analysis::{bank_conflicts, reference_cases};
use layout_cuda::{Device, LaunchConfig, Options, ParamSet, ParamValue};
use layout_examples::kernels::{block_tiled, block_tiled_vectorized, read_shared, tiled, tiled_register};
use layout_kernels::product::{Kernel, Workspace, multiply};
use std::process::ExitCode;

/// Bank conflicts of reference accesses and of the ladder: predicted, simulated, and beside ncu on a GPU.
#[derive(Parser)]
struct Command;

fn main() -> ExitCode {
    sigpipe::reset();
    Command::parse();
    match banks().and_then(|good| Ok(ladder()? && good)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether every kernel read what the table says, and the simulator counted what the analysis predicts.
fn banks() -> Result<bool, Box<dyn std::error::Error>> {
    let (device, simulator) = (Device::best(), Device::simulator());
    println!("device: {}", device.describe());
    println!("{:<40} {:>5} {:>10} {:>10}", "access", "width", "predicted", "simulated");
    let mut good = true;
    for (name, access) in reference_cases()? {
        let width = access.width() / 4;
        let (lanes, requests) = (access.lanes(), access.requests());
        let mut table = Vec::new();
        let mut wanted = vec![0.0f32; lanes as usize];
        for request in 0..requests {
            for lane in 0..lanes {
                let word = access.address(lane, request)? / 4;
                table.push(i32::try_from(word / width)?);
                wanted[lane as usize] += (word..word + width).map(|word| word as f32).sum::<f32>();
            }
        }
        let mut listed = read_shared::variants().iter().map(|variant| variant.parameters);
        let listed =
            listed.find(|set| set.contains(&("W", ParamValue::Int(width)))).ok_or("a width of 1, 2 or 4")?;
        let set = ParamSet(listed.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect());
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        let shape = [requests as usize, lanes as usize];
        let run = |device: &Device| -> Result<Vec<f32>, layout_cuda::Error> {
            let words = device.upload(&table, shape)?;
            let mut out = device.zeros::<f32, 1>([shape[1]])?;
            read_shared::launch_with(config, &device.stream(), &words, &mut out)?;
            out.download()
        };
        let words = simulator.upload(&table, shape)?;
        let mut out = simulator.zeros::<f32, 1>([shape[1]])?;
        let options = Options::default();
        let report = read_shared::simulate_with(config, &options, &words, &mut out)?;
        let simulated = report.totals.bank_conflicts;
        let predicted = bank_conflicts(&access)?.excess();
        let right = run(&device)? == wanted && out.download()? == wanted && report.clean();
        good &= right && i64::try_from(simulated)? == predicted;
        println!(
            "{name:<40} {width:>5} {predicted:>10} {simulated:>10}{}",
            if right { "" } else { "  WRONG" }
        );
    }
    Ok(good)
}

/// The kernels that go through shared memory, from the first to the tensor cores.
const KERNELS: [Kernel; 5] = [
    Kernel::Own(&tiled::DEFINITION),
    Kernel::Own(&tiled_register::DEFINITION),
    Kernel::Own(&block_tiled::DEFINITION),
    Kernel::Own(&block_tiled_vectorized::DEFINITION),
    Kernel::TensorCore,
];
/// M, N and K of their product.
const EXTENT: usize = 256;

/// Whether every kernel ran, and the simulator found nothing.
fn ladder() -> Result<bool, Box<dyn std::error::Error>> {
    let (device, simulator) = (Device::best(), Device::simulator());
    println!("\n{:<40} {:>10} {:>10} {:>10}", "kernel", "requests", "wavefronts", "conflicts");
    let matrix = |device: &Device| device.zeros::<f32, 2>([EXTENT, EXTENT]);
    let (a, b, mut c) = (matrix(&simulator)?, matrix(&simulator)?, matrix(&simulator)?);
    let (on_a, on_b, mut on_c) = (matrix(&device)?, matrix(&device)?, matrix(&device)?);
    let mut good = true;
    for kernel in KERNELS {
        multiply(&device.stream(), kernel, &mut Workspace::default(), &on_a, &on_b, &mut on_c)?;
        device.stream().synchronize()?;
        let report = kernel.simulate(&a, &b, &mut c)?;
        good &= report.clean();
        for (line, counts) in report.lines.iter().filter(|(_, counts)| counts.shared_requests > 0) {
            println!(
                "{:<40} {:>10} {:>10} {:>10} {:>8}",
                format!("{kernel}, line {line}"),
                counts.shared_requests,
                counts.shared_wavefronts,
                counts.bank_conflicts,
                if counts.shared_bytes_read > 0 { "read" } else { "written" },
            );
        }
    }
    Ok(good)
}
