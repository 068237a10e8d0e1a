//! What orders the blocks of a launch: releases and acquires, as vector clocks.
//!
//! Law: what a warp did before a release happened before what another warp does after an acquire of the same element,
//! and so did all that the first knew of, if the scopes of both hold both. A relaxed store ends what the release before it gave; an atomic change does not.

use super::bytecode::{Site, Target};
use super::machine::Machine;
use super::proxy::later;
use super::touch::Touch;
use super::warp::{Warp, each_lane};
use crate::kernel::program::{AtomicChange, Ordering, Scope};
use std::collections::{BTreeMap, HashMap};

/// The times before which everything happened before.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// For each block, of each of its warps.
    warps: BTreeMap<u64, Vec<u32>>,
    /// For each block, of each of its warps, the times before which its writes to global memory are seen by the asynchronous
    /// proxy: a fence stands behind them.
    fenced: BTreeMap<u64, Vec<u32>>,
    /// For each cluster, by its first block, of each engine of its asynchronous proxy.
    engines: BTreeMap<u64, Vec<u32>>,
}

impl Known {
    /// Whether what a warp of a block did at a time happened before; of an unknown warp, whether it did of each.
    pub(super) fn covers(&self, block: u64, warp: Option<u32>, clock: u32) -> bool {
        let Some(clocks) = self.warps.get(&block) else { return false };
        match warp {
            Some(warp) => clocks.get(warp as usize).is_some_and(|known| clock < *known),
            None => clocks.iter().all(|known| clock < *known),
        }
    }

    /// Whether the asynchronous proxy sees what a warp of a block wrote at a time.
    pub(super) fn fenced(&self, block: u64, warp: u32, clock: u32) -> bool {
        self.fenced.get(&block).and_then(|times| times.get(warp as usize)).is_some_and(|time| clock < *time)
    }

    /// Adds what another knows, if there is one.
    pub(super) fn extend(&mut self, other: Option<&Known>) {
        other.into_iter().for_each(|other| self.join(other));
    }

    /// Both.
    pub(super) fn join(&mut self, other: &Known) {
        other.warps.iter().for_each(|(block, clocks)| learn(&mut self.warps, *block, clocks));
        other.fenced.iter().for_each(|(block, times)| learn(&mut self.fenced, *block, times));
        other.engines.iter().for_each(|(cluster, clocks)| learn(&mut self.engines, *cluster, clocks));
    }
}

fn learn(known: &mut BTreeMap<u64, Vec<u32>>, whose: u64, clocks: &[u32]) {
    later(known.entry(whose).or_insert_with(|| vec![0; clocks.len()]), clocks);
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
        let number = warp.number as usize;
        if number >= self.known.len() {
            return;
        }
        let (space, base) = match site.target {
            Target::Global(argument) => (u64::from(argument), 0),
            Target::Shared(base) => (1 << 32 | warp.block, base as usize),
            Target::Local { .. } | Target::None => return,
        };
        let cluster = self.blocks.first().map_or(0, |block| block.number);
        let row = number * self.count..(number + 1) * self.count;
        for lane in each_lane(touch.open) {
            let place = (space, base + touch.index[lane] as usize * site.bytes as usize);
            match change {
                AtomicChange::Store(Ordering::Relaxed) => drop(self.releases.0.remove(&place)),
                AtomicChange::Store(Ordering::Synchronising) => {
                    let mut known = self.known[number].clone();
                    let mut clocks = self.clocks[row.clone()].to_vec();
                    // What the warp does from here on is later than the release.
                    clocks[number] += 1;
                    for (rank, block) in self.blocks.iter().enumerate() {
                        learn(&mut known.warps, block.number, &clocks[self.warps_of(rank)]);
                        if let Some(times) =
                            self.proxy.global_fences.passed.times(&clocks, self.warps_of(rank))
                        {
                            learn(&mut known.fenced, block.number, &times);
                        }
                    }
                    learn(&mut known.engines, cluster, self.proxy.row(number));
                    self.releases.0.insert(place, Given { known, scope, block: warp.block });
                }
                AtomicChange::Load(Ordering::Synchronising) => {
                    let Some(Given { known: given, scope: released, block }) = self.releases.0.get(&place)
                    else {
                        continue;
                    };
                    if *block != warp.block && [*released, scope].contains(&Scope::Block) {
                        continue;
                    }
                    self.known[number].join(given);
                    for (rank, block) in self.blocks.iter().enumerate() {
                        let Some(own) = given.warps.get(&block.number) else { continue };
                        let warps = self.warps_of(rank);
                        let clocks = &mut self.clocks[row.start + warps.start..row.start + warps.end];
                        later(clocks, own);
                    }
                    let engines = given.engines.get(&cluster).map_or(&[][..], Vec::as_slice);
                    later(self.proxy.row_mut(number), engines);
                }
                AtomicChange::Load(Ordering::Relaxed)
                | AtomicChange::Add
                | AtomicChange::Max
                | AtomicChange::Min => {}
            }
        }
        if change == AtomicChange::Store(Ordering::Synchronising) {
            self.tick(number);
        }
    }
}
