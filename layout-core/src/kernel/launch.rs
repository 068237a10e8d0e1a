//! From a checked kernel and the tensors of one launch to grid, block and kernel arguments; pure.
//!
//! Law: what [`LaunchPlan::bind`] accepts, the checked kernel is right for: every promise of the variant holds.

use super::elem::Elem;
use super::index::{Atoms, Index};
use super::ir::ArgumentLayout;
use super::params::Promises;
use super::program::Comparison;
use std::fmt;

/// What a launch needs to know of a checked kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchPlan {
    /// The name of the kernel.
    pub name: String,
    /// The arguments of the Rust function, in order.
    pub arguments: Vec<PlanArgument>,
    /// The names of the dimensions.
    pub dims: Vec<String>,
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of the grid; `None` where the launch must say.
    pub grid: Option<[Index; 3]>,
    /// Blocks of a cluster.
    pub cluster: [u32; 3],
    /// Conditions that launch refuses without, with their text.
    pub require: Vec<(Comparison, String)>,
    /// The conditions of this variant's `variant_if`.
    pub variant_if: Vec<Comparison>,
    /// What the variant relies on.
    pub promises: Promises,
    /// Bytes of dynamic shared memory of a block.
    pub shared_bytes: u32,
    /// What the CUDA function takes, in order.
    pub parameters: Vec<KernelParameter>,
    /// The atoms that the indices here are made of.
    pub atoms: Atoms,
}

/// An argument of the Rust function.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanArgument {
    /// The name.
    pub name: String,
    /// What it is.
    pub kind: PlanArgumentKind,
}

/// What an argument is.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanArgumentKind {
    /// A tensor.
    Tensor {
        /// Of what.
        elem: Elem,
        /// Whether the kernel writes it.
        mutable: bool,
        /// How it must lie in memory.
        layout: ArgumentLayout,
        /// The extent of each mode: one dimension, or a number.
        extents: Vec<Extent>,
    },
    /// A value of an element type.
    Scalar(Elem),
    /// A value of type `usize` or `isize`.
    Index,
}

/// The extent of a tensor's mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The dimension of this number, taken from the tensor.
    Dim(u32),
    /// A number that the tensor must have.
    Static(i64),
}

/// What the CUDA function takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelParameter {
    /// The address of a tensor argument's first element.
    Pointer(u32),
    /// A scalar argument of an element type.
    Scalar(u32),
    /// An index argument; 32 bits in a narrow variant, else 64.
    Index(u32),
    /// A dimension, likewise.
    Dim(u32),
    /// A stride, likewise.
    Stride {
        /// The argument.
        argument: u32,
        /// The mode.
        mode: u32,
    },
}

/// An argument of one launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LaunchArgument<'a> {
    /// A tensor: extents, strides in elements, the address of its first element, the elements behind that address.
    Tensor {
        /// Of what.
        elem: Elem,
        /// Extents.
        shape: &'a [usize],
        /// Strides, elements.
        strides: &'a [usize],
        /// The address, for its alignment.
        address: u64,
        /// The elements that may be reached from there.
        len: usize,
    },
    /// A scalar of an element type: 8 bytes, little-endian, zero-extended.
    Scalar(Elem, u64),
    /// An index.
    Index(i64),
}

/// A launch, ready: the values of everything in [`LaunchPlan::parameters`] but addresses and scalars.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Blocks of the grid. A zero means that there is nothing to do.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// The value of each dimension.
    pub dims: Vec<i64>,
    /// The value of each entry of [`LaunchPlan::parameters`]; 0 for pointers and scalars.
    pub values: Vec<i64>,
}

/// Why a launch is refused. Nothing has run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindError {
    /// The number of arguments differs.
    Count {
        /// How many the kernel takes.
        expected: usize,
        /// How many were given.
        found: usize,
    },
    /// An argument is of another kind or element type.
    Type {
        /// The argument.
        argument: String,
        /// What the kernel takes.
        expected: String,
        /// What was given.
        found: String,
    },
    /// The number of dimensions differs.
    Rank {
        /// The argument.
        argument: String,
        /// The rank that the kernel takes.
        expected: usize,
        /// The rank given.
        found: usize,
    },
    /// A dimension is not the number that the kernel has, or not the one another tensor gave.
    Extent {
        /// The argument.
        argument: String,
        /// The mode.
        mode: usize,
        /// Its extent.
        found: usize,
        /// What it had to be.
        expected: i64,
        /// The dimension's name and the argument that gave the other value, where there is one.
        dim: Option<(String, String)>,
    },
    /// A stride is not the one of the layout that the kernel takes.
    Stride {
        /// The argument.
        argument: String,
        /// The mode.
        mode: usize,
        /// The stride.
        found: usize,
        /// What it had to be.
        expected: usize,
        /// The layout's name.
        layout: &'static str,
    },
    /// A tensor's layout reaches past the end of its storage.
    Span {
        /// The argument.
        argument: String,
        /// Elements that the layout reaches.
        needed: u64,
        /// Elements that are there.
        found: u64,
    },
    /// Two elements of a written tensor share an address.
    Overlap {
        /// The argument.
        argument: String,
    },
    /// A `require` does not hold.
    Require {
        /// Its text.
        condition: String,
        /// The values in it.
        values: String,
    },
    /// The attribute has no `grid` and the launch gave none.
    NoGrid,
    /// The grid is larger than a GPU takes.
    Grid {
        /// The axis.
        axis: usize,
        /// The blocks asked for.
        found: i64,
        /// The most.
        most: i64,
    },
    /// A dimension or a span is beyond 2⁴⁸.
    TooLarge {
        /// The argument.
        argument: String,
    },
    /// The tensors do not keep a promise of this variant: pick another.
    Promise(Broken),
}

/// Which promise is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// A dimension or span is beyond [`NARROW_LIMIT`].
    Narrow,
    /// An address is no multiple of 16.
    Aligned,
    /// A condition of `variant_if` is false.
    VariantIf,
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BindError::Count { expected, found } => {
                write!(f, "the kernel takes {expected} arguments, {found} were given")
            }
            BindError::Type { argument, expected, found } => {
                write!(f, "argument `{argument}` is {expected}, {found} was given")
            }
            BindError::Rank { argument, expected, found } => {
                write!(f, "tensor `{argument}` has rank {expected} in the kernel and rank {found} here")
            }
            BindError::Extent { argument, mode, found, expected, dim } => match dim {
                Some((dim, other)) => write!(
                    f,
                    "tensor `{argument}` has extent {found} in mode {mode}, but `{dim}` is {expected} in tensor `{other}`"
                ),
                None => write!(
                    f,
                    "tensor `{argument}` has extent {found} in mode {mode}, the kernel is for {expected}"
                ),
            },
            BindError::Stride { argument, mode, found, expected, layout } => write!(
                f,
                "tensor `{argument}` has stride {found} in mode {mode}, `{layout}` needs {expected}; \
                 take `Pitched` or `Strided` in the kernel, or make the tensor compact"
            ),
            BindError::Span { argument, needed, found } => {
                write!(f, "tensor `{argument}` reaches {needed} elements and its storage has {found}")
            }
            BindError::Overlap { argument } => {
                write!(f, "tensor `{argument}` is written and two of its elements share an address")
            }
            BindError::Require { condition, values } => {
                write!(f, "`require({condition})` does not hold: {values}")
            }
            BindError::NoGrid => write!(f, "the kernel has no `grid`; use `launch_with` and give one"),
            BindError::Grid { axis, found, most } => {
                write!(f, "the grid has {found} blocks along axis {axis}, a GPU takes at most {most}")
            }
            BindError::TooLarge { argument } => write!(f, "tensor `{argument}` is beyond 2^48 elements"),
            BindError::Promise(broken) => write!(f, "the variant's promise does not hold: {broken:?}"),
        }
    }
}

impl std::error::Error for BindError {}
