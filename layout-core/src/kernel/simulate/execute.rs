//! Runs a warp until it waits or ends.

use super::arithmetic::{compared, doubles, float_to_integer, floats, integers};
use super::bytecode::{Bank, LANES, Op, Register};
use super::compile::compare;
use super::elementwise;
use super::judge::arithmetic::born;
use super::machine::Machine;
use super::mma;
use super::proxy::Flow;
use super::report::FindingKind;
use super::rounds::Rounds;
use super::together;
use super::warp::{Frame, State, Warp, put};
use crate::kernel::elem::Elem;
use crate::kernel::ir::BinaryOp;
use crate::kernel::program::{Collective, Participants};
use crate::kernel::small_float;

impl Machine<'_> {
    /// Runs a ready warp until it waits or ends.
    pub(super) fn run_warp(&mut self, number: usize) {
        // The warp is moved out so that memory and warp can be borrowed apart; an empty vector costs nothing.
        let mut warps = std::mem::take(&mut self.warps);
        self.run(&mut warps[number]);
        self.warps = warps;
    }

    fn run(&mut self, warp: &mut Warp) {
        let program = self.launch.program;
        let counters = self.launch.counters;
        let mut rounds = Rounds::new();
        loop {
            let at = warp.pc;
            if counters {
                let [runs, lanes] = &mut self.runs[at];
                *runs += 1;
                *lanes += u64::from(warp.active.count_ones());
            }
            warp.pc += 1;
            match program.code[at] {
                Op::Scalar { dst, op, a, b, site } => {
                    let (a, b) = (warp.uniform(a), warp.uniform(b));
                    let value = op.apply(a, b);
                    if value.is_none() && warp.active != 0 {
                        self.division(warp, site, warp.active, a);
                    }
                    warp.scalars[dst as usize] = value.unwrap_or(0);
                }
                Op::Vector { dst, op, a, b, site } => {
                    let (a, b) = (warp.lanes(a), warp.lanes(b));
                    let (value, failed) = op.lanes(&a, &b);
                    self.division_lanes(warp, site, failed, &a);
                    put(&mut warp.int[dst as usize], &value, warp.active);
                }
                Op::Int { dst, op, a, b, elem, site } => {
                    let (a, b) = (warp.lanes(a), warp.lanes(b));
                    let (value, failed) = integers(op, &a, &b, elem);
                    self.division_lanes(warp, site, failed, &a);
                    put(&mut warp.int[dst as usize], &value, warp.active);
                }
                Op::Math { dst, function, operands, elem } => {
                    elementwise::math(warp, dst, function, operands, elem);
                }
                Op::Wrap { dst, a, elem } => {
                    let mut value = warp.lanes(a);
                    if elem != Elem::I64 {
                        value = value.map(|value| elem.wrap(value));
                    }
                    put(&mut warp.int[dst as usize], &value, warp.active);
                }
                Op::ConstantF32 { dst, value } => {
                    put(&mut warp.f32[dst as usize], &[value; LANES], warp.active);
                }
                Op::ConstantF64 { dst, value } => {
                    put(&mut warp.f64[dst as usize], &[value; LANES], warp.active);
                }
                Op::ConstantMask { dst, value } => warp.put_mask(dst, value),
                Op::F32 { dst, op, a, b, c } => {
                    let file = &warp.f32;
                    let value = floats(op, &file[a as usize], &file[b as usize], &file[c as usize]);
                    put(&mut warp.f32[dst as usize], &value, warp.active);
                }
                Op::F64 { dst, op, a, b, c } => {
                    let file = &warp.f64;
                    let value = doubles(op, &file[a as usize], &file[b as usize], &file[c as usize]);
                    put(&mut warp.f64[dst as usize], &value, warp.active);
                }
                Op::Round { dst, elem } => {
                    let value = warp.f32[dst as usize].map(|value| small_float::round(value, elem));
                    put(&mut warp.f32[dst as usize], &value, warp.active);
                }
                Op::MaskBinary { dst, op, a, b } => {
                    let (a, b) = (warp.mask[a as usize], warp.mask[b as usize]);
                    let value = match op {
                        BinaryOp::BitOr => a | b,
                        BinaryOp::BitXor => a ^ b,
                        _ => a & b,
                    };
                    warp.put_mask(dst, value);
                }
                Op::MaskNot { dst, a } => warp.put_mask(dst, !warp.mask[a as usize]),
                Op::CompareInt { dst, op, a, b } => {
                    let value = if a.uniform() && b.uniform() {
                        if compare(op, &warp.uniform(a), &warp.uniform(b)) { u32::MAX } else { 0 }
                    } else {
                        compared(op, &warp.lanes(a), &warp.lanes(b))
                    };
                    warp.put_mask(dst, value);
                }
                Op::CompareF32 { dst, op, a, b } => {
                    warp.put_mask(dst, compared(op, &warp.f32[a as usize], &warp.f32[b as usize]));
                }
                Op::CompareF64 { dst, op, a, b } => {
                    warp.put_mask(dst, compared(op, &warp.f64[a as usize], &warp.f64[b as usize]));
                }
                Op::Select { dst, condition, then, otherwise } => {
                    select(warp, dst, condition, then, otherwise)
                }
                Op::Cast { dst, from, natural, elem } => cast(warp, dst, from, natural, elem),
                Op::Poison { bank, dst, slot } => {
                    warp.poison(bank, dst, warp.active);
                    warp.initialised[slot as usize] &= !warp.active;
                }
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
                        continue;
                    }
                    self.converged(warp, function.name(), site);
                    // Who is elected knows no more than it did.
                    if function != Collective::ElectOne {
                        self.clocks.of(warp.number).exchange();
                    }
                    together::collective(warp, dst, function, from, lane, elem);
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
                    if warp.active != 0 && (change.may_wait() || program.waits && dst.is_some()) {
                        // It may wait for what another warp writes: that one must have its turn.
                        warp.wait_site = site;
                        return;
                    }
                }
                Op::Barrier { participants, site } => {
                    if warp.active == 0 || participants == Participants::Thread {
                        continue;
                    }
                    let scope = format!("a barrier of the {participants:?}").to_lowercase();
                    self.converged(warp, &scope, site);
                    if participants == Participants::Warp {
                        self.clocks.of(warp.number).meet();
                    } else {
                        warp.state = State::Waiting(participants, site);
                        return;
                    }
                }
                Op::Asynchronous { work } => match self.asynchronous(warp, work) {
                    Flow::Next => {}
                    Flow::Again => {
                        warp.pc = at;
                        return;
                    }
                    Flow::Stop => return,
                },
                Op::Claim { at, end, site } => self.claim(warp, at, end, site),
                Op::Exact { op, a, b, elem, site } => self.judge_operator(warp, op, (a, b), elem, site),
                Op::Whole { function, a, b, elem, site } => {
                    self.judge_whole(warp, function, (a, b), elem, site)
                }
                Op::Fits { from, natural, elem, site } => self.judge_cast(warp, from, natural, elem, site),
                Op::Born { dst, from, together, site } => born(warp, dst, &from, together, site),
                Op::Leaves { number, site } => self.judge_index(warp, number, site),
                Op::CheckInitialised { slot, site } => {
                    let missing = warp.active & !warp.initialised[slot as usize];
                    if missing != 0 {
                        self.uninitialised(warp, slot, site, missing);
                    }
                }
                Op::MarkInitialised { slot } => warp.initialised[slot as usize] |= warp.active,
                Op::If { mask, otherwise } => {
                    let taken = warp.active & warp.mask[mask as usize];
                    let other = warp.active & !taken;
                    warp.frames.push(Frame::If { outer: warp.active, other });
                    warp.active = taken;
                    if taken == 0 {
                        warp.pc = otherwise as usize;
                    }
                }
                Op::Else { end } => {
                    if let Some(Frame::If { other, .. }) = warp.frames.last() {
                        warp.active = *other;
                    }
                    if warp.active == 0 {
                        warp.pc = end as usize;
                    }
                }
                Op::EndIf => {
                    if let Some(Frame::If { outer, .. }) = warp.frames.pop() {
                        warp.active = outer & !warp.gone;
                    }
                }
                Op::LoopBegin => {
                    let (round, gone, broken) = (warp.round, warp.gone, warp.broken);
                    warp.frames.push(Frame::Loop { outer: warp.active, round, gone, broken });
                    (warp.round, warp.gone, warp.broken) = (warp.active, 0, 0);
                }
                Op::LoopTest { mask, exit } => {
                    warp.active &= warp.mask[mask as usize];
                    warp.round = warp.active;
                    if warp.active == 0 {
                        warp.pc = exit as usize;
                    }
                }
                Op::LoopTestScalar { a, op, b, exit } => {
                    warp.round = warp.active;
                    if warp.active == 0 || !compare(op, &warp.uniform(a), &warp.uniform(b)) {
                        warp.pc = exit as usize;
                    }
                }
                Op::Rejoin => {
                    warp.active = warp.round & !warp.broken;
                    warp.gone = warp.broken;
                }
                Op::Jump { to, still, site } => {
                    warp.steps += (at as u64).saturating_sub(u64::from(to)) + 1;
                    warp.pc = to as usize;
                    if warp.steps > self.launch.max_steps || rounds.endless(warp, still) {
                        warp.state = State::Exhausted(site);
                        return;
                    }
                }
                Op::Endless { site } => {
                    if warp.active != 0 {
                        warp.state = State::Exhausted(site);
                        return;
                    }
                }
                Op::LoopEnd => {
                    if let Some(Frame::Loop { outer, round, gone, broken }) = warp.frames.pop() {
                        warp.active = outer;
                        (warp.round, warp.gone, warp.broken) = (round, gone, broken);
                    }
                }
                Op::Break => {
                    warp.broken |= warp.active;
                    warp.gone |= warp.active;
                    warp.active = 0;
                }
                Op::Continue => {
                    warp.gone |= warp.active;
                    warp.active = 0;
                }
                Op::End => {
                    warp.state = State::Ended;
                    return;
                }
            }
        }
    }

    fn division_lanes(&mut self, warp: &Warp, site: u32, failed: u32, a: &[i64; LANES]) {
        let failed = failed & warp.active;
        if failed != 0 {
            self.division(warp, site, failed, a[failed.trailing_zeros() as usize]);
        }
    }

    fn division(&mut self, warp: &Warp, site: u32, lanes: u32, dividend: i64) {
        self.report(FindingKind::DivisionByZero, site, warp.number, lanes, None, |_| {
            format!("{dividend} is divided by zero")
        });
    }

    /// Reports threads of the warp that are not here, where all of them take part.
    pub(super) fn converged(&mut self, warp: &Warp, what: &str, site: u32) {
        let missing = warp.live & !warp.active;
        if missing == 0 {
            return;
        }
        let (here, all) = (warp.active.count_ones(), warp.live.count_ones());
        self.report(FindingKind::DivergentBarrier, site, warp.number, missing, None, |lane| {
            format!("{here} of the {all} threads of warp {} reach {what}; lane {lane} does not", warp.number)
        });
    }
}

fn select(warp: &mut Warp, dst: u32, condition: u32, then: Register, otherwise: Register) {
    let (taken, active) = (warp.mask[condition as usize], warp.active);
    fn pick<T: Copy>(mut value: [T; LANES], other: &[T; LANES], taken: u32) -> [T; LANES] {
        put(&mut value, other, !taken);
        value
    }
    match (then, otherwise) {
        (Register::F32(a), Register::F32(b)) => {
            let value = pick(warp.f32[a as usize], &warp.f32[b as usize], taken);
            put(&mut warp.f32[dst as usize], &value, active);
        }
        (Register::F64(a), Register::F64(b)) => {
            let value = pick(warp.f64[a as usize], &warp.f64[b as usize], taken);
            put(&mut warp.f64[dst as usize], &value, active);
        }
        (Register::Int(a), Register::Int(b)) => {
            let value = pick(warp.lanes(a), &warp.lanes(b), taken);
            put(&mut warp.int[dst as usize], &value, active);
        }
        (Register::Mask(a), Register::Mask(b)) => {
            let (a, b) = (warp.mask[a as usize], warp.mask[b as usize]);
            warp.put_mask(dst, a & taken | b & !taken);
        }
        // The compiler makes both of one bank.
        (Register::F32(_) | Register::F64(_) | Register::Int(_) | Register::Mask(_), _) => {}
    }
}

fn cast(warp: &mut Warp, dst: u32, from: Register, natural: bool, elem: Elem) {
    let active = warp.active;
    let bank = Bank::of(elem);
    let integers = match from {
        Register::Int(sum) => warp.lanes(sum),
        Register::Mask(mask) => {
            let mask = warp.mask[mask as usize];
            std::array::from_fn(|lane| i64::from(mask >> lane & 1))
        }
        Register::F32(_) | Register::F64(_) => {
            let wide: [f64; LANES] = match from {
                Register::F32(a) => warp.f32[a as usize].map(f64::from),
                Register::F64(a) => warp.f64[a as usize],
                Register::Int(_) | Register::Mask(_) => [0.0; LANES],
            };
            match bank {
                Bank::F32 => {
                    // What is rounded once more, to 16 or 8 bits, is rounded to odd here.
                    let single = if elem == Elem::F32 { |value| value as f32 } else { small_float::to_odd };
                    put(&mut warp.f32[dst as usize], &wide.map(single), active);
                    return;
                }
                Bank::F64 => {
                    put(&mut warp.f64[dst as usize], &wide, active);
                    return;
                }
                Bank::Int | Bank::Mask => wide.map(|value| float_to_integer(value, elem)),
            }
        }
    };
    match bank {
        Bank::F32 => {
            let whole =
                integers.map(|value| if natural { i128::from(value as u64) } else { i128::from(value) });
            let single = if elem == Elem::F32 { |value| value as f32 } else { small_float::integer_to_odd };
            put(&mut warp.f32[dst as usize], &whole.map(single), active);
        }
        Bank::F64 => {
            let value = integers.map(|value| if natural { value as u64 as f64 } else { value as f64 });
            put(&mut warp.f64[dst as usize], &value, active);
        }
        Bank::Int => {
            put(&mut warp.int[dst as usize], &integers.map(|value| elem.wrap(value)), active);
        }
        Bank::Mask => {
            let value = compared(BinaryOp::Ne, &integers, &[0; LANES]);
            warp.put_mask(dst, value);
        }
    }
}
