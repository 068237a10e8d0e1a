//! Says what was found of a GPU, of the driver and of NVRTC, where, and how to get what is missing.
//!
//! `cargo run --example doctor -- --help`

use clap::Parser;
use std::process::ExitCode;

/// Says what this machine has for kernels, what is missing, and how to get it.
#[derive(Parser)]
struct Command {
    /// Ends with an error where kernels cannot be compiled
    #[arg(long)]
    nvrtc: bool,
}

fn main() -> ExitCode {
    sigpipe::reset();
    let command = Command::parse();
    let report = layout_cuda::doctor();
    println!("{report}");
    println!("{}", layout_mesh::doctor());
    if command.nvrtc && report.nvrtc.is_err() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
