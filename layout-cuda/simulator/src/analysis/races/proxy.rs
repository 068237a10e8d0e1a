//! Accesses of the asynchronous proxy to shared memory.
//!
//! Time: besides the warps there are *engines*, each with a component of the vector clock: the wgmmas of a warpgroup,
//! the tensor stores of a warp, an mbarrier (for its loads). The time of an engine is the number of the group or phase;
//! a wait for it advances the component to the next number.
//!
//! Law: an ordinary write is visible to the proxy only if a proxy fence is on the happens-before path (see
//! `memory::fences`). The proxy may overwrite an element that the issuing warp has read only if the read has completed
//! (see `memory::reads`).

use super::shared::{ATOMIC, CHANGE, IN_FLIGHT, INITIALISED, PROXY, Write, unordered, unready};
use super::{Hazard, SharedShadow, thread};
use crate::memory::fences::ProxyFences;
use crate::memory::lane_clocks::Accessor;
use crate::memory::reads::Reads;
use crate::state::proxy::Proxy;
use crate::state::warp::each_lane;

impl SharedShadow {
    /// A write that is not ordered before the proxy access, or not visible to it.
    fn unseen(&self, cell: usize, accessor: Accessor<'_>, fences: &ProxyFences) -> Option<Hazard> {
        let write = self.writes[cell];
        if let Some(hazard) = unordered(write, accessor) {
            return Some(hazard);
        }
        let hidden = |actor: usize, lanes: u32, clock: u32, site: u32| {
            let mut threads = each_lane(lanes).map(|lane| thread(actor, 1 << lane));
            let hidden = threads.find(|thread| !fences.shows(*thread, clock, accessor));
            hidden.map(|thread| Hazard::Unfenced { thread, site })
        };
        let ordinary = write.clock != 0 && write.flags & PROXY == 0;
        let plain =
            if ordinary { hidden(write.actor.into(), write.lanes, write.clock, write.site) } else { None };
        if plain.is_some() || write.flags & ATOMIC == 0 {
            return plain;
        }
        // An ordered operation may lack the fence.
        self.changes(cell).find_map(|(actor, change)| {
            let (clock, site) = (change.clock(), write.atomic_site);
            match accessor.unordered(actor, change.lanes, clock) {
                0 => hidden(actor, change.lanes, clock, site),
                left => Some(Hazard::Writer { thread: thread(actor, left), site }),
            }
        })
    }

    /// The proxy reads a cell at a time of the engine.
    pub(super) fn read_by_proxy(
        &mut self,
        cell: usize,
        accessor: Accessor<'_>,
        fences: &ProxyFences,
        engine: usize,
        time: u32,
    ) -> Option<Hazard> {
        let write = *self.writes.get(cell)?;
        self.note_engine(cell, engine, time);
        if write.flags == INITIALISED | PROXY && write.readable(accessor) {
            return None;
        }
        unready(write).or_else(|| self.unseen(cell, accessor, fences))
    }

    /// A read by the issuing warp that may be outstanding.
    fn unread(&self, cell: usize, accessor: Accessor<'_>, reads: &Reads) -> Option<Hazard> {
        self.own_accesses(cell, accessor.warp as usize).find_map(|access| {
            let open = reads.open(accessor, access.lanes, access.clock());
            (open != 0).then(|| Hazard::Unread { thread: thread(accessor.warp as usize, open) })
        })
    }

    /// The proxy starts to write a cell at a time of the engine.
    pub(super) fn write_by_proxy(
        &mut self,
        cell: usize,
        accessor: Accessor<'_>,
        proxy: &Proxy,
        engine: usize,
        time: u32,
        site: u32,
    ) -> Option<Hazard> {
        let write = *self.writes.get(cell)?;
        let hazard = if write.flags & IN_FLIGHT != 0 {
            Some(Hazard::InFlight)
        } else {
            let unseen = self.unseen(cell, accessor, &proxy.fences);
            unseen
                .or_else(|| self.unordered_any(cell, accessor))
                .or_else(|| self.unread(cell, accessor, &proxy.reads))
        };
        let flags = write.flags & INITIALISED | IN_FLIGHT | PROXY;
        let latest = self.writes[cell].latest;
        self.writes[cell] =
            Write { clock: time, lanes: 1, site, atomic_site: 0, latest, actor: engine as u16, flags };
        hazard
    }

    pub(super) fn complete_by_proxy(&mut self, cell: usize, engine: usize, time: u32, site: u32) {
        if cell < self.writes.len() {
            let flags = INITIALISED | PROXY;
            let latest = self.writes[cell].latest;
            self.writes[cell] =
                Write { clock: time, lanes: 1, site, atomic_site: 0, latest, actor: engine as u16, flags };
        }
    }

    /// Whether the last write of a cell is ordered; without a trace in the shadow.
    pub(super) fn last_write_hazard(&self, cell: usize, accessor: Accessor<'_>) -> Option<Hazard> {
        let write = *self.writes.get(cell)?;
        let change = || match write.flags & ATOMIC {
            0 => None,
            _ => self.unordered_access(cell, accessor, CHANGE),
        };
        unready(write).or_else(|| unordered(write, accessor)).or_else(change)
    }
}
