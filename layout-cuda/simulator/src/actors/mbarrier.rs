//! Mbarriers: arrivals and bytes that end phases.
//!
//! ```text
//! phase n:   arrivals left ─┐
//!            bytes left    ─┴─ both none: phase n ends, phase n + 1 begins with all arrivals and no bytes
//! wait(p):   passes if the current phase's number is not p modulo 2
//! ```
//! Law: a thread that passes a wait knows what each arriving thread knew, and the boxes that were announced to the phase
//! have landed. That holds of the phase that it surely waited for, since the parity of two phases does not tell which. A thread
//! that does not know that the phase before last has ended may as well have passed when that one began.

use super::touch::{Kind, Touch};
use super::warp::{State, Warp, each_lane};
use crate::bytecode::Sum;
use crate::event::{Access, Event, How};
use crate::machine::Machine;
use crate::memory::knowledge::Knowledge;
use crate::report::FindingKind;
use crate::work::BarrierUse;

/// An mbarrier.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mbarrier {
    /// Arrivals of a phase; 0 before its making.
    pub arrivals: u32,
    /// Arrivals that the phase waits for.
    pub pending: u32,
    /// Bytes that the phase was announced.
    pub expected: i64,
    /// Bytes that have landed in the phase.
    pub landed: i64,
    /// The phase, from 0.
    pub phase: u32,
    /// Whether the asynchronous proxy sees it.
    pub fenced: bool,
    /// Who made it.
    maker: u32,
    /// Where it was made.
    pub site: u32,
    /// Where bytes were last announced to its phase.
    pub told: u32,
    /// Where the copy that landed last in its phase was started.
    pub copied: u32,
    /// What those who arrived know, and those who arrived in earlier phases.
    gathered: Knowledge,
    /// What they knew at the ends of the last phases, the last one first.
    ended: [Knowledge; 3],
}

impl Mbarrier {
    /// Whether the phase of this parity has ended.
    pub(crate) fn passes(&self, parity: i64) -> bool {
        self.arrivals > 0 && i64::from(self.phase & 1) != parity & 1
    }
}

impl Machine<'_> {
    /// An mbarrier in words.
    pub(crate) fn barrier_name(&self, barrier: usize) -> String {
        let program = self.launch.program;
        let each = program.works.barrier_names.len().max(1);
        let (place, index) = program.works.barrier_names.get(barrier % each).copied().unwrap_or_default();
        let name = program.names.get(place as usize).map_or("", String::as_str);
        match self.ranks() {
            1 => format!("mbarrier {index} of `{name}`"),
            _ => format!("mbarrier {index} of `{name}` of rank {}", barrier / each),
        }
    }

    /// The first warp of an mbarrier's block.
    pub(crate) fn barrier_warp(&self, barrier: usize) -> u32 {
        let each = self.launch.program.works.barrier_names.len().max(1);
        (barrier / each * self.warps_of_block()) as u32
    }

    /// The number of a block's mbarrier in the cluster.
    pub(crate) fn barrier_at(&self, rank: usize, barrier: &BarrierUse, index: i64) -> usize {
        rank * self.launch.program.works.barriers as usize + barrier.first as usize + index as usize
    }

    /// The mbarrier of each lane; those out of range are reported and left out.
    fn barriers(&mut self, warp: &Warp, barrier: &BarrierUse, kind: Kind) -> Touch {
        self.ready(warp, barrier.index, None, barrier.site, kind)
    }

    /// Makes mbarriers.
    pub(crate) fn barrier_init(&mut self, warp: &mut Warp, barrier: &BarrierUse, arrivals: u32) {
        let touch = self.barriers(warp, barrier, Kind::Write);
        let site = &self.launch.program.sites[barrier.site as usize];
        let (number, how) = (barrier.site, How::Make);
        self.tell(&Event::Access(Access { warp, site, number, touch: &touch, how }));
        for lane in each_lane(touch.open) {
            let number = self.barrier_at(self.rank(warp.number as usize), barrier, touch.index[lane]);
            if let Some(known) = self.proxy.barriers.get_mut(number) {
                let maker = warp.number * 32 + lane as u32;
                let (pending, site) = (arrivals, barrier.site);
                *known = Mbarrier { arrivals, pending, maker, site, ..Mbarrier::default() };
            }
        }
    }

    /// The mbarriers that these threads made are seen by the asynchronous proxy.
    pub(crate) fn barrier_init_fence(&mut self, warp: &mut Warp) {
        for barrier in &mut self.proxy.barriers {
            let mine = barrier.maker / 32 == warp.number && warp.active >> (barrier.maker % 32) & 1 != 0;
            barrier.fenced |= mine && barrier.arrivals > 0;
        }
    }

    /// Each lane arrives.
    pub(crate) fn arrive(&mut self, warp: &mut Warp, barrier: &BarrierUse, expect: u32, rank: Option<Sum>) {
        let touch = self.barriers(warp, barrier, Kind::Write);
        let Some(rank) = self.remote(warp, barrier, rank) else { return };
        self.tell(&Event::Barrier { warp, site: barrier.site, touch: &touch, rank });
        self.reach(warp, touch.open, rank, barrier.site);
        let mut told: Vec<(usize, Knowledge)> = Vec::new();
        let mut ended = Vec::new();
        for lane in each_lane(touch.open) {
            let at = self.barrier_at(rank, barrier, touch.index[lane]);
            let Some(known) = self.proxy.barriers.get(at).filter(|known| known.arrivals > 0) else {
                continue;
            };
            if known.pending == 0 || ended.contains(&at) {
                let (phase, arrivals) = (known.phase, known.arrivals);
                let name = self.barrier_name(at);
                let index = touch.index[lane];
                self.report(FindingKind::Arrivals, barrier.site, warp.number, 1 << lane, Some(index), |_| {
                    format!(
                        "an arrival at {name} after the {arrivals} that end its phase {}; it counts for the next phase",
                        if ended.contains(&at) { phase.saturating_sub(1) } else { phase }
                    )
                });
            }
            if !told.iter().any(|(other, _)| *other == at) {
                let same = |lane: &usize| self.barrier_at(rank, barrier, touch.index[*lane]) == at;
                let lanes = each_lane(touch.open).filter(same).fold(0, |lanes, lane| lanes | 1 << lane);
                if expect == 0 {
                    self.settle(warp.number, lanes, self.clocks.warps[warp.number as usize].time());
                }
                told.push((at, self.clocks.of(warp.number).tell(lanes)));
            }
            let Some(known) = self.proxy.barriers.get_mut(at) else { continue };
            known.pending = known.pending.saturating_sub(1);
            known.expected += i64::from(expect);
            if expect > 0 {
                known.told = barrier.site;
            }
            for (_, told) in told.iter().filter(|(other, _)| *other == at) {
                known.gathered.join(told);
            }
            if self.end_phase(at) {
                ended.push(at);
            }
        }
    }

    /// Ends the phase of an mbarrier if nothing is left to wait for.
    pub(crate) fn end_phase(&mut self, at: usize) -> bool {
        let Some(known) = self.proxy.barriers.get(at) else { return false };
        let left = known.expected - known.landed;
        if known.pending > 0 || left > 0 || known.arrivals == 0 {
            return false;
        }
        let phase = known.phase;
        let late = |load: &&mut super::transfer::Arriving| load.tells == Some((at, phase));
        let mut in_flight = 0;
        for load in self.proxy.arriving.iter_mut().filter(late) {
            in_flight += load.bytes as i64;
            // It tells nobody any more: the phase that waits for it is over.
            load.tells = None;
        }
        if left < 0 || in_flight > 0 {
            let (expected, reported) = (known.expected, known.landed + in_flight);
            let site = if known.told > 0 { known.told } else { known.site };
            let name = self.barrier_name(at);
            let warp = self.barrier_warp(at);
            self.report(FindingKind::TransactionBytes, site, warp, 1, None, |_| {
                format!(
                    "phase {phase} of {name} expects {expected} bytes and its copies report {reported}: it ends too early"
                )
            });
        }
        let Some(known) = self.proxy.barriers.get_mut(at) else { return false };
        (known.expected, known.landed, known.told, known.copied) = (0, 0, 0, 0);
        known.phase += 1;
        known.pending = known.arrivals;
        known.ended.rotate_right(1);
        known.ended[0].clone_from(&known.gathered);
        true
    }

    /// A box has landed whose engine's time was that of the phase.
    pub(crate) fn told(&mut self, at: usize, bytes: u64, site: u32) {
        let engine = self.proxy.barrier_engine(at) - self.count;
        let engines = self.proxy.actors() - self.count;
        let Some(known) = self.proxy.barriers.get_mut(at) else { return };
        known.landed += bytes as i64;
        known.copied = site;
        known.gathered.engines.resize(engines, 0);
        known.gathered.engines[engine] = known.phase + 2;
        self.end_phase(at);
    }

    /// Whether the phases that the lanes wait for have ended; the warp waits where one has not.
    pub(crate) fn barrier_wait(&mut self, warp: &mut Warp, barrier: &BarrierUse, parity: Sum) -> bool {
        let touch = self.barriers(warp, barrier, Kind::Read);
        let rank = self.rank(warp.number as usize);
        self.tell(&Event::Barrier { warp, site: barrier.site, touch: &touch, rank });
        let parity = warp.lanes(parity);
        let mut passed: Vec<(usize, u32)> = Vec::new();
        for lane in each_lane(touch.open) {
            let at = self.barrier_at(rank, barrier, touch.index[lane]);
            let Some(known) = self.proxy.barriers.get(at) else { continue };
            if !known.passes(parity[lane]) {
                let (barrier, site) = (at as u32, barrier.site);
                warp.state = State::Phase { barrier, parity: parity[lane], site };
                return false;
            }
            match passed.iter_mut().find(|(other, _)| *other == at) {
                Some((_, lanes)) => *lanes |= 1 << lane,
                None => passed.push((at, 1 << lane)),
            }
        }
        for (at, lanes) in passed {
            let Some(known) = self.proxy.barriers.get(at) else { continue };
            let [last, before, earlier] = &known.ended;
            self.clocks.of(warp.number).learn(lanes, |knowledge| {
                let sure = known.phase < 2 || knowledge.covers(before, warp.number as usize);
                knowledge.join(if sure { last } else { earlier });
            });
            let (phase, site) = (known.phase, barrier.site);
            self.tell(&Event::Passed { warp, barrier: at, phase, site });
        }
        true
    }

    /// The block whose mbarrier it is: the warp's own where no rank is given.
    fn remote(&mut self, warp: &Warp, barrier: &BarrierUse, rank: Option<Sum>) -> Option<usize> {
        let Some(rank) = rank else { return Some(self.rank(warp.number as usize)) };
        let lane = warp.active.trailing_zeros() as usize;
        let (rank, ranks) = (warp.lanes(rank)[lane], self.ranks());
        if !(0..ranks as i64).contains(&rank) {
            self.report(FindingKind::OutOfBounds, barrier.site, warp.number, 1 << lane, None, |_| {
                format!("an arrival at an mbarrier of rank {rank} of a cluster of {ranks} blocks")
            });
            return None;
        }
        Some(rank as usize)
    }
}
