//! What a launch needs to know of a checked kernel: arguments, grid, conditions, the CUDA function's parameters.
//!
//! Plain data; [`super::bind`] meets it with the tensors of a launch.

use super::asynchronous::TensorMap;
use super::elem::Elem;
use super::index::{Atoms, Index};
use super::ir::ArgumentLayout;
use super::params::Promises;
use super::program::Comparison;

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
    /// Whether the kernel waits for the launches before it by itself, so that it may begin before they end.
    pub dependent: bool,
    /// How tensors are cut into boxes, for copies by tensor map.
    pub maps: Vec<TensorMap>,
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
    /// The tensor map of this number, by value: 128 bytes, at a multiple of 64.
    TensorMap(u32),
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
