//! Errors of a launch that cannot be simulated.

use std::fmt;

/// The reason why a launch was not simulated. Nothing was executed.
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
        /// The number of the kernel's arguments.
        expected: usize,
        /// The number of given arguments.
        found: usize,
    },
    /// An argument is of another kind.
    Argument {
        /// The argument's name.
        argument: String,
        /// The kernel's argument.
        expected: String,
        /// The given argument.
        found: String,
    },
    /// The size of a tensor in bytes is not a multiple of its element's.
    Bytes {
        /// The argument's name.
        argument: String,
        /// The size of the tensor in bytes.
        found: usize,
        /// The size of an element in bytes.
        elem: u32,
    },
    /// The grid or the block exceeds a limit of the simulator.
    TooLarge {
        /// The excess, in words.
        what: String,
    },
    /// A cooperative launch with more blocks than can be resident.
    NotResident {
        /// Blocks of the grid.
        blocks: u64,
        /// Blocks that the multiprocessors hold: `min_blocks` each, or one without `min_blocks`.
        most: u64,
    },
    /// The checked kernel violates an invariant of `Checked`.
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
                    "tensor `{argument}` has {found} bytes, which is not a multiple of its element's {elem}"
                )
            }
            SimulateError::NotResident { blocks, most } => write!(
                f,
                "a cooperative launch of {blocks} blocks, of which {most} can be resident: launch fewer, or set \
                `min_blocks` if a multiprocessor holds several"
            ),
            SimulateError::TooLarge { what } => write!(f, "{what}, which exceeds a limit of the simulator"),
            SimulateError::Malformed(what) => write!(f, "the checked kernel is malformed: {what}"),
        }
    }
}

impl std::error::Error for SimulateError {}
