//! The shadow of a written tensor: the last write of each element, and its unordered reads and atomic operations.
//!
//! If no thread can wait for another block, blocks of different clusters are never ordered. Then the shadow stores only
//! that several of them accessed the element.

use super::stamps::{Kind, MANY_BLOCKS, Stamp, Stamps};
use super::{Hazard, thread};
use crate::memory::fences::ProxyFences;
use crate::memory::lane_clocks::Accessor;
use crate::memory::reads::Reads;
use crate::state::proxy::Proxy;
use crate::state::warp::each_lane;
use layout_compiler::program::Scope;

pub(super) struct GlobalShadow {
    /// The last plain write of each element, by a thread or by TMA.
    writes: Stamps,
    accesses: Stamps,
}

impl GlobalShadow {
    /// `waits` if blocks can be ordered; `None` if there is not enough memory.
    pub(super) fn new(elements: usize, waits: bool) -> Option<GlobalShadow> {
        Some(GlobalShadow { writes: Stamps::new(elements, waits)?, accesses: Stamps::new(elements, waits)? })
    }

    pub(super) fn read(&self, element: usize, accessor: Accessor<'_>) -> Option<Hazard> {
        self.read_as(element, Stamp::of(accessor, Kind::Plain), accessor)
    }

    /// Lanes of a warp issue a `cp.async` from an element.
    pub(super) fn read_in_flight(&self, element: usize, accessor: Accessor<'_>) -> Option<Hazard> {
        self.read_as(element, Stamp::of(accessor, Kind::Copying), accessor)
    }

    /// They have waited for it.
    pub(super) fn complete_read(&self, element: usize, accessor: Accessor<'_>) {
        self.accesses.settle(element, Kind::Copying, accessor);
        self.accesses.add(element, Stamp::of(accessor, Kind::Plain), accessor, |_| None::<Hazard>);
    }

    fn read_as(&self, element: usize, stamp: Stamp, accessor: Accessor<'_>) -> Option<Hazard> {
        let change = self.accesses.add(element, stamp, accessor, |before| {
            if before.kind.reads() { None } else { conflict(before, accessor, true) }
        });
        self.unordered_write(element, accessor).or(change)
    }

    pub(super) fn write(&self, element: usize, accessor: Accessor<'_>) -> Option<Hazard> {
        let stamp = Stamp::of(accessor, Kind::Plain);
        let write = self.writes.replace(element, stamp, |before| conflict(before, accessor, true));
        write.or_else(|| self.unordered_access(element, accessor))
    }

    fn unordered_write(&self, element: usize, accessor: Accessor<'_>) -> Option<Hazard> {
        self.writes.find(element, |before| conflict(before, accessor, true))
    }

    fn unordered_access(&self, element: usize, accessor: Accessor<'_>) -> Option<Hazard> {
        self.accesses.find(element, |before| conflict(before, accessor, !before.kind.reads()))
    }

    /// TMA reads an element; the read completes with a phase of the engine's mbarrier.
    pub(super) fn read_by_proxy(
        &self,
        element: usize,
        accessor: Accessor<'_>,
        fences: &ProxyFences,
        engine: Option<(usize, u32)>,
    ) -> Option<Hazard> {
        let unseen = |before| hidden(before, accessor, fences);
        let stamp =
            engine.map_or(Stamp::of(accessor, Kind::Plain), |engine| Stamp::loading(accessor, engine));
        self.read_as(element, stamp, accessor).or_else(|| self.writes.find(element, unseen)).or_else(|| {
            self.accesses.find(element, |before| before.kind.is_atomic().then(|| unseen(before))?)
        })
    }

    /// TMA starts to write an element, which is in flight from here on.
    pub(super) fn write_by_proxy(
        &self,
        element: usize,
        accessor: Accessor<'_>,
        proxy: &Proxy,
    ) -> Option<Hazard> {
        let unseen = |before| hidden(before, accessor, &proxy.global_fences);
        let mut write = None;
        let stamp = Stamp::of(accessor, Kind::InFlight);
        let hazard = self.writes.replace(element, stamp, |before| {
            write = write.or_else(|| unseen(before));
            conflict(before, accessor, true)
        });
        let hazard = hazard.or_else(|| self.unordered_access(element, accessor)).or(write).or_else(|| {
            self.accesses.find(element, |before| before.kind.is_atomic().then(|| unseen(before))?)
        });
        hazard.or_else(|| self.unread(element, accessor, &proxy.reads))
    }

    /// A read by the issuing warp that may be outstanding.
    fn unread(&self, element: usize, accessor: Accessor<'_>, reads: &Reads) -> Option<Hazard> {
        self.accesses.find(element, |before| {
            let rank = accessor.rank(before.block).filter(|_| before.kind == Kind::Plain)?;
            let own = rank * accessor.warps_of_block() + before.warp == accessor.warp as usize;
            let open = if own { reads.open(accessor, before.lanes, before.clock) } else { 0 };
            (open != 0).then(|| Hazard::Unread { thread: thread(accessor.warp as usize, open) })
        })
    }

    /// A TMA write has completed, and the thread has waited for it.
    pub(super) fn complete_by_proxy(&self, element: usize, accessor: Accessor<'_>) {
        self.writes.replace(element, Stamp::of(accessor, Kind::Landed), |_| None::<Hazard>);
    }

    /// TMA starts to add to an element; other additions and atomic operations do not conflict.
    pub(super) fn add_by_proxy(
        &self,
        element: usize,
        accessor: Accessor<'_>,
        proxy: &Proxy,
    ) -> Option<Hazard> {
        let unseen = |before| hidden(before, accessor, &proxy.global_fences);
        let unread = self.unread(element, accessor, &proxy.reads);
        let access = self.change(element, Stamp::of(accessor, Kind::Adding), accessor, Scope::Device);
        access.or_else(|| self.writes.find(element, unseen)).or(unread)
    }

    /// A TMA addition has completed, and the thread has waited for it.
    pub(super) fn complete_added(&self, element: usize, accessor: Accessor<'_>) {
        self.accesses.settle(element, Kind::Adding, accessor);
        self.accesses.add(element, Stamp::of(accessor, Kind::Atomic), accessor, |_| None::<Hazard>);
    }

    /// An atomic operation; others do not conflict if each one's scope contains the other thread.
    pub(super) fn atomic(&self, element: usize, accessor: Accessor<'_>, scope: Scope) -> Option<Hazard> {
        let kind = if scope == Scope::Block { Kind::Narrow } else { Kind::Atomic };
        self.change(element, Stamp::of(accessor, kind), accessor, scope)
    }

    fn change(&self, element: usize, stamp: Stamp, accessor: Accessor<'_>, scope: Scope) -> Option<Hazard> {
        let access = self.accesses.add(element, stamp, accessor, |before| match before.kind {
            Kind::Plain | Kind::Copying | Kind::Loading => conflict(before, accessor, false),
            Kind::Atomic | Kind::Narrow | Kind::Adding => narrow(before, accessor, scope),
            Kind::Landed | Kind::InFlight => conflict(before, accessor, true),
        });
        self.unordered_write(element, accessor).or(access)
    }

    /// An atomic load; atomic operations do not conflict.
    pub(super) fn atomic_read(&self, element: usize, accessor: Accessor<'_>, scope: Scope) -> Option<Hazard> {
        self.unordered_write(element, accessor).or_else(|| {
            let found = |before: Stamp| before.kind.is_atomic().then(|| narrow(before, accessor, scope))?;
            self.accesses.find(element, found)
        })
    }
}

/// Unordered atomic operations of two blocks, one of them of block scope.
fn narrow(before: Stamp, accessor: Accessor<'_>, scope: Scope) -> Option<Hazard> {
    if scope != Scope::Block && before.kind != Kind::Narrow || before.block == accessor.block() {
        return None;
    }
    let block = (before.block != MANY_BLOCKS).then_some(before.block);
    conflict(before, accessor, true).map(|_| Hazard::Narrow { block })
}

/// A write that happens-before the proxy access but is not visible to the proxy.
fn hidden(before: Stamp, accessor: Accessor<'_>, fences: &ProxyFences) -> Option<Hazard> {
    if matches!(before.kind, Kind::Landed | Kind::InFlight | Kind::Adding) || before.block == MANY_BLOCKS {
        return None;
    }
    let mut lanes = each_lane(before.lanes);
    let unseen = lanes
        .any(|lane| !fences.shows_in_grid(before.block, before.warp, lane as u32, before.clock, accessor));
    unseen.then_some(Hazard::Hidden { block: before.block })
}

/// The hazard of an access and an earlier one.
fn conflict(before: Stamp, accessor: Accessor<'_>, wrote: bool) -> Option<Hazard> {
    let left = before.unordered(accessor);
    let other = match accessor.rank(before.block) {
        _ if before.block == MANY_BLOCKS => Some(None),
        Some(_) => None,
        None => Some(Some(before.block)),
    };
    match other {
        // The issue is ordered or in the same cluster: the wait is missing.
        None if matches!(before.kind, Kind::InFlight | Kind::Adding) => Some(Hazard::InFlight),
        None if before.kind == Kind::Loading => {
            (left != 0).then_some(Hazard::Reader { thread: Some(thread(before.warp, 1)) })
        }
        None if before.kind == Kind::Copying => {
            let rank = accessor.rank(before.block).unwrap_or_default();
            Some(Hazard::PendingRead {
                thread: thread(rank * accessor.warps_of_block() + before.warp, before.lanes),
            })
        }
        _ if left == 0 && matches!(before.kind, Kind::InFlight | Kind::Adding) => Some(Hazard::InFlight),
        _ if left == 0 => None,
        Some(block) => Some(Hazard::OtherBlock { block, wrote }),
        None => {
            let rank = accessor.rank(before.block).unwrap_or_default();
            let first = thread(rank * accessor.warps_of_block() + before.warp, left);
            let one = left.is_power_of_two().then_some(first);
            Some(if wrote {
                Hazard::Writer { thread: first, site: 0 }
            } else {
                Hazard::Reader { thread: one }
            })
        }
    }
}
