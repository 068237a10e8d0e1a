//! What a thread knows of others' work: of the warps of its cluster, of its asynchronous proxy, of other blocks.
//!
//! Law: `a.join(b)` knows what `a` knows and what `b` knows, and nothing else.

use super::warp_clock::WarpClock;
use std::collections::BTreeMap;

/// What is known of blocks of other clusters.
#[derive(Clone, Debug, Default)]
pub(crate) struct RemoteClocks {
    /// For each block, of its warps.
    pub clocks: BTreeMap<u64, WarpClock>,
    /// For each block, of its warps, the times before which their writes to global memory are seen by the asynchronous
    /// proxy: a fence stands behind them.
    pub fenced: BTreeMap<u64, WarpClock>,
    /// For each cluster, by its first block, of each engine of its asynchronous proxy.
    pub engines: BTreeMap<u64, Vec<u32>>,
}

impl RemoteClocks {
    /// Of these lanes of a block's warp, those of which it is not known what they did at a time.
    pub(crate) fn unknown(&self, block: u64, warp: usize, lanes: u32, time: u32) -> u32 {
        self.clocks.get(&block).map_or(lanes, |clock| clock.unknown(warp, lanes, time))
    }

    /// Whether it is known that the work of a cluster's engine at a time is done.
    pub(crate) fn engine(&self, cluster: u64, engine: usize, time: u32) -> bool {
        self.engines.get(&cluster).and_then(|times| times.get(engine)).is_some_and(|known| time < *known)
    }

    /// Whether the asynchronous proxy sees what these lanes of a block's warp wrote at a time.
    pub(crate) fn fenced(&self, block: u64, warp: usize, lanes: u32, time: u32) -> bool {
        self.fenced.get(&block).is_some_and(|times| times.unknown(warp, lanes, time) == 0)
    }

    /// Learns what another knows.
    pub(crate) fn join(&mut self, other: &RemoteClocks) {
        let clocks = other.clocks.iter();
        clocks.for_each(|(block, clock)| self.clocks.entry(*block).or_default().join(clock));
        let fenced = other.fenced.iter();
        fenced.for_each(|(block, times)| self.fenced.entry(*block).or_default().join(times));
        let engines = other.engines.iter();
        engines.for_each(|(cluster, times)| join_engines(self.engines.entry(*cluster).or_default(), times));
    }
}

/// What a thread or an mbarrier knows: of the warps of its cluster, of the engines of its asynchronous proxy, of other
/// blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct VectorClock {
    /// Of each warp of the cluster.
    pub clock: WarpClock,
    /// The time of each engine before which its work is done.
    pub engines: Vec<u32>,
    /// Of other blocks.
    pub blocks: RemoteClocks,
}

impl VectorClock {
    /// Knows what another knows, and no more.
    pub(crate) fn set(&mut self, other: &VectorClock) {
        self.clock.set(&other.clock);
        self.engines.clone_from(&other.engines);
        self.blocks.clone_from(&other.blocks);
    }

    /// Learns what another knows.
    pub(crate) fn join(&mut self, other: &VectorClock) {
        self.clock.join(&other.clock);
        join_engines(&mut self.engines, &other.engines);
        self.blocks.join(&other.blocks);
    }

    /// Whether it knows all of this that is of the cluster, but for what threads of a warp did.
    pub(crate) fn covers(&self, other: &VectorClock, own: usize) -> bool {
        let engine =
            |(engine, time): (usize, &u32)| self.engines.get(engine).is_some_and(|known| known >= time);
        self.clock.covers(&other.clock, own) && other.engines.iter().enumerate().all(engine)
    }

    /// Learns that an engine's work before this time is done.
    pub(crate) fn acquire_engine(&mut self, engine: usize, time: u32) {
        if let Some(known) = self.engines.get_mut(engine) {
            *known = (*known).max(time);
        }
    }
}

/// The later of two times, for each engine.
pub(crate) fn join_engines(mine: &mut Vec<u32>, other: &[u32]) {
    mine.resize(mine.len().max(other.len()), 0);
    for (mine, other) in mine.iter_mut().zip(other) {
        *mine = (*mine).max(*other);
    }
}
