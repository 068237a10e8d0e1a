//! Instructions of the asynchronous proxy and of its waits and fences, beside the bytecode: they are too large for it.
//!
//! Invariant: registers and sites are those of the program that the work belongs to.

use crate::memory::tensor_map::BoxPlan;
use crate::register::Sum;
use layout_compiler::elem::Elem;
use layout_compiler::program::Scope;

/// An mbarrier that an instruction names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BarrierOperand {
    /// The number of the array's first barrier, of all barriers of a block.
    pub first: u32,
    /// Which of the array.
    pub index: Sum,
    /// The site; its place is the array.
    pub site: u32,
}

/// A box and where it lies in shared memory.
#[derive(Clone, Debug)]
pub(crate) struct BoxOperand {
    /// Which of the program's boxes.
    pub plan: u32,
    /// The first element in shared memory.
    pub shared: Sum,
    /// The site of shared memory.
    pub shared_site: u32,
    /// The site of the tensor.
    pub global_site: u32,
    /// The box's first element in the tensor, the contiguous mode first.
    pub coordinates: Vec<Sum>,
    /// The type of elements that are added to those of the tensor, each atomically; none where they take their place.
    pub adds: Option<Elem>,
}

/// An operand of a product in shared memory; see [`SharedMatrix`](layout_compiler::program::SharedMatrix).
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatrixOperand {
    /// The first element.
    pub first: Sum,
    /// Its site.
    pub site: u32,
    /// Whether `k` is contiguous.
    pub k_major: bool,
    /// Bytes of the swizzle.
    pub swizzle_bytes: u32,
    /// Bytes to the next columns.
    pub leading_bytes: u32,
    /// Bytes to the next eight rows.
    pub stride_bytes: u32,
}

/// The left operand of a product.
#[derive(Clone, Debug)]
pub(crate) enum LeftOperand {
    /// In shared memory.
    Shared(MatrixOperand),
    /// In these registers of floats.
    Registers(Vec<u32>),
}

/// Rows that one warp computes in a wgmma.
pub(crate) const ROWS: usize = 16;
/// Bytes of `k` of one wgmma.
pub(crate) const DEPTH: usize = 32;

/// A product of a warpgroup.
#[derive(Clone, Debug)]
pub(crate) struct WgmmaOperands {
    /// Columns.
    pub n: u32,
    /// Of both operands.
    pub elem: Elem,
    /// The first of the accumulator's registers.
    pub register: u32,
    /// The slot that tracks it.
    pub slot: u32,
    /// The accumulator's site.
    pub site: u32,
    /// The left operand.
    pub a: LeftOperand,
    /// The right operand.
    pub b: MatrixOperand,
    /// A mask: whether to add to the accumulator.
    pub accumulate: u32,
}

/// An instruction.
#[derive(Clone, Debug)]
pub(crate) enum AsyncOp {
    /// Makes an mbarrier.
    Init { barrier: BarrierOperand, arrivals: u32 },
    /// The mbarriers made before are seen by the asynchronous proxy.
    InitFence,
    /// Arrives at an mbarrier.
    Arrive { barrier: BarrierOperand, expect: u32, rank: Option<Sum> },
    /// Waits for a phase of an mbarrier.
    Wait { barrier: BarrierOperand, parity: Sum },
    /// Ordinary accesses before come before those of the asynchronous proxy after.
    ProxyFence {
        /// Whether it is about global memory.
        global: bool,
    },
    /// Closes the threads' groups of tensor stores.
    BulkCommit,
    /// Waits for the threads' groups of tensor stores.
    BulkWait { groups: u32, read: bool },
    /// Closes the warpgroup's group of products.
    MatrixCommit { site: u32 },
    /// Waits for the warpgroup's groups of products.
    MatrixWait { groups: u32, site: u32 },
    /// Some warps of the block wait for each other.
    Named { barrier: Sum, threads: u32, waits: bool, site: u32 },
    /// Orders accesses, with the atomic operations around it.
    Fence { scope: Scope },
    /// Changes the registers of the warp's threads.
    Registers { registers: u32, site: u32 },
    /// A box to shared memory.
    Load { copy: BoxOperand, barrier: BarrierOperand, multicast: Option<u32> },
    /// A box from shared memory.
    Store { copy: BoxOperand },
    /// Registers of floats, or of integers, `src ..` to shared memory of another block.
    RemoteStore { src: u32, floats: bool, address: Sum, site: u32, barrier: BarrierOperand },
    /// A product.
    Product(Box<WgmmaOperands>),
    /// Four matrices of 8 x 8 from the registers `src ..` to rows of shared memory, by way of `dst ..`.
    StoreMatrix { src: u32, dst: u32, address: Sum, site: u32 },
    /// Registers that may belong to a product in flight are touched.
    Touched { slot: u32, width: u32, site: u32 },
}

/// What the program knows of asynchronous work.
#[derive(Clone, Debug, Default)]
pub(crate) struct AsyncOps {
    /// The instructions.
    pub list: Vec<AsyncOp>,
    /// Boxes of tensors.
    pub boxes: Vec<BoxPlan>,
    /// Mbarriers of a block.
    pub barriers: u32,
    /// The place and the element of each of them.
    pub barrier_names: Vec<(u32, u32)>,
}
