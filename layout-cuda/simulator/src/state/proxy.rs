//! The state of the asynchronous proxy: pending copies, mbarriers, wgmma groups, named barriers, fences.

use crate::async_op::AsyncOp;
use crate::bytecode::Program;
use crate::memory::fences::ProxyFences;
use crate::memory::reads::Reads;
use crate::memory::tensor_map::PIECE;
use crate::memory::vector_clock::VectorClock;
use crate::state::mbarrier::Mbarrier;
use crate::state::tensor_memory::TensorMemory;
use layout_compiler::elem::Elem;
use std::collections::HashSet;

/// 16 bytes of a copy and their address in shared memory.
pub(crate) type Chunk = (u32, [u8; PIECE]);

/// The asynchronous work of a cluster.
#[derive(Clone, Default)]
pub(crate) struct Proxy {
    warps: usize,
    pub groups: usize,
    pub stores: usize,
    /// The warps whose threads may issue products in tensor memory.
    pub tensors: usize,
    /// The blocks of the cluster where they use tensor memory.
    ranks: usize,
    pub tensor: TensorMemory,
    /// The number of engines.
    engines: usize,
    pub barriers: Vec<Mbarrier>,
    /// The oldest first.
    pub pending_loads: Vec<PendingLoad>,
    /// The oldest first.
    pub pending_stores: Vec<PendingStore>,
    /// The proxy fences of shared memory.
    pub fences: ProxyFences,
    /// The proxy fences of global memory.
    pub global_fences: ProxyFences,
    /// Completed reads of threads.
    pub reads: Reads,
    pub products: Products,
    /// Tensor stores that each warp has issued.
    pub issued: Vec<u32>,
    /// The named barriers, by rank and number, that have been completed.
    pub named: HashSet<(usize, i64)>,
    /// Arrivals at named barriers that are not complete.
    pub named_arrivals: Vec<NamedArrival>,
    /// Registers per thread of each warp, where the kernel changes them.
    pub registers: Vec<u32>,
    /// The sites of each warp's changes.
    pub register_changes: Vec<Vec<u32>>,
    /// Registers per thread at the start.
    pub pool: u32,
}

impl Proxy {
    /// For `ranks` blocks of `each` warps.
    pub(crate) fn new(program: &Program, each: usize, ranks: usize) -> Proxy {
        let has = |what: fn(&AsyncOp) -> bool| program.async_ops.list.iter().any(what);
        let groups =
            if has(|work| matches!(work, AsyncOp::Product(_))) { ranks * each.div_ceil(4) } else { 0 };
        let warps = ranks * each;
        let stores = if has(|work| matches!(work, AsyncOp::Store { .. })) { warps } else { 0 };
        let tensors = if has(|work| matches!(work, AsyncOp::TensorProduct(_))) { warps } else { 0 };
        let engines = groups + stores + tensors + ranks * program.async_ops.barriers as usize;
        let ranks = if program.async_ops.tensor_memory() { ranks } else { 0 };
        Proxy { warps, groups, stores, tensors, ranks, engines, ..Proxy::default() }
    }

    /// The number of warps and of engines that read shared memory.
    pub(crate) fn columns(&self) -> usize {
        self.warps + self.groups + self.stores + self.tensors
    }

    /// The number of warps and engines.
    pub(crate) fn actors(&self) -> usize {
        self.warps + self.engines
    }

    pub(crate) fn start(&mut self, barriers: usize, threads: u32) {
        self.barriers.clear();
        self.barriers.resize(barriers, Mbarrier::default());
        self.pending_loads.clear();
        self.pending_stores.clear();
        self.fences.reset(self.warps);
        self.global_fences.reset(self.warps);
        self.reads.reset(self.warps);
        self.products.reset(self.warps);
        self.tensor.start(self.ranks, self.warps);
        self.named.clear();
        self.named_arrivals.clear();
        self.issued.clear();
        self.issued.resize(self.warps, 0);
        let each = (65_536 / threads.max(1)).min(255) / 8 * 8;
        self.registers.clear();
        self.registers.resize(self.warps, each);
        self.register_changes.iter_mut().for_each(Vec::clear);
        self.register_changes.resize(self.warps, Vec::new());
        self.pool = each;
    }

    /// The engine of a warpgroup's wgmmas, numbered after the warps.
    pub(crate) fn product_engine(&self, group: usize) -> usize {
        self.warps + group
    }

    pub(crate) fn store_engine(&self, warp: usize) -> usize {
        self.warps + self.groups + warp
    }

    /// The engine of the products in tensor memory that threads of a warp issue.
    pub(crate) fn tensor_engine(&self, warp: usize) -> usize {
        self.warps + self.groups + self.stores + warp
    }

    pub(crate) fn barrier_engine(&self, barrier: usize) -> usize {
        self.columns() + barrier
    }
}

/// A warp that arrived at a named barrier without waiting.
#[derive(Clone, Debug)]
pub(crate) struct NamedArrival {
    /// The rank of the block and the number of the barrier.
    pub at: (usize, i64),
    /// Threads that complete the barrier.
    pub threads: u32,
    pub warp: usize,
    pub site: u32,
    /// The released clock.
    pub clock: VectorClock,
}

/// A copy to shared memory in flight.
#[derive(Clone, Debug)]
pub(crate) struct PendingLoad {
    /// The mbarrier of its bytes, and the phase.
    pub barrier: Option<(usize, u32)>,
    /// Its engine and the engine's time.
    pub engine: (usize, u32),
    pub bytes: u64,
    pub what: &'static str,
    /// `size` bytes of each piece are copied.
    pub pieces: Vec<Chunk>,
    pub size: usize,
    /// The site of shared memory.
    pub site: u32,
    /// The issuing thread.
    pub thread: u32,
    /// Of a commit of products: an arrival in the place of bytes, and what it releases.
    pub arrival: Option<VectorClock>,
}

/// A copy to shared memory that is issued.
pub(crate) struct SharedCopy {
    /// The site of shared memory.
    pub site: u32,
    pub bytes: u64,
    /// Bytes of a piece.
    pub size: usize,
    /// Whether threads store the bytes (`store_async`): no proxy fence is needed then.
    pub by_threads: bool,
    /// The name of the operation in findings.
    pub what: &'static str,
}

/// A tensor store in flight.
#[derive(Clone, Debug)]
pub(crate) struct PendingStore {
    /// The issuing warp and lane.
    pub by: (u32, u32),
    /// The thread's bulk group.
    pub group: u32,
    /// Its number among the warp's stores, from 1.
    pub number: u32,
    /// The number of the box in the program.
    pub plan: u32,
    /// The address in shared memory.
    pub shared: u64,
    pub coordinates: Vec<i64>,
    /// As [`BoxOperand::adds`].
    pub adds: Option<Elem>,
    /// The bytes, once it has read shared memory.
    pub data: Option<Vec<[u8; PIECE]>>,
    /// The sites of shared memory and of the tensor.
    pub sites: (u32, u32),
}

/// The wgmmas that each warp has issued.
#[derive(Clone, Debug, Default)]
pub(crate) struct Products {
    /// Committed groups of each warp.
    pub committed: Vec<u32>,
    /// Wgmmas of each warp.
    pub issued: Vec<usize>,
    /// The sites of each warpgroup's wgmmas, in order.
    pub log: Vec<Vec<u32>>,
}

impl Products {
    pub(crate) fn reset(&mut self, warps: usize) {
        self.committed.clear();
        self.committed.resize(warps, 0);
        self.issued.clear();
        self.issued.resize(warps, 0);
        self.log.iter_mut().for_each(Vec::clear);
        self.log.resize(warps, Vec::new());
    }
}
