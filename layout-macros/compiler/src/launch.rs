//! The launch plan of a checked kernel: arguments, grid, conditions, parameters of the CUDA function.
//!
//! It is plain data; [`LaunchPlan::bind`] combines it with the tensors of a launch.

use super::elem::Elem;
use super::index::{Atoms, Index, Size};
use super::params::Promises;
use super::program::{Comparison, TensorMap};

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
    /// Whether a launch may give another.
    pub open_grid: bool,
    /// Blocks of a cluster.
    pub cluster: [u32; 3],
    /// The extents that are expressions over dimensions, with their text.
    pub computed: Vec<(Index, String)>,
    /// The conditions that a launch must meet, with their text.
    pub require: Vec<(Comparison, String)>,
    /// The conditions of this variant's `variant_if`.
    pub variant_if: Vec<Comparison>,
    /// What the variant relies on.
    pub promises: Promises,
    /// Bytes of dynamic shared memory of a block.
    pub shared_bytes: u32,
    /// Whether the kernel itself waits for the launches before it (programmatic dependent launch), so that it may begin
    /// before they end.
    pub dependent: bool,
    /// Whether all blocks of the grid run at the same time; a launch of more than the device holds is refused.
    pub cooperative: bool,
    /// How tensors are cut into boxes, for copies by tensor map.
    pub maps: Vec<TensorMap>,
    /// Arguments that are also read as a wider type, by number: that type's alignment is theirs.
    pub second_types: Vec<(u32, Elem)>,
    /// What a narrow variant divides by without a look at it: none of these is 0 where there are blocks.
    pub divisors: Vec<Size>,
    /// What the CUDA function takes, in order.
    pub parameters: Vec<KernelParameter>,
    /// The atoms that the indices here are made of.
    pub atoms: Atoms,
}

impl LaunchPlan {
    /// Whether the kernel says its grid; else the launch must.
    pub fn has_grid(&self) -> bool {
        self.grid.is_some()
    }
}

/// An argument of the Rust function.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanArgument {
    /// The name.
    pub name: String,
    /// What it is.
    pub kind: PlanArgumentKind,
}

impl PlanArgument {
    /// How many modes it has; 0 where it is no tensor.
    pub fn rank(&self) -> usize {
        match &self.kind {
            PlanArgumentKind::Tensor { extents, .. } => extents.len(),
            PlanArgumentKind::Scalar(_) | PlanArgumentKind::Index => 0,
        }
    }
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
        /// How it must be in memory.
        layout: PlanLayout,
        /// The extent of each mode: a dimension, a number, or an expression over dimensions.
        extents: Vec<Extent>,
    },
    /// A value of an element type.
    Scalar(Elem),
    /// A value of type `usize` or `isize`.
    Index,
}

/// How a tensor must be in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanLayout {
    /// Compact, the last mode contiguous.
    RowMajor,
    /// Compact, the first mode contiguous.
    ColMajor,
    /// This mode contiguous, every other stride the tensor's.
    Contiguous(usize),
    /// Every stride the tensor's.
    Strided,
}

impl PlanLayout {
    /// Whether a mode's stride is the tensor's to say.
    pub fn is_free(self, mode: usize) -> bool {
        match self {
            PlanLayout::RowMajor | PlanLayout::ColMajor => false,
            PlanLayout::Contiguous(contiguous) => mode != contiguous,
            PlanLayout::Strided => true,
        }
    }
}

/// The extent of a tensor's mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The dimension of this number, taken from the tensor.
    Dim(u32),
    /// A number that the tensor must have.
    Static(i64),
    /// The plan's expression of this number over dimensions, `{ M + 1 }`, whose value the tensor must have.
    Computed(u32),
}

/// Words of the record of a failed assertion: 2 once it is complete, the assertion's number in the order of the text, `block_idx`,
/// `thread_idx`, and the bits of the message's values.
pub const FAILURE_WORDS: usize = 8 + MOST_ASSERTED;

/// The most values in the message of an assertion.
pub const MOST_ASSERTED: usize = 64;

/// What the CUDA function takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelParameter {
    /// The address of a tensor argument's first element.
    Pointer(u32),
    /// The tensor map of this number, by value: 128 bytes, at a multiple of 64.
    TensorMap(u32),
    /// The address of the counter of blocks that have come to a barrier of the grid: 4 bytes of device memory, 0 before the
    /// first launch. A launch leaves it ready for the next one.
    GridCounter,
    /// The address of the host's memory in which a failed assertion is written: [`FAILURE_WORDS`] words of 8 bytes, 0 before the first
    /// launch.
    Failure,
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
