//! Why a launch is not simulated.

use std::fmt;

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
