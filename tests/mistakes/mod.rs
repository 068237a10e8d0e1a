//! Tables of mistakes, class by class: a kernel has a parameter `FLAW`; some of its values are right, the others each a mistake.
//!
//! Law: a right one has no finding; of a wrong one the first finding is the cause, of the kind of the table, at the line that a
//! comment `// here: name` marks.

use layout_cuda::{
    Definition, Device, Element, FindingKind, LaunchConfig, ParamSet, ParamValue, Report, Tensor,
};

/// The parameter set of a flaw.
fn set(definition: &Definition, flaw: i64) -> ParamSet {
    let sets = definition.kernel().expect("bytes of this version").parameter_sets();
    let own = sets.into_iter().find(|set| set.get("FLAW") == Some(ParamValue::Int(flaw)));
    own.unwrap_or_else(|| panic!("{} has no FLAW = {flaw}", definition.name))
}

/// The launch of a parameter set.
fn config(set: &ParamSet) -> LaunchConfig<'_> {
    LaunchConfig { set: Some(set), ..LaunchConfig::default() }
}

/// Zeros on the simulator.
fn zeros<T: Element>(count: usize) -> Tensor<T, 1> {
    Device::simulator().zeros([count]).expect("a tensor")
}

/// Such a tensor, empty.
fn empty<T: Element, const R: usize>(shape: [usize; R]) -> Tensor<T, R> {
    Device::simulator().zeros(shape).expect("a tensor")
}

/// Numbers from 0 to 6, again and again.
fn sevens_of<T: Element, const R: usize>(shape: [usize; R], of: impl Fn(f64) -> T) -> Tensor<T, R> {
    let values: Vec<T> = (0..shape.iter().product()).map(|at: usize| of((at % 7) as f64)).collect();
    Device::simulator().upload(&values, shape).expect("a tensor")
}

/// The same as floats.
fn sevens<const R: usize>(shape: [usize; R]) -> Tensor<f32, R> {
    sevens_of(shape, |value| value as f32)
}

/// Compares a report with the table: nothing, or a kind and the line that carries this mark in the source.
fn judge(source: &str, (kernel, flaw): (&str, i64), report: &Report, wanted: Option<(FindingKind, &str)>) {
    let Some((kind, name)) = wanted else {
        assert!(report.clean(), "{kernel}, FLAW = {flaw}, is right:\n{report}");
        return;
    };
    let mark = format!("// here: {name}");
    let line = source.lines().position(|line| line.ends_with(&mark)).map_or(0, |line| line as u32 + 1);
    let first = report.findings.first().map(|finding| (finding.kind, finding.line));
    assert_eq!(first, Some((kind, line)), "{kernel}, FLAW = {flaw}:\n{report}");
}

/// Runs a kernel for each row `flaw => what is found`; an optional analysis is named before it.
macro_rules! table {
    ($source:expr, $([$option:ident])? $kernel:ident($($argument:expr),*) { $($flaw:literal => $wanted:expr,)* }) => {
        for (flaw, wanted) in [$(($flaw, $wanted)),*] {
            let set = super::set(&$kernel::DEFINITION, flaw);
            let options = layout_cuda::Options { $($option: true,)? ..Default::default() };
            let report = $kernel::simulate_with(super::config(&set), &options, $($argument),*).expect("it runs");
            super::judge($source, (stringify!($kernel), flaw), &report, wanted);
        }
    };
}

mod adding;
mod arithmetic;
mod causes;
mod chains;
mod clusters;
mod coverage;
mod flags;
mod grids;
mod handing;
mod lanes;
mod meeting;
mod pipelines;
mod readers;
mod rings;
mod roles;
mod schedules;
mod sources;
mod staging;
mod steps;
mod views;
