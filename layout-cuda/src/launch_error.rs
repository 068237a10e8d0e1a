//! Why a launch is refused, and what the simulator found.

use std::fmt;

use layout_compiler::Elem;
use layout_compiler::wire::WireError;
use layout_compiler::{BindError, Errors};
use layout_simulator::Report;

use crate::driver::DriverError;
use crate::nvrtc::{NvrtcError, SlowPath};
use crate::tensor_map::TensorMapError;

/// A launch that was refused, or, on the simulator, found faulty.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum LaunchError {
    /// The arguments do not fit the kernel.
    Arguments {
        /// The kernel.
        kernel: String,
        /// What does not fit.
        error: BindError,
    },
    /// Arguments of different types, where the kernel has one for them.
    Types {
        /// The kernel.
        kernel: String,
        /// The type parameter.
        parameter: String,
        /// The types that the attribute lists for it.
        listed: Vec<Elem>,
        /// The argument that does not fit.
        argument: String,
        /// Its type.
        found: Elem,
        /// Another argument of that parameter, and its type.
        beside: Box<(String, Elem)>,
    },
    /// A tensor is on another device than the stream.
    OtherDevice {
        /// The kernel.
        kernel: String,
        /// The number of the argument, from 0.
        argument: usize,
        /// The tensor's device.
        tensor: String,
        /// The stream's device.
        stream: String,
    },
    /// Memory that may only be read, for a tensor that the kernel writes.
    ReadOnly {
        /// The kernel.
        kernel: String,
        /// The number of the argument, from 0.
        argument: usize,
    },
    /// A tensor of another stream in a launch that a graph records.
    OtherStream {
        /// The kernel.
        kernel: String,
        /// The number of the argument, from 0.
        argument: usize,
    },
    /// A launch that a graph cannot hold.
    NotInGraph {
        /// The kernel.
        kernel: String,
        /// Why not.
        why: &'static str,
    },
    /// The bytes in the program are no kernel of this version.
    Embedded {
        /// The kernel.
        kernel: String,
        /// Why not.
        error: WireError,
    },
    /// The kernel cannot be made for this parameter set.
    Parameters {
        /// The kernel.
        kernel: String,
        /// The set, such as `BM64_BN64`.
        set: String,
        /// Its Rust file.
        file: &'static str,
        /// The line of each error.
        lines: Vec<u32>,
        /// All that is wrong.
        errors: Errors,
    },
    /// The kernel is for another architecture.
    Arch {
        /// The kernel.
        kernel: String,
        /// The architecture that it names.
        needed: String,
        /// The device's.
        device: String,
    },
    /// The device has too little shared memory for a block.
    SharedMemory {
        /// The kernel.
        kernel: String,
        /// Bytes that a block takes.
        needed: u32,
        /// Bytes that a block can have.
        most: u32,
    },
    /// A cooperative launch of more blocks than the device holds at the same time.
    TooManyBlocks {
        /// The kernel.
        kernel: String,
        /// The grid's.
        blocks: u64,
        /// What the device holds.
        most: u64,
    },
    /// NVRTC refused the kernel's text.
    Compile {
        /// The kernel.
        kernel: String,
        /// The architecture.
        arch: String,
        /// NVRTC's log, with the lines of the kernel's Rust file.
        log: String,
    },
    /// The kernel asks for Hopper's units, and the compiler made slow code of it.
    SlowPaths {
        /// The kernel.
        kernel: String,
        /// Its Rust file.
        file: String,
        /// What is slow, and where.
        paths: Vec<SlowPath>,
    },
    /// What a bundle has of the kernel is not what was written into it.
    Bundle {
        /// The kernel.
        kernel: String,
        /// What is wrong.
        why: String,
    },
    /// No bundle that was taken has code for the device, and there is no NVRTC to make it.
    NotInBundle {
        /// The kernel.
        kernel: String,
        /// The CUDA function.
        entry: String,
        /// The device's architecture.
        device: String,
        /// What the bundles have instead, and the way out.
        held: String,
        /// Why NVRTC did not make it.
        nvrtc: Box<NvrtcError>,
    },
    /// The driver did not load the code.
    Load {
        /// The kernel.
        kernel: String,
        /// The driver's words.
        error: DriverError,
        /// The driver's CUDA version.
        driver: (u32, u32),
    },
    /// The driver made no tensor map of an argument.
    TensorMap(Box<TensorMapError>),
    /// Code for a GPU was asked for, of the simulator.
    NotOnSimulator {
        /// The kernel.
        kernel: String,
    },
    /// The simulator could not run it.
    Simulator {
        /// The kernel.
        kernel: String,
        /// Why not.
        why: String,
    },
    /// The simulator ran it and found faults; the results are there, but not to be relied on.
    Findings {
        /// The kernel.
        kernel: String,
        /// The Rust file that the findings' lines are of.
        file: String,
        /// All that it found.
        report: Box<Report>,
    },
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LaunchError::Arguments { kernel, error } => write!(f, "kernel `{kernel}`: {error}"),
            LaunchError::Types { kernel, parameter, listed, argument, found, beside } => {
                let (other, elem) = &**beside;
                let listed: Vec<String> = listed.iter().map(Elem::to_string).collect();
                write!(
                    f,
                    "kernel `{kernel}`: `{argument}` is of {found} and `{other}` of {elem}, and both are of the type `{parameter}` \
                     ({} in the attribute); convert `{argument}`",
                    listed.join(", ")
                )
            }
            LaunchError::TooManyBlocks { kernel, blocks, most } => write!(
                f,
                "kernel `{kernel}` is cooperative, and of the grid's {blocks} blocks {most} run at the same time: launch \
                 fewer, each with more to do, or let a multiprocessor hold more of them (`min_blocks`)"
            ),
            LaunchError::OtherDevice { kernel, argument, tensor, stream } => write!(
                f,
                "kernel `{kernel}`: argument {argument} is on {tensor}, the stream is of {stream}; download it and \
                 upload it there"
            ),
            LaunchError::ReadOnly { kernel, argument } => write!(
                f,
                "kernel `{kernel}` writes argument {argument}, which may only be read; give it memory to be written"
            ),
            LaunchError::OtherStream { kernel, argument } => write!(
                f,
                "kernel `{kernel}`: argument {argument} is of another stream than the graph, which would not wait for it; \
                 upload it by `Stream::upload` of the graph's stream"
            ),
            LaunchError::NotInGraph { kernel, why } => {
                write!(f, "kernel `{kernel}` cannot be in a graph: {why}")
            }
            LaunchError::Embedded { kernel, error } => write!(f, "kernel `{kernel}`: {error}"),
            LaunchError::Parameters { kernel, set, file, lines, errors } => {
                let set = if set.is_empty() { "the attribute's set" } else { set };
                write!(f, "kernel `{kernel}` cannot be made for {set}:")?;
                for (line, error) in lines.iter().zip(errors.as_slice()) {
                    write!(f, "\n  {file}:{line}: {}", error.message)?;
                    if let Some(help) = &error.help {
                        write!(f, "; {help}")?;
                    }
                }
                Ok(())
            }
            LaunchError::Arch { kernel, needed, device } => {
                write!(f, "kernel `{kernel}` is for {needed}, the device is {device}")
            }
            LaunchError::SharedMemory { kernel, needed, most } => write!(
                f,
                "kernel `{kernel}` takes {needed} bytes of shared memory a block, the device has {most}; take smaller \
                 tiles"
            ),
            LaunchError::Compile { kernel, arch, log } => {
                write!(f, "kernel `{kernel}`: NVRTC refused the text for {arch}:\n{log}")
            }
            LaunchError::SlowPaths { kernel, file, paths } => {
                write!(f, "kernel `{kernel}` is slow as the compiler made it:")?;
                for SlowPath { reason, rust_line, .. } in paths {
                    write!(f, "\n  {file}:{rust_line}: {reason}")?;
                }
                write!(f, "\n`LaunchConfig::allow_slow_paths` runs it all the same")
            }
            LaunchError::Bundle { kernel, why } => write!(f, "kernel `{kernel}`: {why}"),
            LaunchError::NotInBundle { kernel, entry, device, held, nvrtc } => write!(
                f,
                "kernel `{kernel}`: there is no code of `{entry}` for {device}; {held}. NVRTC could make it: {nvrtc}"
            ),
            LaunchError::Load { kernel, error, driver: (major, minor) } => write!(
                f,
                "kernel `{kernel}`: the driver of CUDA {major}.{minor} did not load the code: {error}; an NVRTC that is \
                 not newer than the driver makes code that it takes"
            ),
            LaunchError::TensorMap(error) => error.fmt(f),
            LaunchError::NotOnSimulator { kernel } => {
                write!(f, "kernel `{kernel}`: the simulator has no code for a GPU")
            }
            LaunchError::Simulator { kernel, why } => write!(f, "kernel `{kernel}`: the simulator: {why}"),
            LaunchError::Findings { kernel, file, report } => {
                let source = crate::report::source(file, kernel);
                write!(f, "kernel `{kernel}` in {file}:")?;
                for (number, finding) in report.findings.iter().enumerate() {
                    write!(f, "{}{}", if number == 0 { " " } else { "\n" }, finding.in_file(file, &source))?;
                }
                match report.left_out {
                    0 => Ok(()),
                    more => write!(f, "\n{more} further findings left out"),
                }
            }
        }
    }
}

impl std::error::Error for LaunchError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            LaunchError::Arguments { error, .. } => Some(error),
            LaunchError::Embedded { error, .. } => Some(error),
            LaunchError::NotInBundle { nvrtc, .. } => Some(&**nvrtc),
            LaunchError::Load { error, .. } => Some(error),
            // Its own words hold theirs.
            LaunchError::Parameters { .. }
            | LaunchError::TensorMap(_)
            | LaunchError::Types { .. }
            | LaunchError::OtherDevice { .. }
            | LaunchError::ReadOnly { .. }
            | LaunchError::OtherStream { .. }
            | LaunchError::NotInGraph { .. }
            | LaunchError::Arch { .. }
            | LaunchError::SharedMemory { .. }
            | LaunchError::TooManyBlocks { .. }
            | LaunchError::Compile { .. }
            | LaunchError::SlowPaths { .. }
            | LaunchError::Bundle { .. }
            | LaunchError::NotOnSimulator { .. }
            | LaunchError::Simulator { .. }
            | LaunchError::Findings { .. } => None,
        }
    }
}
