//! The options that every subcommand has: where, how often, how cold, and where the records go.

use super::{exit, write_findings};
use clap::{Args, ValueEnum};
use layout_cuda::{Device, ParamSet, ParamValue};
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
    /// The commit to write into the records, where git cannot report it
    #[arg(long, global = true)]
    pub commit: Option<String>,
    /// What `bench -- peaks FILE` measured of this device: the roofs of `% bound`, in place of those on paper
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

/// The parameters of a `--set`: `BM=64,DIRECT=true,T=bf16`. Types and functions are those of these sets.
///
/// # Errors
/// A part that is no `NAME=VALUE`, and a value that is no number, no truth value, and in none of the sets.
pub fn assignments<'a>(text: &'a str, sets: &[ParamSet]) -> super::Result<Vec<(&'a str, ParamValue)>> {
    let mut all = vec![];
    for part in text.split(',') {
        let (name, value) =
            part.split_once('=').ok_or_else(|| format!("`--set {text}`: `{part}` is no NAME=VALUE"))?;
        let known = sets.iter().filter_map(|set| set.get(name)).find(|own| own.to_string() == value);
        let value = match (known, value.parse(), value.parse()) {
            (Some(own), ..) => own,
            (None, Ok(number), _) => ParamValue::Int(number),
            (None, _, Ok(is)) => ParamValue::Bool(is),
            _ => return Err(format!("`--set {text}`: `{part}` is no number, no truth value, and no type or function to choose here").into()),
        };
        all.push((name, value));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout_kernels::kernels::attention::attention;

    #[test]
    fn a_set_has_numbers_truth_values_and_what_the_kernel_names() {
        let sets = attention::DEFINITION.kernel().expect("bytes of this version").parameter_sets();
        let of = |text| assignments(text, &sets).map_err(|error| error.to_string());
        let all = of("BN=160,TURNS=false,T=f16,KEEP=causal").expect("values");
        let values: Vec<String> = all.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(values.join(","), "BN=160,TURNS=false,T=f16,KEEP=causal");
        assert!(matches!(all[..2], [(_, ParamValue::Int(160)), (_, ParamValue::Bool(false))]));
        assert!(matches!(all[2..], [(_, ParamValue::Type(_)), (_, ParamValue::Function("causal"))]));
        let refused = of("BN=160,KEEP=other").expect_err("a function of another kernel");
        assert!(refused.contains("`KEEP=other` is no number"), "{refused}");
        assert!(of("BN").expect_err("no value").ends_with("`BN` is no NAME=VALUE"));
    }
}
