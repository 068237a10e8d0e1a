//! Launches on the simulator: the same arguments, the same choice of a variant, and a report.
//!
//! Law: the simulator gets exactly what the launch plan has bound, and tensors are the host's memory.

use layout_compiler::{Definition, LaunchArgument, Promises};
use layout_simulator::{Options, Report, SimulateError, SimulatorArgument};

use crate::argument::{Argument, Bytes, Kind};
use crate::debug;
use crate::error::Result;
use crate::functions::{KernelInstance, on_simulator};
use crate::launch::{LaunchConfig, choose, choose_unpromised, other_device, planned, refuse_read_only};
use crate::launch_error::LaunchError;

/// Runs a kernel on the simulator and says what it saw; findings are part of the report, not an error.
///
/// # Errors
/// [`LaunchError`]: the arguments do not fit, or are on a GPU.
pub fn simulate(
    definition: &'static Definition,
    config: LaunchConfig<'_>,
    arguments: &mut [Argument<'_>],
    options: &Options,
) -> Result<Report> {
    #[cfg(feature = "testing")]
    let (definition, _) = crate::testing::taken(definition);
    let descriptors: Vec<LaunchArgument<'_>> = arguments.iter().map(Argument::face).collect();
    let family = on_simulator().family(definition, config.set, &descriptors)?;
    drop(descriptors);
    refuse_read_only(&family, arguments)?;
    let report = run(&family, config, arguments, options, false)?;
    report.ok_or_else(|| {
        let (kernel, why) = (definition.name.to_string(), "the probe starts nothing: launch it".to_string());
        LaunchError::Simulator { kernel, why }.into()
    })
}

/// Runs a launch: by the variant that it takes, or, `unpromised`, by the one that promises nothing. There is no report where the
/// configuration's probe starts nothing.
pub(crate) fn run(
    family: &KernelInstance,
    config: LaunchConfig<'_>,
    arguments: &mut [Argument<'_>],
    options: &Options,
    unpromised: bool,
) -> Result<Option<Report>> {
    let mut plain = Vec::with_capacity(arguments.len());
    let mut bytes: Vec<SimulatorArgument<'_>> = Vec::with_capacity(arguments.len());
    for (number, argument) in arguments.iter_mut().enumerate() {
        match &mut argument.0 {
            Kind::Tensor { elem, shape, strides, len, bytes: memory } => {
                let (address, memory) = match memory {
                    Bytes::Host(bytes, offset) => (*offset, SimulatorArgument::Read(bytes)),
                    Bytes::HostMut(bytes, offset) => (*offset, SimulatorArgument::Write(bytes)),
                    Bytes::Gpu(..) | Bytes::GpuMut(..) => {
                        return Err(other_device(family, number, "a GPU".into(), "the simulator".into()));
                    }
                };
                let address = address as u64;
                plain.push(LaunchArgument::Tensor { elem: *elem, shape, strides, address, len: *len });
                bytes.push(memory);
            }
            Kind::Scalar(constant) => {
                plain.push(LaunchArgument::Scalar(constant.elem, constant.bits));
                bytes.push(SimulatorArgument::Scalar(*constant));
            }
            Kind::Index(value) => {
                plain.push(LaunchArgument::Index(*value));
                bytes.push(SimulatorArgument::Index(*value));
            }
        }
    }
    let (checked, promises, bound) = if unpromised {
        let (checked, bound) = choose_unpromised(family, config, &plain)?;
        (checked, Promises::default(), bound)
    } else {
        let (candidate, bound) = choose(family, config, &plain)?;
        (family.checked(candidate)?, candidate.promises, bound)
    };
    if let Some(arch) = family.arch {
        let most = u32::try_from(arch.shared_bytes()).unwrap_or(u32::MAX);
        family.refuse_other(checked, arch, most)?;
    }
    let mut seen = config.probe.map(|_| planned(promises, &bound, checked.plan().shared_bytes, &plain));
    if let (Some(probe), Some(seen)) = (config.probe.filter(|probe| !probe.starts()), &seen) {
        probe.see(seen.clone());
        return Ok(None);
    }
    let report = if unpromised {
        layout_simulator::simulate(checked, &bound, &mut bytes, options)
    } else {
        crate::report::trace(family.name(), checked, &bound, &bytes, options);
        let launch = debug::Launch { kernel: family.name(), file: family.definition.file };
        debug::simulate(&launch, checked, &bound, &mut bytes, options)
    };
    let kernel = || family.name().to_string();
    let report = report.map_err(|error| match error {
        SimulateError::NotResident { blocks, most } => {
            LaunchError::TooManyBlocks { kernel: kernel(), blocks, most }
        }
        other => LaunchError::Simulator { kernel: kernel(), why: other.to_string() },
    })?;
    // The launch without promises is a second one of the same input.
    if !unpromised {
        print(&report, options.located);
    }
    if let (Some(probe), Some(mut seen)) = (config.probe, seen.take()) {
        seen.counts = Some(report.totals);
        probe.see(seen);
    }
    Ok(Some(report))
}

/// Writes what the threads printed to standard output.
fn print(report: &Report, located: bool) {
    let texts = report.printed.iter();
    let text: String = texts.map(|one| if located { format!("{one:#}") } else { one.text.clone() }).collect();
    print!("{text}");
    if report.unprinted > 0 {
        println!("and {} texts more, which were left out", report.unprinted);
    }
}
