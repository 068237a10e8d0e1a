//! Proxy fences: which writes of threads are visible to the asynchronous proxy.
//!
//! Law: a fence counts anywhere on the happens-before path from the write to the proxy's access: after the write, in
//! the thread that wrote, or before the access, in the thread that issues it. PTX states this rule for the aliases of
//! one address: a proxy fence along the path of base causality order (PTX ISA 8.5, section 8.9.5, causality order). It
//! has no separate rule for the asynchronous proxy, only that its fence composes with other synchronisation (`membar`,
//! `fence`). We apply the same rule.

use super::lane_clocks::Accessor;
use super::vector_clock::VectorClock;
use super::warp_clock::WarpClock;
use crate::register::LANES;
use std::ops::Range;

/// The fences of a warp.
#[derive(Clone, Debug, Default)]
struct WarpFences {
    /// Time and lanes, in order.
    list: Vec<(u32, u32)>,
    /// The lanes that have executed a fence.
    lanes: u32,
}

/// The fences of each warp.
#[derive(Clone, Debug, Default)]
pub(crate) struct FenceLog(Vec<WarpFences>);

impl FenceLog {
    pub(crate) fn reset(&mut self, warps: usize) {
        self.0.clear();
        self.0.resize(warps, WarpFences::default());
    }

    /// These lanes execute a fence at this time; the time of the warp advances after it.
    pub(crate) fn pass(&mut self, warp: usize, clock: u32, lanes: u32) {
        if let Some(passed) = self.0.get_mut(warp) {
            passed.list.push((clock, lanes));
            passed.lanes |= lanes;
        }
    }

    /// For each warp the times before which a fence that `known` covers makes its writes visible; `None` without a
    /// fence.
    pub(crate) fn times(
        &self,
        known: &WarpClock,
        warps: Range<usize>,
        live: impl Fn(usize) -> u32,
    ) -> Option<WarpClock> {
        let mut times = WarpClock::default();
        let (mut any, first) = (false, warps.start);
        for warp in warps {
            let Some(passed) = self.0.get(warp) else { continue };
            let mut left = passed.lanes;
            for (at, lanes) in passed.list.iter().rev() {
                let found = lanes & left & !known.unknown(warp, *lanes, *at);
                if found != 0 {
                    times.advance(warp - first, found, live(warp), at + 1);
                    any = true;
                }
                left &= !found;
                if left == 0 {
                    break;
                }
            }
        }
        any.then_some(times)
    }

    /// Whether a fence after a thread's write at a time happens-before the next step of `accessor`.
    pub(crate) fn shows(&self, thread: u32, clock: u32, accessor: Accessor<'_>) -> bool {
        let (warp, lane) = (thread as usize / LANES, thread % LANES as u32);
        let Some(passed) = self.0.get(warp) else { return false };
        let from = passed.list.partition_point(|(at, _)| *at < clock);
        let next = passed.list[from..].iter().find(|(_, lanes)| lanes >> lane & 1 != 0);
        next.is_some_and(|(at, _)| accessor.unordered(warp, 1 << lane, *at) == 0)
    }
}

/// The proxy fences of shared memory, or of global memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProxyFences {
    /// The fences in the writing threads.
    pub passed: FenceLog,
    /// For each warp, the lanes' last fences and their clocks there.
    last: Vec<Vec<(u32, VectorClock)>>,
}

impl ProxyFences {
    pub(crate) fn reset(&mut self, warps: usize) {
        self.passed.reset(warps);
        self.last.iter_mut().for_each(Vec::clear);
        self.last.resize(warps, Vec::new());
    }

    /// These lanes execute a fence at this time; `known` is their clock, their own work included.
    pub(crate) fn pass(&mut self, warp: usize, clock: u32, lanes: u32, known: VectorClock) {
        self.passed.pass(warp, clock, lanes);
        if let Some(last) = self.last.get_mut(warp) {
            last.iter_mut().for_each(|(open, _)| *open &= !lanes);
            last.retain(|(open, _)| *open != 0);
            last.push((lanes, known));
        }
    }

    /// The clock at a thread's last fence.
    fn known(&self, accessor: Accessor<'_>) -> Option<&VectorClock> {
        let last = self.last.get(accessor.warp as usize)?;
        last.iter().find(|(lanes, _)| lanes & accessor.lanes == accessor.lanes).map(|(_, known)| known)
    }

    /// Whether a thread's write at a time is visible to a proxy access that `accessor` issues.
    pub(crate) fn shows(&self, thread: u32, clock: u32, accessor: Accessor<'_>) -> bool {
        let (warp, lane) = (thread as usize / LANES, thread % LANES as u32);
        self.passed.shows(thread, clock, accessor)
            || self.known(accessor).is_some_and(|known| known.clock.unknown(warp, 1 << lane, clock) == 0)
    }

    /// The same for a lane of any block's warp.
    pub(crate) fn shows_in_grid(
        &self,
        block: u64,
        warp: usize,
        lane: u32,
        clock: u32,
        accessor: Accessor<'_>,
    ) -> bool {
        let lanes = 1 << lane;
        match accessor.rank(block) {
            Some(rank) => {
                let warp = rank * accessor.warps_of_block() + warp;
                self.shows((warp * LANES) as u32 + lane, clock, accessor)
            }
            None => {
                accessor.vector_clock().blocks.fenced(block, warp, lanes, clock)
                    || self
                        .known(accessor)
                        .is_some_and(|known| known.blocks.unknown(block, warp, lanes, clock) == 0)
            }
        }
    }
}
