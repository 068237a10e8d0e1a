//! The state of the asynchronous proxy: pending copies, mbarriers, wgmma groups, named barriers, fences.

use crate::async_op::AsyncOp;
use crate::bytecode::Program;
use crate::memory::fences::ProxyFences;
use crate::memory::reads::Reads;
use crate::memory::tensor_map::PIECE;
use crate::memory::vector_clock::VectorClock;
use crate::state::mbarrier::Mbarrier;
use layout_compiler::elem::Elem;
use std::collections::HashSet;

/// Where a piece of a copy lies in shared memory, and what it holds.
pub(crate) type Chunk = (u32, [u8; PIECE]);

/// The state of a block's asynchronous work.
#[derive(Default)]
pub(crate) struct Proxy {
    warps: usize,
    pub groups: usize,
    pub stores: usize,
    /// How many engines there are.
    engines: usize,
    pub barriers: Vec<Mbarrier>,
    /// Boxes that have not landed, the oldest first.
    pub pending_loads: Vec<PendingLoad>,
    /// Boxes on their way out, the oldest first.
    pub pending_stores: Vec<PendingStore>,
    /// The fences of shared memory.
    pub fences: ProxyFences,
    /// Those of global memory.
    pub global_fences: ProxyFences,
    /// The reads of threads that have come back.
    pub reads: Reads,
    pub products: Products,
    /// Tensor stores that each warp has issued.
    pub issued: Vec<u32>,
    /// The named barriers of each block that somebody has met at.
    pub named: HashSet<(usize, i64)>,
    /// Warps that only counted at a named barrier that is not full yet.
    pub named_arrivals: Vec<NamedArrival>,
    /// Registers of a thread of each warp, where the kernel changes them.
    pub registers: Vec<u32>,
    /// Where each warp changed them.
    pub register_changes: Vec<Vec<u32>>,
    /// Registers of a thread at the start.
    pub pool: u32,
}

impl Proxy {
    /// For some blocks of some warps each.
    pub(crate) fn new(program: &Program, each: usize, ranks: usize) -> Proxy {
        let has = |what: fn(&AsyncOp) -> bool| program.async_ops.list.iter().any(what);
        let groups =
            if has(|work| matches!(work, AsyncOp::Product(_))) { ranks * each.div_ceil(4) } else { 0 };
        let warps = ranks * each;
        let stores = if has(|work| matches!(work, AsyncOp::Store { .. })) { warps } else { 0 };
        let engines = groups + stores + ranks * program.async_ops.barriers as usize;
        Proxy { warps, groups, stores, engines, ..Proxy::default() }
    }

    /// Warps, and engines that read shared memory.
    pub(crate) fn columns(&self) -> usize {
        self.warps + self.groups + self.stores
    }

    /// Warps and engines.
    pub(crate) fn actors(&self) -> usize {
        self.warps + self.engines
    }

    /// A block begins.
    pub(crate) fn start(&mut self, barriers: usize, threads: u32) {
        self.barriers.clear();
        self.barriers.resize(barriers, Mbarrier::default());
        self.pending_loads.clear();
        self.pending_stores.clear();
        self.fences.reset(self.warps);
        self.global_fences.reset(self.warps);
        self.reads.reset(self.warps);
        self.products.reset(self.warps);
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

    /// The engine of a warpgroup's products, of all actors.
    pub(crate) fn product_engine(&self, group: usize) -> usize {
        self.warps + group
    }

    /// The engine of a warp's tensor stores.
    pub(crate) fn store_engine(&self, warp: usize) -> usize {
        self.warps + self.groups + warp
    }

    /// The engine of an mbarrier.
    pub(crate) fn barrier_engine(&self, barrier: usize) -> usize {
        self.warps + self.groups + self.stores + barrier
    }
}

/// A warp that counted at a named barrier and went on.
#[derive(Clone, Debug)]
pub(crate) struct NamedArrival {
    /// The block's rank and the barrier's number.
    pub at: (usize, i64),
    /// For how many threads it is.
    pub threads: u32,
    /// Which warp.
    pub warp: usize,
    /// Where.
    pub site: u32,
    /// What it told.
    pub clock: VectorClock,
}

/// A box on its way to shared memory.
#[derive(Clone, Debug)]
pub(crate) struct PendingLoad {
    /// The mbarrier that it counts at, and the phase.
    pub barrier: Option<(usize, u32)>,
    /// Its engine, and that engine's time.
    pub engine: (usize, u32),
    /// Bytes.
    pub bytes: u64,
    pub what: &'static str,
    /// Where each piece lies, and what it holds, so many bytes of it.
    pub pieces: Vec<Chunk>,
    pub size: usize,
    /// The site of shared memory.
    pub site: u32,
    /// Who issued it.
    pub thread: u32,
}

/// A copy to shared memory that begins.
pub(crate) struct SharedCopy {
    /// The site of shared memory.
    pub site: u32,
    /// Bytes.
    pub bytes: u64,
    /// Bytes of a piece.
    pub size: usize,
    /// Whether threads store them: then what they and others wrote before needs no proxy fence.
    pub by_threads: bool,
    /// In words.
    pub what: &'static str,
}

/// A box on its way from shared memory.
#[derive(Clone, Debug)]
pub(crate) struct PendingStore {
    /// Who issued it: warp and lane.
    pub by: (u32, u32),
    /// The number of the thread's bulk group.
    pub group: u32,
    /// Its number among the warp's stores, from 1.
    pub number: u32,
    /// Which of the program's boxes.
    pub plan: u32,
    /// Where it begins in shared memory.
    pub shared: u64,
    pub coordinates: Vec<i64>,
    /// As [`BoxOperand::adds`].
    pub adds: Option<Elem>,
    /// What it read, once it has.
    pub data: Option<Vec<[u8; PIECE]>>,
    /// The sites of shared memory and of the tensor.
    pub sites: (u32, u32),
}

/// What each warp has issued.
#[derive(Debug, Default)]
pub(crate) struct Products {
    /// Groups that each warp has closed.
    pub committed: Vec<u32>,
    /// Products that each warp has issued.
    pub issued: Vec<usize>,
    /// The sites of each warpgroup's products, in order.
    pub log: Vec<Vec<u32>>,
}

impl Products {
    /// Nothing is issued.
    pub(crate) fn reset(&mut self, warps: usize) {
        self.committed.clear();
        self.committed.resize(warps, 0);
        self.issued.clear();
        self.issued.resize(warps, 0);
        self.log.iter_mut().for_each(Vec::clear);
        self.log.resize(warps, Vec::new());
    }
}
