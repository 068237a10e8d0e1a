//! Several GPUs, measured: `bash examples/bench/mesh/run.sh` sets PyTorch's figures beside these.
//!
//! `cargo run --release -p layout-bench --bin mesh -- --help`

use clap::Parser;
use layout_bench::mesh;
use std::process::ExitCode;

/// Collectives, rows to columns and products over several GPUs: checked, and timed in milliseconds.
#[derive(Parser)]
struct Command {
    #[command(flatten)]
    options: mesh::Options,
}

fn main() -> ExitCode {
    sigpipe::reset();
    match mesh::run(&Command::parse().options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
