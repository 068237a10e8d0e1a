//! Wakes waiting warps: phases, named barriers, registers, wgmmas; and the checks at the end of a block.

use crate::bytecode::LANES;
use crate::event::Event;
use crate::machine::Machine;
use crate::report::FindingKind;
use crate::state::proxy::NamedArrival;
use crate::state::warp::State;

impl Machine<'_> {
    /// Wakes warps whose wait has ended; false if there is none.
    pub(crate) fn wake(&mut self) -> bool {
        let mut any = self.release_named();
        for number in 0..self.count {
            let come = match self.warps[number].state {
                State::Phase { barrier, parity, .. } => {
                    self.proxy.barriers.get(barrier as usize).is_some_and(|known| known.passes(parity))
                }
                State::Products { groups, .. } => self.issued_by_all(number, groups),
                State::Registers { registers, .. } => self.registers_left(number) >= registers,
                State::Ready
                | State::Waiting(..)
                | State::Named { .. }
                | State::Exhausted(_)
                | State::Ended => false,
            };
            if come {
                self.warps[number].state = State::Ready;
                any = true;
            }
        }
        any
    }

    /// Releases the warps of complete named barriers.
    fn release_named(&mut self) -> bool {
        let mut any = false;
        for first in 0..self.count {
            let State::Named { barrier, threads, site } = self.warps[first].state else { continue };
            let (mut met, mut there) = (Vec::new(), 0);
            let at = (self.rank(first), barrier);
            let named_arrivals: Vec<NamedArrival> =
                self.proxy.named_arrivals.iter().filter(|one| one.at == at).cloned().collect();
            for one in &named_arrivals {
                self.same_threads(first, (barrier, threads), one.warp, (one.threads, one.site));
                there += LANES as u32;
            }
            for number in first..self.warps_of(self.rank(first)).end {
                let State::Named { barrier: other, threads: count, site: its_site } =
                    self.warps[number].state
                else {
                    continue;
                };
                if other != barrier || there >= threads {
                    continue;
                }
                self.same_threads(first, (barrier, threads), number, (count, its_site));
                there += LANES as u32;
                met.push(number);
            }
            if there >= threads {
                self.notify(&Event::BarrierSynced { rank: at.0, barrier, warps: &met });
                self.complete_barrier(&met);
                for warp in &met {
                    let lane_clocks = &mut self.clocks.warps[*warp];
                    named_arrivals
                        .iter()
                        .for_each(|one| lane_clocks.acquire(u32::MAX, |known| known.join(&one.clock)));
                }
                self.proxy.named_arrivals.retain(|one| one.at != at);
                self.proxy.named.insert(at);
                any = true;
            } else if self.report_missing(first, threads, there) {
                let count = self.warps_of_block();
                self.report(FindingKind::DivergentBarrier, site, first as u32, 1, None, |_| {
                    format!("a barrier for {threads} threads in a block of {count} warps")
                });
                self.complete_barrier(&met);
                any = true;
            }
        }
        any
    }

    /// Reports a warp whose thread count differs from the first one's at a named barrier.
    fn same_threads(
        &mut self,
        first: usize,
        (barrier, threads): (i64, u32),
        number: usize,
        (count, site): (u32, u32),
    ) {
        if count != threads {
            self.report(FindingKind::DivergentBarrier, site, number as u32, 1, None, |_| {
                format!(
                    "warp {number} waits at barrier {barrier} for {count} threads, warp {first} for {threads}"
                )
            });
        }
    }

    pub(crate) fn waits_for_phases(&self) -> bool {
        self.warps.iter().any(|warp| matches!(warp.state, State::Phase { .. }))
    }

    /// Whether a named barrier waits for more threads than the block has, and all of them are there.
    fn report_missing(&self, _first: usize, threads: u32, there: u32) -> bool {
        threads > there && there as usize == self.warps_of_block() * LANES
    }

    /// Checks that the four warps of a warpgroup change their registers alike (PTX ISA, `setmaxnreg`).
    fn finish_registers(&mut self) {
        for first in 0..self.count {
            let other = (first + 1..self.warpgroup(first).end)
                .find(|other| self.proxy.register_changes[*other] != self.proxy.register_changes[first]);
            let Some(other) = other.filter(|_| self.warpgroup(first).start == first) else { continue };
            let (mine, its) = (&self.proxy.register_changes[first], &self.proxy.register_changes[other]);
            let apart = mine.iter().zip(its).position(|(a, b)| a != b).unwrap_or(mine.len().min(its.len()));
            let site = mine.get(apart).or(its.get(apart)).copied().unwrap_or_default();
            let (count, its) = (mine.len(), its.len());
            self.report(FindingKind::DivergentBarrier, site, other as u32, 1, None, |_| {
                format!(
                    "warp {first} changes its registers {count} times, warp {other} of the same warpgroup {its} times, or elsewhere: \
                     all four warps do it together"
                )
            });
        }
    }

    /// The end of a block: reports work in flight and incomplete phases.
    pub(crate) fn finish(&mut self) {
        self.finish_transfers();
        self.finish_products();
        self.uncommitted_products();
        self.finish_tensor_memory();
        self.finish_registers();
        self.notify(&Event::End);
        for one in std::mem::take(&mut self.proxy.named_arrivals) {
            let NamedArrival { at: (_, barrier), threads, warp, site, .. } = one;
            self.report(FindingKind::InFlightAtEnd, site, warp as u32, 1, None, |_| {
                format!("the block ends after warp {warp} arrived at barrier {barrier}, which {threads} threads never \
                completed")
            });
        }
        for number in 0..self.proxy.barriers.len() {
            let known = &self.proxy.barriers[number];
            let (arrivals, pending, bytes) = (known.arrivals, known.pending, known.expected - known.landed);
            if pending == arrivals && bytes == 0 {
                continue;
            }
            let (phase, site, arrived) = (known.phase, known.site, arrivals - pending);
            let name = self.barrier_name(number);
            let warp = self.barrier_warp(number);
            self.report(FindingKind::InFlightAtEnd, site, warp, 1, None, |_| {
                format!(
                    "the block ends in phase {phase} of {name}, with {arrived} of its {arrivals} arrivals and \
                     {bytes} bytes missing"
                )
            });
        }
    }
}
