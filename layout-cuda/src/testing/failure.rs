//! What a test of a kernel says: where it fails first and how, or what was tried.

use std::fmt;

use layout_simulator::Report;

use super::sizes::Sizes;

/// A kernel that is wrong, at the smallest sizes where that was seen.
#[derive(Clone)]
pub struct Failure {
    /// The kernel.
    pub kernel: String,
    /// Its Rust file: the findings' lines are of it.
    pub file: String,
    /// The parameter set, such as `BM64_BN64`; empty where the kernel has no parameters.
    pub set: String,
    /// The dimensions.
    pub sizes: Sizes,
    /// The device, and how the tensors are laid out.
    pub device: String,
    /// Why the launch failed, where it did not run.
    pub error: Option<String>,
    /// What the simulator found.
    pub report: Option<Report>,
    /// The number of blocks that ran, on the simulator.
    pub blocks: Option<u64>,
    /// The tensors with wrong elements.
    pub wrong: Vec<WrongTensor>,
    /// What was written beside a tensor.
    pub beside: Vec<String>,
    /// How many launches were right before.
    pub right: usize,
    /// The seed that makes the same values again.
    pub seed: u64,
}

/// A tensor with wrong elements.
#[derive(Clone, Debug)]
pub struct WrongTensor {
    /// The argument.
    pub name: String,
    /// How many of its elements are wrong.
    pub count: usize,
    /// How many it has.
    pub of: usize,
    /// Whether each wrong element holds what it held before the launch.
    pub unchanged: bool,
    /// The first of them, in the order of their coordinates.
    pub first: Vec<WrongElement>,
}

/// A wrong element.
#[derive(Clone, Debug)]
pub struct WrongElement {
    /// Its coordinates.
    pub at: Vec<usize>,
    /// What the kernel wrote.
    pub found: String,
    /// What the reference says.
    pub wanted: String,
    /// How far they may differ; 0 for integers.
    pub bound: f64,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { kernel, file, set, sizes, device, .. } = self;
        let set = if set.is_empty() { String::new() } else { format!(" {set}") };
        write!(f, "kernel `{kernel}`{set} in {file} fails at {sizes}, on {device}")?;
        write!(f, "\n  the smallest sizes found; {} launches were right, seed {}", self.right, self.seed)?;
        if let Some(error) = &self.error {
            write!(f, "\n  {error}")?;
        }
        // The cause before what follows from it.
        let source = self.report.as_ref().map(|_| crate::report::source(file, kernel)).unwrap_or_default();
        for finding in self.report.iter().flat_map(|report| &report.findings) {
            let finding = finding.in_file(file, &source).to_string();
            write!(f, "\n  {}", finding.replace('\n', "\n  "))?;
        }
        for WrongTensor { name, count, of, unchanged, first } in &self.wrong {
            write!(f, "\n  {count} of {of} elements of `{name}` are wrong:")?;
            for WrongElement { at, found, wanted, bound } in first {
                write!(f, "\n    {name}[{at:?}] is {found}, not {wanted}")?;
                if *bound > 0.0 {
                    write!(f, " within {bound:.1e}")?;
                }
            }
            if first.len() < *count {
                write!(f, "\n    and {} more", count - first.len())?;
            }
            if *unchanged {
                let launch = match self.blocks {
                    Some(1) => "the launch, of 1 block,".to_owned(),
                    Some(blocks) => format!("the launch, of {blocks} blocks,"),
                    None => "the launch".to_owned(),
                };
                write!(
                    f,
                    "\n    {launch} changed none of them: does `grid` have a thread for each element?"
                )?;
            }
        }
        for beside in &self.beside {
            write!(f, "\n  {beside}")?;
        }
        Ok(())
    }
}

crate::error::debug_by_display! { Failure }

impl std::error::Error for Failure {}

/// What was tried where nothing failed.
#[derive(Clone, Debug, Default)]
pub struct Passed {
    /// Launches that were compared with the reference.
    pub launches: usize,
    /// Sizes beyond 2³² that the kernel was made and bound for, without a run.
    pub bound: usize,
    /// Launches that the kernel refused, each reason once.
    pub refused: Vec<String>,
    /// The devices.
    pub devices: Vec<String>,
}

impl fmt::Display for Passed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let devices = self.devices.join(" and ");
        write!(f, "{} launches on {devices}, {} bound beyond 2^32", self.launches, self.bound)?;
        for reason in &self.refused {
            write!(f, "\n  refused: {reason}")?;
        }
        Ok(())
    }
}
