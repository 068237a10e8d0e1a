//! Acquire and release between the blocks of a launch.
//!
//! Law: work that happens-before a release happens-before the steps after an acquire of the same element, if the scopes
//! of both contain both threads. A relaxed store ends the release sequence of an earlier release; an atomic
//! read-modify-write continues it. A fence makes later relaxed writes releases and earlier relaxed reads acquires (PTX
//! ISA, memory consistency model: release and acquire patterns).

use crate::bytecode::{Site, Target};
use crate::machine::Machine;
use crate::memory::releases::ReleaseRecord;
use crate::memory::vector_clock::{RemoteClocks, VectorClock, join_engines};
use crate::memory::warp_clock::WarpClock;
use crate::state::lanes::LaneElements;
use crate::state::warp::{State, Warp, each_lane};
use layout_compiler::program::{AtomicChange, Ordering, Scope};

impl Machine<'_> {
    /// The synchronisation of an atomic operation of a warp; `stored` are the lanes that write.
    pub(crate) fn synchronise(
        &mut self,
        warp: &mut Warp,
        site: &Site,
        elements: &LaneElements,
        (change, scope): (AtomicChange, Scope),
        stored: u32,
    ) {
        if !self.launch.program.waits || !self.launch.program.findings {
            return;
        }
        let (space, base) = match site.target {
            Target::Global(argument) => (u64::from(argument), 0),
            Target::Shared(base) => (1 << 32 | warp.block, base as usize),
            Target::Local { .. } | Target::None => return,
        };
        let place = |lane: usize| (space, base + elements.index[lane] as usize * site.bytes as usize);
        let mut open = elements.active;
        // Lanes with the same element act together.
        while open != 0 {
            let first = open.trailing_zeros() as usize;
            let place_of_all = place(first);
            let lanes = each_lane(open).filter(|lane| place(*lane) == place_of_all);
            let lanes = lanes.fold(0, |lanes, lane| lanes | 1 << lane);
            open &= !lanes;
            let released = self.releases.0.get(&place_of_all).cloned().unwrap_or_default();
            match change {
                AtomicChange::Load(Ordering::Synchronising) => {
                    released.iter().for_each(|one| self.acquire(warp, lanes, one, scope));
                }
                AtomicChange::Load(Ordering::Relaxed) => {
                    each_lane(lanes).for_each(|lane| warp.fences.observe(lane, &released, scope));
                }
                AtomicChange::Store(ordering) => {
                    let mut new = Vec::new();
                    let fenced = each_lane(lanes).filter_map(|lane| warp.fences.released(lane, scope));
                    fenced.for_each(|one| one.add_to(&mut new));
                    if ordering == Ordering::Synchronising {
                        let known = self.release_clocks(warp.number, lanes);
                        ReleaseRecord { known, scope, block: warp.block }.add_to(&mut new);
                    }
                    self.releases.0.insert(place_of_all, new);
                }
                AtomicChange::Add
                | AtomicChange::Max
                | AtomicChange::Min
                | AtomicChange::And
                | AtomicChange::Or
                | AtomicChange::Xor
                | AtomicChange::Exchange
                | AtomicChange::CompareExchange => {
                    let mut released = released;
                    for lane in each_lane(lanes) {
                        warp.fences.observe(lane, &released, scope);
                        let own = warp.fences.released(lane, scope).filter(|_| stored >> lane & 1 != 0);
                        own.into_iter().for_each(|one| one.add_to(&mut released));
                    }
                    if !released.is_empty() {
                        self.releases.0.insert(place_of_all, released);
                    }
                }
            }
        }
    }

    /// A fence of each active lane: it acquires the observed releases, and later atomic writes release its clock.
    pub(crate) fn fence(&mut self, warp: &mut Warp, scope: Scope) {
        for lane in each_lane(warp.active) {
            let (own, others): (Vec<_>, Vec<_>) = std::mem::take(&mut warp.fences.observed)
                .into_iter()
                .partition(|(observed, _)| *observed == lane);
            warp.fences.observed = others;
            own.iter()
                .flat_map(|(_, observed)| observed)
                .for_each(|one| self.acquire(warp, 1 << lane, one, scope));
            let known = self.release_clocks(warp.number, 1 << lane);
            warp.fences.released.retain(|(lane_of, _)| *lane_of != lane);
            warp.fences.released.push((lane, ReleaseRecord { known, scope, block: warp.block }));
        }
    }

    /// The clock that lanes of a warp release to other blocks.
    fn release_clocks(&mut self, warp: u32, lanes: u32) -> RemoteClocks {
        let VectorClock { clock, engines, mut blocks } = self.clocks.of(warp).release(lanes);
        let passed = &self.proxy.global_fences.passed;
        for rank in 0..self.ranks() {
            let (block, warps) = (self.clocks.blocks[rank].number, self.warps_of(rank));
            blocks.clocks.entry(block).or_default().join(&clock.part(warps.clone()));
            if let Some(times) = passed.times(&clock, warps, |warp| self.clocks.warps[warp].live()) {
                blocks.fenced.entry(block).or_default().join(&times);
            }
        }
        let cluster = self.clocks.blocks.first().map_or(0, |block| block.number);
        join_engines(blocks.engines.entry(cluster).or_default(), &engines);
        blocks
    }

    /// Lanes of a warp acquire a release, if both scopes contain both threads.
    fn acquire(&mut self, warp: &Warp, lanes: u32, record: &ReleaseRecord, scope: Scope) {
        let ReleaseRecord { known, scope: released, block } = record;
        if *block != warp.block && [*released, scope].contains(&Scope::Block) {
            return;
        }
        self.join_remote(warp.number, lanes, known);
    }

    /// Joins the warps of the cluster at the grid's barrier; the clock that they release.
    pub(crate) fn release_to_grid(&mut self) -> RemoteClocks {
        let all: Vec<usize> =
            (0..self.count).filter(|warp| self.warps[*warp].state != State::Ended).collect();
        self.complete_barrier(&all);
        all.first().map_or_else(RemoteClocks::default, |warp| self.release_clocks(*warp as u32, u32::MAX))
    }

    /// All threads of the cluster acquire the clock of the grid's barrier.
    pub(crate) fn acquire_from_grid(&mut self, released: &RemoteClocks) {
        (0..self.count as u32).for_each(|warp| self.join_remote(warp, u32::MAX, released));
    }

    fn join_remote(&mut self, warp: u32, lanes: u32, released: &RemoteClocks) {
        let blocks = &self.clocks.blocks;
        let own: Vec<(usize, &WarpClock)> = (0..self.ranks())
            .filter_map(|rank| Some((self.warps_of(rank).start, released.clocks.get(&blocks[rank].number)?)))
            .collect();
        let cluster = blocks.first().map_or(0, |block| block.number);
        let engines = released.engines.get(&cluster).map_or(&[][..], Vec::as_slice);
        self.clocks.warps[warp as usize].acquire(lanes, |vector_clock| {
            vector_clock.blocks.join(released);
            own.iter().for_each(|(first, clock)| vector_clock.clock.join_from(*first, clock));
            join_engines(&mut vector_clock.engines, engines);
        });
    }
}
