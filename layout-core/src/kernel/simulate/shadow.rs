//! What is known of each element's last accesses: who touched it, when, and whether anything orders the accesses.
//!
//! Time is a vector clock of warps: `clocks[w]` of a warp is the last time of warp `w` that happened before its own
//! next step. A stamp of thread `t` of warp `w` at time `c` is ordered before a warp's next step if `c < clocks[w]`, or
//! if the accessor is `t` itself; the threads of one warp are not ordered among each other without a barrier.
//!
//! Law: two accesses of one element, one of them a write, by different threads, are a hazard unless a chain of barriers
//! orders them.

use super::bytecode::LANES;
use super::cluster::Block;
use super::order::Known;
use crate::kernel::program::Scope;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

mod proxy;

pub(super) use proxy::{Fences, GlobalFences};

/// What is wrong with an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hazard {
    /// Nothing has written the element.
    Uninitialised,
    /// An asynchronous copy to it is in flight.
    InFlight,
    /// This thread's write is not ordered with the access, at this site.
    Writer { thread: u32, site: u32 },
    /// A thread's read is not ordered with the write; the thread where it is one.
    Reader { thread: Option<u32> },
    /// This thread's write is ordered with the access, but not seen by the asynchronous proxy.
    Unfenced { thread: u32, site: u32 },
    /// An atomic operation beside another block's, of which one is of its block's scope.
    Narrow { block: Option<u64> },
    /// A thread of this block wrote the element of a tensor: that is ordered with the access, but not seen by the
    /// asynchronous proxy.
    Hidden { block: u64 },
    /// Another block's access of this number is not ordered with it, a write or not.
    OtherBlock { block: Option<u64>, wrote: bool },
}

/// Who accesses.
#[derive(Clone, Copy)]
pub(super) struct Who<'c> {
    /// The warp.
    pub warp: u32,
    /// The lane.
    pub lane: u32,
    /// The warp's clocks.
    pub clocks: &'c [u32],
    /// The least of them: what every warp did before it is ordered before this access.
    floor: u32,
    /// The times of the asynchronous proxy's engines that it knows; their numbers follow the warps'.
    engines: &'c [u32],
    /// The blocks whose warps the clocks are of, by rank.
    blocks: &'c [Block],
    /// What of other blocks happened before, where they are ordered at all.
    known: Option<&'c Known>,
}

impl<'c> Who<'c> {
    /// Lane 0 of a warp.
    pub(super) fn new(warp: u32, clocks: &'c [u32]) -> Who<'c> {
        let floor = clocks.iter().fold(u32::MAX, |least, clock| (*clock).min(least));
        Who { warp, lane: 0, clocks, floor, engines: &[], blocks: &[], known: None }
    }

    /// With what it knows of the asynchronous proxy, and the blocks of its cluster, by rank.
    pub(super) fn seeing(self, engines: &'c [u32], blocks: &'c [Block]) -> Who<'c> {
        Who { engines, blocks, ..self }
    }

    /// With what it knows of other blocks.
    pub(super) fn knowing(self, known: Option<&'c Known>) -> Who<'c> {
        Who { known, ..self }
    }

    /// Another lane of the same warp.
    pub(super) fn lane(self, lane: usize) -> Who<'c> {
        Who { lane: lane as u32, ..self }
    }

    fn thread(self) -> u32 {
        self.warp * LANES as u32 + self.lane
    }
    /// Warps of a block.
    fn warps_of_block(self) -> usize {
        (self.clocks.len() / self.blocks.len().max(1)).max(1)
    }
    /// Its number in its block.
    fn inside(self) -> u32 {
        self.thread() % (self.warps_of_block() * LANES) as u32
    }
    fn now(self) -> u32 {
        self.clocks[self.warp as usize]
    }
    /// Whether a stamp of another thread is ordered before this access.
    fn after(self, warp: u32, clock: u32) -> bool {
        let engine = (warp as usize).checked_sub(self.clocks.len());
        let known = engine.map_or_else(|| self.clocks.get(warp as usize), |engine| self.engines.get(engine));
        known.is_some_and(|known| clock < *known)
    }
}

#[derive(Clone, Copy, Default)]
struct Write {
    /// 0: never.
    clock: u32,
    thread: u16,
    flags: u16,
    site: u32,
}

const INITIALISED: u16 = 1;
const IN_FLIGHT: u16 = 2;
const ATOMIC: u16 = 4;
/// Written by the asynchronous proxy.
const PROXY: u16 = 8;
/// In the low bits of a read stamp: several lanes of the warp.
const MANY: u32 = 32;

/// The shadow of a block's shared memory, a cell for each `granule` bytes.
pub(super) struct SharedShadow {
    /// Warps, and engines that read.
    columns: usize,
    writes: Vec<Write>,
    /// For each cell and column `clock << 6 | lane`.
    reads: Vec<u32>,
}

impl SharedShadow {
    /// Cells for a block of some warps, and engines that read.
    pub(super) fn new(cells: usize, columns: usize) -> SharedShadow {
        SharedShadow { columns, writes: vec![Write::default(); cells], reads: vec![0; cells * columns] }
    }

    /// A new block: nothing is written or read.
    pub(super) fn reset(&mut self) {
        self.writes.fill(Write::default());
        self.reads.fill(0);
    }

    /// A thread reads a cell.
    #[inline]
    pub(super) fn read(&mut self, cell: usize, who: Who<'_>) -> Option<Hazard> {
        let write = self.writes[cell];
        let stamp = &mut self.reads[cell * self.columns + who.warp as usize];
        let now = who.now();
        *stamp =
            if *stamp >> 6 == now && *stamp & 63 != who.lane { now << 6 | MANY } else { now << 6 | who.lane };
        if write.flags == INITIALISED && write.clock < who.floor {
            return None;
        }
        unready(write).or_else(|| unordered(write, who))
    }

    /// Several lanes of a warp read a cell; the lanes' own writes of it are told apart.
    #[inline]
    pub(super) fn read_by_all(&mut self, cell: usize, open: u32, who: Who<'_>) -> Option<Hazard> {
        let write = self.writes[cell];
        let now = who.now();
        self.reads[cell * self.columns + who.warp as usize] = now << 6 | MANY;
        if write.flags == INITIALISED && write.clock < who.floor {
            return None;
        }
        let own =
            u32::from(write.thread) / LANES as u32 == who.warp && open == 1 << (write.thread % LANES as u16);
        unready(write).or_else(|| if own { None } else { unordered(write, Who { lane: MANY, ..who }) })
    }

    /// A thread writes a cell; `in_flight` where the write lands later.
    pub(super) fn write(&mut self, cell: usize, who: Who<'_>, site: u32, in_flight: bool) -> Option<Hazard> {
        let flags = self.writes[cell].flags;
        let hazard = if flags & IN_FLIGHT != 0 {
            Some(Hazard::InFlight)
        } else {
            unordered(self.writes[cell], who).or_else(|| self.unordered_reader(cell, who))
        };
        let flags = if in_flight { flags | IN_FLIGHT } else { flags & IN_FLIGHT | INITIALISED };
        self.writes[cell] = Write { clock: who.now(), thread: who.thread() as u16, flags, site };
        hazard
    }

    /// A thread changes a cell by an atomic operation: those of several threads are no hazard.
    pub(super) fn atomic(&mut self, cell: usize, who: Who<'_>, site: u32) -> Option<Hazard> {
        let write = self.writes[cell];
        let writer = if write.flags & ATOMIC == 0 { unordered(write, who) } else { None };
        let hazard = unready(write).or(writer).or_else(|| self.unordered_reader(cell, who));
        let (clock, thread) = (who.now(), who.thread() as u16);
        self.writes[cell] = Write { clock, thread, flags: INITIALISED | ATOMIC, site };
        hazard
    }

    /// A thread reads a cell undivided: with other threads' atomic operations that is no hazard.
    pub(super) fn atomic_read(&mut self, cell: usize, who: Who<'_>) -> Option<Hazard> {
        let write = self.writes[cell];
        unready(write).or(if write.flags & ATOMIC == 0 { unordered(write, who) } else { None })
    }

    /// A copy of a thread lands in a cell.
    pub(super) fn land(&mut self, cell: usize, who: Who<'_>, site: u32) {
        let thread = who.thread() as u16;
        self.writes[cell] = Write { clock: who.now(), thread, flags: INITIALISED, site };
    }

    fn unordered_reader(&self, cell: usize, who: Who<'_>) -> Option<Hazard> {
        let stamps = &self.reads[cell * self.columns..(cell + 1) * self.columns];
        stamps.iter().enumerate().find_map(|(warp, stamp)| {
            let (warp, clock, lane) = (warp as u32, stamp >> 6, stamp & 63);
            let own = warp == who.warp && lane == who.lane;
            if clock == 0 || own || who.after(warp, clock) {
                return None;
            }
            Some(Hazard::Reader { thread: (lane != MANY).then_some(warp * LANES as u32 + lane) })
        })
    }
}

/// Whether a cell holds no value yet.
fn unready(write: Write) -> Option<Hazard> {
    match write.flags {
        flags if flags & IN_FLIGHT != 0 => Some(Hazard::InFlight),
        flags if flags & INITIALISED != 0 => None,
        _ => Some(Hazard::Uninitialised),
    }
}

fn unordered(write: Write, who: Who<'_>) -> Option<Hazard> {
    let thread = u32::from(write.thread);
    let (warp, lane) = (thread / LANES as u32, thread % LANES as u32);
    let own = warp == who.warp && lane == who.lane;
    (write.clock != 0 && !own && !who.after(warp, write.clock))
        .then_some(Hazard::Writer { thread, site: write.site })
}

/// The shadow of a tensor that the launch writes: the last writer and the last reader of each element.
///
/// A stamp is `block + 1` (32 bits), thread in the block or [`THREADS_MANY`] (11), whether it is of an atomic operation
/// (1), whether that is of the block's scope (1), clock (19, it stops at its largest value). A write that is of no atomic
/// operation and yet of the block's scope is the copy engine's; by many threads, one that is in flight. Blocks of one cluster are ordered by what their warps wait for, others
/// by releases and acquires only. Blocks on different host threads may use it at once: whichever comes second sees the
/// first.
pub(super) struct GlobalShadow {
    cells: Vec<[AtomicU64; 2]>,
}

const THREADS_MANY: u64 = (1 << 11) - 1;
const ATOMIC_STAMP: u64 = 1 << 20;
const NARROW_STAMP: u64 = 1 << 19;
const CLOCK: u64 = (1 << 19) - 1;
const BLOCK_MANY: u64 = u32::MAX as u64;

impl GlobalShadow {
    /// Cells for a tensor; `None` where there is no memory for them.
    pub(super) fn new(elements: usize) -> Option<GlobalShadow> {
        let mut cells = Vec::new();
        cells.try_reserve_exact(elements).ok()?;
        cells.resize_with(elements, Default::default);
        Some(GlobalShadow { cells })
    }

    /// A thread of a block reads an element.
    pub(super) fn read(&self, element: usize, block: u64, who: Who<'_>) -> Option<Hazard> {
        let [writer, reader] = self.cells.get(element)?;
        let mine = stamp(block, u64::from(who.inside()), who.now());
        let before = reader.swap(mine, SeqCst);
        let joined = join(before, mine);
        if joined != mine {
            reader.store(joined, SeqCst);
        }
        conflict(writer.load(SeqCst), block, who, true)
    }

    /// A thread of a block writes an element.
    pub(super) fn write(&self, element: usize, block: u64, who: Who<'_>) -> Option<Hazard> {
        let [writer, reader] = self.cells.get(element)?;
        let before = writer.swap(stamp(block, u64::from(who.inside()), who.now()), SeqCst);
        conflict(before, block, who, true).or_else(|| conflict(reader.load(SeqCst), block, who, false))
    }

    /// The copy engine reads an element, for a thread of a block.
    pub(super) fn read_by_proxy(
        &self,
        element: usize,
        block: u64,
        who: Who<'_>,
        fences: &GlobalFences,
    ) -> Option<Hazard> {
        let hazard = self.read(element, block, who);
        hazard.or_else(|| hidden(self.cells.get(element)?[0].load(SeqCst), block, who, fences))
    }

    /// The copy engine starts to write an element, for a thread of a block; from here on it is in flight.
    pub(super) fn write_by_proxy(
        &self,
        element: usize,
        block: u64,
        who: Who<'_>,
        fences: &GlobalFences,
    ) -> Option<Hazard> {
        let [writer, reader] = self.cells.get(element)?;
        let before = writer.swap(stamp(block, THREADS_MANY, who.now()) | NARROW_STAMP, SeqCst);
        conflict(before, block, who, true)
            .or_else(|| conflict(reader.load(SeqCst), block, who, false))
            .or_else(|| hidden(before, block, who, fences))
    }

    /// What the copy engine wrote is there, and the thread knows.
    pub(super) fn land_by_proxy(&self, element: usize, block: u64, who: Who<'_>) {
        if let Some([writer, _]) = self.cells.get(element) {
            writer.store(stamp(block, u64::from(who.inside()), who.now()) | NARROW_STAMP, SeqCst);
        }
    }

    /// A thread of a block changes an element by an atomic operation: those of several threads are no hazard, where each
    /// one's scope holds the other.
    pub(super) fn atomic(&self, element: usize, block: u64, who: Who<'_>, scope: Scope) -> Option<Hazard> {
        let [writer, reader] = self.cells.get(element)?;
        let narrow = if scope == Scope::Block { NARROW_STAMP } else { 0 };
        let mine = stamp(block, u64::from(who.inside()), who.now()) | ATOMIC_STAMP | narrow;
        let before = writer.swap(mine, SeqCst);
        if before & ATOMIC_STAMP != 0 && join(before, mine) != mine {
            writer.store(join(before, mine) | (before & NARROW_STAMP), SeqCst);
        }
        written(before, block, who, scope).or_else(|| conflict(reader.load(SeqCst), block, who, false))
    }

    /// A thread of a block reads an element undivided: with atomic operations that is no hazard, likewise.
    pub(super) fn atomic_read(
        &self,
        element: usize,
        block: u64,
        who: Who<'_>,
        scope: Scope,
    ) -> Option<Hazard> {
        written(self.cells.get(element)?[0].load(SeqCst), block, who, scope)
    }
}

/// What an atomic operation finds wrong with the write before.
fn written(before: u64, block: u64, who: Who<'_>, scope: Scope) -> Option<Hazard> {
    let owner = before >> 32;
    if before & ATOMIC_STAMP == 0 {
        return conflict(before, block, who, true);
    }
    let narrow = scope == Scope::Block || before & NARROW_STAMP != 0;
    if !narrow || owner == block + 1 {
        return None;
    }
    let block_of = (owner != BLOCK_MANY).then(|| owner - 1);
    conflict(before, block, who, true).map(|_| Hazard::Narrow { block: block_of })
}

/// Whether a write is the copy engine's.
fn by_proxy(before: u64) -> bool {
    before & (ATOMIC_STAMP | NARROW_STAMP) == NARROW_STAMP
}

fn in_flight(before: u64) -> bool {
    by_proxy(before) && before >> 21 & THREADS_MANY == THREADS_MANY
}

/// What the copy engine does not see of a write, though the thread that starts it knows of the write.
fn hidden(before: u64, block: u64, who: Who<'_>, fences: &GlobalFences) -> Option<Hazard> {
    let (owner, thread, clock) = (before >> 32, before >> 21 & THREADS_MANY, before & CLOCK);
    // Of several threads' atomic operations not each is known.
    if before == 0 || by_proxy(before) || thread == THREADS_MANY || owner == BLOCK_MANY || clock == CLOCK {
        return None;
    }
    let (thread, clock, each) = (thread as u32, clock as u32, (who.warps_of_block() * LANES) as u32);
    let own = (owner == block + 1).then_some(0);
    let rank = who.blocks.iter().position(|known| known.number + 1 == owner).or(own);
    let seen = match rank {
        Some(rank) => fences.show(rank as u32 * each + thread, clock, who),
        None => fences.show_other(owner - 1, thread / LANES as u32, clock, who),
    };
    (!seen).then_some(Hazard::Hidden { block: owner - 1 })
}

fn stamp(block: u64, thread: u64, clock: u32) -> u64 {
    (block + 1) << 32 | thread << 21 | u64::from(clock).min(CLOCK)
}

/// Both readers in one stamp.
fn join(before: u64, mine: u64) -> u64 {
    if before == 0 {
        mine
    } else if before >> 32 != mine >> 32 {
        BLOCK_MANY << 32 | mine & u64::from(u32::MAX)
    } else if before & CLOCK == mine & CLOCK && before != mine {
        mine | THREADS_MANY << 21
    } else {
        mine
    }
}

fn conflict(before: u64, block: u64, who: Who<'_>, wrote: bool) -> Option<Hazard> {
    let found = unordered_stamp(before, block, who, wrote);
    match found {
        // Who knows of the issue, or shares the cluster with it, lacks the wait.
        None | Some(Hazard::Writer { .. }) if in_flight(before) => Some(Hazard::InFlight),
        found => found,
    }
}

fn unordered_stamp(before: u64, block: u64, who: Who<'_>, wrote: bool) -> Option<Hazard> {
    let (owner, thread, clock) = (before >> 32, before >> 21 & THREADS_MANY, before & CLOCK);
    if before == 0 {
        return None;
    }
    let many = thread == THREADS_MANY;
    let (each, threads) = (who.warps_of_block() as u32, (who.warps_of_block() * LANES) as u32);
    let own = owner == block + 1;
    let first = match who.blocks.iter().position(|known| known.number + 1 == owner) {
        Some(rank) => rank as u32 * each,
        None if own => 0,
        None => {
            let warp = (!many).then_some(thread as u32 / LANES as u32);
            let ordered = owner != BLOCK_MANY && clock != CLOCK;
            if ordered && who.known.is_some_and(|known| known.covers(owner - 1, warp, clock as u32)) {
                return None;
            }
            let block = (owner != BLOCK_MANY).then(|| owner - 1);
            return Some(Hazard::OtherBlock { block, wrote });
        }
    };
    let clock = clock as u32;
    let known = match many {
        true if own => who.after(who.warp, clock),
        true => (first..first + each).all(|warp| who.after(warp, clock)),
        false => who.after(first + thread as u32 / LANES as u32, clock),
    };
    let itself = own && !many && thread as u32 == who.inside();
    if itself || u64::from(clock) == CLOCK || known {
        return None;
    }
    let thread = thread as u32 + first / each * threads;
    Some(if wrote {
        Hazard::Writer { thread, site: 0 }
    } else {
        Hazard::Reader { thread: (!many).then_some(thread) }
    })
}
