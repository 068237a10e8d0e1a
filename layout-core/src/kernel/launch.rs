//! What a launch needs to know of a checked kernel: arguments, grid, conditions, the CUDA function's parameters.
//!
//! Plain data; [`LaunchPlan::bind`] combines it with the tensors of a launch.

use super::elem::Elem;
use super::index::{Atoms, Index};
use super::params::Promises;
use super::program::{Comparison, TensorMap};

/// What a launch needs to know of a checked kernel.
///
/// ```
/// # use layout_core::kernel::{ParamSet, ParamValue, Promises, compile};
/// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/double.rs.in")); } use shared::double;
/// # let set = ParamSet(vec![("B".into(), ParamValue::Int(16))]);
/// let plan = compile(&double::DEFINITION.kernel()?, &set, Promises::USUAL)?.plan().clone();
/// assert_eq!((plan.name.as_str(), plan.block, plan.shared_bytes), ("double", [16, 1, 1], 0));
/// assert_eq!(plan.promises, Promises::USUAL);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    pub(crate) grid: Option<[Index; 3]>,
    /// Blocks of a cluster.
    pub cluster: [u32; 3],
    /// The extents that are expressions over dimensions, with their text.
    pub(crate) computed: Vec<(Index, String)>,
    /// The conditions that a launch must meet, with their text.
    pub(crate) require: Vec<(Comparison, String)>,
    /// The conditions of this variant's `variant_if`.
    pub(crate) variant_if: Vec<Comparison>,
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
    /// What the CUDA function takes, in order.
    pub parameters: Vec<KernelParameter>,
    /// The atoms that the indices here are made of.
    pub(crate) atoms: Atoms,
}

impl LaunchPlan {
    /// Whether the kernel says its grid; else the launch must.
    ///
    /// ```
    /// # use layout_core::kernel::{ParamSet, ParamValue, Promises, compile};
    /// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/double.rs.in")); } use shared::double; use layout_cuda::tiled_kernel;
    /// # let set = ParamSet(vec![("B".into(), ParamValue::Int(16))]);
    /// #[tiled_kernel(block = [1])]
    /// fn ungridded(x: &mut LayoutTensor<f32, RowMajor<1>>) {
    ///     x.fill(1.0);
    /// }
    /// let with = compile(&double::DEFINITION.kernel()?, &set, Promises::USUAL)?;
    /// let without = compile(&ungridded::DEFINITION.kernel()?, &ParamSet::default(), Promises::USUAL)?;
    /// assert!(with.plan().has_grid() && !without.plan().has_grid());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn has_grid(&self) -> bool {
        self.grid.is_some()
    }
}

/// An argument of the Rust function.
///
/// ```
/// # use layout_core::kernel::{ParamSet, ParamValue, Promises, compile};
/// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/double.rs.in")); } use shared::double;
/// # let set = ParamSet(vec![("B".into(), ParamValue::Int(16))]);
/// let plan = compile(&double::DEFINITION.kernel()?, &set, Promises::USUAL)?.plan().clone();
/// assert_eq!(plan.arguments[0].name, "x");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PlanArgument {
    /// The name.
    pub name: String,
    /// What it is.
    pub kind: PlanArgumentKind,
}

impl PlanArgument {
    /// How many modes it has; 0 where it is no tensor.
    ///
    /// ```
    /// # use layout_core::kernel::{ParamSet, ParamValue, Promises, compile};
    /// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/double.rs.in")); } use shared::double;
    /// # let set = ParamSet(vec![("B".into(), ParamValue::Int(16))]);
    /// let plan = compile(&double::DEFINITION.kernel()?, &set, Promises::USUAL)?.plan().clone();
    /// assert_eq!(plan.arguments[0].rank(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rank(&self) -> usize {
        match &self.kind {
            PlanArgumentKind::Tensor { extents, .. } => extents.len(),
            PlanArgumentKind::Scalar(_) | PlanArgumentKind::Index => 0,
        }
    }
}

/// What an argument is.
///
/// ```
/// # use layout_core::kernel::{Elem, ParamSet, ParamValue, Promises, compile};
/// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/double.rs.in")); } use shared::double;
/// # let set = ParamSet(vec![("B".into(), ParamValue::Int(16))]);
/// use layout_core::kernel::launch::PlanArgumentKind;
/// let plan = compile(&double::DEFINITION.kernel()?, &set, Promises::USUAL)?.plan().clone();
/// assert!(matches!(plan.arguments[0].kind, PlanArgumentKind::Tensor { elem: Elem::F32, mutable: true, .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum PlanArgumentKind {
    /// A tensor.
    Tensor {
        /// Of what.
        elem: Elem,
        /// Whether the kernel writes it.
        mutable: bool,
        /// How it must lie in memory.
        layout: PlanLayout,
        /// The extent of each mode: a dimension, a number, or an expression over dimensions.
        extents: Vec<Extent>,
    },
    /// A value of an element type.
    Scalar(Elem),
    /// A value of type `usize` or `isize`.
    Index,
}

/// How a tensor must lie in memory.
///
/// ```
/// # use layout_core::kernel::{ParamSet, Promises, compile, launch::{PlanArgumentKind, PlanLayout}};
/// # use layout_cuda::tiled_kernel;
/// #[tiled_kernel(block = [1], grid = [1])]
/// fn first<const M: usize>(x: &LayoutTensor<f32, Pitched<M, 4>>, y: &mut LayoutTensor<f32, RowMajor<1>>) {
///     y[[0]] = x[[0, 0]];
/// }
/// let checked = compile(&first::DEFINITION.kernel()?, &ParamSet::default(), Promises::USUAL)?;
/// let layouts = checked.plan().arguments.iter().map(|argument| match argument.kind {
///     PlanArgumentKind::Tensor { layout, .. } => Some(layout),
///     _ => None,
/// });
/// assert!(layouts.eq([Some(PlanLayout::Contiguous(1)), Some(PlanLayout::RowMajor)]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    ///
    /// ```
    /// use layout_core::kernel::launch::PlanLayout;
    /// assert!(PlanLayout::Contiguous(1).is_free(0) && !PlanLayout::Contiguous(1).is_free(1));
    /// ```
    pub fn is_free(self, mode: usize) -> bool {
        match self {
            PlanLayout::RowMajor | PlanLayout::ColMajor => false,
            PlanLayout::Contiguous(contiguous) => mode != contiguous,
            PlanLayout::Strided => true,
        }
    }
}

/// The extent of a tensor's mode.
///
/// ```
/// # use layout_core::kernel::{ParamSet, Promises, compile, launch::{Extent, PlanArgumentKind}};
/// # use layout_cuda::tiled_kernel;
/// #[tiled_kernel(block = [1], grid = [M])]
/// fn first<const M: usize>(x: &mut LayoutTensor<f32, RowMajor<M, 4>>) {
///     x[[block_idx.x, 0]] = 1.0;
/// }
/// let checked = compile(&first::DEFINITION.kernel()?, &ParamSet::default(), Promises::USUAL)?;
/// let PlanArgumentKind::Tensor { extents, .. } = &checked.plan().arguments[0].kind else {
///     panic!("`x` is a tensor");
/// };
/// assert_eq!(extents[..], [Extent::Dim(0), Extent::Static(4)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The dimension of this number, taken from the tensor.
    Dim(u32),
    /// A number that the tensor must have.
    Static(i64),
    /// The plan's expression of this number over dimensions, `{ M + 1 }`, whose value the tensor must have.
    Computed(u32),
}

/// What the CUDA function takes.
///
/// ```
/// # use layout_core::kernel::{ParamSet, ParamValue, Promises, compile};
/// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/double.rs.in")); } use shared::double;
/// # let set = ParamSet(vec![("B".into(), ParamValue::Int(16))]);
/// use layout_core::kernel::launch::KernelParameter;
/// let plan = compile(&double::DEFINITION.kernel()?, &set, Promises::USUAL)?.plan().clone();
/// assert_eq!(plan.parameters, [KernelParameter::Pointer(0), KernelParameter::Dim(0)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelParameter {
    /// The address of a tensor argument's first element.
    Pointer(u32),
    /// The tensor map of this number, by value: 128 bytes, at a multiple of 64.
    TensorMap(u32),
    /// The address of the counter of blocks that have come to a barrier of the grid: 4 bytes of device memory, 0 before the
    /// first launch. A launch leaves it ready for the next one.
    GridCounter,
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
