//! The asynchronous proxy of a block: what is in flight, who waits for it, who knows of its completion.
//!
//! Engines (see `shadow::proxy`) are numbered after the warps: warpgroups' products, warps' tensor stores, mbarriers.
//!
//! Law: work completes as late as the kernel allows. A box lands when nobody can go on without it. A store reads shared
//! memory when its thread waits for that; it writes the tensor when its thread waits for the write, or at the block's end.

use super::mbarrier::Mbarrier;
use super::transfer::{PendingLoad, PendingStore};
use super::warp::{State, Warp};
use super::wgmma::Products;
use crate::async_op::AsyncOp;
use crate::bytecode::{LANES, Program};
use crate::machine::Machine;
use crate::memory::fences::ProxyFences;
use crate::memory::reads::Reads;
use crate::memory::vector_clock::VectorClock;
use std::collections::HashSet;

/// The state of a block's asynchronous work.
#[derive(Default)]
pub(crate) struct Proxy {
    warps: usize,
    groups: usize,
    stores: usize,
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

/// Where a warp goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// With the next instruction.
    Next,
    /// With this one, once what it waits for may have come.
    Again,
    /// With the next one, once what it waits for has come.
    Stop,
}

impl Machine<'_> {
    /// Runs an instruction.
    pub(crate) fn asynchronous(&mut self, warp: &mut Warp, work: u32) -> Flow {
        if warp.active == 0 {
            return Flow::Next;
        }
        let program = self.launch.program;
        let Some(work) = program.async_ops.list.get(work as usize) else { return Flow::Next };
        let passed = match work {
            AsyncOp::Init { barrier, arrivals } => {
                self.barrier_init(warp, barrier, *arrivals);
                true
            }
            AsyncOp::InitFence => {
                self.barrier_init_fence(warp);
                true
            }
            AsyncOp::Arrive { barrier, expect, rank } => {
                self.arrive(warp, barrier, *expect, *rank);
                true
            }
            AsyncOp::Wait { barrier, parity } => self.barrier_wait(warp, barrier, *parity),
            AsyncOp::Fence { scope } => {
                self.fence(warp, *scope);
                true
            }
            AsyncOp::ProxyFence { global } => {
                let (number, lane_clocks) = (warp.number as usize, self.clocks.of(warp.number));
                let now = lane_clocks.time();
                let known = lane_clocks.release(warp.active);
                self.settle(warp.number, warp.active, now);
                let fences = if *global { &mut self.proxy.global_fences } else { &mut self.proxy.fences };
                fences.pass(number, now, warp.active, known);
                true
            }
            AsyncOp::BulkCommit => {
                for (lane, groups) in warp.bulk_committed.iter_mut().enumerate() {
                    *groups += warp.active >> lane & 1;
                }
                true
            }
            AsyncOp::BulkWait { groups, read } => {
                self.bulk_wait(warp, *groups, *read);
                true
            }
            AsyncOp::MatrixCommit { site } => {
                self.matrix_commit(warp, *site);
                true
            }
            AsyncOp::MatrixWait { groups, site } => self.matrix_wait(warp, *groups, *site),
            AsyncOp::Named { barrier, threads, waits, site } => {
                self.converged(warp, "a named barrier", *site);
                let lane = warp.active.trailing_zeros() as usize;
                let barrier = warp.lanes(*barrier)[lane];
                if !waits {
                    self.arrive_named(warp, barrier, *threads, *site);
                    return Flow::Next;
                }
                warp.state = State::Named { barrier, threads: *threads, site: *site };
                return Flow::Stop;
            }
            AsyncOp::Registers { registers, site } => self.set_registers(warp, *registers, *site),
            AsyncOp::Load { copy, barrier, multicast } => {
                self.tensor_load(warp, copy, barrier, *multicast);
                true
            }
            AsyncOp::Store { copy } => {
                self.tensor_store(warp, copy);
                true
            }
            AsyncOp::RemoteStore { src, floats, address, site, barrier } => {
                self.remote_store(warp, (*src, *floats), (*address, *site), barrier);
                true
            }
            AsyncOp::Product(product) => {
                self.product(warp, product);
                true
            }
            AsyncOp::StoreMatrix { src, dst, address, site } => {
                self.store_matrix(warp, *src, *dst, *address, *site);
                true
            }
            AsyncOp::Touched { slot, width, site } => {
                self.touched(warp, *slot, *width, *site);
                true
            }
        };
        if passed { Flow::Next } else { Flow::Again }
    }

    /// The cells of some bytes of shared memory.
    pub(crate) fn cells(&self, address: u64, bytes: u64) -> std::ops::Range<usize> {
        let granule = u64::from(self.launch.program.granule.max(1));
        (address / granule) as usize..(address.saturating_add(bytes)).div_ceil(granule) as usize
    }

    /// An actor in words: a thread, or an engine.
    pub(crate) fn actor(&self, thread: u32) -> String {
        let actor = thread as usize / LANES;
        let (warps, proxy) = (self.count, &self.proxy);
        if actor < warps {
            let inside = (self.inside(actor) * LANES) as u32 + thread % LANES as u32;
            let [x, y, z] = super::warp::coordinates(u64::from(inside), self.launch.block);
            let rank = self.rank(actor);
            return match self.ranks() {
                1 => format!("thread ({x}, {y}, {z})"),
                _ => format!("thread ({x}, {y}, {z}) of rank {rank}"),
            };
        }
        let engine = actor - warps;
        if engine < proxy.groups {
            return format!("a product of warpgroup {engine}");
        }
        match engine.checked_sub(proxy.groups + proxy.stores) {
            Some(barrier) => format!("a tensor load that tells {}", self.barrier_name(barrier)),
            None => format!("a tensor store of warp {}", engine - proxy.groups),
        }
    }
}
