//! Judges: what is told of a launch beside what it computes.
//!
//! Law: a judge changes no value, no clock and no order. What it needs to know is kept here, and execution asks it nothing.

pub(super) mod arithmetic;
pub(super) mod coverage;
pub(super) mod updates;
pub(super) mod views;
pub(super) mod whole;

use super::bytecode::Op;
use super::machine::Machine;
use super::warp::Warp;

impl Machine<'_> {
    /// Runs an instruction that only looks.
    pub(super) fn judge(&mut self, warp: &mut Warp, op: Op) {
        match op {
            Op::CheckInitialised { slot, site } => {
                let missing = warp.active & !warp.initialised[slot as usize];
                if missing != 0 {
                    self.uninitialised(warp, slot, site, missing);
                }
            }
            Op::MarkInitialised { slot } => warp.initialised[slot as usize] |= warp.active,
            Op::Claim { at, end, site } => self.claim(warp, at, end, site),
            Op::Exact { op, a, b, elem, site } => self.judge_operator(warp, op, (a, b), elem, site),
            Op::Whole { function, a, b, elem, site } => self.judge_whole(warp, function, (a, b), elem, site),
            Op::Fits { from, natural, elem, site } => self.judge_cast(warp, from, natural, elem, site),
            Op::Born { dst, from, together, site } => arithmetic::born(warp, dst, &from, together, site),
            Op::Leaves { number, site } => self.judge_index(warp, number, site),
            // These do something, and have.
            Op::Scalar { .. }
            | Op::Vector { .. }
            | Op::Int { .. }
            | Op::Math { .. }
            | Op::Wrap { .. }
            | Op::ConstantF32 { .. }
            | Op::ConstantF64 { .. }
            | Op::ConstantMask { .. }
            | Op::F32 { .. }
            | Op::Round { .. }
            | Op::F64 { .. }
            | Op::MaskBinary { .. }
            | Op::MaskNot { .. }
            | Op::CompareInt { .. }
            | Op::CompareF32 { .. }
            | Op::CompareF64 { .. }
            | Op::Select { .. }
            | Op::Cast { .. }
            | Op::Poison { .. }
            | Op::Load { .. }
            | Op::Store { .. }
            | Op::LocalLoad { .. }
            | Op::LocalStore { .. }
            | Op::CopyAsync { .. }
            | Op::Commit
            | Op::Wait { .. }
            | Op::Collective { .. }
            | Op::Mma { .. }
            | Op::LoadMatrix { .. }
            | Op::Atomic { .. }
            | Op::Barrier { .. }
            | Op::Asynchronous { .. }
            | Op::If { .. }
            | Op::Else { .. }
            | Op::EndIf
            | Op::LoopBegin
            | Op::LoopTest { .. }
            | Op::LoopTestScalar { .. }
            | Op::Rejoin
            | Op::Jump { .. }
            | Op::Endless { .. }
            | Op::LoopEnd
            | Op::Break
            | Op::Continue
            | Op::End => {}
        }
    }
}
