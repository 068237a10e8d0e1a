//! The arguments and options of a simulated launch.

use layout_compiler::elem::Constant;

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
    /// A read-only tensor: its bytes from the first element on, little-endian.
    Read(&'a [u8]),
    /// A tensor that the kernel writes.
    Write(&'a mut [u8]),
    /// A scalar of an element type.
    Scalar(Constant),
    /// An index.
    Index(i64),
}

impl SimulatorArgument<'_> {
    /// A copy of the bytes that the kernel writes.
    pub(crate) fn written(&self) -> Vec<u8> {
        match self {
            SimulatorArgument::Write(bytes) => bytes.to_vec(),
            SimulatorArgument::Read(_) | SimulatorArgument::Scalar(_) | SimulatorArgument::Index(_) => {
                Vec::new()
            }
        }
    }

    /// The same argument, which writes to `copy`.
    pub(crate) fn with<'a>(&'a self, copy: &'a mut [u8]) -> SimulatorArgument<'a> {
        match self {
            SimulatorArgument::Read(bytes) => SimulatorArgument::Read(bytes),
            SimulatorArgument::Write(_) => SimulatorArgument::Write(copy),
            SimulatorArgument::Scalar(constant) => SimulatorArgument::Scalar(*constant),
            SimulatorArgument::Index(value) => SimulatorArgument::Index(*value),
        }
    }
}

/// Options of a simulation.
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
    /// Whether to report mistakes.
    pub findings: bool,
    /// Whether to count work and traffic.
    pub counters: bool,
    /// The maximum number of instructions of a warp in one block; then the launch is stopped.
    pub max_steps: u64,
    /// The maximum number of findings of a kind in the report.
    pub max_findings: usize,
    /// Host threads; 0 for one on each core.
    pub threads: usize,
    /// Multiprocessors of the target device; an H200 has 132. If blocks wait for each other, the number of resident
    /// blocks is at most what these are certain to hold: `min_blocks` on each, or one.
    pub multiprocessors: u32,
    /// Whether to check the coverage of writes. Findings are: elements that no thread writes while others of their
    /// tensor are written (except in tensors that only atomic operations change); tensors that the kernel writes, does
    /// not read, and leaves unchanged; elements that two threads write without a read in between; reads of an unwritten
    /// element in a tensor of zeros.
    pub coverage: bool,
    /// Whether to check arithmetic. Findings are: integer overflow outside `wrapping_*`, also in sums of a warp, powers
    /// and atomic sums; conversions that lose a value; shifts by the width or more; a stored infinity made of finite
    /// numbers, or a stored NaN made of operands that are not NaN. Rounding by a conversion is not a loss. Products of
    /// the matrix units are not checked.
    pub arithmetic: bool,
    /// Whether each text that `println!` writes to standard output begins with its thread and line.
    pub located: bool,
    /// The number of schedules: orders of warps, of blocks and of asynchronous work. The first one is conservative, the
    /// next ones are adversarial, the others are random. A different result is a finding, except for rounding where
    /// atomic operations add floats. Results and counts are those of the first schedule.
    pub schedules: u32,
    /// The number of the first schedule, from 0. To repeat the schedule of a finding, set `seed` to its number and
    /// `schedules` to 1.
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
            located: false,
            schedules: 1,
            seed: 0,
        }
    }
}
