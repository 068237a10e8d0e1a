//! Measurements: every kernel beside its peers in one run, each result checked, and the records that are kept of it.
//!
//! `cargo run --release --example bench -- --help`; a file for each subcommand.

mod anywhere;
pub mod attention;
pub mod backward;
pub mod bodies;
mod contest;
mod cpu;
mod cublas;
pub mod decode;
pub mod epilogues;
pub mod gemm;
pub mod jit;
pub mod ledger;
pub mod matmul;
pub mod memory;
pub mod mesh;
pub mod noise;
pub mod options;
pub mod peaks;
pub mod plot;
mod product;
mod progress;
pub mod puzzles;
mod race;
pub mod record;
mod reduce;
mod rows;
mod scan;
mod shapes;
mod stencil;
mod transpose;
pub mod trial;
mod truth;
pub mod tune;
mod turns;

use layout_cuda::report::{Format, Launched, render};
use std::path::Path;
use std::process::ExitCode;

/// What a measurement gives.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// How a program ends that found so many wrong results.
pub fn exit(wrong: Result<usize>) -> ExitCode {
    match wrong {
        Ok(0) => ExitCode::SUCCESS,
        Ok(wrong) => {
            eprintln!("{wrong} of the results above are wrong");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

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

/// The parts of `0..n` in order, a core each: for references that one core would take too long for.
pub fn parallel<T: Send>(n: usize, part: impl Fn(std::ops::Range<usize>) -> T + Sync) -> Vec<T> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let size = n.div_ceil(cores).max(1);
    std::thread::scope(|scope| {
        let part = &part;
        let spawn = |core: usize| scope.spawn(move || part((core * size).min(n)..((core + 1) * size).min(n)));
        let handles: Vec<_> = (0..cores).map(spawn).collect();
        let join = |handle: std::thread::ScopedJoinHandle<'_, T>| match handle.join() {
            Ok(value) => value,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        handles.into_iter().map(join).collect()
    })
}
