//! Assumptions: conditions of `assume`, on which the compiler's proofs build.
//!
//! Law: an assumption that is false in an active lane is reported at its line. Execution continues unchanged, so an
//! access whose mask was removed by a false assumption is also reported as out of bounds.

use super::arithmetic::number;
use crate::bytecode::{Op, Register, Sides};
use crate::event::{CHECKS, Event};
use crate::machine::{Analysis, Machine, Observer};
use crate::report::FindingKind;
use crate::state::warp::Warp;

pub(crate) struct Assumptions;

impl Analysis for Assumptions {
    fn observer(&self) -> Box<dyn Observer + '_> {
        Box::new(Assumptions)
    }
}

impl Observer for Assumptions {
    fn interests(&self) -> u8 {
        CHECKS
    }

    fn on_event(&mut self, event: &Event<'_>, machine: &Machine<'_>) {
        let Event::Check(warp, Op::CheckAssumption { mask, sides, site }) = event else { return };
        let wrong = warp.active & !warp.mask[*mask as usize];
        if wrong == 0 {
            return;
        }
        machine.report(FindingKind::FalseAssumption, *site, warp.number, wrong, None, |lane| match sides {
            Some(Sides { left, op, right, natural }) => {
                let of = |side: &Register| value(warp, *side, *natural, lane);
                format!("{} {} {} is assumed", of(left), op.symbol(), of(right))
            }
            None => "the condition is assumed, and does not hold".to_owned(),
        });
    }
}

/// The value of a register in a lane, as text.
fn value(warp: &Warp, register: Register, natural: bool, lane: usize) -> String {
    match register {
        Register::Int(sum) => number(warp.lanes(sum)[lane], natural).to_string(),
        Register::F32(register) => warp.f32[register as usize][lane].to_string(),
        Register::F64(register) => warp.f64[register as usize][lane].to_string(),
        Register::Mask(mask) => (warp.mask[mask as usize] >> lane & 1 != 0).to_string(),
    }
}
