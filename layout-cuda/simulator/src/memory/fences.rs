//! Proxy fences: which writes of threads the asynchronous proxy sees.
//!
//! Law: a fence counts for the lanes that pass it, anywhere on the path from the write to the proxy's access: behind the
//! write, in the thread that wrote, or ahead of the access, in the thread that starts it and knows of the write. PTX says
//! so of aliases: a proxy fence stands along the path of base causality order (PTX ISA 8.5, section 8.9.5, causality
//! order). For the asynchronous proxy it has no rule of its own, only that its fence composes with other synchronisation
//! (`membar`, `fence`): we read it alike.

use super::lane_clocks::Accessor;
use super::vector_clock::VectorClock;
use super::warp_clock::WarpClock;
use crate::register::LANES;
use std::ops::Range;

/// The fences that a warp has passed.
#[derive(Clone, Debug, Default)]
struct WarpFences {
    /// Time and lanes, in order.
    list: Vec<(u32, u32)>,
    /// Lanes that have passed one.
    lanes: u32,
}

/// The proxy fences that each warp has passed.
#[derive(Debug, Default)]
pub(crate) struct FenceLog(Vec<WarpFences>);

impl FenceLog {
    /// No fences of so many warps.
    pub(crate) fn reset(&mut self, warps: usize) {
        self.0.clear();
        self.0.resize(warps, WarpFences::default());
    }

    /// These lanes of a warp pass a fence at this time; the warp's time goes on afterwards.
    pub(crate) fn pass(&mut self, warp: usize, clock: u32, lanes: u32) {
        if let Some(passed) = self.0.get_mut(warp) {
            passed.list.push((clock, lanes));
            passed.lanes |= lanes;
        }
    }

    /// Of each warp's lanes the time before which their writes are seen, as far as the fences are known of; nothing where
    /// there are none.
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

    /// Whether the proxy sees what a thread wrote at a time, as far as `who` knows.
    pub(crate) fn shows(&self, thread: u32, clock: u32, accessor: Accessor<'_>) -> bool {
        let (warp, lane) = (thread as usize / LANES, thread % LANES as u32);
        let Some(passed) = self.0.get(warp) else { return false };
        let from = passed.list.partition_point(|(at, _)| *at < clock);
        let next = passed.list[from..].iter().find(|(_, lanes)| lanes >> lane & 1 != 0);
        next.is_some_and(|(at, _)| accessor.unordered(warp, 1 << lane, *at) == 0)
    }
}

/// The proxy fences of shared memory, or of global memory.
#[derive(Debug, Default)]
pub(crate) struct ProxyFences {
    /// Behind the writes.
    pub passed: FenceLog,
    /// For each warp, of each lane's last fence: the lanes, and what they knew.
    last: Vec<Vec<(u32, VectorClock)>>,
}

impl ProxyFences {
    /// No fences of so many warps.
    pub(crate) fn reset(&mut self, warps: usize) {
        self.passed.reset(warps);
        self.last.iter_mut().for_each(Vec::clear);
        self.last.resize(warps, Vec::new());
    }

    /// These lanes of a warp pass a fence at this time, and know of this, of what they did themselves too.
    pub(crate) fn pass(&mut self, warp: usize, clock: u32, lanes: u32, known: VectorClock) {
        self.passed.pass(warp, clock, lanes);
        if let Some(last) = self.last.get_mut(warp) {
            last.iter_mut().for_each(|(open, _)| *open &= !lanes);
            last.retain(|(open, _)| *open != 0);
            last.push((lanes, known));
        }
    }

    /// What a thread knew at its last fence.
    fn known(&self, accessor: Accessor<'_>) -> Option<&VectorClock> {
        let last = self.last.get(accessor.warp as usize)?;
        last.iter().find(|(lanes, _)| lanes & accessor.lanes == accessor.lanes).map(|(_, known)| known)
    }

    /// Whether the proxy sees what a thread of the cluster wrote at a time, for an access that `who` starts.
    pub(crate) fn shows(&self, thread: u32, clock: u32, accessor: Accessor<'_>) -> bool {
        let (warp, lane) = (thread as usize / LANES, thread % LANES as u32);
        self.passed.shows(thread, clock, accessor)
            || self.known(accessor).is_some_and(|known| known.clock.unknown(warp, 1 << lane, clock) == 0)
    }

    /// Whether the proxy sees what a lane of a warp of some block wrote at a time, for an access that `who` starts.
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
