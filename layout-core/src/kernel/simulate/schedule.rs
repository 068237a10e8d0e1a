//! Who can go on: phases, named barriers, registers, products; and who waits for what when nobody can.

use super::bytecode::{LANES, Op};
use super::machine::Machine;
use super::proxy::Counted;
use super::report::FindingKind;
use super::transfer::Arriving;
use super::warp::{Frame, State, Warp};
use crate::kernel::program::Participants;

impl Machine<'_> {
    /// Lets warps go on that wait for what has come; false where there is none.
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

    /// Lets the warps go on whose named barrier is full.
    fn release_named(&mut self) -> bool {
        let mut any = false;
        for first in 0..self.count {
            let State::Named { barrier, threads, site } = self.warps[first].state else { continue };
            let (mut met, mut there) = (Vec::new(), 0);
            let at = (self.rank(first), barrier);
            let counted: Vec<Counted> =
                self.proxy.counted.iter().filter(|one| one.at == at).cloned().collect();
            for one in &counted {
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
                self.in_their_place(first, barrier, &met);
                self.meet(&met);
                for warp in &met {
                    let strands = &mut self.clocks.warps[*warp];
                    counted.iter().for_each(|one| strands.learn(u32::MAX, |known| known.join(&one.told)));
                }
                self.proxy.counted.retain(|one| one.at != at);
                self.proxy.named.insert(at, self.met(&met));
                any = true;
            } else if self.report_missing(first, threads, there) {
                let count = self.warps_of_block();
                self.report(FindingKind::DivergentBarrier, site, first as u32, 1, None, |_| {
                    format!("a barrier for {threads} threads in a block of {count} warps")
                });
                self.meet(&met);
                any = true;
            }
        }
        any
    }

    /// Reports a warp that names another number of threads than the first one at a named barrier.
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

    /// A warp counts at a named barrier and goes on.
    pub(crate) fn arrive_named(&mut self, warp: &Warp, barrier: i64, threads: u32, site: u32) {
        let number = warp.number as usize;
        let at = (self.rank(number), barrier);
        if self.proxy.counted.iter().any(|one| one.at == at && one.warp == number) {
            self.report(FindingKind::DivergentBarrier, site, warp.number, warp.active, None, |_| {
                format!(
                    "warp {number} counts at barrier {barrier} once more, before those whom it counted for have \
                     met: it takes the place of another warp"
                )
            });
            return;
        }
        let told = self.clocks.of(warp.number).tell(warp.active);
        self.proxy.counted.push(Counted { at, threads, warp: number, site, told });
        let all = self.proxy.counted.iter().filter(|one| one.at == at).count() * LANES;
        // Full without anybody who waits: it begins again.
        if all >= threads as usize {
            self.proxy.counted.retain(|one| one.at != at);
        }
    }

    /// Warps, and the time at which they went on.
    fn met(&self, warps: &[usize]) -> Vec<(usize, u32)> {
        warps.iter().map(|warp| (*warp, self.clocks.warps[*warp].time())).collect()
    }

    /// Reports warps at a named barrier that others have met at, where nothing orders their coming after those went on: a
    /// barrier counts threads, whoever they are (PTX ISA, `bar.sync`), and they may come in the place of one of the others.
    fn in_their_place(&mut self, first: usize, barrier: i64, met: &[usize]) {
        let Some(before) = self.proxy.named.get(&(self.rank(first), barrier)) else { return };
        let stranger = |warp: &&usize| {
            let known = &self.clocks.warps[**warp].all().clock;
            let mut others = before.iter();
            others.all(|(other, time)| {
                other != *warp && known.unknown(*other, self.warps[*other].live, *time) != 0
            })
        };
        let Some(stranger) = met.iter().find(stranger).copied() else { return };
        let State::Named { site, .. } = self.warps[stranger].state else { return };
        let names: Vec<String> = before.iter().map(|(warp, _)| self.inside(*warp).to_string()).collect();
        let (names, warp) = (names.join(", "), self.warp_name(stranger));
        let lanes = self.warps[stranger].live;
        self.report(FindingKind::DivergentBarrier, site, stranger as u32, lanes, None, |_| {
            format!(
                "{warp} meets others at barrier {barrier}, where warps {names} met before; nothing lets it come after \
                 them, and it may meet there in the place of one of them: another number, or a barrier between"
            )
        });
    }

    /// Whether a named barrier waits for more threads than the block has, all of which are there.
    fn report_missing(&self, _first: usize, threads: u32, there: u32) -> bool {
        threads > there && there as usize == self.warps_of_block() * LANES
    }

    /// Registers that each thread of a warp may have at most now.
    fn registers_left(&self, warp: usize) -> u32 {
        let block = self.warps_of(self.rank(warp));
        let pool = self.proxy.pool * block.len() as u32;
        let others = self.proxy.registers[block].iter().sum::<u32>() - self.proxy.registers[warp];
        pool.saturating_sub(others)
    }

    /// Changes the registers of a warp's threads; false where there are too few.
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

    /// Registers are changed by the four warps of a warpgroup, the same by each (PTX ISA, `setmaxnreg`).
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

    /// The end of a block: what is in flight, and phases that have begun.
    pub(crate) fn finish(&mut self) {
        self.finish_transfers();
        self.finish_products();
        self.finish_registers();
        self.finish_cluster();
        for one in std::mem::take(&mut self.proxy.counted) {
            let Counted { at: (_, barrier), threads, warp, site, .. } = one;
            self.report(FindingKind::InFlightAtEnd, site, warp as u32, 1, None, |_| {
                format!("the block ends and warp {warp} has counted at barrier {barrier}, where {threads} threads never met")
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

    /// Nobody can go on.
    pub(crate) fn deadlock(&mut self) {
        // The first of those whose wait nobody has begun to end: the others may wait for them.
        let waiting = self.warps.iter().enumerate().filter(|(_, warp)| warp.state != State::Ended);
        let stuck = waiting.min_by_key(|(_, warp)| self.blame(warp.state)).map_or(0, |(number, _)| number);
        for number in 0..self.proxy.barriers.len() {
            self.wrong_bytes(number);
        }
        if self.warps.iter().any(|warp| matches!(warp.state, State::Phase { .. })) {
            self.stale_waits();
        }
        if self.warps.iter().any(|warp| matches!(warp.state, State::Products { .. })) {
            self.divergent_products();
        }
        // Warps that wait for the same thing at the same place are told of together.
        let mut groups: Vec<(State, Vec<usize>)> = Vec::new();
        for (number, warp) in self.warps.iter().enumerate().filter(|(_, warp)| warp.state != State::Ended) {
            match groups.iter_mut().find(|(state, _)| *state == warp.state) {
                Some((_, warps)) => warps.push(number),
                None => groups.push((warp.state, vec![number])),
            }
        }
        let site = site(self.warps[stuck].state);
        let told: Vec<String> = groups
            .iter()
            .take(8)
            .map(|(state, warps)| {
                let (first, last) = (warps.first().copied(), warps.last().copied());
                let (first, last) = (first.unwrap_or_default(), last.unwrap_or_default());
                let who = if first == last {
                    format!("{} waits", self.warp_name(first))
                } else {
                    format!("{} warps from {first} to {last} wait", warps.len())
                };
                format!("{who} {}", self.waits_for(*state, warps))
            })
            .collect();
        let lanes = self.warps[stuck].active;
        self.report(FindingKind::Deadlock, site, stuck as u32, lanes, None, |_| {
            format!("nobody can go on: {}", told.join("; "))
        });
        // Others met there without it: what was wrong with what they did then came of that.
        if let State::Named { barrier, .. } = self.warps[stuck].state
            && self.proxy.named.contains_key(&(self.rank(stuck), barrier))
        {
            self.told.get_mut().findings.first(FindingKind::Deadlock, site);
        }
    }

    /// How far a wait is from having been ended: less is likelier the cause of a deadlock.
    fn blame(&self, state: State) -> u32 {
        let barrier = match state {
            State::Phase { barrier, .. } => barrier,
            // A barrier that somebody has no way to comes to nothing, whatever the others wait for.
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

    /// Whether a warp is at such a barrier, or may yet come to one: some way leads there from where it stands.
    fn may_come(&self, warp: &Warp, participants: Participants) -> bool {
        if matches!(warp.state, State::Waiting(own, _) if own == participants) {
            return true;
        }
        let code = &self.launch.program.code;
        // The `if`s that it is in, the innermost last: whether lanes are left for the other part.
        let inside = warp.frames.iter().filter_map(|frame| match frame {
            Frame::If { other, .. } => Some(*other != 0),
            Frame::Loop { .. } => None,
        });
        let mut inside: Vec<bool> = inside.collect();
        let (mut at, mut nested, mut back) = (warp.pc, 0usize, usize::MAX);
        // Downwards, past what is left out; a loop that it is in begins once more at its first jump back.
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
                // Of a loop around it everything may come once more, also what stands before this place.
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

    /// A phase that all have arrived at, and whose bytes nobody brings; or one that copies tell of, and that nobody has told
    /// to expect them.
    fn wrong_bytes(&mut self, number: usize) {
        self.unarmed(number);
        let known = &self.proxy.barriers[number];
        let (expected, landed, phase) = (known.expected, known.landed, known.phase);
        let (pending, site) = (known.pending, if known.told > 0 { known.told } else { known.site });
        let in_flight = self.proxy.arriving.iter().any(|load| load.tells == Some((number, phase)));
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
        let (phase, own) = (known.phase, |load: &&Arriving| load.tells == Some((number, known.phase)));
        let in_flight = self.proxy.arriving.iter().filter(own);
        let bytes = known.landed + in_flight.map(|load| load.bytes as i64).sum::<i64>();
        let site = self.proxy.arriving.iter().find(own).map_or(known.copied, |load| load.site);
        if known.arrivals == 0 || known.pending == 0 || bytes <= known.expected || known.told > 0 {
            return;
        }
        let name = self.barrier_name(number);
        let warp = self.barrier_warp(number);
        self.report(FindingKind::TransactionBytes, site, warp, 1, None, |_| {
            format!(
                "copies of {bytes} bytes tell phase {phase} of {name}, which nobody has told to expect them: no `arrive_expect` \
                 for this phase, so it cannot end"
            )
        });
    }

    /// What a state waits for, in words.
    fn waits_for(&self, state: State, warps: &[usize]) -> String {
        let program = self.launch.program;
        let line = program.sites.get(site(state) as usize).map_or(0, |site| site.line);
        let what = match state {
            State::Waiting(participants, _) => format!("at a barrier of the {participants:?}").to_lowercase(),
            State::Phase { barrier, parity, .. } => {
                let barrier = barrier as usize;
                let name = self.barrier_name(barrier);
                match self.proxy.barriers.get(barrier) {
                    Some(known) if known.arrivals > 0 => format!(
                        "for parity {} of {name}, which is in phase {} with {} of {} arrivals and {} bytes missing",
                        parity & 1,
                        known.phase,
                        known.pending,
                        known.arrivals,
                        known.expected - known.landed
                    ),
                    _ => format!("for {name}, which nothing has made"),
                }
            }
            State::Named { barrier, threads, .. } => {
                format!("at barrier {barrier}, where {} of {threads} threads are", warps.len() * LANES)
            }
            State::Products { groups, .. } => {
                format!("for group {groups} of products, which not every warp of the warpgroup has issued")
            }
            State::Registers { registers, .. } => format!(
                "for {registers} registers a thread, of which the block's {} leave fewer",
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
