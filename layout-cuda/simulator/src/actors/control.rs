//! Control flow: conditions and loops set the active lanes.
//!
//! Law: the lanes that are active before a statement are active after it. Lanes that left a loop or an iteration are
//! inactive until its end.

use super::proxy::Flow;
use crate::bytecode::Op;
use crate::machine::Machine;
use crate::state::endless_loop::LoopDetector;
use crate::state::warp::{Frame, State, Warp};

impl Machine<'_> {
    /// Executes a control-flow instruction.
    #[inline]
    pub(crate) fn control(
        &mut self,
        warp: &mut Warp,
        op: &Op,
        at: usize,
        rounds: &mut LoopDetector,
    ) -> Option<Flow> {
        match *op {
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
                if warp.active == 0 || !op.compare(&warp.uniform(a), &warp.uniform(b)) {
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
                    return Some(Flow::Stop);
                }
            }
            Op::Endless { site } => {
                if warp.active != 0 {
                    warp.state = State::Exhausted(site);
                    return Some(Flow::Stop);
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
                return Some(Flow::Stop);
            }
            _ => return None,
        }
        Some(Flow::Next)
    }
}
