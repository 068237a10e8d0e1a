//! The shadow of a cluster's shared memory, a cell for each `granule` bytes.
//!
//! A cell stores its last ordinary write and, for each warp and reading engine, the last read or atomic operation with
//! its lane mask. Accesses at other times, by other lanes or of the other kind are in a list.
//!
//! Law: of two accesses of a lane of one kind only the later one is kept: a clock that covers it covers both.

use super::{Hazard, thread};
use crate::memory::lane_clocks::Accessor;
use crate::state::warp::each_lane;
use std::collections::HashMap;

#[derive(Clone, Copy, Default)]
pub(super) struct Write {
    /// 0 for none.
    pub clock: u32,
    pub lanes: u32,
    pub site: u32,
    /// The site of the last atomic operation.
    pub atomic_site: u32,
    /// The time of the latest read or atomic operation; `u32::MAX` after a read of an engine.
    pub latest: u32,
    /// A warp or an engine.
    pub actor: u16,
    pub flags: u16,
}

/// The element holds a value.
pub(super) const INITIALISED: u16 = 1;
pub(super) const IN_FLIGHT: u16 = 2;
/// Atomic operations follow the write.
pub(super) const ATOMIC: u16 = 4;
pub(super) const PROXY: u16 = 8;

/// A read or an atomic operation of a warp; the time is at least 1.
#[derive(Clone, Copy, Default)]
pub(super) struct Access {
    /// With [`CHANGE`] and [`OTHERS`].
    clock: u32,
    pub lanes: u32,
}

/// A bit of the clock: an atomic operation.
pub(super) const CHANGE: u32 = 1 << 30;
/// A bit of the clock: the list has more accesses.
const OTHERS: u32 = 1 << 31;

impl Access {
    pub(super) fn clock(self) -> u32 {
        self.clock & !(CHANGE | OTHERS)
    }
    fn kind(self) -> u32 {
        self.clock & CHANGE
    }
}

impl Write {
    /// Whether the cell holds a value and its write happens-before the accessor's next step.
    #[inline]
    pub(super) fn readable(&self, accessor: Accessor<'_>) -> bool {
        match self.flags {
            INITIALISED => self.clock < accessor.floor,
            flags if flags == INITIALISED | PROXY => {
                accessor.unordered(self.actor.into(), 1, self.clock) == 0
            }
            _ => false,
        }
    }

    /// Whether a clock with this floor covers all accesses of the cell.
    fn settled(&self, floor: u32) -> bool {
        self.flags & (IN_FLIGHT | PROXY) == 0 && self.clock < floor && self.latest < floor
    }
}

pub(super) struct SharedShadow {
    pub(super) writes: Vec<Write>,
    /// For each warp and reading engine the accesses of each cell.
    accesses: Vec<Access>,
    /// Which of them have accesses.
    used: Vec<bool>,
    users: Vec<usize>,
    /// The list of more accesses, by position in `accesses`.
    others: HashMap<usize, Vec<Access>>,
    /// The accesses that the current instruction replaces; empty between instructions.
    replaced: Vec<(usize, Access)>,
}

impl SharedShadow {
    pub(super) fn new(cells: usize, actors: usize) -> SharedShadow {
        let (writes, accesses) = (vec![Write::default(); cells], vec![Access::default(); cells * actors]);
        SharedShadow {
            writes,
            accesses,
            used: vec![false; actors],
            users: Vec::new(),
            others: HashMap::new(),
            replaced: Vec::new(),
        }
    }

    pub(super) fn begin(&mut self, cells: usize, actors: usize) {
        if (self.writes.len(), self.used.len()) != (cells, actors) {
            *self = SharedShadow::new(cells, actors);
            return;
        }
        self.writes.fill(Write::default());
        for user in self.users.drain(..) {
            self.accesses[user * cells..(user + 1) * cells].fill(Access::default());
        }
        self.used.fill(false);
        self.others.clear();
    }

    /// Converged lanes of a warp read `cells` cells each. Returns the lanes that need the slow path.
    pub(super) fn read_lanes(
        &mut self,
        accessor: Accessor<'_>,
        cells: usize,
        first: impl Fn(usize) -> usize,
    ) -> u32 {
        let (warp, now, own) = (accessor.warp as usize, accessor.now(), accessor.own());
        self.uses(warp);
        let (row, mut left) = (warp * self.writes.len(), 0);
        for lane in each_lane(accessor.lanes) {
            for cell in first(lane)..first(lane) + cells {
                let (write, known) = (&mut self.writes[cell], &mut self.accesses[row + cell]);
                if !write.readable(accessor) || known.clock & (CHANGE | OTHERS) != 0 {
                    left |= 1 << lane;
                } else if known.clock == now {
                    known.lanes |= 1 << lane;
                } else {
                    // Unordered reads of other lanes are kept.
                    if known.clock >= own && known.lanes & !(1 << lane) != 0 {
                        self.replaced.push((row + cell, *known));
                    }
                    *known = Access { clock: now, lanes: 1 << lane };
                    write.latest = write.latest.max(now);
                }
            }
        }
        for (at, before) in self.replaced.drain(..) {
            let lanes = before.lanes & !self.accesses[at].lanes;
            if lanes != 0 {
                self.others.entry(at).or_default().push(Access { lanes, ..before });
                self.accesses[at].clock |= OTHERS;
            }
        }
        left
    }

    /// The same for writes; `in_flight` for a `cp.async`.
    pub(super) fn write_lanes(
        &mut self,
        accessor: Accessor<'_>,
        cells: usize,
        first: impl Fn(usize) -> usize,
        (site, in_flight): (u32, bool),
    ) -> u32 {
        let mut left = 0;
        for lane in each_lane(accessor.lanes) {
            let own = &mut self.writes[first(lane)..first(lane) + cells];
            if !own.iter().all(|write| write.settled(accessor.floor)) {
                left |= 1 << lane;
                continue;
            }
            for write in own {
                let flags = if in_flight { write.flags & !ATOMIC | IN_FLIGHT } else { INITIALISED };
                *write = Write { latest: write.latest, ..stamp(accessor, 1 << lane, flags, site) };
            }
        }
        left
    }

    pub(super) fn read(&mut self, cell: usize, accessor: Accessor<'_>) -> Option<Hazard> {
        self.note(cell, accessor, 0);
        let write = self.writes[cell];
        if write.flags == INITIALISED && write.clock < accessor.floor {
            return None;
        }
        issued(write, accessor).or_else(|| unready(write)).or_else(|| unordered(write, accessor)).or_else(
            || {
                if write.flags & ATOMIC != 0 { self.unordered_access(cell, accessor, CHANGE) } else { None }
            },
        )
    }

    /// A thread writes a cell; `in_flight` for a `cp.async`.
    pub(super) fn write(
        &mut self,
        cell: usize,
        accessor: Accessor<'_>,
        site: u32,
        in_flight: bool,
    ) -> Option<Hazard> {
        let write = self.writes[cell];
        let flags = write.flags & !ATOMIC;
        let hazard = if flags & IN_FLIGHT != 0 {
            issued(write, accessor).or(Some(Hazard::InFlight))
        } else {
            unordered(write, accessor).or_else(|| self.unordered_access(cell, accessor, CHANGE | 1))
        };
        let flags = if in_flight { flags | IN_FLIGHT } else { flags & IN_FLIGHT | INITIALISED };
        self.writes[cell] = Write { latest: write.latest, ..stamp(accessor, accessor.lanes, flags, site) };
        hazard
    }

    /// An atomic operation; others do not conflict.
    pub(super) fn atomic(&mut self, cell: usize, accessor: Accessor<'_>, site: u32) -> Option<Hazard> {
        let write = self.writes[cell];
        self.note(cell, accessor, CHANGE);
        let hazard = unready(write)
            .or_else(|| unordered(write, accessor))
            .or_else(|| self.unordered_access(cell, accessor, 1));
        let write = &mut self.writes[cell];
        write.flags |= INITIALISED | ATOMIC;
        write.atomic_site = site;
        hazard
    }

    /// An atomic load; atomic operations do not conflict.
    pub(super) fn atomic_read(&mut self, cell: usize, accessor: Accessor<'_>) -> Option<Hazard> {
        unready(self.writes[cell]).or_else(|| unordered(self.writes[cell], accessor))
    }

    /// A `cp.async` completes.
    pub(super) fn complete(&mut self, cell: usize, accessor: Accessor<'_>, site: u32) {
        let latest = self.writes[cell].latest;
        self.writes[cell] = Write { latest, ..stamp(accessor, accessor.lanes, INITIALISED, site) };
    }

    #[inline]
    fn uses(&mut self, actor: usize) {
        if !std::mem::replace(&mut self.used[actor], true) {
            let place = self.users.partition_point(|user| *user < actor);
            self.users.insert(place, actor);
        }
    }

    /// Records an access.
    fn note(&mut self, cell: usize, accessor: Accessor<'_>, kind: u32) {
        let at = accessor.warp as usize * self.writes.len() + cell;
        self.uses(accessor.warp as usize);
        let (now, known) = (accessor.now() | kind, &mut self.accesses[at]);
        self.writes[cell].latest = self.writes[cell].latest.max(accessor.now());
        if known.clock == now {
            known.lanes |= accessor.lanes;
            return;
        }
        // Fast path: the last access is of the same kind and covered.
        let alike = known.clock & (CHANGE | OTHERS) == kind;
        let covered = known.lanes & !accessor.lanes == 0 || known.clock() < accessor.floor;
        if known.clock == 0 || alike && covered {
            *known = Access { clock: now, lanes: accessor.lanes };
        } else {
            self.note_in_list(at, accessor, kind);
        }
    }

    #[cold]
    fn note_in_list(&mut self, at: usize, accessor: Accessor<'_>, kind: u32) {
        let last = Access { clock: self.accesses[at].clock & !OTHERS, ..self.accesses[at] };
        let mut now = Access { clock: accessor.now() | kind, lanes: accessor.lanes };
        let kept = self.others.entry(at).or_default();
        kept.push(last);
        kept.retain_mut(|known| {
            if known.clock == now.clock {
                now.lanes |= known.lanes;
                return false;
            }
            if known.kind() == kind {
                known.lanes =
                    accessor.unordered(accessor.warp as usize, known.lanes & !accessor.lanes, known.clock());
            }
            known.lanes != 0
        });
        if kept.is_empty() {
            self.others.remove(&at);
        } else {
            now.clock |= OTHERS;
        }
        self.accesses[at] = now;
    }

    /// Records a read of an engine.
    pub(super) fn note_engine(&mut self, cell: usize, engine: usize, time: u32) {
        self.uses(engine);
        self.writes[cell].latest = u32::MAX;
        let read = &mut self.accesses[engine * self.writes.len() + cell];
        *read = Access { clock: read.clock.max(time), lanes: 1 };
    }

    /// The accesses of a cell by a warp or an engine.
    pub(super) fn own_accesses(&self, cell: usize, actor: usize) -> impl Iterator<Item = Access> {
        let at = actor * self.writes.len() + cell;
        let last = self.accesses.get(at).copied().filter(|access| access.clock != 0);
        let others = last.filter(|last| last.clock & OTHERS != 0).and_then(|_| self.others.get(&at));
        last.into_iter().chain(others.into_iter().flatten().copied())
    }

    pub(super) fn changes(&self, cell: usize) -> impl Iterator<Item = (usize, Access)> {
        let all = self
            .users
            .iter()
            .flat_map(move |actor| self.own_accesses(cell, *actor).map(move |access| (*actor, access)));
        all.filter(|(_, access)| access.kind() == CHANGE)
    }

    /// An unordered access: atomic operations if `kinds` has [`CHANGE`], reads if it has 1.
    pub(super) fn unordered_access(&self, cell: usize, accessor: Accessor<'_>, kinds: u32) -> Option<Hazard> {
        let cells = self.writes.len();
        // Nearly every access is before the floor, or there is none.
        let is_late = |actor: usize| {
            let clock = self.accesses.get(actor * cells + cell).map_or(0, |last| last.clock);
            clock != 0 && (clock >= accessor.floor || actor >= accessor.warps())
        };
        let late = self.users.iter().copied().filter(|actor| is_late(*actor));
        late.flat_map(|actor| self.own_accesses(cell, actor).map(move |access| (actor, access))).find_map(
            |(actor, access)| {
                let change = access.kind() == CHANGE;
                if kinds & (if change { CHANGE } else { 1 }) == 0 {
                    return None;
                }
                let left = accessor.unordered(actor, access.lanes, access.clock());
                let first = thread(actor, left);
                (left != 0).then(|| match change {
                    true => Hazard::Writer { thread: first, site: self.writes[cell].atomic_site },
                    false => Hazard::Reader { thread: left.is_power_of_two().then_some(first) },
                })
            },
        )
    }

    pub(super) fn unordered_any(&self, cell: usize, accessor: Accessor<'_>) -> Option<Hazard> {
        self.unordered_access(cell, accessor, CHANGE | 1)
    }
}

fn stamp(accessor: Accessor<'_>, lanes: u32, flags: u16, site: u32) -> Write {
    Write {
        clock: accessor.now(),
        lanes,
        site,
        atomic_site: 0,
        latest: 0,
        actor: accessor.warp as u16,
        flags,
    }
}

/// The hazard of a `cp.async` in flight whose issue is not ordered: a barrier is missing, not a wait.
fn issued(write: Write, accessor: Accessor<'_>) -> Option<Hazard> {
    if write.flags & (IN_FLIGHT | PROXY) == IN_FLIGHT { unordered(write, accessor) } else { None }
}

/// The hazard of a cell without a value.
pub(super) fn unready(write: Write) -> Option<Hazard> {
    match write.flags {
        flags if flags & IN_FLIGHT != 0 => Some(Hazard::InFlight),
        flags if flags & INITIALISED != 0 => None,
        _ => Some(Hazard::Uninitialised),
    }
}

/// The hazard of an unordered write.
pub(super) fn unordered(write: Write, accessor: Accessor<'_>) -> Option<Hazard> {
    if write.clock == 0 {
        return None;
    }
    let left = accessor.unordered(write.actor.into(), write.lanes, write.clock);
    (left != 0).then(|| Hazard::Writer { thread: thread(write.actor.into(), left), site: write.site })
}
