//! Integer functions: sums of a warp, powers, logarithms, and atomic sums.
//!
//! Law: a result that does not fit its type is reported. An atomic sum of an unsigned type with an operand in the upper
//! half is a subtraction: a result below zero is reported.

use super::number;
use crate::bytecode::{IntegerFunction, LANES, Sum};
use crate::event::{Access, AccessKind};
use crate::machine::Machine;
use crate::report::FindingKind;
use crate::state::warp::{Warp, each_lane};
use layout_compiler::elem::Elem;
use layout_compiler::program::AtomicChange;

/// Beyond every type.
const FAR: i128 = 1 << 100;

fn power(a: i128, b: i128) -> i128 {
    (0..b)
        .try_fold(1i128, |power, _| Some(power * a).filter(|power| power.abs() < FAR && *power != 0))
        .unwrap_or(if a == 0 { 0 } else { FAR })
}

/// Checks a function of integers.
pub(super) fn check_function(
    warp: &Warp,
    function: IntegerFunction,
    (a, b): (Sum, Sum),
    (elem, site): (Elem, u32),
    machine: &Machine<'_>,
) {
    let natural = elem == Elem::U64;
    let (a, b) = (warp.lanes(a), warp.lanes(b));
    let mut sum = 0i128;
    let mut exact = [0i128; LANES];
    for lane in each_lane(warp.active) {
        let own = number(a[lane], natural);
        sum += own;
        exact[lane] = match function {
            IntegerFunction::Sum | IntegerFunction::PrefixSum => sum,
            // The power of 1, 0 or -1 depends on the parity of the exponent only.
            IntegerFunction::Power => power(own, i128::from(b[lane]).min(128 + i128::from(b[lane] & 1))),
            IntegerFunction::Logarithm => i128::from(own <= 0) * FAR,
        };
    }
    if function == IntegerFunction::Sum {
        exact = [sum; LANES];
    }
    let (least, most) = elem.limits();
    let wrong = each_lane(warp.active).filter(|lane| !(least..=most).contains(&exact[*lane]));
    let wrong = wrong.fold(0u32, |lanes, lane| lanes | 1 << lane);
    if wrong == 0 {
        return;
    }
    machine.report(FindingKind::Overflow, site, warp.number, wrong, None, |lane| match function {
        IntegerFunction::Sum => {
            format!("the sum of the warp is {sum}, which overflows {elem}, {least} to {most}")
        }
        IntegerFunction::PrefixSum => {
            format!("the sum up to lane {lane} is {}, which overflows {elem}, {least} to {most}", exact[lane])
        }
        IntegerFunction::Power => {
            format!(
                "{} to the power of {} overflows {elem}, {least} to {most}",
                number(a[lane], natural),
                b[lane]
            )
        }
        IntegerFunction::Logarithm => format!("{} has no logarithm", number(a[lane], natural)),
    });
}

/// Checks an atomic sum: the old bits and the operands.
pub(super) fn check_atomic_sum(access: &Access<'_>, before: &[u64; LANES], machine: &Machine<'_>) {
    let Access { warp, site, number: at, elements, .. } = *access;
    let AccessKind::Atomic(atomic) = access.kind else { return };
    let elem = site.elem;
    if !elem.is_integer() || atomic.change != AtomicChange::Add {
        return;
    }
    let (added, lanes) = (atomic.values, elements.active);
    let natural = elem == Elem::U64;
    let value = |bits: u64| number(elem.wrap(bits as i64), natural);
    let (least, most) = elem.limits();
    let exact = |lane: usize| {
        let added = value(added[lane]);
        let taken = least == 0 && added > most / 2;
        value(before[lane]) + if taken { added - most - 1 } else { added }
    };
    let wrong = each_lane(lanes).filter(|lane| !(least..=most).contains(&exact(*lane)));
    let wrong = wrong.fold(0u32, |lanes, lane| lanes | 1 << lane);
    if wrong != 0 {
        machine.report(FindingKind::Overflow, at, warp.number, wrong, None, |lane| {
            let before = value(before[lane]);
            format!(
                "{before} and the added value make {}, which overflows {elem}, {least} to {most}",
                exact(lane)
            )
        });
    }
}
