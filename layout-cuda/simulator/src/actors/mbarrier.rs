//! Mbarriers: arrivals and bytes that complete phases.
//!
//! ```text
//! phase n:   pending arrivals ─┐
//!            missing bytes    ─┴─ both 0: phase n is complete; phase n + 1 begins with all arrivals and no bytes
//! wait(p):   passes if the number of the current phase is not p modulo 2
//! ```
//! Law: a wait acquires the clocks of all arrivals of its phase and the completion of the phase's copies. It acquires
//! only the phase that it must have observed: parity does not distinguish phase n from n - 2. So without the clock of
//! the phase before the last, a wait acquires the phase before that.

use crate::async_op::BarrierOperand;
use crate::bytecode::Sum;
use crate::event::{Access, AccessKind, Event};
use crate::machine::Machine;
use crate::memory::vector_clock::VectorClock;
use crate::report::FindingKind;
use crate::state::lanes::{Direction, LaneElements};
use crate::state::mbarrier::Mbarrier;
use crate::state::proxy::PendingLoad;
use crate::state::warp::{State, Warp, each_lane};

impl Machine<'_> {
    pub(crate) fn barrier_name(&self, barrier: usize) -> String {
        let program = self.launch.program;
        let each = program.async_ops.barrier_names.len().max(1);
        let (place, index) = program.async_ops.barrier_names.get(barrier % each).copied().unwrap_or_default();
        let name = program.names.get(place as usize).map_or("", String::as_str);
        match self.ranks() {
            1 => format!("mbarrier {index} of `{name}`"),
            _ => format!("mbarrier {index} of `{name}` of rank {}", barrier / each),
        }
    }

    /// The first warp of an mbarrier's block.
    pub(crate) fn barrier_warp(&self, barrier: usize) -> u32 {
        let each = self.launch.program.async_ops.barrier_names.len().max(1);
        (barrier / each * self.warps_of_block()) as u32
    }

    /// The number of a block's mbarrier in the cluster.
    pub(crate) fn barrier_at(&self, rank: usize, barrier: &BarrierOperand, index: i64) -> usize {
        rank * self.launch.program.async_ops.barriers as usize + barrier.first as usize + index as usize
    }

    /// The mbarrier of each lane; those out of range are reported and skipped.
    fn barriers(&mut self, warp: &Warp, barrier: &BarrierOperand, direction: Direction) -> LaneElements {
        self.ready(warp, barrier.index, None, barrier.site, direction)
    }

    pub(crate) fn barrier_init(&mut self, warp: &mut Warp, barrier: &BarrierOperand, arrivals: u32) {
        let elements = self.barriers(warp, barrier, Direction::Write);
        let site = &self.launch.program.sites[barrier.site as usize];
        let (number, kind) = (barrier.site, AccessKind::BarrierInit);
        self.notify(&Event::Access(Access { warp, site, number, elements: &elements, kind }));
        for lane in each_lane(elements.active) {
            let number = self.barrier_at(self.rank(warp.number as usize), barrier, elements.index[lane]);
            if let Some(mbarrier) = self.proxy.barriers.get_mut(number) {
                let initialiser = warp.number * 32 + lane as u32;
                let (pending, site) = (arrivals, barrier.site);
                *mbarrier = Mbarrier { arrivals, pending, initialiser, site, ..Mbarrier::default() };
            }
        }
    }

    /// The initialisations by these threads become visible to the asynchronous proxy.
    pub(crate) fn barrier_init_fence(&mut self, warp: &mut Warp) {
        for barrier in &mut self.proxy.barriers {
            let mine =
                barrier.initialiser / 32 == warp.number && warp.active >> (barrier.initialiser % 32) & 1 != 0;
            barrier.fenced |= mine && barrier.arrivals > 0;
        }
    }

    pub(crate) fn arrive(
        &mut self,
        warp: &mut Warp,
        barrier: &BarrierOperand,
        expect: u32,
        rank: Option<Sum>,
    ) {
        let elements = self.barriers(warp, barrier, Direction::Write);
        let Some(rank) = self.remote(warp, barrier, rank) else { return };
        self.notify(&Event::BarrierAccess { warp, site: barrier.site, elements: &elements, rank });
        self.reach(warp, elements.active, rank, barrier.site);
        let mut released: Vec<(usize, VectorClock)> = Vec::new();
        let mut ended = Vec::new();
        for lane in each_lane(elements.active) {
            let at = self.barrier_at(rank, barrier, elements.index[lane]);
            let Some(mbarrier) = self.proxy.barriers.get(at).filter(|mbarrier| mbarrier.arrivals > 0) else {
                continue;
            };
            if mbarrier.pending == 0 || ended.contains(&at) {
                let (phase, arrivals) = (mbarrier.phase, mbarrier.arrivals);
                let name = self.barrier_name(at);
                let index = elements.index[lane];
                self.report(FindingKind::Arrivals, barrier.site, warp.number, 1 << lane, Some(index), |_| {
                    format!(
                        "an arrival at {name} after the {arrivals} that end its phase {}; it counts for the next phase",
                        if ended.contains(&at) { phase.saturating_sub(1) } else { phase }
                    )
                });
            }
            if !released.iter().any(|(other, _)| *other == at) {
                let same = |lane: &usize| self.barrier_at(rank, barrier, elements.index[*lane]) == at;
                let lanes = each_lane(elements.active).filter(same).fold(0, |lanes, lane| lanes | 1 << lane);
                if expect == 0 {
                    self.settle(warp.number, lanes, self.clocks.warps[warp.number as usize].time());
                }
                released.push((at, self.clocks.of(warp.number).release(lanes)));
            }
            let Some(mbarrier) = self.proxy.barriers.get_mut(at) else { continue };
            mbarrier.pending = mbarrier.pending.saturating_sub(1);
            mbarrier.expected += i64::from(expect);
            if expect > 0 {
                mbarrier.expect_site = barrier.site;
            }
            for (_, released) in released.iter().filter(|(other, _)| *other == at) {
                mbarrier.arrived.join(released);
            }
            if self.end_phase(at) {
                ended.push(at);
            }
        }
    }

    /// Completes the phase of an mbarrier if no arrival and no byte is missing.
    pub(crate) fn end_phase(&mut self, at: usize) -> bool {
        let Some(mbarrier) = self.proxy.barriers.get(at) else { return false };
        let left = mbarrier.expected - mbarrier.landed;
        if mbarrier.pending > 0 || left > 0 || mbarrier.arrivals == 0 {
            return false;
        }
        let phase = mbarrier.phase;
        let late = |load: &&mut PendingLoad| load.barrier == Some((at, phase)) && load.arrival.is_none();
        let mut in_flight = 0;
        for load in self.proxy.pending_loads.iter_mut().filter(late) {
            in_flight += load.bytes as i64;
            // The phase of its bytes is over.
            load.barrier = None;
        }
        if left < 0 || in_flight > 0 {
            let (expected, reported) = (mbarrier.expected, mbarrier.landed + in_flight);
            let site = if mbarrier.expect_site > 0 { mbarrier.expect_site } else { mbarrier.site };
            let name = self.barrier_name(at);
            let warp = self.barrier_warp(at);
            self.report(FindingKind::TransactionBytes, site, warp, 1, None, |_| {
                format!(
                    "phase {phase} of {name} expects {expected} bytes and its copies report {reported}: it ends too early"
                )
            });
        }
        let Some(mbarrier) = self.proxy.barriers.get_mut(at) else { return false };
        (mbarrier.expected, mbarrier.landed, mbarrier.expect_site, mbarrier.copy_site) = (0, 0, 0, 0);
        mbarrier.phase += 1;
        mbarrier.pending = mbarrier.arrivals;
        mbarrier.completed.rotate_right(1);
        mbarrier.completed[0].clone_from(&mbarrier.arrived);
        true
    }

    /// A copy of the current phase has completed.
    pub(crate) fn complete_bytes(&mut self, at: usize, bytes: u64, site: u32) {
        let engine = self.proxy.barrier_engine(at) - self.count;
        let engines = self.proxy.actors() - self.count;
        let Some(mbarrier) = self.proxy.barriers.get_mut(at) else { return };
        mbarrier.landed += bytes as i64;
        mbarrier.copy_site = site;
        mbarrier.arrived.engines.resize(engines, 0);
        mbarrier.arrived.engines[engine] = mbarrier.phase + 2;
        self.end_phase(at);
    }

    /// The arrival of a commit of products.
    pub(crate) fn complete_arrival(&mut self, at: usize, arrival: &VectorClock) {
        let known = self.proxy.barriers.get_mut(at).filter(|mbarrier| mbarrier.arrivals > 0);
        let Some(mbarrier) = known else { return };
        mbarrier.pending = mbarrier.pending.saturating_sub(1);
        mbarrier.arrived.join(arrival);
        self.end_phase(at);
    }

    /// Whether the phases of all lanes are complete; otherwise the warp waits.
    pub(crate) fn barrier_wait(&mut self, warp: &mut Warp, barrier: &BarrierOperand, parity: Sum) -> bool {
        let elements = self.barriers(warp, barrier, Direction::Read);
        let rank = self.rank(warp.number as usize);
        self.notify(&Event::BarrierAccess { warp, site: barrier.site, elements: &elements, rank });
        let parity = warp.lanes(parity);
        let mut passed: Vec<(usize, u32)> = Vec::new();
        for lane in each_lane(elements.active) {
            let at = self.barrier_at(rank, barrier, elements.index[lane]);
            let Some(mbarrier) = self.proxy.barriers.get(at) else { continue };
            if !mbarrier.passes(parity[lane]) {
                let (barrier, site) = (at as u32, barrier.site);
                warp.state = State::Phase { barrier, parity: parity[lane], site };
                return false;
            }
            match passed.iter_mut().find(|(other, _)| *other == at) {
                Some((_, lanes)) => *lanes |= 1 << lane,
                None => passed.push((at, 1 << lane)),
            }
        }
        for (at, lanes) in passed {
            let Some(mbarrier) = self.proxy.barriers.get(at) else { continue };
            let [last, before, earlier] = &mbarrier.completed;
            self.clocks.of(warp.number).acquire(lanes, |vector_clock| {
                let sure = mbarrier.phase < 2 || vector_clock.covers(before, warp.number as usize);
                vector_clock.join(if sure { last } else { earlier });
            });
            let (phase, site) = (mbarrier.phase, barrier.site);
            self.notify(&Event::PhaseAcquired { warp, barrier: at, phase, site });
        }
        true
    }

    /// The block of the mbarrier: without a rank the own.
    fn remote(&mut self, warp: &Warp, barrier: &BarrierOperand, rank: Option<Sum>) -> Option<usize> {
        let Some(rank) = rank else { return Some(self.rank(warp.number as usize)) };
        let lane = warp.active.trailing_zeros() as usize;
        let (rank, ranks) = (warp.lanes(rank)[lane], self.ranks());
        if !(0..ranks as i64).contains(&rank) {
            self.report(FindingKind::OutOfBounds, barrier.site, warp.number, 1 << lane, None, |_| {
                format!("an arrival at an mbarrier of rank {rank} of a cluster of {ranks} blocks")
            });
            return None;
        }
        Some(rank as usize)
    }
}
