//! Races: unordered accesses of one element, by threads and by the asynchronous proxy.
//!
//! Time is a vector clock of warps and lanes (`memory`). An access of a lane at a time happens-before a thread's next
//! step if the thread's clock covers it, or if the lane is the thread itself.
//!
//! Law: two accesses of one element by different threads, one of them a write, are a hazard unless one happens-before
//! the other. The shadow of an element keeps every read and every atomic operation that no later one covers. A read of
//! shared memory before the first write is reported, too.

use crate::bytecode::{LANES, Program};
use crate::event::{ACCESSES, Access, AccessKind, Event, OTHERS};
use crate::machine::Machine;
use crate::machine::{Analysis, Observer};
use crate::state::cluster;
use access::Write;
use global::GlobalShadow;
use layout_compiler::program::AtomicChange;
use shared::SharedShadow;
use std::collections::HashMap;

mod access;
mod boxes;
mod global;
mod messages;
mod proxy;
mod shared;
mod stamps;

/// The analysis: the shadow of each written argument.
pub(crate) struct Races(Vec<Option<GlobalShadow>>);

impl Races {
    /// The error is the argument that is too large.
    pub(crate) fn of(elements: &[Option<usize>], program: &Program) -> Result<Races, usize> {
        let shadow = |(argument, elements): (usize, &Option<usize>)| {
            let of = |elements| GlobalShadow::new(elements, program.waits).ok_or(argument);
            elements.map(of).transpose()
        };
        elements.iter().enumerate().map(shadow).collect::<Result<_, _>>().map(Races)
    }
}

impl Analysis for Races {
    fn observer(&self) -> Box<dyn Observer + '_> {
        let (found, uninitialised_reads) = (HashMap::new(), HashMap::new());
        Box::new(RaceState { tensors: &self.0, shared: SharedShadow::new(0, 0), found, uninitialised_reads })
    }
}

/// The state of a cluster.
struct RaceState<'j> {
    /// The shadows of tensors, shared by all clusters.
    tensors: &'j [Option<GlobalShadow>],
    shared: SharedShadow,
    /// The hazards of tensor stores in flight, by warp and number; reported when the store writes.
    found: HashMap<(u32, u32), Vec<(i64, Hazard)>>,
    /// Reads of uninitialised shared elements: their address and site.
    uninitialised_reads: HashMap<i64, u32>,
}

impl RaceState<'_> {
    fn tensor(&self, argument: u32) -> Option<&GlobalShadow> {
        self.tensors.get(argument as usize)?.as_ref()
    }

    fn start(&mut self, machine: &Machine<'_>) {
        self.found.clear();
        self.uninitialised_reads.clear();
        let program = machine.launch.program;
        let bytes = machine.ranks() as u32 * cluster::stride(program);
        let cells = bytes.div_ceil(program.granule.max(1)) as usize;
        self.shared.begin(cells, machine.proxy.columns());
    }

    fn access(&mut self, access: &Access<'_>, machine: &Machine<'_>) {
        match access.kind {
            AccessKind::Load(_) => self.reads(access, false, machine),
            AccessKind::AsyncRead => self.reads(access, true, machine),
            AccessKind::Store(_, equal) => self.writes(access, equal, Write::Plain, machine),
            AccessKind::BarrierInit => self.writes(access, access.elements.active, Write::Plain, machine),
            AccessKind::AsyncWrite => self.writes(access, 0, Write::InFlight, machine),
            AccessKind::Atomic(atomic) => {
                let write = match atomic.change {
                    AtomicChange::Load(_) => Write::AtomicRead(atomic.scope),
                    AtomicChange::Store(_) => Write::AtomicStore(atomic.scope),
                    AtomicChange::Add
                    | AtomicChange::Max
                    | AtomicChange::Min
                    | AtomicChange::And
                    | AtomicChange::Or
                    | AtomicChange::Xor
                    | AtomicChange::Exchange
                    | AtomicChange::CompareExchange => Write::Atomic(atomic.scope),
                };
                self.writes(access, 0, write, machine);
            }
            // `Event::LoadIssued` follows.
            AccessKind::RemoteWrite => {}
        }
    }
}

impl Observer for RaceState<'_> {
    fn interests(&self) -> u8 {
        ACCESSES | OTHERS
    }

    fn on_event(&mut self, event: &Event<'_>, machine: &Machine<'_>) {
        match event {
            Event::Start => self.start(machine),
            Event::Access(access) => self.access(access, machine),
            Event::CopyCompleted { warp, lanes, copy } => self.copy_completed(warp, *lanes, copy, machine),
            Event::BarrierAccess { warp, site, elements, rank } => {
                self.barrier_access(warp, *site, elements, *rank, machine)
            }
            Event::BoxRead { warp, copy, engine } => self.box_read(warp, copy, *engine, machine),
            Event::LoadIssued { warp, lane, copy, engine, pieces } => {
                self.load_issued((warp, *lane), copy, *engine, pieces, machine);
            }
            Event::LoadCompleted { site, engine, pieces, size } => {
                for (address, _) in *pieces {
                    let cells = machine.cells(u64::from(*address), *size as u64);
                    cells.for_each(|cell| self.shared.complete_by_proxy(cell, engine.0, engine.1, *site));
                }
            }
            Event::BoxStoreIssued { warp, copy, engine } => {
                self.box_store_issued(warp, copy, *engine, machine)
            }
            Event::BoxStoreCompleted { warp, copy, number, data } => {
                self.box_store_completed(warp, copy, *number, data, machine);
            }
            Event::OperandRead { warp, matrix, engine, lanes, pieces } => {
                self.operand((warp, *lanes), matrix, *engine, pieces, machine);
            }
            _ => {}
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hazard {
    /// No write precedes the access.
    Uninitialised,
    /// A copy to the element is in flight.
    InFlight,
    /// The write of this thread is not ordered with the access.
    Writer { thread: u32, site: u32 },
    /// A read is not ordered with the write; `thread` if it is the only one.
    Reader { thread: Option<u32> },
    /// A `cp.async` of this thread in flight reads the element.
    PendingRead { thread: u32 },
    /// The write of this thread is ordered but not visible to the asynchronous proxy.
    Unfenced { thread: u32, site: u32 },
    /// This thread of the issuing warp reads the element that TMA overwrites, and nothing waits for the read.
    Unread { thread: u32 },
    /// Atomic operations of two blocks, one of them of block scope.
    Narrow { block: Option<u64> },
    /// A write to a tensor by this block is ordered but not visible to the asynchronous proxy.
    Hidden { block: u64 },
    /// An access of another block, a write or a read, is not ordered.
    OtherBlock { block: Option<u64>, wrote: bool },
}

/// The number of a warp's first thread among these lanes.
fn thread(warp: usize, lanes: u32) -> u32 {
    warp as u32 * LANES as u32 + lanes.trailing_zeros().min(LANES as u32 - 1)
}
