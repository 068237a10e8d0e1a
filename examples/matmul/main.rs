//! Runs the matrix multiplications of the ladder on a GPU or on the simulator, checks every element, and times them.
//!
//! `cargo run --release --example matmul -- --help`

mod options;
mod run;

use clap::Parser;
use layout_examples::record::{Occasion, append};
use options::Options;
use std::process::ExitCode;

fn main() -> ExitCode {
    let options = Options::parse();
    match matmul(&options) {
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

/// Runs what the options ask for; gives the number of wrong runs.
fn matmul(options: &Options) -> Result<usize, Box<dyn std::error::Error>> {
    let device = options.device()?;
    println!("device: {}", device.describe());
    let mut records = Vec::new();
    for shape in options.shapes(&device) {
        records.extend(run::shape(&device, shape, options)?);
    }
    if let Some(path) = &options.json {
        append(path, &records, &Occasion::now(device.describe(), options.commit.clone()))?;
    }
    Ok(records.iter().filter(|record| record.wrong > 0).count())
}
