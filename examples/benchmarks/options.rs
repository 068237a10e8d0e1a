//! The options that every subcommand has: where, how often, how cold, and where the records go.

use super::{exit, write_findings};
use clap::{Args, ValueEnum};
use layout_cuda::{Device, ParamValue};
use std::path::PathBuf;
use std::process::ExitCode;

/// The options.
#[derive(Args)]
pub struct Common {
    /// gpu or simulator; the GPU where there is one without it
    #[arg(long, global = true)]
    device: Option<String>,
    /// Appends one JSON record a line to this file
    #[arg(long, global = true)]
    pub json: Option<PathBuf>,
    /// Writes what the simulator finds to this file: SARIF, JSON lines or text by its ending .sarif, .jsonl or .txt
    #[arg(long, global = true)]
    findings: Option<PathBuf>,
    /// The commit to write into the records, where git cannot tell
    #[arg(long, global = true)]
    pub commit: Option<String>,
    /// What `--example doctor -- --peaks FILE` measured of this device: the roofs of `% bound`, in place of those on paper
    #[arg(long, global = true)]
    pub peaks: Option<PathBuf>,
    /// Timed samples on a GPU; of products a quarter as many rounds of 20 milliseconds
    #[arg(long, global = true, default_value_t = 20)]
    pub samples: usize,
    /// What is in the L2 cache when a sample begins
    #[arg(long, global = true, value_enum, default_value_t = L2::Warm)]
    pub l2: L2,
}

/// What is in the L2 cache when a sample begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum L2 {
    /// What the sample before left there
    Warm,
    /// Nothing of the operands: twice the cache is overwritten first
    Flush,
    /// Other operands: each sample takes the next of as many copies as fill the cache four times
    Rotate,
}

impl Common {
    /// The device asked for.
    ///
    /// # Errors
    /// A device that is not there, and a name of none.
    pub fn device(&self) -> Result<Device, String> {
        match self.device.as_deref() {
            None => Ok(Device::best()),
            Some("gpu") => Device::gpu(0).map_err(|error| error.to_string()),
            Some("simulator") => Ok(Device::simulator()),
            Some(other) => Err(format!("`--device {other}`: there are `gpu` and `simulator`")),
        }
    }

    /// How a program with these options ends; what the simulator found goes to the file asked for.
    pub fn exit(&self, outcome: super::Result<usize>) -> ExitCode {
        if let Some(path) = &self.findings
            && let Err(error) = write_findings(path, &outcome)
        {
            eprintln!("error: {error}");
        }
        exit(outcome)
    }

    /// How many copies of operands of so many bytes a measurement goes through.
    pub fn copies(&self, device: &Device, bytes: usize) -> usize {
        match (self.l2, device.properties()) {
            (L2::Rotate, Some(gpu)) => (4 * gpu.l2_bytes as usize).div_ceil(bytes.max(1)).clamp(1, 64),
            _ => 1,
        }
    }
}

/// The parameters of a `--set`: `BM=64,DIRECT=true`.
///
/// # Errors
/// A part that is no `NAME=VALUE`, and a value that is neither a number nor a truth value.
pub fn assignments(text: &str) -> super::Result<Vec<(&str, ParamValue)>> {
    let of = |value: &str| match value {
        "true" => Ok(ParamValue::Bool(true)),
        "false" => Ok(ParamValue::Bool(false)),
        number => number.parse().map(ParamValue::Int),
    };
    let mut all = vec![];
    for part in text.split(',') {
        let (name, value) =
            part.split_once('=').ok_or_else(|| format!("`--set {text}`: `{part}` is no NAME=VALUE"))?;
        all.push((name, of(value)?));
    }
    Ok(all)
}
