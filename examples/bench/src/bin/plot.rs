//! Draws the records as SVG: the ladder, the roofline, products over sizes. Each picture's numbers are printed, too.
//!
//! `cargo run --release -p layout-bench --bin plot -- tests/records/h200.jsonl tests/records/h200_ladder.jsonl --out tests/records`
//!
//! Of another card the roofs are measured: `bench -- peaks FILE`, then `plot RECORDS.. --peaks FILE`. Without records,
//! `plot --card "RTX 4000 Ada" --peaks 26700,360 --point "naive 3 x 3=0.25"` draws the roofline alone.

use clap::Parser;
use layout_bench::peaks::Roofs;
use layout_bench::{Result, exit, plot};
use layout_cuda::roofline::Peaks;
use layout_examples::programs::analysis::{self, Point};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Draws records as SVG.
#[derive(Parser)]
struct Command {
    /// Files of records of one device, a JSON object a line; later ones win
    #[arg(required_unless_present = "point")]
    records: Vec<PathBuf>,
    /// The roofs: a file that `bench -- peaks` wrote of the device, or GFLOP/S,GB/S; the data sheet's of an H200 without it
    #[arg(long)]
    peaks: Option<String>,
    /// A further point of the roofline, NAME=FLOP/BYTE or, measured, NAME=FLOP/BYTE,GFLOP/S; may be given several times
    #[arg(long)]
    point: Vec<Point>,
    /// The card's name; the records' without it
    #[arg(long)]
    card: Option<String>,
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
    let card = command.card.as_deref().or(plot::card(&all)?).unwrap_or("device");
    let points: Vec<Point> = plot::points(&all).into_iter().chain(command.point.iter().cloned()).collect();
    let roofline =
        roofs(command.peaks.as_deref(), card).and_then(|roofs| plot::roofline(card, &roofs, &points));
    let mut pictures = vec![("roofline.svg", roofline)];
    if !command.records.is_empty() {
        pictures.splice(0..0, [("ladder.svg", plot::ladder(&all))]);
        pictures.push(("sizes.svg", plot::sizes(&all)));
    }
    let mut drawn = 0;
    for (name, picture) in pictures {
        let path = command.out.join(name);
        match picture {
            Ok(picture) => {
                std::fs::write(&path, picture.svg).map_err(|error| format!("{}: {error}", path.display()))?;
                println!("{}: {}", path.display(), picture.text);
                drawn += 1;
            }
            Err(error) => eprintln!("{name} is left out: {error}"),
        }
    }
    if drawn == 0 { Err("none of the pictures could be drawn".into()) } else { Ok(()) }
}

/// The roofs of a card.
fn roofs(peaks: Option<&str>, card: &str) -> Result<Vec<(&'static str, Peaks)>> {
    let roofs = match peaks {
        None if card == plot::h200().name => Roofs { device: Some(plot::h200()), measured: None },
        None => return Err(format!("the data sheet of {card} is not known here; measure it by `bench -- peaks FILE`, and say `--peaks FILE`").into()),
        Some(file) if Path::new(file).exists() => Roofs::read(Path::new(file), card)?,
        Some(pair) => return Ok(vec![("float32", analysis::peaks(pair).map_err(|error| format!("{error}; and no file has this name"))?)]),
    };
    Ok(plot::named(&roofs))
}
