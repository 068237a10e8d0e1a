//! Deadlocks: the wait of each warp, and the likeliest cause.

use crate::bytecode::{LANES, Op};
use crate::event::Event;
use crate::machine::Machine;
use crate::report::FindingKind;
use crate::state::proxy::PendingLoad;
use crate::state::warp::{Frame, State, Warp};
use layout_compiler::program::Participants;

impl Machine<'_> {
    pub(crate) fn deadlock(&mut self) {
        // A wait that no other warp has begun to satisfy is the likeliest cause: other waits may depend on it.
        let waiting = self.warps.iter().enumerate().filter(|(_, warp)| warp.state != State::Ended);
        let stuck = waiting.min_by_key(|(_, warp)| self.blame(warp.state)).map_or(0, |(number, _)| number);
        for number in 0..self.proxy.barriers.len() {
            self.wrong_bytes(number);
        }
        self.notify(&Event::Deadlock);
        if self.warps.iter().any(|warp| matches!(warp.state, State::Products { .. })) {
            self.divergent_products();
        }
        self.uncommitted_products();
        // Warps with the same wait are reported together.
        let mut groups: Vec<(State, Vec<usize>)> = Vec::new();
        for (number, warp) in self.warps.iter().enumerate().filter(|(_, warp)| warp.state != State::Ended) {
            match groups.iter_mut().find(|(state, _)| *state == warp.state) {
                Some((_, warps)) => warps.push(number),
                None => groups.push((warp.state, vec![number])),
            }
        }
        let site = site(self.warps[stuck].state);
        let waits: Vec<String> = groups
            .iter()
            .take(8)
            .map(|(state, warps)| {
                let (first, last) = (warps.first().copied(), warps.last().copied());
                let (first, last) = (first.unwrap_or_default(), last.unwrap_or_default());
                let accessor = if first == last {
                    format!("{} waits", self.warp_name(first))
                } else {
                    format!("{} warps from {first} to {last} wait", warps.len())
                };
                format!("{accessor} {}", self.waits_for(*state, warps))
            })
            .collect();
        let lanes = self.warps[stuck].active;
        self.report(FindingKind::Deadlock, site, stuck as u32, lanes, None, |_| {
            format!("no warp can continue: {}", waits.join("; "))
        });
        // Other warps completed the barrier without this one, so later findings follow from the deadlock.
        if let State::Named { barrier, .. } = self.warps[stuck].state
            && self.proxy.named.contains(&(self.rank(stuck), barrier))
        {
            self.diagnostics.get_mut().findings.first(FindingKind::Deadlock, site);
        }
    }

    /// A rank of the waits: the least is the likeliest cause.
    fn blame(&self, state: State) -> u32 {
        let barrier = match state {
            State::Phase { barrier, .. } => barrier,
            // A barrier that some warp cannot reach is never completed.
            State::Waiting(participants, _) => {
                let stays_away =
                    |warp: &Warp| warp.state != State::Ended && !self.may_come(warp, participants);
                return if self.warps.iter().any(stays_away) { 0 } else { 3 };
            }
            _ => return 3,
        };
        match self.proxy.barriers.get(barrier as usize) {
            Some(known) if known.arrivals > 0 => match known.pending {
                pending if pending < known.arrivals => 1,
                _ if known.phase == 0 => 2,
                _ => 3,
            },
            _ => 0,
        }
    }

    /// Whether a warp is at such a barrier or may reach one from its program counter.
    fn may_come(&self, warp: &Warp, participants: Participants) -> bool {
        if matches!(warp.state, State::Waiting(own, _) if own == participants) {
            return true;
        }
        let code = &self.launch.program.code;
        // For each enclosing `if`, the innermost last: whether lanes remain for `else`.
        let inside = warp.frames.iter().filter_map(|frame| match frame {
            Frame::If { other, .. } => Some(*other != 0),
            Frame::Loop { .. } => None,
        });
        let mut inside: Vec<bool> = inside.collect();
        let (mut at, mut nested, mut back) = (warp.pc, 0usize, usize::MAX);
        // Scans forward; the first jump back repeats the enclosing loop.
        while let Some(op) = code.get(at) {
            at += 1;
            match op {
                Op::Barrier { participants: own, .. } if *own == participants => return true,
                Op::If { .. } => nested += 1,
                Op::Else { end } if nested == 0 && !inside.last().copied().unwrap_or(true) => {
                    at = *end as usize;
                }
                Op::EndIf if nested > 0 => nested -= 1,
                Op::EndIf => {
                    inside.pop();
                }
                // The enclosing loop repeats the code before the program counter.
                Op::Jump { to, .. } if (*to as usize) < warp.pc && (*to as usize) < back => {
                    back = *to as usize;
                    let again = &code[back..warp.pc.min(code.len())];
                    if again
                        .iter()
                        .any(|op| matches!(op, Op::Barrier { participants: own, .. } if *own == participants))
                    {
                        return true;
                    }
                }
                _ => {}
            }
        }
        false
    }

    /// Reports a phase whose expected bytes no copy brings, and one whose copies no arrival expects.
    fn wrong_bytes(&mut self, number: usize) {
        self.unarmed(number);
        let known = &self.proxy.barriers[number];
        let (expected, landed, phase) = (known.expected, known.landed, known.phase);
        let (pending, site) =
            (known.pending, if known.expect_site > 0 { known.expect_site } else { known.site });
        let in_flight = self.proxy.pending_loads.iter().any(|load| load.barrier == Some((number, phase)));
        if pending > 0 || expected <= landed || in_flight {
            return;
        }
        let name = self.barrier_name(number);
        let warp = self.barrier_warp(number);
        self.report(FindingKind::TransactionBytes, site, warp, 1, None, |_| {
            format!("phase {phase} of {name} expects {expected} bytes and its copies report {landed}: it cannot end")
        });
    }

    fn unarmed(&mut self, number: usize) {
        let known = &self.proxy.barriers[number];
        let (phase, own) = (known.phase, |load: &&PendingLoad| load.barrier == Some((number, known.phase)));
        let in_flight = self.proxy.pending_loads.iter().filter(own);
        let bytes = known.landed + in_flight.map(|load| load.bytes as i64).sum::<i64>();
        let site = self.proxy.pending_loads.iter().find(own).map_or(known.copy_site, |load| load.site);
        if known.arrivals == 0 || known.pending == 0 || bytes <= known.expected || known.expect_site > 0 {
            return;
        }
        let name = self.barrier_name(number);
        let warp = self.barrier_warp(number);
        self.report(FindingKind::TransactionBytes, site, warp, 1, None, |_| {
            format!(
                "copies report {bytes} bytes to phase {phase} of {name}, which does not expect them: no \
                `arrive_expect` for this phase, so it cannot end"
            )
        });
    }

    /// A wait in words.
    pub(crate) fn waits_for(&self, state: State, warps: &[usize]) -> String {
        let program = self.launch.program;
        let line = program.sites.get(site(state) as usize).map_or(0, |site| site.line);
        let what = match state {
            State::Waiting(participants, _) => format!("at a barrier of the {participants:?}").to_lowercase(),
            State::Phase { barrier, parity, .. } => {
                let barrier = barrier as usize;
                let name = self.barrier_name(barrier);
                match self.proxy.barriers.get(barrier) {
                    Some(known) if known.arrivals > 0 => {
                        let bytes = known.expected - known.landed;
                        let wait = format!(
                            "for parity {} of {name}, which is in phase {} with {} of {} arrivals and {bytes} bytes missing",
                            parity & 1,
                            known.phase,
                            known.pending,
                            known.arrivals,
                        );
                        match known.phase > 0 && known.pending == known.arrivals && bytes == 0 {
                            true => format!(
                                "{wait}: {} phases have ended, the last one of parity {}",
                                known.phase,
                                1 - (parity & 1)
                            ),
                            false => wait,
                        }
                    }
                    _ => format!("for {name}, which is not initialised"),
                }
            }
            State::Named { barrier, threads, .. } => {
                format!(
                    "at barrier {barrier}, where {} of {threads} threads have arrived",
                    warps.len() * LANES
                )
            }
            State::Products { groups, .. } => {
                format!("for group {groups} of products, which not every warp of the warpgroup has issued")
            }
            State::Registers { registers, .. } => format!(
                "for {registers} registers per thread; the {} of the block leave fewer",
                self.proxy.pool * (self.warps_of_block() * LANES) as u32
            ),
            State::Ready | State::Exhausted(_) | State::Ended => "for nothing".to_owned(),
        };
        format!("{what} (line {line})")
    }
}

fn site(state: State) -> u32 {
    match state {
        State::Waiting(_, site)
        | State::Exhausted(site)
        | State::Phase { site, .. }
        | State::Named { site, .. }
        | State::Products { site, .. }
        | State::Registers { site, .. } => site,
        State::Ready | State::Ended => 0,
    }
}
