//! Stamps of a tensor's elements: the accessing threads, the kind and the time.
//!
//! One stamp is a word: `block + 1` (32 bits), warp of the block (5), lane or all 32 (6), kind (3), clock (18). Several
//! unordered stamps, or one that does not fit, are in a side table. Host threads access the words concurrently: of two
//! accesses the second one observes the first.

use crate::bytecode::FULL;
use crate::memory::lane_clocks::Accessor;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Kind {
    /// A plain load or store.
    Plain,
    /// An atomic operation of device or cluster scope.
    Atomic,
    /// An atomic operation of block scope.
    Narrow,
    /// A completed TMA write.
    Landed,
    /// A TMA write in flight.
    InFlight,
    /// A read by a `cp.async` in flight.
    Copying,
    /// A read by a tensor load: the stamp's warp is the engine of the mbarrier, its clock the engine's time, its block
    /// the first one of the cluster.
    Loading,
    /// A TMA addition in flight.
    Adding,
}

impl Kind {
    /// Whether `self` conflicts with everything that `other` conflicts with, so that `other` need not be kept.
    fn covers(self, other: Kind) -> bool {
        self == other || (self, other) == (Kind::Narrow, Kind::Atomic)
    }
    pub(super) fn is_atomic(self) -> bool {
        matches!(self, Kind::Atomic | Kind::Narrow | Kind::Adding)
    }
    pub(super) fn reads(self) -> bool {
        matches!(self, Kind::Plain | Kind::Copying | Kind::Loading)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub block: u64,
    pub warp: usize,
    pub lanes: u32,
    pub clock: u32,
    pub kind: Kind,
}

/// The stamps are in the side table.
const SEVERAL: u64 = u64::MAX;
/// The block of accesses by several clusters.
pub(super) const MANY_BLOCKS: u64 = (1 << 32) - 2;
/// Later clocks do not fit a word.
const MOST_CLOCK: u32 = 1 << 18;

impl Stamp {
    pub(super) fn of(accessor: Accessor<'_>, kind: Kind) -> Stamp {
        let warp = accessor.warp as usize % accessor.warps_of_block();
        Stamp { block: accessor.block(), warp, lanes: accessor.lanes, clock: accessor.now(), kind }
    }

    /// A read by an engine of the cluster.
    pub(super) fn loading(accessor: Accessor<'_>, (engine, time): (usize, u32)) -> Stamp {
        Stamp { block: accessor.cluster(), warp: engine, lanes: 1, clock: time, kind: Kind::Loading }
    }

    /// The word, if it fits.
    fn word(self) -> Option<u64> {
        if self.kind == Kind::Loading {
            return None;
        }
        let lane = match self.lanes {
            FULL => 32,
            one if one.is_power_of_two() => u64::from(one.trailing_zeros()),
            _ => return None,
        };
        (self.clock < MOST_CLOCK).then_some(
            (self.block + 1) << 32
                | (self.warp as u64 & 31) << 27
                | lane << 21
                | (self.kind as u64) << 18
                | u64::from(self.clock),
        )
    }

    /// From a word that is neither 0 nor [`SEVERAL`].
    fn from(word: u64) -> Stamp {
        let lane = word >> 21 & 63;
        let kind = match word >> 18 & 7 {
            0 => Kind::Plain,
            1 => Kind::Atomic,
            2 => Kind::Narrow,
            3 => Kind::Landed,
            4 => Kind::InFlight,
            7 => Kind::Adding,
            _ => Kind::Copying,
        };
        let lanes = if lane >= 32 { FULL } else { 1 << lane };
        let (warp, clock) = ((word >> 27 & 31) as usize, word as u32 & (MOST_CLOCK - 1));
        Stamp { block: (word >> 32) - 1, warp, lanes, clock, kind }
    }

    /// Its lanes that are not ordered before the accessor's next step.
    pub(super) fn unordered(self, accessor: Accessor<'_>) -> u32 {
        if self.block == MANY_BLOCKS {
            return self.lanes;
        }
        if self.kind == Kind::Loading {
            return accessor.unordered_engine(self.block, self.warp, self.clock);
        }
        accessor.unordered_of(self.block, self.warp, self.lanes, self.clock)
    }

    /// The part that must be kept next to a later stamp.
    fn kept_next_to(self, later: Stamp, accessor: Accessor<'_>) -> Option<Stamp> {
        if !later.kind.covers(self.kind) {
            return Some(self);
        }
        let same = (self.block, self.warp) == (later.block, later.warp);
        // A lane's accesses are in program order: a clock that covers the later one covers both.
        let lanes = if same { self.lanes & !later.lanes } else { self.lanes };
        let lanes = Stamp { lanes, ..self }.unordered(accessor);
        (lanes != 0).then_some(Stamp { lanes, ..self })
    }

    /// One stamp for accesses of two clusters that cannot be ordered: every later access conflicts with one of them.
    fn joined(self, other: Stamp) -> Stamp {
        let plain = |kind: Kind| if kind.reads() { Kind::Plain } else { kind };
        let kind = match (plain(self.kind), plain(other.kind)) {
            (a, b) if a == b => a,
            (Kind::Adding, Kind::Atomic) | (Kind::Atomic, Kind::Adding) => Kind::Atomic,
            (a, b) if a.is_atomic() && b.is_atomic() => Kind::Narrow,
            // A kind that conflicts with everything.
            _ => Kind::Landed,
        };
        Stamp { block: MANY_BLOCKS, warp: 0, lanes: FULL, clock: 0, kind }
    }
}

#[derive(Debug, Default)]
struct Several(BTreeMap<(u64, usize), Vec<Stamp>>);

impl Several {
    /// Adds a stamp and removes those that it covers.
    fn add(&mut self, stamp: Stamp, accessor: Accessor<'_>) {
        let own = self.0.entry((stamp.block, stamp.warp)).or_default();
        *own = own.iter().filter_map(|known| known.kept_next_to(stamp, accessor)).collect();
        match own.iter_mut().find(|known| known.clock == stamp.clock && known.kind == stamp.kind) {
            Some(known) => known.lanes |= stamp.lanes,
            None => own.push(stamp),
        }
    }

    fn each(&self) -> impl Iterator<Item = Stamp> {
        self.0.values().flatten().copied()
    }
}

/// Parts of the side table, each with a lock.
const PARTS: usize = 64;

pub(super) struct Stamps {
    words: Vec<AtomicU64>,
    table: Vec<Mutex<HashMap<usize, Several>>>,
    /// Whether blocks can be ordered.
    waits: bool,
}

impl Stamps {
    pub(super) fn new(elements: usize, waits: bool) -> Option<Stamps> {
        let mut words = Vec::new();
        words.try_reserve_exact(elements).ok()?;
        words.resize_with(elements, AtomicU64::default);
        let table = std::iter::repeat_with(Mutex::default).take(PARTS).collect();
        Some(Stamps { words, table, waits })
    }

    fn part(&self, element: usize) -> MutexGuard<'_, HashMap<usize, Several>> {
        // A panic of another host thread leaves a consistent table.
        self.table[element % PARTS].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a stamp next to the unordered ones, and visits the earlier ones.
    pub(super) fn add<T>(
        &self,
        element: usize,
        stamp: Stamp,
        accessor: Accessor<'_>,
        found: impl FnMut(Stamp) -> Option<T>,
    ) -> Option<T> {
        let word = self.words.get(element)?;
        loop {
            let before = word.load(SeqCst);
            if before == SEVERAL {
                let mut part = self.part(element);
                if word.load(SeqCst) != SEVERAL {
                    continue;
                }
                let several = part.entry(element).or_default();
                let result = several.each().find_map(found);
                if !self.waits && several.each().any(|known| accessor.rank(known.block).is_none()) {
                    let joined = several.each().fold(stamp, |all, known| all.joined(known));
                    part.remove(&element);
                    word.store(joined.word().unwrap_or(SEVERAL), SeqCst);
                } else {
                    several.add(stamp, accessor);
                }
                return result;
            }
            let known = (before != 0).then(|| Stamp::from(before));
            let left = known.and_then(|known| known.kept_next_to(stamp, accessor));
            let alone = match left {
                None => stamp.word(),
                Some(left) if !self.waits && accessor.rank(left.block).is_none() => left.joined(stamp).word(),
                Some(left) if (Stamp { lanes: stamp.lanes, ..left }) == stamp => {
                    Stamp { lanes: left.lanes | stamp.lanes, ..stamp }.word()
                }
                Some(_) => None,
            };
            if let Some(alone) = alone {
                if word.compare_exchange(before, alone, SeqCst, SeqCst).is_ok() {
                    return known.and_then(found);
                }
                continue;
            }
            let mut part = self.part(element);
            if word.compare_exchange(before, SEVERAL, SeqCst, SeqCst).is_err() {
                continue;
            }
            let mut several = Several::default();
            left.into_iter().for_each(|left| several.add(left, accessor));
            several.add(stamp, accessor);
            part.insert(element, several);
            return known.and_then(found);
        }
    }

    /// Lanes of a warp have waited for their work on an element.
    pub(super) fn settle(&self, element: usize, kind: Kind, accessor: Accessor<'_>) {
        let Some(word) = self.words.get(element) else { return };
        let Stamp { block, warp, .. } = Stamp::of(accessor, Kind::Plain);
        let own = |stamp: &Stamp| stamp.kind == kind && (stamp.block, stamp.warp) == (block, warp);
        loop {
            let before = word.load(SeqCst);
            if before == SEVERAL {
                let mut part = self.part(element);
                let several = part.entry(element).or_default();
                for stamps in several.0.values_mut() {
                    stamps
                        .iter_mut()
                        .filter(|stamp| own(stamp))
                        .for_each(|stamp| stamp.lanes &= !accessor.lanes);
                    stamps.retain(|stamp| stamp.lanes != 0);
                }
                return;
            }
            let stamp = (before != 0).then(|| Stamp::from(before)).filter(own);
            let Some(stamp) = stamp else { return };
            let left = Stamp { lanes: stamp.lanes & !accessor.lanes, ..stamp };
            let mut part = self.part(element);
            let alone = if left.lanes == 0 { Some(0) } else { left.word() };
            if word.compare_exchange(before, alone.unwrap_or(SEVERAL), SeqCst, SeqCst).is_ok() {
                if alone.is_none() {
                    part.insert(element, Several(BTreeMap::from([((block, warp), vec![left])])));
                }
                return;
            }
        }
    }

    /// Visits each stamp.
    pub(super) fn find<T>(&self, element: usize, found: impl FnMut(Stamp) -> Option<T>) -> Option<T> {
        self.find_in(element, self.words.get(element)?.load(SeqCst), found)
    }

    fn find_in<T>(&self, element: usize, word: u64, mut found: impl FnMut(Stamp) -> Option<T>) -> Option<T> {
        match word {
            0 => None,
            SEVERAL => {
                let part = self.part(element);
                part.get(&element)?.each().find_map(found)
            }
            word => found(Stamp::from(word)),
        }
    }

    /// Replaces all stamps by one, and visits them.
    pub(super) fn replace<T>(
        &self,
        element: usize,
        stamp: Stamp,
        found: impl FnMut(Stamp) -> Option<T>,
    ) -> Option<T> {
        let place = self.words.get(element)?;
        let Some(word) = stamp.word() else {
            let result = self.find(element, found);
            let mut part = self.part(element);
            place.store(SEVERAL, SeqCst);
            let several = Several(BTreeMap::from([((stamp.block, stamp.warp), vec![stamp])]));
            part.insert(element, several);
            return result;
        };
        match place.swap(word, SeqCst) {
            SEVERAL => {
                let several = self.part(element).remove(&element).unwrap_or_default();
                several.each().find_map(found)
            }
            before => self.find_in(element, before, found),
        }
    }
}
