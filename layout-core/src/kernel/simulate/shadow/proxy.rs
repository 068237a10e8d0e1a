//! What the asynchronous proxy does to cells of shared memory.
//!
//! Time: beside the warps there are *agents*, each with a component of the clocks of its own: a warpgroup's products, a
//! warp's tensor stores, an mbarrier (for the loads it is told of). An agent's time is the number of the group or of the
//! phase; a warp that waited for it knows the next.
//!
//! Law: an ordinary write is seen by the proxy only if the thread that wrote has passed a fence since, and the fence
//! happened before.

use super::{ATOMIC, Hazard, IN_FLIGHT, INITIALISED, LANES, PROXY, SharedShadow, Who, Write};
use super::{unordered, unready};

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

    /// Whether the proxy sees what a thread wrote at a time, as far as `who` knows.
    fn shows(&self, thread: u32, clock: u32, who: Who<'_>) -> bool {
        let (warp, lane) = (thread / LANES as u32, thread % LANES as u32);
        let Some(passed) = self.0.get(warp as usize) else { return false };
        let from = passed.partition_point(|(at, _)| *at < clock);
        let next = passed[from..].iter().find(|(_, lanes)| lanes >> lane & 1 != 0);
        next.is_some_and(|(at, _)| who.after(warp, *at))
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

    /// The proxy reads a cell, at some time of the agent.
    pub(crate) fn read_by_proxy(
        &mut self,
        cell: usize,
        who: Who<'_>,
        fences: &Fences,
        agent: usize,
        time: u32,
    ) -> Option<Hazard> {
        let write = *self.writes.get(cell)?;
        let stamp = &mut self.reads[cell * self.columns + agent];
        *stamp = (*stamp).max(time << 6);
        unready(write).or_else(|| self.unseen(write, who, fences))
    }

    /// The proxy starts to write a cell, at some time of the agent.
    pub(crate) fn write_by_proxy(
        &mut self,
        cell: usize,
        who: Who<'_>,
        fences: &Fences,
        agent: usize,
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
        self.writes[cell] = Write { clock: time, thread: (agent * LANES) as u16, flags, site };
        hazard
    }

    /// What the proxy wrote is there.
    pub(crate) fn land_by_proxy(&mut self, cell: usize, agent: usize, time: u32, site: u32) {
        if let Some(write) = self.writes.get_mut(cell) {
            let flags = INITIALISED | PROXY;
            *write = Write { clock: time, thread: (agent * LANES) as u16, flags, site };
        }
    }

    /// Whether a thread knows of the last write of a cell; leaves no trace.
    pub(crate) fn look(&self, cell: usize, who: Who<'_>) -> Option<Hazard> {
        let write = *self.writes.get(cell)?;
        unready(write).or_else(|| unordered(write, who))
    }
}
