//! Searches the parameter sets of a kernel for the fastest right one, and says why the others lost.
//!
//! `cargo run --release -p layout-bench --bin tune -- schedule --search all`

use clap::Parser;
use layout_bench::options::Common;
use layout_bench::{Result, exit, tune};
use std::process::ExitCode;

/// Searches the parameter sets of a kernel: each is checked, then timed; on the simulator its counts give an estimate.
#[derive(Parser)]
struct Command {
    #[command(flatten)]
    options: tune::Options,
    #[command(flatten)]
    common: Common,
}

fn main() -> ExitCode {
    sigpipe::reset();
    exit(run(&Command::parse()))
}

fn run(command: &Command) -> Result<usize> {
    let device = command.common.device()?;
    println!("device: {}", device.describe());
    tune::run(&device, &command.common, &command.options)
}
