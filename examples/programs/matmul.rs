//! Runs the matrix multiplications of the ladder on a GPU or on the simulator, checks every element, and times them: the
//! same as `--example bench -- matmul`.
//!
//! `cargo run --release --example matmul -- --help`

use clap::Parser;
use layout_examples::benchmarks::ledger::Ledger;
use layout_examples::benchmarks::options::Common;
use layout_examples::benchmarks::{Result, matmul};
use std::process::ExitCode;

/// Matrix multiplications in the kernel language: checked in float64, timed, compared with cuBLAS on a GPU.
#[derive(Parser)]
struct Command {
    #[command(flatten)]
    options: matmul::Options,
    #[command(flatten)]
    common: Common,
}

fn main() -> ExitCode {
    sigpipe::reset();
    let command = Command::parse();
    command.common.exit(run(&command))
}

fn run(command: &Command) -> Result<usize> {
    let device = command.common.device()?;
    println!("device: {}", device.describe());
    let mut ledger = Ledger::new(&device, &command.common)?;
    matmul::run(&mut ledger, &device, &command.common, &command.options)?;
    Ok(ledger.close())
}
