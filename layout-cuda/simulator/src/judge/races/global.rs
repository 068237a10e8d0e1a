//! The shadow of a tensor that the launch writes: the last ordinary write of each element, and its reads and atomic
//! operations.
//!
//! Where no thread can wait for another block, no two blocks of different clusters are ordered: then it is enough to know
//! that there were accesses of several.

use super::stamps::{Kind, MANY_BLOCKS, Stamp, Stamps};
use super::{Hazard, thread};
use crate::actors::proxy::Proxy;
use crate::actors::warp::each_lane;
use crate::memory::fences::ProxyFences;
use crate::memory::reads::Reads;
use crate::memory::strands::Who;
use layout_compiler::program::Scope;

/// See the head of the file.
pub(super) struct GlobalShadow {
    /// The last plain write of each element, by threads or by TMA.
    writes: Stamps,
    /// Reads and atomic operations.
    accesses: Stamps,
}

impl GlobalShadow {
    /// Cells for a tensor of a launch whose blocks may wait for each other, or not; `None` where there is no memory for them.
    pub(super) fn new(elements: usize, waits: bool) -> Option<GlobalShadow> {
        Some(GlobalShadow { writes: Stamps::new(elements, waits)?, accesses: Stamps::new(elements, waits)? })
    }

    /// Lanes of a warp read an element.
    pub(super) fn read(&self, element: usize, who: Who<'_>) -> Option<Hazard> {
        self.read_as(element, Stamp::of(who, Kind::Plain), who)
    }

    /// Lanes of a warp start asynchronous copies from an element.
    pub(super) fn read_in_flight(&self, element: usize, who: Who<'_>) -> Option<Hazard> {
        self.read_as(element, Stamp::of(who, Kind::Copying), who)
    }

    /// They have waited for them.
    pub(super) fn land_read(&self, element: usize, who: Who<'_>) {
        self.accesses.settle(element, Kind::Copying, who);
        self.accesses.add(element, Stamp::of(who, Kind::Plain), who, |_| None::<Hazard>);
    }

    fn read_as(&self, element: usize, stamp: Stamp, who: Who<'_>) -> Option<Hazard> {
        let change = self.accesses.add(element, stamp, who, |before| {
            if before.kind.reads() { None } else { conflict(before, who, true) }
        });
        self.unordered_write(element, who).or(change)
    }

    /// A thread writes an element.
    pub(super) fn write(&self, element: usize, who: Who<'_>) -> Option<Hazard> {
        let stamp = Stamp::of(who, Kind::Plain);
        let write = self.writes.replace(element, stamp, |before| conflict(before, who, true));
        write.or_else(|| self.unordered_access(element, who))
    }

    fn unordered_write(&self, element: usize, who: Who<'_>) -> Option<Hazard> {
        self.writes.find(element, |before| conflict(before, who, true))
    }

    fn unordered_access(&self, element: usize, who: Who<'_>) -> Option<Hazard> {
        self.accesses.find(element, |before| conflict(before, who, !before.kind.reads()))
    }

    /// TMA reads an element, for a thread; it has when the mbarrier of an engine says so for a time, where there is one.
    pub(super) fn read_by_proxy(
        &self,
        element: usize,
        who: Who<'_>,
        fences: &ProxyFences,
        engine: Option<(usize, u32)>,
    ) -> Option<Hazard> {
        let unseen = |before| hidden(before, who, fences);
        let stamp = engine.map_or(Stamp::of(who, Kind::Plain), |engine| Stamp::loading(who, engine));
        self.read_as(element, stamp, who).or_else(|| self.writes.find(element, unseen)).or_else(|| {
            self.accesses.find(element, |before| before.kind.is_atomic().then(|| unseen(before))?)
        })
    }

    /// TMA starts to write an element, for a thread; from here on it is in flight.
    pub(super) fn write_by_proxy(&self, element: usize, who: Who<'_>, proxy: &Proxy) -> Option<Hazard> {
        let unseen = |before| hidden(before, who, &proxy.global_fences);
        let mut write = None;
        let stamp = Stamp::of(who, Kind::InFlight);
        let hazard = self.writes.replace(element, stamp, |before| {
            write = write.or_else(|| unseen(before));
            conflict(before, who, true)
        });
        let hazard = hazard.or_else(|| self.unordered_access(element, who)).or(write).or_else(|| {
            self.accesses.find(element, |before| before.kind.is_atomic().then(|| unseen(before))?)
        });
        hazard.or_else(|| self.unread(element, who, &proxy.reads))
    }

    /// A read of an element by the warp that starts work of the proxy, which nothing has waited for.
    fn unread(&self, element: usize, who: Who<'_>, reads: &Reads) -> Option<Hazard> {
        self.accesses.find(element, |before| {
            let rank = who.rank(before.block).filter(|_| before.kind == Kind::Plain)?;
            let own = rank * who.warps_of_block() + before.warp == who.warp as usize;
            let open = if own { reads.open(who, before.lanes, before.clock) } else { 0 };
            (open != 0).then(|| Hazard::Unread { thread: thread(who.warp as usize, open) })
        })
    }

    /// What TMA wrote is there, and the thread knows.
    pub(super) fn land_by_proxy(&self, element: usize, who: Who<'_>) {
        self.writes.replace(element, Stamp::of(who, Kind::Landed), |_| None::<Hazard>);
    }

    /// TMA starts to add to an element, for a thread; with other additions and atomic operations that is no hazard.
    pub(super) fn add_by_proxy(&self, element: usize, who: Who<'_>, proxy: &Proxy) -> Option<Hazard> {
        let unseen = |before| hidden(before, who, &proxy.global_fences);
        let unread = self.unread(element, who, &proxy.reads);
        let access = self.change(element, Stamp::of(who, Kind::Adding), who, Scope::Device);
        access.or_else(|| self.writes.find(element, unseen)).or(unread)
    }

    /// What TMA added is there, and the thread knows.
    pub(super) fn land_added(&self, element: usize, who: Who<'_>) {
        self.accesses.settle(element, Kind::Adding, who);
        self.accesses.add(element, Stamp::of(who, Kind::Atomic), who, |_| None::<Hazard>);
    }

    /// Threads change an element by an atomic operation: those of several threads are no hazard, where each one's scope
    /// holds the other.
    pub(super) fn atomic(&self, element: usize, who: Who<'_>, scope: Scope) -> Option<Hazard> {
        let kind = if scope == Scope::Block { Kind::Narrow } else { Kind::Atomic };
        self.change(element, Stamp::of(who, kind), who, scope)
    }

    fn change(&self, element: usize, stamp: Stamp, who: Who<'_>, scope: Scope) -> Option<Hazard> {
        let access = self.accesses.add(element, stamp, who, |before| match before.kind {
            Kind::Plain | Kind::Copying | Kind::Loading => conflict(before, who, false),
            Kind::Atomic | Kind::Narrow | Kind::Adding => narrow(before, who, scope),
            Kind::Landed | Kind::InFlight => conflict(before, who, true),
        });
        self.unordered_write(element, who).or(access)
    }

    /// Threads load an element atomically: with atomic operations that is no hazard either.
    pub(super) fn atomic_read(&self, element: usize, who: Who<'_>, scope: Scope) -> Option<Hazard> {
        self.unordered_write(element, who).or_else(|| {
            let found = |before: Stamp| before.kind.is_atomic().then(|| narrow(before, who, scope))?;
            self.accesses.find(element, found)
        })
    }
}

/// Atomic operations of two blocks that nothing orders, of which one is of its block's scope.
fn narrow(before: Stamp, who: Who<'_>, scope: Scope) -> Option<Hazard> {
    if scope != Scope::Block && before.kind != Kind::Narrow || before.block == who.block() {
        return None;
    }
    let block = (before.block != MANY_BLOCKS).then_some(before.block);
    conflict(before, who, true).map(|_| Hazard::Narrow { block })
}

/// What TMA does not see of a write, though the thread that starts it knows of the write.
fn hidden(before: Stamp, who: Who<'_>, fences: &ProxyFences) -> Option<Hazard> {
    if matches!(before.kind, Kind::Landed | Kind::InFlight | Kind::Adding) || before.block == MANY_BLOCKS {
        return None;
    }
    let mut lanes = each_lane(before.lanes);
    let unseen = lanes.any(|lane| !fences.show(before.block, before.warp, lane as u32, before.clock, who));
    unseen.then_some(Hazard::Hidden { block: before.block })
}

/// What is wrong with an access after one before.
fn conflict(before: Stamp, who: Who<'_>, wrote: bool) -> Option<Hazard> {
    let left = before.unordered(who);
    let other = match who.rank(before.block) {
        _ if before.block == MANY_BLOCKS => Some(None),
        Some(_) => None,
        None => Some(Some(before.block)),
    };
    match other {
        // Who knows of the issue, or shares the cluster with it, lacks the wait.
        None if matches!(before.kind, Kind::InFlight | Kind::Adding) => Some(Hazard::InFlight),
        None if before.kind == Kind::Loading => {
            (left != 0).then_some(Hazard::Reader { thread: Some(thread(before.warp, 1)) })
        }
        None if before.kind == Kind::Copying => {
            let rank = who.rank(before.block).unwrap_or_default();
            Some(Hazard::Copied { thread: thread(rank * who.warps_of_block() + before.warp, before.lanes) })
        }
        _ if left == 0 && matches!(before.kind, Kind::InFlight | Kind::Adding) => Some(Hazard::InFlight),
        _ if left == 0 => None,
        Some(block) => Some(Hazard::OtherBlock { block, wrote }),
        None => {
            let rank = who.rank(before.block).unwrap_or_default();
            let first = thread(rank * who.warps_of_block() + before.warp, left);
            let one = left.is_power_of_two().then_some(first);
            Some(if wrote {
                Hazard::Writer { thread: first, site: 0 }
            } else {
                Hazard::Reader { thread: one }
            })
        }
    }
}
