//! Vector clocks: a component for each warp of the cluster, each engine of its asynchronous proxy, and each warp and
//! engine of other blocks.
//!
//! Law: `a.join(b)` is the least clock that covers `a` and `b`.

use super::warp_clock::WarpClock;
use std::collections::BTreeMap;

/// The components of blocks of other clusters.
#[derive(Clone, Debug, Default)]
pub(crate) struct RemoteClocks {
    /// The warps of each block.
    pub clocks: BTreeMap<u64, WarpClock>,
    /// For the warps of each block, the times before which a proxy fence makes their writes to global memory visible to
    /// the asynchronous proxy.
    pub fenced: BTreeMap<u64, WarpClock>,
    /// The engines of each cluster, by the number of its first block.
    pub engines: BTreeMap<u64, Vec<u32>>,
}

impl RemoteClocks {
    /// The subset of a warp's lanes whose work at a time is not covered.
    pub(crate) fn unknown(&self, block: u64, warp: usize, lanes: u32, time: u32) -> u32 {
        self.clocks.get(&block).map_or(lanes, |clock| clock.unknown(warp, lanes, time))
    }

    /// Whether an engine's work at a time is covered.
    pub(crate) fn engine(&self, cluster: u64, engine: usize, time: u32) -> bool {
        self.engines.get(&cluster).and_then(|times| times.get(engine)).is_some_and(|known| time < *known)
    }

    /// Whether these lanes' writes at a time are visible to the asynchronous proxy.
    pub(crate) fn fenced(&self, block: u64, warp: usize, lanes: u32, time: u32) -> bool {
        self.fenced.get(&block).is_some_and(|times| times.unknown(warp, lanes, time) == 0)
    }

    pub(crate) fn join(&mut self, other: &RemoteClocks) {
        let clocks = other.clocks.iter();
        clocks.for_each(|(block, clock)| self.clocks.entry(*block).or_default().join(clock));
        let fenced = other.fenced.iter();
        fenced.for_each(|(block, times)| self.fenced.entry(*block).or_default().join(times));
        let engines = other.engines.iter();
        engines.for_each(|(cluster, times)| join_engines(self.engines.entry(*cluster).or_default(), times));
    }
}

/// The clock of a thread or an mbarrier.
#[derive(Clone, Debug, Default)]
pub(crate) struct VectorClock {
    /// The warps of the cluster.
    pub clock: WarpClock,
    /// The engines of the cluster: the work before this time is complete.
    pub engines: Vec<u32>,
    /// Other blocks.
    pub blocks: RemoteClocks,
}

impl VectorClock {
    pub(crate) fn set(&mut self, other: &VectorClock) {
        self.clock.set(&other.clock);
        self.engines.clone_from(&other.engines);
        self.blocks.clone_from(&other.blocks);
    }

    pub(crate) fn join(&mut self, other: &VectorClock) {
        self.clock.join(&other.clock);
        join_engines(&mut self.engines, &other.engines);
        self.blocks.join(&other.blocks);
    }

    /// Whether it covers the cluster's components of another clock, except for the threads of warp `own`.
    pub(crate) fn covers(&self, other: &VectorClock, own: usize) -> bool {
        let engine =
            |(engine, time): (usize, &u32)| self.engines.get(engine).is_some_and(|known| known >= time);
        self.clock.covers(&other.clock, own) && other.engines.iter().enumerate().all(engine)
    }

    /// Covers an engine's work before this time.
    pub(crate) fn acquire_engine(&mut self, engine: usize, time: u32) {
        if let Some(known) = self.engines.get_mut(engine) {
            *known = (*known).max(time);
        }
    }
}

/// The maximum for each engine.
pub(crate) fn join_engines(mine: &mut Vec<u32>, other: &[u32]) {
    mine.resize(mine.len().max(other.len()), 0);
    for (mine, other) in mine.iter_mut().zip(other) {
        *mine = (*mine).max(*other);
    }
}
