//! Instructions of the asynchronous proxy, its waits and fences. They are too large for `Op`.
//!
//! Invariant: registers and sites are those of the program.

use crate::memory::tensor_map::BoxPlan;
use crate::register::Sum;
use layout_compiler::elem::Elem;
use layout_compiler::program::Scope;

/// An mbarrier operand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BarrierOperand {
    /// The number of the array's first mbarrier in the block.
    pub first: u32,
    /// The index in the array.
    pub index: Sum,
    pub site: u32,
}

/// A box and its shared memory.
#[derive(Clone, Debug)]
pub(crate) struct BoxOperand {
    /// The number of the box.
    pub plan: u32,
    /// The first element in shared memory.
    pub shared: Sum,
    pub shared_site: u32,
    pub global_site: u32,
    /// The first element in the tensor, the contiguous mode first.
    pub coordinates: Vec<Sum>,
    /// The element type of an atomic addition; `None` for a store.
    pub adds: Option<Elem>,
}

/// A wgmma operand in shared memory; see [`SharedMatrix`](layout_compiler::program::SharedMatrix).
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatrixOperand {
    pub first: Sum,
    pub site: u32,
    /// Whether `k` is contiguous.
    pub k_major: bool,
    pub swizzle_bytes: u32,
    /// Bytes to the next columns.
    pub leading_bytes: u32,
    /// Bytes to the next eight rows.
    pub stride_bytes: u32,
}

#[derive(Clone, Debug)]
pub(crate) enum LeftOperand {
    Shared(MatrixOperand),
    /// Registers of floats.
    Registers(Vec<u32>),
}

/// Rows that one warp computes in a wgmma.
pub(crate) const ROWS: usize = 16;
/// Bytes of `k` of one wgmma.
pub(crate) const DEPTH: usize = 32;

#[derive(Clone, Debug)]
pub(crate) struct WgmmaOperands {
    pub n: u32,
    pub elem: Elem,
    /// The first register of the accumulator.
    pub register: u32,
    /// The slot that tracks its initialisation.
    pub slot: u32,
    pub site: u32,
    pub a: LeftOperand,
    pub b: MatrixOperand,
    /// A mask register: the lanes that add to the accumulator.
    pub accumulate: u32,
}

/// The left operand of a `tcgen05.mma`.
#[derive(Clone, Debug)]
pub(crate) enum TensorLeft {
    Shared(MatrixOperand),
    /// An address in tensor memory, and its site.
    Tensor(Sum, u32),
}

/// `tcgen05.mma`
#[derive(Clone, Debug)]
pub(crate) struct TensorProductOperands {
    pub m: u32,
    pub n: u32,
    pub elem: Elem,
    /// The address in tensor memory.
    pub address: Sum,
    pub site: u32,
    pub a: TensorLeft,
    pub b: MatrixOperand,
    /// A mask register: the lanes that add to tensor memory.
    pub accumulate: u32,
}

/// `tcgen05.ld`, `tcgen05.st`
#[derive(Clone, Copy, Debug)]
pub(crate) struct TensorMoveOperands {
    pub stores: bool,
    /// Of the registers.
    pub elem: Elem,
    /// The address in tensor memory.
    pub address: Sum,
    /// The first register, and the slot that tracks its initialisation.
    pub register: u32,
    pub slot: u32,
    pub columns: u32,
    pub site: u32,
}

#[derive(Clone, Debug)]
pub(crate) enum AsyncOp {
    /// `mbarrier.init`
    Init { barrier: BarrierOperand, arrivals: u32 },
    /// The initialisations before become visible to the asynchronous proxy.
    InitFence,
    /// `mbarrier.arrive`, or `mbarrier.arrive.expect_tx`
    Arrive { barrier: BarrierOperand, expect: u32, rank: Option<Sum> },
    /// `mbarrier.try_wait`
    Wait { barrier: BarrierOperand, parity: Sum },
    /// Orders generic accesses before it and proxy accesses after it.
    ProxyFence {
        /// For global memory; otherwise shared.
        global: bool,
    },
    /// `cp.async.bulk.commit_group`
    BulkCommit,
    /// `cp.async.bulk.wait_group`
    BulkWait { groups: u32, read: bool },
    /// `wgmma.commit_group`
    MatrixCommit { site: u32 },
    /// `wgmma.wait_group`
    MatrixWait { groups: u32, site: u32 },
    /// A named barrier of the block.
    Named { barrier: Sum, threads: u32, waits: bool, site: u32 },
    /// A memory fence.
    Fence { scope: Scope },
    /// Changes the registers per thread of the warp.
    Registers { registers: u32, site: u32 },
    /// `tma_load`
    Load { copy: BoxOperand, barrier: BarrierOperand, multicast: Option<u32> },
    /// `tma_store`, `tma_add`
    Store { copy: BoxOperand },
    /// `store_async` of registers `src ..`.
    RemoteStore { src: u32, floats: bool, address: Sum, site: u32, barrier: BarrierOperand },
    /// `wgmma.mma_async`
    Product(Box<WgmmaOperands>),
    /// `tcgen05.mma`
    TensorProduct(Box<TensorProductOperands>),
    /// `tcgen05.ld`, `tcgen05.st`
    TensorMove(TensorMoveOperands),
    /// `tcgen05.alloc`: the address is stored at the site by way of a register.
    TensorAllocate { src: u32, site: u32 },
    /// `tcgen05.dealloc`
    TensorFree { site: u32 },
    /// `tcgen05.commit`
    TensorCommit { barrier: BarrierOperand },
    /// `tcgen05.fence::before_thread_sync`, `tcgen05.fence::after_thread_sync`
    TensorFence { after: bool, site: u32 },
    /// `tcgen05.wait::ld`, `tcgen05.wait::st`
    TensorWait { stores: bool, site: u32 },
    /// `stmatrix` of four 8 x 8 matrices from registers `src ..`, through `dst ..`.
    StoreMatrix { src: u32, dst: u32, address: Sum, site: u32 },
    /// An access to registers that a wgmma in flight may write.
    Touched { slot: u32, width: u32, site: u32 },
}

/// The asynchronous instructions of a program.
#[derive(Clone, Debug, Default)]
pub(crate) struct AsyncOps {
    pub list: Vec<AsyncOp>,
    pub boxes: Vec<BoxPlan>,
    /// The number of mbarriers in a block.
    pub barriers: u32,
    /// The place and the element of each.
    pub barrier_names: Vec<(u32, u32)>,
}

impl AsyncOps {
    /// Whether the program uses tensor memory.
    pub(crate) fn tensor_memory(&self) -> bool {
        self.list.iter().any(|work| {
            matches!(
                work,
                AsyncOp::TensorAllocate { .. }
                    | AsyncOp::TensorFree { .. }
                    | AsyncOp::TensorProduct(_)
                    | AsyncOp::TensorMove(_)
            )
        })
    }
}
