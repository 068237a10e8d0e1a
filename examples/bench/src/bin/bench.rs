//! Measures one kind of work: every kernel for it beside its peers in the same run, each result checked.
//!
//! `cargo run --release -p layout-bench -- gemm`

use clap::{Parser, Subcommand};
use layout_bench::ledger::Ledger;
use layout_bench::options::Common;
use layout_bench::{
    Result, attention, backward, bodies, breadth, convolution, decode, epilogues, experts, gemm, grouped,
    jit, matmul, memory, orders, peaks, strangers, transforms, trial,
};
use std::path::PathBuf;
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
    /// Attention forward, decoding and backward, every shape of the goals; beside cuDNN and FlashAttention-3 by `peers.py`
    Attention(trial::Options),
    /// Products with bias and activation, a residual, a gate, scales; beside PyTorch's by `peers.py`
    Epilogues(epilogues::Options),
    /// Products of groups of rows, products with scales of blocks; by PyTorch with `breadth.py grouped`, `breadth.py block`
    Grouped,
    /// A mixture of experts, next to its products alone; by PyTorch with `breadth.py experts`
    Experts,
    /// Bodies that attract one another, all pairs, beside the roof
    Bodies,
    #[command(flatten)]
    Memory(memory::Work),
    /// Elementwise functions, reductions, moves, beside the best device copy; by PyTorch with `breadth.py`
    Breadth,
    /// Top-k and sort of rows, next to the best device copy; by PyTorch with `breadth.py order`
    Orders,
    /// Convolutions of 3 by 3 elements; by PyTorch with `breadth.py convolution`
    Convolution,
    /// Fourier's and Hadamard's transforms, selections, small matrices, next to the best device copy; by PyTorch with
    /// `breadth.py transform`
    Transforms,
    /// Kernels as a new user writes them, beside the best device copy
    Strangers,
    /// What the device does at most, written to this file, JSON: `--peaks` reads it
    Peaks { file: PathBuf },
    /// What it costs to make a kernel ready: compiled, from the disk, from memory
    Jit,
}

fn main() -> ExitCode {
    sigpipe::reset();
    let command = Command::parse();
    command.common.exit(run(&command))
}

/// Runs what is asked for; gives the number of wrong runs.
fn run(command: &Command) -> Result<usize> {
    let common = &command.common;
    if let Workload::Peaks { file } = &command.workload {
        // The simulator's rates say nothing about a GPU.
        let device = layout_cuda::Device::gpu(0)?;
        return peaks::measure(&device, file).map(|()| 0);
    }
    let device = common.device()?;
    println!("device: {}", device.describe());
    let mut ledger = Ledger::new(&device, common)?;
    match &command.workload {
        Workload::Matmul(options) => matmul::run(&mut ledger, &device, common, options)?,
        Workload::Gemm(options) => gemm::run(&mut ledger, &device, common, options)?,
        Workload::Attention(options) => {
            let run = trial::Run { device: &device, common, options };
            run.family::<attention::Forward>(&mut ledger)?;
            run.family::<decode::Decode>(&mut ledger)?;
            run.family::<backward::Backward>(&mut ledger)?;
        }
        Workload::Epilogues(options) => epilogues::run(&mut ledger, &device, common, options)?,
        Workload::Grouped => grouped::run(&mut ledger, &device, common)?,
        Workload::Experts => experts::run(&mut ledger, &device, common)?,
        Workload::Bodies => bodies::run(&mut ledger, &device, common)?,
        Workload::Breadth => breadth::run(&mut ledger, &device, common)?,
        Workload::Convolution => convolution::run(&mut ledger, &device, common)?,
        Workload::Orders => orders::run(&mut ledger, &device, common)?,
        Workload::Strangers => strangers::run(&mut ledger, &device, common)?,
        Workload::Transforms => transforms::run(&mut ledger, &device, common)?,
        Workload::Memory(work) => memory::run(&mut ledger, &device, common, *work)?,
        Workload::Peaks { .. } => {}
        Workload::Jit => return jit::run(&device).map(|()| 0),
    }
    Ok(ledger.close())
}
