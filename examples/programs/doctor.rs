//! Says what was found of a GPU, of the driver and of NVRTC, where, and how to get what is missing.
//!
//! `cargo run --example doctor -- --help`

use clap::Parser;
use layout_cuda::Device;
use layout_examples::benchmarks::peaks;
use std::path::PathBuf;
use std::process::ExitCode;

/// Says what this machine has for kernels, what is missing, and how to get it.
#[derive(Parser)]
struct Command {
    /// Ends with an error where kernels cannot be compiled
    #[arg(long)]
    nvrtc: bool,
    /// Measures what the device does at most, and writes it to this file, JSON: `bench --peaks` reads it
    #[arg(long, value_name = "FILE")]
    peaks: Option<PathBuf>,
}

fn main() -> ExitCode {
    sigpipe::reset();
    let command = Command::parse();
    let report = layout_cuda::doctor();
    println!("{report}");
    println!("{}", layout_mesh::doctor());
    if let Some(path) = &command.peaks
        && let Err(error) = peaks::measure(&Device::best(), path)
    {
        eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    if command.nvrtc && report.nvrtc.is_err() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
