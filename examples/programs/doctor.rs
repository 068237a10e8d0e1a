//! Says what was found of a GPU, of the driver and of NVRTC, where, and how to get what is missing.
//!
//! `cargo run --example doctor`; with `--nvrtc` the exit code says whether kernels can be compiled.

use std::process::ExitCode;

fn main() -> ExitCode {
    let report = layout_cuda::doctor();
    println!("{report}");
    let only_nvrtc = std::env::args().any(|argument| argument == "--nvrtc");
    if only_nvrtc && report.nvrtc.is_err() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
