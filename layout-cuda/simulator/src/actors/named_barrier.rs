//! Arrivals at named barriers, completion of a warp's reads, and changes of its register limit.

use crate::bytecode::LANES;
use crate::machine::Machine;
use crate::report::FindingKind;
use crate::state::proxy::NamedArrival;
use crate::state::warp::{State, Warp};

impl Machine<'_> {
    /// A warp arrives at a named barrier without waiting.
    pub(crate) fn arrive_named(&mut self, warp: &Warp, barrier: i64, threads: u32, site: u32) {
        let number = warp.number as usize;
        let at = (self.rank(number), barrier);
        if self.proxy.named_arrivals.iter().any(|one| one.at == at && one.warp == number) {
            self.report(FindingKind::DivergentBarrier, site, warp.number, warp.active, None, |_| {
                format!(
                    "warp {number} arrives at barrier {barrier} again before the barrier is complete: it takes \
                    the place of another warp"
                )
            });
            return;
        }
        self.settle(warp.number, warp.active, self.clocks.warps[number].time());
        let clock = self.clocks.of(warp.number).release(warp.active);
        self.proxy.named_arrivals.push(NamedArrival { at, threads, warp: number, site, clock });
        let all = self.proxy.named_arrivals.iter().filter(|one| one.at == at).count() * LANES;
        // Complete without a waiting warp: the barrier starts again.
        if all >= threads as usize {
            self.proxy.named_arrivals.retain(|one| one.at != at);
        }
    }

    /// The reads of these lanes before a time have completed, and those of the other lanes before their last join.
    pub(crate) fn settle(&mut self, warp: u32, lanes: u32, now: u32) {
        let met = self.clocks.accessor(warp, lanes).own();
        self.proxy.reads.settle(warp as usize, lanes, (now, met));
    }

    /// The most registers per thread that a warp can have now.
    pub(crate) fn registers_left(&self, warp: usize) -> u32 {
        let block = self.warps_of(self.rank(warp));
        let pool = self.proxy.pool * block.len() as u32;
        let others = self.proxy.registers[block].iter().sum::<u32>() - self.proxy.registers[warp];
        pool.saturating_sub(others)
    }

    /// Changes the registers per thread of a warp; false if too few are free.
    pub(crate) fn set_registers(&mut self, warp: &mut Warp, registers: u32, site: u32) -> bool {
        self.converged(warp, "set_max_registers", site);
        let number = warp.number as usize;
        if self.registers_left(number) < registers {
            warp.state = State::Registers { registers, site };
            return false;
        }
        self.proxy.registers[number] = registers;
        self.proxy.register_changes[number].push(site);
        true
    }
}
