//! Runs a checked kernel on the CPU, by the GPU's rules, and reports what is wrong with it and what it costs.
//!
//! ```text
//! Checked ──compile──► Program (bytecode, sites)
//!
//! schedule   who has the next turn: clusters, warps, asynchronous work
//! actors     warps, TMA, the matrix units, mbarriers            ──events──► judge   races, initialisation, views, coverage,
//! memory     bytes, addresses; clocks: what was before what                         arithmetic, updates, traffic, phases ..
//! ```
//! Each folder knows those before it; the machine (`machine`) holds their parts. Execution reports what happens (`event`)
//! and knows no judge: without judges it is execution alone. The blocks of a cluster run together, clusters on several host
//! threads.
//!
//! Laws: no kernel and no argument makes it panic, hang (see [`Options::max_steps`]) or touch memory outside an argument.
//! Results and report are the same for any number of host threads; a kernel whose atomics make the order of blocks matter
//! runs on one. With findings on, blocks that touch each other's elements are run again one after another; with findings
//! off, the results of such a kernel depend on the host threads.
#![forbid(unsafe_code)]
#![deny(unreachable_pub)]
// The documentation is for who works on it: links to private items are meant.
#![allow(rustdoc::private_intra_doc_links)]

mod actors;
mod analysis;
mod async_op;
mod bytecode;
mod compile;
mod event;
mod findings;
mod machine;
mod memory;
mod report;
mod schedule;
#[cfg(test)]
mod tests;

pub use report::{Counts, Finding, FindingKind, Report};

use actors::cluster;
use compile::ArgumentValue;
use findings::Findings;
use layout_compiler::bind::Bound;
use layout_compiler::check::Checked;
use layout_compiler::elem::Constant;
use layout_compiler::launch::PlanArgumentKind;
use machine::{Launch, Machine};
use memory::bytes::Global;
use schedule::{policy, residents};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

/// An argument of a simulated launch, in the order of the Rust function's arguments.
///
/// ```
/// # use layout_compiler::{Elem, LaunchArgument, ParamSet, ParamValue, Promises, compile};
/// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../layout-macros/compiler/doc/double.rs.in")); } use shared::double;
/// # let set = ParamSet(vec![("B".into(), ParamValue::Int(16))]);
/// use layout_simulator::{Options, SimulatorArgument, simulate};
/// let checked = compile(&double::DEFINITION.kernel()?, &set, Promises::USUAL)?;
/// let x = LaunchArgument::Tensor { elem: Elem::F32, shape: &[3], strides: &[1], address: 0, len: 3 };
/// let mut bytes: Vec<u8> = [1.0f32, 2.0, 3.0].into_iter().flat_map(f32::to_le_bytes).collect();
/// let mut arguments = [SimulatorArgument::Write(&mut bytes)];
/// simulate(&checked, &checked.plan().bind(&[x], None)?, &mut arguments, &Options::default())?;
/// assert_eq!(bytes[..4], 2.0f32.to_le_bytes());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub enum SimulatorArgument<'a> {
    /// A tensor that is read: its bytes from its first element on, little-endian.
    Read(&'a [u8]),
    /// A tensor that is written, likewise.
    Write(&'a mut [u8]),
    /// A scalar of an element type.
    Scalar(Constant),
    /// An index.
    Index(i64),
}

/// How to simulate.
///
/// ```
/// # use layout_simulator::{FindingKind, Options};
/// # use layout_cuda::{Device, LaunchConfig, tiled_kernel};
/// #[tiled_kernel(block = [1], grid = [1])]
/// fn forever(x: &mut LayoutTensor<i32, RowMajor<1>>) {
///     while x.load_relaxed([0]) == 0 {}
/// }
/// let mut x = Device::simulator().zeros::<i32, 1>([1])?;
/// let options = Options { max_steps: 1000, ..Options::default() };
/// let report = forever::simulate_with(LaunchConfig::default(), &options, &mut x)?;
/// assert!(report.stopped && !report.clean());
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether to look for mistakes.
    pub findings: bool,
    /// Whether to count work and traffic.
    pub counters: bool,
    /// Instructions that a warp may take in one block before the launch is stopped.
    pub max_steps: u64,
    /// How many findings of a kind the report holds.
    pub max_findings: usize,
    /// Host threads; 0 for as many as the machine has.
    pub threads: usize,
    /// Multiprocessors of the device that the launch is meant for; an H200 has 132. Where blocks wait for each other, no
    /// more of them run at once than these hold for certain: `min_blocks` on each, or one.
    pub multiprocessors: u32,
    /// Whether to check the coverage of writes. Findings are: elements that no thread writes while others of their tensor
    /// are written (except in tensors that only atomic operations change); tensors that the kernel writes, does not read,
    /// and leaves unchanged; elements that two threads write with no read in between; reads of an element that nothing has
    /// set, in a tensor of zeros.
    pub coverage: bool,
    /// Whether to check numbers. Findings are: integers that leave their type outside of `wrapping_*`, also in sums of a
    /// warp, powers and atomic sums; conversions that lose a value; shifts by the width or more; an infinity from finite
    /// numbers, or a NaN from operands that are none, that is stored. Rounding by a conversion is no loss. Products of the
    /// matrix units are not checked.
    pub arithmetic: bool,
    /// How many schedules the launch runs under: orders of warps, of blocks and of asynchronous work. The first one is the
    /// usual order, the next ones are adversaries, the others are random. A result that differs is a finding, except for
    /// rounding where atomic operations add floats. Results and counts are those of the first schedule.
    pub schedules: u32,
    /// The number of the first schedule, from 0. A schedule that a finding names is repeated by this number and one
    /// schedule.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            findings: true,
            counters: true,
            max_steps: 1 << 26,
            max_findings: 16,
            threads: 0,
            multiprocessors: 132,
            coverage: false,
            arithmetic: false,
            schedules: 1,
            seed: 0,
        }
    }
}

/// Why a launch was not simulated. Nothing has run.
///
/// ```
/// # use layout_compiler::{Elem, LaunchArgument, ParamSet, ParamValue, Promises, compile};
/// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../layout-macros/compiler/doc/double.rs.in")); } use shared::double;
/// # let set = ParamSet(vec![("B".into(), ParamValue::Int(16))]);
/// use layout_simulator::{Options, SimulateError, simulate};
/// let checked = compile(&double::DEFINITION.kernel()?, &set, Promises::USUAL)?;
/// let x = LaunchArgument::Tensor { elem: Elem::F32, shape: &[3], strides: &[1], address: 0, len: 3 };
/// let bound = checked.plan().bind(&[x], None)?;
/// let error = simulate(&checked, &bound, &mut [], &Options::default()).unwrap_err();
/// assert_eq!(error, SimulateError::Count { expected: 1, found: 0 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SimulateError {
    /// The number of arguments differs.
    Count {
        /// How many the kernel takes.
        expected: usize,
        /// How many were given.
        found: usize,
    },
    /// An argument is of another kind.
    Argument {
        /// The argument's name.
        argument: String,
        /// What the kernel takes.
        expected: String,
        /// What was given.
        found: String,
    },
    /// A tensor's bytes are no whole number of elements.
    Bytes {
        /// The argument's name.
        argument: String,
        /// Its bytes.
        found: usize,
        /// The bytes of an element.
        elem: u32,
    },
    /// The grid or the block is larger than the simulator takes.
    TooLarge {
        /// What is too large, in words.
        what: String,
    },
    /// A cooperative launch of more blocks than run at the same time.
    NotResident {
        /// The grid's.
        blocks: u64,
        /// What the multiprocessors hold: `min_blocks` each, one where the kernel does not say.
        most: u64,
    },
    /// The checked kernel breaks its own invariants.
    Malformed(String),
}

impl fmt::Display for SimulateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SimulateError::Count { expected, found } => {
                write!(f, "the kernel takes {expected} arguments, {found} were given")
            }
            SimulateError::Argument { argument, expected, found } => {
                write!(f, "argument `{argument}` is {expected}, {found} was given")
            }
            SimulateError::Bytes { argument, found, elem } => {
                write!(
                    f,
                    "tensor `{argument}` has {found} bytes, which is no multiple of its element's {elem}"
                )
            }
            SimulateError::NotResident { blocks, most } => write!(
                f,
                "a cooperative launch of {blocks} blocks, of which {most} run at the same time: launch fewer, or say \
                 `min_blocks` if a multiprocessor holds several"
            ),
            SimulateError::TooLarge { what } => write!(f, "{what}, too much for the simulator"),
            SimulateError::Malformed(what) => write!(f, "the checked kernel is malformed: {what}"),
        }
    }
}

impl std::error::Error for SimulateError {}

/// Runs a launch. Afterwards the tensors that are written hold the results, and the report says the rest.
///
/// `bound` is what [`LaunchPlan`](layout_compiler::launch::LaunchPlan) made of the same tensors.
///
/// ```
/// # use layout_compiler::{Elem, LaunchArgument, ParamSet, ParamValue, Promises, compile};
/// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../layout-macros/compiler/doc/double.rs.in")); } use shared::double;
/// # let set = ParamSet(vec![("B".into(), ParamValue::Int(16))]);
/// use layout_simulator::{Options, SimulatorArgument, simulate};
/// let checked = compile(&double::DEFINITION.kernel()?, &set, Promises::USUAL)?;
/// let x = LaunchArgument::Tensor { elem: Elem::F32, shape: &[100], strides: &[1], address: 0, len: 100 };
/// let mut bytes = vec![0u8; 400];
/// let mut arguments = [SimulatorArgument::Write(&mut bytes)];
/// let report = simulate(&checked, &checked.plan().bind(&[x], None)?, &mut arguments, &Options::default())?;
/// assert!(report.clean() && report.blocks == 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn simulate(
    checked: &Checked,
    bound: &Bound,
    arguments: &mut [SimulatorArgument<'_>],
    options: &Options,
) -> Result<Report, SimulateError> {
    let values = argument_values(checked, arguments)?;
    let threads_of_block = bound.block.iter().map(|extent| u64::from(*extent)).product::<u64>();
    if threads_of_block > 1024 {
        return Err(SimulateError::TooLarge { what: format!("a block of {threads_of_block} threads") });
    }
    let blocks = bound.grid.iter().fold(1u64, |product, extent| product.saturating_mul((*extent).into()));
    if blocks >= u64::from(u32::MAX) - 1 {
        return Err(SimulateError::TooLarge { what: format!("a grid of {blocks} blocks") });
    }
    let program = compile::compile(checked, bound, &values, options)?;
    if blocks == 0 || threads_of_block == 0 {
        return Ok(Report::default());
    }
    let cluster = checked.plan().cluster;
    let ranks = u64::from(cluster::size(cluster));
    let whole = (0..3).all(|axis| bound.grid[axis].is_multiple_of(cluster[axis].max(1)));
    let actors = machine::actors(&program, threads_of_block as u32, ranks);
    if !whole || ranks > 16 || actors > machine::MOST_ACTORS {
        let what =
            format!("a grid of {:?} blocks in clusters of {cluster:?} with {actors} actors", bound.grid);
        return Err(SimulateError::TooLarge { what });
    }
    if checked.plan().cooperative {
        let most = residents::places(checked, bound, options.multiprocessors) as u64;
        if blocks > most {
            return Err(SimulateError::NotResident { blocks, most });
        }
    }
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = if options.threads == 0 { available } else { options.threads };
    let workers = if program.ordered { 1 } else { workers };
    let workers = workers.min(usize::try_from(blocks / ranks).unwrap_or(usize::MAX)).min(256);
    let mut report = None;
    // More than one worker first; one alone if that met what depends on the order of blocks.
    for workers in if workers > 1 { vec![workers, 1] } else { vec![1] } {
        let launch = launch(checked, &program, bound, arguments, options)?;
        let outcome = run(&launch, blocks / ranks, workers);
        if workers > 1 && outcome.ordered {
            continue;
        }
        let outcome = if program.waits && !outcome.stopped && blocks / ranks > launch.places as u64 {
            let backwards =
                Launch { backwards: true, ..self::launch(checked, &program, bound, arguments, options)? };
            let other = run(&backwards, blocks / ranks, workers);
            if other.stopped { other } else { outcome }
        } else {
            outcome
        };
        let mut outcome = outcome;
        if !outcome.stopped {
            outcome.findings.start_block(u64::MAX);
            launch.analyses.iter().for_each(|judge| judge.close(&program, &mut outcome.findings));
            for number in 1..u64::from(options.schedules) {
                let seed = options.seed.wrapping_add(number);
                let other = Launch { seed, ..self::launch(checked, &program, bound, arguments, options)? };
                let found = run(&other, blocks / ranks, 1);
                if !found.stopped {
                    policy::compare(&launch, &other, [options.seed, seed], &mut outcome.findings);
                }
                outcome.stopped |= found.stopped;
                outcome.findings.merge_new(found.findings, number, seed);
            }
        }
        let globals = launch.globals;
        let written: Vec<Option<Global<'static>>> = globals.into_iter().map(Global::into_words).collect();
        for (argument, words) in arguments.iter_mut().zip(written) {
            if let (SimulatorArgument::Write(bytes), Some(words)) = (argument, words) {
                words.copy_to(bytes);
            }
        }
        report = Some(outcome.report(&program, options));
        break;
    }
    Ok(report.unwrap_or_default())
}

/// The arguments, compared with what the kernel takes.
fn argument_values(
    checked: &Checked,
    arguments: &[SimulatorArgument<'_>],
) -> Result<Vec<ArgumentValue>, SimulateError> {
    let plan = &checked.plan().arguments;
    if plan.len() != arguments.len() {
        return Err(SimulateError::Count { expected: plan.len(), found: arguments.len() });
    }
    let mut values = Vec::with_capacity(plan.len());
    for (known, argument) in plan.iter().zip(arguments) {
        let bytes = match argument {
            SimulatorArgument::Read(bytes) => Some(&**bytes),
            SimulatorArgument::Write(bytes) => Some(&**bytes),
            SimulatorArgument::Scalar(_) | SimulatorArgument::Index(_) => None,
        };
        let writable = matches!(argument, SimulatorArgument::Write(_));
        let value = match (&known.kind, argument, bytes) {
            (PlanArgumentKind::Tensor { elem, mutable, .. }, _, Some(bytes)) if writable || !mutable => {
                let size = elem.bytes() as usize;
                if !bytes.len().is_multiple_of(size) {
                    let (argument, found) = (known.name.clone(), bytes.len());
                    return Err(SimulateError::Bytes { argument, found, elem: elem.bytes() });
                }
                ArgumentValue::Tensor((bytes.len() / size) as i64)
            }
            (PlanArgumentKind::Scalar(elem), SimulatorArgument::Scalar(constant), _)
                if constant.elem == *elem =>
            {
                ArgumentValue::Scalar(*constant)
            }
            (PlanArgumentKind::Index, SimulatorArgument::Index(value), _) => ArgumentValue::Index(*value),
            _ => {
                return Err(SimulateError::Argument {
                    argument: known.name.clone(),
                    expected: expected(&known.kind),
                    found: match argument {
                        SimulatorArgument::Read(_) => "a tensor that is read".to_owned(),
                        SimulatorArgument::Write(_) => "a tensor that is written".to_owned(),
                        SimulatorArgument::Scalar(constant) => format!("a scalar of type {}", constant.elem),
                        SimulatorArgument::Index(_) => "an index".to_owned(),
                    },
                });
            }
        };
        values.push(value);
    }
    Ok(values)
}

fn expected(kind: &PlanArgumentKind) -> String {
    match kind {
        PlanArgumentKind::Tensor { elem, mutable: true, .. } => format!("a tensor of {elem} that is written"),
        PlanArgumentKind::Tensor { elem, mutable: false, .. } => format!("a tensor of {elem}"),
        PlanArgumentKind::Scalar(elem) => format!("a scalar of type {elem}"),
        PlanArgumentKind::Index => "an index".to_owned(),
    }
}

fn launch<'a>(
    checked: &Checked,
    program: &'a bytecode::Program,
    bound: &Bound,
    arguments: &'a [SimulatorArgument<'_>],
    options: &Options,
) -> Result<Launch<'a>, SimulateError> {
    let globals = arguments.iter().map(|argument| match argument {
        SimulatorArgument::Read(bytes) => Global::Read(bytes),
        SimulatorArgument::Write(bytes) => Global::writable(bytes),
        SimulatorArgument::Scalar(_) | SimulatorArgument::Index(_) => Global::None,
    });
    Ok(Launch {
        program,
        globals: globals.collect(),
        analyses: analysis::analyses(program, bound, arguments, options)?,
        grid: bound.grid,
        block: bound.block,
        cluster: checked.plan().cluster,
        max_steps: options.max_steps,
        counters: options.counters,
        places: residents::places(checked, bound, options.multiprocessors),
        seed: options.seed,
        backwards: false,
    })
}

/// What the host threads found together.
#[derive(Default)]
struct Outcome {
    findings: Findings,
    sites: Vec<Counts>,
    runs: Vec<[u64; 2]>,
    blocks: u64,
    stopped: bool,
    /// Whether the order of blocks matters to it.
    ordered: bool,
}

/// Runs every cluster, by this many host threads.
fn run(launch: &Launch<'_>, clusters: u64, workers: usize) -> Outcome {
    let (next, halt) = (AtomicU64::new(0), AtomicBool::new(false));
    let work = || {
        let mut machine = Machine::new(launch);
        let (mut count, mut stopped) = (0, false);
        if launch.program.waits {
            count = clusters * machine.ranks() as u64;
            stopped = !machine.run_together(clusters);
            halt.store(true, SeqCst);
        }
        while !halt.load(SeqCst) {
            let block = next.fetch_add(1, SeqCst);
            if block >= clusters {
                break;
            }
            count += machine.ranks() as u64;
            let done = machine.run_cluster(machine.policy.cluster(block, clusters));
            stopped |= !done;
            if !done || workers > 1 && machine.diagnostics.get_mut().crossed {
                halt.store(true, SeqCst);
            }
        }
        let told = machine.diagnostics.into_inner();
        let ordered = stopped || told.crossed;
        Outcome {
            findings: told.findings,
            sites: told.counts,
            runs: machine.runs,
            blocks: count,
            stopped,
            ordered,
        }
    };
    if workers == 1 {
        return work();
    }
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let mut all = Outcome::default();
        for handle in handles {
            match handle.join() {
                Ok(outcome) => all.merge(outcome),
                // A panic in a worker is a mistake here, not the kernel's: the lone run shows it.
                Err(_) => all.ordered = true,
            }
        }
        all
    })
}

impl Outcome {
    fn merge(&mut self, other: Outcome) {
        self.findings.merge(other.findings);
        self.sites.resize(self.sites.len().max(other.sites.len()), Counts::default());
        self.sites.iter_mut().zip(&other.sites).for_each(|(sum, counts)| sum.add(counts));
        self.runs.resize(self.runs.len().max(other.runs.len()), [0; 2]);
        for (sum, runs) in self.runs.iter_mut().zip(&other.runs) {
            sum[0] += runs[0];
            sum[1] += runs[1];
        }
        self.blocks += other.blocks;
        self.stopped |= other.stopped;
        self.ordered |= other.ordered;
    }

    fn report(self, program: &bytecode::Program, options: &Options) -> Report {
        let mut lines: BTreeMap<u32, Counts> = BTreeMap::new();
        for (number, [runs, lanes]) in self.runs.iter().enumerate().filter(|(_, [runs, _])| *runs > 0) {
            let flops = match program.code[number] {
                bytecode::Op::F32 { op, .. } | bytecode::Op::F64 { op, .. } => op.flops(),
                bytecode::Op::Math { function, elem, .. } if elem.is_float() => function.flops(),
                bytecode::Op::Mma { core, .. } => core.flops(),
                _ => 0,
            };
            if program.code[number].is_instrumentation() {
                continue;
            }
            let counts = lines.entry(program.lines[number]).or_default();
            counts.instructions += runs;
            counts.flops += lanes * flops;
        }
        for (site, counts) in program.sites.iter().zip(&self.sites) {
            if *counts != Counts::default() {
                lines.entry(site.line).or_default().add(counts);
            }
        }
        let mut totals = Counts::default();
        lines.values().for_each(|counts| totals.add(counts));
        let (findings, left_out) = self.findings.finish(options.max_findings);
        Report {
            findings,
            left_out,
            totals,
            lines: lines.into_iter().collect(),
            blocks: self.blocks,
            stopped: self.stopped,
        }
    }
}
