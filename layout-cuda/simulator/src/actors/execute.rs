//! Executes a warp until it waits or ends.
//!
//! An instruction computes in registers (`registers`), changes the active lanes (`control`), accesses memory or other
//! threads (here, and in the callees), or is instrumentation that only analyses observe.

use super::collectives;
use super::mma;
use super::proxy::Flow;
use super::scaled_mma;
use crate::bytecode::Op;
use crate::event::Event;
use crate::machine::Machine;
use crate::report::FindingKind;
use crate::state::endless_loop::LoopDetector;
use crate::state::warp::{State, Warp};
use layout_compiler::program::{Collective, Participants};

impl Machine<'_> {
    pub(crate) fn run_warp(&mut self, number: usize) {
        // The warp is moved out, so that the machine and the warp are borrowed apart; an empty vector does not
        // allocate.
        let mut warps = std::mem::take(&mut self.warps);
        self.run(&mut warps[number]);
        self.warps = warps;
    }

    fn run(&mut self, warp: &mut Warp) {
        let program = self.launch.program;
        let counters = self.launch.counters;
        let paused = self.watch.as_mut().and_then(|watch| watch.rounds.take());
        let mut rounds = paused.unwrap_or_else(LoopDetector::new);
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
                // Every instruction belongs to one of these groups.
                Some(Flow::Next) | None => {}
                Some(Flow::Again) => {
                    warp.pc = at;
                    if let Some(watch) = self.watch.as_mut().filter(|watch| watch.paused) {
                        watch.rounds = Some(rounds);
                    }
                    return;
                }
                Some(Flow::Stop) => return,
            }
        }
    }

    /// Executes an instruction with a side effect.
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
                // After a `break` of all lanes no lane is active.
                if warp.active == 0 {
                    return Some(Flow::Next);
                }
                self.converged(warp, function.name(), site);
                // An elected lane acquires nothing.
                if function != Collective::ElectOne {
                    self.clocks.of(warp.number).exchange();
                }
                collectives::collective(warp, dst, function, from, lane, elem);
            }
            Op::Mma { d, a, b, core, scales, site } => {
                self.converged(warp, "a matrix instruction", site);
                match scales {
                    None => mma::mma(warp, core, [d, a, b]),
                    Some(scales) => scaled_mma::mma(warp, core, [d, a, b], scales),
                }
            }
            Op::LoadMatrix { dst, address, count, transposed, site } => {
                self.converged(warp, "a load of matrices", site);
                self.load_matrix(warp, dst, address, (count, transposed), site);
            }
            Op::Atomic { dst, expected, src, change, scope, update, address, mask, site } => {
                self.atomic(warp, dst, [expected, src], (change, scope, update), (address, mask), site);
                if warp.active != 0 && program.waits {
                    // It may poll an element that another warp writes, so the warp yields. If it wrote, polling warps
                    // run before it continues; otherwise they would acquire more than they waited for.
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
            Op::Statement => return Some(self.statement(warp)),
            _ => return None,
        }
        Some(Flow::Next)
    }

    /// A statement of a watched run begins: it is a step, unless the run pauses in front of it.
    #[cold]
    fn statement(&mut self, warp: &Warp) -> Flow {
        let block = self.clocks.blocks.first().map_or(0, |block| block.number);
        // Where no lane is active nothing is executed.
        let Some(watch) = self.watch.as_mut().filter(|_| warp.active != 0) else { return Flow::Next };
        if watch.pauses(warp.pc - 1, warp.number, block) {
            return Flow::Again;
        }
        self.now = watch.step - 1;
        Flow::Next
    }

    /// Reports inactive threads of a warp at an instruction that needs all of them.
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
