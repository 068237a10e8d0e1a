//! The first difference between the tensors after two schedules.
//!
//! Law: only elements whose bytes differ are a difference, and there is at most one finding.

use crate::bytecode::{Op, Site, Target};
use crate::findings::Findings;
use crate::machine::Launch;
use crate::memory::bytes::Global;
use crate::report::{Finding, FindingKind};
use layout_compiler::elem::Elem;
use layout_compiler::program::AtomicChange;

/// The argument, the element, and both values as text.
struct Difference {
    argument: usize,
    element: usize,
    values: [String; 2],
}

/// Reports the first difference between the tensors of two schedules.
pub(crate) fn compare(first: &Launch<'_>, other: &Launch<'_>, seeds: [u64; 2], findings: &mut Findings) {
    let program = first.program;
    let Some(Difference { argument, element, values }) = difference(first, other) else { return };
    // The site of an atomic operation on the tensor, or of a plain store.
    let own = |site: u32| program.sites[site as usize].target == Target::Global(argument as u32);
    let atomic = program.code.iter().find_map(|op| match op {
        Op::Atomic { site, change, .. } if own(*site) && !matches!(change, AtomicChange::Load(_)) => {
            Some(*site)
        }
        _ => None,
    });
    let store = program.code.iter().find_map(|op| match op {
        Op::Store { site, .. } if own(*site) => Some(*site),
        _ => None,
    });
    let any = || program.sites.iter().position(|site| site.target == Target::Global(argument as u32));
    let site = atomic.or(store).or(any().map(|site| site as u32)).unwrap_or_default();
    let known = &program.sites[site as usize];
    let name = program.names.get(known.place as usize).cloned().unwrap_or_default();
    let message = format!(
        "element {element} of `{name}` is {} under the schedule of seed {}, and {} under that of seed {}",
        values[0], seeds[0], values[1], seeds[1]
    );
    findings.start_block(u64::MAX);
    findings.add(FindingKind::ScheduleDependent, site, 1, || Finding {
        kind: FindingKind::ScheduleDependent,
        message,
        line: known.line,
        thread: [0; 3],
        block: [0; 3],
        place: Some(name),
        index: Some(element as i64),
        count: 1,
        other: None,
    });
}

fn difference(first: &Launch<'_>, other: &Launch<'_>) -> Option<Difference> {
    let tensors = first.globals.iter().zip(&other.globals).enumerate();
    for (argument, (a, b)) in tensors {
        let own = |site: &&Site| site.target == Target::Global(argument as u32);
        let (Global::Write(words), Some(site)) = (a, first.program.sites.iter().find(own)) else { continue };
        let size = site.bytes as usize;
        let count = (4 * words.len()) / size;
        let bits = |of: &Global<'_>, element: usize| of.read(element * size, site.bytes);
        // Sums by atomic operations round in the order of the schedule.
        let largest = if first.program.sums && site.elem.is_float() {
            let values = (0..count).map(|element| float(bits(a, element), site.elem).abs());
            values.filter(|value| value.is_finite()).fold(0.0, f64::max)
        } else {
            0.0
        };
        let close = |x: u64, y: u64| {
            let (x, y) = (float(x, site.elem), float(y, site.elem));
            largest > 0.0 && (x - y).abs() <= largest * precision(site.elem)
        };
        let differ = |element: &usize| {
            let (x, y) = (bits(a, *element), bits(b, *element));
            x != y && !close(x, y)
        };
        if let Some(element) = (0..count).find(differ) {
            let text = |of| match site.elem.is_float() {
                true => float(bits(of, element), site.elem).to_string(),
                false => site.elem.wrap(bits(of, element) as i64).to_string(),
            };
            return Some(Difference { argument, element, values: [text(a), text(b)] });
        }
    }
    None
}

fn float(bits: u64, elem: Elem) -> f64 {
    match elem {
        Elem::F64 => f64::from_bits(bits),
        Elem::F32 => f32::from_bits(bits as u32).into(),
        small => layout_compiler::small_float::decode(bits as u32, small).into(),
    }
}

/// The tolerance for the rounding of sums, relative to the largest element.
fn precision(elem: Elem) -> f64 {
    match elem {
        Elem::F64 => 1e-12,
        Elem::F32 => 1e-5,
        _ => 1e-2,
    }
}
