//! Executes a checked kernel on the CPU under the memory model of the GPU, and reports mistakes and costs.
//!
//! ```text
//! Checked ──compile──► Program (bytecode, sites)
//!
//! schedule   the order of clusters, warps and asynchronous work
//! actors     warps, TMA, the matrix units, mbarriers         ──events──► analysis   races, initialisation, views, coverage,
//! memory     bytes, addresses, vector clocks                                        arithmetic, updates, traffic, phases ..
//! ```
//! A module names the layers below it only (`tests/tidy.rs` has the table); `machine` holds their state. Execution
//! emits events (`event`) and does not depend on analyses. The blocks of a cluster run together, clusters on several
//! host threads.
//!
//! Laws: no kernel and no argument makes it panic, hang (see [`Options::max_steps`]) or access memory outside an
//! argument. Results and report do not depend on the number of host threads; a kernel with atomic operations that
//! depend on the order of blocks runs on one. With findings on, a launch whose blocks access each other's elements runs
//! again on one host thread. With findings off, the results of such a kernel depend on the host threads.
#![forbid(unsafe_code)]
#![deny(unreachable_pub)]
// The documentation is for developers of this crate, so links to private items are intended.
#![allow(rustdoc::private_intra_doc_links)]

mod actors;
mod analysis;
mod arithmetic;
mod async_op;
mod bytecode;
mod compile;
mod debug;
mod error;
mod event;
mod findings;
mod machine;
mod memory;
mod options;
mod printed;
mod progress;
mod register;
mod report;
mod schedule;
mod state;
#[cfg(test)]
mod tests;
mod trail;
mod workers;

pub use debug::{Arrow, Span, Timeline, Track};
pub use debug::{Barrier, Copying, Moment, PauseAt, Session, Status, Tensor, TensorSpace, Value, WarpState};
pub use error::SimulateError;
pub use options::{Options, SimulatorArgument};
pub use progress::{Progress, when_slow};
pub use report::{Counts, Finding, FindingKind, Printed, Report};

use compile::ArgumentValue;
use layout_compiler::bind::Bound;
use layout_compiler::check::Checked;
use layout_compiler::launch::PlanArgumentKind;
use machine::Launch;
use memory::bytes::Global;
use schedule::{difference, residents};
use state::cluster;
pub use trail::Access;
use workers::run;

/// Runs a launch. Afterwards the written tensors hold the results.
///
/// `bound` is the result of [`LaunchPlan::bind`](layout_compiler::launch::LaunchPlan::bind) for the same tensors.
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
    let program = program(checked, bound, arguments, options, false)?;
    let blocks = bound.grid.iter().map(|extent| u64::from(*extent)).product::<u64>();
    if blocks == 0 || bound.block.contains(&0) {
        return Ok(Report::default());
    }
    let ranks = u64::from(cluster::size(checked.plan().cluster));
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = if options.threads == 0 { available } else { options.threads };
    let workers = if program.ordered { 1 } else { workers };
    let workers = workers.min(usize::try_from(blocks / ranks).unwrap_or(usize::MAX)).min(256);
    let mut report = None;
    // Several workers first; one alone if the results may depend on the order of blocks.
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
            launch.analyses.iter().for_each(|analysis| analysis.close(&program, &mut outcome.findings));
            for number in 1..u64::from(options.schedules) {
                let seed = options.seed.wrapping_add(number);
                let other = Launch { seed, ..self::launch(checked, &program, bound, arguments, options)? };
                let found = run(&other, blocks / ranks, 1);
                if !found.stopped {
                    difference::compare(&launch, &other, [options.seed, seed], &mut outcome.findings);
                }
                outcome.stopped |= found.stopped;
                outcome.findings.merge_new(found.findings, number, seed);
            }
        }
        let written: Vec<Option<Global<'static>>> =
            launch.globals.into_iter().map(Global::into_words).collect();
        write_back(arguments, written);
        report = Some(outcome.report(&program, options));
        break;
    }
    Ok(report.unwrap_or_default())
}

/// Records the run of a launch, under the schedule [`Options::seed`], and hands its session on: see [`Session`]. Results and report are
/// those of [`simulate`] under this schedule alone.
///
/// ```
/// # use layout_compiler::{Elem, LaunchArgument, ParamSet, ParamValue, Promises, compile};
/// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../layout-macros/compiler/doc/double.rs.in")); } use shared::double;
/// # let set = ParamSet(vec![("B".into(), ParamValue::Int(16))]);
/// use layout_simulator::{Options, SimulatorArgument, debug};
/// let checked = compile(&double::DEFINITION.kernel()?, &set, Promises::USUAL)?;
/// let x = LaunchArgument::Tensor { elem: Elem::F32, shape: &[100], strides: &[1], address: 0, len: 100 };
/// let mut bytes = vec![0u8; 400];
/// let mut arguments = [SimulatorArgument::Write(&mut bytes)];
/// let bound = checked.plan().bind(&[x], None)?;
/// debug(&checked, &bound, &mut arguments, &Options::default(), &mut |session| {
///     session.go(session.steps() / 2);
///     assert!(session.moment().warps()[0].live > 0);
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn debug(
    checked: &Checked,
    bound: &Bound,
    arguments: &mut [SimulatorArgument<'_>],
    options: &Options,
    with: &mut dyn FnMut(&mut Session<'_>),
) -> Result<Report, SimulateError> {
    let program = program(checked, bound, arguments, options, true)?;
    if bound.grid.contains(&0) || bound.block.contains(&0) {
        return Ok(Report::default());
    }
    let recorded = launch(checked, &program, bound, arguments, options)?;
    let mut repeated = launch(checked, &program, bound, arguments, options)?;
    (repeated.analyses, repeated.counters) = (Vec::new(), false);
    let (of, to) = (&recorded, &repeated);
    let recording = debug::Recording { checked, bound, program: &program, recorded: of, repeated: to };
    let report = debug::session(recording, arguments, options, with);
    let written = recorded.globals.into_iter().map(Global::into_words).collect();
    write_back(arguments, written);
    Ok(report)
}

/// The timelines of a launch whose results are dropped: of its first schedule, and of the first one with findings among
/// [`Options::schedules`] where that is another.
///
/// # Errors
/// As [`simulate`].
///
/// ```
/// # use layout_compiler::{Elem, LaunchArgument, ParamSet, ParamValue, Promises, compile};
/// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../layout-macros/compiler/doc/double.rs.in")); } use shared::double;
/// # let set = ParamSet(vec![("B".into(), ParamValue::Int(16))]);
/// use layout_simulator::{Options, SimulatorArgument, timelines};
/// let checked = compile(&double::DEFINITION.kernel()?, &set, Promises::USUAL)?;
/// let x = LaunchArgument::Tensor { elem: Elem::F32, shape: &[100], strides: &[1], address: 0, len: 100 };
/// let mut bytes = vec![0u8; 400];
/// let bound = checked.plan().bind(&[x], None)?;
/// let options = Options { schedules: 4, ..Options::default() };
/// let found = timelines(&checked, &bound, &[SimulatorArgument::Write(&mut bytes)], &options)?;
/// assert!(found.len() == 1 && found[0].tracks[0].name == "warp 0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn timelines(
    checked: &Checked,
    bound: &Bound,
    arguments: &[SimulatorArgument<'_>],
    options: &Options,
) -> Result<Vec<Timeline>, SimulateError> {
    let mut found = Vec::new();
    for number in 0..u64::from(options.schedules.max(1)) {
        let options = Options { seed: options.seed.wrapping_add(number), schedules: 1, ..*options };
        let mut copies: Vec<Vec<u8>> = arguments.iter().map(SimulatorArgument::written).collect();
        let mut own: Vec<SimulatorArgument<'_>> =
            arguments.iter().zip(&mut copies).map(|(argument, copy)| argument.with(copy)).collect();
        let mut drawn = None;
        debug(checked, bound, &mut own, &options, &mut |session| drawn = Some(session.timeline()))?;
        // No block, no session.
        let Some(drawn) = drawn else { break };
        let wrong = !drawn.findings.is_empty();
        if number == 0 || wrong {
            found.push(drawn);
        }
        if wrong {
            break;
        }
    }
    Ok(found)
}

/// The program of a launch that the simulator takes.
fn program(
    checked: &Checked,
    bound: &Bound,
    arguments: &[SimulatorArgument<'_>],
    options: &Options,
    watched: bool,
) -> Result<bytecode::Program, SimulateError> {
    let values = argument_values(checked, arguments)?;
    let threads_of_block = bound.block.iter().map(|extent| u64::from(*extent)).product::<u64>();
    if threads_of_block > 1024 {
        return Err(SimulateError::TooLarge { what: format!("a block of {threads_of_block} threads") });
    }
    let blocks = bound.grid.iter().fold(1u64, |product, extent| product.saturating_mul((*extent).into()));
    if blocks >= u64::from(u32::MAX) - 1 {
        return Err(SimulateError::TooLarge { what: format!("a grid of {blocks} blocks") });
    }
    let program = compile::compile(checked, bound, &values, options, watched)?;
    if blocks == 0 || threads_of_block == 0 {
        return Ok(program);
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
    Ok(program)
}

/// Copies what a launch wrote into its arguments.
fn write_back(arguments: &mut [SimulatorArgument<'_>], written: Vec<Option<Global<'static>>>) {
    for (argument, words) in arguments.iter_mut().zip(written) {
        if let (SimulatorArgument::Write(bytes), Some(words)) = (argument, words) {
            words.copy_to(bytes);
        }
    }
}

/// Checks the arguments against the kernel's.
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
    checked: &'a Checked,
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
        kernel: &checked.plan().name,
    })
}
