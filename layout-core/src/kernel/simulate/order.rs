//! What orders the blocks of a launch: releases and acquires, as vector clocks.
//!
//! Law: what a thread did before a release happened before what another one does after an acquire of the same element,
//! and so did all that the first knew of, if the scopes of both hold both. A relaxed store ends what the release before it gave; an atomic change does not.

use super::bytecode::{Site, Target};
use super::clock::{Clock, Knowledge, learn_engines};
use super::machine::Machine;
use super::touch::Touch;
use super::warp::{Warp, each_lane};
use crate::kernel::program::{AtomicChange, Ordering, Scope};
use std::collections::{BTreeMap, HashMap};

/// What is known of blocks of other clusters.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// For each block, of its warps.
    clocks: BTreeMap<u64, Clock>,
    /// For each block, of its warps, the times before which their writes to global memory are seen by the asynchronous
    /// proxy: a fence stands behind them.
    fenced: BTreeMap<u64, Clock>,
    /// For each cluster, by its first block, of each engine of its asynchronous proxy.
    engines: BTreeMap<u64, Vec<u32>>,
}

impl Known {
    /// Of these lanes of a block's warp, those of which it is not known what they did at a time.
    pub(super) fn unknown(&self, block: u64, warp: usize, lanes: u32, time: u32) -> u32 {
        self.clocks.get(&block).map_or(lanes, |clock| clock.unknown(warp, lanes, time))
    }

    /// Whether the asynchronous proxy sees what these lanes of a block's warp wrote at a time.
    pub(super) fn fenced(&self, block: u64, warp: usize, lanes: u32, time: u32) -> bool {
        self.fenced.get(&block).is_some_and(|times| times.unknown(warp, lanes, time) == 0)
    }

    /// Learns what another knows.
    pub(super) fn join(&mut self, other: &Known) {
        let clocks = other.clocks.iter();
        clocks.for_each(|(block, clock)| self.clocks.entry(*block).or_default().join(clock));
        let fenced = other.fenced.iter();
        fenced.for_each(|(block, times)| self.fenced.entry(*block).or_default().join(times));
        let engines = other.engines.iter();
        engines.for_each(|(cluster, times)| learn_engines(self.engines.entry(*cluster).or_default(), times));
    }
}

/// Where a release wrote: the argument, or the block whose shared memory it is; and the byte.
type Place = (u64, usize);

/// What a release gives.
#[derive(Debug)]
struct Given {
    known: Known,
    scope: Scope,
    block: u64,
}

/// What each element's last release gives to those who acquire it.
#[derive(Debug, Default)]
pub(super) struct Releases(HashMap<Place, Given>);

impl Machine<'_> {
    /// What an atomic load or store of a warp orders.
    pub(super) fn synchronise(
        &mut self,
        warp: &Warp,
        site: &Site,
        touch: &Touch,
        (change, scope): (AtomicChange, Scope),
    ) {
        if !self.launch.program.waits {
            return;
        }
        let (space, base) = match site.target {
            Target::Global(argument) => (u64::from(argument), 0),
            Target::Shared(base) => (1 << 32 | warp.block, base as usize),
            Target::Local { .. } | Target::None => return,
        };
        let place = |lane: usize| (space, base + touch.index[lane] as usize * site.bytes as usize);
        let mut open = touch.open;
        // Lanes that name one element do it together.
        while open != 0 {
            let first = open.trailing_zeros() as usize;
            let place_of_all = place(first);
            let lanes = each_lane(open).filter(|lane| place(*lane) == place_of_all);
            let lanes = lanes.fold(0, |lanes, lane| lanes | 1 << lane);
            open &= !lanes;
            match change {
                AtomicChange::Store(Ordering::Relaxed) => drop(self.releases.0.remove(&place_of_all)),
                AtomicChange::Store(Ordering::Synchronising) => {
                    let given = Given { known: self.give(warp, lanes), scope, block: warp.block };
                    self.releases.0.insert(place_of_all, given);
                }
                AtomicChange::Load(Ordering::Synchronising) => self.take(warp, lanes, place_of_all, scope),
                AtomicChange::Load(Ordering::Relaxed)
                | AtomicChange::Add
                | AtomicChange::Max
                | AtomicChange::Min => {}
            }
        }
    }

    /// What lanes of a warp give to other blocks.
    fn give(&mut self, warp: &Warp, lanes: u32) -> Known {
        let Knowledge { clock, engines, mut blocks } = self.clocks.of(warp.number).tell(lanes);
        let passed = &self.proxy.global_fences.passed;
        for rank in 0..self.ranks() {
            let (block, warps) = (self.clocks.blocks[rank].number, self.warps_of(rank));
            blocks.clocks.entry(block).or_default().join(&clock.part(warps.clone()));
            if let Some(times) = passed.times(&clock, warps, |warp| self.clocks.warps[warp].live()) {
                blocks.fenced.entry(block).or_default().join(&times);
            }
        }
        let cluster = self.clocks.blocks.first().map_or(0, |block| block.number);
        learn_engines(blocks.engines.entry(cluster).or_default(), &engines);
        blocks
    }

    /// Lanes of a warp take what the last release of an element gave.
    fn take(&mut self, warp: &Warp, lanes: u32, place: Place, scope: Scope) {
        let Some(Given { known: given, scope: released, block }) = self.releases.0.get(&place) else {
            return;
        };
        if *block != warp.block && [*released, scope].contains(&Scope::Block) {
            return;
        }
        let blocks = &self.clocks.blocks;
        let own: Vec<(usize, &Clock)> = (0..self.ranks())
            .filter_map(|rank| Some((self.warps_of(rank).start, given.clocks.get(&blocks[rank].number)?)))
            .collect();
        let cluster = blocks.first().map_or(0, |block| block.number);
        let engines = given.engines.get(&cluster).map_or(&[][..], Vec::as_slice);
        self.clocks.warps[warp.number as usize].learn(lanes, |knowledge| {
            knowledge.blocks.join(given);
            own.iter().for_each(|(first, clock)| knowledge.clock.join_from(*first, clock));
            learn_engines(&mut knowledge.engines, engines);
        });
    }
}
