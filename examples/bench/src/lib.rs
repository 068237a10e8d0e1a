//! Measurements: every kernel beside its peers in one run, each result checked, and the records that are kept of it.
//!
//! `cargo run --release -p layout-bench -- --help`; a file for each subcommand.

mod anywhere;
pub mod attention;
pub mod backward;
pub mod bodies;
pub mod breadth;
mod contest;
pub mod convolution;
mod cpu;
mod cublas;
pub mod decode;
pub mod epilogues;
pub mod experts;
pub mod gemm;
pub mod grouped;
pub mod jit;
pub mod kernels;
pub mod ledger;
pub mod matmul;
pub mod memory;
pub mod mesh;
mod narrow;
pub mod noise;
pub mod operations;
pub mod options;
pub mod orders;
pub mod peaks;
pub mod plot;
mod product;
mod progress;
mod race;
pub mod record;
mod reduce;
mod rows;
mod scan;
mod shapes;
mod stencil;
pub mod strangers;
pub mod transforms;
mod transpose;
pub mod trial;
mod truth;
pub mod tune;
mod turns;

use layout_cuda::report::{Format, Launched, render};
use std::path::Path;

pub use layout_examples::programs::reference::parallel;
pub use layout_examples::programs::{Result, exit};

/// Writes what the simulator found to a file: SARIF, lines of JSON or text, by its ending. Without findings too, so that
/// whoever reads the file knows that there are none.
///
/// # Errors
/// What the file system says, and an ending that says no format.
pub fn write_findings(path: &Path, outcome: &Result<usize>) -> Result<()> {
    let format = match path.extension().and_then(|ending| ending.to_str()) {
        Some("sarif") => Format::Sarif,
        Some("json" | "jsonl") => Format::JsonLines,
        Some("txt") => Format::Text,
        _ => return Err(format!("{}: findings go to .sarif, .jsonl or .txt", path.display()).into()),
    };
    let found = outcome.as_ref().err().and_then(|error| Launched::of(error.downcast_ref()?));
    let text = render(format, found.as_slice());
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()).into())
}
