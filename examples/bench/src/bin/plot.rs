//! Draws the records as SVG: the ladder, the roofline, products over sizes. Each picture's numbers are printed, too.
//!
//! `cargo run --release -p layout-bench --bin plot -- tests/records/h200.jsonl tests/records/h200_ladder.jsonl --out tests/records`

use clap::Parser;
use layout_bench::{Result, exit, plot};
use std::path::PathBuf;
use std::process::ExitCode;

/// Draws records as SVG.
#[derive(Parser)]
struct Command {
    /// Files of records, a JSON object a line; later ones win
    #[arg(required = true)]
    records: Vec<PathBuf>,
    /// The folder of the pictures
    #[arg(long, default_value = ".")]
    out: PathBuf,
}

fn main() -> ExitCode {
    sigpipe::reset();
    exit(run(&Command::parse()).map(|()| 0))
}

fn run(command: &Command) -> Result<()> {
    let mut text = String::new();
    for path in &command.records {
        let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let own = std::fs::read_to_string(path).map_err(|error| named(&error))?;
        // Alone, so that a line that is no record has its number in this file.
        plot::read(&own).map_err(|error| named(&error))?;
        text += &own;
        text.push('\n');
    }
    let all = plot::read(&text)?;
    for picture in [plot::ladder(&all)?, plot::roofline(&all, &plot::h200())?, plot::sizes(&all)?] {
        let path = command.out.join(picture.name);
        std::fs::write(&path, picture.svg).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("{}: {}", path.display(), picture.text);
    }
    Ok(())
}
