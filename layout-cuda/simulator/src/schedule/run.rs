//! One host thread runs clusters one after the other.
//!
//! ```text
//! while a warp has not ended:
//!     each ready warp runs until it waits or ends
//!     complete barriers are released
//!     no warp ran and nothing was released: deadlock
//! ```
//!
//! Law: a block's result does not depend on other blocks, unless blocks race; the analysis of races reports that.

use crate::event::Event;
use crate::findings::Message;
use crate::machine::Machine;
use crate::memory::lane_clocks::LaneClocks;
use crate::memory::vector_clock::{RemoteClocks, VectorClock};
use crate::memory::warp_clock::WarpClock;
use crate::report::FindingKind;
use crate::state::cluster;
use crate::state::warp::{State, Warp};
use crate::state::watch::Round;
use layout_compiler::program::Participants;
use std::ops::Range;

/// The outcome of one step of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Ended,
    Advanced,
    AtGridBarrier,
    Stopped,
    /// A watched run is in front of a statement at which it pauses.
    Paused,
}

impl Machine<'_> {
    /// Runs a cluster; false if the launch must stop.
    pub(crate) fn run_cluster(&mut self, number: u64) -> bool {
        self.diagnostics.get_mut().findings.start_block(number);
        self.start(number);
        loop {
            match self.step() {
                Step::Advanced => {}
                end => return end == Step::Ended,
            }
        }
    }

    /// Resets the machine for a cluster.
    pub(crate) fn start(&mut self, number: u64) {
        self.clocks.blocks = cluster::blocks(number, self.launch.cluster, self.launch.grid);
        self.policy.start(number);
        self.shared.fill(u8::MAX);
        let begin = VectorClock {
            clock: WarpClock::start(self.count),
            engines: vec![1; self.proxy.actors() - self.count],
            blocks: RemoteClocks::default(),
        };
        let kept = self.launch.program.findings;
        let lane_clocks =
            |(number, warp): (usize, &Warp)| LaneClocks::new(number, warp.live, begin.clone(), kept);
        self.clocks.warps = self.warps.iter().enumerate().map(lane_clocks).collect();
        self.proxy.start(
            self.ranks() * self.launch.program.async_ops.barriers as usize,
            self.launch.block.iter().product(),
        );
        let each = self.warps_of_block();
        for (number, warp) in self.warps.iter_mut().enumerate() {
            let block = self.clocks.blocks[number / each.max(1)];
            warp.start(self.launch.program, block.index);
            warp.block = block.number;
        }
        self.notify(&Event::Start);
    }

    /// Runs the ready warps once, then releases barriers and completes asynchronous work.
    pub(crate) fn step(&mut self) -> Step {
        let ran = match self.run_warps() {
            Ok(ran) => ran,
            Err((number, site)) => {
                self.stop(number, FindingKind::StepLimit, site);
                return Step::Stopped;
            }
        };
        if self.round.is_some() {
            return Step::Paused;
        }
        if self.warps.iter().all(|warp| warp.state == State::Ended) {
            self.finish();
            return Step::Ended;
        }
        let woken = self.release() | self.wake();
        let released = self.complete(woken);
        self.progress |= released;
        if !ran && !released && self.at_grid_barrier() {
            return Step::AtGridBarrier;
        }
        if !ran && !released {
            self.deadlock();
            return Step::Stopped;
        }
        Step::Advanced
    }

    /// Runs each ready warp until it waits, ends, or does an atomic operation. Returns whether one ran, or the warp
    /// that exceeded the step limit. In the conservative schedule the round ends after an atomic write: warps that poll
    /// the element run before the writer releases more.
    pub(crate) fn run_warps(&mut self) -> Result<bool, (usize, u32)> {
        let conservative = self.policy.is_conservative();
        let paused = self.round.take();
        let mut resumed = paused.is_some();
        let mut ran = resumed;
        let Round { order, at: first } = paused.unwrap_or_else(|| {
            let order = if conservative { Vec::new() } else { self.policy.order(self.count) };
            Round { order, at: 0 }
        });
        for at in first..self.count {
            let number = order.get(at).copied().unwrap_or((self.policy.next + at) % self.count);
            // The paused warp was chosen before.
            if std::mem::take(&mut resumed)
                || self.warps[number].state == State::Ready && !self.policy.delays(number, self.count, ran)
            {
                ran = true;
                self.run_warp(number);
                if self.watch.as_ref().is_some_and(|watch| watch.paused) {
                    self.round = Some(Round { order, at });
                    return Ok(true);
                }
                self.progress |= self.warps[number].state == State::Ended;
            }
            if let State::Exhausted(site) = self.warps[number].state {
                return Err((number, site));
            }
            if std::mem::take(&mut self.wrote_atomically) && conservative {
                self.policy.next = number + 1;
                break;
            }
        }
        Ok(ran)
    }

    /// Completes asynchronous work according to the schedule; whether a warp was woken or work was completed.
    pub(crate) fn complete(&mut self, woken: bool) -> bool {
        if self.policy.is_eager() {
            self.read_boxes();
            let mut any = woken;
            while self.complete_load(0, true) {
                any = true;
            }
            return any;
        }
        if self.policy.is_random() {
            let (skip, eager) = (self.policy.random_below(3), self.policy.random_below(2) == 0);
            return woken | self.complete_load(skip, eager) || self.complete_load(0, false);
        }
        // As late as possible: only if no warp was woken.
        woken || self.complete_load(0, false)
    }

    pub(crate) fn stop(&mut self, warp: usize, kind: FindingKind, site: u32) {
        let lanes = self.warps[warp].active;
        let (limit, steps) = (self.launch.max_steps, self.warps[warp].steps);
        let blocks = self.launch.grid.iter().map(|extent| u64::from(*extent)).product::<u64>();
        let at_once = self.launch.places * self.ranks();
        self.report(kind, site, warp as u32, lanes, None, |_| match kind {
            FindingKind::StepLimit if steps <= limit => {
                format!("warp {warp} never leaves this loop: nothing that its condition depends on changes")
            }
            FindingKind::StepLimit => {
                format!("warp {warp} took more than {limit} steps; the launch was stopped")
            }
            FindingKind::NotResident => format!(
                "a wait for a block that may not be resident: of the {blocks} blocks only {at_once} are certain to be, in an \
                 order that CUDA does not define. Launch no more than that (`Options::multiprocessors`, `min_blocks`), or \
                 let blocks draw their numbers from a counter, so that the awaited blocks have started"
            ),
            _ => format!("warp {warp} and all others wait for something that cannot happen"),
        });
    }

    /// Whether all warps that have not ended wait for the grid.
    fn at_grid_barrier(&mut self) -> bool {
        let waits = |warp: &Warp| matches!(warp.state, State::Waiting(Participants::Grid, _));
        let there = |warp: &Warp| waits(warp) || warp.state == State::Ended;
        let Some(first) = self.warps.iter().position(waits) else { return false };
        if !self.warps.iter().all(there) {
            return false;
        }
        let State::Waiting(_, site) = self.warps[first].state else { return false };
        if let Some(ended) = self.warps.iter().position(|warp| warp.state == State::Ended) {
            let message = format!("warp {ended} has ended while warp {first} waits at the grid's barrier");
            let lanes = self.warps[ended].live;
            self.report(FindingKind::DivergentBarrier, site, ended as u32, lanes, None, |_| message);
        }
        true
    }

    /// Releases every barrier at which all its warps wait.
    fn release(&mut self) -> bool {
        let count = self.count;
        // For a cluster of one block both are one barrier.
        let alone = self.ranks() == 1;
        let mut any = self.release_group(0..count, |participants| {
            participants == Participants::Cluster || alone && participants == Participants::Block
        });
        for rank in 0..self.ranks() {
            let warps = self.warps_of(rank);
            if !alone {
                any |= self.release_group(warps.clone(), |participants| participants == Participants::Block);
            }
            for first in warps.clone().step_by(4) {
                any |= self.release_group(first..warps.end.min(first + 4), |participants| {
                    participants == Participants::Warpgroup
                });
            }
        }
        any
    }

    fn release_group(&mut self, group: Range<usize>, own: impl Fn(Participants) -> bool) -> bool {
        let (mut first, mut other, mut ended) = (None, None, None);
        for number in group.clone() {
            match self.warps[number].state {
                State::Waiting(participants, site) if own(participants) => {
                    let pc = self.warps[number].pc;
                    match first {
                        None => first = Some((number, pc, site)),
                        Some((_, known, _)) if known != pc => other = other.or(Some((number, site))),
                        Some(_) => {}
                    }
                }
                State::Ended => ended = Some(number),
                State::Ready
                | State::Waiting(..)
                | State::Phase { .. }
                | State::Named { .. }
                | State::Products { .. }
                | State::Registers { .. }
                | State::Exhausted(_) => return false,
            }
        }
        let Some((waiting, _, site)) = first else { return false };
        let line = |site: u32| self.launch.program.sites[site as usize].line;
        if let Some((warp, its_site)) = other {
            let message = format!(
                "warp {waiting} waits at the barrier in line {}, warp {warp} at the one in line {}",
                line(site),
                line(its_site)
            );
            let lanes = self.warps[warp].live;
            let words = Message::with_line(message, line(its_site));
            self.report(FindingKind::DivergentBarrier, site, warp as u32, lanes, None, |_| words);
        }
        // `barrier.cluster` and, since sm_70, `__syncthreads` wait for the threads that have not exited (CUDA C++ Programming
        // Guide, independent thread scheduling). The barrier of a warpgroup counts 128 threads.
        let counts = matches!(self.warps[waiting].state, State::Waiting(Participants::Warpgroup, _));
        if let Some(warp) = ended.filter(|_| counts) {
            let message =
                format!("warp {warp} has ended while warp {waiting} waits at the barrier of their warpgroup");
            let lanes = self.warps[warp].live;
            self.report(FindingKind::DivergentBarrier, site, warp as u32, lanes, None, |_| message);
        }
        let met: Vec<usize> = group.filter(|warp| self.warps[*warp].state != State::Ended).collect();
        self.complete_barrier(&met);
        true
    }

    /// Completes a barrier: the warps join their clocks and are ready.
    pub(crate) fn complete_barrier(&mut self, warps: &[usize]) {
        let mut joined = VectorClock::default();
        for warp in warps {
            self.warps[*warp].state = State::Ready;
            let lane_clocks = &mut self.clocks.warps[*warp];
            self.proxy.reads.settle(*warp, lane_clocks.live(), (lane_clocks.time(), 0));
            lane_clocks.join();
            if self.launch.program.findings {
                joined.join(lane_clocks.all());
            }
        }
        for warp in warps {
            self.clocks.warps[*warp].assign(&joined);
        }
    }
}
