//! Measures one kind of work: every kernel for it beside its peers in the same run, each result checked.
//!
//! `cargo run --release --example bench -- matmul`; a file of this folder for each subcommand.

mod cpu;
mod gemm;
mod jit;
mod matmul;
mod options;
mod product;
mod truth;
mod turns;

use clap::{Parser, Subcommand};
use layout_examples::record::{Occasion, append};
use options::{Common, Records};
use std::process::ExitCode;

/// Times every kernel of a workload beside its peers, and checks every result.
#[derive(Parser)]
struct Command {
    #[command(subcommand)]
    workload: Workload,
    #[command(flatten)]
    common: Common,
}

/// What to measure.
#[derive(Subcommand)]
enum Workload {
    /// C = A B: the ladder, from a naive kernel to tensor cores, beside the CPU and cuBLAS
    Matmul(matmul::Options),
    /// C = A B on the matrix units and in float32, beside cuBLAS and cuBLASLt
    Gemm(gemm::Options),
    /// What it costs to make a kernel ready: compiled, from the disk, from memory
    Jit,
}

fn main() -> ExitCode {
    match run(&Command::parse()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(wrong) => {
            eprintln!("{wrong} of the runs above are wrong");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs what is asked for; gives the number of wrong runs.
fn run(command: &Command) -> Result<usize, Box<dyn std::error::Error>> {
    let common = &command.common;
    let device = common.device()?;
    println!("device: {}", device.describe());
    let records: Records = match &command.workload {
        Workload::Matmul(options) => matmul::run(&device, common, options)?,
        Workload::Jit => jit::run(&device).map(|()| Records::new())?,
        Workload::Gemm(options) => gemm::run(&device, common, options)?,
    };
    if let Some(path) = &common.json {
        append(path, &records, &Occasion::now(device.describe(), common.commit.clone()))?;
    }
    Ok(records.iter().filter(|record| record.wrong > 0).count())
}
