//! What the asynchronous proxy does to cells of shared memory.
//!
//! Time: beside the warps there are *engines*, each with a component of the clocks of its own: a warpgroup's products, a
//! warp's tensor stores, an mbarrier (for the loads it is told of). An engine's time is the number of the group or of the
//! phase; a warp that waited for it knows the next.
//!
//! Law: an ordinary write is seen by the proxy only if the thread that wrote has passed a fence since, and the fence
//! happened before.

use super::{ATOMIC, Hazard, IN_FLIGHT, INITIALISED, LANES, PROXY, SharedShadow, Who, Write};
use super::{unordered, unready};
use crate::kernel::simulate::order::Known;

/// The proxy fences that each warp has passed.
#[derive(Debug, Default)]
pub(in super::super) struct Fences(Vec<Vec<(u32, u32)>>);

impl Fences {
    /// No fences of so many warps.
    pub(crate) fn reset(&mut self, warps: usize) {
        self.0.iter_mut().for_each(Vec::clear);
        self.0.resize(warps, Vec::new());
    }

    /// These lanes of a warp pass a fence at this time; the warp's time goes on afterwards.
    pub(crate) fn pass(&mut self, warp: usize, clock: u32, lanes: u32) {
        if let Some(passed) = self.0.get_mut(warp) {
            passed.push((clock, lanes));
        }
    }

    /// Of each warp the time before which its writes are seen, as far as the fences lie before these times; nothing
    /// where there are no fences.
    pub(crate) fn times(&self, clocks: &[u32], warps: std::ops::Range<usize>) -> Option<Vec<u32>> {
        let of = |warp: usize| {
            let last = self.0.get(warp)?.iter().rev().find(|(at, _)| *at < clocks[warp])?;
            Some(last.0 + 1)
        };
        let times: Vec<u32> = warps.map(|warp| of(warp).unwrap_or(0)).collect();
        times.iter().any(|time| *time > 0).then_some(times)
    }

    /// Whether the proxy sees what a thread wrote at a time, as far as `who` knows.
    fn shows(&self, thread: u32, clock: u32, who: Who<'_>) -> bool {
        let (warp, lane) = (thread / LANES as u32, thread % LANES as u32);
        let Some(passed) = self.0.get(warp as usize) else { return false };
        let from = passed.partition_point(|(at, _)| *at < clock);
        let next = passed[from..].iter().find(|(_, lanes)| lanes >> lane & 1 != 0);
        next.is_some_and(|(at, _)| who.after(warp, *at))
    }
}

/// The proxy fences of global memory. A fence counts wherever it stands between the write and the proxy's access: behind the
/// write, as of shared memory, or before the access, of a thread that knows of the write.
#[derive(Debug, Default)]
pub(in super::super) struct GlobalFences {
    /// Behind the writes.
    pub passed: Fences,
    /// For each warp, of each lane's last fence: the lanes, and what they knew.
    last: Vec<Vec<(u32, Vec<u32>, Known)>>,
}

impl GlobalFences {
    /// No fences of so many warps.
    pub(crate) fn reset(&mut self, warps: usize) {
        self.passed.reset(warps);
        self.last.iter_mut().for_each(Vec::clear);
        self.last.resize(warps, Vec::new());
    }

    /// These lanes of a warp pass a fence at this time, and know of these times and of what other blocks did.
    pub(crate) fn pass(&mut self, warp: usize, lanes: u32, clocks: &[u32], blocks: Option<&Known>) {
        self.passed.pass(warp, clocks.get(warp).copied().unwrap_or(0), lanes);
        if let Some(last) = self.last.get_mut(warp) {
            last.iter_mut().for_each(|(open, ..)| *open &= !lanes);
            last.retain(|(open, ..)| *open != 0);
            last.push((lanes, clocks.to_vec(), blocks.cloned().unwrap_or_default()));
        }
    }

    /// What a thread knew at its last fence.
    fn known(&self, who: Who<'_>) -> Option<&(u32, Vec<u32>, Known)> {
        self.last.get(who.warp as usize)?.iter().find(|(lanes, ..)| lanes >> who.lane & 1 != 0)
    }

    /// Whether the proxy sees what a thread of the cluster wrote at a time, for an access that `who` starts.
    pub(super) fn show(&self, thread: u32, clock: u32, who: Who<'_>) -> bool {
        let knew = |(_, clocks, _): &(u32, Vec<u32>, Known)| {
            // At its fence a thread's own time is the present one.
            let own = thread / LANES as u32 == who.warp;
            clocks.get(thread as usize / LANES).is_some_and(|known| clock < *known + u32::from(own))
        };
        self.passed.shows(thread, clock, who) || self.known(who).is_some_and(knew)
    }

    /// Likewise what a thread of another block's warp wrote.
    pub(super) fn show_other(&self, block: u64, warp: u32, clock: u32, who: Who<'_>) -> bool {
        who.known.is_some_and(|known| known.fenced(block, warp, clock))
            || self.known(who).is_some_and(|(.., blocks)| blocks.covers(block, Some(warp), clock))
    }
}

impl SharedShadow {
    /// What a thread that starts work of the proxy does not know of the last write of a cell.
    fn unseen(&self, write: Write, who: Who<'_>, fences: &Fences) -> Option<Hazard> {
        if let Some(hazard) = unordered(write, who) {
            return Some(hazard);
        }
        let thread = u32::from(write.thread);
        let ordinary = write.clock != 0 && write.flags & PROXY == 0;
        (ordinary && !fences.shows(thread, write.clock, who))
            .then_some(Hazard::Unfenced { thread, site: write.site })
    }

    /// The proxy reads a cell, at some time of the engine.
    pub(crate) fn read_by_proxy(
        &mut self,
        cell: usize,
        who: Who<'_>,
        fences: &Fences,
        engine: usize,
        time: u32,
    ) -> Option<Hazard> {
        let write = *self.writes.get(cell)?;
        let stamp = &mut self.reads[cell * self.columns + engine];
        *stamp = (*stamp).max(time << 6);
        unready(write).or_else(|| self.unseen(write, who, fences))
    }

    /// The proxy starts to write a cell, at some time of the engine.
    pub(crate) fn write_by_proxy(
        &mut self,
        cell: usize,
        who: Who<'_>,
        fences: &Fences,
        engine: usize,
        time: u32,
        site: u32,
    ) -> Option<Hazard> {
        let write = *self.writes.get(cell)?;
        let hazard = if write.flags & IN_FLIGHT != 0 {
            Some(Hazard::InFlight)
        } else {
            self.unseen(write, who, fences).or_else(|| self.unordered_reader(cell, who))
        };
        let flags = write.flags & !ATOMIC | IN_FLIGHT | PROXY;
        self.writes[cell] = Write { clock: time, thread: (engine * LANES) as u16, flags, site };
        hazard
    }

    /// What the proxy wrote is there.
    pub(crate) fn land_by_proxy(&mut self, cell: usize, engine: usize, time: u32, site: u32) {
        if let Some(write) = self.writes.get_mut(cell) {
            let flags = INITIALISED | PROXY;
            *write = Write { clock: time, thread: (engine * LANES) as u16, flags, site };
        }
    }

    /// Whether a thread knows of the last write of a cell; leaves no trace.
    pub(crate) fn look(&self, cell: usize, who: Who<'_>) -> Option<Hazard> {
        let write = *self.writes.get(cell)?;
        unready(write).or_else(|| unordered(write, who))
    }
}
