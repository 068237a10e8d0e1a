//! The kernels at the speed of memory: each checked in float64 and timed beside the best peer in the same process.
//!
//! `cargo run --release --example memory -- reduce softmax`

mod contest;
mod reduce;
mod rows;
mod scan;
mod stencil;
mod transpose;

use clap::Parser;
use contest::{Bench, Result};
use layout_cuda::Device;
use layout_examples::record::{Occasion, append};
use std::path::PathBuf;
use std::process::ExitCode;

/// Kernels at the speed of memory, beside cuBLAS's dot product or the best device copy.
#[derive(Parser)]
struct Options {
    /// What to measure: reduce, histogram, softmax; all without any
    work: Vec<String>,
    /// gpu or simulator; the GPU where there is one without it
    #[arg(long)]
    device: Option<String>,
    /// Appends one JSON record a line to this file
    #[arg(long)]
    json: Option<PathBuf>,
    /// The commit to write into the records, where git cannot tell
    #[arg(long)]
    commit: Option<String>,
    /// Timed samples of each candidate on a GPU
    #[arg(long, default_value_t = 21)]
    samples: usize,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
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

fn run(options: &Options) -> Result<usize> {
    let device = match options.device.as_deref() {
        None => Device::best(),
        Some("gpu") => Device::gpu(0)?,
        Some("simulator") => Device::simulator(),
        Some(other) => return Err(format!("`--device {other}`: there are `gpu` and `simulator`").into()),
    };
    println!("device: {}", device.describe());
    let small = device.is_simulator();
    let stream = device.stream();
    let mut bench = Bench { device, stream, samples: options.samples.max(1), records: Vec::new() };
    let wanted = |name: &str| options.work.is_empty() || options.work.iter().any(|work| work == name);
    let peer = if small { 1 << 12 } else { 1 << 28 };
    if wanted("reduce") {
        let (n, side) = if small { (10_007, 129) } else { (1 << 28, 16_384) };
        reduce::vectors(&mut bench, n, peer)?;
        reduce::axes(&mut bench, [side, side], peer)?;
    }
    if wanted("histogram") {
        reduce::histogram(&mut bench, if small { 10_007 } else { 1 << 28 }, peer)?;
    }
    if wanted("softmax") {
        let shapes: &[[usize; 2]] = if small {
            &[[300, 16], [3, 1000], [5, 8189], [2, 16_384], [2, 32_768]]
        } else {
            &[
                [1 << 24, 16],
                [1 << 18, 1024],
                [1 << 15, 8192],
                [16_384, 16_384],
                [8192, 32_768],
                [16_384, 131_072],
            ]
        };
        for shape in shapes {
            rows::softmax(&mut bench, *shape)?;
            rows::layer_norm(&mut bench, *shape)?;
        }
    }
    if wanted("scan") {
        scan::scan(&mut bench, if small { 10_007 } else { 1 << 28 })?;
    }
    if wanted("stencil") {
        for n in if small { vec![10_007, 10_008] } else { vec![1 << 26, 1 << 28] } {
            stencil::vectors(&mut bench, n)?;
        }
        for side in if small { vec![129, 132] } else { vec![16_384] } {
            stencil::matrices(&mut bench, [side, side])?;
        }
    }
    if wanted("transpose") {
        let sides: &[usize] = if small { &[129] } else { &[16_384, 32_768, 16_381] };
        for side in sides {
            transpose::transpose(&mut bench, [*side, *side])?;
        }
    }
    if let Some(path) = &options.json {
        append(path, &bench.records, &Occasion::now(bench.device.describe(), options.commit.clone()))?;
    }
    Ok(bench.records.iter().filter(|record| record.wrong > 0).count())
}
