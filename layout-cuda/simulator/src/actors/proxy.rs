//! The asynchronous proxy: its instructions, and the names of its engines in findings.
//!
//! Law: work completes as late as the kernel allows. A load completes when no warp can continue without it. A store
//! reads shared memory when its thread waits for that; it writes the tensor when its thread waits for the write, or at
//! the block's end.

use crate::async_op::AsyncOp;
use crate::bytecode::LANES;
use crate::event::TensorSync;
use crate::machine::Machine;
use crate::state::warp::{State, Warp};

/// The next instruction of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The following one.
    Next,
    /// The same one, when its wait may have ended.
    Again,
    /// The following one, when its wait has ended.
    Stop,
}

impl Machine<'_> {
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
            AsyncOp::TensorProduct(product) => {
                self.tensor_product(warp, product);
                true
            }
            AsyncOp::TensorMove(moved) => {
                self.tensor_move(warp, moved);
                true
            }
            AsyncOp::TensorAllocate { src, site } => {
                self.tensor_allocate(warp, *src, *site);
                true
            }
            AsyncOp::TensorFree { site } => {
                self.tensor_free(warp, *site);
                true
            }
            AsyncOp::TensorCommit { barrier } => {
                self.tensor_commit(warp, barrier);
                true
            }
            AsyncOp::TensorFence { after, site } => {
                self.tensor_sync(warp, TensorSync::Fence { after: *after }, *site);
                true
            }
            AsyncOp::TensorWait { stores, site } => {
                self.tensor_sync(warp, TensorSync::Wait { stores: *stores }, *site);
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

    /// The shadow cells of some bytes of shared memory.
    pub(crate) fn cells(&self, address: u64, bytes: u64) -> std::ops::Range<usize> {
        let granule = u64::from(self.launch.program.granule.max(1));
        (address / granule) as usize..(address.saturating_add(bytes)).div_ceil(granule) as usize
    }

    /// The name of a thread or an engine in findings.
    pub(crate) fn actor(&self, thread: u32) -> String {
        let actor = thread as usize / LANES;
        let (warps, proxy) = (self.count, &self.proxy);
        if actor < warps {
            let inside = (self.inside(actor) * LANES) as u32 + thread % LANES as u32;
            let [x, y, z] = crate::state::warp::coordinates(u64::from(inside), self.launch.block);
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
        if let Some(warp) = engine.checked_sub(proxy.groups + proxy.stores)
            && warp < proxy.tensors
        {
            return format!("a product that warp {warp} issues");
        }
        match engine.checked_sub(proxy.groups + proxy.stores + proxy.tensors) {
            Some(barrier) => format!("a tensor load for {}", self.barrier_name(barrier)),
            None => format!("a tensor store of warp {}", engine - proxy.groups),
        }
    }
}
