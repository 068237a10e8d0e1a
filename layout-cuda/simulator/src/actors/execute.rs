//! Runs a warp until it waits or ends.
//!
//! An instruction computes in registers (`registers`), decides which lanes are active (`control`), touches memory or other
//! threads (here, and in what this calls), or only observes for judges (`judge`).

use super::collectives;
use super::endless_loop::LoopDetector;
use super::mma;
use super::proxy::Flow;
use crate::bytecode::Op;
use crate::event::Event;
use crate::machine::Machine;
use crate::report::FindingKind;
use crate::state::warp::{State, Warp};
use layout_compiler::program::{Collective, Participants};

impl Machine<'_> {
    /// Runs a ready warp until it waits or ends.
    pub(crate) fn run_warp(&mut self, number: usize) {
        // The warp is moved out so that memory and warp can be borrowed apart; an empty vector costs nothing.
        let mut warps = std::mem::take(&mut self.warps);
        self.run(&mut warps[number]);
        self.warps = warps;
    }

    fn run(&mut self, warp: &mut Warp) {
        let program = self.launch.program;
        let counters = self.launch.counters;
        let mut rounds = LoopDetector::new();
        loop {
            let at = warp.pc;
            if counters {
                let [runs, lanes] = &mut self.runs[at];
                *runs += 1;
                *lanes += u64::from(warp.active.count_ones());
            }
            warp.pc += 1;
            let op = &program.code[at];
            if self.compute(warp, op) {
                continue;
            }
            if op.is_check() {
                self.notify(&Event::Check(warp, op));
                continue;
            }
            let flow = self.control(warp, op, at, &mut rounds).or_else(|| self.act(warp, op));
            match flow {
                // Every instruction is one of these.
                Some(Flow::Next) | None => {}
                Some(Flow::Again) => {
                    warp.pc = at;
                    return;
                }
                Some(Flow::Stop) => return,
            }
        }
    }

    /// Runs an instruction that touches memory or other threads.
    fn act(&mut self, warp: &mut Warp, op: &Op) -> Option<Flow> {
        let program = self.launch.program;
        match *op {
            Op::Load { dst, address, mask, site } => self.load(warp, dst, address, mask, site),
            Op::Store { src, address, mask, site } => self.store(warp, src, address, mask, site),
            Op::LocalLoad { dst, index, mask, site } => self.local_load(warp, dst, index, mask, site),
            Op::LocalStore { src, index, mask, site } => self.local_store(warp, src, index, mask, site),
            Op::CopyAsync { destination, source, mask, destination_site, source_site } => {
                self.copy_async(warp, (destination, destination_site), (source, source_site), mask);
            }
            Op::Commit => {
                for (lane, groups) in warp.committed.iter_mut().enumerate() {
                    *groups += warp.active >> lane & 1;
                }
            }
            Op::Wait { groups } => self.wait(warp, groups),
            Op::Collective { dst, function, from, lane, elem, site } => {
                // Behind a `break` of all lanes nobody is here.
                if warp.active == 0 {
                    return Some(Flow::Next);
                }
                self.converged(warp, function.name(), site);
                // Who is elected knows no more than it did.
                if function != Collective::ElectOne {
                    self.clocks.of(warp.number).exchange();
                }
                collectives::collective(warp, dst, function, from, lane, elem);
            }
            Op::Mma { d, a, b, core, site } => {
                self.converged(warp, "a matrix instruction", site);
                mma::mma(warp, core, [d, a, b]);
            }
            Op::LoadMatrix { dst, address, count, transposed, site } => {
                self.converged(warp, "a load of matrices", site);
                self.load_matrix(warp, dst, address, (count, transposed), site);
            }
            Op::Atomic { dst, expected, src, change, scope, update, address, mask, site } => {
                self.atomic(warp, dst, [expected, src], (change, scope, update), (address, mask), site);
                if warp.active != 0 && program.waits {
                    // It may wait for what another warp writes: that one must have its turn. Likewise those who wait for what it
                    // wrote, before it goes on: else they would learn of more by chance.
                    if dst.is_some() {
                        warp.wait_site = site;
                    }
                    return Some(Flow::Stop);
                }
            }
            Op::Barrier { participants, site } => {
                if warp.active == 0 || participants == Participants::Thread {
                    return Some(Flow::Next);
                }
                self.converged(warp, barrier_name(participants), site);
                if participants == Participants::Warp {
                    self.clocks.of(warp.number).join();
                } else {
                    warp.state = State::Waiting(participants, site);
                    return Some(Flow::Stop);
                }
            }
            Op::Asynchronous { work } => return Some(self.asynchronous(warp, work)),
            _ => return None,
        }
        Some(Flow::Next)
    }

    /// Reports threads of the warp that are not here, where all of them take part.
    pub(crate) fn converged(&mut self, warp: &Warp, what: &str, site: u32) {
        let missing = warp.live & !warp.active;
        if missing == 0 {
            return;
        }
        let (here, all) = (warp.active.count_ones(), warp.live.count_ones());
        // Whole warps may skip a barrier of the block: it waits for those that have not ended.
        let rule = if what == barrier_name(Participants::Block) {
            ": a warp reaches it with all of its threads, or returns with all of them"
        } else {
            ""
        };
        self.report(FindingKind::DivergentBarrier, site, warp.number, missing, None, |lane| {
            let number = warp.number;
            format!("{here} of the {all} threads of warp {number} reach {what}; lane {lane} does not{rule}")
        });
    }
}

/// A barrier in words.
fn barrier_name(participants: Participants) -> &'static str {
    match participants {
        Participants::Thread => "a barrier of the thread",
        Participants::Warp => "a barrier of the warp",
        Participants::Warpgroup => "a barrier of the warpgroup",
        Participants::Block => "a barrier of the block",
        Participants::Cluster => "a barrier of the cluster",
        Participants::Grid => "a barrier of the grid",
    }
}
